# SPDX-License-Identifier: Apache-2.0
"""--bind-to, --omp-threads and --gpu-bind on this machine's own CPUs."""

import json
import os
import shutil

import pytest

import cpus
import peek
from box import refused, warned
from peek import free_port

SHOW = ["grep", "^Cpus_allowed_list:", "/proc/self/status"]
several_cpus = pytest.mark.skipif(len(cpus.ours()) < 2, reason="one CPU is all there is here")


def rank(index, count):
    return {"OMPI_COMM_WORLD_RANK": str(index), "OMPI_COMM_WORLD_SIZE": str(count),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(index), "OMPI_COMM_WORLD_LOCAL_SIZE": str(count)}


def bound(result):
    """The CPUs that the command may run on."""
    assert result.status == 0, result.err
    return cpus.listed(result.out.decode().split()[1])


@pytest.mark.parametrize("place", ["init", "below"])
def test_without_it_nothing_changes(box, place):
    """The control."""
    assert bound(box.run("--", *SHOW, place=place)) == cpus.ours()
    assert bound(box.run("--", *SHOW, place=place, env=rank(1, 2))) == cpus.ours()
    assert bound(box.run("--bind-to=none", "--", *SHOW, place=place)) == cpus.ours()


@several_cpus
@pytest.mark.parametrize("more", [[], ["--supervise=never"], ["--user=nobody"],
                                  ["--supervise=always"]], ids=str)
def test_a_node_for_each(box, more):
    found = [bound(box.run("--bind-to=numa", *more, "--", *SHOW, env=rank(index, 2),
                           shell=cpus.two_nodes())) for index in range(2)]
    assert found == cpus.halves()


@several_cpus
def test_rankinit_itself_stays_where_it_is(box):
    result = box.run("--bind-to=numa", "--", "sh", "-c",
                     f"{' '.join(SHOW)}; grep ^Cpus_allowed_list: /proc/1/status",
                     env=rank(1, 2), shell=cpus.two_nodes())
    child, own = result.out.decode().splitlines()
    assert cpus.listed(child.split()[1]) == cpus.halves()[1]
    assert cpus.listed(own.split()[1]) == cpus.ours()


@several_cpus
def test_never_outside_of_what_was_inherited(box):
    one = max(cpus.ours())
    shell = f"taskset -p -c {one} $$ >/dev/null"
    if shutil.which("taskset") is None:
        pytest.skip("there is no taskset")
    # the control
    assert bound(box.run("--", *SHOW, shell=shell)) == {one}
    assert bound(box.run("--bind-to=numa", "--", *SHOW, shell=shell)) == {one}


@several_cpus
def test_what_a_launcher_has_bound_stays(box):
    """A launcher's own CPUs are more than ours: it gave us our share."""
    if shutil.which("taskset") is None:
        pytest.skip("there is no taskset")
    one = max(cpus.ours())
    words = ["sh", "-c", f'taskset -c {one} "$@"; exit $?', "sh", box.rankinit, "-v",
             "--bind-to=numa", "--", *SHOW]
    result = box.run(*words[1:], program=words[0], place="below", env=rank(1, 2))
    assert bound(result) == {one}
    assert "the launcher has already bound this rank [placement.kept]" in result.err
    # the control: the same without a launcher that has more
    shell = f"taskset -p -c {one} $$ >/dev/null"
    result = box.run("-v", "--bind-to=numa", "--", *SHOW, shell=shell, env=rank(1, 2))
    assert "already bound" not in result.err


def test_nodes_in_turn(box):
    if os.path.exists("/proc/driver/nvidia/gpus"):
        pytest.skip("the ranks have GPUs here")
    parts = cpus.nodes()
    for index in range(2):
        result = box.run("-v", "--bind-to=numa", "--", *SHOW, env=rank(index, 2))
        if len(parts) > 1:
            assert bound(result) == parts[index % len(parts)]
        else:
            assert bound(result) == cpus.ours()
            assert "[placement.kept]" in result.err


@pytest.mark.parametrize("options, there, expected", [
    ([], None, "unset"),
    (["--omp-threads=auto"], None, "unset"),
    (["--omp-threads=keep"], "5", "5"),
    (["--omp-threads=3"], None, "3"),
    (["--omp-threads=3"], "5", "3"),
    (["--omp-threads=4096"], None, "4096"),
])
@pytest.mark.parametrize("env", [{}, rank(0, 2)], ids=["alone", "a rank of mpirun"])
def test_threads(box, options, there, expected, env):
    result = box.run(*options, "--", "sh", "-c", "echo ${OMP_NUM_THREADS-unset}",
                     env={**env, "OMP_NUM_THREADS": there, "MASTER_PORT": str(free_port())})
    assert (result.status, result.out.decode().strip(), result.err) == (0, expected, "")


def test_threads_are_set_in_arguments_too(box):
    result = box.run("--omp-threads=3", "--", "echo", "--threads=$OMP_NUM_THREADS",
                     env=rank(0, 1))
    assert result.out == b"--threads=3\n"


def test_no_gpu_to_give(box):
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is one here")
    error = refused(box.run("--gpu-bind=single", "--", "true"), 125, "placement.refused",
                    "--gpu-bind")
    assert "0 of 1 would have one" in error
    assert box.run("--gpu-bind=none", "--", "true").status == 0


@pytest.mark.parametrize("command", ["torchrun", "mpirun"])
def test_a_launcher_is_not_bound(box, tmp_path, command):
    program = tmp_path / command
    program.write_text("#!/bin/sh\nexec " + " ".join(SHOW) + "\n")
    program.chmod(0o755)
    result = box.run("--bind-to=numa", "--gpu-bind=single", "--", program)
    assert bound(result) == cpus.ours()
    warned(result, "placement.kept", "--bind-to")
    warned(result, "placement.kept", "--gpu-bind")


def test_threads_of_the_whole_job_are_its_own(box, tmp_path):
    program = tmp_path / "mpirun"
    program.write_text("#!/bin/sh\necho ${OMP_NUM_THREADS-unset}\n")
    program.chmod(0o755)
    result = box.run("--omp-threads=3", "--", program)
    assert result.out == b"unset\n"
    warned(result, "placement.kept", "--omp-threads")
    # the control: a launcher of this node passes it on
    program.rename(tmp_path / "torchrun")
    assert box.run("--omp-threads=3", "--", tmp_path / "torchrun").out == b"3\n"


@several_cpus
def test_explained_as_it_is_done(box):
    words = ["--bind-to=numa", "--omp-threads=3"]
    nodes = cpus.two_nodes()
    told = json.loads(box.run("--explain=json", *words, "--", *SHOW, env=rank(1, 2),
                              shell=nodes).out)
    assert cpus.listed(told["ranks"][0]["cpus"]) == cpus.halves()[1]
    assert told["ranks"][0]["gpu"] is None
    assert told["ranks"][0]["set"]["OMP_NUM_THREADS"] == "3"
    assert bound(box.run(*words, "--", *SHOW, env=rank(1, 2), shell=nodes)) == cpus.halves()[1]
    text = box.run("--explain", *words, "--", *SHOW, env=rank(1, 2),
                   shell=nodes).out.decode()
    assert "\nPlacement\n  rank 1, CPUs " in text
    # the control
    told = json.loads(box.run("--explain=json", "--", *SHOW, env=rank(1, 2)).out)
    assert told["ranks"][0]["cpus"] is None
    assert "Placement" not in box.run("--explain", "--", *SHOW, env=rank(1, 2)).out.decode()


@pytest.mark.parametrize("option, subject", [
    ("--bind-to=socket", "--bind-to"), ("--bind-to=none,numa", "--bind-to"),
    ("--gpu-bind=closest", "--gpu-bind"), ("--omp-threads=0", "--omp-threads"),
    ("--omp-threads=4097", "--omp-threads"), ("--omp-threads=-1", "--omp-threads"),
    ("--omp-threads=many", "--omp-threads"), ("--omp-threads=1,2", "--omp-threads"),
])
def test_values_that_are_none(box, option, subject):
    assert "expected" in refused(box.run(option, "--", "true"), 125, "option.value", subject)


def test_the_twin_is_named(box):
    result = box.run("--", "true", env={"RANKINIT_BIND_TO": "socket"})
    refused(result, 125, "option.value", "RANKINIT_BIND_TO")
