# SPDX-License-Identifier: Apache-2.0
"""
--roll-call with real frameworks: what nodes say that wait for one which never comes, and that
it is over when they have met. Ranks that were asked whether they listen do not notice.
"""

import os
import re
import signal
import subprocess
import time

import pytest

from conftest import PROGRAM, SECONDS, clean_env

TORCH = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
share = torch.ones(1)
dist.all_reduce(share)
print("sum", share.item(), flush=True)
time.sleep(600)
"""
JAX = """
import os, jax, time
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
print("sum", float(jax.process_count()), flush=True)
time.sleep(600)
"""
KINDS = {"torch": ("sagemaker", ["-c", TORCH]), "jax": ("jax_job", ["-c", JAX]),
         "torchrun": ("kubeflow_pytorch",
                      ["-m", "torch.distributed.run", "--no-python", "{python}", "-c", TORCH])}
# Python runs it before all else.
GATE = """
import os, time
while not os.path.exists({!r}):
    time.sleep(0.1)
"""
NETWORK = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
MISSED = {0: r"node 1 has not connected to node 0 \(127\.0\.0\.2:\d+\) in \S+ s: no process "
             r"listens there yet; look at the log of node 0",
          1: r"node 0 listens on port \d+, and in \S+ s 1 connection has come, but the job needs 2 "
             r"or more; look at the log of the other node"}


@pytest.fixture
def simulate(python_with, tmp_path):
    """Start two nodes with a rank each; the file has what all of them write."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: a network of its own needs root")
    jobs = []

    def start(kind, faults="", every="0.3", gate=False):
        shape, words = KINDS[kind]
        python = python_with("jax" if kind == "jax" else "torch")
        words = [word.replace("{python}", python) for word in words]
        if gate:
            (tmp_path / "sitecustomize.py").write_text(GATE.format(str(tmp_path / "open")))
        with open(tmp_path / "said", "wb") as said:
            jobs.append(subprocess.Popen(
                [*NETWORK, PROGRAM, f"--simulate={shape}:2x1{faults}", f"--roll-call={every}",
                 "--grace=5", "--", python, *words], stdin=subprocess.DEVNULL, stdout=said,
                stderr=subprocess.STDOUT, env=clean_env(
                    GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu",
                    **({"PYTHONPATH": str(tmp_path)} if gate else {}))))
        return lambda: (tmp_path / "said").read_text(encoding="utf-8", errors="replace")
    yield start
    for job in jobs:
        job.send_signal(signal.SIGTERM)
        job.wait(60)


def until(said, *patterns):
    end = time.monotonic() + SECONDS
    while not all(re.search(pattern, said()) for pattern in patterns):
        assert time.monotonic() < end, said()
        time.sleep(0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("absent", MISSED)
def test_a_node_that_never_comes(simulate, kind, absent):
    """Late enough for its rank to listen: a first line may say that it does not yet."""
    said = simulate(kind, f",absent={absent}", every="10")
    until(said, MISSED[absent])
    assert "sum" not in said() and " connected to node 0 (port" not in said()


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_meet(simulate, tmp_path, kind):
    """No process of theirs does anything until both nodes have said that they have not met."""
    said = simulate(kind, gate=True)
    until(said, r"no process of node 0 listens on port \d+ ",
          r"node 1 has not connected to node 0 \(127\.0\.0\.2:")
    (tmp_path / "open").touch()
    until(said, r"the other nodes have connected to node 0 \(port", r"node 1 has connected to "
          r"node 0 \(127\.0\.0\.2:", r"(?s)sum 2\.0.*sum 2\.0")
    assert "Traceback" not in said()
