# SPDX-License-Identifier: Apache-2.0
"""
--link at a centre whose callers are hostile, odd or strangers. Node 0 is rankinit, link_peer.py
plays the others. After each attack the node is as before, and an honest peer finds it.
"""

import contextlib
import random
import socket
import threading
import time

import pytest

import link_peer
from link_node import (BLAME, NAME, NODES, STRANGERS, Node,
                       apart, centre_hello, joins, listens_to, net, obeys,
                       ticks)  # noqa: F401  a fixture
from link_peer import (BASE, OPENING, OTHER_SECRET, PORT, SECRET, TAG, Closed, Direction, Peer,
                       answer, call, connect, end, hello, job_key, life, listen, phase,
                       rendered, verdict, x25519)
from peek import wait_until
from verdict import names

pytestmark = link_peer.needs_sodium


@pytest.fixture
def centre(box, net):
    return Node(box)


# Who does not know the key.

def test_the_control(centre):
    listens_to(centre)


def forged_messages(centre, claims=True):
    """claims: they say that they have a key."""
    for who in STRANGERS.values():
        how = {"name": NAME, "secret": SECRET, **who}
        peer = Peer(connect(), how["name"], how["secret"])
        peer.put(peer.opening(keyed=claims))
        peer.take_opening()
        with contextlib.suppress(OSError):
            peer.say(hello(1, NODES), end(BLAME))
        assert peer.is_closed()
    assert "link.keys" not in centre.said() or not claims


def forged_messages_without_a_key(centre):
    forged_messages(centre, claims=False)
    centre.says("rankinit: warning: link: a node that called has no key; give all nodes the same "
                "--link-key [link.keys]")


def a_stranger_changes_no_exit_status(box):
    """Nobody else comes: the other control, which says what its own rank did."""
    centre = Node(box)
    peer = Peer(connect(), NAME, OTHER_SECRET)
    peer.meet()
    peer.say(hello(1, NODES), end(BLAME))
    assert peer.is_closed()
    result = centre.ends(7)
    assert "host1" not in result.err and names(result.err, 0, 0)


def test_a_captured_conversation(box, net):
    """Byte for byte, to the centre that heard it and to one of the same job."""
    first = Node(box)
    other, peer = joins(first, 2), joins(first)
    peer.say(phase("running"), end(BLAME))
    peer.hear("verdict")
    recorded = peer.sent

    def play():
        again = socket.create_connection(("127.0.0.1", PORT))
        with contextlib.suppress(OSError):
            again.sendall(recorded)
        peer = Peer(again, NAME)
        assert len(peer.take(OPENING)) == OPENING
        assert peer.is_closed()

    is_stopped_with(other, first, BLAME)
    second = Node(box)
    play()
    second.is_unharmed()
    play()
    listens_to(second)
    # and of a job that is done, whose ports are free
    assert not is_open(PORT)


@pytest.mark.parametrize("secret", [SECRET, None])
def test_a_recording_and_the_secret(box, net, secret):
    """Who has both, and was no side of the connection, cannot read what either side said."""
    centre = Node(box, secret=secret)
    peer = joins(centre, secret=secret)
    node, other = peer.own, peer.got[:OPENING]

    def reads(name, recorded, shared):
        body = recorded[OPENING + 2:]
        direction = Direction(job_key(NAME, secret), name, node, other, shared)
        length = int.from_bytes(recorded[OPENING:OPENING + 2], "big")
        try:
            return b"hello" in direction.open(recorded[OPENING:OPENING + 2], body[:length + TAG])
        except AssertionError:
            return False

    stranger = bytes(range(32))
    of_a_stranger = [x25519(stranger, node[-32:]), x25519(stranger, other[-32:])]
    for name, recorded in ((b"node to centre", peer.sent), (b"centre to node", peer.got)):
        for shared in [b"", bytes(32), node[-32:], other[-32:], *of_a_stranger]:
            assert not reads(name, recorded, shared)
        # the control: the member itself
        assert reads(name, recorded, x25519(peer.scalar, other[-32:]))
    centre.is_unharmed()


# zero, one and minus one
LOW = [bytes(32), b"\1" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f"]


def a_point_that_shares_nothing(centre):
    for point in LOW:
        peer = Peer(connect(centre.port()), NAME)
        peer.put(peer.opening(point=point))
        assert len(peer.take(OPENING)) == OPENING
        # what everybody knows would be shared
        peer.out = Direction(peer.key, b"node to centre", peer.own, peer.got, bytes(32))
        with contextlib.suppress(OSError):
            peer.say(hello(1, NODES), end(BLAME))
        assert peer.is_closed()


def test_a_centre_whose_point_shares_nothing(box, net):
    listener = listen()
    member = Node(box, node=1, options=["--roll-call=0.3"])
    sock, _ = listener.accept()
    peer = Peer(sock, NAME, centre=True)
    peer.take(OPENING)
    peer.put(peer.opening(point=bytes(32)))
    assert peer.is_closed()
    member.repeats("s: its opening has no usable point")
    assert "node 0 (127.0.0.1), ports 9471 to 9478, has not let this node in for" in member.said()
    obeys(member, listener)


def an_older_version_calls(centre):
    """Its opening is shorter, and it is answered at once, so that it can say why."""
    peer = Peer(connect(centre.port()), NAME)
    peer.put(b"RKL1\1" + bytes(32))
    assert peer.take(OPENING).startswith(b"RKL4\1")
    assert peer.is_closed()


def is_open(port):
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def test_a_captured_centre(box, net):
    """Its words to one member, to the next one."""
    recorded = []
    for attempt in range(2):
        listener = listen()
        member = Node(box, node=1)
        if attempt == 0:
            peer = answer(listener, NAME)
            peer.say(centre_hello(), verdict(0, BLAME, order=True))
            recorded.append(peer.sent)
            member.is_stopped(BLAME.strip())
        else:
            sock, _ = listener.accept()
            sock.sendall(recorded[0])
            assert Peer(sock, NAME).take(10000).startswith(b"RKL4\1")
            sock.close()
            member.is_unharmed()
            obeys(member, listener)
        listener.close()


def its_own_words_back(centre):
    """What one direction said is no frame of the other."""
    peer = call(NAME)
    peer.say(hello(1, NODES))
    peer.hear("hello")
    peer.put(peer.got[OPENING:])
    assert peer.is_closed()


# Who has it, and says what cannot be.

WRONG = {
    "node 0": (dict(node=0), "other"),
    "the last node and one": (dict(node=NODES), None),
    "no node": (dict(node=-1), None),
    "a node beyond all": (dict(node=2**63 - 1, nodes=2**63 - 1), None),
    "a node that no integer holds": (dict(node=2**64 + 1), None),
    "a node in words": (dict(node="1"), None),
    "half a node": (dict(node=1.5), None),
    "no number of nodes": (dict(nodes=None), None),
    "fewer nodes": (dict(nodes=NODES - 1), "size"),
    "more nodes": (dict(nodes=NODES + 1), "size"),
    "another centre": (dict(centre=life(99)), "other"),
    "no life": (dict(life=life(0)), None),
    "half a life": (dict(life="0" * 31), None),
    "a life in capitals": (dict(life="A" * 32), None),
    "an age below 0": (dict(age_ms=-1), None),
    "a place that nobody knows": (dict(place="king"), None),
    "a host that moves the cursor": (dict(host="\33[2J"), None),
    "a host of C1": (dict(host="\u009b2J"), None),
    "a host of two lines": (dict(host="a\nrankinit: rank 0 failed first"), None),
    "a long host": (dict(host="x" * 65), None),
    "no host": (dict(host=None), None),
}


def a_wrong_hello(centre):
    for what, (other, place) in WRONG.items():
        peer = call(NAME)
        peer.say({**hello(1, NODES), **other}, end(BLAME))
        assert place is None or peer.hear()["place"] == place, what
        assert peer.is_closed(), what


NONSENSE = {
    "nothing": b"", "no JSON": b"hello", "a number": b"1", "a list": b"[]", "nobody": b"{}",
    "null": b"null", "depth": b"[" * 8192, "more depth": b'{"say":' * 1100,
    "a NUL": b'{"say":"he\\u0000llo"}', "no UTF-8": b'{"say":"\xff"}',
    "twice": b'{"say":"phase","say":"end"}', "an unknown word": b'{"say":"stop"}',
    "a verdict": b'{"say":"verdict","node":1,"named":true,"order":true,"class":"own","text":"x"}',
    "heard": b'{"say":"heard"}', "news": b'{"say":"news","text":"x"}',
}


def nonsense_of_a_member(centre, when="first"):
    for what, text in NONSENSE.items():
        peer = call(NAME)
        if when != "first":
            assert peer.hello(2, NODES)["place"] == "taken"
        peer.say_bytes(text)
        assert peer.is_closed(), what


def nonsense_after_the_hello(centre):
    nonsense_of_a_member(centre, "after the hello")


def an_end_before_the_hello(centre):
    peer = call(NAME)
    peer.say(end(BLAME))
    assert peer.is_closed()


ENDS = {
    "escapes": end("\33]0;title\7\n"), "C1": end("\u009b31m\n"), "too long": end("x" * 3072),
    "no text": end(None), "no class": end("x", kind="bad"), "DEL": end("\x7f"),
    "a carriage return": end("rank 1 failed\rrank 0"), "fatal in words": end("x", fatal="yes"),
}


def an_end_that_is_none(centre):
    for what, said in ENDS.items():
        peer = joins(centre, 2)
        peer.say(said)
        assert peer.is_closed(), what


def test_a_long_end_is_passed_on(centre):
    """The control: 3071 bytes, none of which a terminal takes for a command."""
    text = "rank 5 failed first\n" + '"\\' * 1525 + "\n"
    peer, other = joins(centre, 2), joins(centre, 1)
    peer.say(end(text))
    assert peer.hear("verdict")["text"] == text
    assert other.hear("verdict") == verdict(2, text, order=True)
    centre.is_stopped("rankinit: rank 5 failed first")


@pytest.mark.parametrize("kind, text, reasons", [
    ("own", "node 2 was stopped from outside by SIGTERM, it says\n", 1),
    ("stopped", "node 2 has to go\n", 0)])
def test_a_stop_is_known_by_its_class(centre, kind, text, reasons):
    """Not by words, which another node wrote: after a failure this node says why it runs on."""
    peers = [joins(centre, 1), joins(centre, 2)]
    # where a rank has ended with 0 no node is told to stop
    peers[1].say(phase("running"), phase("leaving"), end(text, kind))
    for peer in peers:
        assert peer.hear("verdict") == verdict(2, text, kind=kind)
    centre.says(text)
    assert centre.ends(0).err.count("the ranks of this node run on") == reasons


def test_two_machines_of_one_node(centre):
    """The first one stays, and the log says so; what fails in the other one is no failure."""
    third = joins(centre, 2)
    older = joins(centre, 1, 11, host="left", age_ms=0)
    older.say(phase("running"))
    newer = call(NAME)
    assert newer.hello(1, NODES, 12, host="right", age_ms=0)["place"] == "guest"
    line = "two machines call themselves node 1: left and right"
    for peer in (older, third, newer):
        assert peer.hear()["text"] == line + "\n"
    centre.says(line)
    assert newer.hear()["text"] == (
        "another container is node 1 (left) of this job: this one is only told what happens, and "
        "what fails in it stops no other node\n")
    newer.say(phase("running"), phase("leaving"), end(BLAME))
    assert newer.hear() == {"say": "heard"}
    centre.is_unharmed()
    older.say(end(BLAME))
    assert older.hear("verdict")["node"] == 1
    assert third.hear("verdict") == {**verdict(1, BLAME, order=True), "host": "left"}
    # it may be of the next attempt: the verdict is news to it, and it calls again
    assert newer.hear()["text"] == BLAME
    assert newer.hear()["place"] == "later"
    third.say(end("host2 was stopped\n", "stopped"))
    centre.is_stopped(BLAME.strip())


def test_a_copy_while_the_link_is_cut(centre):
    """A reset is no end: the node comes back, and what called in its name meanwhile proves none."""
    third = joins(centre, 2)
    older = joins(centre, 1, 11, age_ms=0)
    older.say(phase("running"))
    wait_until(older.has_arrived, "a word that has arrived")
    older.reset()
    copy = call(NAME)
    assert copy.hello(1, NODES, 12, age_ms=0)["place"] == "guest"
    with pytest.raises(AssertionError):
        third.hear(seconds=2.5)     # as long as one that ended is waited for
    again = call(NAME)
    assert again.hello(1, NODES, 11, age_ms=9000)["place"] == "taken"
    centre.is_unharmed()
    again.say(end(BLAME))
    assert third.hear("verdict") == verdict(1, BLAME, order=True)
    third.say(end("host2 was stopped\n", "stopped"))
    centre.is_stopped(BLAME.strip())


def test_a_container_that_was_started_again(centre):
    """The control: the kernel closes the connection of what it kills, and the node stays away."""
    third = joins(centre, 2)
    older = joins(centre, 1, 11, age_ms=0)
    older.say(phase("running"))
    wait_until(older.has_arrived, "a word that has arrived")
    older.close()
    newer = call(NAME)
    newer.hello(1, NODES, 12, age_ms=0)
    said = third.hear("verdict")
    assert (said["node"], said["order"], said["cause"]) == (1, True, "killed")
    assert said["text"].startswith("node 1 (host1) failed first: it was started again")
    third.say(end("host2 was stopped\n", "stopped"))
    centre.is_stopped("node 1 (host1) failed first: it was started again")


def test_what_prepares_a_node(centre):
    """A command that may end, and the one behind it in the same container: that is the node."""
    third = joins(centre, 2)
    first = joins(centre, 1, 11, may_stop=False)
    first.say(phase("running"), phase("leaving"), end("", "done", fatal=False))
    assert first.hear() == {"say": "heard"}
    first.close()
    node = joins(centre, 1, 12, age_ms=0)
    node.say(phase("running"), end(BLAME))
    assert third.hear("verdict") == verdict(1, BLAME, order=True)
    third.say(end("host2 was stopped\n", "stopped"))
    centre.is_stopped(BLAME.strip())


def is_stopped_with(other, centre, text):
    """Who says how it ended is not waited for."""
    other.hear("verdict")
    other.say(end("host1 was stopped\n", "stopped"))
    centre.is_stopped(text.strip())


def more_messages_than_allowed(centre):
    peer = joins(centre, 2)
    peer.say(*[phase("running")] * 63)
    peer.say(end("nobody reads this: it is the 65th message\n"))
    assert peer.is_closed()
    # it is no reason to send its node away
    joins(centre, 2)


def test_the_last_message_that_is_allowed(centre):
    """The control."""
    other, peer = joins(centre, 1), joins(centre, 2)
    peer.say(*[phase("running")] * 62, end("host2 failed first\n"))
    assert peer.hear("verdict")["node"] == 2
    is_stopped_with(other, centre, "host2 failed first\n")


def the_largest_frame(centre):
    for size, fits in (65535, False), (8193, False), (8192, True):
        text = hello(2, NODES)
        text["more"] = "x" * (size - len(rendered({**text, "more": ""})))
        peer = call(NAME)
        peer.say(text)
        if fits:
            assert peer.hear()["place"] == "taken"
        else:
            assert peer.is_closed()


def test_a_member_that_never_reads(centre):
    """Nobody waits for it: not the others, and not the end."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sock.connect(("127.0.0.1", centre.port()))
    deaf = Peer(sock, NAME)
    deaf.meet()
    deaf.hello(2, NODES)
    other = joins(centre)
    for _ in range(20):
        twin = call(NAME)
        twin.say(hello(1, NODES, random.getrandbits(64), host="x" * 64, age_ms=0),
                 *[end("y" * 3000 + "\n", fatal=False)] * 60)
        twin.close()
    assert other.hear("news")
    centre.is_unharmed()
    assert centre.ends(0).status == 0


# Who has no time, and who has too much.

def held(count, beginning=b""):
    socks = []
    for _ in range(count):
        sock = socket.socket()
        sock.settimeout(1)
        try:
            sock.connect(("127.0.0.1", PORT))
            sock.sendall(beginning)
        except OSError:
            pass
        socks.append(sock)
    return socks


STATED = b"RKL4\1" + bytes(32) + BASE
BEGINNINGS = {
    "silent": b"", "a byte": b"R", "an opening": STATED,
    "a frame that has begun": STATED + b"\x20\x00" + bytes(100),
}


def connections_that_are_held_open(centre):
    for what, count in (("silent", 1000), ("a byte", 64), ("an opening", 1000),
                        ("a frame that has begun", 64)):
        socks = held(count, BEGINNINGS[what])
        joins(centre).close()
        for sock in socks:
            sock.close()


def test_who_was_sent_away_and_stays(centre):
    """Nobody waits for them to go: more than node 0 has connections for callers (link_helper.c)."""
    centre.port()
    peers = []
    for _ in range(300):
        peer = Peer(connect(), NAME)
        peer.put(peer.opening())
        peers.append(peer)
        with contextlib.suppress(Closed, AssertionError, OSError):
            peer.take_opening(1)
            peer.say(hello(0, NODES))
    assert peers[0].hear()["place"] == "other"
    joins(centre, 2)
    centre.is_unharmed()
    listens_to(centre)


def a_byte_a_second(box):
    """Who is slow to prove itself is given up, whatever it sends."""
    centre = Node(box)
    centre.port()
    peers = [Peer(connect(), NAME) for _ in range(80)]
    openings = [peer.opening() for peer in peers]
    ended = set()
    for at in range(5):
        for number, peer in enumerate(peers):
            with contextlib.suppress(OSError):
                peer.sock.sendall(openings[number][at:at + 1])
        time.sleep(0.5)
    for number, peer in enumerate(peers):
        if peer.is_closed():
            ended.add(number)
    assert len(ended) == 80
    centre.is_unharmed()
    listens_to(centre)


def a_slow_member_that_has_the_key(box):
    """Once it has proved itself it has all the time that it needs: longer than for that."""
    centre = Node(box)
    other, peer = joins(centre, 1), joins(centre, 2)
    frame = peer.out.frame(rendered(end(BLAME)))
    step = -(-len(frame) // 5)
    for at in range(0, len(frame), step):
        peer.put(frame[at:at + step])
        time.sleep(0.6)
    assert peer.hear("verdict")["node"] == 2
    is_stopped_with(other, centre, BLAME)


def two_thousand_connections(centre):
    port = centre.port()
    ends = [lambda sock: sock.close(), lambda sock: Peer(sock, NAME).reset(),
            lambda sock: (sock.sendall(STATED), sock.close()),
            lambda sock: (sock.sendall(b"GET / HTTP/1.0\r\n\r\n" * 3), sock.close())]

    def flood(number):
        for i in range(500):
            with contextlib.suppress(OSError), socket.socket() as sock:
                sock.settimeout(1)
                sock.connect(("127.0.0.1", port))
                ends[(number + i) % 4](sock)

    floods = [threading.Thread(target=flood, args=(number,)) for number in range(4)]
    for thread in floods:
        thread.start()
    joins(centre, 2)
    for thread in floods:
        thread.join()


def random_bytes(centre):
    generator = random.Random(471)
    centre.port()
    for number in range(100):
        peer = Peer(connect(), NAME)
        with contextlib.suppress(OSError, Closed):
            if number % 3 > 0:
                peer.meet()
            if number % 3 > 1:
                peer.hello(2, NODES)
            peer.put(generator.randbytes(generator.randrange(1, 20000)))
        peer.close()


# None of these changes anything. Strangers without a key are last: the log has a word on them.
ATTACKS = [forged_messages, a_point_that_shares_nothing, an_older_version_calls,
           its_own_words_back, a_wrong_hello, nonsense_of_a_member, nonsense_after_the_hello,
           an_end_before_the_hello, an_end_that_is_none, the_largest_frame,
           more_messages_than_allowed, connections_that_are_held_open, two_thousand_connections,
           random_bytes, forged_messages_without_a_key]


def test_attacks(centre):
    for attack in ATTACKS:
        attack(centre)
        centre.is_unharmed()
    listens_to(centre)


# Limits.

def few_files(box, index, files):
    """It may have no link then, but its job is not the worse for it."""
    node = Node(box, index, shell=f"ulimit -n {files}", options=["--roll-call=0"])
    time.sleep(0.5)
    assert ticks(node.helper) < 20
    assert ("[link.files]" in node.said()) == (files < (19, 24)[index])
    node.ends(0)


def test_few_files(apart):
    apart([lambda box, one=one: few_files(box, *one)
           for one in ((0, 17), (0, 20), (1, 20), (1, 24))])


def test_the_kernel_lets_nobody_in(box, net, actor):
    """Somebody waits, whom nobody can take: that is no reason to ask without end."""
    centre = Node(box, before=[actor("deny"), "accept4=EMFILE", "--"])
    with connect(centre.port()):
        time.sleep(1)
        assert ticks(centre.helper) < 20
        centre.is_unharmed()
    centre.ends(0)


def test_without_ipv6(box, net, actor):
    centre = Node(box, before=[actor("deny"), "socket:0=10=EACCES", "--"])
    assert centre.port() == PORT
    listens_to(centre)


def who_waits_sleeps(box, index):
    """Where nobody comes, and where nobody listens."""
    node = Node(box, index)
    time.sleep(1)
    assert ticks(node.helper) < 20
    node.ends(0)


def test_who_takes_time(apart):
    apart([a_stranger_changes_no_exit_status, a_slow_member_that_has_the_key, a_byte_a_second,
           *(lambda box, index=index: who_waits_sleeps(box, index) for index in (0, 1))])
