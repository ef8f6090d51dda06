# SPDX-License-Identifier: Apache-2.0
"""
mpirun starts rankinit, which starts a launcher named torchrun, which starts
two children that call MPI_Init. With the MPI identity of their grandparent
they wait for it for ever; without it each is a world of its own.

The launcher is a stand-in: it starts its children and waits, as torchrun
does, and needs no torch.
"""
import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKINIT = os.environ.get("RANKINIT", os.path.join(TOP, "build", "rankinit"))
PYTHON = "/usr/bin/python3"
HANGS = 20      # seconds after which a job counts as hanging

LAUNCHER = """\
#!%(python)s
import os, subprocess, sys
children = [subprocess.Popen([%(python)r, %(child)r]) for _ in range(2)]
with open(%(pids)r, "a") as pids:
    print(os.getpid(), *(child.pid for child in children), file=pids)
sys.exit(max(child.wait() for child in children))
"""

CHILD = """\
import json, os
from mpi4py import MPI      # calls MPI_Init
line = json.dumps({"size": MPI.COMM_WORLD.Get_size(), "mark": os.environ.get("RANKINIT")})
with open(%(out)r, "a") as out:
    out.write(line + chr(10))
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun"),
    pytest.mark.skipif(subprocess.run([PYTHON, "-c", "import mpi4py"], check=False,
                                      capture_output=True).returncode != 0,
                       reason="there is no mpi4py (Debian: python3-mpi4py)"),
]


class Job:
    """A launcher in a folder of its own, to be started by mpirun."""

    def __init__(self, folder):
        self.folder = folder
        self.out = folder / "out"
        self.pids = folder / "pids"
        words = {"python": PYTHON, "child": str(folder / "child.py"), "out": str(self.out),
                 "pids": str(self.pids)}
        (folder / "child.py").write_text(CHILD % words)
        self.launcher = folder / "torchrun"
        self.launcher.write_text(LAUNCHER % words)
        self.launcher.chmod(self.launcher.stat().st_mode | stat.S_IXUSR)

    def run(self, *options, ranks=1, command=("torchrun", "train.py"), patience=HANGS):
        """(exit status or None where it hangs, stderr)."""
        env = {"PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": str(self.folder),
               "TMPDIR": str(self.folder), "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,tcp"}
        with open(self.folder / "stderr", "w+b") as stderr:
            job = subprocess.Popen(
                ["mpirun", "--oversubscribe", "-np", str(ranks), RANKINIT, *options, "--",
                 *command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=stderr)
            try:
                status = job.wait(patience)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.end(job)
            stderr.seek(0)
            return status, stderr.read().decode(errors="replace")

    def end(self, job):
        """Nothing that was started here outlives the test."""
        started = self.pids.read_text().split() if self.pids.exists() else []
        for pid in [int(word) for word in started] + [job.pid]:
            if pid == job.pid and job.poll() is not None or not self.is_ours(pid):
                continue
            os.kill(pid, signal.SIGKILL)
        job.wait(10)

    def is_ours(self, pid):
        """Does this process run for this test: is our folder in its environment?"""
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                return os.fsencode(str(self.folder)) in environ.read()
        except OSError:
            return False

    def worlds(self):
        if not self.out.exists():
            return []
        return [json.loads(line) for line in self.out.read_text().splitlines()]


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


def test_children_of_a_launcher_can_use_mpi(job):
    status, stderr = job.run()
    assert (status, [world["size"] for world in job.worlds()]) == (0, [1, 1]), stderr
    assert all(world["mark"].endswith(":node") for world in job.worlds())


def test_the_control_fails_without_the_scrub(job):
    """As a process the launcher hands its own identity on: no world comes up."""
    status, stderr = job.run("--launch=process", patience=HANGS / 2)
    # it hangs, or Open MPI notices and aborts the job
    assert status is None or status != 0, (status, stderr)
    assert len(job.worlds()) < 2, job.worlds()


def test_a_launcher_per_rank_is_refused(job):
    status, stderr = job.run(ranks=2)
    assert status == 125, stderr
    assert "[launch.ranks]" in stderr
    assert job.worlds() == []


def test_standalone_launchers_may_be_many(job):
    status, stderr = job.run(ranks=2, command=("torchrun", "--standalone", "train.py"))
    assert (status, [world["size"] for world in job.worlds()]) == (0, [1] * 4), stderr


def test_arguments_are_expanded_for_each_rank(job):
    script = f'printf "%s\\n" "$@" >>{job.out}.$OMPI_COMM_WORLD_RANK'
    status, stderr = job.run(ranks=2, command=(
        "sh", "-c", script, "$RANK", "--local_rank", "$LOCAL_RANK", "--size=${WORLD_SIZE}",
        "x$RANK", "$HOME"))
    assert status == 0, stderr
    for rank in range(2):
        words = (job.folder / f"out.{rank}").read_text().splitlines()
        assert words == ["--local_rank", str(rank), "--size=2", "x$RANK", "$HOME"]


def test_nothing_is_expanded_when_off(job):
    status, stderr = job.run("--expand=off", command=("sh", "-c", f'echo "$0" >>{job.out}.0',
                                                      "$RANK"))
    assert status == 0, stderr
    assert (job.folder / "out.0").read_text() == "$RANK\n"


def test_a_launcher_of_jobs_gets_nothing(job):
    """mpirun's own name, so that its ranks do not inherit what is one rank's."""
    (job.folder / "mpiexec").write_text(f"#!/bin/sh\nenv >{job.out}.env\n")
    (job.folder / "mpiexec").chmod(0o755)
    status, stderr = job.run(command=("mpiexec", "-np", "2", "x"))
    assert status == 0, stderr
    names = {line.split("=")[0] for line in (job.folder / "out.env").read_text().splitlines()}
    assert not names & {"RANK", "NODE_RANK", "MASTER_ADDR", "RANKINIT", "PET_NNODES"}
    assert "OMPI_COMM_WORLD_RANK" in names


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
