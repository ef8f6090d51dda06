# SPDX-License-Identifier: Apache-2.0
"""torchrun stops the culprit, writes to a terminal, or has its ranks write to files."""

import os
import re
import resource
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env

LOSING = os.path.join(TRAIN, "torch_losing.py")
RUN = ["-m", "torch.distributed.run", "--nproc-per-node=2"]
LAST = re.compile(r"rankinit: verdict cause=(\S+) class=(\S+) retry=(\S+)(?: rank=(\d+))? ")


def environment(**more):
    return clean_env(GLOO_SOCKET_IFNAME="lo", PYTHONDONTWRITEBYTECODE="1", **more)


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(words, folder, **variables):
    """What rankinit says before torchrun, and its last line: cause, class, retry, rank."""
    job = subprocess.run([PROGRAM, "--", *words], env=environment(**variables), cwd=folder,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=SECONDS, check=False, preexec_fn=without_core)
    assert job.returncode == 1, job
    lines = [line for line in job.stderr.splitlines() if line.startswith("rankinit: ")]
    return lines, LAST.match(lines[-1]).groups()


@pytest.mark.parametrize("fault", ["late", "caught"])
def test_a_victim_that_aborts_first(python_with, tmp_path, fault):
    """torch's own root cause is the victim; what rank 1 has caught makes it no culprit."""
    lines, last = run([python_with("torch"), *RUN, LOSING], tmp_path, FAULT=fault)
    if fault == "late":
        assert " failed first: raised the error below, then was stopped while exiting: " in lines[0]
        assert lines[0].startswith("rankinit: rank 1 (local rank 1, pid "), lines
        assert lines[1] == "rankinit:   ValueError: bad batch 2", lines
        assert "rankinit:   rank 0: lost a peer, killed by SIGABRT (6)" in lines, lines
        assert last == ("exception", "own", "never", "1"), lines
        return
    assert lines[0] == "rankinit: cannot tell which rank failed first: rank 0 lost a peer", lines
    assert last == ("unknown", "loss", "same", None), lines
