# SPDX-License-Identifier: Apache-2.0
"""
How long after the death of a rank the others have ended, and its job runs again: until each new
rank has said a line.
"""

import os
import select
import signal
import statistics
import subprocess
import time

from nodes import free_port

PATIENCE = 120  # seconds until all ranks have said a line
NODES = (1, 2, 4, 120)
RANKS = 4       # of one node; with several nodes each has one
MOST_AGENTS = 4     # of torchrun: each is a Python with torch
# its pid without $$, of which torchrun makes one $
RANK = ["/bin/sh", "-c", 'read -r pid rest </proc/self/stat; echo "$pid"; exec sleep 600']


def ways(program, python):
    """(nodes, name) -> the words of a node before its ranks' command, by node and two ports."""
    def rankinit(*more):
        return lambda node, port, other: [
            program, "--checks=none", "-q", "--restarts=1", "--log-prefix=no",
            *[word.format(node=node, port=port, other=other) for word in more], "--"]

    def torchrun(*more):
        return lambda node, port, other: [
            python, "-m", "torch.distributed.run", "--no-python", "--max-restarts=1",
            *[word.format(node=node, port=port, other=other) for word in more]]

    found = {(1, "rankinit"): rankinit(f"--nproc-per-node={RANKS}"),
             (1, "torchrun"): torchrun("--standalone", f"--nproc-per-node={RANKS}")}
    for nodes in NODES[1:]:
        found[nodes, "rankinit"] = rankinit(
            "--nproc-per-node=1", f"--nnodes={nodes}", "--node-rank={node}",
            "--master-addr=127.0.0.1", "--master-port={port}", "--link", "--link-port={other}")
        found[nodes, "torchrun"] = torchrun(
            "--nproc-per-node=1", f"--nnodes={nodes}", "--rdzv-backend=c10d", "--rdzv-id=bench",
            "--rdzv-endpoint=127.0.0.1:{port}")
    return found


class Lines:
    """What the ranks say, whichever node they are of: a pipe that all of them have."""

    def __init__(self):
        self.end, self.other = os.pipe()
        self.rest = b""

    def next(self, count):
        """The pids of so many ranks, in the order of their lines."""
        found, end = [], time.monotonic() + PATIENCE
        while len(found) < count:
            if not select.select([self.end], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"failed: {len(found)} of {count} ranks started")
            *lines, self.rest = (self.rest + os.read(self.end, 65536)).split(b"\n")
            found += map(int, lines)
        return found

    def close(self):
        os.close(self.end)
        os.close(self.other)


def end_for_good(jobs, pids):
    """Our own children, and what they started, which said its pid."""
    for job in jobs:
        job.terminate()
    for job in jobs:
        try:
            job.wait(10)
        except subprocess.TimeoutExpired:
            job.kill()
            job.wait()
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def wait_for_ends(files):
    """Of the processes of these descriptors, which it closes."""
    poll, left = select.poll(), set(files)
    for file in files:
        poll.register(file, select.POLLIN)
    end = time.monotonic() + PATIENCE
    try:
        while left:
            if time.monotonic() > end:
                raise RuntimeError(f"failed: {len(left)} ranks did not end")
            for file, _ in poll.poll(1000):
                poll.unregister(file)
                left.discard(file)
    finally:
        for file in files:
            os.close(file)


def once(way, nodes):
    """Nanoseconds from the death of a rank until all others have ended, and all new ones spoke."""
    count = RANKS if nodes == 1 else nodes
    port, other = free_port(), free_port()
    env = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1",
           "RANKINIT_LINK_KEY": os.urandom(32).hex()}
    lines, pids = Lines(), []
    jobs = [subprocess.Popen([*way(node, port, other), *RANK], env=env, stdin=subprocess.DEVNULL,
                             stdout=lines.other, stderr=subprocess.DEVNULL)
            for node in range(nodes)]
    try:
        pids = lines.next(count)
        time.sleep(1)   # they are about to sleep
        others = [os.pidfd_open(pid) for pid in pids[:-1]]
        begin = time.monotonic_ns()
        os.kill(pids[-1], signal.SIGKILL)
        wait_for_ends(others)
        ended = time.monotonic_ns() - begin
        pids = lines.next(count)
        return ended, time.monotonic_ns() - begin
    finally:
        end_for_good(jobs, pids)
        lines.close()


def measure(program, python, rounds):
    """(nodes, name) -> {ended, median, q1, q3} in ns; (nodes, name) -> what went wrong."""
    times, problems = {}, {}
    for _ in range(rounds):
        for key, way in ways(program, python).items():
            if key[1] == "torchrun" and python is None:
                problems[key] = "skipped: torch cannot be imported: make frameworks"
            elif key[1] == "torchrun" and key[0] > MOST_AGENTS:
                problems[key] = f"skipped: {key[0]} agents of torchrun do not fit into a machine"
            if key in problems:
                continue
            try:
                times.setdefault(key, []).append(once(way, key[0]))
            except (RuntimeError, OSError) as error:
                problems[key] = str(error)
    found = {}
    for key, seen in times.items():
        if key not in problems:
            ended, again = zip(*seen)
            q1, median, q3 = (int(value) for value in statistics.quantiles(again, n=4))
            found[key] = {"ended": int(statistics.median(ended)), "median": median, "q1": q1,
                          "q3": q3, "rounds": rounds}
    return found, problems
