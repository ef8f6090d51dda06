# SPDX-License-Identifier: Apache-2.0
"""
Real mpirun and mpiexec.hydra over several hosts, which are UTS and network
namespaces of this machine: every rank must find the index of the node that it really is on.
"""

import os
import shlex
import shutil
import subprocess
import tempfile

import pytest

from hosts import AGENT, PATH, TOP, Hosts

RANKINIT = os.environ.get("RANKINIT", os.path.join(TOP, "build", "rankinit"))
NAMES = ("RANK", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
SHOW = "echo $(uname -n) " + " ".join(f"${{{name}:--}}" for name in NAMES)


@pytest.fixture(scope="module")
def network():
    made = Hosts(3)
    yield made
    made.close()


def launch(network, np, *words, **env):
    """
    Run a launcher on host node0; a row of values for each of np ranks, by rank. None ends before
    all have begun: MPICH's launcher may write to a proxy whose ranks are gone, and dies of that.
    Open MPI's daemons have a folder by the host's name, which one that ends takes from another.
    """
    with tempfile.TemporaryDirectory() as room:
        meet = f"touch {room}/begun.$RANK; until [ $(ls {room} | grep -c begun) -ge {np} ]; " \
            "do sleep 0.02; done"
        command = shlex.join([*words, RANKINIT, "--", "sh", "-c", f"{SHOW}; {meet}"])
        done = subprocess.run([AGENT, "node0", command], stdin=subprocess.DEVNULL,
                              env={"PATH": PATH, "HOME": "/root", "TMPDIR": room,
                                   "OMPI_MCA_orte_tmpdir_base": room, **network.env, **env},
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return sorted((dict(zip(("host", *NAMES), row)) for row in rows),
                  key=lambda row: int(row["RANK"]))


def mpirun(network, np, hosts, *options, **env):
    program = shutil.which("mpirun.openmpi", path=PATH)
    if program is None:
        pytest.skip("Open MPI's mpirun is not installed")
    return launch(network, np, program, "--allow-run-as-root", "--oversubscribe", "-np", str(np),
                  "--host", hosts, "--mca", "plm_rsh_agent", AGENT, *options, **env)


def hydra(network, np, hosts, *options, **env):
    program = shutil.which("mpiexec.hydra", path=PATH)
    if program is None:
        pytest.skip("MPICH's mpiexec.hydra is not installed")
    return launch(network, np, program, "-n", str(np), "-hosts", hosts, "-launcher", "ssh",
                  "-launcher-exec", AGENT, *options, **env)


def nodes(rows):
    """Hosts in the order in which their daemons were started, that is by name."""
    return sorted({row["host"] for row in rows})


def can_bind(network, host, address):
    """Can a process on that host listen at that address?"""
    script = f"import socket; socket.socket().bind(({address!r}, 0))"
    words = network.inside(host, "/usr/bin/python3", "-c", script)
    return subprocess.run(words, check=False, stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("np, hosts, options", [
    (4, "node0:2,node1:2", []),
    (4, "node0:2,node1:2", ["--map-by", "node"]),
    (4, "node0:3,node1:1", []),
    (4, "node0:1,node1:3", []),
    (6, "node0:2,node1:2,node2:2", []),
    (6, "node0:2,node1:2,node2:2", ["--map-by", "node"]),
    (2, "node1:2", []),
    (4, "node1:2,node2:2", []),
    (1, "node0:1", []),
], ids=lambda value: "_".join(value) if isinstance(value, list) else str(value))
def test_open_mpi(network, np, hosts, options):
    rows = mpirun(network, np, hosts, *options)
    order = nodes(rows)
    assert len(rows) == np
    assert [int(row["NODE_RANK"]) for row in rows] == [order.index(row["host"]) for row in rows]
    # all ranks agree on the master, and rank 0 can listen there
    masters = {(network.address.get(row["MASTER_ADDR"], row["MASTER_ADDR"]), row["MASTER_PORT"])
               for row in rows}
    assert len(masters) == 1, rows
    assert can_bind(network, rows[0]["host"], rows[0]["MASTER_ADDR"])
    assert "node2" in hosts or not can_bind(network, "node2", rows[0]["MASTER_ADDR"]), "the control"


def test_dividing_the_rank_would_be_wrong(network):
    """The control: uneven nodes are real, and the simple formula misses them."""
    rows = mpirun(network, 4, "node0:3,node1:1")
    local = {"node0": 3, "node1": 1}
    divided = [int(row["RANK"]) // local[row["host"]] for row in rows]
    assert divided != [int(row["NODE_RANK"]) for row in rows]


@pytest.mark.parametrize("np, hosts", [(4, "node0:2,node1:2"), (2, "node0:1,node1:1")])
def test_hydra_by_slot(network, np, hosts):
    rows = hydra(network, np, hosts)
    order = nodes(rows)
    assert [int(row["NODE_RANK"]) for row in rows] == [order.index(row["host"]) for row in rows]


def test_azure_batch_gives_the_master(network):
    rows = mpirun(network, 4, "node0:2,node1:2", "-x", "AZ_BATCH_MASTER_NODE",
                  AZ_BATCH_MASTER_NODE="10.0.0.4:6000")
    assert {(row["MASTER_ADDR"], row["MASTER_PORT"]) for row in rows} == {("10.0.0.4", "6105")}
