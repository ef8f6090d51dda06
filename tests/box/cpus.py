# SPDX-License-Identifier: Apache-2.0
"""The CPUs of this machine, as the kernel shows them to us."""

import os


def listed(text):
    """The set of a list like "0-3,8"."""
    numbers = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def read(path):
    try:
        with open(path, encoding="ascii") as file:
            return listed(file.read())
    except FileNotFoundError:
        return set()


def ours():
    return os.sched_getaffinity(0)


def nodes():
    """What is ours of each NUMA node that has some of it."""
    folder = "/sys/devices/system/node"
    parts = [read(f"{folder}/node{n}/cpulist") & ours() for n in sorted(read(f"{folder}/online"))]
    return [part for part in parts if part]


def halves():
    """Two parts of ours, of one CPU and more."""
    whole = sorted(ours())
    return [set(whole[:len(whole) // 2]), set(whole[len(whole) // 2:])]


def two_nodes():
    """Shell words, for a mount namespace, that make two NUMA nodes of our CPUs."""
    folder = "/sys/devices/system/node"
    return "; ".join([f"mount -t tmpfs none {folder} && mkdir {folder}/node0 {folder}/node1",
                      f"echo 0-1 >{folder}/online"] + [
                          f"echo {','.join(map(str, sorted(part)))} >{folder}/node{n}/cpulist"
                          for n, part in enumerate(halves())])
