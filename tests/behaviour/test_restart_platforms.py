# SPDX-License-Identifier: Apache-2.0
"""
--restarts in the jobs of every platform that starts nodes: the ranks start again and meet, a node
may be unfit then, and a stop between two attempts ends the job.
"""

import re
import shlex
import signal

import pytest

from peek import wait_until
from test_link import KEY
from test_link_shapes import SHAPES
from test_simulate import ALONE, KINDS, MEET, SHAPES as ALL_SHAPES, simulated

PROCESSES = [shape for shape in ALL_SHAPES if shape not in SHAPES]
# A node that is not fit, and a stop, are the same everywhere but for the names of nodes.
SOME = SHAPES[::4]

# The last rank fails once when all are there. Rank 0 listens by then, and is stopped.
FAILS = """
echo "$RANKINIT_ATTEMPT $RANK" >>@FOLDER/log
if [ $RANKINIT_ATTEMPT-$RANK = 0-$LAST ]; then
    until [ $(wc -l <@FOLDER/log) = $((LAST + 1)) ]; do sleep 0.01; done
    kill -9 $$
fi
"""
MEETS = FAILS + "exec " + shlex.join(MEET)
# Rank 0 takes its time over a stop, and notes each that comes.
SAVES = FAILS + """
if [ $RANK = 0 ]; then
    trap 'echo saves >>@FOLDER/log' TERM
    until [ -e @FOLDER/go ]; do sleep 0.01; done
    exit 0
fi
test $RANKINIT_ATTEMPT = 1 || exec sleep 60
"""


def start(box, spec, command):
    """Two ranks on each node; several nodes have a link."""
    nodes = int(re.search(r":(\d)x2", spec)[1])
    link = ["--link"] if nodes > 1 else []
    last = str(2 * nodes - 1)
    command = command.replace("$LAST", last).replace("$((LAST", f"$(({last}")
    return box.start(*ALONE, box.rankinit, f"--simulate={spec}", "--log-prefix=no", "--restarts=2",
                     *link, "--", "sh", "-c", command, program="/usr/bin/unshare",
                     env={"RANKINIT_LINK_KEY": KEY} if link else {})


def attempt(number, ranks):
    return sorted(f"{number} {rank}" for rank in range(ranks))


def again(result):
    return re.findall(r"; the ranks start again \(restart (\d) of 2\)$", result.err, re.M)


def ends(result):
    """The exit status of each node."""
    return [int(status) for status in
            re.findall(r"^rankinit: simulated: node \d: exit status (\d+) ", result.err, re.M)]


def refusals(result):
    return [line for line in result.lines() if line.startswith("rankinit: error: ")]


def stop_between(box, spec, told):
    """Rank 0 takes its time when it is told of the failure: the stop comes then, if told is 2."""
    job = start(box, spec, SAVES)
    wait_until(lambda: job.count("saves") == 1, "rank 0 to be told of the failure")
    if told == 2:
        job.signal(signal.SIGTERM)
    wait_until(lambda: job.count("saves") == told, "rank 0 to be told of the stop")
    with open(f"{job.folder}/go", "w", encoding="ascii"):
        pass
    return job.wait(), job.log()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_ranks_start_again_and_meet(box, shape):
    job = start(box, f"{shape}:1x2", MEETS)
    result = job.wait()
    assert result.status == 0, result.err
    assert sorted(job.log()) == attempt(0, 2) + attempt(1, 2), result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"rank {rank} of 2, local {rank} of 2, node 0: sum 1" for rank in range(2)]
    assert again(result) == ["1"], result.err
    assert re.search(r"rank 1 \(.*\) failed first\b.*: killed by SIGKILL", result.err), result.err
    assert re.fullmatch(r"node 0: exit status 0 after \d+\.\d s", simulated(result)[-2])


@pytest.mark.parametrize("shape", SOME)
def test_a_node_is_unfit_for_the_restart(box, shape):
    job = start(box, f"{shape}:1x2,unfit=0@1", MEETS)
    result = job.wait()
    assert result.status == 123, result.err
    assert sorted(job.log()) == attempt(0, 2) and again(result) == [], result.err
    errors = refusals(result)
    assert len(errors) == 1 and errors[0].endswith(" [check.unfit]"), result.err
    assert errors[0].startswith("rankinit: error: --simulate: this node (node0) "), result.err
    assert re.search(r"^rankinit: before restart 1: rank 1 .* failed: killed by SIGKILL",
                     result.err, re.M), result.err


@pytest.mark.parametrize("shape", SOME)
def test_a_stop_between_two_attempts_ends_the_job(box, shape):
    result, log = stop_between(box, f"{shape}:1x2", 2)
    assert result.status == 137 and again(result) == [], result.err
    assert sorted(log) == attempt(0, 2) + ["saves"] * 2, result.err
    assert "rankinit: the ranks do not start again: a stop came from outside" in result.lines()


def check_two_nodes(box, spec):
    job = start(box, spec, MEETS)
    result = job.wait()
    assert result.status == 0 and ends(result) == [0, 0], result.err
    assert sorted(job.log()) == attempt(0, 4) + attempt(1, 4), result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"rank {rank} of 4, local {rank % 2} of 2, node {rank // 2}: sum 6" for rank in range(4)]
    assert again(result) == ["1"] * 2, result.err


def check_unfit(box, spec, node):
    """The others end with the verdict on the failure before."""
    job = start(box, f"{spec},unfit={node}@1", MEETS)
    result = job.wait()
    other = 122 if node == 1 else 137     # the last rank, which failed, is of node 1
    assert ends(result) == ([other, 123] if node == 1 else [123, other]), result.err
    assert result.status == (123 if node == 1 else 137), result.err
    assert sorted(job.log()) == attempt(0, 4) and again(result) == [], result.err
    error, = refusals(result)
    assert error.endswith(" [check.unfit]"), error
    assert f": this node (node{node}) " in error, error
    assert (f"rankinit: the ranks do not start again: node {node} (node{node}) is not fit "
            "[check.unfit]") in result.lines(), result.err
    first = re.findall(r"^rankinit: (?:before restart 1: )?(rank 3 .*) failed first "
                       r"\(node 1 of 2\): killed by SIGKILL [^;\n]*$", result.err, re.M)
    assert len(first) == 4 and len(set(first)) == 1, result.err     # each node, twice


def check_stop(box, spec):
    result, log = stop_between(box, spec, 2)
    assert ends(result) == [122, 137] and again(result) == [], result.err
    assert sorted(log) == attempt(0, 4) + ["saves"] * 2, result.err
    # which node knows of the stop first is chance, and node 0 may have told no reason then
    assert re.search(r"^rankinit: the ranks do not start again: (node \d \(node\d\) was stopped "
                     r"from outside|node 0 has not said that all nodes can)$", result.err, re.M), \
        result.err


@pytest.mark.parametrize("shape", SHAPES)
def test_two_nodes_start_again_together(box, shape):
    check_two_nodes(box, f"{shape}:2x2")


@pytest.mark.parametrize("shape", SOME)
def test_two_nodes_do_not_start_again(box, at_once, shape):
    spec = f"{shape}:2x2"
    at_once(lambda check: check(), [
        lambda: check_unfit(box, spec, 0), lambda: check_unfit(box, spec, 1),
        lambda: check_stop(box, spec)])


def test_without_the_stop_they_start_again(box):
    """The control of the stop."""
    result, log = stop_between(box, "sagemaker:1x2", 1)
    assert again(result) == ["1"] and sorted(log) == attempt(0, 2) + attempt(1, 2) + ["saves"]
    assert result.status == 0, result.err


@pytest.mark.parametrize("shape", PROCESSES)
def test_a_rank_of_a_launcher_starts_nothing_again(box, shape):
    job = start(box, f"{shape}:1x2", MEETS)
    result = job.wait()
    assert result.status == 125 and job.log() == [] and again(result) == [], result.err
    errors = refusals(result)
    assert errors and all(line.startswith("rankinit: error: --restarts: rank ") and
                          line.endswith("[restarts.refused]") for line in errors), result.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_is_unfit_from_the_start(box, kind):
    words = ["--", "sh", "-c", "echo ran $NODE_RANK"]
    result = box.run(f"--simulate={kind}:2x1,unfit=1@0", "--log-prefix=no", *words)
    assert result.status == 123 and b"ran 1" not in result.out, result.err
    errors = refusals(result)
    assert len(errors) == 1 and errors[0].endswith(" [check.unfit]"), result.err
    assert errors[0].startswith("rankinit: error: --simulate: this node (node1) plays one that is "
                                "not fit for the job"), errors
    # the controls: without a restart there is none to be unfit for, and a plan is not hit
    well = box.run(f"--simulate={kind}:2x1,unfit=1@1", "--log-prefix=no", *words)
    assert (well.status, sorted(well.out.split(b"\n"))) == (0, [b"", b"ran 0", b"ran 1"]), well.err
    plan = box.run(f"--simulate={kind}:2x1,unfit=1@0", "--explain", *words)
    assert plan.status == 0 and "check.unfit" not in plan.err, plan.err
