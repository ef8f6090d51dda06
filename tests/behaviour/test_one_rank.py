# SPDX-License-Identifier: Apache-2.0
"""
One rank a node, by --nproc-per-node=1: of it rankinit tells as of several, where the job has other
nodes. A job of this one process is a command like any other.
"""

import re
import signal

import pytest

from verdict import status_line

NODE = ["--nnodes=2", "--master-addr=10.255.255.1", "--checks=none", "--nproc-per-node=1"]
PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
RAISES = "raise ValueError('bad batch 2')"
LOSES = "raise RuntimeError('Connection closed by peer [10.255.255.1]:3333')"


KILLED = "import os; os.kill(os.getpid(), 9)"
ENDS = {     # what is the first line, the last one, and the exit status
    RAISES: (r"rank {0} \(local rank 0, pid \d+ on \S+\) failed \(node {0} of 2\): "
             r"exit status 1, .*",
             {"cause": "exception", "class": "own", "retry": "never", "rank": "{0}",
              "node": "{0}"}, 1),
    KILLED: (r"rank {0} \(local rank 0, pid \d+ on \S+\) failed \(node {0} of 2\): "
             r"killed by SIGKILL \(9\), .*",
             {"cause": "killed", "class": "own", "rank": "{0}", "node": "{0}"}, 137),
    LOSES: (r"rank {0} lost a peer on another node \(node {0} of 2\); a rank there went first: "
            r"look at that node's log", {"cause": "unknown", "class": "loss", "retry": "same"}, 1),
}


@pytest.mark.parametrize("node", [0, 1])
@pytest.mark.parametrize("code", list(ENDS), ids=["raises", "killed", "loses"])
def test_the_whole_verdict(box, node, code):
    first, last, status = ENDS[code]
    result = box.run(f"--node-rank={node}", *NODE, "--", *PYTHON, code)
    lines = result.lines()
    assert result.status == status
    assert re.fullmatch("rankinit: " + first.format(node), lines[0]), result.err
    assert lines[-1] == status_line(status, "this node")
    assert {name: result.brief[name] for name in last} == \
        {name: value.format(node) for name, value in last.items()}
    if code == RAISES:
        assert lines[1] == "rankinit:   ValueError: bad batch 2"
    assert "verdict cause=" not in result.err


def test_torch_says_why(box):
    """As with several ranks it is told where, and only where rankinit stays to read that."""
    say = ["--", "sh", "-c", "echo ${TORCHELASTIC_ERROR_FILE-no}"]
    result = box.run("--node-rank=1", *NODE, *say)
    assert result.out.startswith(b"/") and not result.lines()
    assert box.run("--nproc-per-node=1", *say).out == b"no\n"
    assert box.run("--node-rank=1", "--supervise=never", *NODE, *say).out == b"no\n"


def test_a_stop(box):
    job = box.start("--node-rank=1", *NODE, "--", "sh", "-c",
                    'echo there >>"$0"; exec sleep 60', "@FOLDER/log")
    job.until("there")
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert result.status == 143
    assert (result.brief["cause"], result.brief["class"]) == ("preempted", "stopped")


@pytest.mark.parametrize("words", [
    ["--nproc-per-node=1"], ["--nproc-per-node=1", "--nnodes=1"], []])
def test_a_job_of_one_process_is_a_command(box, words):
    result = box.run(*words, "--", *PYTHON, RAISES)
    assert (result.status, result.lines(), result.brief) == (1, [], None)
    assert result.err.endswith("ValueError: bad batch 2\n")


def test_a_rank_that_ends_well_says_nothing(box):
    result = box.run("--node-rank=0", *NODE, "--", "true")
    assert (result.status, result.lines(), result.brief) == (0, [], None)


def test_one_inside_of_another(box):
    """An image's rankinit around it: one verdict, of the inner one."""
    result = box.run("--", box.rankinit, "--node-rank=1", *NODE, "--", *PYTHON, RAISES)
    assert result.status == 1
    assert result.brief["rank"] == "1" and "verdict cause=" not in result.err
