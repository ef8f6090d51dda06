# SPDX-License-Identifier: Apache-2.0
"""
A judge that goes wrong of a byte of what a rank wrote, in each way that a fault in C has: PID 1
lives, the status is that of the rank that failed, and there is one verdict. wild/judge.c goes
wrong. The ranks print random bytes; without such a byte among them they are read as ever.
"""

import concurrent.futures
import os
import random
import re
import shlex
import subprocess

import pytest

from fault_runner import ROOT

WILD = os.environ.get("WILD_JUDGE",
                      os.path.join(ROOT, "build", "release", "tests", "rankinit-wild"))
HARMS = {"segfault": 0xf8, "abort": 0xf9, "overflow": 0xfa, "silence": 0xfb, "scribble": 0xfc,
         "flood": 0xfd, "garbage": 0xfe, "endless": 0xff}
KNOWS = "ValueError: bad batch 17"
SEEDS = 4       # of each harm
SIZE = 4096     # random bytes of each rank


def run(folder, harm, seed):
    """Two ranks print and fail, rank 1 with 7; as PID 1 of a namespace of its own."""
    name, noise = f"{harm}-{seed}", random.Random(seed)
    harmless = bytes(byte for byte in range(256) if byte not in HARMS.values())
    words = bytes(noise.choices(harmless, k=SIZE))
    if harm is not None:
        at = noise.randrange(SIZE)
        words = words[:at] + bytes([HARMS[harm]]) + words[at:]
    words += (b"\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n"
              + KNOWS.encode() + b"\n")
    path = folder / name
    path.write_bytes(words)
    script = f'[ "$RANK" = 1 ] || exec sleep 100; cat {shlex.quote(str(path))} >&2; exit 7'
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
         WILD, "--checks=none", "--grace=8", "--nproc-per-node=2", "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"]})
    return done.returncode, done.stderr.decode(errors="replace")


@pytest.mark.parametrize("harm", [*HARMS, None])
def test_a_byte_makes_the_judge_go_wrong(tmp_path, harm):
    # one that never ends takes the time after which a judge is late
    seeds = range(1 if harm == "endless" else SEEDS)
    with concurrent.futures.ThreadPoolExecutor(SEEDS) as pool:
        for status, err in pool.map(lambda seed: run(tmp_path, harm, seed), seeds):
            verdicts = re.findall(r"^rankinit: verdict (.*)$", err, re.M)
            assert (status, len(verdicts)) == (7, 1), f"{status}\n{err}"
            said = re.findall(r"^rankinit: .*$", err, re.M)
            assert any(KNOWS in line for line in said) == (harm is None), err
            assert ("cause=unknown" in verdicts[0]) == (harm is not None), err
            assert harm is None or "rank 1 ended first: exit status 7; " in err, err
