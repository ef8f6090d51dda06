# SPDX-License-Identifier: Apache-2.0
"""
Which tests run where there is no time for all of them. Tests that differ in their parameters alone
are of one kind: with CHECK_SAMPLE pytest runs one of each kind, the first, which shows that all of
them can run somewhere. With CHECK_CORE it runs those that CORE names. pytest counts the others as
deselected.
"""

import os

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Of targets that take long: files, kinds and single tests. `make nightly` runs all.
CORE = {
    "tests/dist": [
        "test_artefacts.py", "test_releasing.py",
        "test_wheel.py::test_what_is_in_it", "test_wheel.py::test_the_record_is_right",
        "test_wheel.py::test_the_tags_are_those_of_its_name",
        "test_wheel.py::test_two_builds_are_the_same_bytes",
        "test_wheel.py::test_the_lines_of_the_page_in_a_new_venv",
        "test_wheel.py::test_pip_takes_no_wheel_of_another_processor",
        "test_wheel.py::test_names"],
    "images/compose": [
        "test_compose.py::test_syntax", "test_compose.py::test_nodes_are_all_alike",
        "test_compose.py::test_each_file_is_tested_and_listed",
        "test_compose.py::test_torch_per_node", "test_compose.py::test_mpi",
        "test_compose.py::test_unfit_node",
        "test_compose.py::test_a_rank_is_killed_and_all_nodes_are_told",
        "test_link_nodes.py::test_a_rank_of_node_0_fails", "test_manifests.py",
        "test_pods.py::test_an_indexed_job_that_fails"],
    # each launcher once, a failure, a restart and a hang; of FRAMEWORKS_CORE in the Makefile
    "tests/frameworks": [
        *(f"test_launched.py::test_the_rank_below_a_launcher[{one}]" for one in (
            "torchrun-exception", "torch.distributed.launch-exit", "accelerate-abort",
            "deepspeed-kill", "bash -c torchrun-import", "mpirun (Open MPI 4)-exception",
            "mpirun (Open MPI 5)-segv", "mpirun (MPICH 5)-linger", "mpirun (Intel MPI)-abort",
            "mpiexec.hydra (MPICH 4)-kill", "srun-exit", "Ray-exception")),
        "test_launched.py::test_the_page_has_the_table",
        *(f"test_behind.py::test_the_launcher_sees_what_it_sees_without[{one}]" for one in (
            "mpirun (Open MPI 4)-exception", "mpirun (Open MPI 5)-segv",
            "mpiexec.hydra (MPICH 4)-kill", "mpirun (MPICH 5)-exit", "mpirun (Intel MPI)-import",
            "srun-exit")),
        "test_behind.py::test_the_others_lose_it[mpirun (Open MPI 4)-kill]",
        "test_behind.py::test_after_mpi_init[mpiexec.hydra (MPICH 4)-exit]",
        "test_behind.py::test_a_healthy_job_is_silent[mpirun (Open MPI 4)]",
        "test_behind.py::test_the_page_has_the_table",
        "test_behind_process.py::test_each_process_gets_each_signal_once"
        "[mpirun (Open MPI 4)-term]",
        "test_behind_process.py::test_a_long_verdict_is_one_write",
        "test_shapes.py::test_all_ranks_take_part[mpi-per-process]",
        "test_shapes.py::test_all_ranks_take_part[pytorch-torchrun]",
        "test_shapes.py::test_all_ranks_take_part[slurm-per-process]",
        "test_torch.py::test_the_rank_that_failed_first",
        "test_restarts.py::test_a_restart_that_helped",
        "test_restarts.py::test_a_job_that_failed_again",
        "test_autopsy.py::test_the_suspect[sleep]",
        "test_recipes.py::test_every_block_is_run",
        "test_recipes.py::test_nobody_writes_a_rank_by_hand",
        "test_recipes.py::test_what_trains_is_what_is_installed",
        "test_recipes.py::test_versions[torch]"],
}


def kind(item):
    return item.nodeid.partition("[")[0]


def names_of(item):
    """Where it is below its folder, and what CORE may call it: itself, its kind, or its file."""
    folder, file = os.path.split(os.path.relpath(str(item.fspath), TOP))
    inner = file + "::" + item.nodeid.partition("::")[2]
    return folder, {inner, inner.partition("[")[0], file}


def is_core(item, found):
    folder, names = names_of(item)
    here = names & set(CORE[folder])
    found.setdefault(folder, set()).update(here)
    return bool(here)


def first_of_each_kind(items):
    first = {}
    for item in items:
        first.setdefault(kind(item), item)
    return list(first.values())


def core_of(items):
    found = {}
    kept = [item for item in items if is_core(item, found)]
    missing = [name for folder in found for name in CORE[folder] if name not in found[folder]]
    if missing:
        raise pytest.UsageError(f"no test is called so any more: {', '.join(missing)}")
    return kept


def pytest_collection_modifyitems(config, items):
    if os.environ.get("CHECK_CORE"):
        kept = core_of(items)
    elif os.environ.get("CHECK_SAMPLE"):
        kept = first_of_each_kind(items)
    else:
        return
    here = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in here])
    items[:] = kept
