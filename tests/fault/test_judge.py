# SPDX-License-Identifier: Apache-2.0
"""
The judge reads what ranks wrote, in a process of its own. Whatever becomes of it, at each of its
system calls, the status is that of the rank that failed, there is exactly one verdict, and the
kernel's own facts are told. strike.c strikes.
"""

import concurrent.futures
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from fault_runner import BUILT, RANKINIT, ROOT

sys.path.append(os.path.join(ROOT, "tests", "behaviour"))
from launcher import LAUNCHER  # noqa: E402 (found by the line above)

STRIKE = os.path.join(BUILT, "strike")
RAISES = ("echo 'Traceback (most recent call last):' >&2; echo '  File \"a.py\", line 1' >&2; "
          "echo 'ValueError: bad batch 17' >&2; exit 1")
SLEEPS = "exec sleep 100"
KEY = "d08fbc5a150028b59a73c7852451d26f"
KNOWS = "ValueError: bad batch 17"
JUDGES = 3      # at most, of one failure


def rank(number, words, others=SLEEPS):
    return ["sh", "-c", f'if [ "$LOCAL_RANK" = {number} ]; then {words}; fi; {others}']


def four(_):
    return ["--nproc-per-node=4", "--", *rank(2, RAISES)]


def launcher(folder):
    path = os.path.join(folder, "torchrun")
    with open(path, "w", encoding="ascii") as file:
        file.write(LAUNCHER)
    os.chmod(path, 0o755)
    return ["--", path, SLEEPS, f"sleep 0.6; {RAISES}"]


def report(folder):
    return [f"--report={folder}/report", *four(folder)]


def restarts(_):
    return ["--restarts=1", "--nproc-per-node=2", "--",
            *rank(1, "[ $RANKINIT_ATTEMPT = 1 ] || kill -9 $$; exit 0", "exit 0")]


def link(folder):
    return ["--link", "--nnodes=2", "--node-rank=1", "--master-addr=127.0.0.1",
            "--master-port=29500", "--roll-call=0", "--link-grace=1", *four(folder)]


# What is started, the status that it ends with, and that of one that is not judged.
SCENARIOS = {
    "four ranks": (four, 1, 1), "a launcher": (launcher, 1, 1), "a report": (report, 1, 1),
    "restarts": (restarts, 0, 137), "a link": (link, 1, 1),
}


def run(scenario, how, judge=0, call=0):
    """Its status, what it said, and whether it was struck, or how many calls that judge made."""
    command, _, _ = SCENARIOS[scenario]
    folder = tempfile.mkdtemp(prefix="rankinit-judge-", dir="/dev/shm")
    told, tells = os.pipe()
    try:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", STRIKE, how,
             str(judge), str(call), "--", RANKINIT, "--checks=none", "--grace=8", *command(folder)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
            pass_fds=(tells,), env={"PATH": os.environ["PATH"], "RANKINIT_LINK_KEY": KEY,
                                     "STRIKE_TOLD": str(tells)})
        os.close(tells)
        with os.fdopen(told, encoding="ascii") as file:
            return done.returncode, done.stderr, file.read().split()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def calls(scenario):
    """Of each of its judges; those of one that is not there are none."""
    counts = []
    for judge in range(1, JUDGES + 1):
        status, err, told = run(scenario, "segv", judge, 1 << 20)
        assert status == SCENARIOS[scenario][1], err
        counts.append(int(told[0]) if told else 0)
    return counts


def holds(scenario, outcome):
    """Whatever was struck."""
    status, err, told = outcome
    _, judged, unjudged = SCENARIOS[scenario]
    story = f"{told} {status}\n{err}"
    verdicts = re.findall(r"^rankinit: verdict (.*)$", err, re.M)

    assert status in (judged, unjudged), story
    assert len(verdicts) == 1, story
    assert re.search(r"exit status 1\b|SIGKILL \(9\)", err), story
    assert (status == judged) == ("cause=unknown" not in verdicts[0]) or judged == unjudged, story
    if "cause=unknown" in verdicts[0]:
        assert " class=unknown retry=same " in verdicts[0], story
        assert re.search(r"ended( first)?: (exit status 1|killed by SIGKILL \(9\)); ", err), story
        return "not judged"
    assert scenario == "restarts" or KNOWS in err, story
    return "judged"


@pytest.mark.parametrize("how", ["segv", "kill", "hang"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_judge_is_struck(scenario, how):
    assert holds(scenario, run(scenario, "segv")) == "judged", "the control"
    places = [(judge, call) for judge, count in enumerate(calls(scenario), 1)
              for call in range(1, count + 1)]
    assert places
    if how == "hang":   # until the judge is given up it takes seconds: the middle of each
        places = [(judge, count // 2) for judge, count in enumerate(calls(scenario), 1) if count]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda place: holds(scenario, run(scenario, how, *place)), places))
    assert "not judged" in found, "the control: it strikes"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_judge_can_be_forked(scenario):
    assert holds(scenario, run(scenario, "refuse")) == "not judged"
