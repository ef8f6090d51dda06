# SPDX-License-Identifier: Apache-2.0
"""
--autopsy PID: which processes are the ranks, and whom a job that moves has for a suspect: nobody.
"""

import json
import os
import subprocess
import sys

import pytest

import everybody
from box import BASE, HERE
from peek import PATIENCE, wait_until

# Each rank writes a byte into a pipe of its own that rank 0's thread reads, and waits for one.
COLLECTIVES = """
import os
import threading
rank, folder = int(os.environ["STEPS_RANK"]), os.path.dirname(os.path.abspath(__file__))
def path(kind, one):
    return f"{folder}/{kind}.{one}"
def serve():
    come = [os.open(path("come", one), os.O_RDWR) for one in range(4)]
    go = [os.open(path("go", one), os.O_RDWR) for one in range(4)]
    while True:
        for one in come:
            os.read(one, 1)
        for one in go:
            os.write(one, b"x")
if rank == 0:
    threading.Thread(target=serve, daemon=True).start()
mine = os.open(path("come", rank), os.O_RDWR), os.open(path("go", rank), os.O_RDWR)
def barrier():
    os.write(mine[0], b"x")
    os.read(mine[1], 1)
"""
PYTHON = [sys.executable, "-I", "-S"]
RANKS, VICTIM = 4, 2
# What mpirun does: it starts them with their variables.
MPIRUN = ["sh", "-c", 'for rank in 0 1 2 3; do OMPI_COMM_WORLD_RANK=$rank "$@" & done; wait', "sh"]


@pytest.fixture
def start(box, tmp_path):
    made = tmp_path / "site-packages" / "torch" / "distributed"
    made.mkdir(parents=True)
    (made / "distributed_c10d.py").write_text(COLLECTIVES)
    for rank in range(RANKS):
        os.mkfifo(made / f"come.{rank}")
        os.mkfifo(made / f"go.{rank}")
    program = everybody.copy(os.path.join(HERE, "steps.py"))

    def start(deed, *options, before=(), **more):
        job = box.start("--checks=none", *(options or [f"--nproc-per-node={RANKS}"]), "--",
                        *before, *PYTHON, program, tmp_path, deed, **more)
        wait_until(lambda: job.read("out").count(b"steps") == RANKS, job.error_text())
        return job
    return start


def ask(rankinit, pid, word="--autopsy=json"):
    return subprocess.run([rankinit, word, str(pid)], env=BASE, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE, check=True, text=True).stdout


def look(rankinit, job):
    return json.loads(ask(rankinit, job.pid))


def suspect(rankinit, job):
    return wait_until(lambda: look(rankinit, job)["suspect"], job.error_text())


def ranks_of(autopsy):
    return sorted(one["rank"] for one in autopsy["processes"] if one["is_rank"])


def test_nobody_is_suspected_of_a_job_that_moves(start, rankinit):
    """Each look finds most ranks where the one before found them."""
    job = start("move")
    for _ in range(5):
        autopsy = look(rankinit, job)
        assert autopsy["suspect"] is None
        assert ranks_of(autopsy) == list(range(RANKS))


def test_the_control_does_not_move(start, rankinit):
    job = start("hang")
    found = suspect(rankinit, job)
    assert (found["rank"], found["class"]) == (VICTIM, "sleeps")


def test_the_time_on_a_cpu_is_known(start, rankinit):
    job = start("hang")
    assert all(one["cpu_ms"] is not None for one in look(rankinit, job)["processes"])


def test_a_daemon_is_no_rank(start, rankinit):
    job = start("daemon")
    assert suspect(rankinit, job)["rank"] == VICTIM
    autopsy = look(rankinit, job)
    assert ranks_of(autopsy) == list(range(RANKS))
    assert 0 in [one["rank"] for one in autopsy["processes"] if not one["is_rank"]]


def test_what_a_rank_below_mpirun_starts_is_no_rank(start, rankinit):
    job = start("variables", "--source=none", before=MPIRUN)
    assert suspect(rankinit, job)["rank"] == VICTIM
    autopsy = look(rankinit, job)
    assert ranks_of(autopsy) == list(range(RANKS))
    below = [one["rank"] for one in autopsy["processes"] if not one["is_rank"]]
    assert sorted(rank for rank in below if rank is not None) == list(range(RANKS))


# The ranks of a launcher that lets one end, as torchrun does for a while.
LAUNCHER = ["sh", "-c", 'for rank in 0 1 2 3; do RANK=$rank LOCAL_RANK=$rank LOCAL_WORLD_SIZE=4 '
            '"$@" & done; wait', "sh"]


def test_a_rank_that_has_ended(start, rankinit):
    job = start("leave", "--source=none", before=LAUNCHER)
    wait_until(lambda: look(rankinit, job)["ended"] == [VICTIM], job.error_text())
    autopsy = look(rankinit, job)
    assert (autopsy["suspect"], ranks_of(autopsy)) == (None, [0, 1, 3])
    lines = ask(rankinit, job.pid, "--autopsy").splitlines()
    assert lines[0] == f"rank {VICTIM} has ended; the others wait for the other ranks"


def test_nobody_has_ended_where_all_are_there(start, rankinit):
    job = start("hang", "--source=none", before=LAUNCHER)
    assert suspect(rankinit, job)["rank"] == VICTIM
    autopsy = look(rankinit, job)
    assert autopsy["ended"] == []
    one = next(each["pid"] for each in autopsy["processes"] if each["is_rank"])
    assert json.loads(ask(rankinit, one))["ended"] == []


def test_ranks_with_a_large_environment(start, rankinit):
    """That of a container in a large cluster has variables for each service."""
    services = {f"SERVICE_{number}_HOST": "x" * 500 for number in range(800)}
    job = start("hang", env={**BASE, **services})
    assert suspect(rankinit, job)["rank"] == VICTIM
    assert ranks_of(look(rankinit, job)) == list(range(RANKS))
