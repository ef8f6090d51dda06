# SPDX-License-Identifier: Apache-2.0
"""
Checks in real containers: a recorded machine as the image, its sysfs mounted
over /sys, and one option of docker run after the other. An engine has to answer.
"""

import itertools
import json
import os
import re
import shutil
import subprocess

import pytest

from test_check_hosts import TWO, WIDE
from toggle import Toggle, changed, make_image, parse

NAME = f"rankinit-test-{os.getpid()}"
# What an engine gives where nobody says else differs; lower limits can always be had.
FIRST = ["--hostname=node-0", "--ulimit=nofile=8192:8192", "--ulimit=memlock=65536:65536",
         "--ulimit=core=0", "--tmpfs=/tmp"]
# ConnectX-3, so there is one node; /dev/fuse is in no container by itself
MACHINE, NODE = "az-nc24rs-v3", "/dev/fuse"
NUMBERS = itertools.count()
# the part of Docker's own filter, until version 23, that ranks stumble over
FILTER = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
    {"names": ["process_vm_readv", "set_mempolicy"], "action": "SCMP_ACT_ERRNO"}]}


class Engine:
    """docker, and an image of each machine, all of which is gone in the end."""

    def __init__(self, docker, rankinit, folder):
        self.docker, self.rankinit, self.folder = docker, rankinit, folder
        self.images, self.seen = {}, {}
        self.words = {"NODE": NODE, "FILTER": folder + "/filter"}
        with open(self.words["FILTER"], "w", encoding="ascii") as file:
            json.dump(FILTER, file)

    def call(self, *words, **options):
        return subprocess.run([self.docker, *words], capture_output=True, timeout=120,
                              check=False, **options)

    def image(self, machine):
        """Its sysfs, and the image, which has none."""
        if machine not in self.images:
            root = make_image(machine, self.rankinit, f"{self.folder}/{machine}",
                              "{}:{}".format(*numbers(NODE)))
            name = f"{NAME}-{machine}"
            tar = subprocess.Popen(["tar", "-C", root, "--exclude=./sys/*", "-c", "."],
                                   stdout=subprocess.PIPE)
            made = self.call("import", "-", name, stdin=tar.stdout)
            tar.stdout.close()
            assert tar.wait() == 0 and made.returncode == 0, made.stderr.decode()
            self.images[machine] = (root + "/sys", name)
        return self.images[machine]

    def run(self, machine, options, command):
        """docker run; SYSFS, NODE and FILTER in options are filled in."""
        sysfs, image = self.image(machine)
        filled = {**self.words, "SYSFS": f"{sysfs}:/sys:ro"}
        options = [re.sub("SYSFS|NODE|FILTER", lambda match: filled[match[0]], word)
                   for word in options]
        name = f"{NAME}-{next(NUMBERS)}"
        try:
            return self.call("run", "--rm", f"--name={name}", *FIRST, *options, image, "/rankinit",
                             *command)
        except subprocess.TimeoutExpired:
            self.call("rm", "-f", name)
            raise

    def close(self):
        for _, image in self.images.values():
            self.call("rmi", "-f", image)


def numbers(path):
    device = os.stat(path).st_rdev
    return os.major(device), os.minor(device)


@pytest.fixture(scope="session", name="engine")
def engine_fixture(rankinit, tmp_path_factory):
    docker = shutil.which("docker")
    if docker is None:
        pytest.skip("docker is not installed")
    asked = subprocess.run([docker, "info", "--format={{json .}}"], capture_output=True, timeout=60,
                           check=False)
    if asked.returncode != 0 or json.loads(asked.stdout).get("ServerErrors"):
        pytest.skip("no Docker engine answers: " + asked.stderr.decode().strip()[:200])
    if not os.path.exists(NODE):
        pytest.skip(f"there is no {NODE} to hand on")
    engine = Engine(docker, rankinit, str(tmp_path_factory.mktemp("docker")))
    try:
        tried = engine.run(MACHINE, ["-v", "SYSFS"], ["--check=json", "--checks=ib.dev"])
        if b"mlx4_0" not in tried.stdout:
            pytest.skip("the Docker engine runs no container that sees our files: "
                        + tried.stderr.decode().strip()[:200])
        yield engine
    finally:
        engine.close()


def env_options(words):
    return [f"--env={word}" for word in words if not word.startswith("-")]


@pytest.fixture(name="look")
def look_fixture(engine):
    def look(options, words=()):
        key = (options, *words)
        if key not in engine.seen:
            asked = [word for word in words if word.startswith("-")]
            engine.seen[key] = parse(engine.run(
                MACHINE, [*options.split(), *env_options(words)],
                ["--check=json", "--checks=all", *asked]))
        return engine.seen[key]
    return look


SHM = ["pass - /dev/shm"]
SMALL = ["note shm.size.small /dev/shm"]
VERBS = ["pass - /dev/infiniband"]
ABSENT = ["note ib.uverbs.absent mlx4_0"]
CONTROL, DRIVER = "/dev/nvidiactl", "/proc/driver/nvidia/version"
# a node of the driver's, and nothing else of it
GPU = {
    "gpu.vendor": (["skip - /dev"], ["pass - /dev"]),
    "gpu.dev": ([f"skip - {CONTROL}"], ["note gpu.dev.uvm /dev/nvidia-uvm"]),
    "gpu.compat": ([f"skip - {CONTROL}"], [f"unknown gpu.compat.unknown {DRIVER}"]),
    "gpu.libcuda": ([f"skip - {CONTROL}"], ["pass - /usr/lib/libcuda.so.1"]),
    "gpu.libver": ([f"skip - {CONTROL}"], ["skip - libcuda.so.1"]),
    "nccl.env": ([f"skip - {CONTROL}"], ["pass - NCCL_TOPO_FILE"]),
}
MEMORY = ["note lim.memlock.small memlock"]

TOGGLES = {
    "shm_size": Toggle("--shm-size=2g", {"shm.size": (SMALL, SHM)}),
    "shm_size_for_eight": Toggle("--shm-size=2g", {
        "shm.size": (["warn shm.size.small /dev/shm"], SHM)}, WIDE,
        both=f"--device=NODE:{CONTROL}"),
    "ipc_host": Toggle("--ipc=host", {"shm.size": (SMALL, SHM)}),
    "tmpfs": Toggle("--tmpfs=/dev/shm:size=2g", {"shm.size": (SMALL, SHM)}),
    "ipc_none": Toggle("--ipc=none", {
        "shm.size": (SMALL, ["note shm.size.absent /dev/shm"]),
        "shm.free": (SHM, ["skip - /dev/shm"]),
        "shm.write": (SHM, ["skip - /dev/shm"])}),
    "read_only": Toggle("--read-only", {}),
    "nofile": Toggle("--ulimit=nofile=1024:1024", {
        "lim.nofile": (["pass - nofile"], ["note lim.nofile.small nofile"])}),
    "nproc": Toggle("--ulimit=nproc=100:100", {
        "lim.nproc": (["pass - pids.max", "pass - nproc"],
                      ["pass - pids.max", "note lim.nproc.small nproc"])},
        both="--user=65534 --ulimit=nproc=5000:5000"),
    "ipc_lock": Toggle("--cap-add=IPC_LOCK", {
        "lim.memlock": (MEMORY, ["pass - memlock"])}, both="-v SYSFS"),
    "ipc_lock_of_a_user": Toggle("--cap-add=IPC_LOCK", {}, both="-v SYSFS --user=65534"),
    "no_capabilities": Toggle("--cap-drop=ALL", {}, both="-v SYSFS"),
    "no_new_privileges": Toggle("--security-opt=no-new-privileges", {}),
    "pids": Toggle("--pids-limit=50", {
        "lim.nproc": (["pass - pids.max"], ["note lim.nproc.small pids.max"])}),
    "memory": Toggle("--memory=1g", {
        "cg.mem": (["pass - memory"], ["note cg.mem.small memory"])}),
    "memory_enough": Toggle("--memory=4g", {}),
    "cpus": Toggle("--cpus=0.5", {"cg.cpu": (["pass - cpu"], ["note cg.cpu.small cpu"])}),
    "cpus_for_two": Toggle("--cpus=1.5", {
        "cg.cpu": (["pass - cpu"], ["note cg.cpu.small cpu"])}, TWO),
    "unconfined": Toggle("--security-opt=seccomp=unconfined", {
        "seccomp": ("filter", "off")}, both="--cap-add=SYS_PTRACE --cap-add=SYS_NICE"),
    "filter": Toggle("--security-opt=seccomp=FILTER", {
        "seccomp": ("off", "filter"),
        "mpi.cma": (["pass - process_vm_readv"], ["note mpi.cma.denied process_vm_readv"]),
        "membind": ("allowed", "forbidden (EPERM)")},
        both="--security-opt=seccomp=unconfined"),
    "filter_for_two": Toggle("--security-opt=seccomp=FILTER", {
        "seccomp": ("off", "filter"),
        "mpi.cma": (["pass - process_vm_readv"], ["warn mpi.cma.denied process_vm_readv"]),
        "membind": ("allowed", "forbidden (EPERM)")},
        TWO, both="--security-opt=seccomp=unconfined"),
    "init": Toggle("--init", {
        "pid1": ("rankinit", "another program")}),
    "no_network": Toggle("--network=none", {
        "net.hostname": (["pass - node-0"], ["note net.hostname.unresolved node-0"]),
        "net.loopback": (["pass - node-0"], ["skip - hostname"]),
        "mtu_eth0": ("1500", None)}, WIDE),
    "add_host": Toggle("--add-host=node-0:127.0.1.1", {
        "net.hostname": (["note net.hostname.unresolved node-0"], ["pass - node-0"]),
        "net.loopback": (["skip - hostname"], ["note net.loopback.name node-0"])}, WIDE,
        both="--network=none"),
    "gpu": Toggle(f"--device=NODE:{CONTROL}", {
        **GPU, "gpu.open": ([f"skip - {CONTROL}"], [f"pass - {CONTROL}"])}),
    # what systemd leaves behind when it is loaded anew
    "gpu_read_only": Toggle(f"--device=NODE:{CONTROL}:r", {
        **GPU, "gpu.open": ([f"skip - {CONTROL}"], [f"warn gpu.open.refused {CONTROL}"])}),
    "ib": Toggle("--device=NODE:/dev/infiniband/uverbs0 --device=NODE:/dev/infiniband/rdma_cm", {
        "ib.uverbs": (ABSENT, VERBS),
        "rdma_cm": ("No such file or directory", "can be opened")}, both="-v SYSFS"),
    "ib_read_only": Toggle("--device=NODE:/dev/infiniband/uverbs0:r", {
        "ib.uverbs": (["fail ib.uverbs.absent mlx4_0"], ["fail ib.uverbs.denied mlx4_0"])},
        ["--require=ofed"], both="-v SYSFS"),
    # a bind mount brings the node and not the right to open it
    "ib_volume": Toggle("-v NODE:/dev/infiniband/uverbs0", {
        "ib.uverbs": (["fail ib.uverbs.absent mlx4_0"], ["fail ib.uverbs.denied mlx4_0"])},
        ["--require=ofed"], both="-v SYSFS"),
}


@pytest.mark.parametrize("name", TOGGLES)
def test_toggle(look, name):
    toggle = TOGGLES[name]
    assert changed(toggle, lambda change: look(f"{toggle.both} {change}".strip(),
                                               toggle.words)) == toggle.said


# A container as `docker run` gives it, on a node with adapters: the three things it lacks, each
# with what gives them to it, by docker, Kubernetes and Azure ML.
DEFAULT = ["-v", "SYSFS"]
CMA = ["--cap-add=SYS_PTRACE"]      # which older engines keep from MPI ranks
FLAGS = {
    "ib.uverbs": ["docker run --device=/dev/infiniband", "Kubernetes: the resource of an RDMA",
                  'Azure ML: docker_args: "--device=/dev/infiniband"'],
    "shm.size": ["docker run --shm-size=16g", "Kubernetes: an emptyDir with medium: Memory",
                 "Azure ML: shm_size: 16g"],
    "lim.memlock": ["docker run --ulimit memlock=-1:-1", "securityContext.capabilities.add: "
                    "[IPC_LOCK]", 'Azure ML: docker_args: "--ulimit memlock=-1:-1"'],
}
SUBJECTS = {"ib.uverbs": "mlx4_0", "shm.size": "/dev/shm", "lim.memlock": "memlock"}


def test_unfit(engine, look):
    document = look("-v SYSFS", ["--require=ofed"])
    failed = {one["id"]: one for one in document["checks"] if one["status"] == "fail"}
    assert {name: one["subject"] for name, one in failed.items()} == SUBJECTS
    assert [flag for name in FLAGS for flag in FLAGS[name]
            if flag not in failed[name]["hint"]] == []
    assert "64 MiB" in failed["shm.size"]["text"] and "64 KiB" in failed["lim.memlock"]["text"]
    shown = engine.run(MACHINE, DEFAULT, ["--check", "--require=ofed"])
    text = " ".join(shown.stdout.decode().split())
    assert shown.returncode == 123 and "3 fail" in text and text.endswith("not fit")
    assert [flag for flags in FLAGS.values() for flag in flags if flag not in text] == []


def test_unfit_launch(engine):
    """It is refused, in one line for each of the three and one that says why."""
    launch = ["--require=ofed", "--", "/rankinit", "--version"]
    refused = engine.run(MACHINE, [*DEFAULT, *CMA, *env_options(TWO)], launch)
    lines = refused.stderr.decode().splitlines()
    assert (refused.returncode, refused.stdout) == (123, b"")
    found = {name: [line for line in lines if f" [{name}." in line] for name in FLAGS}
    assert [len(found[name]) for name in FLAGS] == [1, 1, 1] and len(lines) == 5, lines
    for name, flags in FLAGS.items():
        assert found[name][0].startswith(f"rankinit: error: {SUBJECTS[name]}: ")
        assert [flag for flag in flags if flag not in found[name][0]] == []
    assert lines[-2].endswith("[check.unfit]")
    assert lines[-1].startswith("rankinit: verdict cause=unfit "), lines
    # a command without an identity is let through; it is a rankinit, and may look itself
    alone = engine.run(MACHINE, DEFAULT, launch)
    assert alone.returncode == 0 and alone.stdout.startswith(b"rankinit ")
    assert alone.stderr == b""
    inner = ["--require=ofed", "--", "/rankinit", "--nproc-per-node=1", "/rankinit", "--version"]
    below = engine.run(MACHINE, [*DEFAULT, *CMA], inner)
    assert (below.returncode, below.stdout) == (123, b"")
    assert below.stderr.decode().splitlines()[-2].endswith("[check.unfit]")
    baked = engine.run(MACHINE, [*DEFAULT, "--env=RANKINIT_REQUIRE=ofed"], launch[1:])
    assert (baked.returncode, baked.stderr) == (0, b"")


def test_fit_launch(engine):
    """With what the hints say."""
    options = [*DEFAULT, *env_options(TWO), "--device=NODE:/dev/infiniband/uverbs0",
               "--shm-size=2g", "--cap-add=IPC_LOCK", *CMA]
    result = engine.run(MACHINE, options, ["--require=ofed", "--", "/rankinit", "--version"])
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"rankinit ")
