# SPDX-License-Identifier: Apache-2.0
"""
--link with real frameworks: a rank of node 1 fails before the ranks have met, in the middle of
their collectives, or by SIGKILL; every log names it, and node 0 does not wait for what the
framework waits for. Each rank imports its framework, which takes seconds; so an ordinary run has
one shape of OFTEN for each, and LINK=all has all of them.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field

import pytest

from conftest import PROGRAM, TOP, clean_env

ALL = os.environ.get("LINK") == "all"
LOOP = os.path.join(TOP, "tests", "frameworks", "train", "link_loop.py")
KEY = "d08fbc5a150028b59a73c7852451d26f"
# The ports of the link are fixed, so each job has a network of its own.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
ENV = {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu",
       "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo", "TF_CPP_MIN_LOG_LEVEL": "3"}
# Frameworks wait for five minutes and longer; a job with all its imports takes less than that.
BOUND = 240
# Seconds until a fault: they are tried until the ranks had met by then.
MOMENTS = (20, 60, 120)
HEALTHY = 20 if ALL else 2


@dataclass
class Shape:
    module: str
    job: str
    loop: str
    words: list = field(default_factory=list)   # of the launcher, before the program
    options: list = field(default_factory=list)
    runs_on: bool = True    # where the platform does not stop the other node
    aborts: bool = False    # once the ranks have met, its runtime does so at the end

    @property
    def ranks(self):
        return 2 * int(self.job[-1])

    def culprit(self, words=" failed first"):
        """As every log names it."""
        return (rf"rank {self.ranks - 1} \(local rank \d, pid \d+ on node1\){words} "
                r"\(node 1 of 2\): ")


# The runtimes of TensorFlow and JAX catch SIGTERM, for preemptions, and go on.
TORCHRUN = ["-m", "torch.distributed.run"]
SHAPES = {
    "torch": Shape("torch", "kubeflow_pytorch:2x2", "torch"),
    "torchrun": Shape("torch", "kubeflow_pytorch:2x2", "torch", TORCHRUN),
    "lightning": Shape("lightning", "kubeflow_pytorch:2x2", "lightning"),
    "tensorflow": Shape("tensorflow", "tf_config:2x1", "tensorflow", options=["--grace=3"],
                        runs_on=False),
    "jax": Shape("jax", "jax_job:2x1", "jax", options=["--link-grace=10"],
                 aborts=True),
}
OFTEN = {("torch", "before"), ("torch", "kill"), ("torchrun", "middle"), ("jax", "before"),
         ("tensorflow", "before")}


def seldom(name, what):
    if not ALL and (name, what) not in OFTEN:
        pytest.skip("it takes long: LINK=all runs it")


class Job:
    """A simulated job with files for what it says, and a mark on all of its processes."""

    def __init__(self, words, **env):
        self.mark = f"LINK_TEST={uuid.uuid4()}"
        self.files = [tempfile.TemporaryFile("w+", errors="replace") for _ in range(2)]
        name, value = self.mark.split("=")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [*ALONE, *words], env=clean_env(**ENV, **{name: value}, **env),
            stdin=subprocess.DEVNULL, stdout=self.files[0], stderr=self.files[1])

    def said(self, number):
        with open(f"/proc/self/fd/{self.files[number].fileno()}", encoding="utf-8",
                  errors="replace") as file:
            return file.read()

    @property
    def lines(self):
        """Of rankinit, without the warnings of the frameworks."""
        return [line.removeprefix("rankinit: ") for line in self.said(1).splitlines()
                if line.startswith("rankinit: ")]

    def until(self, pattern):
        """A line of rankinit that matches."""
        while not any(re.match(pattern, line) for line in self.lines):
            assert self.process.poll() is None and time.monotonic() < self.begun + BOUND, repr(self)
            time.sleep(0.1)

    def wait(self, seconds=BOUND):
        self.process.wait(timeout=seconds)
        return self

    def left(self):
        """Processes with the mark."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.mark.encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                pass
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        self.process.wait(60)

    @property
    def met(self):
        return sorted(map(int, re.findall(r"rank (\d+) has met the others", self.said(0))))

    @property
    def nodes(self):
        """The exit status of each node."""
        return [int(status) for status in
                re.findall(r"^rankinit: simulated: node \d: exit status (\d+)", self.said(1), re.M)]

    def named(self, pattern=r".* failed first"):
        """First lines of a verdict, whose ever."""
        return [line for line in self.lines
                if re.match(pattern, line) and not line.startswith("simulated:")]

    def __repr__(self):
        return self.said(0)[-3000:] + self.said(1)[-9000:]


@pytest.fixture
def start(python_with):
    """The program in a job of this shape."""
    jobs = []

    def run(shape, *words, fault="", link=True, options=(), **env):
        if link:
            env["RANKINIT_LINK_KEY"] = KEY
        command = [python_with(shape.module), *shape.words, LOOP, shape.loop, *words]
        if link:
            options = ["--link", *shape.options, *options]
        jobs.append(Job([PROGRAM, f"--simulate={shape.job}{fault}", *options, "--", *command],
                        **env))
        return jobs[-1]
    yield run
    for job in jobs:
        job.end()


def check(job, shape, status):
    """Both logs say the same of the same rank, and nobody was left behind."""
    named = job.named()
    assert len(named) == 2 and named[0] == named[1], repr(job)
    assert re.match(shape.culprit(), named[0]), repr(job)
    assert job.nodes == [122, status], repr(job)
    assert f"  this node's exit status is {status}" in job.lines, repr(job)
    assert "  this node's exit status is 122" in job.lines, repr(job)
    assert job.process.returncode == status and job.left() == [], repr(job)


@pytest.mark.parametrize("moment", ["before", "middle"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_rank_of_the_other_node_raises(start, name, moment):
    seldom(name, moment)
    shape = SHAPES[name]
    job = start(shape, moment).wait()
    check(job, shape, 134 if shape.aborts and moment == "middle" else 1)
    assert "bad batch 17" in "\n".join(job.lines), repr(job)
    assert job.met == ([] if moment == "before" else list(range(shape.ranks))), repr(job)


def kill(start, shape, **more):
    """The job whose last rank is killed at the first moment by which all of them had met."""
    for moment in MOMENTS:
        job = start(shape, "never", fault=f",kill={shape.ranks - 1}@{moment}", **more)
        job.wait(BOUND + moment)
        if job.met == list(range(shape.ranks)):
            return job
    return pytest.skip(f"NOT TESTED: the ranks have not met after {MOMENTS[-1]} seconds")


@pytest.mark.parametrize("name", SHAPES)
def test_a_rank_of_the_other_node_is_killed(start, name):
    seldom(name, "kill")
    shape = SHAPES[name]
    job = kill(start, shape)
    check(job, shape, 1 if shape.words else 137)    # torchrun's own, and the rank's
    assert "killed by SIGKILL" in job.named()[0], repr(job)


@pytest.mark.parametrize("name", SHAPES)
def test_a_node_that_never_comes(start, name):
    seldom(name, "absent")
    shape, fault = SHAPES[name], ",absent=1,stop=25"
    missing = r"waiting for 1 of 2 nodes for 10 s: node 1\b"
    job = start(shape, "never", fault=fault).wait()
    assert len(job.named(missing)) == 1 and job.named() == [], repr(job)
    assert job.met == [] and job.left() == [], repr(job)
    control = start(shape, "never", fault=fault, link=False).wait()
    assert control.named(missing) == [] and control.met == [], repr(control)


@pytest.mark.parametrize("moment", ["before", "middle"])
@pytest.mark.parametrize("name", SHAPES)
def test_without_the_link(start, name, moment):
    """The control: the log of node 0 does not name that rank, or node 0 runs on."""
    seldom(name, moment)
    shape = SHAPES[name]
    job = start(shape, moment, link=False)
    culprit = shape.culprit(" failed(?: first of ranks 2-3)?")
    job.until(culprit)
    if moment == "before" and shape.runs_on:
        time.sleep(5)
        assert job.process.poll() is None and job.left() != [], repr(job)
    job.end()
    assert len(job.named(culprit)) == 1, repr(job)
    assert 122 not in job.nodes, repr(job)


# A checkpoint on the healthy node.

def pieces(folder, rank):
    with open(os.path.join(folder, f"rank{rank}"), encoding="ascii") as file:
        return file.read().split()


@pytest.mark.parametrize("name", ["torch", "torchrun"])
def test_a_checkpoint_of_twenty_seconds(start, tmp_path, name):
    seldom(name, "checkpoint")
    shape = SHAPES[name]
    job = start(shape, "between", SAVE_S="20", SAVE_IN=str(tmp_path)).wait()
    check(job, shape, 1)
    for rank in (0, 1):
        assert pieces(tmp_path, rank)[-1] == "complete", repr(job)
    assert "a second SIGTERM" not in job.said(0), repr(job)


def test_a_checkpoint_that_takes_too_long(start, tmp_path):
    """The control: the time is that of --link-grace."""
    seldom("torch", "checkpoint")
    shape = SHAPES["torch"]
    job = start(shape, "between", options=["--link-grace=4"], SAVE_S="20", SAVE_IN=str(tmp_path))
    check(job.wait(), shape, 1)
    for rank in (0, 1):
        assert set(pieces(tmp_path, rank)) == {"piece"}, repr(job)


# Commands that may not be stopped.

@pytest.fixture
def start_nodes():
    """A rankinit for each row of its environment and its command, with one log."""
    jobs = []

    def run(rows, options=()):
        script = "trap 'kill $all' TERM; all=; "
        for node, (env, command) in enumerate(rows):
            words = shlex.join(["env", *(f"{name}={value}" for name, value in env.items()),
                                PROGRAM, "--link", *options, "--", *command])
            script += f"{words} & all=\"$all $!\"; p{node}=$!; "
        for node in range(len(rows)):
            script += f"wait $p{node}; wait $p{node}; echo node {node} ended with $?; "
        jobs.append(Job(["sh", "-c", script], RANKINIT_LINK_KEY=KEY))
        return jobs[-1]
    yield run
    for job in jobs:
        job.end()


def check_told(job, first):
    """The other nodes hear of it, and go on."""
    job.until(rf"node 1 \(.*\): {first}")
    time.sleep(3)
    assert job.process.poll() is None, repr(job)
    job.end()
    told = job.named(rf"node 1 \(.*\): {first}")
    assert len(set(told)) == 1, repr(job)
    assert 122 not in job.nodes and "status is 122" not in job.said(1), repr(job)


@pytest.mark.parametrize("words", [["--nnodes=1:2"], ["--max-restarts=1"]])
def test_an_elastic_torchrun_is_told(start, words):
    seldom("torchrun", "elastic")
    elastic = Shape("torch", "kubeflow_pytorch:2x2", "torch", [*TORCHRUN, *words])
    check_told(start(elastic, "before", options=["--grace=10"]),
               elastic.culprit() + "exit status 1")


def test_a_script_is_told(start_nodes, python_with):
    """In a container for each node: what a script starts, and how, only it knows."""
    seldom("torch", "script")
    line = f"{python_with('torch')} {LOOP} torch before; exit"
    rows = [({"RANKINIT_NNODES": "2", "RANKINIT_NODE_RANK": str(node),
              "RANKINIT_MASTER_ADDR": "127.0.0.1", "RANKINIT_MASTER_PORT": "29500"},
             ["sh", "-c", f"RANK={node} WORLD_SIZE=2 {line}"]) for node in range(2)]
    job = start_nodes(rows)
    check_told(job, r"sh \(.*\) failed first \(node 1 of 2\): exit status 1")
    assert "node 1 ended with 1" in job.said(0), repr(job)


def test_a_job_with_parameter_servers_is_told(start_nodes, python_with):
    """The chief waits for a worker that fails and may come again."""
    seldom("tensorflow", "servers")
    python = python_with("tensorflow")
    train = os.path.join(os.path.dirname(LOOP), "tensorflow_ps.py")
    cluster = {"chief": ["127.0.0.2:6000"], "worker": ["127.0.0.3:6001"], "ps": ["127.0.0.4:6002"]}
    rows = [({"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": task, "index": 0}})},
             [python, train]) for task in ("chief", "worker", "ps")]
    rows[1][1][1:] = ["-c", "import time; time.sleep(2); raise ValueError('bad batch 17')"]
    job = start_nodes(rows, ["--grace=5", "--master-addr=127.0.0.2", "--master-port=29500"])
    check_told(job, r"python \(.*\) failed first \(node 1 of 2\): exit status 1")
    assert "node 1 ended with 1" in job.said(0), repr(job)


# Healthy jobs.

@pytest.mark.parametrize("name", ["torch", "jax"])
def test_healthy_jobs_are_silent(start, name):
    shape = SHAPES[name]
    for _ in range(HEALTHY):
        job = start(Shape(shape.module, shape.job[:-1] + "1", shape.loop), "never", "10").wait()
        assert job.nodes == [0, 0] and job.process.returncode == 0, repr(job)
        assert job.met == [0, 1] and job.left() == [], repr(job)
        assert [line for line in job.lines if not line.startswith("simulated: ")] == [], repr(job)
