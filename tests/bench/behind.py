# SPDX-License-Identifier: Apache-2.0
"""Eight ranks behind mpirun, each with a rankinit: its memory, and what it adds to the start."""

import os
import shutil
import signal
import statistics
import subprocess
import time

from counts import CannotRun, memory

RANKS = 8
PATIENCE = 60
OPTIONS = ("auto", "never")


def find_mpirun():
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if mpirun is None:
        raise CannotRun("no mpirun")
    return [mpirun, "--oversubscribe", "--allow-run-as-root", "-np", str(RANKS)]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
        return file.read().strip()


def run(words):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def find_ranks(job):
    """The pids of rankinit once each of them has its command."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and job.poll() is None:
        ours = [pid for pid in children(job.pid) if comm(pid) == "rankinit"]
        if len(ours) == RANKS and all(comm(one) == "sleep" for pid in ours
                                      for one in children(pid) or [job.pid]):
            return ours
        time.sleep(0.05)
    raise CannotRun("the ranks did not start")


def private(program):
    """kB of each rankinit that stays beside its rank."""
    job = run([*find_mpirun(), program, "--checks=none", "--", "sleep", "600"])
    try:
        return sorted(memory(pid)["private_kb"] for pid in find_ranks(job))
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait(PATIENCE)


def starts(program, rounds):
    """name -> {median, p10} in ns of a job whose ranks end at once."""
    rows = {"mpirun alone": []} | {
        f"--supervise={option}": [program, "--checks=none", f"--supervise={option}", "--"]
        for option in OPTIONS}
    took = {name: [] for name in rows}
    for _ in range(rounds):
        for name, words in rows.items():
            begin = time.monotonic_ns()
            if run([*find_mpirun(), *words, "/bin/true"]).wait(PATIENCE) != 0:
                raise CannotRun(f"{name} failed")
            took[name].append(time.monotonic_ns() - begin)
    return {name: {"median": int(statistics.median(seen)),
                   "p10": sorted(seen)[len(seen) // 10], "rounds": rounds}
            for name, seen in took.items()}


def measure(program, rounds):
    program = os.path.abspath(program)
    return private(program), starts(program, rounds)
