# SPDX-License-Identifier: Apache-2.0
"""What the link leaves for the report: how far the clocks are apart, and who had not come."""

import json
import time

import link_peer
import schema
from link_node import NAME, NODES, Node, answer, apart, centre_hello, net  # noqa: F401
from link_peer import SECRET, Peer, hello, listen, news

pytestmark = link_peer.needs_sodium


def ahead(seconds):
    """What a centre says whose clock goes so far behind."""
    return {"clock_us": int((time.time() - seconds) * 1e6)}


def report(box, *messages, secret=SECRET, behind=None, **said):
    """That of node 1 after a centre has said this."""
    with listen() as listener:
        node = Node(box, 1, secret=secret, options=["--report=@FOLDER/report.json"])
        peer = answer(listener, NAME, secret)
        if behind is not None:
            said = ahead(behind)    # between the question and its answer
        peer.say(centre_hello(**said), *messages)
        assert peer.hear("phase")["phase"] == "running"
        peer.close()
    node.ends(137)
    document = json.loads(node.job.read("report.json"))
    schema.check(document, "report")
    return document


def how_far_a_clock_goes_before_that_of_node_0(box, seconds=30.5):
    clock = report(box, behind=seconds)["clock"]
    assert abs(clock["ahead_s"] - seconds) <= clock["error_s"] + 0.00001, clock
    assert clock["error_s"] > 0


def a_centre_that_does_not_say(box, **said):
    """Older ones, or one that is broken."""
    assert report(box, **said)["clock"] is None


def test_a_clock_that_is_none(box, net):
    """Then it is no hello, and the next centre is taken."""
    with listen() as listener:
        node = Node(box, 1, options=["--report=@FOLDER/report.json"])
        for value in (-1, "1"):
            answer(listener, NAME).say({**centre_hello(), "clock_us": value})
        peer = answer(listener, NAME)
        peer.say(centre_hello(**ahead(0)))
        peer.hear("phase")
        peer.close()
    node.ends(137)
    assert json.loads(node.job.read("report.json"))["clock"] is not None


def without_a_secret_no_clock_is_believed(box):
    assert report(box, secret=None, behind=30)["clock"] is None


def what_was_said_last_of_the_nodes(box):
    said = [news(f"node 2 has not come in {seconds} s\n") for seconds in (10, 20)]
    assert report(box, *said)["roll_call"] == "node 2 has not come in 20 s"
    assert report(box)["roll_call"] is None


def test_reports(apart):
    apart([how_far_a_clock_goes_before_that_of_node_0,
           lambda box: how_far_a_clock_goes_before_that_of_node_0(box, -86400),
           a_centre_that_does_not_say,
           lambda box: a_centre_that_does_not_say(box, clock_us=2 ** 63 - 1),
           without_a_secret_no_clock_is_believed, what_was_said_last_of_the_nodes])


def test_hellos_of_members_have_no_clock_to_believe(box, net):
    """A member's is not asked for."""
    node = Node(box)
    peer = Peer(link_peer.connect(node.port()), node.name)
    peer.meet()
    peer.say(hello(1, NODES, clock_us=1))
    answered = peer.hear("hello")
    assert abs(answered["clock_us"] / 1e6 - time.time()) < 60
    peer.close()
    node.ends(0)
