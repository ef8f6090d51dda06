# SPDX-License-Identifier: Apache-2.0
"""
--link beside other jobs: node 1 of one and node 0 of another, on one host and with one secret, as
two jobs are of which the other two nodes have not come yet. The one fails, and the other runs on.
"""

import pytest

from test_link_init import Nodes, nodes  # noqa: F401  a fixture

APART = "[link.apart]"
WAITS = "echo up >>@FOLDER/log; until [ -e @FOLDER/go ]; do sleep 0.05; done"
FAILS = "kill -9 $$"


def command(*words):
    """A program of that name, which runs its last word: see the fixture."""
    return ["torchrun", *words, "train.py"]


# The words of the command and the variables of each job: of what they differ in, there is one.
# test_link_part.c has each place where that may stand, and each way to write it.
JOBS = {
    "an endpoint": [(command(f"--rdzv-endpoint=127.0.0.1:700{job}"), {}) for job in (1, 2)],
    "an id as variable": [(command(), {"PET_RDZV_ID": job}) for job in ("one", "two")],
    "a port": [(["--nproc-per-node=1", f"--master-port=700{job}", "--", "sh", "-c"],
                {}) for job in (1, 2)],
    "an id of the platform":
        [(command(), {"SKYPILOT_TASK_ID": f"sky-{job}", "SKYPILOT_NODE_RANK": node,
                      "SKYPILOT_NODE_IPS": "127.0.0.1\n127.0.0.2", "SKYPILOT_NUM_NODES": "2",
                      "SKYPILOT_NUM_GPUS_PER_NODE": "1"}) for job, node in ((1, "1"), (2, "0"))],
}
# Nothing that is a job's own.
ALIKE = {
    "nothing": [(command(), {})] * 2,
    "one store": [(command("--rdzv-backend=etcd-v2", "--rdzv-endpoint=etcd:2379"), {})] * 2,
    "ranks of rankinit":
        [(["--nproc-per-node=1", "--", "sh", "-c"], {})] * 2,
}
NO_PORT = {"RANKINIT_MASTER_PORT": None}


@pytest.fixture
def torchrun(tmp_path):
    """Its folder for PATH."""
    tmp_path.chmod(0o755)
    path = tmp_path / "torchrun"
    path.write_text('#!/bin/sh\nfor last; do :; done\neval "$last"\n', encoding="ascii")
    path.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"}


def beside(nodes, torchrun, failing, running):
    """What node 1 of the first job says when it has failed, and what node 0 of the second does."""
    words, env = running
    other = nodes.start(0, *words, WAITS, env={**torchrun, **NO_PORT, **env})
    other.until("up")
    words, env = failing
    failed = nodes.run(1, *words, FAILS, env={**torchrun, **NO_PORT, **env})
    assert failed.status == 137, failed.err
    return failed, other


def go_on(job):
    """It does, to its own end."""
    with open(f"{job.folder}/go", "w", encoding="ascii"):
        pass
    return job.wait()


@pytest.fixture
def each(box, actor, at_once):
    """Call it for each of these, with a network of its own, all at once: most of it waits."""
    def in_its_network(function, what):
        made = Nodes(box, actor)
        try:
            function(made, what)
        finally:
            made.close()

    return lambda function, names: at_once(lambda what: in_its_network(function, what), names)


def test_another_job_stops_no_rank(each, torchrun):
    def attack(nodes, what):
        failed, other = beside(nodes, torchrun, *JOBS[what])
        result = go_on(other)
        assert result.status == 0, (what, result.err)
        assert "failed first" not in result.err and APART not in result.err + failed.err, what

    each(attack, JOBS)


def test_its_own_job_stops_them(each, torchrun):
    """The control."""
    def fail(nodes, what):
        words, env = JOBS[what][0]
        node0 = {name: "0" if name == "SKYPILOT_NODE_RANK" else value
                 for name, value in env.items()}
        _, same = beside(nodes, torchrun, (words, env), (words, node0))
        assert same.wait().status == 122, what

    each(fail, JOBS)


def test_jobs_that_are_alike_have_no_orders(each, torchrun):
    """The other one is told, and says why nobody is stopped; one line of that on each node."""
    def attack(nodes, what):
        failed, other = beside(nodes, torchrun, *ALIKE[what])
        result = go_on(other)
        assert result.status == 0, (what, result.err)
        for log in (failed.err, result.err):
            assert log.count(APART) == 1, (what, log)
        assert "the ranks of this node run on: another job on the same host may have the name " \
            "of this one" in result.err, what

    each(attack, ALIKE)


@pytest.mark.parametrize("words, stopped", [
    (["--nn", "1:4"], False), (["--max-restart=3"], False),
    (["--nn", "2"], True), (["--max-restart=0"], True)])
def test_an_elastic_job_by_words_that_are_cut_short(nodes, torchrun, words, stopped):
    """As torchrun's argparse allows: told, never stopped."""
    job = (command("--master-port=7001", *words), {})
    _, other = beside(nodes, torchrun, job, job)
    result = other.wait() if stopped else go_on(other)
    assert result.status == (122 if stopped else 0), result.err
    assert "(node 1 of 2): killed by SIGKILL" in result.err
