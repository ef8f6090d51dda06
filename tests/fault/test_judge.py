# SPDX-License-Identifier: Apache-2.0
"""
The judge reads what ranks wrote, in a process of its own. Whatever becomes of it, at each of its
system calls, the status is that of the rank that failed, there is exactly one verdict, and the
kernel's own facts are told. strike.c strikes.
"""

import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import pytest

from fault_runner import BUILT, RANKINIT, ROOT

sys.path.append(os.path.join(ROOT, "tests", "box"))
from launcher import LAUNCHER  # noqa: E402 (found by the line above)
from peek import wait_until  # noqa: E402

STRIKE = os.path.join(BUILT, "strike")
RAISES = ("echo 'Traceback (most recent call last):' >&2; echo '  File \"a.py\", line 1' >&2; "
          "echo 'ValueError: bad batch 17' >&2; exit 1")
SLEEPS = "exec sleep 100"
KEY = "d08fbc5a150028b59a73c7852451d26f"
KNOWS = "ValueError: bad batch 17"
JUDGES = 3      # at most, of one failure
AT_ONCE = 24    # most of them wait, for a judge that hangs or for the other node


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


def restarts(folder):
    """Rank 0 has been reaped when rank 1 fails: its end later would be news for one more judge."""
    waits = f"until [ -s {folder}/0 ] && ! kill -0 $(cat {folder}/0); do sleep 0.01; done"
    return ["--restarts=1", "--nproc-per-node=2", "--",
            *rank(1, f"[ $RANKINIT_ATTEMPT = 1 ] || {{ {waits}; kill -9 $$; }} 2>/dev/null; exit 0",
                  f"echo $$ >{folder}/0; exit 0")]


NODE = ["--link", "--nnodes=2", "--master-addr=127.0.0.1", "--master-port=29500",
        "--roll-call=0", "--link-grace=1"]


def link(folder):
    return [*NODE, "--node-rank=1", *four(folder)]


# What is started, the status that it ends with, and that of one that is not judged.
SCENARIOS = {
    "a report": (report, 1, 1), "four ranks": (four, 1, 1), "a link": (link, 1, 1),
    "a launcher": (launcher, 1, 1), "restarts": (restarts, 0, 137),
}


def run(scenario, how, judge=0, call=0, before="", **env):
    """Its status, what it said, and whether it was struck, or how many calls that judge made."""
    command = SCENARIOS[scenario][0] if scenario in SCENARIOS else scenario
    folder = tempfile.mkdtemp(prefix="rankinit-judge-", dir="/dev/shm")
    told, tells = os.pipe()
    try:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", f'ip link set lo up; {before} exec "$@"', "sh", STRIKE,
             how, str(judge), str(call), "--", RANKINIT, "--checks=none", "--grace=8",
             *command(folder)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
            pass_fds=(tells,), env={"PATH": os.environ["PATH"], "RANKINIT_LINK_KEY": KEY,
                                     "STRIKE_TOLD": str(tells), **env})
        os.close(tells)
        with os.fdopen(told, encoding="ascii") as file:
            return done.returncode, done.stderr, file.read().split()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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


def calls(scenario, outcome):
    """How many that judge made, none where it is not there; nothing was struck."""
    assert holds(scenario, outcome) == "judged", "the control"
    told = outcome[2]
    return int(told[0]) if told else 0


def places(counts):
    """Each call of each judge; of one that hangs, which takes seconds, the middle."""
    for judge, count in enumerate(counts, 1):
        for call in range(1, count + 1):
            yield from (("segv", judge, call), ("kill", judge, call))
        if count:
            yield "hang", judge, count // 2


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_judge_is_struck(scenario):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        controls = [pool.submit(run, scenario, "segv", judge, 1 << 20)
                    for judge in range(1, JUDGES + 1)]
        struck = [(how, pool.submit(run, scenario, how, judge, call)) for how, judge, call in
                  sorted(places([calls(scenario, control.result()) for control in controls]))]
        found = {(how, holds(scenario, outcome.result())) for how, outcome in struck}
    assert {how for how, what in found if what == "not judged"} == {"segv", "kill", "hang"}, \
        "the control: it strikes"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_judge_can_be_forked(scenario):
    assert holds(scenario, run(scenario, "refuse")) == "not judged"


def beside(folder, *words):
    """A node that runs beside the one that is struck, and leaves there how it ended."""
    node = shlex.join([RANKINIT, "--checks=none", "--grace=8", *NODE, *words])
    return f"({node} 2>{folder}/err; echo $? >{folder}/status) & "


def test_the_other_nodes_are_told_though_the_job_was_over_first(tmp_path):
    """What the rank left is gone before its judge, which hangs, has answered."""
    status, err, told = run(
        lambda _: [*NODE, "--node-rank=1", "--nproc-per-node=1", "--", "sh", "-c",
                   f"sleep 100 & {RAISES}"], "hang", 1, 1,
        before=beside(tmp_path, "--node-rank=0", "--nproc-per-node=1", "--", "sleep", "20"))
    assert (status, told) == (1, ["struck"]), err     # and the judge is not left behind
    wait_until((tmp_path / "status").exists, "node 0")
    said = (tmp_path / "err").read_text()
    assert (tmp_path / "status").read_text() == "122\n" and KNOWS in said, said


def test_what_was_told_to_stop_did_not_fail(tmp_path):
    """Nor does it without a judge: the other node's verdict is the job's."""
    raising = beside(tmp_path, "--node-rank=1", "--nproc-per-node=2", "--", *rank(1, RAISES))
    _, err, told = run(
        lambda _: [*NODE, "--node-rank=0", "--nproc-per-node=2", "--", "sleep", "20"], "kill", 1,
        1, before=raising)
    assert told == ["struck"] and "; the process that read what they wrote has crashed" in err
    assert re.findall(r"^rankinit: verdict (.*) host=\S+ (.*)$", err, re.M) == [
        ("cause=exception class=own retry=never rank=3 node=1", "status=122 retries=0")], err


def test_a_stop_has_no_first_failure():
    _, err, _ = run(lambda _: ["--nproc-per-node=2", "--", *rank(
        0, "kill -TERM $PPID; exec sleep 100")], "refuse")
    line, = re.findall(r"^rankinit: verdict (.*)$", err, re.M)
    assert line.startswith("cause=preempted class=stopped retry=same ") and " rank=" not in line
    assert re.search(r"^rankinit: rank \d was told to stop: killed by SIGTERM \(15\); ", err, re.M)


def test_a_restart_counts_that_no_judge_has_told_of():
    status, err, told = run(launcher, "kill", 1, 1, RESTARTS="1", TELLS="1")
    assert (status, told) == (1, ["struck"]), err
    assert "rankinit: torchrun has started its ranks again\n" in err
    assert re.search(r"^rankinit: verdict cause=exception .* retries=1$", err, re.M), err
