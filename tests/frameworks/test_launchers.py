# SPDX-License-Identifier: Apache-2.0
"""Real launchers, one on each of two nodes that share this machine, meet by what is written."""

import os
import shutil

import pytest

from conftest import TRAIN, said

# Every rank adds another power of ten, so the sum shows who took part.
ADD = os.path.join(TRAIN, "torch_add.py")

ACCELERATE = """
import os, torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
share = torch.tensor([10 ** accelerator.process_index])
total = accelerator.reduce(share).item()
print(f"rank {accelerator.process_index} of {accelerator.num_processes}, "
      f"local {accelerator.local_process_index}, sum {int(total)}", flush=True)
accelerator.wait_for_everyone()
accelerator.end_training()
"""

FABRIC = """
import torch
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=2, num_nodes=2, strategy="ddp")
fabric.launch()
total = fabric.all_reduce(torch.tensor([10.0 ** fabric.global_rank]), reduce_op="sum")
print(f"rank {fabric.global_rank} of {fabric.world_size}, local {fabric.local_rank}, "
      f"sum {int(total.item())}", flush=True)
fabric.barrier()
torch.distributed.destroy_process_group()
"""


def nodes(port, *options):
    """Said by hand, since nobody else may have several nodes at this machine's own address."""
    return [[f"--node-rank={node}", "--nnodes=2", "--master-addr=127.0.0.1",
             f"--master-port={port}", *options] for node in range(2)]


def check(outputs, size):
    """All ranks met; node k has the k-th share of them, in order."""
    local = size // 2
    for node, output in enumerate(outputs):
        assert said(output) == [(node * local + place, size, place, int("1" * size))
                                for place in range(local)], output


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "train.py"
        path.write_text(text)
        return str(path)
    return write


def test_torchrun_on_two_nodes(python_with, run_ranks, free_port):
    command = [python_with("torch"), "-m", "torch.distributed.run", ADD]
    outputs = run_ranks(nodes(free_port, "--nproc-per-node=2"), command,
                        GLOO_SOCKET_IFNAME="lo")
    check(outputs, 4)


def test_each_process_is_a_node_of_torchrun(python_with, run_ranks, free_port):
    """As srun -n 2 would start them, both on one machine."""
    rows = [[f"--rank={rank}", "--world-size=2", f"--local-rank={rank}", "--local-world-size=2",
             f"--master-port={free_port}"] for rank in range(2)]
    command = [python_with("torch"), "-m", "torch.distributed.run", "--nnodes=2",
               "--nproc-per-node=1", ADD]
    check(run_ranks(rows, command, GLOO_SOCKET_IFNAME="lo"), 2)


def test_accelerate_launch_on_two_nodes(python_with, run_ranks, free_port, script):
    python = python_with("accelerate")
    command = [python, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines=2",
               "--num_processes=4", "--machine_rank=$NODE_RANK",
               "--main_process_ip=$MASTER_ADDR", "--main_process_port=$MASTER_PORT",
               script(ACCELERATE)]
    outputs = run_ranks(nodes(free_port), command, GLOO_SOCKET_IFNAME="lo",
                        ACCELERATE_USE_CPU="true")
    check(outputs, 4)


def test_accelerate_in_ranks(python_with, run_ranks, free_port, script):
    """LOCAL_RANK alone makes it distributed."""
    outputs = run_ranks(nodes(free_port, "--nproc-per-node=2"),
                        [python_with("accelerate"), script(ACCELERATE)],
                        GLOO_SOCKET_IFNAME="lo", ACCELERATE_USE_CPU="true")
    check(outputs, 4)


def test_fabric_starts_the_ranks_of_each_node(python_with, run_ranks, free_port, script):
    """Were LOCAL_RANK there, each node would have one rank, and wait for the other two."""
    command = [python_with("lightning"), script(FABRIC)]
    outputs = run_ranks(nodes(free_port, "--launch=node"), command, GLOO_SOCKET_IFNAME="lo",
                        LOCAL_RANK="0", SLURM_NTASKS="2", SLURM_JOB_NAME="train")
    check(outputs, 4)


def test_fabric_in_ranks(python_with, run_ranks, free_port, script):
    outputs = run_ranks(nodes(free_port, "--nproc-per-node=2"),
                        [python_with("lightning"), script(FABRIC)], GLOO_SOCKET_IFNAME="lo")
    check(outputs, 4)


def test_fabric_under_mpirun(python_with, run_ranks, free_port, script):
    """Two ranks of a real mpirun, which rankinit tells their places."""
    if shutil.which("mpirun") is None:
        pytest.skip("NOT TESTED: there is no mpirun here")
    text = FABRIC.replace("num_nodes=2", "num_nodes=1")
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", "2",
               os.environ.get("RANKINIT_UNDER_TEST", "build/rankinit"),
               python_with("lightning"), script(text)]
    (output,) = run_ranks([["--launch=none"]], command, GLOO_SOCKET_IFNAME="lo",
                          MASTER_PORT=str(free_port))
    assert said(output) == [(0, 2, 0, 11), (1, 2, 1, 11)]
