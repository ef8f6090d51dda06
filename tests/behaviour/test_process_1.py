# SPDX-License-Identifier: Apache-2.0
"""
A rank that came over ssh lacks what its container was given, and asks process
1 of the container: if /proc shows it, and not after `unshare --pid` without a
new mount, where it shows strangers.
"""

import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build/rankinit")))
BASE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
MASTER = {"AZ_BATCH_MASTER_NODE": "10.0.0.4:6000"}
RANK = ["OMPI_COMM_WORLD_RANK=13", "OMPI_COMM_WORLD_SIZE=16",
        "OMPI_COMM_WORLD_LOCAL_RANK=5", "OMPI_COMM_WORLD_LOCAL_SIZE=8"]
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]

pytestmark = pytest.mark.skipif(
    shutil.which("unshare") is None or
    subprocess.run(UNSHARE + ["--mount-proc", "true"], capture_output=True,
                   check=False).returncode != 0,
    reason="no PID namespaces here")


def ask(namespace, environment):
    """What a rank would be given below a shell that is process 1."""
    rank = ["env", "-i", *RANK, PROGRAM, "--print-env=dotenv", "--", "true"]
    # the shell stays: a command follows
    done = subprocess.run(namespace + ["sh", "-c", '"$@"; exit $?', "sh", *rank],
                          env={**BASE, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def test_the_master_of_the_container_is_found():
    given = ask(UNSHARE + ["--mount-proc"], MASTER)
    assert given["MASTER_ADDR"] == "10.0.0.4"
    assert given["MASTER_PORT"] == "6105"
    assert given["RANK"] == "13"


def test_who_process_1_is_is_not():
    given = ask(UNSHARE + ["--mount-proc"],
                {**MASTER, "RANK": "1", "WORLD_SIZE": "32", "LOCAL_RANK": "1", "NODE_RANK": "9"})
    assert given["MASTER_ADDR"] == "10.0.0.4"
    assert given["RANK"] == "13"
    assert given["NODE_RANK"] == "1"


def test_strangers_are_not_asked():
    # /proc is the outer one, where process 1 is none of ours
    given = ask(UNSHARE, MASTER)
    assert given["RANK"] == "13"
    assert "MASTER_ADDR" not in given
