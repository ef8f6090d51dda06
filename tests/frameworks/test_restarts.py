# SPDX-License-Identifier: Apache-2.0
"""What rankinit says of a real torchrun that starts its ranks again, and of its error files."""

import os
import re
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env

AGAIN = (r"rankinit: rank 1 \(local rank 1, pid \d+\) failed: exit status 1"
         r"( \(by torchrun's word\))?(, after [0-9.]+ s)?: ValueError: bad batch {}; "
         r"torchrun starts its ranks again \(restart {} of 1\)")


@pytest.fixture(name="run")
def run_(python_with):
    def run(fails, *options):
        done = subprocess.run(
            [PROGRAM, "--", python_with("torch"), "-m", "torch.distributed.run", "--standalone",
             "--nproc-per-node=2", *options, os.path.join(TRAIN, "restarts.py")],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
            env=clean_env(FAILS=str(fails)))
        lines = [line for line in done.stderr.splitlines() if line.startswith("rankinit: ") and
                 not line.startswith("rankinit: verdict cause=")]
        return done.returncode, lines, done.stderr
    return run


def test_a_restart_that_helped(run):
    status, lines, whole = run(1, "--max-restarts=1")
    assert status == 0, whole
    assert len(lines) == 1 and re.fullmatch(AGAIN.format(17, 1), lines[0]), whole


def test_a_job_that_failed_again(run):
    status, lines, whole = run(2, "--max-restarts=1")
    assert status == 1, whole
    assert re.fullmatch(AGAIN.format(17, 1), lines[0]), whole
    assert lines[1].startswith("rankinit: rank 1 (") and "failed first: " in lines[1], whole
    assert lines[2] == "rankinit:   ValueError: bad batch 18", whole
    assert lines[-2].startswith("rankinit:   torchrun had started its ranks again once, because "
                                "rank 1 failed: exit status 1"), whole
    assert lines[-2].endswith(": ValueError: bad batch 17"), whole


def test_no_restart(run):
    status, lines, whole = run(1)
    assert status == 1 and lines[1] == "rankinit:   ValueError: bad batch 17", whole
    assert "again" not in "".join(lines), whole


def test_words_that_torchrun_puts_into_files(run):
    """rankinit has them of torch's error files."""
    status, lines, whole = run(1, "--redirects=3")
    assert status == 1 and lines[0].startswith("rankinit: rank 1 ("), whole
    assert lines[1] == "rankinit:   ValueError: bad batch 17", whole
