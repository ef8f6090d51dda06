# SPDX-License-Identifier: Apache-2.0
"""How long a job goes on after one of its ranks was killed, or after all of them have failed."""

import os
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time

PATIENCE = 60   # seconds until all ranks run, or until the job has ended
VERDICT = b"rankinit: verdict "
# its pid without $$, of which torchrun makes one $
RANK = 'read -r pid rest </proc/self/stat; echo "$pid" >>"$0"; exec sleep 600'
# all fail at the end of a file that nobody writes to
MANY = 512
RAISES = """exec 3<"$0.go"; echo $$ >>"$0"; read -r go <&3
printf 'Traceback (most recent call last):\\n  File "train.py", line 5, in <module>\\n' >&2
echo "ValueError: bad batch $RANK" >&2; exit 1"""


class Said(threading.Thread):
    """What a job says: when did the verdict's line come?"""

    def __init__(self):
        super().__init__(daemon=True)
        self.end, self.other = os.pipe()
        self.verdict = None
        self.start()

    def run(self):
        text = b""
        while new := os.read(self.end, 1 << 20):
            text = text[-len(VERDICT):] + new
            if self.verdict is None and VERDICT in text:
                self.verdict = time.monotonic_ns()

    def start_job(self, words):
        job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=self.other, start_new_session=True)
        os.close(self.other)
        return job


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
    """
    Nanoseconds from the death of the rank that was started last but one to the verdict's line,
    None where there is none, and to the end.
    """
    with tempfile.TemporaryDirectory(prefix="bench-death-") as folder:
        path, said, pids = os.path.join(folder, "pids"), Said(), []
        job = said.start_job([*words, "/bin/sh", "-c", RANK, path])
        try:
            pids = wait_for_ranks(job, path, count)
            begin = time.monotonic_ns()
            os.kill(pids[-2], signal.SIGKILL)
            job.wait(PATIENCE)
            end = time.monotonic_ns()
        finally:
            end_for_good(job, pids)
        said.join(1)
        return said.verdict and said.verdict - begin, end - begin


def shared_kb(pid):
    """What rankinit and its judge have of memory, a page of both counted once; 0: it has ended."""
    total = 0
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            last = file.read().split()[-1:]
        for one in [pid, *last]:
            with open(f"/proc/{one}/comm", encoding="ascii") as file:
                name = file.read()
            if name.startswith("rankinit"):
                with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                    total += int(re.search(r"^Pss: +(\d+)", file.read(), re.M)[1])
    except OSError:     # it ends while we look
        pass
    return total


def once_of_many(words, weighs):
    """
    Nanoseconds from the moment when all ranks print an exception and fail to the verdict's line
    and to the end; or the most memory meanwhile in kB: looking for it takes time.
    """
    with tempfile.TemporaryDirectory(prefix="bench-death-", dir="/dev/shm") as folder:
        path, said, pids, most = os.path.join(folder, "pids"), Said(), [], 0
        os.mkfifo(path + ".go")
        go = os.open(path + ".go", os.O_RDWR | os.O_CLOEXEC)
        job = said.start_job([*words, "/bin/sh", "-c", RAISES, path])
        try:
            pids = wait_for_ranks(job, path, MANY)
            begin = time.monotonic_ns()
            os.close(go)
            while weighs and job.poll() is None:
                most = max(most, shared_kb(job.pid))
            job.wait(PATIENCE)
            end = time.monotonic_ns()
        finally:
            end_for_good(job, pids)
        said.join(1)
        return most if weighs else (said.verdict - begin, end - begin)


def summary(times):
    """{rounds, median, q1, q3, verdict} of pairs in ns."""
    q1, median, q3 = (int(value) for value in statistics.quantiles(
        [end for _, end in times], n=4))
    verdicts = [verdict for verdict, _ in times if verdict is not None]
    return {"rounds": len(times), "median": median, "q1": q1, "q3": q3,
            "verdict": int(statistics.median(verdicts)) if verdicts else None}


def in_turn(rows, rounds, play):
    """name -> what play(words) returned, one after the other; name -> what went wrong."""
    found, problems = {}, {}
    for _ in range(rounds):
        for name, words in rows.items():
            try:
                if name not in problems:
                    found.setdefault(name, []).append(play(words))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                problems[name] = str(error)
                found.pop(name, None)
    return found, problems


def measure(rows, count, rounds):
    """name -> its summary; name -> what went wrong."""
    times, problems = in_turn(rows, rounds, lambda words: once(words, count))
    return {name: summary(seen) for name, seen in times.items()}, problems


def measure_many(rows, rounds):
    """name -> its summary and its memory in kB; name -> what went wrong."""
    times, problems = in_turn(rows, rounds, lambda words: once_of_many(words, False))
    memory, more = in_turn(rows, 3, lambda words: once_of_many(words, True))
    return {name: {**summary(seen), "memory_kb": max(memory.get(name, [0]))}
            for name, seen in times.items()}, {**problems, **more}
