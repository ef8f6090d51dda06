# SPDX-License-Identifier: Apache-2.0
"""A rank whose command would start ranks itself, or waits for more than there are."""

import json

import pytest

MPI = {"MASTER_ADDR": "m", "MASTER_PORT": "1"}


def rank(local=0, here=1, world=2):
    return {**MPI, "OMPI_COMM_WORLD_RANK": str(local), "OMPI_COMM_WORLD_SIZE": str(world),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(local), "OMPI_COMM_WORLD_LOCAL_SIZE": str(here)}


AZUREML = {"AZUREML_RUN_ID": "a", "AZUREML_EXPERIMENT_ID": "b", "MASTER_ADDR": "10.0.0.4",
           "MASTER_PORT": "6105", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
           "NODE_RANK": "0", "AZUREML_NODE_COUNT": "2"}
SLURM = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0",
         "SLURM_NNODES": "2", "SLURM_NODEID": "0", "SLURM_STEP_ID": "0",
         "SLURM_STEP_NODELIST": "n[0-1]", "SLURM_TASKS_PER_NODE": "1(x2)"}


@pytest.fixture(name="found")
def found_fixture(box):
    """The findings of these two codes for a command line, as "severity code subject"."""
    def find(env, *words):
        result = box.run("--explain=json", *words, env=env)
        assert result.status == 0, result.err
        return [f"{one['severity']} {one['code']} {one['subject']}"
                for one in json.loads(result.out)["findings"]
                if one["code"] in ("launch.hidden", "ranks.waited")]
    return find


SHELL = [
    "torchrun --nproc-per-node=2 ddp.py", "cd /app && exec torchrun t.py",
    "source env.sh; OMP_NUM_THREADS=1 /opt/bin/torchrun t.py", "set -e\ntorchrun t.py\n",
    "if true; then torchrun t.py; fi", "python3 -m torch.distributed.run t.py",
    "(cd x && torchrun t.py) | tee log",
]


@pytest.mark.parametrize("line", SHELL)
@pytest.mark.parametrize("shell", [["bash", "-c"], ["/bin/sh", "-ec"],
                                   ["env", "A=1", "bash", "-lc"], ["bash", "-e", "-c"],
                                   ["busybox", "sh", "-c"], ["/usr/bin/fish", "-c"]])
def test_a_launcher_in_a_shell_s_line(found, shell, line):
    for env in (rank(), rank(here=2), AZUREML, SLURM):
        assert found(env, *shell, line) == ["warning launch.hidden torchrun"], env
    assert found({}, "--nproc-per-node=2", *shell, line) == ["warning launch.hidden torchrun"]


def test_other_launchers_in_a_shell_s_line(found):
    for line, name in (("accelerate launch t.py", "accelerate"), ("composer t.py", "composer")):
        assert found(rank(), "sh", "-c", line) == [f"warning launch.hidden {name}"]


@pytest.mark.parametrize("words", [
    ["sh", "-c", "python3 train.py"], ["sh", "-c", "echo torchrun"], ["sh", "-c", "my-torchrun x"],
    ["torchrun", "t.py"], ["sh", "-c", "mpirun -np 2 t.py"], ["sh", "-c", "accelerate config"],
    ["sh", "-c", "torchrun --nnodes=$NNODES --node_rank=$NODE_RANK t.py"],
    ["sh", "-c", "torchrun --standalone t.py"],
    ["sh", "-c", "accelerate launch --num_machines 2 t.py"],
    ["--launch=node", "sh", "-c", "torchrun t.py"],
    ["--launch=process", "sh", "-c", "torchrun t.py"], ["sh", "-c"], ["sh"], ["sh", "-c", ""],
    ["sh", "-c", ";;&&(\n"], ["python3", "x.py", "-c", "torchrun"],
])
def test_a_shell_s_line_that_makes_no_job(found, words):
    """The control."""
    assert found(rank(), *words) == []


def test_who_says_so(found):
    line = ["bash", "-c", "torchrun t.py"]
    assert found(rank(local=1, here=2), *line) == [], "the first rank of the node does"
    assert found({}, *line) == [], "nobody is a rank"
    assert found(rank(world=1), *line) == [], "one job is all there is"


@pytest.mark.parametrize("words, subject", [
    (["bash", "run.sh"], "run.sh"), (["sh", "-e", "/app/start"], "/app/start"),
    (["./run.sh"], "./run.sh"),
])
def test_a_script_is_a_note(box, found, words, subject):
    assert found(rank(), *words) == [f"note launch.hidden {subject}"]
    assert found(rank(), "--launch=process", *words) == []
    assert found({}, *words) == [] == found(rank(world=1), *words)
    assert "launch.hidden" not in box.run(*words, env=rank()).err


DEVICES = [["--devices", "4"], ["--devices=4"], ["--gpus", "4"], ["--devices", "0,1,2,3"],
           ["--trainer.devices=4"], ["trainer.devices=4"], ["++trainer.devices=[0,1,2,3]"]]


@pytest.mark.parametrize("option", DEVICES)
def test_devices_without_ranks(found, option):
    wanted = [f"warning ranks.waited {option[0].partition('=')[0].lstrip('+')}"]
    command = ["python3", "train.py", *option, "--num_nodes", "2"]
    for env in (AZUREML, SLURM, rank(), rank(here=2), rank(world=1)):
        assert found(env, *command) == wanted, env
    assert found({}, "--nproc-per-node=2", *command) == wanted
    assert found(rank(), "bash", "-c", " ".join(["exec", *command])) == wanted


@pytest.mark.parametrize("option", DEVICES)
def test_devices_that_all_have_ranks(found, option):
    """The controls: enough ranks, a stated mode, no rank at all."""
    command = ["python3", "train.py", *option, "--num_nodes", "2"]
    assert found(rank(here=4, world=8), *command) == []
    assert found({}, "--nproc-per-node=4", *command) == []
    assert found({}, *command) == []
    for mode in ("node", "process"):
        assert found(AZUREML, f"--launch={mode}", *command) == []
    assert found(rank(local=1, here=2), *command) == []
    assert found(AZUREML, "docker", "run", *option) == [], "no program of Python's"


@pytest.mark.parametrize("option", [
    ["--devices", "1"], ["--devices", "auto"], ["--devices"], ["--devices", "-1"], ["--gpus", "0"],
    ["--devices", "99999999"], ["--devices", "a,b"], ["--devices="], ["--devices", "2x"],
    ["--my-devices", "4"], ["devices=4"], ["--batch", "4"],
])
def test_words_that_ask_for_no_ranks(found, option):
    """The control."""
    assert found(AZUREML, "python3", "train.py", *option) == []


def test_the_hint(box):
    result = box.run("python3", "-c", "0", "--devices", "4", env=AZUREML)
    assert "--launch=node" in result.err and "--nproc-per-node=4" in result.err
    assert result.status == 0
