# SPDX-License-Identifier: Apache-2.0
"""
What --link costs node 0 of a large job, whose other nodes are one program (tests/link/members.c).
"""

import os
import re
import resource
import subprocess
import time

from nodes import free_port

SIZES = (1000, 10000)
STEPS = ("come", "look 1", "fail 1", "leave", "start")
SPARE = 400     # open files that are no connection of a node
PATIENCE = 30
SAID = re.compile(r".*: (\d+) members, (\d+) calls, (\d+) lost, (\d+) ms")


def allow_files(count):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise RuntimeError(f"skipped: ulimit -Hn allows {hard} open files, not {count}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
        return file.read()


def find_helper(pid, but=None):
    """The helper of a rankinit; but: not this one, of the attempt before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for child in read(pid, f"task/{pid}/children").split():
            try:
                if child != but and read(child, "comm") == "rankinit-link\n":
                    return child
            except OSError:
                pass
        time.sleep(0.01)
    raise RuntimeError("failed: node 0 has no helper")


def cost(helper):
    """Nanoseconds on a processor (proc(5), schedstat), and the most kB it ever had."""
    peak = re.search(r"VmHWM:\s*(\d+)", read(helper, "status"))
    return int(read(helper, "schedstat").split()[0]), int(peak[1])


def once(program, members, count):
    """step -> {ms, cpu, peak}; each helper is another process, and begins with nothing."""
    port, other = free_port(), free_port()
    env = {"PATH": os.environ["PATH"], "RANKINIT_LINK_KEY": os.urandom(32).hex()}
    found = {}
    with subprocess.Popen(
            [program, "--checks=none", "--nproc-per-node=1", f"--nnodes={count}", "--node-rank=0",
             "--master-addr=127.0.0.1", f"--master-port={port}", "--link", f"--link-port={other}",
             "--restarts=1", "--", "sleep", "600"], env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as node, subprocess.Popen(
                [members, str(other), str(count), f"nodes {count}, port {port}, attempt 0, id "],
                env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as others:
        try:
            helper = find_helper(node.pid)
            for step in STEPS:
                if step == "start":
                    helper = find_helper(node.pid, helper)
                before = 0 if step in ("come", "start") else cost(helper)[0]
                others.stdin.write(step + "\n")
                others.stdin.flush()
                said = SAID.match(others.stdout.readline())
                if said is None or int(said[1]) != count - 1 or int(said[3]) > 0:
                    raise RuntimeError(f"failed: {step}: nodes were lost")
                if step != "leave":     # behind it the helper ends
                    cpu, peak = cost(helper)
                    found[step.split()[0]] = {"ms": int(said[4]), "cpu": cpu - before,
                                              "peak": peak}
        finally:
            others.kill()
            node.kill()
    return found


def measure(program, members):
    """nodes -> what once() found; nodes -> what went wrong."""
    found, problems = {}, {}
    for count in SIZES:
        try:
            allow_files(count + SPARE)
            found[count] = once(program, members, count)
        except (RuntimeError, OSError) as error:
            problems[count] = str(error)
    return found, problems
