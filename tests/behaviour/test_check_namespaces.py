# SPDX-License-Identifier: Apache-2.0
"""
Checks of a recorded machine that runs: its image in namespaces of its own, with
a /proc, a /dev and a /dev/shm that are real, so that one thing after the other
can be taken from it, as runtimes of containers do.
"""

import os
import resource
import subprocess

import pytest

from box import BASE
from test_check_hosts import FULL, TWO, WIDE, grow, look as look_at
from toggle import Toggle, changed, make_image, parse, said_of

# In it: a copy of the image, and what a runtime makes. Nodes have the number of
# /dev/null, which the adapters have in sysfs. $1 is what is changed.
SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 machine "$POINT"
cp -a "$IMAGE/." "$POINT"
cd "$POINT"
mount -t proc proc proc
mount --bind driver proc/driver
mount --rbind /sys/fs/cgroup sys/fs/cgroup
while read -r node; do
    mkdir -p "dev/$(dirname "$node")"
    mknod -m 666 "dev/$node" c 1 3
done <nodes
mkdir dev/shm
mount -t tmpfs -o size=2g shm dev/shm
hostname node-0
eval "$1"
shift
${EXEC-exec} setpriv --bounding-set="${BOUNDS:--sys_resource}" --inh-caps=-all \
    ${AS:-chroot} "$POINT" /rankinit --check=json --checks=all "$@"
exit $?
"""
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--net", "--uts", "--ipc"]


@pytest.fixture(scope="session", name="image")
def image_fixture(rankinit, tmp_path_factory):
    root = tmp_path_factory.mktemp("image") / "root"
    return make_image(FULL, rankinit, str(root), "1:3")


@pytest.fixture(name="look")
def look_fixture(image, tmp_path, nsrun):
    """look(change, words, group) -> the document of this machine."""
    def look(change, words=(), group=None):
        def enter():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
            if group:
                with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                    file.write("0")
        env = dict(word.split("=", 1) for word in words if not word.startswith("-"))
        options = [word for word in words if word.startswith("-")]
        return parse(subprocess.run(
            [*NAMESPACES, "bash", "-c", SETUP, "bash", change, *options],
            env={**BASE, "POINT": str(tmp_path), "IMAGE": image, **env},
            capture_output=True, timeout=60, check=False, preexec_fn=enter))

    assert nsrun
    if not os.path.isdir("/proc/driver"):
        pytest.skip("this kernel shows no /proc/driver to mount over")
    return look


CONTROL = "/dev/nvidiactl"
SHM = ["pass - /dev/shm"]
VERBS = ["pass - /dev/infiniband"]
MANY = "mlx5_an0, mlx5_ib0, mlx5_ib1, mlx5_ib2, mlx5_ib3, mlx5_ib4, mlx5_ib5 and 2 more"
# who runs it
A_USER = "AS='chroot --userspec=1000:1000'"
IN_A_USER_NAMESPACE = "AS='unshare --user --map-root-user chroot'"
NO_IPC_LOCK = "BOUNDS=-sys_resource,-ipc_lock"
LEAST_PORT = "proc/sys/net/ipv4/ip_unprivileged_port_start"
LISTEN = """python3 -c '
import os, socket, time
listening = socket.create_server(("", 29400))
os.fork() and os._exit(0)
time.sleep(60)'"""

TOGGLES = {
    # what Docker and Kubernetes give
    "shm_64m": Toggle("mount -o remount,size=64m dev/shm", {
        "shm.size": (SHM, ["note shm.size.small /dev/shm"])}),
    "shm_64m_for_two": Toggle("mount -o remount,size=64m dev/shm", {
        "shm.size": (SHM, ["warn shm.size.small /dev/shm"])}, TWO),
    "shm_1g": Toggle("mount -o remount,size=1g dev/shm", {}),
    "shm_1g_for_eight": Toggle("mount -o remount,size=1g dev/shm", {
        "shm.size": (SHM, ["warn shm.size.small /dev/shm"])}, WIDE),
    "shm_read_only": Toggle("mount -o remount,ro dev/shm", {
        "shm.write": (SHM, ["warn shm.write.denied /dev/shm"])}),
    "shm_absent": Toggle("umount dev/shm; rmdir dev/shm", {
        "shm.size": (SHM, ["note shm.size.absent /dev/shm"]),
        "shm.free": (SHM, ["skip - /dev/shm"]),
        "shm.write": (SHM, ["skip - /dev/shm"])}),
    "shm_not_mounted": Toggle("umount dev/shm", {
        "shm.size": (SHM, ["note shm.size.absent /dev/shm"]),
        "shm.free": (SHM, ["skip - /dev/shm"])}),
    "shm_on_a_disk": Toggle('umount dev/shm; mount --bind "$IMAGE/dev" dev/shm', {
        "shm.size": (SHM, ["note shm.size.absent /dev/shm"]),
        "shm.free": (SHM, ["skip - /dev/shm"])}),
    "shm_full": Toggle("fallocate -l 64m dev/shm/nccl-left", {
        "shm.free": (SHM, ["note shm.free.small /dev/shm"])},
        both="mount -o remount,size=64m dev/shm"),
    "shm_no_inodes": Toggle("mount -o remount,nr_inodes=1 dev/shm", {
        "shm.write": (SHM, ["warn shm.write.denied /dev/shm"])}),
    "shm_of_root": Toggle("chmod 700 dev/shm", {
        "shm.write": (SHM, ["warn shm.write.denied /dev/shm"])}, both=A_USER),
    # limits
    "memlock": Toggle(NO_IPC_LOCK, {
        "lim.memlock": (["pass - memlock"], ["note lim.memlock.small memlock"])}),
    "memlock_for_two": Toggle(NO_IPC_LOCK, {
        "lim.memlock": (["pass - memlock"], ["warn lim.memlock.small memlock"])}, TWO),
    "nofile": Toggle("ulimit -n 1024", {
        "lim.nofile": (["pass - nofile"], ["note lim.nofile.small nofile"])}),
    "nproc_of_root": Toggle("ulimit -u 100", {}),
    "core": Toggle("ulimit -S -c 4096", {
        "core_limit": ("0 bytes", "4 MiB")}, both="ulimit -S -c 0"),
    # who we are
    "no_capabilities": Toggle("BOUNDS=-all,+sys_chroot,+ipc_lock", {}),
    "user_namespace": Toggle(IN_A_USER_NAMESPACE, {
        "user_namespace": ("none", "user 0 here is user 0 outside"),
        "lim.memlock": (["pass - memlock"], ["note lim.memlock.small memlock"])}),
    "below": Toggle("EXEC=", {
        "pid1": ("rankinit", "another program")}),
    # nodes of GPUs
    "gpu_mode": Toggle("chmod 000 dev/nvidiactl", {
        "gpu.open": ([f"pass - {CONTROL}"], [f"warn gpu.open.refused {CONTROL}"])}, both=A_USER),
    "gpu_of_root": Toggle("chmod 000 dev/nvidiactl", {}),
    "gpu_without_a_driver": Toggle("rm dev/nvidiactl; mknod -m 666 dev/nvidiactl c 195 255", {
        "gpu.open": ([f"pass - {CONTROL}"], [f"warn gpu.open.refused {CONTROL}"])}),
    "gpu_uvm": Toggle("rm dev/nvidia-uvm", {
        "gpu.dev": ([f"pass - {CONTROL}"], ["note gpu.dev.uvm /dev/nvidia-uvm"])}),
    "gpu_lost": Toggle("rm dev/nvidia7", {
        "gpu.count": (["pass - GPUs"], ["fail gpu.count.few GPUs"])}, ["--require=gpu=8"]),
    # nodes of adapters
    "ib_absent": Toggle("rm dev/infiniband/uverbs4", {
        "ib.uverbs": (VERBS, ["note ib.uverbs.absent mlx5_ib4"])}),
    "ib_mode": Toggle("chmod 000 dev/infiniband/uverbs4", {
        "ib.uverbs": (VERBS, ["fail ib.uverbs.mode mlx5_ib4"])}, ["--require=ib=8"],
        both=A_USER),
    "ib_without_a_driver": Toggle(
        "rm dev/infiniband/uverbs4; mknod -m 666 dev/infiniband/uverbs4 c 231 196", {
            "ib.uverbs": (VERBS, ["fail ib.uverbs.failed mlx5_ib4"])}, ["--require=ib=8"]),
    "ib_stale": Toggle(
        "rm dev/infiniband/uverbs4; mknod -m 666 dev/infiniband/uverbs4 c 1 5", {
            "ib.uverbs": (VERBS, ["note ib.uverbs.stale mlx5_ib4"])}),
    "ib_no_nodes": Toggle("rm -r dev/infiniband", {
        "ib.uverbs": (VERBS, [f"note ib.uverbs.absent {MANY}"]),
        "rdma_cm": ("can be opened", "No such file or directory")}),
    "ib_no_nodes_wide": Toggle("rm dev/infiniband/uverbs*", {
        "ib.uverbs": (VERBS, [f"warn ib.uverbs.absent {MANY}"])}, WIDE),
    # the network
    "loopback": Toggle("sed -i s/10.0.0.4/127.0.1.1/ etc/hosts", {
        "net.loopback": (["pass - node-0"], ["note net.loopback.name node-0"])}, WIDE),
    "alone": Toggle("sed -i /node-0/d etc/hosts", {
        "net.hostname": (["pass - node-0"], ["note net.hostname.unresolved node-0"]),
        "net.loopback": (["pass - node-0"], ["skip - hostname"])},
        both="mount -t sysfs sysfs sys"),
    "interface": Toggle("ip link set lo up", {
        "net.iface": (["warn net.iface.none NCCL_SOCKET_IFNAME"],
                      ["pass - NCCL_SOCKET_IFNAME"])}, [*TWO, "NCCL_SOCKET_IFNAME=lo"],
        both="mount -t sysfs sysfs sys"),
    "port": Toggle(LISTEN, {
        "net.masterport": (["pass - MASTER_PORT"], ["warn net.masterport.taken MASTER_PORT"])},
        [*TWO, "MASTER_ADDR=node-0", "MASTER_PORT=29400"]),
    "port_of_root": Toggle(f"echo 1024 >{LEAST_PORT}", {
        "net.masterport": (["pass - MASTER_PORT"],
                           ["warn net.masterport.denied MASTER_PORT"])},
        [*TWO, "MASTER_ADDR=node-0", "MASTER_PORT=400"], both=f"{A_USER}; echo 0 >{LEAST_PORT}"),
}


@pytest.mark.parametrize("name", TOGGLES)
def test_toggle(look, name):
    toggle = TOGGLES[name]
    assert changed(toggle, lambda change: look(f"{toggle.both}\n{change}",
                                               toggle.words)) == toggle.said


# Nodes of another number, which a device cgroup can take away.
FORBIDDEN = Toggle("c 1:5 rw", {
    "gpu.open": ([f"pass - {CONTROL}"], [f"warn gpu.open.refused {CONTROL}"]),
    "ib.uverbs": (VERBS, ["fail ib.uverbs.denied mlx5_ib4"])}, ["--require=ib=8"], both="""
rm dev/infiniband/uverbs4 dev/nvidiactl
mknod -m 666 dev/infiniband/uverbs4 c 1 5
mknod -m 666 dev/nvidiactl c 1 5
echo 1:5 >sys/class/infiniband_verbs/uverbs4/dev""")
PROCESSES = Toggle("50", {
    "lim.nproc": (["pass - pids.max"], ["note lim.nproc.small pids.max"])})


@pytest.mark.parametrize("controller, file, toggle", [("devices", "devices.deny", FORBIDDEN),
                                                      ("pids", "pids.max", PROCESSES)])
def test_cgroup(look, cgroup, controller, file, toggle):
    """What systemd does to containers of runc when it is loaded anew; --pids-limit."""
    group = cgroup(controller)

    def in_group(change):
        if change:
            with open(f"{group}/{file}", "w", encoding="ascii") as opened:
                opened.write(change)
        return look(toggle.both, toggle.words, group)

    assert changed(toggle, in_group) == toggle.said


# What here is not as it was recorded, or skipped there.
OTHER_HERE = {"kernel", "boot", "pid1", "membind", "stack_limit", "net.masterport", "lim.nproc",
              "cg.mem", "cg.oom", "cg.cpu", "fs.hang"}


def is_hidden(lines):
    """A recorded machine cannot show it."""
    return all(line.startswith("unknown ") for line in lines)


@pytest.mark.parametrize("words", [[], WIDE, ["--require=ib=8@400,gpu=8,ofed,shm=2G,mpi"]])
def test_as_recorded(look, rankinit, image, tmp_path, words):
    """It runs, and is fit; what was recorded of it says the same."""
    ran = said_of(look("", words))
    assert [(name, lines) for name, lines in ran.items()
            if lines[0].startswith(("warn", "fail"))] == []
    grow(FULL, str(tmp_path / "recorded"))
    recorded = said_of(look_at(rankinit, str(tmp_path / "recorded"), words))
    assert {name for name in ran
            if ran[name] != recorded.get(name) and not is_hidden(recorded.get(name, ["no fact"]))
            } <= OTHER_HERE
