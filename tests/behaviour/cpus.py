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


def cores():
    """What is ours of each core, node by node."""
    left, found = ours(), []
    for part in [*nodes(), ours()]:
        for cpu in sorted(part):
            if cpu in left:
                folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
                core = (read(f"{folder}/core_cpus_list") or read(f"{folder}/thread_siblings_list")
                        or {cpu}) & left
                found.append(core)
                left -= core
    return found


def share(rank, ranks):
    """The CPUs of a rank's even share of the cores."""
    whole = cores()
    return set().union(*whole[rank * len(whole) // ranks:(rank + 1) * len(whole) // ranks])
