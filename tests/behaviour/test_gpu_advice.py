# SPDX-License-Identifier: Apache-2.0
"""What is said where ranks and GPUs do not fit each other, in the platform's words."""

import json
import re
import subprocess

import pytest

from box import BASE
from test_check_hosts import FULL, TWO, VISIBLE, grow, look

TRAINJOB = ["PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=job-0", "PET_MASTER_PORT=29500"]
AZUREML = ["AZUREML_RUN_ID=r", "AZUREML_EXPERIMENT_ID=e", "MASTER_ADDR=10.0.0.4",
           "MASTER_PORT=6105", "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
           "NODE_RANK=1"]
POD = ["KUBERNETES_SERVICE_HOST=10.96.0.1", "MASTER_ADDR=job-master-0", "MASTER_PORT=23456",
       "RANK=1", "WORLD_SIZE=2"]
STEP = ["SLURM_JOB_ID=6", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0",
        "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_NUM_NODES=2",
        "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_STEP_NODELIST=n[0-1]"]
NODE_STEP = [*STEP[:5], "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=2",
             "SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_STEP_NODELIST=n[0-1]"]


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


def warnings(rankinit, root, variables, words):
    """Those of an explanation about GPUs: code, subject, text with its hint."""
    done = subprocess.run([rankinit, f"--root={root}", "--explain=json", *words],
                          env={**BASE, **dict(word.split("=", 1) for word in variables)},
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [(one["code"], one["subject"], f"{one['text']}; {one['hint']}")
            for one in json.loads(done.stdout)["findings"]
            if one["severity"] == "warning" and one["code"].startswith(("gpu", "ranks."))]


def idle(found, subject, *texts):
    (code, about, text), = found
    assert (code, about) == ("gpus.idle", subject)
    for part in texts:
        assert part in text


TORCHRUN = ["--", "torchrun", "train.py"]
PYTHON = ["--", "python3", "train.py"]


def test_one_rank_by_the_platforms_default(rankinit, machine):
    """A TrainJob whose runtime asks for no GPUs says 1."""
    found = warnings(rankinit, machine(FULL), [*TRAINJOB, "PET_NPROC_PER_NODE=1"], TORCHRUN)
    idle(found, "PET_NPROC_PER_NODE", "a program sees 8 GPUs", "{numProcPerNode: 8}",
         "torchrun --nproc-per-node=gpu")
    found = warnings(rankinit, machine(FULL), ["PET_NPROC_PER_NODE=1"], TORCHRUN)
    idle(found, "PET_NPROC_PER_NODE", "set it to 8")


@pytest.mark.parametrize("name, variables, words", [
    (FULL, [*TRAINJOB, "PET_NPROC_PER_NODE=8"], TORCHRUN),
    (FULL, TRAINJOB, TORCHRUN),
    (FULL, [*TRAINJOB, "PET_NPROC_PER_NODE=1", f"{VISIBLE}=3"], TORCHRUN),
    (FULL, [*TRAINJOB, "PET_NPROC_PER_NODE=1"],
     ["--", "torchrun", "--nproc-per-node=1", "train.py"]),
    (FULL, [*TRAINJOB, "PET_NPROC_PER_NODE=1"],
     ["--", "torchrun", "--nproc_per_node", "gpu", "train.py"]),
    (FULL, [*TRAINJOB, "PET_NPROC_PER_NODE=1"], ["--nproc-per-node=1", *TORCHRUN]),
    ("limits-fit", [*TRAINJOB, "PET_NPROC_PER_NODE=1"], TORCHRUN),
])
def test_one_rank_that_is_meant(rankinit, machine, name, variables, words):
    assert warnings(rankinit, machine(name), variables, words) == []


@pytest.mark.parametrize("variables, subject", [(AZUREML, "LOCAL_RANK"), (POD, "RANK")])
def test_the_one_rank_of_a_node(rankinit, machine, variables, subject):
    """Lightning starts no ranks where LOCAL_RANK is set."""
    idle(warnings(rankinit, machine(FULL), variables, PYTHON), subject,
         "only rank of this node, but a program sees 8 GPUs", "--nproc-per-node=gpu",
         "as Lightning does", "--launch=node", "--frameworks=tensorflow or jax")


SHELL = ["SLURM_JOB_ID=6", "SLURM_PTY_PORT=40001"]
TASK = [*SHELL, *STEP[1:5], "SLURM_STEP_NUM_TASKS=1", "SLURM_STEP_NUM_NODES=1",
        "SLURM_STEP_TASKS_PER_NODE=1", "SLURM_STEP_NODELIST=n0"]


@pytest.mark.parametrize("variables", [SHELL, [*SHELL, "SLURM_STEP_ID=4294967290"], TASK])
def test_one_process_in_a_shell_of_slurm(rankinit, machine, variables):
    """salloc's interactive step, and srun --pty bash."""
    idle(warnings(rankinit, machine(FULL), variables, PYTHON), "SLURM_PTY_PORT",
         "a program sees 8 GPUs", "--nproc-per-node=gpu", "--launch=node")


@pytest.mark.parametrize("variables, words", [
    (SHELL[:1], PYTHON), (SHELL[1:], PYTHON), ([*SHELL, f"{VISIBLE}=0"], PYTHON),
    (SHELL, ["--nproc-per-node=gpu", *PYTHON]), (SHELL, TORCHRUN), (SHELL, ["--", "./train"]),
    (SHELL, ["--launch=node", *PYTHON]), (SHELL, ["--frameworks=jax", *PYTHON]),
    ([*STEP, SHELL[1]], PYTHON),
])
def test_one_process_in_a_shell_that_is_meant(rankinit, machine, variables, words):
    assert warnings(rankinit, machine(FULL), variables, words) == []


@pytest.mark.parametrize("variables, words", [
    (AZUREML, ["--launch=node", *PYTHON]), (AZUREML, ["--frameworks=jax", *PYTHON]),
    (AZUREML, ["--nproc-per-node=gpu", *PYTHON]), ([*AZUREML, f"{VISIBLE}=0"], PYTHON),
    (AZUREML, TORCHRUN), (AZUREML, ["--", "./train"]),
    # not in torch's own names: one process may well use all GPUs
    (NODE_STEP, PYTHON),
    # a job of one rank may be an image's default
    ([word.replace("WORLD_SIZE=2", "WORLD_SIZE=1").replace("RANK=1", "RANK=0")
      for word in AZUREML], PYTHON),
    # torchrun's own, which was told to start one
    ([*AZUREML[2:8], "TORCHELASTIC_RUN_ID=none", "GROUP_RANK=1"], PYTHON),
])
def test_the_one_rank_that_is_meant(rankinit, machine, variables, words):
    assert warnings(rankinit, machine(FULL), variables, words) == []


def test_devices_of_the_command_are_said_once(rankinit, machine):
    found = warnings(rankinit, machine(FULL), AZUREML, [*PYTHON, "--devices", "8"])
    assert [code for code, _, _ in found] == ["ranks.waited"]


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
    found = result(rankinit, machine(FULL), [*TWO, f"{VISIBLE}=0,1"], "gpu.count")
    assert found["status"] == "pass"


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
