# SPDX-License-Identifier: Apache-2.0
"""--link in a job of a thousand nodes: node 0 is rankinit, this process all others."""

import os
import resource
import time

import pytest

import link_peer
import peek
from link_node import Node, net, ticks  # noqa: F401  a fixture
from link_peer import (Closed, Peer, call, connect, end, groups, hello, look, phase,
                       verdict)
from peek import wait_until

pytestmark = link_peer.needs_sodium

NODES = 1000
FILES = NODES + 200     # of this process
TICKS = os.sysconf("SC_CLK_TCK")
TEXT = "rank 999 (local rank 0, pid 9 on host999) failed first: exit status 1\n"


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        pytest.skip(f"{NODES} connections need more open files than ulimit -Hn allows: {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def begin(node):
    peer = Peer(connect(node.port()), node.name)
    peer.put(peer.opening())
    return peer


def come(node, wanted):
    """All of them call at once, as often as it takes: {index: peer}, and how many called again."""
    here, again = {}, 0
    while wanted:
        calling = {index: begin(node) for index in wanted}
        for index, peer in calling.items():
            try:
                peer.take_opening()
                peer.say(hello(index, NODES), phase("running"))
            except (Closed, OSError):
                pass
        for index, peer in calling.items():
            try:
                assert peer.out and peer.hear()["place"] == "taken"
                here[index] = peer
                wanted = [other for other in wanted if other != index]
            except (AssertionError, Closed, OSError):
                peer.close()
        again += len(wanted)
        assert again < 10 * NODES, f"{len(here)} of {NODES - 1} came: {node.said()}"
    return here, again


def decision(peer):
    """What it hears but for the question whether a rank of its node raised an exception."""
    while (said := peer.hear())["say"] == "ask":
        pass
    return said


class Spent:
    """What the helper and PID 1 spent meanwhile."""

    def __init__(self, node):
        wait_until(lambda: peek.rests(node.job.pid), "PID 1 sleeps")
        self.node = node
        self.ticks = ticks(node.helper)
        self.switches = peek.switches(node.job.pid)
        self.began = time.monotonic()

    def look(self, what):
        # a silent rank is looked at after 15 seconds, 30 and so on: its helper starts, and ends
        looks = int((time.monotonic() - self.began) / 15)
        seconds = (ticks(self.node.helper) - self.ticks) / TICKS
        memory = {line.split()[0]: int(line.split()[1]) for line in
                  peek.read(self.node.helper, "smaps_rollup").decode().splitlines()[1:]}
        woken = peek.switches(self.node.job.pid)[0] - self.switches[0]
        print(f"{what}: {seconds:.2f} s of CPU, {memory['Private_Dirty:']} kB private and dirty, "
              f"PID 1 woken {woken} times")
        return memory["Private_Dirty:"], max(0, woken - 2 * looks)


def test_a_thousand_nodes(box, net, many_files):
    node = Node(box, nodes=NODES, options=["--roll-call=0"], shell="ulimit -n 1024")
    node.port()
    spent = Spent(node)
    peers, again = come(node, list(range(1, NODES)))
    print(f"{again} had to call again")
    assert sorted(peers) == list(range(1, NODES))
    memory, woken = spent.look("all have come")
    assert memory < 64 * 1024
    assert woken == 0
    # and now each of them waits
    begun = peek.switches(node.helper)[0]
    time.sleep(1)
    assert peek.switches(node.helper)[0] - begun < 3
    # nobody was put out for somebody else, and strangers do not put anybody out
    strangers = [connect(node.port()) for _ in range(100)]
    assert call(node.name).hello(5, NODES, 1005)["place"] == "taken"
    node.is_unharmed()
    peers[999].say(end(TEXT))
    peers[5].close()
    assert peers[999].hear() == {"say": "heard"}
    for index, peer in peers.items():
        if index != 5:
            assert decision(peer) == verdict(999, TEXT, order=index != 999), index
    spent.look("the job is over")
    node.is_stopped(TEXT.strip())
    assert len(strangers) == 100


WAITS = "collective still all_reduce {} all_reduce (train.py:16)|\n"
LOADS = "loader still - {} _BaseDataLoaderIter.__next__ (train.py:9)|waits for its data loader\n"
RANKS, ODD = 8, 500     # ranks of a node; the node of the odd one


def test_a_thousand_nodes_look(box, net, many_files):
    """One asks, all are asked once, and all hear whom the answers of eight thousand ranks name."""
    node = Node(box, nodes=NODES, options=["--roll-call=0", f"--nproc-per-node={RANKS}"])
    peers, _ = come(node, list(range(1, NODES)))
    first = RANKS * ODD
    texts = {index: WAITS.format(f"{RANKS * index}-{RANKS * index + RANKS - 1}")
             for index in peers}
    texts[ODD] = WAITS.format(f"{first}-{first + 2},{first + 4}-{first + RANKS - 1}") + \
        LOADS.format(first + 3)
    spent = Spent(node)
    begun = time.monotonic()
    peers[7].say(look())
    for index, peer in peers.items():
        assert peer.hear() == look(), index
        peer.say(groups(texts[index]))
    heard = peers[1].hear("found")
    print(f"{time.monotonic() - begun:.2f} s from the question to the answer")
    assert (heard["rank"], heard["node"]) == (first + 3, ODD)
    waiting = RANKS * (NODES - 1) - 1
    assert f"of {RANKS * NODES} ranks {waiting} wait in all_reduce (train.py:16)" in heard["text"]
    assert all(peer.hear() == heard for index, peer in peers.items() if index != 1)
    memory, _ = spent.look("all have looked")
    assert memory < 64 * 1024
    node.says("rankinit: autopsy: " + heard["text"].strip())
    node.is_unharmed()


def test_more_nodes_than_files(box, net, many_files):
    """Who has no room is not heard, and the log says so; the others are."""
    node = Node(box, nodes=NODES, options=["--roll-call=0"], shell="ulimit -n 100")
    node.says("rankinit: warning: link: this process may have 100 open files, so node 0 can hold "
              "the connections of 84 nodes, and the job has 999 others; raise the limit: docker "
              "run --ulimit nofile=1272 [link.files]")
    peers = [call(node.name) for _ in range(20)]
    for index, peer in enumerate(peers):
        assert peer.hello(1 + index, NODES)["place"] == "taken"
    peers[3].say(end(TEXT))
    for peer in peers[4:]:
        assert peer.hear("verdict")["node"] == 4
    node.job.until("stopped")   # and then it waits for those that have not come


def test_the_ranks_keep_their_limit(box, net):
    """The helper raises its own limit of open files to the hard one, and no other's."""
    node = Node(box, shell="ulimit -Sn 256", command=[
        "sh", "-c", "echo limit $(ulimit -n) >>@FOLDER/log; echo ready >>@FOLDER/log; sleep 60"])
    node.port()
    limits = {pid: peek.read(pid, "limits").decode().partition("Max open files")[2].split()[:2]
              for pid in (node.helper, node.job.pid)}
    assert "limit 256" in node.job.log()
    assert limits[node.job.pid][0] == "256"
    assert limits[node.helper][0] == limits[node.helper][1] != "256"
