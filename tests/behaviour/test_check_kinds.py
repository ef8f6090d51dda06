# SPDX-License-Identifier: Apache-2.0
"""
What checks say of machines of other kinds, of lists that are wrong, and how
tables look.
"""

import os
import re
import subprocess

import pytest

from box import refused
from peek import PATIENCE
from test_check_hosts import (FULL, LIMITS, LOCKED, PORT, Pair, TWO, WIDE, change, grow,
                              lines_of, look)

FOUR = [f"OMPI_COMM_WORLD_{name}={value}" for name, value in
        (("RANK", "0"), ("SIZE", "4"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "4"))]
LITTLE = {LIMITS: (LOCKED, LOCKED.replace("unlimited", "65536"))}
CLASS = "/sys/class/infiniband"
SEVERAL = "mlx5_an0, mlx5_ib0, mlx5_ib1, mlx5_ib2, mlx5_ib3, mlx5_ib4, mlx5_ib5 and 2 more"

# Here the two are the machine with and without a change, or what words do.
PAIRS = {
    # an adapter without a node is no reason to lock memory, one with a node is
    "memlock_without_node": Pair("az-accelerated", "lim.memlock",
                                 {"dev/infiniband/uverbs8": ""},
                                 ["note lim.memlock.small memlock"],
                                 ["warn lim.memlock.small memlock"], FOUR,
                                 also=["ib.uverbs", "rdma_cm"]),
    "memlock_of_root_elsewhere": Pair("limits-fit", "lim.memlock", {
        **LITTLE, "proc/self/status": ("CapEff:\t00000000a80425fb", "CapEff:\t00000000a80465fb")},
        ["pass - memlock"], ["pass - memlock"], TWO),
    # capabilities of a user namespace are none of the machine
    "memlock_of_mapped_root": Pair(FULL, "lim.memlock", {
        **LITTLE, "proc/self/uid_map": "0 1000 65536\n"},
        ["pass - memlock"], ["warn lim.memlock.small memlock"], TWO, also=["user_namespace"]),
    "memlock_declined": Pair("docker-default", "lim.memlock",
                             {LIMITS: ("Max locked memory         65536                65536",
                                       LOCKED)},
                             ["note lim.memlock.small memlock"], ["pass - memlock"],
                             [*TWO, "NCCL_IB_DISABLE=1"]),
    "uverbs_declined": Pair("az-nc24rs-v3", "ib.uverbs", {"dev/infiniband/uverbs0": None},
                            ["pass - /dev/infiniband"], ["note ib.uverbs.absent mlx4_0"],
                            [*WIDE, "NCCL_IB_DISABLE=1"]),
    "uverbs_not_declined": Pair("az-nc24rs-v3", "ib.uverbs", {"dev/infiniband/uverbs0": None},
                                ["pass - /dev/infiniband"], ["warn ib.uverbs.absent mlx4_0"],
                                [*WIDE, "NCCL_IB_DISABLE=0"]),
    # one slow port among those of the ranks is one too few
    "rate_of_storage": Pair("storage-ports", "ib.rate", {PORT + "rate": "200 Gb/sec (4X HDR)\n"},
                            [f"pass - {CLASS}"],
                            ["fail ib.rate.low mlx5_ib4:1, mlx5_st0:1, mlx5_st1:1"],
                            ["--require=ib=8@400"]),
    "count_of_none": Pair("limits-fit", "gpu.count", {"dev/nvidia0": ""},
                          ["skip - GPUs"], ["pass - GPUs"]),
    "mig_by_configuration": Pair("mig-given", "gpu.mig", {
        "dev/nvidia-caps/nvidia-cap21": None, "dev/nvidia-caps/nvidia-cap22": None,
        "dev/nvidia-caps/nvidia-cap1": "", "dev/nvidia-caps/nvidia-cap2": ""},
        ["pass - MIG"], ["skip - MIG"]),
    "ofed_of_another_maker": Pair("aws-efa", "ib.ofed", {
        "sys/module/mlx5_core/version": "25.10-1.2.8\n"},
        ["fail ib.ofed.other rdmap0s0"], ["pass - mlx5_core"], ["--require=ofed"]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(rankinit, tmp_path, name):
    pair = PAIRS[name]
    root = str(tmp_path / "root")
    grow(pair.machine, root)
    before = look(rankinit, root, pair.words)
    for path, new in pair.files.items():
        change(root, path, new)
    after = look(rankinit, root, pair.words)

    def split(document):
        own = [line.replace(f" {pair.check} ", " ") for line in lines_of(document)
               if line.split(" ")[1] == pair.check]
        return own, [line for line in lines_of(document)
                     if line.split(" ")[1] not in (pair.check, *pair.also)]

    assert split(before)[0] == pair.before
    assert split(after)[0] == pair.after
    assert split(before)[1] == split(after)[1], "another check changes as well"


def test_ranks_that_a_launcher_will_start(rankinit, tmp_path):
    """A pod of a PyTorchJob: torchrun starts eight ranks, which share /dev/shm."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    pod = ["PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=m", "PET_MASTER_PORT=23456",
           "MASTER_ADDR=m", "MASTER_PORT=23456", "WORLD_SIZE=16", "RANK=1"]
    for each, status in (("1", "note"), ("8", "warn")):
        lines = lines_of(look(rankinit, root, [*pod, f"PET_NPROC_PER_NODE={each}", "--",
                                               "torchrun", "train.py"]))
        assert f"{status} shm.size shm.size.small /dev/shm" in lines


SLURM = ["SLURM_JOB_ID=1", "SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_LOCALID=0",
         "SLURM_NNODES=1", "SLURM_NODEID=0", "SLURM_STEP_ID=0", "SLURM_TASKS_PER_NODE=1"]


@pytest.mark.parametrize("given, words, status", [
    ([], ["torchrun", "t.py"], "note"),
    ([], ["torchrun", "--nproc-per-node=8", "t.py"], "warn"),
    ([], ["torchrun", "--nproc_per_node", "8", "t.py"], "warn"),
    ([], ["torchrun", "--nproc-per-node=gpu", "t.py"], "note"),
    ([], ["torchrun", "t.py", "--nproc-per-node=8"], "note"),
    ([], ["python", "-m", "torch.distributed.run", "--nproc-per-node", "8", "t.py"], "warn"),
    ([], ["accelerate", "launch", "--num_processes", "8", "t.py"], "warn"),
    ([], ["accelerate", "launch", "--num_machines=8", "--num_processes", "8", "t.py"], "note"),
    ([], ["deepspeed", "--num_gpus=8", "t.py"], "warn"),
    ([], ["composer", "-n", "8", "t.py"], "warn"),
    # the one task of a node, of which torchrun makes more
    (SLURM, ["torchrun", "t.py"], "note"),
    (SLURM, ["torchrun", "--nproc-per-node=8", "t.py"], "warn"),
    # its words stand above what it is told else
    (["PET_NPROC_PER_NODE=8"], ["torchrun", "t.py"], "warn"),
    (["PET_NPROC_PER_NODE=8"], ["torchrun", "--nproc-per-node=1", "t.py"], "note"),
    (["PET_NPROC_PER_NODE=gpu"], ["torchrun", "t.py"], "note"),
    (["PET_NPROC_PER_NODE=8"], ["composer", "t.py"], "note"),
    (["RANKINIT_NPROC_PER_NODE=8"], ["torchrun", "t.py"], "warn"),
    (["RANKINIT_NPROC_PER_NODE=8"], ["torchrun", "--nproc-per-node=1", "t.py"], "note"),
])
def test_ranks_that_its_words_ask_for(rankinit, tmp_path, given, words, status):
    """Several ranks of a node share /dev/shm."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    lines = lines_of(look(rankinit, root, [*given, "--", *words]))
    assert f"{status} shm.size shm.size.small /dev/shm" in lines


@pytest.mark.parametrize("option, value, expected", [
    ("--checks", "shm", "shm.* stands for the whole family"),
    ("--checks", "shm.size,all", '"all": expected alone, or first'),
    ("--checks", "none,^shm.size", "expected nothing behind none"),
    ("--checks", "shm.sizes", "did you mean shm.size?"),
    ("--checks", "default,^net", '"^net": expected the id of a check'),
    ("--require", "net", "net.* stands for the whole family"),
    ("--require", "ib=@400", '"ib=@400": expected ib, ib=N or ib=N@RATE'),
    ("--expect", "shm.size,shm.size", '"shm.size": expected each of them only once'),
])
def test_lists_that_are_wrong(box, option, value, expected):
    assert expected in refused(box.run("--check", f"{option}={value}"), 125, "option.value",
                               option)


def test_what_must_be_known(box, tmp_path):
    grow("cgroup-none", str(tmp_path / "root"))
    words = ["--check", f"--root={tmp_path}/root", "--checks=lim.nproc"]
    assert box.run(*words).status == 0
    assert box.run(*words, "--require=lim.*").status == 123
    assert box.run(*words, "--expect=lim.nproc").status == 0
    required = box.run(*words, "--require=lim.nproc")
    assert required.status == 123
    assert "expected an answer (--require)" in " ".join(required.out.decode().split())


def test_the_table_says_first_what_is_here(box, tmp_path):
    grow("aws-efa", str(tmp_path / "root"))
    words = ["--check", f"--root={tmp_path}/root"]
    lines = box.run(*words).out.decode().splitlines()
    heads = [line.split()[0] for line in lines if re.match("[a-z]", line)]
    checks = [head for head in heads if head != "fact"]
    assert checks.count("skip") == 1 and checks[-1] == "skip"
    assert heads[:len(checks)] == checks and len(heads) > len(checks) + 3
    assert all(len(line) < 80 for line in lines)
    assert len({line.index(line.split(None, 2)[2]) for line in lines
                if re.match("(pass|note|warn|unknown|fact) ", line)}) == 1, "one column"
    whole = box.run(*words, "-v").out.decode().splitlines()
    assert len([line for line in whole if line.startswith("skip ")]) > 10
    # alone it says why, and none are none
    assert "net.iface  " in box.run(*words, "--checks=net.iface").out.decode()
    assert box.run(*words, "--checks=none").out == b"no checks were run\n"


def read_or_end(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:     # EIO: nobody has the other side open
        return b""


def on_a_terminal(*words):
    ours, theirs = os.openpty()
    with subprocess.Popen(words, stdout=theirs) as process:
        os.close(theirs)
        out = b"".join(iter(lambda: read_or_end(ours), b""))
        assert process.wait(PATIENCE) == 0
    os.close(ours)
    return out.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("name", ["sources", "simulations", "frameworks", "checks",
                                  "codes", "options"])
def test_a_list_on_a_terminal(rankinit, name):
    """In columns, with all that it has, or the summaries; with tabs for programs."""
    rows = subprocess.run([rankinit, f"--list={name}"], capture_output=True, check=True,
                          text=True).stdout
    shown = on_a_terminal(rankinit, f"--list={name}")
    assert "\t" in rows and "\t" not in shown
    fields = [row.split("\t")[:2 if name == "checks" else None] for row in rows.splitlines()]
    whole = re.sub(r"\s+", "", shown)
    assert [field for row in fields for field in row
            if field != "-" and re.sub(r"\s+", "", field) not in whole] == []
    assert [line for line in shown.splitlines() if len(line) > 79 and len(line.split()) > 2] == []
    assert ("| cat" in shown) == (name == "checks")
