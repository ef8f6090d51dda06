# SPDX-License-Identifier: Apache-2.0
"""torch's env:// with what rankinit writes: two ranks meet and add."""

import json
import os
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env, said
from verdict import names

ADD = os.path.join(TRAIN, "torch_add.py")


def check(outputs):
    assert [said(output) for output in outputs] == [[(rank, 2, rank, 11)] for rank in range(2)]


@pytest.mark.parametrize("master", ["127.0.0.1", " 127.0.0.1 ", "127.0.0.1:6000", "localhost"])
def test_all_reduce(python_with, run_ranks, free_port, master):
    """A blank or a port in MASTER_ADDR alone would be a timeout without a word."""
    python = python_with("torch")
    rows = [[f"--rank={rank}", "--world-size=2", f"--local-rank={rank}", "--local-world-size=2"]
            for rank in range(2)]
    check(run_ranks(rows, [python, ADD], MASTER_ADDR=master, MASTER_PORT=str(free_port),
                    GLOO_SOCKET_IFNAME="lo"))


def test_all_reduce_under_torchrun_in_node_mode(python_with, run_ranks, free_port):
    """torchrun takes where to meet from PET_*, and this node's place in the job."""
    python = python_with("torch")
    shell = '[ "$1" = 0 ] || exit 0; exec "$0" -m torch.distributed.run --no-python "$0" "$2"'
    rows = [["--node-rank=0", "--nnodes=1", "--master-addr=127.0.0.1",
             f"--master-port={free_port}"]]
    (output,) = run_ranks(rows, ["sh", "-c", shell, python, "0", ADD], PET_NPROC_PER_NODE="2",
                          GLOO_SOCKET_IFNAME="lo")
    assert said(output) == [(0, 2, 0, 11), (1, 2, 1, 11)]


def test_all_reduce_of_ranks_started_here(python_with, run_ranks, free_port):
    """rankinit in torchrun's place."""
    python = python_with("torch")
    (output,) = run_ranks([["--nproc-per-node=4", f"--master-port={free_port}"]],
                          [python, ADD], GLOO_SOCKET_IFNAME="lo")
    assert said(output) == [(rank, 4, rank, 1111) for rank in range(4)]


FAIL = """
import os, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
def step():
    if dist.get_rank() == 2:
        raise ValueError("bad batch 17")
    dist.barrier()
@record
def main():
    dist.init_process_group("gloo", init_method="env://")
    step()
main()
"""


def test_the_rank_that_failed_first(python_with, free_port, tmp_path):
    """Those that waited for it in a collective fail, too, with tracebacks of their own."""
    python = python_with("torch")
    done = subprocess.run(
        [PROGRAM, "--nproc-per-node=4", f"--master-port={free_port}", "--grace=60",
         f"--report={tmp_path}/report.json", "--", python, "-c", FAIL],
        env=clean_env(GLOO_SOCKET_IFNAME="lo"), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    first = report["first_failure"]
    assert first["rank"] == 2, done.stderr
    # @record wrote this, in the form of the torch that is installed
    assert first["torch_error"]["message"]["message"] == "ValueError: bad batch 17"
    lines = [line for line in done.stderr.splitlines() if line.startswith("rankinit: ")]
    assert names(lines[0], 2, 2)
    assert "ValueError: bad batch 17" in "\n".join(lines[:5]) and len(lines) <= 25
