# SPDX-License-Identifier: Apache-2.0
"""
--link at the end: node 0 stays for who may still come to hear the verdict, and for nobody else; and
a node calls node 0 wherever its name leads.
"""

import os
import signal

import pytest

import link_peer
import peek
from link_node import BLAME, Node, joins, net  # noqa: F401  a fixture
from link_peer import Closed, Peer, connect, end, phase
from peek import wait_until
from test_link_init import (fail, helper, nodes, ready,
                            side_by_side)  # noqa: F401  a fixture
from verdict import names_none

WAITS = "  no rank is stopped before node 2 (host2) is heard again, at most for 65 s: "


@link_peer.needs_sodium
@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_connection_that_broke_before_the_verdict(box, net, how):
    """
    The node calls again a second later, and hears that it is to stop. Of one whose connection was
    reset it is not known how its ranks have ended by then: no rank is stopped before it is heard.
    """
    node = Node(box)
    lost, failed = joins(node, 2), joins(node, 1)
    lost.say(phase("running"))
    wait_until(lost.has_arrived, "a word that has arrived")
    getattr(lost, how)()
    failed.say(phase("running"), end(BLAME))
    assert failed.hear("verdict")["node"] == 1
    failed.close()
    if how == "close":
        wait_until(lambda: node.job.count("stopped") == 1 and len(node.job.members()) == 2,
                   "a rank of node 0 that has ended")
    again = Peer(connect(node.port(), seconds=2), node.name)
    again.meet()
    assert again.hello(2, 3)["place"] == "taken"
    again.say(phase("running"))
    said = again.hear("verdict")
    assert said["order"] == (how == "close") and said["text"].startswith(BLAME)
    if how == "reset":
        assert WAITS in said["text"] and node.job.count("stopped") == 0
        assert again.hear("verdict")["order"]
    again.close()
    result = node.is_stopped(BLAME.splitlines()[0])
    assert result.err.count("the ranks of this node are stopped now") == (how == "reset")


@link_peer.needs_sodium
def test_a_node_that_ended_with_0_unheard(box, net):
    """Its connection breaks, another node fails in the teardown, and node 0 is not stopped."""
    node = Node(box)
    lost, failed = joins(node, 2), joins(node, 1)
    lost.say(phase("running"))
    wait_until(lost.has_arrived, "a word that has arrived")
    lost.reset()
    failed.say(phase("running"), end(BLAME))
    assert not failed.hear("verdict")["order"]
    again = joins(node, 2)
    again.say(phase("leaving"), end("", "done"))
    assert again.hear("heard")
    with pytest.raises(AssertionError):
        again.hear("verdict", seconds=2)    # a second would bring the order
    again.close()
    result = node.ends(0)
    assert WAITS in result.err and "stopped" not in node.job.log()


@link_peer.needs_sodium
def test_node_0_that_failed_itself_stays_for_the_order(box, net):
    """The others would wait for it: the order follows when the lost one calls."""
    node = Node(box)
    lost, other = joins(node, 2), joins(node, 1)
    lost.say(phase("running"))
    wait_until(lost.has_arrived, "a word that has arrived")
    lost.reset()
    other.say(phase("running"))
    node.tell(137)
    said = other.hear("verdict")
    assert WAITS in said["text"] and not said["order"]
    again = joins(node, 2)
    again.say(phase("running"))
    assert other.hear("verdict")["order"]
    other.close()
    again.close()
    assert node.job.wait().status == 137


@link_peer.needs_sodium
def test_node_0_ends_with_0_while_another_failure_settles(box, net):
    """Its helper stays for the verdict, which waits for a better word."""
    node = Node(box)
    third, failed = joins(node, 2), joins(node, 1)
    third.say(phase("running"))
    failed.say(phase("running"), end(BLAME, "loss"))
    assert failed.hear("heard")
    result = node.ends(0)
    for peer in (failed, third):
        assert names_none(peer.hear("verdict")["text"])
        peer.close()
    assert names_none(result.err)


def waits_for_its_helper(pid):
    """PID 1 looks at one descriptor (poll(2), or ppoll(2) on aarch64), as it does at the end."""
    words = peek.read(pid, "syscall").split()
    return words[:1] in ([b"7"], [b"73"]) and words[2] == b"0x1"


def hears_of_it(box):
    """Does a member hear what node 0 knew when it was stopped?"""
    node = Node(box)
    third, failed = joins(node, 2), joins(node, 1)
    third.say(phase("running"))
    failed.say(phase("running"), end(BLAME, "loss"))
    assert failed.hear("heard")
    node.tell(0)
    wait_until(lambda: waits_for_its_helper(node.job.pid), "the end of PID 1")
    node.job.signal(signal.SIGTERM)
    try:
        text = third.hear("verdict")["text"]
    except Closed:
        text = None
    failed.close()
    third.close()
    node.job.wait()
    assert text is None or names_none(text), text
    return text is not None


@link_peer.needs_sodium
def test_node_0_is_stopped_while_another_failure_settles(box, net):
    """Its ranks have ended: what it knows is the verdict, if its helper gets its turn by then."""
    assert any(hears_of_it(box) for _ in range(5))


def node_0_without_a_port(nodes):
    """It leaves at once: those that have not come cannot. The control has that port, and stays."""
    words = ["-v", "--link-port=7777", "--nproc-per-node=1", "--", "sh", "-c",
             "echo up >>@FOLDER/log; until [ -e @FOLDER/go ]; do sleep 0.02; done; exit 7"]
    jobs = []
    for port in ("29500", "29501"):
        jobs.append(nodes.start(0, *words, env={"RANKINIT_MASTER_PORT": port}))
        wait_until(lambda: "link: node 0 listens on port 7777" in jobs[0].error_text(), "a port")
        jobs[-1].until("up")
    stays, leaves = jobs
    wait_until(lambda: "[link.port]" in leaves.error_text(), "a word on the port")
    for job in jobs:
        with open(f"{job.folder}/go", "w", encoding="ascii"):
            pass
    wait_until(lambda: stays.ended() or leaves.ended(), "an end")
    assert leaves.ended() and not stays.ended()
    assert leaves.wait().status == 7


def a_helper_that_is_stopped_when_the_job_fails(nodes):
    """PID 1 waits for it for five seconds at most, as for one that finds no node 0."""
    jobs = ready(nodes)
    job = jobs[1]
    pid = helper(job)
    job.signal(signal.SIGSTOP, pid)
    fail(job, "rank3")
    wait_until(lambda: "rank2 SIGTERM" in job.log(), "an end")
    assert job.ended(7), "still waits"
    assert job.wait().status == 137
    assert jobs[0].stop().status == 0


def test_who_is_not_waited_for(side_by_side):
    side_by_side([node_0_without_a_port, a_helper_that_is_stopped_when_the_job_fails])


@pytest.mark.parametrize("both", [False, True])
def test_a_name_of_several_addresses(nodes, tmp_path, both):
    """Node 0 is at the second one, and no program of it at the first; or it is at both."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.9 node-0\n127.0.0.1 node-0\n", encoding="ascii")
    os.chmod(tmp_path, 0o755)
    # where node 0 listens on all addresses the first one would do as well
    blocked = ["sh", "-c", 'ip route add blackhole 127.0.0.9 table local && exec "$@"', "sh"]
    centre = nodes.start(0, "--nproc-per-node=2", *nodes.box.payload("env:RANK"),
                         before=[] if both else blocked)
    centre.until("rank0 ready", "rank1 ready")
    mounts = ["unshare", "--mount", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"',
              "sh"]
    failed = nodes.run(1, "--nproc-per-node=2", "--master-addr=node-0", "--", "sh", "-c",
                       "kill -9 $$", before=mounts)
    assert failed.status == 137, failed.err
    assert centre.wait().status == 122
    assert "cannot be reached" not in failed.err, failed.err
