# SPDX-License-Identifier: Apache-2.0
"""mpirun of Open MPI 5 beside variables of Open MPI 4's runtime."""

import json
import subprocess

import pytest

from box import BASE

OLD = "OMPI_MCA_orte_default_hostfile"
MPIRUN = ["mpirun", "-np", "3", "python3", "train.py"]


@pytest.fixture(name="findings")
def fixture_findings(rankinit, tmp_path):
    """The findings of an image that has these programs in /usr/bin."""
    def find(programs, variables, command):
        (tmp_path / "usr/bin").mkdir(parents=True)
        for name in programs:
            (tmp_path / "usr/bin" / name).write_text("#!/bin/sh\n")
            (tmp_path / "usr/bin" / name).chmod(0o755)
        done = subprocess.run([rankinit, f"--root={tmp_path}", "--explain=json", "--", *command],
                              env={**BASE, "PATH": "/usr/bin", **variables},
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return [(one["severity"], one["code"], one["subject"])
                for one in json.loads(done.stdout)["findings"]]
    return find


@pytest.mark.parametrize("command", [MPIRUN, ["/usr/bin/mpirun", "train"],
                                     ["nice", "mpiexec", "-n", "3", "train"]])
def test_a_host_file_that_is_not_read(findings, command):
    """As an operator of Kubernetes sets it for any Open MPI."""
    assert findings(["mpirun", "mpiexec", "prterun"], {OLD: "/etc/mpi/hostfile"}, command) == \
        [("warning", "launch.orte", OLD)]


@pytest.mark.parametrize("programs, variables, command", [
    (["mpirun", "orterun"], {OLD: "/h"}, MPIRUN),
    # PRRTE of a distribution beside Open MPI 4
    (["mpirun", "orterun", "prterun"], {OLD: "/h"}, MPIRUN),
    (["prterun"], {OLD: "/h"}, MPIRUN),
    (["mpirun", "prterun"], {}, MPIRUN),
    (["mpirun", "prterun"], {OLD: "/h", "PRTE_MCA_prte_default_hostfile": "/h"}, MPIRUN),
    (["mpirun", "prterun"], {OLD: "/h"}, ["mpirun", "--hostfile", "/h", "train"]),
    (["mpirun", "prterun"], {OLD: "/h"}, ["mpirun", "-H", "a,b", "train"]),
    (["mpirun", "prterun"], {OLD: "/h"}, ["python3", "train.py"]),
    (["mpirun", "prterun", "srun"], {OLD: "/h"}, ["srun", "train"]),
])
def test_one_that_is_read_or_not_needed(findings, programs, variables, command):
    assert findings(programs, variables, command) == []
