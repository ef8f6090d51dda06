# SPDX-License-Identifier: Apache-2.0
"""
Checks of this very machine, as a mount namespace shows it: sysfs with an
adapter, nodes that can and cannot be opened, memory and limits as Docker gives
them, a port that is in use.
"""

import json
import os
import resource
import shutil
import socket
import subprocess

import pytest

from box import BASE

SETUP = """
set -e
mount --make-rprivate /
mount --bind "$ROOT/class" /sys/class
mount --bind "$ROOT/module" /sys/module
mount -t tmpfs -o size=64m tmpfs /dev/shm
mount -t tmpfs ${NODE_OPTIONS:+-o $NODE_OPTIONS} tmpfs "$ROOT/dev"
if [ -n "$NODES" ]; then
    mount -t tmpfs tmpfs /mnt
    cp -a /dev/null "$ROOT/dev/uverbs0"
    cp -a /dev/null "$ROOT/dev/rdma_cm"
    chmod "$NODES" "$ROOT/dev/uverbs0"
    for node in null zero full random urandom tty; do
        touch "/mnt/$node"
        mount --bind "/dev/$node" "/mnt/$node"
    done
    mkdir /mnt/infiniband /mnt/shm
    mount --bind "$ROOT/dev" /mnt/infiniband
    mount -t tmpfs -o size=64m tmpfs /mnt/shm
    mount --rbind /mnt /dev
fi
exec setpriv --bounding-set=-ipc_lock,-dac_override --inh-caps=-all "$@"
"""

PORT = {"link_layer": "InfiniBand", "state": "4: ACTIVE", "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)", "sm_lid": "0x1"}


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


@pytest.fixture(name="adapter")
def make_adapter(tmp_path):
    """One HCA, as sysfs shows it in any container; the number is that of /dev/null."""
    root = str(tmp_path / "root")
    for name, text in PORT.items():
        put(f"{root}/class/infiniband/mlx5_ib0/ports/1/{name}", text)
    put(f"{root}/class/infiniband/mlx5_ib0/node_type", "1: CA")
    put(f"{root}/class/infiniband_verbs/uverbs0/ibdev", "mlx5_ib0")
    put(f"{root}/class/infiniband_verbs/uverbs0/dev", "1:3")
    put(f"{root}/module/mlx5_core/version", "23.10-1.1.9")
    os.makedirs(f"{root}/dev")
    return root


def limit_memlock():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


def look(rankinit, root, options, **env):
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", SETUP, "sh", rankinit, "--check=json", *options],
        env={**BASE, "ROOT": root, **env}, capture_output=True, timeout=60, check=False,
        preexec_fn=limit_memlock)
    if b"Operation not permitted" in done.stderr or b"permission denied" in done.stderr:
        pytest.skip("a mount namespace cannot be made here")
    assert done.returncode in (0, 123), done.stderr.decode()
    return done.returncode, json.loads(done.stdout)["checks"]


def of(checks, name):
    return [(check["status"], check["code"]) for check in checks if check["id"] == name]


def test_docker_default(rankinit, adapter):
    """Adapters in sysfs, no nodes, 64 MiB of shared memory, 64 KiB to lock."""
    status, checks = look(rankinit, adapter,
                          ["--require=ofed", "--checks=ib.*,shm.size,lim.memlock"])
    assert status == 123
    failed = {check["code"]: check["hint"] for check in checks if check["status"] == "fail"}
    assert "--device=/dev/infiniband" in failed["ib.uverbs.absent"]
    assert "--shm-size" in failed["shm.size.small"]
    assert "--ulimit memlock=-1:-1" in failed["lim.memlock.small"]
    assert len(failed) >= 3


def test_node(rankinit, adapter):
    _, checks = look(rankinit, adapter, ["--checks=ib.uverbs"], NODES="666")
    assert of(checks, "ib.uverbs") == [("pass", None)]


def test_node_of_another_device(rankinit, adapter):
    put(f"{adapter}/class/infiniband_verbs/uverbs0/dev", "1:7")
    _, checks = look(rankinit, adapter, ["--checks=ib.uverbs"], NODES="666")
    assert of(checks, "ib.uverbs") == [("note", "ib.uverbs.stale")]


def test_mode(rankinit, adapter):
    """Without CAP_DAC_OVERRIDE root is a user as any."""
    status, checks = look(rankinit, adapter, ["--checks=ib.uverbs", "--require=ofed"], NODES="000")
    assert of(checks, "ib.uverbs") == [("fail", "ib.uverbs.mode")]
    assert status == 123


def check_port(rankinit, port, *before):
    done = subprocess.run(
        [*before, rankinit, "--check=json", "--checks=net.masterport", "--rank=0", "--world-size=2",
         "--local-rank=0", "--local-world-size=2", "--master-addr=127.0.0.1",
         f"--master-port={port}"], env=BASE, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return of(json.loads(done.stdout)["checks"], "net.masterport")


def test_master_port(rankinit):
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        port = taken.getsockname()[1]
        taken.listen()
        assert check_port(rankinit, port) == [("warn", "net.masterport.taken")]
    assert check_port(rankinit, port) == [("pass", None)]


def test_master_port_that_cannot_be_tried(rankinit, actor):
    """Only for a low port is it said to be the port's fault that this user may not open it."""
    for error, port, expected in (("EACCES", 400, ("warn", "net.masterport.denied")),
                                  ("EACCES", 29400, ("unknown", "net.masterport.unknown")),
                                  ("EPERM", 400, ("unknown", "net.masterport.unknown"))):
        before = [actor("deny"), f"bind={error}", "--"]
        assert check_port(rankinit, port, *before) == [expected], (error, port)
