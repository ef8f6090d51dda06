# SPDX-License-Identifier: Apache-2.0
"""A rankinit whose link a test plays the other side of."""

import os

import pytest

import link_peer
import peek
from link_peer import (OTHER_SECRET, SECRET, Closed, Peer, answer, call, connect, end, hello,
                       job_name, network, phase, verdict)
from peek import wait_until

NODES = 3
NAME = job_name(NODES)
# It notes a SIGTERM, and ends with the status that it is given, or is killed where that is 137:
# then no better word is waited for.
COMMAND = ["sh", "-c", """
trap 'echo stopped >>@FOLDER/log; exit 143' TERM
echo ready >>@FOLDER/log
until [ -e @FOLDER/go ]; do sleep 0.05; done
read status <@FOLDER/go
[ "$status" != 137 ] || kill -9 $$
exit "$status"
"""]
LOST = "the connection to node 0 is lost"
BLAME = "host1 failed first: it was me\n"


STRANGERS = {
    "no key": dict(secret=None),
    "another key": dict(secret=OTHER_SECRET),
    "another number of nodes": dict(name=job_name(NODES + 1)),
    "another port": dict(name=job_name(NODES, port=29501)),
    "another attempt": dict(name=job_name(NODES, attempt=1)),
    "another id": dict(name=job_name(NODES, identity="7")),
}


class Node:
    """A rankinit with a link."""

    def __init__(self, box, node=0, nodes=NODES, options=(), secret=SECRET, command=None, before=(),
                 **more):
        env = {} if secret is None else {"RANKINIT_LINK_KEY": secret.decode()}
        *before, program = *before, box.rankinit
        self.job = box.start(
            *before[1:], *([program] if before else []),
            f"--nnodes={nodes}", f"--node-rank={node}", "--nproc-per-node=1",
            "--master-addr=127.0.0.1", "--master-port=29500",
            "--link", "-v", *options, "--", *(command or COMMAND),
            program=before[0] if before else program, env={**env, **more.pop("env", {})}, **more)
        self.job.until("ready")
        self.helper = wait_until(self.find_helper, "a helper")
        self.name = job_name(nodes)

    def find_helper(self):
        found = [pid for pid in peek.children(self.job.pid)
                 if (peek.stat(pid) or ("",))[0] == "rankinit-link"]
        return found[0] if found else None

    def said(self):
        return self.job.error_text()

    def says(self, words, count=1):
        """So often, sooner or later."""
        wait_until(lambda: self.said().count(words) >= count, f"{words!r} in {self.said()}")
        assert self.said().count(words) == count, self.said()

    def repeats(self, words):
        """Sooner or later, and again while it stays so."""
        wait_until(lambda: words in self.said(), f"{words!r} in {self.said()}")

    def port(self):
        words = "rankinit: link: node 0 listens on port "
        wait_until(lambda: words in self.said(), self.said())
        return int(self.said().partition(words)[2].split()[0])

    def is_unharmed(self):
        """Nothing crashed, nobody was stopped, nobody was believed."""
        assert peek.state(self.job.pid) in ("S", "R", "D")
        assert self.find_helper() == self.helper
        assert peek.state(self.helper) in ("S", "R", "D")
        assert "stopped" not in self.job.log()
        assert LOST not in self.said() and "failed first" not in self.said(), self.said()

    def tell(self, status):
        """The command is to end with it."""
        path = os.path.join(self.job.folder, "go")
        with open(path + "~", "w", encoding="ascii") as file:
            file.write(f"{status}\n")
        os.rename(path + "~", path)

    def ends(self, status, *, seen=None):
        """The command ends with it: seen is what becomes of that."""
        self.tell(status)
        result = self.job.wait()
        assert result.status == (status if seen is None else seen), result.err
        return result

    def is_stopped(self, text):
        """By a verdict of that text."""
        result = self.job.wait()
        assert result.status == 122, result.err
        assert self.job.count("stopped") == 1
        assert result.err.count(text) == 1, result.err
        return result


def ticks(pid):
    """Of the processor, a hundred a second."""
    field = peek.read(pid, "stat").decode().rpartition(")")[2].split()
    return sum(map(int, field[11:13])) if field else 0


def joins(node, index=1, number=None, secret=SECRET, **other):
    """As a real member would: it gives a call up after two seconds, and calls again."""
    for _ in range(10):
        peer = Peer(connect(node.port()), node.name, secret)
        try:
            peer.put(peer.opening())
            peer.take_opening(2)
            peer.say(hello(index, int(node.name.split()[1].rstrip(b",")), number, **other))
            assert peer.hear("hello", 2)["place"] == "taken"
            return peer
        except (AssertionError, OSError, Closed):
            peer.close()
    raise AssertionError("it never joined: " + node.said())


def listens_to(node, text=BLAME):
    """The control: who has the key is heard, and its failure stops the others."""
    node.is_unharmed()
    # node 0 does not stay for nodes that have not called
    others = [joins(node, index) for index in range(2, NODES)]
    peer = joins(node)
    peer.say(phase("running"), end(text))
    assert peer.hear() == {"say": "heard"}
    assert peer.hear("verdict")["node"] == 1
    # who says how it ended is not waited for
    for other in others:
        other.say(end("host2 was stopped\n", "stopped"))
    for other in [*others, peer]:
        other.close()
    return node.is_stopped(text.splitlines()[0])


def centre_hello(place="taken", number=1, **other):
    return {**hello(0, NODES, number), "place": place, **other}


def obeys(member, listener, text=BLAME):
    """The control: a centre with the key says that the job has failed."""
    member.is_unharmed()
    peer = answer(listener, NAME)
    peer.say(centre_hello(), verdict(2, text, order=True))
    return member.is_stopped(text.splitlines()[0])


@pytest.fixture
def net(nsrun):
    """The ports of the link are always the same ones."""
    assert nsrun
    with network():
        yield


@pytest.fixture
def apart(box, at_once):
    """Call each of these with a box, side by side, since they wait: in networks of their own."""
    def in_its_own(function):
        with network():
            function(box)

    return lambda functions: at_once(in_its_own, functions)


def with_listener(function):
    """Of one that takes a box, and the listener that a centre has."""
    def run(box):
        with link_peer.listen() as listener:
            function(box, listener)
    return run


def as_member(function):
    """Of one that takes a node with such a centre, and the listener."""
    return with_listener(lambda box, listener: function(Node(box, node=1), listener))
