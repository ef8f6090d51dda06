# SPDX-License-Identifier: Apache-2.0
"""
A look of all nodes, among members or a centre that lie, storm or stay silent: link_peer.py plays
them. After each attack the node is as before, and an honest peer finds it.
"""

import pytest

import link_peer
from link_node import (BLAME, NAME, NODES, Node, apart, centre_hello, joins, listens_to, net,
                       with_listener)  # noqa: F401  a fixture
from link_peer import answer, found, groups, look, news, verdict

pytestmark = link_peer.needs_sodium

WAITS = "collective still all_reduce {} all_reduce (train.py:16)|\n"
LOADS = "loader still - {} Loader.__next__ (train.py:9)|waits for its data loader\n"
UNPROVED = "without a key, so that anybody may have said it: "


@pytest.fixture
def centre(box, net):
    return Node(box)


def both(node, **more):
    return [joins(node, index, **more) for index in range(1, NODES)]


def is_well(node):
    """It is unharmed, and takes a member."""
    node.is_unharmed()
    joins(node).close()


def answers(peers, *texts):
    """Each hears that it shall look, and says that; what all of them hear then."""
    for peer, text in zip(peers, texts):
        peer.hear("look")
        peer.say(groups(text))
    return [peer.hear("found") for peer in peers]


def test_the_control(centre):
    """Honest members: node 0 has one rank, which is a shell's."""
    peers = both(centre)
    peers[0].say(look())
    heard = answers(peers, WAITS.format(1), WAITS.format(2))
    assert heard[0] == heard[1] and heard[0]["rank"] == -1
    assert heard[0]["text"].startswith("of 3 ranks, ranks 1-2 (nodes 1-2) wait in "), heard
    centre.says("rankinit: autopsy: " + heard[0]["text"].strip())
    listens_to(centre)


def test_groups_without_a_look(centre):
    peer = joins(centre)
    peer.say(groups(WAITS.format(1)))
    assert peer.is_closed()
    is_well(centre)


def test_ten_thousand_groups(centre):
    """One answer counts."""
    peers = both(centre)
    peers[0].say(look())
    peers[0].hear("look")
    with pytest.raises(OSError):
        for _ in range(10000):
            peers[0].say(groups(WAITS.format(1)))
    peers[0].close()
    assert answers(peers[1:], WAITS.format(2))[0]["rank"] == -1
    is_well(centre)


FORGED = {"of other nodes": WAITS.format("0-2"), "twice": WAITS.format("0") * 2,
          "nonsense": "nonsense\n", "too many": WAITS.format(1) * 65}


@pytest.mark.parametrize("what", FORGED)
def test_groups_that_are_none(centre, what):
    """Of other nodes' ranks, twice, or in no such form: they say nothing of anybody."""
    peers = both(centre)
    peers[0].say(look(soon=True))
    heard = answers(peers, FORGED[what], LOADS.format(2))
    assert heard[0]["rank"] == heard[1]["rank"] == -1
    assert "did not answer" in heard[0]["text"], heard
    centre.says("rankinit: link: what the ranks of node 1 (host1) do is not counted: ")
    is_well(centre)


@pytest.mark.parametrize("said", [
    {**groups(""), "text": "\033[2J"}, {**look(), "soon": "yes"}, found(1, 1, "it was you\n"),
])
def test_what_no_member_says(centre, said):
    peers = both(centre)
    peers[1].say(look())
    peers[0].hear("look")
    peers[0].say(said)
    assert peers[0].is_closed()
    is_well(centre)


def test_a_storm_of_looks(centre):
    """One look in ten seconds, and one answer to each who asks; then it says too much."""
    peers = both(centre)
    peers[0].say(look())
    answers(peers, WAITS.format(1), WAITS.format(2))
    for _ in range(40):
        peers[0].say(look())
        assert peers[0].hear() == found(-1, 0, "")
    with pytest.raises((OSError, link_peer.Closed)):
        for _ in range(1000):
            peers[0].say(look())
            peers[0].hear()
    assert [one["say"] for one in peers[1].heard].count("look") == 1
    listens_to(centre)


def a_member_that_says_nothing(box):
    """It is waited for, and not for ever."""
    centre = Node(box)
    peers = both(centre)
    peers[0].say(look(soon=True))
    heard = answers(peers[:1], WAITS.format(1))
    assert "node 2 (host2) did not answer" in heard[0]["text"], heard
    is_well(centre)


def an_end_of_the_link_meanwhile(box):
    centre = Node(box)
    peers = both(centre)
    peers[0].say(look())
    peers[1].hear("look")
    peers[1].reset()
    heard = answers(peers[:1], WAITS.format(1))
    assert "node 2 (host2) did not answer" in heard[0]["text"], heard
    is_well(centre)


# A centre.

def a_centre_that_storms(box, listener):
    """It is answered each time, and looked at once in two seconds at most."""
    member = Node(box, node=1)
    peer = answer(listener, NAME)
    peer.say(centre_hello())
    for _ in range(100):
        peer.say(look())
        peer.hear("groups")
    peer.say(verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())


def a_centre_without_a_key(box, listener):
    """Its looks are few, and what it finds is what anybody may have said."""
    member = Node(box, node=1, secret=None)
    peer = answer(listener, NAME, secret=None)
    peer.say(centre_hello())
    for number in range(100):
        peer.say(look(), found(1, 1, f"it was you {number}\n"))
    peer.say(news("the last one\n"), look())
    member.says(UNPROVED, 32)
    member.says("it was you 31")
    assert "it was you 32" not in member.said() and "autopsy:" not in member.said()
    peer.hear("groups")
    member.ends(3)
    with pytest.raises(link_peer.Closed):
        peer.hear("never said")
    assert [one["say"] for one in peer.heard].count("groups") <= 32


def a_centre_that_finds_something(box, listener):
    """With the key it is believed, also in parts that this node did not see."""
    member = Node(box, node=1)
    peer = answer(listener, NAME)
    peer.say(centre_hello(), found(-1, 0, ""), found(2, 2, "rank 2 is in read\nand waits\n"))
    member.says("rankinit: autopsy: rank 2 is in read")
    member.says("rankinit: autopsy: and waits")
    peer.say(verdict(2, BLAME, order=True))
    member.is_stopped(BLAME.strip())


def a_centre_that_finds_nothing(box, listener):
    """The end of the node waits a moment for that."""
    member = Node(box, node=1)
    peer = answer(listener, NAME)
    peer.say(centre_hello(), look())
    peer.hear("groups")
    member.ends(0)
    with pytest.raises(link_peer.Closed):
        peer.hear("never said")


def test_who_waits(apart):
    apart([a_member_that_says_nothing, an_end_of_the_link_meanwhile, *map(with_listener, [
        a_centre_that_storms, a_centre_without_a_key, a_centre_that_finds_something,
        a_centre_that_finds_nothing])])
