#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py PYSTACK PYSPY COUNT PYTHON: so many dumps of waiting processes, ours and py-spy's.

The processes are those of job.py, with torch where PYTHON has it. A dump is ours, py-spy's
(--nonblocking), and ours again: if both of ours are the same nothing has moved in between, and the
innermost five frames of each thread are compared. Prints how many were equal, how many were moving,
and how long one took.
"""

import collections
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def timed(words):
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, check=False)
    return done, time.monotonic() - begin


def ours(pystack, pid):
    """{thread: frames}, None where it was torn; and everything, to be compared."""
    done, seconds = timed([pystack, str(pid)])
    text = done.stdout.decode("utf-8", "surrogateescape")
    threads, whole = {}, text.startswith("answer ok")
    for line in text.splitlines()[1:]:
        head = re.fullmatch(r"thread (\d+) depth \d+ hash \w+ answer (\w+) reads \d+", line)
        if head:
            frames = threads.setdefault(int(head[1]), [])
            whole = whole and head[2] == "ok"
        else:
            file, number, function, _ = line.split("\t")
            frames.append((file, int(number), function.rpartition(".")[2]))
    threads = {tid: frames[:5] for tid, frames in threads.items() if frames}
    return threads if whole else None, text, seconds


def theirs(pyspy, pid):
    done, seconds = timed([pyspy, "dump", "--nonblocking", "--json", "--pid", str(pid)])
    if done.returncode != 0:
        return None, seconds
    return {thread["os_thread_id"] or thread["thread_id"]:
            [(frame["filename"], frame["line"], frame["name"].rpartition(".")[2])
             for frame in thread["frames"]][:5]
            for thread in json.loads(done.stdout) if thread["frames"]}, seconds


def is_same(first, second):
    """Before 3.11 py-spy has no ids of the kernel's: then only the stacks are compared."""
    return first == second or (
        sorted(first) != sorted(second) and
        sorted(first.values()) == sorted(second.values()))


def children(pid):
    """It and all below it."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                found += children(int(child))
    return found


def is_python(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
        return file.read().startswith(("python", "pt_"))


def dump(pystack, pyspy, pid, seen, took):
    before, text, seconds = ours(pystack, pid)
    other, spent = theirs(pyspy, pid)
    after, again, _ = ours(pystack, pid)
    took["pystack"].append(seconds)
    took["py-spy"].append(spent)
    if before is None or text != again:
        seen["moving"] += 1
    elif other is None:
        seen["py-spy failed"] += 1
    elif is_same(after, other):
        seen["equal"] += 1
        took["stacks"] += map(repr, after.values())
    else:
        seen["different"] += 1
        print("different:", *(f"\n    {name} {tid}: {frames}" for name, threads in
                              (("ours", after), ("py-spy", other))
                              for tid, frames in sorted(threads.items())), file=sys.stderr)


def main(pystack, pyspy, count, python):
    seen, took = collections.Counter(), collections.defaultdict(list)
    with subprocess.Popen([python, os.path.join(HERE, "job.py")], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as job:
        ranks = [int(word) for word in job.stdout.readline().split()]
        time.sleep(15)  # torch is loaded
        while seen["equal"] + seen["different"] < int(count):
            try:
                pid = random.choice([pid for rank in ranks for pid in children(rank)])
                time.sleep(random.uniform(0, 0.1))
                if is_python(pid):
                    dump(pystack, pyspy, pid, seen, took)
            except (FileNotFoundError, ProcessLookupError):
                continue
        job.stdin.close()
    stacks = took.pop("stacks")
    print(python, dict(seen), len(stacks), "stacks,", len(set(stacks)), "of them different;",
          {name: f"{statistics.median(times) * 1000:.1f} ms" for name, times in took.items()})
    return 0 if seen["different"] * 100 <= int(count) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
