# SPDX-License-Identifier: Apache-2.0
"""
--link at a node whose centre is hostile, odd or a stranger, and beside others at the same ports:
link_peer.py plays the centre, or all nodes are rankinits.
"""

import contextlib
import select
import signal
import socket
import time

import pytest

import link_peer
import peek
from link_node import (BLAME, LOST, NAME, NODES, STRANGERS, Node, apart, as_member,
                       centre_hello, joins, net, obeys, with_listener)  # noqa: F401  a fixture
from link_peer import (OPENING, PORT, PORTS, SECRET, Closed, Peer, answer, answers, call, connect,
                       end, life, listen, news, phase, verdict)
from peek import wait_until

pytestmark = link_peer.needs_sodium


@pytest.fixture
def listener(net):
    with listen() as sock:
        yield sock


@pytest.fixture
def member(box, listener):
    return Node(box, node=1)


def test_the_control_of_a_member(member, listener):
    obeys(member, listener)


def a_centre_without_the_key(member, listener):
    """It orders a stop, and nobody stops."""
    for who, claims in (("another key", True), ("another number of nodes", True),
                        ("another attempt", False), ("no key", False)):
        how = {"name": NAME, "secret": SECRET, **STRANGERS[who]}
        peer = Peer(listener.accept()[0], how["name"], how["secret"], centre=True)
        theirs = peer.take(OPENING)
        peer.put(peer.opening(keyed=claims))
        peer.seal(theirs)
        with contextlib.suppress(OSError):
            peer.say(centre_hello(), verdict(0, BLAME, order=True))
        # the hello that nobody could read, and the end
        assert len(peer.take(10000)) == 0 or claims, who
        assert not claims or "[link.keys]" not in member.said(), who
    member.says("rankinit: warning: link: node 0 has no key; give all nodes the same "
                "--link-key [link.keys]")
    obeys(member, listener)


def an_order_without_any_key(box, listener):
    """What anybody may have said is told, not obeyed."""
    member = Node(box, node=1, secret=None)
    peer = answer(listener, NAME, None)
    peer.say(centre_hello(), verdict(0, BLAME, order=True), verdict(0, "twice\n", order=True))
    member.says("rankinit: without a key, so that anybody may have said it: " + BLAME)
    result = member.ends(5)
    assert "stopped" not in member.job.log() and "twice" not in result.err


UNPROVED = "rankinit: without a key, so that anybody may have said it: "


def lines_without_any_key(box, listener):
    """One of each message, and 32 of them at most, however they come."""
    member = Node(box, node=1, secret=None)
    for count in (1, 20, 1500):
        peer = answer(listener, NAME, None)
        peer.say(centre_hello(), *[news("z\n" * count)] * 20)
        peer.close()
    member.says(UNPROVED + "z", 32)
    result = member.ends(0)
    assert result.err.count(UNPROVED) == 32 and "rankinit: z" not in result.err


def each_line_is_marked(box, listener):
    """No line of a stranger is one of ours, the second one no more than the first."""
    member = Node(box, node=1, secret=None)
    forged = "rank 3 (local rank 1, pid 47 on worker-1) failed first (node 1 of 2): exit status 1"
    peer = answer(listener, NAME, None)
    text = f"spam\n{forged}\n  ValueError: bad batch 17\n"
    peer.say(centre_hello(), news(text), verdict(0, text.replace("spam", "more")))
    for word in "spam", "more":
        member.says(f"{UNPROVED}{word}; {forged}; ValueError: bad batch 17\n")
    lines = member.ends(0).lines()
    assert not [line for line in lines if "rank 3" in line and not line.startswith(UNPROVED)]


def lines_with_a_key(member, listener):
    """The control."""
    peer = answer(listener, NAME)
    peer.say(centre_hello(), *[news("z\n" * 20)] * 3)
    member.says("rankinit: z\n", 60)
    member.ends(0)


BEFORE = {"an order": verdict(0, BLAME, order=True), "news": news("spam\n"),
          "a place that nobody knows": centre_hello("king")}


def words_before_the_hello(member, listener):
    for what in BEFORE.values():
        peer = answer(listener, NAME)
        peer.say(what, centre_hello(), verdict(0, BLAME, order=True))
        with pytest.raises(Closed):
            peer.hear()
        assert "spam" not in member.said()
    # the control: told to come later it calls again, and says nothing about it
    peer = answer(listener, NAME)
    peer.say(centre_hello("later"))
    with pytest.raises(Closed):
        peer.hear()
    obeys(member, listener)


# test_link_message.c has each field beyond its bounds
AFTER = {"an end": end(BLAME), "escapes": news("\33[2Jspam\n"),
         "a node beyond all": verdict(2**63 - 1, "spam\n", order=True)}


def what_a_centre_does_not_say(member, listener):
    for what in AFTER.values():
        peer = answer(listener, NAME)
        peer.say(centre_hello(), what, verdict(0, BLAME, order=True))
        with pytest.raises(Closed):
            while True:
                assert peer.hear()["say"] == "phase"
        wait_until(lambda: LOST in member.said(), member.said())
        assert "spam" not in member.said() and "stopped" not in member.job.log()
    again = answer(listener, NAME)
    assert again.met["centre"] == life(1)
    again.say(centre_hello(), verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())


def the_first_verdict_stands(member, listener):
    peer = answer(listener, NAME)
    peer.say(centre_hello(), centre_hello(), verdict(0, "the first one\n"),
             verdict(2, "the second one\n", order=True), news("and news\n"))
    member.says("and news")
    member.says("the first one")
    result = member.ends(6)
    assert "second" not in result.err and "stopped" not in member.job.log()


def an_order_behind_its_verdict(member, listener):
    """As where node 0 had to hear another node first: the ranks get one SIGTERM, for that one."""
    peer = answer(listener, NAME)
    peer.say(centre_hello(), verdict(0, BLAME))
    member.says("the ranks of this node run on: ")
    assert "stopped" not in member.job.log()
    peer.say(verdict(0, BLAME, order=True), verdict(0, BLAME, order=True))
    result = member.is_stopped(BLAME.strip())
    assert result.err.count("the ranks of this node are stopped now, for the failure above") == 1


def long_lines(member, listener):
    """They are cut, and end nothing else."""
    peer = answer(listener, NAME)
    peer.say(centre_hello(), news("n" * 3071), news("\u00e9" * 1535 + "\n"),
             verdict(2, "v" * 3000 + "\nlast\n", order=True))
    result = member.is_stopped("rankinit: v")
    assert "rankinit: n" in result.err and "rankinit: \u00e9" in result.err
    assert "rankinit:   last" in result.err or "rankinit: last" in result.err
    assert max(map(len, result.err.splitlines())) < 4096


def test_what_a_member_is_told(apart):
    apart([with_listener(an_order_without_any_key), with_listener(lines_without_any_key),
           with_listener(each_line_is_marked), as_member(lines_with_a_key),
           as_member(the_first_verdict_stands), as_member(an_order_behind_its_verdict),
           as_member(long_lines)])


def sent_away_for_good(box, listener):
    """The node says why, and does not call again, as its helper has nothing more to wait for."""
    for place, says in (("other", "node 0 was started again"),
                        ("size", "node 0 counts the nodes of the job otherwise")):
        member = Node(box, node=1)
        peer = answer(listener, NAME)
        peer.say(centre_hello(place), verdict(0, BLAME, order=True))
        with pytest.raises(Closed):
            peer.hear()
        member.says(f"rankinit: {says}; the job goes on without the link of this node")
        member.is_unharmed()
        if place == "size":
            listener.settimeout(1.2)    # one that is to come later calls within a second
            with pytest.raises(TimeoutError):
                listener.accept()
        member.ends(4)


def a_centre_that_hangs_up(member, listener):
    for _ in range(2):
        peer = answer(listener, NAME)
        peer.say(centre_hello())
        peer.hear("phase")
        peer.reset()
        member.says(LOST)
    peer = answer(listener, NAME)
    assert peer.met["centre"] == life(1)
    peer.say(centre_hello())
    assert peer.hear() == phase("running")
    assert "stopped" not in member.job.log()
    assert member.ends(0).err.count(LOST) == 1


def a_centre_that_never_answers_an_end(member, listener):
    """The node ends with its own status all the same."""
    peer = answer(listener, NAME)
    peer.say(centre_hello())
    result = member.ends(3)
    assert peer.hear("end")["class"] == "unknown"
    assert LOST not in result.err


STRANGE_SERVERS = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "nothing": b"",
    "the last version": b"RKL1\1" + bytes(32),
    "zeroes": bytes(100000),
}


def trouble(what):
    """What speaks as a rankinit does has been reached."""
    how = "let this node in" if STRANGE_SERVERS[what].startswith(b"RKL") else "been reached"
    return f"node 0 (127.0.0.1), ports 9471 to 9478, has not {how} for"


WHY = {"HTTP": "something else listens there",
       "the last version": "it speaks another version of the link"}


def strangers_at_the_port(box, listener):
    """What the node says of it: the ports where nobody listens are not the reason."""
    for what, greeting in STRANGE_SERVERS.items():
        member = Node(box, node=1, options=["--roll-call=0.3"])
        listener.settimeout(0.05)
        while trouble(what) not in member.said():
            with contextlib.suppress(TimeoutError, OSError):
                sock, _ = listener.accept()
                sock.sendall(greeting)
                sock.settimeout(0.5)
                sock.recv(10000)
                sock.close()
        listener.settimeout(link_peer.PATIENCE)
        member.repeats(f" s: {WHY.get(what, '')}")
        obeys(member, listener)


def test_a_caller_of_another_version(box, net):
    """Node 0 does not know which node it is, and says what it speaks."""
    node = Node(box, options=["--roll-call=0.3"])
    with connect(node.port()) as sock:
        sock.sendall(b"RKL1\1" + bytes(32))
        node.repeats("; a node that called speaks another version of the link (RKL1): give all "
                     "nodes the same rankinit")
    node.is_unharmed()


def test_centres_that_are_none(apart):
    apart([as_member(a_centre_without_the_key), as_member(words_before_the_hello),
           as_member(what_a_centre_does_not_say), with_listener(sent_away_for_good),
           as_member(a_centre_that_hangs_up), as_member(a_centre_that_never_answers_an_end),
           with_listener(strangers_at_the_port)])


# Others at the ports.

@contextlib.contextmanager
def stopped(node):
    """The helper sleeps, does nothing meanwhile, and then finds all of it at once."""
    def sleeps():
        before = peek.switches(node.helper)
        time.sleep(0.1)
        return peek.switches(node.helper) == before and peek.state(node.helper) == "S"

    wait_until(sleeps, "a helper that sleeps")
    node.job.signal(signal.SIGSTOP, node.helper)
    wait_until(lambda: peek.state(node.helper) == "T", "a helper that is stopped")
    yield
    node.job.signal(signal.SIGCONT, node.helper)


@pytest.mark.parametrize("place", ["taken", "other"])
def test_two_centres_answer_at_once(box, listener, place):
    """One attempt's, and another's: what the second one says is nobody's business."""
    with listen(PORT + 1) as other:
        member = Node(box, node=1)
        peers = answers([listener, other], NAME)
        with stopped(member):
            peers[0].say(centre_hello("taken", 1))
            peers[1].say(centre_hello(place, 2), verdict(2, BLAME, order=True))
            wait_until(lambda: all(peer.has_arrived() for peer in peers), "both words")
        assert peers[1].is_closed()
    assert peers[0].hear() == phase("running")
    member.is_unharmed()
    peers[0].close()
    again = answer(listener, NAME)
    assert again.met["centre"] == life(1)
    again.say(centre_hello("taken", 1), verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())


def opened(listener, other):
    """Two centres of one call, the second of which has not said a word."""
    while True:
        second = Peer(other.accept()[0], NAME, centre=True)
        first = answer(listener, NAME)
        second.take(OPENING)
        if not select.select([second.sock], [], [], 0)[0]:
            return first, second


def test_a_centre_that_opens_late(box, listener):
    """It gets no hello, and the first one no second."""
    with listen(PORT + 1) as other:
        member = Node(box, node=1)
        first, second = opened(listener, other)
        with stopped(member):
            first.say(centre_hello())
            second.put(second.opening())
        assert second.is_closed()
        assert first.hear() == phase("running")
        first.say(verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())
    assert [said["say"] for said in first.heard] == ["hello", "phase"]  # and no second hello


def ports_that_are_taken(box):
    taken = PORTS - 1
    with contextlib.ExitStack() as stack:
        for port in range(PORT, PORT + taken):
            stack.enter_context(listen(port))
        centre = Node(box)
        assert centre.port() == PORT + taken
        members = [Node(box, node=index) for index in (1, 2)]
        members[1].ends(137)
        for node in (centre, members[0]):
            node.is_stopped("failed first (node 2 of 3): killed by SIGKILL (9)")


def all_ports_are_taken(box):
    with contextlib.ExitStack() as stack:
        for port in range(PORT, PORT + PORTS):
            stack.enter_context(listen(port))
        centre = Node(box)
        centre.says("rankinit: warning: link: node 0 cannot listen on ports 9471 to 9478: Address "
                    "in use; choose another port with --link-port [link.port]")
        centre.is_unharmed()
        centre.ends(0)


def test_two_machines_of_one_index(box, net, actor):
    """The first one that was started stays, and the other one is a guest: the job goes on."""
    # on one machine the second one would stay out: they cannot know it
    deny = [actor("deny"), "bind=EPERM", "--"]
    nodes = [Node(box, 0), Node(box, 1), Node(box, 1, before=deny)]
    for node in nodes:
        node.says("rankinit: two machines call themselves node 1: ")
        node.is_unharmed()
    only = " of this job: this one is only told what happens, and what fails in it stops no other "
    (guest,) = wait_until(lambda: [node for node in nodes[1:] if only in node.said()], "a guest")
    nodes.remove(guest)
    guest.ends(137)
    nodes[0].is_unharmed()
    last = Node(box, 2)
    last.ends(137)
    text = "failed first (node 2 of 3): killed by SIGKILL (9)"
    for node in nodes[:2]:
        node.is_stopped(text)


JOBS = {"another port of the master": ((29500, SECRET), (29501, SECRET)),
        "no secret": ((29500, SECRET), (29500, None))}


def two_jobs_on_one_host(box, what):
    """Each hears its own nodes alone, on two ports."""
    jobs = [[Node(box, index, 2, [f"--master-port={port}"], secret) for index in (0, 1)]
            for port, secret in JOBS[what]]
    assert [job[0].port() for job in jobs] == [PORT, PORT + 1]
    jobs[1][1].ends(137)
    text = "failed first (node 1 of 2): killed by SIGKILL (9)"
    if JOBS[what][1][1] is None:
        jobs[1][0].says("so that anybody may have said it: rank 1 ")
        jobs[1][0].ends(0)
    else:
        jobs[1][0].is_stopped(text)
    for node in jobs[0]:
        assert text not in node.said()
        node.is_unharmed()
    jobs[0][1].ends(137)
    jobs[0][0].is_stopped(text)


STUBBORN = ["sh", "-c", """
trap 'echo stopped >>@FOLDER/log' TERM
echo ready >>@FOLDER/log
until [ -e @FOLDER/go ]; do sleep 0.05; done
"""]


def an_attempt_that_still_runs(box):
    """Its centre has decided, and does not keep the nodes of the next one."""
    old = [Node(box, 0, command=STUBBORN), Node(box, 1), Node(box, 2, command=STUBBORN)]
    old[1].ends(137)
    for node in (old[0], old[2]):
        node.says("failed first (node 1 of 3): killed")
        node.job.until("stopped")
    new = [Node(box, index) for index in range(NODES)]
    assert (old[0].port(), new[0].port()) == (PORT, PORT + 1)
    new[2].ends(137)
    for node in new[:2]:
        result = node.is_stopped("failed first (node 2 of 3): killed")
        assert "node 1 of 3" not in result.err
    for node in (old[0], old[2]):
        assert "node 2 of 3" not in node.ends(0, seen=122).err


def test_others_at_the_ports(apart):
    apart([ports_that_are_taken, all_ports_are_taken, an_attempt_that_still_runs,
           *(lambda box, what=what: two_jobs_on_one_host(box, what) for what in JOBS)])


# A helper that is killed alone: the container lives, and so does its connection.

def lose_helper(node):
    node.job.signal(signal.SIGKILL, node.helper)
    node.says("rankinit: warning: link: its process has ended before its time; the job goes on "
              "without it [link.refused]")
    wait_until(lambda: peek.state(node.helper) in (None, "Z"), "its end")


def joined(member, listener):
    """Its centre, and the member has heard of it."""
    peer = answer(listener, NAME)
    peer.say(centre_hello(), news("all are here"))
    member.says("all are here")
    return peer


def is_open(peer):
    """Who had closed it would answer with a reset."""
    peer.say(news("still here"))
    wait_until(peer.has_arrived, "an answer of its kernel")
    return peer.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


def hear_all(peer):
    """Until the other side has closed the connection."""
    with pytest.raises(Closed):
        while peer.hear():
            pass


def the_connection_lasts_as_long_as_the_container(member, listener):
    peer = joined(member, listener)
    lose_helper(member)
    assert is_open(peer)
    member.job.signal(signal.SIGKILL)
    hear_all(peer)


def the_connection_ends_with_the_job(member, listener):
    peer = joined(member, listener)
    lose_helper(member)
    assert is_open(peer)
    member.ends(0)
    hear_all(peer)


def a_container_that_is_killed(member, listener):
    """The control: it is no other end where the helper dies as well, and had joined again."""
    first = joined(member, listener)
    first.reset()
    peer = answer(listener, NAME)
    peer.say(centre_hello(), news("again"))
    member.says("rankinit: again")
    member.job.signal(signal.SIGKILL)
    hear_all(peer)


def a_connection_that_node_0_ends(member, listener):
    """The helper lives, and what it closes is closed: it calls again."""
    peer = joined(member, listener)
    peer.sock.shutdown(socket.SHUT_WR)
    hear_all(peer)
    joined_again = answer(listener, NAME)
    joined_again.say(centre_hello(), verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())


def a_copy_behind_a_helper_that_was_killed(box):
    """Nobody is stopped: two machines are one node, and no container has ended."""
    centre = Node(box, options=["--roll-call=1"])
    centre.repeats("waiting for 2 of 3 nodes")
    node, third = Node(box, 1), joins(centre, 2)
    node.says("all 3 nodes have come, after ")
    lose_helper(node)
    copy = call(NAME)
    assert copy.hello(1, NODES, 12, age_ms=0)["place"] == "guest"
    while "two machines call themselves node 1" not in third.hear("news")["text"]:
        pass
    centre.is_unharmed()
    third.say(phase("running"), end("host2 failed first: it was me\n"))
    assert third.hear("verdict")["node"] == 2
    centre.is_stopped("host2 failed first: it was me")
    assert "failed first" not in node.ends(0).err


def test_a_helper_that_is_killed_alone(apart):
    apart([as_member(the_connection_lasts_as_long_as_the_container),
           as_member(the_connection_ends_with_the_job), as_member(a_container_that_is_killed),
           as_member(a_connection_that_node_0_ends), a_copy_behind_a_helper_that_was_killed])
