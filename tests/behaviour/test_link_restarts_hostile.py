# SPDX-License-Identifier: Apache-2.0
"""--restarts over several nodes that come late, or hear of a failure when nobody expects it."""

import os
import signal

import pytest

import link_peer
import peek
from link_node import centre_hello, net  # noqa: F401  a fixture
from link_peer import (OPENING, SECRET, Peer, answer, go, job_name, life, listen, next_key,
                       verdict)
from peek import wait_until
from test_link import Nodes
from test_link_restarts import NOT, attempts, pids_of

COUNT = ": > @FOLDER/up.${RANKINIT_ATTEMPT:-0}.$RANK; "


@pytest.mark.parametrize("options", [[], ["--restarts=1"]], ids=str)
def test_a_node_that_comes_late(box, options):
    """The failure was decided without it, its ranks are told nothing, and nobody waits for it."""
    its = Nodes(box, 3, 1, COUNT + "[ $RANK = 1 ] && kill -9 $$; [ $RANK = 0 ] && exec sleep 60; "
                "until [ -s @FOLDER/status0 ]; do sleep 0.02; done", "--restart-wait=600",
                of={0: ["--restarts=1"], 1: ["--restarts=1"], 2: options},
                before={2: "until grep -qs 'failed first' @FOLDER/err0; do sleep 0.02; done"})
    ended = its.wait()
    assert [node.status for node in ended.values()] == [122, 137, 0], ended
    for node in 0, 1:
        assert [line for line in ended[node].lines if line.startswith(NOT + "node 2 (")
                and line.endswith(" has come only after the failure")], ended[node].lines
    assert set(attempts(its, 3)) == {(0, 0), (0, 1), (0, 2)}


# A shell lets what it starts with & ignore SIGINT and SIGQUIT.
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_stop_while_the_ranks_end(box, number):
    """One rank takes its time to end of the other's failure, and hears a signal meanwhile."""
    its = Nodes(box, 2, 1, COUNT + "if [ $RANK = 0 ]; then until [ -e @FOLDER/ready ]; do "
                "sleep 0.02; done; kill -9 $$; fi; trap ': > @FOLDER/asked' TERM; "
                "trap 'exit 7' HUP; : > @FOLDER/ready; "
                "until [ -e @FOLDER/go ]; do sleep 0.02; done; exit 7", "--restarts=1")
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "asked")), "an order")
    (node,) = pids_of(its, 1)
    os.kill(node, number)
    if number == signal.SIGTERM:
        with open(os.path.join(its.job.folder, "go"), "w", encoding="ascii"):
            pass
    ended = its.wait()
    assert ended[0].status == 137 and attempts(its, 2) == [(0, 0), (0, 1)], ended
    assert [line for line in ended[0].lines if line.startswith(NOT + "node 1 (")
            and line.endswith(" was stopped from outside")], ended[0].lines


LEAVES = ("echo rank $RANKINIT_ATTEMPT >>@FOLDER/log; [ $RANKINIT_ATTEMPT = 1 ] && exec sleep 60; "
          "until [ -e @FOLDER/go ]; do sleep 0.02; done; kill -9 $$")


def leaving(box, listener, tool, *strace):
    """Node 1, which has said that it can leave its first attempt; the test is node 0."""
    job = box.start("-o", "@FOLDER/trace", "-e", "trace=sendto", *strace, box.rankinit,
                    "--nnodes=2", "--node-rank=1", "--nproc-per-node=1",
                    "--master-addr=127.0.0.1", "--master-port=29500", "--link", "--restarts=1",
                    "--", "sh", "-c", LEAVES, program=tool("strace"), place="below",
                    env={"RANKINIT_LINK_KEY": SECRET.decode()})
    job.until("rank 0")
    peer = answer(listener, job_name(2))
    peer.say(centre_hello(nodes=2))
    with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
        pass
    peer.hear("end")
    peer.say({"say": "heard"}, {**verdict(1, "host1 failed\n"), "again": True, "mark": 2})
    assert peer.hear("go") == go("leave")
    (rankinit,) = [pid for pid in job.others() if (peek.stat(pid) or ("",))[0] == "rankinit"]
    return job, peer, rankinit


def next_attempt(listener, centre=life(1)):
    """The same node calls again, with the key of the attempt behind the one of that centre."""
    while True:
        peer = Peer(listener.accept()[0], job_name(2), centre=True)
        peer.key = next_key(peer.key, centre)
        theirs = peer.take(OPENING)
        if len(theirs) < OPENING:
            continue
        peer.put(peer.opening())
        peer.seal(theirs)
        peer.hear("hello")
        peer.say(centre_hello(nodes=2, number=2))
        return peer


def starts(job, peer):
    """All can start: its rank does."""
    assert peer.hear("go") == go("start")
    peer.say(go("start"))
    job.until("rank 1")


@link_peer.needs_sodium
def test_all_leave_and_start(box, net, tool):
    """The control of the next one: without a stop the rank starts again."""
    with listen() as listener:
        job, peer, _ = leaving(box, listener, tool)
        peer.say(go("leave"))
        starts(job, next_attempt(listener))


@link_peer.needs_sodium
def test_the_next_attempt_of_another_run(box, net, tool):
    """The job's name, its secret and the number are the same, and the first centre was another."""
    with listen() as listener:
        job, peer, _ = leaving(box, listener, tool)
        peer.say(go("leave"))
        with pytest.raises(AssertionError, match="does not open"):
            next_attempt(listener, life(2))
        starts(job, next_attempt(listener))


@link_peer.needs_sodium
def test_a_stop_that_crosses_the_word_of_all(box, net, tool):
    """
    It comes when the node has said that it can leave. Then the node tells the stop (its fourth
    message, behind which it is held here), and hears that all leave before it has said no.
    """
    with listen() as listener:
        job, peer, rankinit = leaving(box, listener, tool, "-e",
                                      "inject=sendto:signal=STOP:when=4")
        os.kill(rankinit, signal.SIGTERM)
        assert peer.hear("end")["class"] == "stopped"
        wait_until(lambda: peek.state(rankinit) in "tT", "it is held")
        peer.say({"say": "heard"}, go("leave"))
        assert peer.is_closed(), "its helper has nothing more to hear"
        os.kill(rankinit, signal.SIGCONT)
        peer = next_attempt(listener)
        assert peer.hear("end")["class"] == "stopped"
        said = peer.hear("go")
        assert (said["step"], said["go"]) == ("start", False)
        assert said["text"].endswith(" was stopped from outside\n")
        peer.say({"say": "heard"}, go("start", False, "the ranks do not start again: why\n"))
        result = job.wait()
        assert result.status == 143, result.err
        assert job.log() == ["rank 0"] and result.brief["cause"] == "preempted"
