# SPDX-License-Identifier: Apache-2.0
"""
The compose files, each run as its first lines say, and what becomes of the
same job without rankinit.
"""

import glob
import json
import os
import re
import subprocess
import time
import uuid

import build
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = sorted(os.path.basename(path) for path in glob.glob(HERE + "/*.yml"))
LIMIT = 240  # seconds for one command
# docker's plugin, which is a program too
PLUGIN = os.path.join(build.OUT, "docker-compose")
VERSIONS = {"1": ["docker-compose"],
            "2": [PLUGIN] if os.path.exists(PLUGIN) else ["docker", "compose"]}
ENV = {**os.environ, "IMAGE_PREFIX": build.PREFIX, "VERSION": build.version()}


def run(words, **more):
    return subprocess.run(words, env=ENV, stdin=subprocess.DEVNULL, text=True, timeout=LIMIT,
                          **more)


def answers(version):
    try:
        done = run([*VERSIONS[version], "version", "--short"], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0 and re.match(rf"v?{version}\.", done.stdout) is not None


class Job:
    """One file's services, under a name of their own."""

    def __init__(self, file, version):
        project = f"{build.PREFIX}{uuid.uuid4().hex[:8]}"
        self.words = [*VERSIONS[version], "-p", project, "-f", os.path.join(HERE, file)]
        self.project = project

    def do(self, *words, check=True):
        done = run([*self.words, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0 or not check, done.stdout
        return done

    def alone(self, service, *words, options=()):
        """One container of a service, with other words: its status and what it printed."""
        done = self.do("run", "--rm", "-T", "--no-deps", *options, service, *words, check=False)
        return done.returncode, done.stdout

    def container(self, service):
        return self.do("ps", "-a", "-q", service).stdout.split()[-1]

    def wait(self, service):
        done = run(["docker", "wait", self.container(service)], capture_output=True)
        return int(done.stdout)

    def output(self, service):
        done = run(["docker", "logs", self.container(service)], stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)
        return done.stdout

    def until(self, service, text):
        end = time.monotonic() + LIMIT
        while text not in self.output(service):
            assert time.monotonic() < end, self.output(service)
            time.sleep(0.1)

    def results(self, *services):
        """What the ranks printed at their end."""
        text = "\n".join(self.output(service) for service in services)
        return sorted(re.findall(r"rank \d+ of \d+, local \d+, sum \d+", text))


# Both read the files and run one; the jobs take long, so one of them runs the others.
RUNNER = os.environ.get("COMPOSE_VERSION") or ("1" if answers("1") else "2")


@pytest.fixture
def job(engine):
    made = []

    def make(file, version=RUNNER):
        if not answers(version):
            pytest.skip(f"version {version} of compose is not installed")
        made.append(Job(file, version))
        return made[-1]

    yield make
    for each in made:
        run([*each.words, "down", "-v", "-t", "1", "--remove-orphans"], capture_output=True)


def ranks(count, local=2):
    total = int("1" * count)
    return [f"rank {rank} of {count}, local {rank % local}, sum {total}" for rank in range(count)]


# --- the files -------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", FILES)
def test_syntax(file, version):
    if not answers(version):
        pytest.skip(f"version {version} of compose is not installed")
    done = run([*VERSIONS[version], "-f", os.path.join(HERE, file), "config"], capture_output=True)
    assert done.returncode == 0 and "services:" in done.stdout, done.stderr
    assert "obsolete" not in done.stderr and "unsupported" not in done.stderr


@pytest.mark.parametrize("file", FILES)
def test_nodes_are_all_alike(file):
    """Nothing that tells one node from another is written by hand."""
    with open(os.path.join(HERE, file), encoding="utf-8") as text:
        lines = [line for line in text if not line.lstrip().startswith("#")]
    by_hand = r"NODE_RANK|MASTER_ADDR|TF_CONFIG|\bRANK\b|WORLD_SIZE|node.rank|--rank|task"
    assert [line for line in lines if re.search(by_hand, line.replace("AZ_BATCH_MASTER_NODE", ""))
            ] == []


def test_each_file_is_tested_and_listed():
    with open(os.path.abspath(__file__), encoding="utf-8") as text:
        tested = set(re.findall(r'job\("([^"]+)"[,)]', text.read()))
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as text:
        listed = set(re.findall(r"\[([a-z-]+\.yml)\]", text.read()))
    assert tested == listed == set(FILES)


# --- jobs that end well ------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_torch_per_process(job, version):
    it = job("torch-per-process.yml", version)
    it.do("up", "-d")
    assert [it.wait(node) for node in ("node-0", "node-1")] == [0, 0]
    assert it.results("node-0", "node-1") == ranks(4)
    assert it.results("node-1") == ranks(4)[2:]
    status, text = it.alone("node-0", "/train/torch_ddp.py", options=["--entrypoint", "python"])
    assert status == 1 and "environment variable RANK expected" in text


def test_torch_per_node(job):
    it = job("torch-per-node.yml")
    it.do("up", "-d")
    assert [it.wait(node) for node in ("node-0", "node-1")] == [0, 0]
    assert it.results("node-0", "node-1") == ranks(4)
    status, text = it.alone("node-1", "--nproc-per-node=2", "/train/torch_ddp.py",
                            options=["--entrypoint", "torchrun"])
    assert status == 0 and len(re.findall(r"rank [01] of 2, local [01], sum 11(?!\d)", text)) == 2


def test_mpi(job):
    it = job("mpi.yml")
    it.do("up", "-d")
    assert it.wait("node-0") == 0, it.output("node-0")
    assert it.results("node-0") == ranks(4)
    # what the ranks of the second node are started in, and what is in process 1
    mpirun = ["mpirun", "--host", "node-1:1"]
    status, text = it.alone("node-0", *mpirun, "sh", "-c", 'echo "<$AZ_BATCH_MASTER_NODE>"')
    assert status == 0 and "<>" in text
    status, text = it.alone("node-0", *mpirun, "rankinit", "sh", "-c", 'echo "<$MASTER_ADDR>"')
    assert status == 0 and "<node-0>" in text
    status, text = it.alone("node-0", *mpirun, "python", "/train/torch_ddp.py")
    assert status != 0 and "environment variable RANK expected" in text
    # why a rank of the second node failed is in mpirun's log; process 1 in front of mpirun agrees
    fails = "import os, time; os.environ['RANK'] == '1' and 1 / 0; time.sleep(60)"
    status, text = it.alone("node-0", "mpirun", "--oversubscribe", "--host", "node-1:2", "rankinit",
                            "python", "-c", fails)
    verdicts = re.findall(r"^rankinit: verdict (.*?) (?:node=\d+ )?host=(\S+) ", text, re.M)
    assert status == 1 and verdicts == [
        ("cause=exception class=own retry=never rank=1", "node-1"),
        ("cause=exception class=own retry=never rank=1", "node-0")], text
    assert "rankinit:   ZeroDivisionError: division by zero\n" in text


def test_tensorflow_workers(job):
    it = job("tensorflow-workers.yml")
    it.do("up", "-d")
    assert [it.wait(node) for node in ("node-0", "node-1")] == [0, 0]
    assert it.results("node-0", "node-1") == ranks(2, local=1)
    status, text = it.alone("node-1", "/train/tensorflow_mwms.py",
                            options=["--entrypoint", "python"])
    assert status == 0 and "rank 0 of 1, local 0, sum 1\n" in text


def test_tensorflow_ps(job):
    it = job("tensorflow-ps.yml")
    it.do("up", "-d")
    assert it.wait("node-0") == 0, it.output("node-0")
    assert it.results("node-0", "node-1", "node-2") == ranks(1)
    said = {}
    for node in ("node-0", "node-1", "node-2"):
        _, text = it.alone(node, "sh", "-c", 'echo "$TF_CONFIG"')
        config = json.loads(re.search(r"^\{.*\}$", text, re.M).group(0))
        said[config["task"]["type"]] = config["cluster"]
    assert list(said) == ["chief", "worker", "ps"]
    assert said["ps"] == said["chief"] == {"chief": ["node-0:2222"], "worker": ["node-1:2222"],
                                           "ps": ["node-2:2222"]}
    status, text = it.alone("node-0", "/train/tensorflow_ps.py",
                            options=["--entrypoint", "python"])
    assert status == 1 and "TF_CONFIG names no cluster" in text


# --- jobs that do not ----------------------------------------------------------------


def test_unfit_node(job):
    it = job("unfit-node.yml")
    it.do("up", "-d")
    assert it.wait("node-1") == 123
    text = it.output("node-1")
    assert "rankinit: error: /dev/shm: has 64 MiB" in text
    assert "[shm.size.small]" in text or "[check.unfit]" in text
    it.do("stop", "-t", "20")
    assert it.wait("node-0") == 143 and "[check.unfit]" not in it.output("node-0")
    # it is this requirement that it fails by
    status, _ = it.alone("node-1", "true", options=["-e", "RANKINIT_REQUIRE="])
    assert status == 0


def train(it):
    it.do("up", "-d", "node-0", "node-1")
    for node, rank in (("node-0", 0), ("node-0", 1), ("node-1", 2), ("node-1", 3)):
        it.until(node, f"rank {rank} of 4 trains")
    return it


@pytest.mark.parametrize("seconds,status", [(30, 0), (2, 137)])
def test_stop(job, seconds, status):
    """The checkpoint takes 5 s: less time than that, and it is lost."""
    it = train(job("faults.yml"))
    it.do("stop", "-t", str(seconds))
    for node, rank in (("node-0", 0), ("node-1", 2)):
        assert it.wait(node) == status
        assert (f"rank {rank} wrote its checkpoint" in it.output(node)) == (status == 0)


def test_a_node_is_killed(job):
    it = train(job("faults.yml"))
    it.do("kill", "node-1")
    assert it.wait("node-1") == 137 and it.wait("node-0") == 1
    text = it.output("node-0")
    assert re.search(r"rankinit: (rank [01]|ranks 0-1) lost a peer on another node "
                     r"\(node 0 of 2\); a rank there went first", text)
    assert "rankinit:   RuntimeError: " in text and "by peer" in text
    assert "failed first" not in text and "rankinit:   this node's exit status is 1" in text


def kill_a_rank(it):
    find = "grep -lz '^RANK=3$' /proc/[0-9]*/environ | head -1 | cut -d/ -f3"
    run(["docker", "exec", it.container("node-1"), "bash", "-c", f"kill -9 $({find})"], check=True)


def test_a_rank_is_killed(job):
    it = train(job("faults.yml"))
    kill_a_rank(it)
    assert it.wait("node-1") == 137 and it.wait("node-0") == 1
    text = it.output("node-1")
    assert re.search(r"rankinit: rank 3 \(local rank 1, .* on node-1\) failed first of ranks 2-3 "
                     r"\(node 1 of 2\): killed by SIGKILL \(9\)", text)
    assert "out of memory" not in text


def test_a_rank_is_killed_and_all_nodes_are_told(job, monkeypatch):
    """With --link: one line in both logs, and a status of its own for the node that is healthy."""
    monkeypatch.setitem(ENV, "LINK_KEY", "d08fbc5a150028b59a73c7852451d26f")
    it = train(job("link.yml"))
    kill_a_rank(it)
    assert it.wait("node-1") == 137 and it.wait("node-0") == 122
    # a machine that takes long to import torch says before that nodes have not met yet
    first = [re.findall(r"^rankinit: (rank .*)$", it.output(node), re.M)[0]
             for node in ("node-0", "node-1")]
    assert first[0] == first[1]
    assert re.match(r"rank 3 \(local rank 1, .* on node-1\) failed first \(node 1 of 2\): "
                    r"killed by SIGKILL \(9\)", first[0])
    for rank, node in ((0, "node-0"), (1, "node-0"), (2, "node-1")):
        assert re.search(rf"rankinit:   (rank|ranks) .*\b({rank}|0-1)\b.*: .*told to stop",
                         it.output(node))


def test_the_network_is_cut(job):
    it = train(job("faults.yml"))
    network = f"{it.project}_default"
    run(["docker", "network", "disconnect", network, it.container("node-1")], check=True)
    assert it.wait("node-0") == 1 and it.wait("node-1") == 1
    text = it.output("node-0")
    assert re.search(r"rankinit: (rank [01]|ranks 0-1) timed out waiting for a peer on another "
                     r"node \(node 0 of 2\)", text)
    assert re.search(r"rankinit: +RuntimeError: .*Timed out", text)


def test_out_of_memory(job):
    it = job("faults.yml")
    status, text = it.alone("leak")
    assert status == 137
    assert re.search(r"rankinit: rank 1 \(.*\) failed first: killed by SIGKILL \(9\): out of "
                     r"memory", text)
