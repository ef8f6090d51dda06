# SPDX-License-Identifier: Apache-2.0
"""
--link in a job of ten thousand nodes: node 0 is rankinit, all others are one program that speaks
by rankinit's own wire (tests/link/members.c), over real sockets.
"""

import os
import resource
import subprocess

import pytest

import link_peer
import peek
from link_node import Node, net, ticks  # noqa: F401  a fixture
from peek import wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MEMBERS = os.environ.get("MEMBERS", os.path.join(TOP, "build/release/tests/members"))
TICKS = os.sysconf("SC_CLK_TCK")
RANKS = 8       # of each node, as the members have it
MEMORY = 110 * 1024     # kB, at most


@pytest.fixture
def files():
    """Allow as many open files as it takes, here and in what is started."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allow(count):
        if hard != resource.RLIM_INFINITY and hard < count:
            pytest.skip(f"{count} connections need more open files than ulimit -Hn allows: {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))

    yield allow
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Members:
    """All nodes but node 0."""

    def __init__(self, node, nodes):
        self.count = nodes - 1
        self.process = subprocess.Popen(
            [MEMBERS, str(node.port()), str(nodes), node.name.decode()], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={"RANKINIT_LINK_KEY": link_peer.SECRET.decode()})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def all(self, words):
        """They do this, all of them, and none of their connections is lost meanwhile."""
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        print(said)
        assert said.startswith(f"{words}: {self.count} members, ") and " 0 lost, " in said, said


def peak(pid):
    return int(peek.field(pid, "VmHWM").split()[0])


@pytest.mark.parametrize("nodes", [1000, 10000])
def test_a_large_job_starts_again(box, net, files, nodes):
    """All come, all look, one fails, all start again, one fails for good: nobody is lost."""
    files(nodes + 400)
    # a line that names who has not come would wake PID 1 where the machine is busy
    node = Node(box, nodes=nodes, options=[f"--nproc-per-node={RANKS}", "--restarts=1",
                                           "--roll-call=1000"])
    node.port()
    wait_until(lambda: peek.rests(node.job.pid), "PID 1 sleeps")
    woken = peek.switches(node.job.pid)[0]
    with Members(node, nodes) as members:
        members.all("come")
        assert peek.switches(node.job.pid)[0] - woken < 3   # a silent rank is looked at
        members.all(f"look {nodes // 2}")
        of = f"of {RANKS * nodes} ranks {RANKS * (nodes - 2)} wait in all_reduce (train.py:16)"
        node.says(f"rankinit: autopsy: {of}")
        print(f"{ticks(node.helper) / TICKS} s of CPU, {peak(node.helper)} kB")
        assert peak(node.helper) < MEMORY
        members.all(f"fail {nodes - 1}")
        members.all("leave")
        node.helper = wait_until(lambda: {node.find_helper()} - {None, node.helper},
                                 "the next attempt").pop()
        members.all("start")
        wait_until(lambda: node.job.count("ready") == 2 * RANKS, "ranks that started again")
        print(f"{ticks(node.helper) / TICKS} s of CPU, {peak(node.helper)} kB")
        assert peak(node.helper) < MEMORY
        members.all("fail 1")
    result = node.job.wait()
    assert result.status == 122, result.err
    assert result.err.count(f"rank {RANKS} (local rank 0, pid 9 on worker-1) failed first") == 1
