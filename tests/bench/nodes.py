# SPDX-License-Identifier: Apache-2.0
"""How long the ranks of a node go on after a rank of the other node was killed."""

import os
import select
import signal
import socket
import statistics
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds until all ranks have come as far as they shall
BOUND = 15      # seconds after which a peer is still waiting, and more need not be known
RANKS = 2       # of each of two nodes; the last one of node 1 is killed
MOMENTS = ("before", "after")

# Its file says that it is where it shall be: about to meet the others, or adding with them.
RANK = """
import os, sys, time
import torch, torch.distributed as dist
folder, moment = sys.argv[1:]
rank = int(os.environ["RANK"])
def note():
    with open(f"{folder}/new{rank}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{folder}/new{rank}", f"{folder}/rank{rank}")
if moment == "before":
    note()
    if rank == 3:
        time.sleep(600)
dist.init_process_group("gloo")
dist.all_reduce(torch.zeros(1))
note()
while True:
    dist.all_reduce(torch.zeros(1))
    time.sleep(0.05)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def find_python(top):
    """One that can import torch, or None."""
    for python in (os.path.join(top, "build", "frameworks", "torch", "bin", "python"),
                   "/usr/bin/python3"):
        if os.access(python, os.X_OK) and subprocess.run(
                [python, "-c", "import torch.distributed.run"], capture_output=True,
                check=False).returncode == 0:
            return python
    return None


def ways(program, python):
    """name -> the words of a node before its program, by node, port and another port."""
    def of_rankinit(*more):
        return lambda node, port, other: [
            program, "--checks=none", f"--nproc-per-node={RANKS}", "--nnodes=2",
            f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}",
            *[word.format(other) for word in more], "--", python]

    return {
        "rankinit --link": of_rankinit("--link", "--link-port={}"),
        "rankinit": of_rankinit(),
        "torchrun": lambda node, port, other: [
            python, "-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={node}",
            f"--nproc-per-node={RANKS}", "--master-addr=127.0.0.1", f"--master-port={port}"],
    }


def read_pids(folder):
    pids = {}
    for rank in range(2 * RANKS):
        try:
            with open(f"{folder}/rank{rank}", encoding="ascii") as file:
                pids[rank] = int(file.read())
        except FileNotFoundError:
            pass
    return pids


def wait_for_ranks(nodes, folder):
    end = time.monotonic() + PATIENCE
    while len(read_pids(folder)) < 2 * RANKS:
        if time.monotonic() > end or any(node.poll() is not None for node in nodes):
            raise RuntimeError("failed: its ranks did not start")
        time.sleep(0.05)
    time.sleep(1)   # they are about to wait for each other
    return read_pids(folder)


def wait_for_ends(pids):
    """Nanoseconds until all of them are gone, or None where that takes too long."""
    begin = time.monotonic_ns()
    poll, files = select.poll(), [os.pidfd_open(pid) for pid in pids]
    try:
        left = set(files)
        for file in files:
            poll.register(file, select.POLLIN)
        while left and time.monotonic_ns() - begin < BOUND * 10**9:
            for file, _ in poll.poll(200):
                poll.unregister(file)
                left.discard(file)
        return None if left else time.monotonic_ns() - begin
    finally:
        for file in files:
            os.close(file)


def end_for_good(nodes, folder):
    """Our own children, and the ranks that they have written down."""
    for node in nodes:
        node.terminate()
    time.sleep(0.5)
    for pid in read_pids(folder).values():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for node in nodes:
        try:
            node.wait(10)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()


def once(way, moment):
    """Nanoseconds from the death of a rank of node 1 until those of node 0 are gone, or None."""
    port, other = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="bench-nodes-") as folder:
        path = os.path.join(folder, "rank.py")
        with open(path, "w", encoding="ascii") as file:
            file.write(RANK)
        env = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1",
               "RANKINIT_LINK_KEY": os.urandom(32).hex()}
        nodes = [subprocess.Popen([*way(node, port, other), path, folder, moment], env=env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) for node in range(2)]
        try:
            pids = wait_for_ranks(nodes, folder)
            os.kill(pids[2 * RANKS - 1], signal.SIGKILL)
            return wait_for_ends([pids[rank] for rank in range(RANKS)])
        finally:
            end_for_good(nodes, folder)


def measure(program, python, rounds):
    """name -> {before, after} in ns, None where it took longer; name -> what went wrong."""
    times, problems = {}, {}
    for _ in range(rounds):
        for name, way in ways(program, python).items():
            for moment in MOMENTS:
                seen = times.setdefault((name, moment), [])
                if name in problems or None in seen:
                    continue
                try:
                    seen.append(once(way, moment))
                except (RuntimeError, OSError) as error:
                    problems[name] = str(error)
    found = {}
    for (name, moment), seen in times.items():
        if name not in problems:
            found.setdefault(name, {})[moment] = (
                None if None in seen else int(statistics.median(seen)))
    return found, problems
