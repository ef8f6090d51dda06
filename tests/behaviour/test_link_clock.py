# SPDX-License-Identifier: Apache-2.0
"""What the link leaves for the report: how far the clocks are apart, and who had not come."""

import json
import time

import link_peer
import schema
from link_node import NAME, NODES, Node, answer, apart, centre_hello, net  # noqa: F401
from link_peer import SECRET, Peer, hello, listen, news

pytestmark = link_peer.needs_sodium


def boot_us(seconds=0):
    """CLOCK_BOOTTIME of a machine that was up so much earlier."""
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) + seconds) * 1e6)


def ahead(seconds):
    """What a centre says whose clock goes so far behind."""
    return {"clock_us": int((time.time() - seconds) * 1e6), "boot_us": boot_us()}


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
        for name in ("clock_us", "boot_us"):
            for value in (-1, "1"):
                answer(listener, NAME).say({**centre_hello(**ahead(0)), name: value})
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
           lambda box: a_centre_that_does_not_say(box, clock_us=2 ** 63 - 1, boot_us=1),
           lambda box: a_centre_that_does_not_say(box, clock_us=1, boot_us=2 ** 63 - 1),
           without_a_secret_no_clock_is_believed, what_was_said_last_of_the_nodes])


def test_an_end_by_the_clock_of_node_0(box, net):
    """
    Two seconds after the last comparison node 1 asks for the time before it says how it ended. The
    machine of node 0 was up 1,000 s before this one.
    """
    with listen() as listener:
        node = Node(box, 1)
        peer = answer(listener, NAME)
        peer.say(centre_hello(clock_us=1, boot_us=boot_us(1000)))
        assert peer.hear("phase")["phase"] == "running"
        time.sleep(2.1)
        before = boot_us(1000)
        node.tell(137)
        assert peer.hear()["say"] == "time"
        peer.say({"say": "time", "clock_us": 1, "boot_us": boot_us(1000)})
        said = peer.hear("end")
        after = boot_us(1000)
        peer.close()
    assert said["class"] == "own" and 0 < said["error_us"] < 500e6
    assert before - said["error_us"] <= said["at_us"] <= after + said["error_us"]
    assert node.job.wait().status == 137


def test_what_the_clocks_of_node_0_show(box, net):
    """It says it when it is asked, as often as it is: also more often than a member may speak."""
    node = Node(box)
    peer = Peer(link_peer.connect(node.port()), node.name)
    peer.meet()
    peer.hello(1, NODES)
    for _ in range(100):
        before = boot_us()
        peer.say({"say": "time"})
        assert before <= peer.hear("time")["boot_us"] <= boot_us()
    peer.close()
    node.ends(0)


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
