# SPDX-License-Identifier: Apache-2.0
"""
The MPIs of PyPI, beside Debian's: a rankinit for each rank, a rank that dies, and a stop. What
rankinit in front of them says is in test_launched.py.
"""

import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env, said
from test_launched import PYPI, command_of

SAY = """import os
print("rank {RANK} of {WORLD_SIZE}, local {LOCAL_RANK}, sum 0\\n".format(**os.environ), end="")"""
DIES = "import os, time; os.environ['RANK'] == '1' and os.kill(os.getpid(), 11); time.sleep(9)"


@pytest.fixture(params=PYPI)
def mpirun(request, python_with, installed):
    """The words before a command of each rank."""
    return command_of(request.param, python_with, installed)[:-2]


def run(words):
    return subprocess.run(words, env=clean_env(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=SECONDS, check=False)


def test_a_rankinit_for_each_rank(mpirun):
    done = run([*mpirun, PROGRAM, "--", shutil.which("python3"), "-c", SAY])
    assert (done.returncode, said(done.stdout)) == (0, [(0, 2, 0, 0), (1, 2, 1, 0)]), done.stderr


def test_a_rank_that_dies_below_its_own_rankinit(mpirun):
    done = run([*mpirun, PROGRAM, "--supervise=always", "--", shutil.which("python3"), "-c", DIES])
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("rankinit: rank 1 ")]
    assert "was killed by SIGSEGV (11)" in line and done.returncode != 0


def test_a_stop_is_no_failure(mpirun, request):
    job = subprocess.Popen(
        [PROGRAM, "--", *mpirun, shutil.which("python3"), os.path.join(TRAIN, "stopped.py")],
        env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    assert sorted(job.stdout.readline() for _ in range(2)) == ["ready 0\n", "ready 1\n"]
    job.send_signal(signal.SIGTERM)
    out, err = job.communicate(timeout=SECONDS)
    assert not re.search(r"\bfailed\b", err), err
    # prterun does not wait for its ranks long enough
    if "Open MPI" not in request.node.name:
        assert sorted(out.splitlines()) == ["stopped 0", "stopped 1"], (out, err)
