# SPDX-License-Identifier: Apache-2.0
"""
--link between containers, each of which is a node. A test waits more than it works, so all of
them begin with the first one, beside each other.
"""

import os
import re
import subprocess
import tempfile
import time

import pytest
from conftest import Engine, docker
from crowd import crowd_of

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "d08fbc5a150028b59a73c7852451d26f"
OTHER_KEY = "db66ecb306cea2b109290e9e2b5bee16"
AT_ONCE = 8
LIMIT = 200  # seconds for whatever a test waits for


class Job:
    """Nodes on a network of their own."""

    def __init__(self):
        self.engine = Engine()
        self.network = None
        self.nodes = {}

    def close(self):
        self.engine.remove()

    def setup(self, count, *words, image="base", ranks=1, key=KEY, options=(), **env):
        """What all nodes have in common."""
        self.count, self.ranks, self.image = count, ranks, image
        self.words = words or ("python3", "/job/ranks.py")
        self.env = {"RANKINIT_HOSTS": ",".join(f"node-{n}" for n in range(count)),
                    "RANKINIT_MASTER_PORT": "29500",
                    "RANKINIT_NPROC_PER_NODE": str(ranks), "RANKINIT_LINK": "1", **env}
        if key is not None:
            self.env["RANKINIT_LINK_KEY"] = key
        self.network = self.engine.name("network")
        docker("network", "create", self.network)
        return self

    def start(self, *nodes, words=None, **env):
        for node in nodes or range(self.count):
            given = {**self.env, **env}
            self.nodes[node] = self.engine.start(
                self.image, *(words or self.words), options=[
                    "--network", self.network, "--network-alias", f"node-{node}",
                    "--hostname", f"node-{node}", "-v", f"{HERE}/job:/job:ro",
                    *sum((["-e", f"{name}={value}"] for name, value in given.items()), [])])
        return self

    def do(self, words, node, *more):
        """docker WORDS NODE MORE"""
        docker(*words.split(), self.nodes[node], *more)

    def touch(self, name, *nodes):
        for node in nodes or self.nodes:
            self.do("exec", node, "touch", f"/tmp/{name}")

    def fail(self, rank):
        self.touch(f"fail-{rank}", rank // self.ranks)

    def output(self, node):
        done = subprocess.run(["docker", "logs", self.nodes[node]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.stdout

    def said(self, node):
        """What its rankinit said, without what is different each time."""
        lines = re.findall(r"^rankinit: (.*)$", self.output(node), re.M)
        for pattern, word in ((r"pid \d+", "pid P"), (r"after [\d.]+ s, at 2\S+Z", "after T"),
                              (r"memory \d+ MiB", "memory M"), (r"(for|after) \d+ s\b", r"\1 T")):
            lines = [re.sub(pattern, word, line) for line in lines]
        # the ranks here wait for files, and never meet; what is for programs is apart
        return [line.removesuffix(HOW) for line in lines
                if "29500" not in line and not line.startswith("verdict cause=")]

    def brief(self, node):
        """The last line, which is for programs, without what is this node's own."""
        last = self.output(node).splitlines()[-1].removeprefix("rankinit: ")
        return re.sub(r" (status|failed_before)=\S+", "", last)

    def until(self, true):
        end = time.monotonic() + LIMIT
        while not true():
            assert time.monotonic() < end, [self.output(node) for node in self.nodes]
            time.sleep(0.1)

    def until_said(self, text, *nodes):
        for node in nodes or self.nodes:
            self.until(lambda: text in self.output(node))

    def until_up(self):
        for node in self.nodes:
            for rank in range(node * self.ranks, (node + 1) * self.ranks):
                self.until_said(f"rank {rank} of {self.count * self.ranks} is up", node)
        return self

    def wait(self, *nodes):
        """Until they have ended: their statuses."""
        return [int(docker("wait", self.nodes[node], limit=LIMIT).stdout)
                for node in nodes or sorted(self.nodes)]

    def end(self, *nodes):
        """Let the ranks end well: the statuses."""
        self.touch("end", *nodes)
        return self.wait(*nodes)


beside, crowd = crowd_of(Job, AT_ONCE, LIMIT)


def blame(rank, count, ranks=1):
    """The first lines of the verdict on a rank of ranks.py that failed."""
    node = rank // ranks
    return [f"rank {rank} (local rank {rank % ranks}, pid P on node-{node}) failed first "
            f"(node {node} of {count}): exit status 1, after T",
            "  ValueError: a rank that is told to fail"]


def own_part(rank, status=122):
    """What follows of a node with one rank that was stopped for another node's failure."""
    return [f"  rank {rank}: told to stop, killed by SIGTERM (15)",
            f"  this node's exit status is {status}"]


def assert_stopped(job, rank, quiet=()):
    """That rank failed: every log says so and begins with it, and the others were stopped."""
    failed = rank // job.ranks
    statuses = [1 if node == failed else 122 for node in sorted(job.nodes)]
    assert job.wait() == statuses
    brief = f"verdict cause=exception class=own retry=never rank={rank} node={failed} " \
            f"host=node-{failed} retries=0"
    assert {job.brief(node) for node in job.nodes} == {brief}
    for node in job.nodes:
        said = [line for line in job.said(node) if line not in quiet]
        assert said[:2] == blame(rank, job.count, job.ranks), said
        assert said[-1] == f"  this node's exit status is {statuses[node]}", said
        if node != failed and job.ranks == 1:
            assert said[-2:] == own_part(node), said


CENTRE = "node 0 (node-0), ports 9471 to 9478"
HOW = "; look whether they run, with --link and the same key"
FOREIGN = "; a node that called has another key, or is of another job"
LOST = "the connection to node 0 is lost; the job goes on"
SILENT = "node 1 (node-1): silent for T; look whether it still runs"
STOPPED = "node {0} (node-{0}) was stopped from outside by SIGTERM"


# --- those that take long come first -------------------------------------------------


@beside
def test_no_packet_passes_for_a_minute(job):
    """Both sides give the connection up, nobody is stopped, and it is made again."""
    job.setup(2).start().until_up()
    pid = docker("inspect", "-f", "{{.State.Pid}}", job.nodes[1]).stdout.strip()
    rules = ["nsenter", "-t", pid, "-n", "iptables"]
    if subprocess.run([*rules, "-A", "INPUT", "-j", "DROP"], capture_output=True).returncode != 0:
        pytest.skip("iptables cannot be used in a container's network from here")
    subprocess.run([*rules, "-A", "OUTPUT", "-j", "DROP"], check=True)
    job.until_said(LOST, 1)
    subprocess.run([*rules, "-F"], check=True)
    time.sleep(3)
    job.fail(1)
    assert_stopped(job, 1, quiet=[LOST, SILENT])
    assert job.said(1)[0] == LOST and LOST not in job.said(0)
    assert job.said(0)[0] == SILENT and SILENT not in job.said(1)


@beside
def test_a_container_is_killed(job):
    """That stops nobody, and is news after a minute."""
    job.setup(2).start().until_up()
    job.do("kill -s KILL", 1)
    job.until_said("silent", 0)
    assert job.end(0) == [0] and job.wait(1) == [137]
    assert job.said(0) == [SILENT]


def save(job, seconds, during=None):
    """A healthy node writes for so long after the other one has failed."""
    job.setup(2, "python3", "/job/ranks.py", f"save={seconds}").start().until_up()
    job.fail(1)
    job.until_said("rank 0 saves", 0)
    if during:
        during()
    assert job.wait() == [122, 1]
    assert job.said(0)[:2] == job.said(1)[:2] == blame(1, 2)
    assert job.said(0)[-2:] == ["  rank 0: told to stop, exit status 0",
                                "  this node's exit status is 122"]
    assert "rank 0 has saved" in job.output(0)
    with tempfile.TemporaryDirectory() as folder:
        docker("cp", f"{job.nodes[0]}:/tmp/rank-0", folder)
        with open(f"{folder}/rank-0", "rb") as file:
            assert file.read() == bytes(range(256)) * 64 * 20 * seconds


@beside
def test_a_checkpoint_of_40_s(job):
    save(job, 40)


@beside
def test_a_checkpoint_of_20_s(job):
    save(job, 20)


@beside
def test_a_checkpoint_and_a_stop(job):
    """The platform stops the node that writes it: it has been told already."""
    save(job, 15, during=lambda: job.do("stop -t 60", 0))


@beside
def test_torchrun(job):
    job.setup(2, "torchrun", "--nproc-per-node=2", "/job/ranks.py", image="pytorch", ranks=2)
    del job.env["RANKINIT_NPROC_PER_NODE"]
    job.start().until_up()
    job.fail(3)
    assert job.wait() == [122, 1]
    first, reason = job.said(0)[:2]
    assert [first, reason] == job.said(1)[:2]
    # of a rank that ended between two looks the kernel has told rankinit nothing
    assert [first.replace(" (by torchrun's word)", ""), reason] == blame(3, 2, ranks=2)
    for node, status in ((0, 122), (1, 1)):
        assert job.said(node)[-1] == f"  this node's exit status is {status}"


# --- a rank fails ----------------------------------------------------------------------


@beside
def test_a_rank_fails_before_the_others_have_come(job):
    job.setup(2, "python3", "/job/ranks.py", "early", ranks=2).start(1)
    job.fail(3)
    job.start(0)
    assert_stopped(job, 3)
    assert job.said(0)[-2] == "  ranks 0-1: told to stop, killed by SIGTERM (15)"
    assert job.said(1)[-2] == "  rank 2: told to stop, killed by SIGTERM (15)"


@beside
def test_a_rank_of_four_nodes_fails(job):
    job.setup(4).start().until_up()
    job.fail(2)
    assert_stopped(job, 2)


@beside
def test_a_rank_of_node_0_fails(job):
    job.setup(4).start().until_up()
    job.fail(0)
    assert_stopped(job, 0)


@beside
def test_a_node_is_not_fit(job):
    job.setup(4).start(0, 1, 2).start(3, RANKINIT_REQUIRE="gpu=8")
    assert job.wait() == [122, 122, 122, 123]
    for node in (0, 1, 2):
        assert job.said(node)[0].startswith("node 3 (node-3) is not fit: ")
        assert job.said(node)[0].endswith(" [check.unfit]")
    assert [line for line in job.said(3) if "failed" in line or "exit status" in line] == []


# --- who has come ------------------------------------------------------------------------


@beside
def test_a_node_comes_late(job):
    job.setup(3, RANKINIT_ROLL_CALL="1").start(0, 1)
    missing = "waiting for 1 of 3 nodes for T: node 2 (node-2)"
    job.until(lambda: missing in job.said(0) and missing in job.said(1))
    job.start(2)
    job.until_said("all 3 nodes have come", 0, 1, 2)
    assert job.end() == [0, 0, 0]
    complete = "all 3 nodes have come, after T"
    assert job.said(0)[-1] == job.said(1)[-1] == complete and job.said(2) == [complete]
    first = "waiting for 2 of 3 nodes for T: node 1 (node-1), node 2 (node-2)"
    assert set(job.said(0) + job.said(1)) <= {first, missing, complete}


@beside
def test_node_0_comes_late(job):
    job.setup(2, RANKINIT_ROLL_CALL="1").start(1)
    job.until_said("has not been reached", 1)
    job.start(0)
    job.until_said("node 0 answers", 1)
    job.until_up()
    assert job.end() == [0, 0]
    assert job.said(1)[0] == f"{CENTRE}, has not been reached for T: no such name"
    complete = "all 2 nodes have come, after T"
    assert "node 0 answers, after T" in job.said(1)
    assert set(job.said(0)) <= {"waiting for 1 of 2 nodes for T: node 1 (node-1)", complete}


@beside
def test_one_container(job):
    """It stands in the image: nobody hears of it where there is one node."""
    job.setup(1).start().until_up()
    assert job.end() == [0] and job.output(0) == "rank 0 of 1 is up\n"


@beside
def test_a_good_end_is_silent(job):
    """In whatever order the nodes end."""
    job.setup(3).start().until_up()
    time.sleep(2)
    assert job.end(1) + job.end(0) + job.end(2) == [0, 0, 0]
    assert [job.said(node) for node in range(3)] == [[], [], []]


# --- the network, and frozen or lost containers -------------------------------------------


@beside
def test_a_container_is_paused(job):
    job.setup(2).start().until_up()
    for node in (1, 0):
        job.do("pause", node)
        time.sleep(4)
        job.do("unpause", node)
    assert job.end() == [0, 0] and job.said(0) == job.said(1) == []


@beside
def test_node_0_is_paused_as_another_fails(job):
    """The end of that one has reached its machine, and is heard when it goes on."""
    job.setup(3).start().until_up()
    time.sleep(2)
    job.do("pause", 0)
    job.fail(1)
    assert job.wait(1) == [1]
    assert job.said(1)[0] == (f"{CENTRE}, cannot be reached; what follows is what this node "
                              "has seen itself")
    assert job.said(1)[1].startswith("rank 1 (local rank 0, pid P on node-1) failed (node 1 of 3)")
    assert job.said(2) == []
    job.do("unpause", 0)
    assert job.wait() == [122, 1, 122]
    for node in (0, 2):
        assert job.said(node)[:2] == blame(1, 3) and job.said(node)[-2:] == own_part(node)


def cut(job, node):
    docker("network", "disconnect", job.network, job.nodes[node])


def cut_off(job, node):
    """Without a network for a while: nobody is stopped, and the verdict comes after it."""
    job.setup(3).start().until_up()
    cut(job, node)
    time.sleep(3)
    docker("network", "connect", "--alias", f"node-{node}", job.network, job.nodes[node])
    time.sleep(1)
    assert [job.said(other) for other in range(3)] == [[], [], []]
    job.fail(1)
    assert_stopped(job, 1, quiet=[LOST])


@beside
def test_a_node_is_cut_off(job):
    cut_off(job, 1)


@beside
def test_node_0_is_cut_off(job):
    cut_off(job, 0)


@beside
def test_a_rank_fails_while_its_node_is_cut_off(job):
    job.setup(2).start().until_up()
    cut(job, 1)
    job.fail(1)
    assert job.wait(1) == [1] and job.end(0) == [0] and job.said(0) == []
    assert job.said(1)[0].startswith(f"{CENTRE}, cannot be reached")
    assert job.said(1)[1].startswith("rank 1 (local rank 0, pid P on node-1) failed (node 1 of 2)")


# --- containers that are started again ------------------------------------------------------


@beside
def test_a_container_is_killed_and_started_again(job):
    """That is proof; and the next attempt of all nodes is a job of its own."""
    job.setup(3).start().until_up()
    time.sleep(2)
    job.do("kill -s KILL", 1)
    job.wait(1)
    job.do("start", 1)
    assert job.wait(0, 2) == [122, 122]
    for node in (0, 2):
        # the engine may be behind with the log of one that has ended
        job.until(lambda node=node: job.brief(node).startswith("verdict cause="))
        assert job.said(node)[0] == (
            "node 1 (node-1) failed first: it was started again, and ended before without a word, "
            "as of SIGKILL for the whole container")
        assert job.said(node)[-2:] == own_part(node)
    assert job.said(1) == []
    before = [job.output(node) for node in range(3)]
    job.do("start", 0)
    job.do("start", 2)
    for node in range(3):
        job.until(lambda node=node: job.output(node)[len(before[node]):].startswith(
            f"rank {node} of 3 is up"))
    # it finds the new centre within a second or two
    time.sleep(3)
    job.fail(1)
    assert job.wait() == [122, 1, 122]
    for node in range(3):
        assert "\nrankinit: rank 1 (local rank 0, pid " in job.output(node)[len(before[node]):]


@beside
def test_a_container_is_restarted(job):
    """A stop from outside, and a newcomer who is none of this attempt."""
    job.setup(2).start().until_up()
    time.sleep(2)
    job.do("restart -t 10", 1)
    time.sleep(3)
    assert job.end() == [0, 0]
    assert job.said(0) == [STOPPED.format(1), "  rank 0: exit status 0",
                           "  this node's exit status is 0"]
    assert job.said(1)[-2:] == own_part(1, 143)


@beside
def test_node_0_is_killed(job):
    job.setup(3).start().until_up()
    time.sleep(2)
    job.do("kill -s KILL", 0)
    job.until_said(LOST, 1, 2)
    job.fail(1)
    assert job.wait(1) == [1] and job.end(2) == [0] and job.wait(0) == [137]
    assert job.said(2) == [LOST]
    assert job.said(1)[0] == LOST
    assert job.said(1)[1].startswith(f"{CENTRE}, cannot be reached: ")
    assert job.said(1)[2].startswith("rank 1 (local rank 0, pid P on node-1) failed (node 1 of 3)")


@beside
def test_node_0_is_killed_and_started_again(job):
    """It is another centre's job, to which the others do not belong."""
    job.setup(2).start().until_up()
    time.sleep(2)
    job.do("kill -s KILL", 0)
    job.wait(0)
    job.do("start", 0)
    job.until_said("started again", 1)
    assert job.end() == [0, 0]
    assert job.said(1) == [LOST, "node 0 was started again; the job goes on without the link of "
                           "this node"]


# --- stops ----------------------------------------------------------------------------------


@beside
def test_one_container_is_stopped(job):
    job.setup(2).start().until_up()
    time.sleep(2)
    job.do("stop -t 20", 1)
    assert job.wait(1) == [143]
    job.until_said("stopped from outside", 0)
    assert job.end(0) == [0]
    assert job.said(0) == [STOPPED.format(1), "  rank 0: exit status 0",
                           "  this node's exit status is 0"]
    assert not [line for line in job.said(1) if "failed" in line]


@beside
def test_all_containers_are_stopped(job):
    job.setup(4).start().until_up()
    time.sleep(2)
    docker("stop", "-t", "20", *job.nodes.values())
    assert job.wait() == [143, 143, 143, 143]
    for node in job.nodes:
        assert not [line for line in job.said(node) if "failed" in line or "lost" in line]
        assert "was stopped from outside by SIGTERM" in job.said(node)[0]
        assert "  stopped by SIGTERM from outside this container" in job.said(node)


# --- keys -----------------------------------------------------------------------------------


@beside
def test_no_key(job):
    job.setup(2, key=None).start().until_up()
    job.fail(1)
    assert job.wait(1) == [1] and job.end(0) == [0]
    news = "without a key, so that anybody may have said it: "
    said = job.said(0)
    first, error = blame(1, 2)
    assert said[0].startswith(news + first) and error.strip() in said[0]
    assert not [line for line in said if "told to stop" in line or "exit status is" in line]


@beside
def test_one_node_has_no_key(job):
    job.setup(2).start(0).start(1, RANKINIT_LINK_KEY="").until_up()
    job.until_said("[link.keys]", 0, 1)
    job.fail(1)
    assert job.wait(1) == [1] and job.end(0) == [0]
    more = "give all nodes the same --link-key [link.keys]"
    assert job.said(0) == [f"warning: link: a node that called has no key; {more}"]
    assert job.said(1)[:2] == [
        f"warning: link: node 0 has a key, and this node has none; {more}",
        f"{CENTRE}, does not let this node in: it has a key, and this node none; what follows is "
        "what this node has seen itself"]


@beside
def test_one_node_has_another_key(job):
    job.setup(2, RANKINIT_ROLL_CALL="1").start(0).start(1, RANKINIT_LINK_KEY=OTHER_KEY).until_up()
    why = "it has another key, or is of another job"
    missing = f"waiting for 1 of 2 nodes for T: node 1 (node-1){FOREIGN}"
    wrong = f"{CENTRE}, has not let this node in for T: {why}"
    job.until(lambda: missing in job.said(0) and wrong in job.said(1))
    job.fail(1)
    assert job.wait(1) == [1] and job.end(0) == [0]
    assert missing in job.said(0) and set(job.said(0)) <= {missing, missing.removesuffix(FOREIGN)}
    assert (f"{CENTRE}, does not let this node in: {why}; what follows is what this node has "
            "seen itself") in job.said(1)
