# SPDX-License-Identifier: Apache-2.0
"""
--link and process 1: what the process of the link does, or is kept from doing, harms no job,
and nobody is told what is not so. Each node is process 1 of a namespace; they share a network.
"""

import os
import signal
import sys

import pytest

import peek
from box import refused
from peek import wait_until
from verdict import names, was_killed_late

KEY = "d08fbc5a150028b59a73c7852451d26f"
UP = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
REFUSED = "[link.refused]"
# A launcher of node scope: rankinit starts one command, and needs nothing of its output.
TORCHRUN = ["torchrun", "--nproc-per-node=2", "train.py"]


def network(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except FileNotFoundError:
        return None


class Nodes:
    """Nodes of one job in one network."""

    def __init__(self, box, actor):
        self.box = box
        self.actor = actor
        self.first = self.network = None

    def start(self, index, *words, count=2, deny=(), before=(), key=KEY, env=None, **options):
        """rankinit with these words, as this node of so many."""
        command = [*before, self.box.rankinit, *words]
        if deny:
            command = [self.actor("deny"), *deny, "--", *command]
        where = ("/usr/bin/unshare", UP)
        if self.first is not None:
            where = ("/usr/bin/nsenter", [f"--net=/proc/self/fd/{self.network}"])
            options["pass_fds"] = (self.network,)
        env = {"RANKINIT_NNODES": str(count), "RANKINIT_NODE_RANK": str(index),
               "RANKINIT_MASTER_ADDR": "127.0.0.1", "RANKINIT_MASTER_PORT": "29500",
               "RANKINIT_LINK": "1",
               "RANKINIT_LINK_KEY": key, "RANKINIT_CHECKS": "none", **(env or {})}
        job = self.box.start(*where[1], *command, program=where[0], env=env, **options)
        if self.first is None:
            self.first = job
            wait_until(lambda: job.ended() or network(job.pid) != network("self"),
                       "a network of its own")
            self.network = os.open(f"/proc/{job.pid}/ns/net", os.O_RDONLY)
        return job

    def close(self):
        if self.network is not None:
            os.close(self.network)

    def run(self, index, *words, **options):
        return self.start(index, *words, **options).wait()


@pytest.fixture
def nodes(box, actor):
    made = Nodes(box, actor)
    yield made
    made.close()


@pytest.fixture
def side_by_side(box, actor, at_once):
    """Call each of these with nodes of its own, at once: most of it waits."""
    def with_nodes(function):
        made = Nodes(box, actor)
        try:
            function(made)
        finally:
            made.close()

    return lambda functions: at_once(with_nodes, functions)


@pytest.fixture
def torchrun(tmp_path):
    """A program of that name, which runs what TRAIN says: its folder for PATH."""
    tmp_path.chmod(0o755)
    path = tmp_path / "torchrun"
    path.write_text('#!/bin/sh\neval "$TRAIN"\n', encoding="ascii")
    path.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"}


def helper(job):
    """The process of the link, by its pid out here."""
    return wait_until(lambda: [pid for pid in peek.children(job.pid)
                               if (peek.stat(pid) or [""])[0] == "rankinit-link"], "a helper")[0]


def opened(pid, number):
    """What this descriptor of a process is, or "" where it is closed."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except FileNotFoundError:
        return ""


def sleeps(pid):
    """It waits for something, again and again, and leaves the CPU to the ranks meanwhile."""
    before = peek.switches(pid)[0]
    wait_until(lambda: peek.switches(pid)[0] > before + 2, "a helper that sleeps")


def connected(job):
    """Is there a connection to the first port of the link in the network of this job?"""
    lines = peek.read(job.pid, "net/tcp") + peek.read(job.pid, "net/tcp6")
    return [line for line in lines.splitlines() if b":24FF " in line and line.split()[3] == b"01"]


def said(result):
    """What rankinit said, but for the loopback address that all nodes of a test share."""
    return [line[len("rankinit: "):] for line in result.lines() if "[master.loopback]" not in line]


# What it has open.

@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>&-"])
def test_descriptors_that_are_closed(nodes, closed):
    """No socket of the link takes their place, in which others read and write."""
    jobs = [nodes.start(index, "--nproc-per-node=2", "-v", *nodes.box.payload("env:RANK"),
                        before=["sh", "-c", f'exec {closed}; exec "$@"', "sh"])
            for index in (0, 1)]
    jobs[0].until("rank0 ready", "rank1 ready")
    jobs[1].until("rank2 ready", "rank3 ready")
    for job in jobs:
        helper(job)
        for number in (0, 1, 2):
            assert not opened(job.pid, number).startswith("socket:"), number
    jobs[1].signal(signal.SIGKILL, jobs[1].named("rank3"))
    assert [job.wait().status for job in jobs] == [122, 137]


def test_rankinit_that_becomes_its_command(nodes):
    """--supervise=never: nobody would stay to end the helper, or to hear it."""
    env = {"RANKINIT_RANK": "0", "RANKINIT_WORLD_SIZE": "2", "RANKINIT_LOCAL_RANK": "0",
           "RANKINIT_LOCAL_WORLD_SIZE": "1"}
    job = nodes.start(0, "-v", "--supervise=never", *nodes.box.payload("it"), env=env)
    job.until("it ready")
    assert peek.children(job.pid) == [] and "--supervise=never" in job.error_text()
    assert job.stop().status == 0
    # the control: it stays
    job = nodes.start(0, *nodes.box.payload("it"), env=env)
    helper(job)
    job.until("it ready")
    assert job.stop().status == 0


# Where a call is denied, or refused.

@pytest.mark.parametrize("rule", ["clone:0=0=EAGAIN", "socketpair=EPERM",
                                  "fcntl:1=10=EINVAL"])
def test_there_can_be_no_helper(nodes, torchrun, rule):
    """As with as many processes as a container may have: said, and nobody gets a signal."""
    result = nodes.run(0, *TORCHRUN, deny=[rule], env={**torchrun, "TRAIN": "sleep 0.3; exit 7"})
    assert result.status == 7, result.err
    assert len([line for line in said(result) if line.endswith(REFUSED)]) == 1, result.err
    assert "SIGIO" not in result.err


@pytest.mark.parametrize("rules", [
    ["pipe2=EPERM"], ["rt_sigtimedwait=EPERM", "signalfd4=EPERM"]])
def test_what_the_link_would_like_to_read_cannot_be_read(nodes, torchrun, rules):
    """Without --link nobody needs a pipe for this command: the link is no reason to refuse it."""
    env = {**torchrun, "TRAIN": "echo trains"}
    result = nodes.run(1, *TORCHRUN, deny=rules, env=env)
    assert (result.status, result.out) == (0, b"trains\n"), result.err
    assert len([line for line in said(result) if line.endswith(REFUSED)]) == 1, result.err
    # the control: --report does need it
    env["RANKINIT_LINK"] = "no"
    refused(nodes.run(0, "--report=@FOLDER/report", *TORCHRUN, deny=rules, env=env), 125,
            "log.refused", {"signalfd4": "signalfd", "pipe2": "pipe"}.get(
                rules[-1].partition("=")[0], "epoll"))


def test_a_helper_that_cannot_begin(nodes, torchrun):
    result = nodes.run(0, *TORCHRUN, deny=["getrandom=ENOSYS"],
                       env={**torchrun, "TRAIN": "sleep 0.3; exit 7"})
    assert result.status == 7, result.err
    assert len([line for line in said(result) if line.endswith(REFUSED)]) == 1, result.err


def test_a_helper_that_is_killed(nodes):
    """Said once, and the job goes on; its end is that of a job without a link."""
    job = nodes.start(0, "--nproc-per-node=2", *nodes.box.payload("env:RANK"))
    job.until("rank0 ready", "rank1 ready")
    job.signal(signal.SIGKILL, helper(job))
    wait_until(lambda: REFUSED in job.error_text(), "a word on it")
    result = job.stop()
    assert result.status == 0 and job.count("rank0 SIGTERM") == job.count("rank1 SIGTERM") == 1
    assert result.err.count(REFUSED) == 1 and "rankinit-link" not in result.err
    assert job.members() == {}


def calls_that_cannot_be_taken(nodes):
    """Said once, and not tried without end: the helper sleeps, and the end does not wait."""
    train = ["--nproc-per-node=2", *nodes.box.payload("env:RANK")]
    centre = nodes.start(0, *train, deny=["accept4=EPERM"])
    member = nodes.start(1, *train)
    member.until("rank2 ready", "rank3 ready")
    wait_until(lambda: "[link.port]" in centre.error_text(), "a word on it")
    sleeps(helper(centre))
    for job in centre, member:
        result = job.stop()
        assert result.status == 0, result.err
        assert result.err.count("[link.port]") == (job is centre)


# The end.

UNTIL = 'until [ -e "$0/$NODE_RANK" ]; do sleep 0.02; done'


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_nodes_that_end_one_after_another(nodes, tmp_path, order):
    """Each ends its connection itself: nothing is lost, and nothing is waited for."""
    jobs = [nodes.start(index, "--nproc-per-node=2", "--", "sh", "-c", UNTIL, tmp_path)
            for index in (0, 1)]
    wait_until(lambda: connected(jobs[0]), "a link")
    for index in order:
        (tmp_path / str(index)).touch()
        result = jobs[index].wait()
        assert (result.status, said(result)) == (0, []), result.err
        assert jobs[index].members() == {}


def ready(nodes, *words, count=2, options=()):
    """So many nodes, whose ranks are ready, and which are connected with node 0."""
    jobs = [nodes.start(index, "--nproc-per-node=2", *options,
                        *nodes.box.payload("env:RANK", *words), count=count)
            for index in range(count)]
    for index, job in enumerate(jobs):
        job.until(f"rank{2 * index} ready", f"rank{2 * index + 1} ready")
    # each connection has two ends
    wait_until(lambda: len(connected(jobs[0])) == 2 * (count - 1), "a link")
    return jobs


def fail(job, name):
    job.signal(signal.SIGKILL, job.named(name))


def what_kills_the_leftovers_spares_the_helper(nodes):
    """Ranks that are deaf to the order are killed; the helper is needed to the end."""
    jobs = ready(nodes, "deaf", options=["--link-grace=0.3", "--grace=1"])
    fail(jobs[1], "rank3")
    for job, status in zip(jobs, (122, 137)):
        result = job.wait()
        assert result.status == status and REFUSED not in result.err, result.err
        assert "rank 3 (" in said(result)[0] and "failed first (node 1 of 2)" in said(result)[0]
        assert "rankinit-link" not in result.err
    assert [jobs[0].count(f"rank{rank} SIGTERM") for rank in (0, 1)] == [1, 1]


HELD = """
import os, sys, threading, time
def work():
    while True:
        time.sleep(600)
if os.environ["RANK"] != "3":
    work()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
threading.Thread(target=work).start()
raise ValueError("bad batch 17")
"""


def test_a_rank_that_does_not_get_to_its_end(nodes, tmp_path):
    """Its exception is the job's failure, though it has not ended: both nodes say so and end."""
    jobs = [nodes.start(index, "--nproc-per-node=2", "--linger=0.2", "--", sys.executable, "-ISc",
                        HELD, tmp_path / "go") for index in (0, 1)]
    wait_until(lambda: len(connected(jobs[0])) == 2, "a link")
    (tmp_path / "go").touch()
    for job, status in zip(jobs, (122, 1)):
        result = job.wait()
        lines = [line for line in said(result) if " failed first" in line]
        assert result.status == status, result.err
        assert len(lines) == 1 and names(lines[0], 3, 1)
        assert " failed first (node 1 of 2): raised the error below, and ha" in lines[0]
        assert "  ValueError: bad batch 17" in said(result)


def test_a_rank_below_a_launcher_that_does_not_get_to_its_end(nodes, torchrun, tmp_path):
    """The same, though rankinit did not start it: its launcher is a shell."""
    (tmp_path / "held.py").write_text(HELD, encoding="ascii")
    rank = "RANK={} LOCAL_RANK={} LOCAL_WORLD_SIZE=2 WORLD_SIZE=4 " \
        f"{sys.executable} -IS {tmp_path}/held.py {tmp_path}/go & "
    jobs = [nodes.start(index, "--linger=0.2", *TORCHRUN, env={
        **torchrun, "TRAIN": rank.format(2 * index, 0) + rank.format(2 * index + 1, 1) + "wait"})
        for index in (0, 1)]
    wait_until(lambda: len(connected(jobs[0])) == 2, "a link")
    (tmp_path / "go").touch()
    for job, status in zip(jobs, (122, 1)):
        result = job.wait()
        lines = [line for line in said(result) if " failed first" in line]
        assert result.status == status, result.err
        assert len(lines) == 1 and names(lines[0], 3, 1), result.err
        assert " failed first (node 1 of 2): raised the error below, and ha" in lines[0]
        assert "  ValueError: bad batch 17" in said(result)


def a_stop_after_an_order_keeps_its_own_time(nodes):
    """What an ordered rank left has 300 s from the link, and one from whoever stops the node."""
    jobs = ready(nodes, "session:worker!", "save=0", options=["--grace=0.3"])
    fail(jobs[1], "rank3")
    jobs[0].until("rank0 done", "rank1 done", "worker SIGTERM")
    result = jobs[0].stop()
    assert result.status == 122 and was_killed_late(result.err)
    assert jobs[0].count("rank0 SIGTERM") == jobs[0].count("rank1 SIGTERM") == 1
    assert jobs[0].count("worker SIGTERM") == 2, "one for each of the two"


def both_have(job, number, count):
    wait_until(lambda: all(job.count(f"rank{rank} {number.name}") == count for rank in (0, 1)),
               f"{number.name} in {job.log()}")


def signals_after_an_order(nodes):
    """Each reaches the ranks, and the platform's first SIGTERM does so beside the order's."""
    jobs = ready(nodes, "deaf")
    fail(jobs[1], "rank3")
    both_have(jobs[0], signal.SIGTERM, 1)
    for number, count in ((signal.SIGUSR1, 1), (signal.SIGINT, 1), (signal.SIGTERM, 2),
                          (signal.SIGQUIT, 1), (signal.SIGTERM, 3)):
        jobs[0].signal(number)
        both_have(jobs[0], number, count)
    assert not jobs[0].ended()


def a_helper_that_is_stopped(nodes):
    """It is waited for no longer than it may take, and killed."""
    jobs = ready(nodes)
    jobs[1].signal(signal.SIGSTOP, helper(jobs[1]))
    for job in reversed(jobs):
        job.signal(signal.SIGTERM)
        # of the eight seconds that a verdict may take
        assert job.ended(5), "still waits"
        assert job.wait().status == 0 and job.members() == {}


def a_stop_that_comes_after_a_failure(nodes):
    """It is no reason to forget that failure, where the others have not heard of it yet."""
    failed = nodes.start(1, "--nproc-per-node=2", "--grace=20",
                         *nodes.box.payload("env:RANK", "deaf"))
    failed.until("rank2 ready", "rank3 ready")
    fail(failed, "rank2")
    failed.until("rank3 SIGTERM")
    failed.signal(signal.SIGTERM)
    wait_until(lambda: peek.field(failed.pid, "SigPnd") == "0" * 16, "the stop is taken")
    centre = nodes.start(0, "--nproc-per-node=2", "--", "sleep", "60")
    result = centre.wait()
    assert result.status == 122, result.err
    assert said(result)[0].startswith("rank 2 ("), result.err
    failed.signal(signal.SIGKILL, failed.named("rank3"))
    assert said(result)[0] in said(failed.wait())


def a_stop_that_comes_before_an_order(nodes):
    """Which is on its way to the helper: the node ends of its own stop, as it would without."""
    jobs = [nodes.start(index, "--nproc-per-node=2", "--", "sleep", "60", count=3)
            for index in range(3)]
    wait_until(lambda: len(connected(jobs[0])) == 4, "a link")
    pid = helper(jobs[2])
    jobs[2].signal(signal.SIGSTOP, pid)
    fail_one = [rank for rank in peek.children(jobs[1].pid) if rank != helper(jobs[1])][0]
    jobs[1].signal(signal.SIGKILL, fail_one)
    assert [jobs[index].wait().status for index in (1, 0)] == [137, 122]
    jobs[2].signal(signal.SIGTERM)
    wait_until(lambda: peek.children(jobs[2].pid) == [pid], "ranks that ended")
    jobs[2].signal(signal.SIGCONT, pid)
    result = jobs[2].wait()
    assert result.status == 143, result.err


def test_stops_and_orders(side_by_side):
    side_by_side([
        calls_that_cannot_be_taken, what_kills_the_leftovers_spares_the_helper,
        a_stop_after_an_order_keeps_its_own_time, signals_after_an_order, a_helper_that_is_stopped,
        a_stop_that_comes_after_a_failure, a_stop_that_comes_before_an_order])


def comes_late(nodes, folder, index, count):
    """A node whose ranks run until it has said who failed."""
    job = nodes.start(index, "--nproc-per-node=2", "--", "sh", "-c", UNTIL, folder, count=count)
    wait_until(lambda: " failed first" in job.error_text(), "a word on the failure")
    (folder / str(index)).touch()
    result = job.wait()
    assert result.status == 0, result.err
    return said(result)


def test_a_node_that_comes_after_the_failure_of_node_0(nodes, tmp_path):
    """Node 0 stays a while, so that a node which starts more slowly hears why."""
    centre = nodes.start(0, "--nproc-per-node=2", "--", "sh", "-c", "kill -9 $$")
    pid = helper(centre)
    # but for a judge that has ended while node 0 waits
    wait_until(lambda: [child for child in peek.children(centre.pid)
                        if (peek.stat(child) or "??")[1] not in "ZX?"] == [pid], "ranks that ended")
    lines = comes_late(nodes, tmp_path, 1, 2)
    assert lines[0].startswith("rank ") and "(node 0 of 2)" in lines[0], lines
    assert centre.wait().status == 137


def test_a_node_that_comes_after_an_order_to_node_0(nodes, tmp_path):
    """The same where another node failed, and node 0 only had to stop."""
    centre = nodes.start(0, "--nproc-per-node=2", "--", "sleep", "60", count=3)
    failed = nodes.run(1, "--nproc-per-node=2", "--", "sh", "-c", "kill -9 $$", count=3)
    assert failed.status == 137 and "(node 1 of 3)" in said(failed)[0], failed.err
    assert comes_late(nodes, tmp_path, 2, 3)[0] == said(failed)[0]
    assert centre.wait().status == 122
