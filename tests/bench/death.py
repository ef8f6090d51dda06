# SPDX-License-Identifier: Apache-2.0
"""How long a job goes on after one of its ranks was killed."""

import os
import signal
import statistics
import subprocess
import tempfile
import time

PATIENCE = 60   # seconds until all ranks run, or until the job has ended
# its pid without $$, of which torchrun makes one $
RANK = 'read -r pid rest </proc/self/stat; echo "$pid" >>"$0"; exec sleep 600'


def read_pids(path):
    try:
        with open(path, encoding="ascii") as file:
            return [int(line) for line in file.read().split("\n")[:-1]]
    except FileNotFoundError:
        return []


def wait_for_ranks(job, path, count):
    end = time.monotonic() + PATIENCE
    while len(read_pids(path)) < count:
        if job.poll() is not None or time.monotonic() > end:
            raise RuntimeError("failed: its ranks did not start")
        time.sleep(0.01)
    time.sleep(0.1)     # they are about to sleep
    return read_pids(path)


def end_for_good(job, pids):
    """What is left of a job that went wrong; the pids are our own descendants'."""
    if job.poll() is None:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.kill()
    job.wait()


def once(words, count):
    """Nanoseconds from the death of the rank that was started last but one."""
    with tempfile.TemporaryDirectory(prefix="bench-death-") as folder:
        path = os.path.join(folder, "pids")
        job = subprocess.Popen([*words, "/bin/sh", "-c", RANK, path],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
        pids = []
        try:
            pids = wait_for_ranks(job, path, count)
            begin = time.monotonic_ns()
            os.kill(pids[-2], signal.SIGKILL)
            job.wait(PATIENCE)
            return time.monotonic_ns() - begin
        finally:
            end_for_good(job, pids)


def measure(rows, count, rounds):
    """name -> {rounds, median, q1, q3} in ns; name -> what went wrong."""
    found, problems = {}, {}
    for name, words in rows.items():
        try:
            times = [once(words, count) for _ in range(rounds)]
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            problems[name] = str(error)
            continue
        q1, median, q3 = (int(value) for value in statistics.quantiles(times, n=4))
        found[name] = {"rounds": rounds, "median": median, "q1": q1, "q3": q3}
    return found, problems
