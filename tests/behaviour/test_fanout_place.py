# SPDX-License-Identifier: Apache-2.0
"""Where the ranks run that are started here: CPUs, GPUs and threads of each."""

import json
import os

import pytest

import cpus
from box import refused

SHOW = ["sh", "-c", 'while read -r key list; do [ "$key" = Cpus_allowed_list: ] && '
                    'echo "$RANK $list ${CUDA_VISIBLE_DEVICES-all} ${OMP_NUM_THREADS-unset}"; '
                    'done </proc/self/status; true']
several_cpus = pytest.mark.skipif(len(cpus.ours()) < 2, reason="one CPU is all there is here")
no_gpu = pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU here")


def ranks(result):
    """CPUs, GPU and threads that each rank found, by rank."""
    assert result.status == 0, result.err
    found = {}
    for line in result.out.decode().splitlines():
        rank, numbers, gpu, threads = line.split()
        found[int(rank)] = (cpus.listed(numbers), gpu, threads)
    assert sorted(found) == list(range(len(found)))
    return [found[rank] for rank in sorted(found)]


def threads(count):
    """What auto makes of this machine, where no quota is in the way."""
    return str(max(1, len(cpus.ours()) // count))


def has_quota():
    for path in "/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us":
        try:
            with open(path, encoding="ascii") as file:
                if file.read().split()[0] not in ("max", "-1"):
                    return True
        except OSError:
            pass
    return False


no_quota = pytest.mark.skipif(has_quota(), reason="a quota counts too")


@no_quota
def test_threads_for_several_ranks(box):
    assert ranks(box.run("--nproc-per-node=2", "--", *SHOW)) == [
        (cpus.ours(), "all", threads(2))] * 2
    # more ranks than CPUs
    many = 2 * len(cpus.ours())
    assert ranks(box.run(f"--nproc-per-node={many}", "--", *SHOW)) == [
        (cpus.ours(), "all", "1")] * many


@pytest.mark.parametrize("options, env, expected", [
    (["--nproc-per-node=1"], {}, "unset"),
    (["--nproc-per-node=2", "--omp-threads=keep"], {}, "unset"),
    (["--nproc-per-node=2"], {"OMP_NUM_THREADS": "5"}, "5"),
    (["--nproc-per-node=2", "--omp-threads=3"], {"OMP_NUM_THREADS": "5"}, "3"),
    (["--nproc-per-node=1", "--omp-threads=3"], {}, "3"),
], ids=str)
def test_threads_as_they_are_or_as_stated(box, options, env, expected):
    assert {found[2] for found in ranks(box.run(*options, "--", *SHOW, env=env))} == {expected}


@no_quota
def test_threads_are_explained_and_in_words(box):
    result = box.run("-v", "--nproc-per-node=2", "--", "echo", "--threads=$OMP_NUM_THREADS")
    assert result.out.split() == [f"--threads={threads(2)}".encode()] * 2
    assert "[omp.threads]" in result.err
    told = json.loads(box.run("--explain=json", "--nproc-per-node=2", "--", "true").out)
    assert [rank["set"]["OMP_NUM_THREADS"] for rank in told["ranks"]] == [threads(2)] * 2


@several_cpus
def test_a_node_for_each(box):
    words = ["--nproc-per-node=2", "--bind-to=numa", "--", *SHOW]
    found = ranks(box.run(*words, shell=cpus.two_nodes()))
    assert [own for own, _, _ in found] == cpus.halves()
    assert {int(threads) for _, _, threads in found} == {min(map(len, cpus.halves()))}
    told = json.loads(box.run("--explain=json", *words, shell=cpus.two_nodes()).out)
    assert [cpus.listed(rank["cpus"]) for rank in told["ranks"]] == cpus.halves()


def test_nodes_in_turn(box):
    if os.path.exists("/proc/driver/nvidia/gpus"):
        pytest.skip("the ranks have GPUs here")
    parts = cpus.nodes()
    found = ranks(box.run("--nproc-per-node=2", "--bind-to=numa", "--", *SHOW))
    if len(parts) > 1:
        assert [own for own, _, _ in found] == [parts[0], parts[1]]
    else:
        assert [own for own, _, _ in found] == [cpus.ours()] * 2


@no_gpu
def test_a_gpu_for_each(box):
    """In a mount namespace of its own, with device nodes that nobody opens."""
    shell = ("mount -t tmpfs none /dev && mknod /dev/null c 1 3 && "
             "for i in ctl 0 1 2 3; do : >/dev/nvidia$i; done")
    words = ["--nproc-per-node=4", "--gpu-bind=single", "--", *SHOW]
    found = ranks(box.run(*words, shell=shell, env={"CUDA_VISIBLE_DEVICES": None}))
    assert [gpu for _, gpu, _ in found] == ["0", "1", "2", "3"]
    found = ranks(box.run("--nproc-per-node=gpu", *words[1:], shell=shell,
                          env={"CUDA_VISIBLE_DEVICES": "3,1"}))
    assert [gpu for _, gpu, _ in found] == ["3", "1"]
    # the control
    found = ranks(box.run(words[0], *words[2:], shell=shell, env={"CUDA_VISIBLE_DEVICES": "3,1"}))
    assert [gpu for _, gpu, _ in found] == ["3,1"] * 4
    error = refused(box.run("--nproc-per-node=5", *words[1:], shell=shell), 125,
                    "placement.refused", "--gpu-bind")
    assert "4 of 5 would have one" in error
