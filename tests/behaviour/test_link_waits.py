# SPDX-License-Identifier: Apache-2.0
"""The waits of --restarts over several nodes have an end, whatever is frozen, lost or taken."""

import contextlib
import os
import re
import signal
import socket
import time

import link_peer
import peek
from link_node import apart, centre_hello  # noqa: F401  a fixture
from link_peer import PORT, SECRET, answer, call, end, go, job_name, listen, phase, verdict
from peek import wait_until
from test_link_restarts import NOT, all_of, attempts, job, pids_of
from test_link_restarts_hostile import LEAVES, next_attempt

# One rank is killed when the test says so, in the first attempt.
LATER = ("[ $A = 0 ] || exit 0; [ $RANK = 1 ] || exec sleep 600; "
         "until [ -e @FOLDER/go ]; do sleep 0.02; done; kill -9 $$")


def touch(folder, name):
    with open(os.path.join(folder, name), "w", encoding="ascii"):
        pass


def family(pid):
    return [pid, *(below for child in peek.children(pid) for below in family(child))]


def has_joined(node):
    """Its helper has a connection, and nothing more to do."""
    (helper,) = [pid for pid in peek.children(node)
                 if (peek.stat(pid) or ("",))[0] == "rankinit-link"]
    before = peek.switches(helper)
    time.sleep(0.1)
    # of node 0's port, established: proc(5)
    return re.search(rb":24FF 01 ", peek.read(node, "net/tcp")) and \
        peek.switches(helper) == before and peek.state(helper) == "S"


def frozen(box, options, thaws):
    """Node 2, whose connection stays, from before the failure of node 1."""
    its = job(box, 3, LATER, "--restarts=1", *options)
    wait_until(lambda: len(attempts(its, 3)) == 3, "all ranks")
    (node,) = pids_of(its, 2)
    for number in 1, 2:
        wait_until(lambda n=number: has_joined(*pids_of(its, n)), f"the link of node {number}")
    pids = family(node)
    for pid in pids:    # a shell's child may be gone
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all((peek.state(pid) or "Z") in "tTZ" for pid in pids), "a frozen node")
    touch(its.job.folder, "go")
    thaws(its)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return its, its.wait()


def a_node_that_stays_frozen(box):
    def ends(its):
        for node in 0, 1:
            wait_until(lambda n=node: os.path.exists(os.path.join(its.job.folder, f"status{n}")),
                       f"the end of node {node}")

    its, ended = frozen(box, ["--link-grace=1", "--restart-wait=2"], ends)
    assert [ended[node].status for node in (0, 1)] == [122, 137], ended
    for node in 0, 1:
        assert [line for line in ended[node].lines if re.fullmatch(
            NOT + r"(?:.*, )?node 2 \(\S+\) ha(?:s|ve) not ended the ranks within 3 s", line)
            ], ended[node].lines
    assert attempts(its, 3) == all_of(1, 3)


def a_node_that_thaws(box):
    """The control: it is waited for."""
    def is_judged(its):
        wait_until(lambda: "failed first" in "\n".join(its.lines(0)), "the verdict")

    its, ended = frozen(box, [], is_judged)
    assert [ended[node].status for node in range(3)] == [0, 0, 0], ended
    assert attempts(its, 3) == all_of(2, 3)


def leaves(box, listener, *options):
    """Node 1, which has said that it can leave its first attempt; the test is node 0."""
    member = box.start("--nnodes=2", "--node-rank=1", "--nproc-per-node=1", "--link",
                       "--master-addr=127.0.0.1", "--master-port=29500", "--restarts=1", *options,
                       "--", "sh", "-c", LEAVES, program=box.rankinit,
                       env={"RANKINIT_LINK_KEY": SECRET.decode()})
    member.until("rank 0")
    peer = answer(listener, job_name(2))
    peer.say(centre_hello(nodes=2))
    touch(member.folder, "go")
    peer.hear("end")
    peer.say({"say": "heard"}, {**verdict(1, "host1 failed\n"), "again": True, "mark": 2})
    assert peer.hear("go") == go("leave")
    return member, peer


def in_second(box, *options):
    """The same node, which has said that it can start its second one."""
    with listen() as listener:
        member, peer = leaves(box, listener, *options)
        peer.say(go("leave"))
        peer = next_attempt(listener)
        assert peer.hear("go") == go("start")
    return member, peer


def ends(member, why, status=137):
    result = member.wait()
    assert result.status == status, result.err
    assert NOT + why in result.err.splitlines(), result.err
    assert member.log() == ["rank 0"]


def a_node_0_that_is_frozen(box):
    """It has said `again`, and then no word, over a connection that lasts."""
    with listen() as listener:
        member, peer = leaves(box, listener, "--link-grace=0.1", "--restart-wait=0.1")
        ends(member, "node 0 has not said that all nodes can")
        peer.close()


def a_node_0_that_sends_it_away(box):
    """No job goes on without it then."""
    member, peer = in_second(box, "--restart-wait=600")
    peer.say(centre_hello("other", nodes=2, number=2))
    ends(member, "node 0 was started again")


def a_word_to_start_that_is_lost(box):
    """The others may have heard it: this node tells them that its ranks do not run."""
    member, peer = in_second(box, "--restart-wait=0.1")
    said = peer.hear("go")
    assert (said["step"], said["go"]) == ("start", False)
    assert said["text"].endswith(" has not heard that all nodes can\n")
    said = peer.hear("end")
    assert (said["class"], said["fatal"]) == ("own", True)
    assert said["text"].endswith(
        " has not started its ranks: it has not heard that all nodes can\n")
    peer.say({"say": "heard"}, verdict(1, "host1 failed\n"))
    ends(member, "node 0 has not said that all nodes can")


def a_verdict_with_the_word_to_start(box):
    """Both lie in the socket of its PID 1 when that reads."""
    member, peer = in_second(box, "--restart-wait=600")
    (helper,) = [pid for pid in peek.children(member.pid)
                 if (peek.stat(pid) or ("",))[0] == "rankinit-link"]
    os.kill(member.pid, signal.SIGSTOP)
    wait_until(lambda: peek.state(member.pid) in "tT" and peek.state(helper) == "S", "a pause")
    before = peek.switches(helper)
    peer.say(go("start"), verdict(0, "host0 failed\n", order=True))
    wait_until(lambda: peek.switches(helper) > before and peek.state(helper) == "S", "it has read")
    os.kill(member.pid, signal.SIGCONT)
    ends(member, "the job has failed again before")


@contextlib.contextmanager
def taken(port):
    """Bound beside the one that listens there; nobody else can bind it when that is gone."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("0.0.0.0", port))
        yield sock


def a_port_that_is_taken_meanwhile(box):
    """Node 0 knows that no other node can come, and waits for none."""
    with taken(PORT) as sock:
        node = box.start("--nnodes=2", "--node-rank=0", "--nproc-per-node=1", "--link",
                         f"--link-port={PORT}", "--master-addr=127.0.0.1", "--master-port=29500",
                         "--restarts=1", "--restart-wait=600", "--", "sh", "-c",
                         "echo rank $RANKINIT_ATTEMPT >>@FOLDER/log; exec sleep 600",
                         program=box.rankinit, env={"RANKINIT_LINK_KEY": SECRET.decode()})
        node.until("rank 0")
        peer = call(job_name(2))
        assert peer.hello(1, 2, restarts=1)["place"] == "taken"
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        peer.say(phase("running"), end("host1 failed\n"))
        assert peer.hear("verdict")["again"]
        peer.say(go("leave"))
        assert peer.hear("go") == go("leave")
        ends(node, "node 0 cannot listen for the others", 122)


def all_ranks_end_well_behind_the_verdict(box):
    """Node 1 says so, and is gone: its ranks start never again, and nobody waits for them."""
    node = box.start("--nnodes=2", "--node-rank=0", "--nproc-per-node=1", "--link",
                     "--master-addr=127.0.0.1", "--master-port=29500", "--restarts=1",
                     "--restart-wait=600", "--", "sh", "-c",
                     "echo rank $RANKINIT_ATTEMPT >>@FOLDER/log; until [ -e @FOLDER/go ]; do "
                     "sleep 0.02; done; kill -9 $$",
                     program=box.rankinit, env={"RANKINIT_LINK_KEY": SECRET.decode()})
    node.until("rank 0")
    peer = call(job_name(2))
    assert peer.hello(1, 2, restarts=1)["place"] == "taken"
    peer.say(phase("running"))
    touch(node.folder, "go")
    assert peer.hear("verdict", 60)["again"]
    peer.say(end("", "done"))
    assert peer.hear("go")["text"].endswith(" has ended, all of its ranks with 0\n")
    peer.close()
    ends(node, "node 1 (host1) has ended, all of its ranks with 0")


def test_frozen_nodes(box, at_once):
    at_once(lambda function: function(box), [a_node_that_stays_frozen, a_node_that_thaws])


@link_peer.needs_sodium
def test_waits_have_an_end(apart):
    apart([a_node_0_that_is_frozen, a_node_0_that_sends_it_away, a_word_to_start_that_is_lost,
           a_verdict_with_the_word_to_start, a_port_that_is_taken_meanwhile,
           all_ranks_end_well_behind_the_verdict])
