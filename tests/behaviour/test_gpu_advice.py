# SPDX-License-Identifier: Apache-2.0
"""What is said where ranks and GPUs do not fit each other, in the platform's words."""

import re

import pytest

from test_check_hosts import FULL, TWO, VISIBLE, grow, look

STEP = ["SLURM_JOB_ID=6", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0",
        "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NUM_NODES=2",
        "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_STEP_NODELIST=n[0-1]"]
PYTHON = ["--", "python3", "train.py"]


@pytest.fixture(name="machine", scope="module")
def fixture_machine(tmp_path_factory):
    """The root of a recorded machine, grown once."""
    grown = {}

    def root_of(name):
        if name not in grown:
            grown[name] = str(tmp_path_factory.mktemp("machines") / name)
            grow(name, grown[name])
        return grown[name]
    return root_of


def result(rankinit, root, words, check):
    (found,) = [one for one in look(rankinit, root, words)["checks"] if one["id"] == check]
    return found


def instances(root, count):
    with open(f"{root}/proc/driver/nvidia/gpus/0000:00:00.0/information",
              encoding="ascii") as file:
        gpu = re.search(r"GPU-[0-9a-f-]+", file.read())[0]
    return f"{VISIBLE}=" + ",".join(f"MIG-{gpu}/{number + 1}/0" for number in range(count))


@pytest.mark.parametrize("words", [TWO, ["--nproc-per-node=2", *PYTHON],
                                   ["--", "torchrun", "--nproc-per-node=2", "train.py"]])
def test_ranks_that_share_a_list_of_instances(rankinit, machine, words):
    """A CUDA program uses the first instance of its list and no other."""
    root = machine("mig-2")
    words = [instances(root, 2), *words]
    for check, code in (("gpu.count", "gpu.count.shared"), ("gpu.mig", "gpu.mig.few")):
        found = result(rankinit, root, words, check)
        assert (found["status"], found["code"]) == ("warn", code)
        assert "only the first of 2 MIG instances, but 2 ranks" in found["text"]
        assert "--gpu-bind=single" in found["hint"] and "docker" not in found["hint"]


@pytest.mark.parametrize("words", [["--nproc-per-node=2", "--gpu-bind=single", *PYTHON], PYTHON])
def test_instances_that_are_not_shared(rankinit, machine, words):
    root = machine("mig-2")
    for check in ("gpu.count", "gpu.mig"):
        assert result(rankinit, root, [instances(root, 2), *words], check)["status"] == "pass"


def test_whole_gpus_are_no_instances(rankinit, machine):
    assert result(rankinit, machine(FULL), [*TWO, f"{VISIBLE}=0,1"], "gpu.count")["status"] == "pass"


def test_the_advice_in_a_job_of_slurm_is_slurms(rankinit, machine):
    """What srun --gpus-per-task=1 leaves each of two tasks of a node."""
    root = machine(FULL)
    found = result(rankinit, root, [*STEP, f"{VISIBLE}=0"], "gpu.count")
    assert (found["status"], found["code"]) == ("note", "gpu.count.shared")
    assert "srun --gpus-per-node=N" in found["hint"] and "--gpu-bind=none" in found["hint"]
    assert "docker" not in found["hint"]
    few = result(rankinit, root, [*STEP, "--require=gpu=16"], "gpu.count")
    assert few["code"] == "gpu.count.few"
    assert "--gpus-per-node=N" in few["hint"] and "docker" not in few["hint"]


def test_the_advice_elsewhere_is_dockers(rankinit, machine):
    root = machine(FULL)
    shared = result(rankinit, root, [*TWO, f"{VISIBLE}=0"], "gpu.count")
    few = result(rankinit, root, ["--require=gpu=16"], "gpu.count")
    assert "docker run --gpus all" in shared["hint"] and "docker run --gpus all" in few["hint"]
    assert "srun" not in shared["hint"] and "srun" not in few["hint"]
