# SPDX-License-Identifier: Apache-2.0
"""What it takes to read the Python stacks of waiting ranks, beside py-spy."""

import os
import shutil
import statistics
import subprocess
import sys
import time

RANKS = 8
DEPTH = 30
PATIENCE = 120
# torch, where it is: its libraries make the list of what is mapped long.
RANK = f"""
import os, sys, time
try:
    import torch
except ImportError:
    pass
def wait(depth):
    if depth > 0:
        return wait(depth - 1)
    print("waits", flush=True)
    time.sleep(600)
wait({DEPTH})
"""


def find_py_spy(top):
    beside = os.path.join(top, "build", "frameworks", "torch", "bin", "py-spy")
    return beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


def once(words):
    """(seconds on the clock, seconds of CPU) of a command that succeeds."""
    begun = time.monotonic()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"failed: {words[0]} ended with {child.returncode}")
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime


def measure_one(commands, rounds):
    """Medians in ms for each rank; commands look at all ranks together."""
    clock, cpu = [], []
    for _ in range(rounds):
        took = [once(words) for words in commands]
        clock.append(sum(one for one, _ in took))
        cpu.append(sum(one for _, one in took))
    return {"clock": 1000 * statistics.median(clock) / RANKS,
            "cpu": 1000 * statistics.median(cpu) / RANKS}


def measure(program, python, top, rounds):
    """name -> {clock, cpu}; name -> what went wrong."""
    job = subprocess.Popen([program, "--checks=none", f"--nproc-per-node={RANKS}", "--",
                            python or sys.executable, "-c", RANK], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found, problems = {}, {}
    try:
        for _ in range(RANKS):
            if not job.stdout.readline():
                raise RuntimeError("failed: its ranks did not start")
        time.sleep(1)
        with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as file:
            ranks = file.read().split()
        found["rankinit --autopsy"] = measure_one(
            [[program, "--autopsy=json", str(job.pid)]], rounds)
        spy = find_py_spy(top)
        for name, more in {"py-spy dump --nonblocking": ["--nonblocking"],
                           "py-spy dump": []}.items():
            if spy is None:
                problems[name] = "skipped: py-spy is not there: pip install py-spy"
                continue
            found[name] = measure_one([[spy, "dump", "--pid", pid, *more] for pid in ranks],
                                      rounds)
    except (RuntimeError, OSError) as error:
        problems["rankinit --autopsy"] = str(error)
    finally:
        job.terminate()
        job.wait(PATIENCE)
    return found, problems
