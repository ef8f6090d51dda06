# SPDX-License-Identifier: Apache-2.0
"""--link: all nodes look at their ranks at one moment, and every log names the odd rank."""

import json
import os
import re
import shlex
import signal
import time

import pytest

import everybody
import peek
import schema
from box import HERE
from peek import wait_until
from test_autopsy import PYTHON, STALLED, folder  # noqa: F401  a fixture
from test_link import ALONE, JOINED, KEY, Nodes, find_member

NODES, RANKS = 3, 2
TOGETHER = "rankinit: autopsy: of "
ODD = re.compile(r"rankinit: autopsy: of 6 ranks 5 wait in all_reduce \(hang\.py:\d+\), "
                 r"rank (\d) \(node (\d), [^)]+\) is in work \(hang\.py:\d+\) and sleeps")
UNPROVED = "rankinit: without a key, so that anybody may have said it: "
# A program that gets on, though it prints nothing.
WALKS = """
import time
def there(): time.sleep(0.05)
def here(): time.sleep(0.07)
print("walks", flush=True)
while True:
    here()
    there()
"""
# Rank 0 has waited for long enough, once FOLDER/go is there; rank 6 is what it waited for.
GIVES_UP = """
import os, sys, time
folder, how = sys.argv[1:]
sys.path.insert(0, os.path.join(folder, "site-packages"))
from torch.distributed import distributed_c10d as dist
def work():
    time.sleep(600)
print("hangs", flush=True)
if os.environ["RANK"] == "0":
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.05)
    raise RuntimeError(how)
if os.environ["RANK"] == "6":
    work()
dist.all_reduce()
"""
TIMED_OUT = "[/build/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv " \
            "operation to complete"


@pytest.fixture
def hanging(box, folder):
    """Three nodes of two ranks, all of which wait; but the victim does something else."""
    program = everybody.copy(os.path.join(HERE, "hang.py"))

    def start(deed, victim, *options, **more):
        words = shlex.join([*PYTHON, program, str(folder), deed, str(victim)])
        nodes = Nodes(box, NODES, RANKS, "exec " + words, "--checks=none", "--roll-call=0",
                      *options, **more)
        for node in range(NODES):
            wait_until(lambda: out(nodes, node).count("hangs") == RANKS, nodes.job.error_text())
        return nodes
    return start


@pytest.fixture
def watched(hanging):
    """One node alone has --stall, and starts when the ranks of the others wait."""
    def start(deed, victim, node, **more):
        others = [f"@FOLDER/out{other}" for other in range(NODES) if other != node]
        ready = f"until [ $(cat {' '.join(others)} | grep -c hangs) = {RANKS * len(others)} ]; " \
                f"do sleep .1; done; {JOINED}"
        return hanging(deed, victim, of={node: ["--stall=1"]}, before={node: ready}, **more)
    return start


def out(nodes, node):
    path = os.path.join(nodes.job.folder, f"out{node}")
    return nodes.job.read(f"out{node}").decode() if os.path.exists(path) else ""


def said(nodes, node):
    """What that log has of a look of all nodes, once it has something."""
    def look():
        return [line for line in nodes.lines(node) if TOGETHER in line]
    return wait_until(look, f"a look in {nodes.lines(node)}")


# So long a job is silent before it is looked at when it is stopped.
AFTER = "--autopsy-after=0.3"


def is_silent(nodes, node):
    """For a second: that long, and a moment more."""
    path = os.path.join(nodes.job.folder, "{}" + str(node))
    return time.time() - max(os.stat(path.format(name)).st_mtime for name in ("out", "err")) > 1


def until_joined(pid):
    """In the network of that process node 0 has a connection of each other node."""
    wait_until(lambda: len(re.findall(
        r":24FF [0-9A-F]+:[0-9A-F]{4} 01 ",
        (peek.read(pid, "net/tcp") + peek.read(pid, "net/tcp6")).decode())) == NODES - 1,
               "connections")


def stop_silent(nodes, *which):
    """Once all of them are, and are linked."""
    until_joined(find_member(nodes.job, "--node-rank=0"))
    wait_until(lambda: all(is_silent(nodes, node) for node in range(NODES)), "silence")
    stop(nodes, *which)


def stop(nodes, *which, number=signal.SIGTERM):
    for node in which:
        os.kill(find_member(nodes.job, f"--node-rank={node}"), number)


def test_a_stall_is_looked_at_on_every_node(watched):
    """One node alone watches, and names it to all."""
    victim = 3
    nodes = watched("sleep", victim, 1)
    for node in range(NODES):
        lines = said(nodes, node)
        assert len(lines) == 1, lines
        assert ODD.fullmatch(lines[0]).groups() == (str(victim), str(victim // RANKS))
    # its own look follows
    wait_until(lambda: f"rankinit: {STALLED}" in "\n".join(nodes.lines(1)), nodes.lines(1))
    assert STALLED not in "\n".join(nodes.lines(0) + nodes.lines(2))


def test_without_a_link_each_node_is_alone(hanging):
    """The control."""
    nodes = hanging("sleep", 3, "--stall=1", "--link=no")
    for node in range(NODES):
        wait_until(lambda: f"rankinit: {STALLED}" in "\n".join(nodes.lines(node)),
                   nodes.lines(node))
        assert TOGETHER not in "\n".join(nodes.lines(node))


def test_without_a_key_it_is_news(watched):
    nodes = watched("sleep", 3, 1, env={"RANKINIT_LINK_KEY": ""})
    for node in range(NODES):
        lines = wait_until(lambda: [line for line in nodes.lines(node) if UNPROVED in line],
                           nodes.lines(node))
        assert len(lines) == 1 and ODD.fullmatch(
            "rankinit: autopsy: " + lines[0].removeprefix(UNPROVED)), lines


@pytest.mark.parametrize("node", [0, NODES - 1])
def test_one_node_is_asked(hanging, node):
    """A person asks one node, and the answer is in every log."""
    nodes = hanging("sleep", 3, of={node: ["--autopsy-signal=USR1"]})
    until_joined(find_member(nodes.job, "--node-rank=0"))
    stop(nodes, node, number=signal.SIGUSR1)
    for other in range(NODES):
        lines = said(nodes, other)
        assert len(lines) == 1 and ODD.fullmatch(lines[0]).groups() == ("3", "1"), lines
    wait_until(lambda: "what the processes do" in "\n".join(nodes.lines(node)), nodes.lines(node))


def test_one_node_is_asked_without_a_link(hanging):
    """The control: it sees its own ranks alone, of which there are too few."""
    nodes = hanging("sleep", 3, "--autopsy-signal=USR1", "--link=no")
    stop(nodes, 1, number=signal.SIGUSR1)
    wait_until(lambda: "what the processes do" in "\n".join(nodes.lines(1)), nodes.lines(1))
    for node in range(NODES):
        assert not [line for line in nodes.lines(node) if TOGETHER in line], nodes.lines(node)


def test_where_all_wait_no_rank_is_named(watched):
    nodes = watched("collective", -1, 2)
    for node in range(NODES):
        assert re.fullmatch(r"rankinit: autopsy: of 6 ranks 6 wait in all_reduce \(hang\.py:\d+\)",
                            said(nodes, node)[0])


def test_the_stop_of_a_silent_job(hanging, box):
    """
    One node hears of it before the others, whose ranks are looked at before they are told. The
    reports have it, and --blame tells it.
    """
    nodes = hanging("sleep", 3, AFTER, "--report=@FOLDER/report%n.json")
    stop_silent(nodes, 2, 0, 1)
    ended = nodes.wait()
    for node in ended.values():
        lines = [line for line in node.lines if TOGETHER in line]
        assert len(lines) == 1 and ODD.fullmatch(lines[0]).groups() == ("3", "1"), node.lines
    assert {node.status for node in ended.values()} == {0}
    folder, sentences = nodes.job.folder, set()
    for node in range(NODES):
        document = json.loads(nodes.job.read(f"report{node}.json"))
        schema.check(document, "report")
        found = document["job_autopsy"]
        assert (found["rank"], found["node"]) == (3, 1)
        sentences.add(found["text"])
    sentence = sentences.pop().strip()
    assert not sentences and ODD.fullmatch("rankinit: autopsy: " + sentence)
    page = box.run("--blame", *(f"{folder}/report{node}.json" for node in range(NODES)),
                   place="below").out.decode()
    assert re.match(r"rank 3 of node 1 \([^)]+\) held up the others, as all nodes saw at \S+:\n"
                    f"    {re.escape(sentence)}\n", page), page


def test_the_stop_of_a_job_that_speaks(hanging):
    """The control: by default it is silent for a minute before it is looked at."""
    nodes = hanging("sleep", 3)
    stop(nodes, 2, 0, 1)
    for node in nodes.wait().values():
        assert not [line for line in node.lines if "autopsy" in line], node.lines


def test_one_node_that_is_stopped(hanging):
    """An eviction: the others look, and go on."""
    nodes = hanging("sleep", 3, AFTER)
    stop_silent(nodes, 2)
    for node in range(NODES):
        assert ODD.fullmatch(said(nodes, node)[0]).groups() == ("3", "1")
    wait_until(lambda: find_member(nodes.job, "--node-rank=2") is None, "the end of node 2")
    stop(nodes, 0, 1)
    assert {node.status for node in nodes.wait().values()} == {0}


@pytest.mark.parametrize("how", [TIMED_OUT, "bad batch 17"])
def test_a_rank_that_gives_up(box, folder, how):
    """What it waited for is looked for on all nodes; not so after a failure of its own."""
    (folder / "train.py").write_text(GIVES_UP)
    words = shlex.join([*PYTHON, str(folder / "train.py"), str(folder), how])
    nodes = Nodes(box, NODES, 4, "exec " + words, "--checks=none", "--roll-call=0")
    for node in range(NODES):
        wait_until(lambda: out(nodes, node).count("hangs") == 4, nodes.job.error_text())
    until_joined(find_member(nodes.job, "--node-rank=0"))
    (folder / "go").touch()
    for node in nodes.wait().values():
        lines = [line for line in node.lines if TOGETHER in line]
        if how != TIMED_OUT:
            assert lines == [], node.lines
            continue
        assert len(lines) == 1 and re.search(
            r"of 1[12] ranks 10 wait in all_reduce \(train\.py:15\), rank 6 \(node 1, [^)]+\) is "
            r"in work \(train\.py:7\) and sleeps", lines[0]), node.lines


def test_a_healthy_job(box):
    """It prints nothing, so it is looked at, and no rank is named."""
    nodes = Nodes(box, NODES, RANKS, "exec " + shlex.join([*PYTHON, "-c", WALKS]),
                  "--checks=none", "--roll-call=0", AFTER)
    for node in range(NODES):
        wait_until(lambda: out(nodes, node).count("walks") == RANKS, nodes.job.error_text())
    stop_silent(nodes, 0, 1, 2)
    for node in nodes.wait().values():
        lines = [line for line in node.lines if TOGETHER in line]
        assert len(lines) == 1 and "rank " not in lines[0], node.lines


def test_a_simulated_hang(box, folder):
    """With the link each of its nodes names the rank that the fault stopped."""
    program = everybody.copy(os.path.join(HERE, "hang.py"))
    job = box.start(*ALONE, box.rankinit, f"--simulate=kubeflow_pytorch:{NODES}x{RANKS},hang=3@1",
                    AFTER, "--roll-call=0", "--link", "--", *PYTHON, program, folder,
                    "collective", "-1", program="/usr/bin/unshare", env={"RANKINIT_LINK_KEY": KEY})
    others = [f"[{rank // RANKS}:{rank}] hangs" for rank in range(NODES * RANKS) if rank != 3]
    wait_until(lambda: set(others) <= set(job.read("out").decode().splitlines()) and
               "SIGSTOP for rank 3" in job.error_text(), job.error_text())
    until_joined(job.pid)
    time.sleep(1)   # they are silent, and longer does no harm
    result = job.stop()
    lines = [line for line in result.lines() if TOGETHER in line]
    assert len(lines) == NODES, result.err
    for line in lines:
        assert re.fullmatch(
            r"rankinit: autopsy: of 6 ranks 5 wait in all_reduce \(hang\.py:\d+\), rank 3 "
            r"\(node 1, node1\) .*was stopped by a signal \(SIGSTOP, SIGTSTP\)", line), line
