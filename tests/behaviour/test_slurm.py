# SPDX-License-Identifier: Apache-2.0
"""
A real Slurm on this machine, in namespaces of its own (cluster.sh): its steps
name their ranks, its signals reach the command once.
"""

import json
import os
import shutil
import signal
import sys
import time

import pytest

from cluster import HERE, make_cluster
from hosts import PATH, TOP

RANKINIT = os.environ.get("RANKINIT", os.path.join(TOP, "build", "rankinit"))
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR",
         "MASTER_PORT")
SHOW = "echo $SLURMD_NODENAME " + " ".join(f"${{{name}:--}}" for name in NAMES)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = make_cluster(tmp_path_factory.mktemp("slurm"), 3, "linuxproc")
    yield made
    made.close()


def rows_of(text):
    rows = [dict(zip(("host", *NAMES), line.split())) for line in text.splitlines()]
    return sorted(rows, key=lambda row: int(row["RANK"]))


def places(rows):
    return [(row["host"], row["NODE_RANK"], row["LOCAL_RANK"]) for row in rows]


SHAPES = {
    "block": (["-w", "n[0-1]", "-N2", "-n4", "--ntasks-per-node=2"],
              [("n0", "0", "0"), ("n0", "0", "1"), ("n1", "1", "0"), ("n1", "1", "1")]),
    "cyclic": (["-N3", "-n6", "--ntasks-per-node=2", "--distribution=cyclic"],
               [("n0", "0", "0"), ("n1", "1", "0"), ("n2", "2", "0"),
                ("n0", "0", "1"), ("n1", "1", "1"), ("n2", "2", "1")]),
    "uneven": (["-w", "n[0-1]", "-N2", "-n3", "--distribution=block"],
               [("n0", "0", "0"), ("n0", "0", "1"), ("n1", "1", "0")]),
    "one-node": (["-w", "n0", "-N1", "-n2"], [("n0", "0", "0"), ("n0", "0", "1")]),
    "other-nodes": (["-w", "n[1-2]", "-N2", "-n2"], [("n1", "0", "0"), ("n2", "1", "0")]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_names_its_ranks(cluster, shape):
    options, wanted = SHAPES[shape]
    rows = rows_of(cluster.run("srun", *options, RANKINIT, "--", "sh", "-c", SHOW))
    assert places(rows) == wanted
    assert {row["MASTER_ADDR"] for row in rows} <= {wanted[0][0], "127.0.0.1"}
    assert len({row["MASTER_PORT"] for row in rows}) == 1
    for row in rows:
        assert int(row["WORLD_SIZE"]) == len(wanted)
        assert int(row["LOCAL_WORLD_SIZE"]) == sum(row["host"] == other[0] for other in wanted)


def test_a_subset_of_the_job_has_its_own_master(cluster):
    """The job's first node is no part of the step."""
    script = f"srun -w n1,n2 -N2 -n2 {RANKINIT} -- sh -c '{SHOW}'"
    rows = rows_of(cluster.run("salloc", "-Q", "-N3", "-n3", "sh", "-c", script))
    assert {row["MASTER_ADDR"] for row in rows} == {"n1"}


def test_a_batch_script_is_no_rank(cluster):
    """It runs once, on the first node, with the size of the whole job around it."""
    said = json.loads(cluster.run("salloc", "-Q", "-N2", "-n4", RANKINIT, "--explain=json",
                                  "--", "true"))
    assert said["identity"] is None
    assert said["ranks"][0]["set"] == {}


def test_mpirun_inside_a_job_counts_its_own_ranks(cluster):
    """Its daemons are the step's tasks, so Slurm's numbers are theirs."""
    mpirun = shutil.which("mpirun.openmpi", path=PATH)
    if mpirun is None:
        pytest.skip("Open MPI's mpirun is not installed")
    words = f"{mpirun} --allow-run-as-root --oversubscribe -np 4 --map-by ppr:2:node {RANKINIT}"
    rows = rows_of(cluster.run("salloc", "-Q", "-N2", "-n4", "--ntasks-per-node=2", "sh", "-c",
                               f"{words} -- sh -c '{SHOW}'",
                               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    assert [row["RANK"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["LOCAL_RANK"] for row in rows] == ["0", "1", "0", "1"]
    assert [row["NODE_RANK"] for row in rows] == ["0", "0", "1", "1"]


@pytest.fixture(scope="module", params=["linuxproc", "cgroup", "pgid"])
def tracked(request, tmp_path_factory):
    """A node whose signals go to all processes, to the tasks alone, to their groups."""
    made = make_cluster(tmp_path_factory.mktemp(request.param), 1, request.param)
    yield made
    made.close()


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def start_step(tracked, folder, *options, name):
    step = tracked.start("srun", "-N1", "-n1", "--job-name", name, RANKINIT, *options, "--",
                         sys.executable, os.path.join(HERE, "payload.py"), str(folder), "rank")
    until(lambda: "rank ready" in read_log(folder) or step.poll() is not None)
    assert step.poll() is None, step.stderr.read()
    return step


def read_log(folder):
    try:
        with open(f"{folder}/log", encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""


SUPERVISED = pytest.mark.parametrize("options", [[], ["--supervise=always"]],
                                     ids=["in-place", "supervised"])


@SUPERVISED
def test_a_signal_of_the_step_is_delivered_once(tracked, tmp_path, options):
    step = start_step(tracked, tmp_path, *options, name="once")
    # the kernel queues this one, so that a second one would be seen
    tracked.run("scancel", f"--signal={int(signal.SIGRTMAX)}", "--name=once")
    until(lambda: "rank SIGRTMAX" in read_log(tmp_path))
    time.sleep(0.3)
    assert read_log(tmp_path).count("rank SIGRTMAX") == 1
    tracked.run("scancel", "--name=once")
    step.communicate(timeout=40)
    assert read_log(tmp_path).count("rank SIGTERM") == 1
    assert os.path.exists(tmp_path / "rank.ckpt")


@SUPERVISED
def test_a_signal_from_elsewhere_is_forwarded(tracked, tmp_path, options):
    """What Slurm did not send is no business of its rules."""
    step = start_step(tracked, tmp_path, *options, name="other")
    pids = tracked.run("pgrep", "-x", "rankinit" if options else "python3").split()
    tracked.run("kill", f"-{int(signal.SIGUSR2)}", pids[0])
    time.sleep(0.5)
    tracked.run("scancel", "--name=other")
    step.communicate(timeout=40)
    assert read_log(tmp_path).count("rank SIGUSR2") == 1
