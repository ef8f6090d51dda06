# SPDX-License-Identifier: Apache-2.0
"""
Real launchers, each in front of ranks of which one fails: rankinit in front of the launcher names
that rank and says why. docs/verdict.md has the table.
"""

import os
import shutil
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env

FAILS = os.path.join(TRAIN, "fails.py")

TORCH = {
    "torchrun": ["-m", "torch.distributed.run", "--nproc-per-node=2"],
    "torch.distributed.launch": ["-m", "torch.distributed.launch", "--nproc-per-node=2"],
    "accelerate": ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2"],
}
MPI = {
    "mpirun": ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-np", "2"],
    "mpiexec.hydra": ["mpiexec.hydra", "-np", "2"],
}

# What rank 1 does, how the verdict says that it ended, and the words of its reason.
FAULTS = {
    "exception": ("exit status 1", "ValueError: bad batch 17"),
    "gloo": ("exit status 1", "ValueError: bad batch 17"),
    "import": ("exit status 1", "ModuleNotFoundError: No module named 'no_such_module'"),
    "kill": ("killed by SIGKILL (9)", None),
    "segv": ("killed by SIGSEGV (11)", None),
    "abort": ("killed by SIGABRT (6)", "CUDA error: device-side assert triggered"),
    "exit": ("exit status 3", None),
}

# The others take long, and are run by LAUNCHED=all.
SOME = {("torchrun", "exception"), ("torchrun", "gloo"), ("torchrun", "kill"),
        ("accelerate", "abort"), ("torch.distributed.launch", "exit"),
        ("bash -c torchrun", "import"), ("mpirun", "exception"), ("mpirun", "segv"),
        ("mpiexec.hydra", "kill")}


def verdict(command, fault, python, **env):
    done = subprocess.run(
        [PROGRAM, "--", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
        env=clean_env(FAULT=fault, ACCELERATE_USE_CPU="true", GLOO_SOCKET_IFNAME="lo",
                      OMPI_MCA_btl_vader_single_copy_mechanism="none", **env))
    lines = [line for line in done.stderr.splitlines() if line.startswith("rankinit: ")]
    assert done.returncode != 0, (command, python, done.stderr)
    return lines, done.stderr


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("launcher", [*TORCH, "bash -c torchrun", *MPI])
def test_the_rank_below_a_launcher(python_with, launcher, fault):
    if (launcher, fault) not in SOME and os.environ.get("LAUNCHED") != "all":
        pytest.skip("it takes long: LAUNCHED=all runs it")
    if launcher in MPI:
        if fault == "gloo":
            pytest.skip("mpirun tells no rank where to meet")
        command = [*MPI[launcher], shutil.which("python3"), FAILS]
        if shutil.which(command[0]) is None:
            pytest.skip(f"NOT TESTED: there is no {command[0]} here")
    else:
        python = python_with("accelerate" if launcher == "accelerate" else "torch")
        words = TORCH.get(launcher, TORCH["torchrun"])
        command = [python, *words, FAILS]
        if launcher.startswith("bash"):
            command = ["bash", "-c", " ".join(command) + "; exit $?"]
    how, why = FAULTS[fault]
    lines, whole = verdict(command, fault, launcher)
    assert lines and lines[0].startswith("rankinit: rank 1 ("), whole
    assert f" failed first: {how}" in lines[0], whole
    if why is not None:
        assert any(line.endswith(why) for line in lines[1:4]), whole
