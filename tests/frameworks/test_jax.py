# SPDX-License-Identifier: Apache-2.0
"""jax.distributed.initialize() with what rankinit writes: two processes meet."""

import shutil
import socket

import pytest

from conftest import PROGRAM

# Each adds 1 at its own place, so the sum shows that both took part.
REST = """
import jax.numpy as np
from jax.experimental import multihost_utils
mine = np.zeros(2).at[jax.process_index()].set(jax.process_index() + 1)
both = multihost_utils.process_allgather(mine)
total = jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=jax.make_mesh((2,), ("i",)),
                      in_specs=jax.P("i"), out_specs=jax.P())(
    multihost_utils.host_local_array_to_global_array(
        np.array([10.0 + jax.process_index()]), jax.make_mesh((2,), ("i",)), jax.P("i")))
print(jax.process_index(), jax.process_count(), both.sum(), float(total[0]))
"""
PASSED_ON = """
import os, jax
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
""" + REST
BY_ITSELF = "import jax; jax.distributed.initialize()" + REST

# gloo, since there is no GPU; and no proxy, which JAX warns of.
CPU = {"JAX_PLATFORMS": "cpu", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}


def options(rank, port, host="127.0.0.1"):
    return [f"--rank={rank}", "--world-size=2", f"--local-rank={rank}", "--local-world-size=2",
            f"--master-addr={host}", f"--master-port={port}", "--frameworks=jax"]


def check(outputs):
    said = [output.splitlines()[-1].split() for output in outputs]
    assert said == [[str(rank), "2", "3.0", "21.0"] for rank in range(2)]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_passed_on(python_with, run_ranks, free_port, host):
    python = python_with("jax")
    if host == "::1" and not has_ipv6():
        pytest.skip("NOT TESTED: there is no IPv6 here")
    check(run_ranks([options(rank, free_port, host) for rank in range(2)],
                    [python, "-c", PASSED_ON], **CPU))


def test_detected_under_slurm(python_with, run_ranks, free_port):
    """JAX finds rank and size in Slurm's variables, and the coordinator in ours."""
    python = python_with("jax")
    slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "elsewhere", "SLURM_NTASKS": "2"}
    shell = 'SLURM_PROCID=$RANK SLURM_LOCALID=$LOCAL_RANK exec "$0" -c "$1"'
    rows = [[*options(rank, free_port), "--frameworks=jax,torch"] for rank in range(2)]
    check(run_ranks(rows, ["sh", "-c", shell, python, BY_ITSELF], **CPU, **slurm))


def said_by_both(output):
    """Gloo has a word to say as well."""
    return sorted(line for line in output.splitlines() if line.endswith(" 21.0"))


def test_detected_under_mpirun(python_with, run_ranks, free_port):
    """JAX finds rank and size in Open MPI's variables, which stay."""
    if shutil.which("mpirun") is None:
        pytest.skip("NOT TESTED: there is no mpirun here")
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", "2", PROGRAM,
               f"--master-port={free_port}", "--frameworks=jax", python_with("jax"), "-c",
               BY_ITSELF]
    (output,) = run_ranks([["--launch=none"]], command, **CPU)
    check(said_by_both(output))


def test_ranks_that_are_started_here(python_with, run_ranks, free_port):
    (output,) = run_ranks([["--nproc-per-node=2", "--frameworks=jax",
                            f"--master-port={free_port}"]],
                          [python_with("jax"), "-c", PASSED_ON], **CPU)
    check(said_by_both(output))
