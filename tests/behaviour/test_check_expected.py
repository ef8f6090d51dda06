# SPDX-License-Identifier: Apache-2.0
"""
What the kind of job asks of a node by itself: MPI, shared memory, adapters;
and what is required, whatever else is said.
"""

import json
import os
import shutil

import pytest

import test_check
from box import warned
from test_check_hosts import TWO, WIDE, grow, lines_of, look


def said(rankinit, root, check, words):
    return [line.split()[0] for line in lines_of(look(rankinit, root, words))
            if line.split()[1] == check]


def env(prefix, **numbers):
    return [f"{prefix}{name}={number}" for name, number in numbers.items()]


# Who starts the ranks of an MPI job, and nothing else.
MPI_JOBS = {
    "openmpi": env("OMPI_COMM_WORLD_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2),
    "hydra": ["PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=9", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"],
    "mvapich2": env("MV2_COMM_WORLD_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2),
}
# Who starts whatever it is told to; that it offers PMI or PMIx is no word on the program.
STARTERS = {
    "slurm": [*env("SLURM_", PROCID=0, NTASKS=2, LOCALID=0, STEP_ID=0, JOB_ID=7, NNODES=1),
              "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_STEP_NODELIST=n0", "SLURM_STEP_NUM_TASKS=2",
              "PMI_RANK=0", "PMI_SIZE=2", "PMIX_RANK=0"],
    "jsm": [*env("JSM_NAMESPACE_", RANK=0, SIZE=2, LOCAL_RANK=0, LOCAL_SIZE=2), "PMIX_RANK=0"],
    "pals": [*env("PALS_", RANKID=0, NODEID=0, LOCAL_RANKID=0, LOCAL_SIZE=2),
             "PMI_RANK=0", "PMI_SIZE=2"],
    "flux": [*env("FLUX_", TASK_RANK=0, JOB_SIZE=2, TASK_LOCAL_ID=0, JOB_NNODES=1),
             "FLUX_JOB_ID=f1", "PMI_RANK=0", "PMI_SIZE=2"],
    "torchrun": ["RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2",
                 "GROUP_RANK=0", "TORCHELASTIC_RUN_ID=1"],
}


@pytest.mark.parametrize("source", [*MPI_JOBS, *STARTERS])
def test_mpi(rankinit, tmp_path, source):
    """A job of MPI in an image without it is warned of; others may do without."""
    root = str(tmp_path / "root")
    grow("no-mpi", root)
    words = MPI_JOBS.get(source) or STARTERS[source]
    expected = ["warn"] if source in MPI_JOBS else ["note"]
    assert said(rankinit, root, "mpi.present", words) == expected


ONE = env("OMPI_COMM_WORLD_", RANK=0, SIZE=1, LOCAL_RANK=0, LOCAL_SIZE=1)


@pytest.mark.parametrize("gpus, words, expected", [
    (True, TWO, "warn"), (True, ONE, "note"), (False, TWO, "note")])
def test_shared_memory(rankinit, tmp_path, gpus, words, expected):
    """Several ranks with GPUs hand data through /dev/shm, of which Docker gives 64 MiB."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    if not gpus:
        os.remove(f"{root}/dev/nvidiactl")
    assert said(rankinit, root, "shm.size", words) == [expected]


@pytest.mark.parametrize("adapter, words, expected", [
    (True, WIDE, "warn"), (True, TWO, "note"), (False, WIDE, "skip")])
def test_adapters(rankinit, tmp_path, adapter, words, expected):
    """Several nodes with InfiniBand want it opened; without adapters nobody asks."""
    root = str(tmp_path / "root")
    grow("docker-default", root)
    if not adapter:
        shutil.rmtree(f"{root}/sys/class/infiniband")
    # the accelerated network's device lacks its node too, which nobody needs
    assert said(rankinit, root, "ib.uverbs", words)[0] == expected


def test_a_list_takes_nothing_from_what_is_required(box):
    for options in (["--checks=lim.nofile"], ["--checks=lim.nofile", "--check"]):
        words = [*options, "--", "true"]
        unfit = box.run(test_check.UNMET, *words, env=test_check.ONE)
        assert unfit.status == 123, options
        assert box.run(*words, env=test_check.ONE).status == 0, "the control"


def test_nothing_to_look_at_is_no_pass_of_what_is_required(box, tmp_path):
    """By its id; --expect and a check that nobody asks for may be skipped."""
    (tmp_path / "root").mkdir()
    where = ["--check=json", f"--root={tmp_path}/root"]
    unmet = box.run("--require=gpu.libcuda", *where)
    found, = [each for each in json.loads(unmet.out)["checks"] if each["id"] == "gpu.libcuda"]
    assert unmet.status == 123
    assert (found["status"], found["code"]) == ("unknown", "check.skipped")
    assert box.run("--expect=gpu.libcuda", *where).status == 0


# Who refuses, of several ranks, and who says why.

def test_a_level_of_fail_makes_each_rank_look(box):
    """None of them may begin, whichever option it is that finds the node unfit."""
    words = [f"--expect={test_check.HUGE}", "--", "sh", "-c", "echo ran"]
    for number in (0, 1, 3):
        rank = test_check.rank(number, 4)
        result = box.run("--check-level=shm.size=fail", *words, env=rank)
        assert (result.status, result.out) == (123, b""), number
        assert result.lines()[-1].startswith("rankinit: error: --check-level: this node is not fit")
        twin = box.run(*words, env={**rank, "RANKINIT_CHECK_LEVEL": "shm.*=fail"})
        assert (twin.status, "error: RANKINIT_CHECK_LEVEL: " in twin.err) == (123, True)
        mild = box.run("--check-level=shm.size=warn", *words, env=rank)
        assert (mild.status, mild.out) == (0, b"ran\n"), "the control"


def test_a_rank_says_what_local_rank_0_cannot_see(box):
    """The limit of one rank is lower: in a line, with what local rank 0 has no reason to say."""
    words = ["--require=lim.nofile,lim.core", "--", "sh", "-c", "echo ran"]
    first = box.run(*words, env=test_check.rank(0), shell="ulimit -n 5000; ulimit -c 0")
    assert (first.status, first.out, first.err) == (0, b"ran\n", "")
    other = box.run(*words, env=test_check.rank(1), shell="ulimit -n 1000; ulimit -c 0")
    assert (other.status, other.out, len(other.lines())) == (123, b"", 1)
    line, = other.lines()
    assert line.startswith("rankinit: error: --require: this node is not fit for the job: "
                           "lim.nofile (nofile: a process may have 1000 open files; expected ")


# What is required and left out.

def test_no_checks_leave_out_what_is_required_and_say_so(box):
    """Once on a node; it is how a launch gets past what an image requires, and not in silence."""
    words = [test_check.UNMET, "--", "sh", "-c", "echo ran"]
    for options, env, subject, other in (
            (["--checks=none"], {}, "--require", "--checks=none"),
            ([], {"RANKINIT_CHECKS": "none"}, "--require", "RANKINIT_CHECKS=none")):
        result = box.run(*options, *words, env={**test_check.ONE, **env})
        assert (result.status, result.out) == (0, b"ran\n")
        assert f" as {other} leaves out" in warned(result, "check.unasked", subject)
        rest = box.run(*options, *words, env={**test_check.rank(1), **env})
        assert (rest.status, rest.out, rest.err) == (0, b"ran\n", "")
    image = {**test_check.ONE, "RANKINIT_REQUIRE": test_check.HUGE}
    warned(box.run("--checks=none", "--", "true", env=image), "check.unasked", "RANKINIT_REQUIRE")
    asked = box.run("--check", "--checks=none", test_check.UNMET)
    assert (asked.status, asked.out) == (0, b"no check was run\n")
    warned(asked, "check.unasked", "--require")
    level = box.run("--checks=none", "--check-level=shm.size=fail", "--", "true",
                    env=test_check.ONE)
    warned(level, "check.unasked", "--check-level")
    assert box.run("--checks=none", "--", "true", env=test_check.ONE).err == "", "the control"
