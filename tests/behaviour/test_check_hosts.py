# SPDX-License-Identifier: Apache-2.0
"""
What changes in what the checks say of recorded machines, and which of those are healthy;
all that they say of some is in test_check_tables.py.

PAIRS: a machine, what of it is changed, and what of all that is said changes
by that: results of one check alone.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from box import BASE

HOSTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hosts")
sys.path.insert(0, HOSTS)
from grow import grow  # noqa: E402  pylint: disable=wrong-import-position

MACHINES = sorted(os.path.basename(path)[:-len(".checks")]
                  for path in glob.glob(os.path.join(HOSTS, "*.checks")))


BUSY = {"check.hung", "check.unreached"}     # what a busy machine kept waiting


def look(rankinit, root, words):
    """The document of --check with these variables and options, of a machine that had time."""
    for _ in range(8):
        document = look_once(rankinit, root, words)
        if not BUSY & {result["code"] for result in document["checks"]}:
            break
    return document


def look_once(rankinit, root, words):
    env = dict(word.split("=", 1) for word in words if re.match(r"[A-Za-z_]\w*=", word))
    command = words[words.index("--"):] if "--" in words else []
    options = [word for word in words[:len(words) - len(command)] if word.startswith("-")]
    done = subprocess.run([rankinit, "--check=json", "--checks=all", f"--root={root}", *options,
                           *command],
                          env={**BASE, **env}, capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["schema"] == "rankinit-check-1"
    assert document["fit"] == (done.returncode == 0)
    return document


def lines_of(document):
    """A fact is a line "fact NAME VALUE"."""
    return [f"{result['status']} {result['id']} {result['code'] or '-'} {result['subject']}"
            for result in document["checks"]] + [
                f"fact {name} {value}" for name, value in document.get("facts", {}).items()]


@dataclass
class Pair:
    machine: str
    check: str              # or the fact: whose results change, and no other's
    files: dict             # path -> content, (old, new) in it, a mode; None: it is taken away
    before: list            # its lines as they are, without the id
    after: list
    words: list = field(default_factory=list)   # variables and options for both
    also: list = field(default_factory=list)    # checks and facts that look at the same thing


TWO = [f"OMPI_COMM_WORLD_{name}={value}" for name, value in
       (("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "2"))]
LIMITS = "proc/self/limits"
MOUNTS = "proc/self/mountinfo"
LOCKED = "Max locked memory         unlimited            unlimited "
OFED = ["--require=ofed"]

PAIRS = {
    "shm_docker": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                       ["pass - /dev/shm"], ["note shm.size.small /dev/shm"]),
    "shm_several_ranks": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                              ["pass - /dev/shm"], ["warn shm.size.small /dev/shm"], TWO),
    "shm_required": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "8g")},
                         ["pass - /dev/shm"], ["fail shm.size.small /dev/shm"],
                         ["--require=shm=16G"]),
    "shm_for_ofed": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                         ["pass - /dev/shm"], ["fail shm.size.small /dev/shm"], OFED),
    "shm_no_tmpfs": Pair("limits-fit", "shm.size", {MOUNTS: ("tmpfs shm", "overlay shm")},
                         ["pass - /dev/shm"], ["warn shm.size.absent /dev/shm"], TWO,
                         also=["shm.free"]),
    "shm_unknown": Pair("limits-fit", "shm.size", {MOUNTS: ("size=67108864k,", "")},
                        ["pass - /dev/shm"], ["unknown shm.size.unknown /dev/shm"]),
    "memlock_tiny": Pair("limits-fit", "lim.memlock",
                         {LIMITS: (LOCKED, LOCKED.replace("unlimited", "65536"))},
                         ["pass - memlock"], ["note lim.memlock.small memlock"]),
    "memlock_several": Pair("docker-default", "lim.memlock",
                            {LIMITS: ("Max locked memory         65536                65536",
                                      LOCKED)},
                            ["warn lim.memlock.small memlock"], ["pass - memlock"], TWO),
    "memlock_required": Pair("limits-fit", "lim.memlock",
                             {LIMITS: (LOCKED, LOCKED.replace("unlimited", "8388608"))},
                             ["pass - memlock"], ["fail lim.memlock.small memlock"], OFED),
    "memlock_unknown": Pair("limits-fit", "lim.memlock", {LIMITS: (LOCKED, "")},
                            ["pass - memlock"], ["unknown lim.memlock.unknown memlock"], OFED),
}

EIGHT = ["OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=0",
         "OMPI_COMM_WORLD_LOCAL_SIZE=8"]
GROUP = "sys/fs/cgroup/"
PAIRS |= {
    "nofile": Pair("limits-fit", "lim.nofile",
                   {LIMITS: ("Max open files            1048576",
                             "Max open files            1024")},
                   ["pass - nofile"], ["note lim.nofile.small nofile"]),
    "nofile_asked": Pair("limits-fit", "lim.nofile",
                         {LIMITS: ("Max open files            1048576",
                                   "Max open files            1024")},
                         ["pass - nofile"], ["warn lim.nofile.small nofile"],
                         ["--expect=lim.nofile"]),
    "nofile_unknown": Pair("limits-fit", "lim.nofile", {LIMITS: ("Max open files", "Max files")},
                           ["pass - nofile"], ["unknown lim.nofile.unknown nofile"]),
    "pids": Pair("limits-fit", "lim.nproc", {GROUP + "pids.max": "50\n"},
                 ["pass - pids.max"], ["note lim.nproc.small pids.max"]),
    "pids_unknown": Pair("limits-fit", "lim.nproc", {GROUP + "pids.max": None},
                         ["pass - pids.max"], ["unknown lim.nproc.unknown pids.max"]),
    "nproc_of_a_user": Pair("limits-fit", "lim.nproc",
                            {"proc/self/status": ("Uid:\t0\t0", "Uid:\t0\t1000"),
                             LIMITS: ("Max processes             unlimited",
                                      "Max processes             100")},
                            ["pass - pids.max"],
                            ["pass - pids.max", "note lim.nproc.small nproc"]),
    "memory": Pair("limits-fit", "cg.mem", {GROUP + "memory.max": "4294967296\n"},
                   ["pass - memory"], ["note cg.mem.small memory"], EIGHT),
    "memory_of_another_cgroup": Pair("limits-fit", "cg.mem", {
        GROUP + "job/memory.max": "4294967296\n"}, ["pass - memory"], ["pass - memory"], EIGHT),
    "memory_unknown": Pair("limits-fit", "cg.mem", {GROUP + "memory.max": None},
                           ["pass - memory"], ["unknown cg.mem.unknown memory"]),
    "oom": Pair("limits-fit", "cg.oom", {GROUP + "memory.events": ("oom_kill 0", "oom_kill 3")},
                ["pass - oom_kill"], ["note cg.oom.kills oom_kill"]),
    "oom_of_all": Pair("limits-fit", "cg.oom", {GROUP + "memory.oom.group": "1\n"},
                       ["pass - oom_kill"],
                       ["pass - oom_kill", "note cg.oom.group memory.oom.group"]),
    "oom_of_one": Pair("limits-fit", "cg.oom", {GROUP + "memory.oom.group": "0\n"},
                       ["pass - oom_kill"], ["pass - oom_kill"]),
    "oom_unknown": Pair("limits-fit", "cg.oom", {GROUP + "memory.events": None},
                        ["pass - oom_kill"], ["unknown cg.oom.unknown oom_kill"]),
    "cpu": Pair("limits-fit", "cg.cpu", {GROUP + "cpu.max": "150000 100000\n"},
                ["pass - cpu"], ["note cg.cpu.small cpu"], EIGHT),
    "cpu_enough": Pair("limits-fit", "cg.cpu", {GROUP + "cpu.max": "800000 100000\n"},
                       ["pass - cpu"], ["pass - cpu"], EIGHT),
}


FULL = "az-nd96isr-h100"
WIDE = [f"OMPI_COMM_WORLD_{name}={value}" for name, value in
        (("RANK", "0"), ("SIZE", "16"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "8"))]
NODES = "dev/infiniband/"
PORT = "sys/class/infiniband/mlx5_ib4/ports/1/"
CLASS = "/sys/class/infiniband"
CONTROL = "/dev/nvidiactl"
VERSION = "/proc/driver/nvidia/version"
VISIBLE = "CUDA_VISIBLE_DEVICES"
MODULE = "sys/module/mlx5_core/version"

USER_SIDE = ["gpu.libcuda", "gpu.libver", "gpu.compat", "nccl.env"]
LIBCUDA = "usr/lib/libcuda.so.1"
DRIVER = "proc/driver/nvidia/version"

PAIRS.update({
    "gpu_vendor": Pair(FULL, "gpu.vendor", {"dev/nvidiactl": None},
                       ["pass - /dev"], ["fail gpu.vendor.none /dev"], ["--require=gpu"],
                       also=["gpu.dev", "gpu.open", *USER_SIDE]),
    "gpu_dev": Pair(FULL, "gpu.dev", {"dev/nvidia-uvm": None},
                    [f"pass - {CONTROL}"], ["fail gpu.dev.uvm /dev/nvidia-uvm"],
                    ["--require=gpu"]),
    "gpu_dev_no_hook": Pair(FULL, "gpu.dev", {"dev/nvidiactl": None},
                            [f"pass - {CONTROL}"], [f"warn gpu.dev.absent {CONTROL}"],
                            ["--expect=gpu"], also=["gpu.open", "gpu.vendor", *USER_SIDE]),
    "gpu_open": Pair(FULL, "gpu.open", {"dev/nvidiactl": 0o444},
                     [f"pass - {CONTROL}"], [f"warn gpu.open.refused {CONTROL}"]),
    "gpu_open_mode": Pair(FULL, "gpu.open", {"dev/nvidiactl": 0o000},
                          [f"pass - {CONTROL}"], [f"fail gpu.open.refused {CONTROL}"],
                          ["--require=gpu.open"]),
    "gpu_count": Pair(FULL, "gpu.count", {"dev/nvidia7": None},
                      ["pass - GPUs"], ["fail gpu.count.few GPUs"], ["--require=gpu=8"]),
    "gpu_count_ranks": Pair(FULL, "gpu.count", {"dev/nvidia7": None},
                            ["pass - GPUs"], ["warn gpu.count.shared GPUs"], WIDE),
    "gpu_count_of_a_rank": Pair(FULL, "gpu.count", {"dev/nvidia7": None},
                                ["note gpu.count.shared GPUs"], ["note gpu.count.shared GPUs"],
                                [*WIDE, f"{VISIBLE}=3"]),
    "gpu_mig": Pair("mig-2", "gpu.mig", {f"dev/nvidia-caps/nvidia-cap{n}": None for n in (11, 12)},
                    ["warn gpu.mig.few MIG"], ["skip - MIG"],
                    [*TWO, "--expect=gpu", f"{VISIBLE}=MIG-GPU-7c1d0000/1/0"]),
    "gpu_libcuda": Pair(FULL, "gpu.libcuda", {LIBCUDA: None},
                        [f"pass - /{LIBCUDA}"], ["warn gpu.libcuda.missing libcuda.so.1"]),
    "gpu_libcuda_required": Pair(FULL, "gpu.libcuda", {LIBCUDA: None},
                                 [f"pass - /{LIBCUDA}"], ["fail gpu.libcuda.missing libcuda.so.1"],
                                 ["--require=gpu=8"]),
    "gpu_libcuda_cut": Pair(FULL, "gpu.libcuda", {"usr/lib/libcuda.so.580.95.05": "\x7fELF"},
                            [f"pass - /{LIBCUDA}"], [f"warn gpu.libcuda.broken /{LIBCUDA}"]),
    "gpu_libver": Pair(FULL, "gpu.libver", {DRIVER: ("580.95.05", "580.82.07")},
                       ["pass - libcuda.so.1"],
                       ["warn gpu.libver.mismatch /usr/lib/libcuda.so.580.95.05",
                        "warn gpu.libver.mismatch /usr/lib/libnvidia-ml.so.580.95.05"],
                       also=["nvidia_driver"]),
    "gpu_compat": Pair("no-peermem", "gpu.compat", {DRIVER: ("535.161.08", "470.82.01")},
                       [f"pass - {VERSION}"], [f"fail gpu.compat.old {VERSION}"],
                       ["CUDA_VERSION=12.8.1", "--require=gpu"],
                       also=["gpu.libver", "nvidia_driver"]),
    "gpu_compat_of_the_image": Pair(FULL, "gpu.compat", {
        "usr/local/cuda/version.json": '{"cuda": {"version": "14.0"}}'},
        ["skip - CUDA_VERSION"], ["skip - /usr/local/cuda/version.json"]),
    "gpu_compat_unused": Pair("cuda-compat", "gpu.compat", {
        "usr/local/cuda/version.json": ("13.1.0", "12.2.0")},
        [f"warn gpu.compat.unused {VERSION}"], [f"pass - {VERSION}"]),
    "gpu_compat_wrong": Pair("cuda-compat", "gpu.compat", {DRIVER: ("535.161.08", "525.60.13")},
                             ["pass - /usr/local/cuda/compat/libcuda.so.1"],
                             ["warn gpu.compat.wrong /usr/local/cuda/compat/libcuda.so.1"],
                             ["LD_LIBRARY_PATH=/usr/local/cuda/compat"],
                             also=["gpu.libver", "nvidia_driver"]),
    "gpu_compat_unknown": Pair(FULL, "gpu.compat", {DRIVER: None},
                               ["skip - CUDA_VERSION"], [f"unknown gpu.compat.unknown {VERSION}"],
                               also=["nvidia_driver", "nvidia_modules", "gpu.libver"]),
    "ib_dev": Pair("limits-fit", "ib.dev", {"sys/class/infiniband/mlx5_ib0/ports/1/state": ""},
                   [f"warn ib.dev.absent {CLASS}"], [f"pass - {CLASS}"], ["--expect=ib"],
                   also=["ib.uverbs", "rdma_cm", "ib.ofed", "ib.count", "ib.provider"]),
    "ib_nonsriov": Pair("az-nc24r", "ib.nonsriov",
                        {"sys/class/infiniband/mlx4_0/ports/1/state": ""},
                        ["warn ib.nonsriov.size nc24r"], ["pass - nc24r"],
                        ["--expect=azure=NC24r"], also=["ib.dev", "ib.uverbs",
                                                      "rdma_cm", "ib.ofed", "lim.memlock",
                                                      "ib.libs", "ib.provider", "mpi.mca",
                                                      "mpi.ucx"]),
    "ib_port": Pair(FULL, "ib.port", {PORT + "phys_state": "2: Polling\n"},
                    [f"pass - {CLASS}"], ["note ib.port.down mlx5_ib4:1"]),
    "ib_port_down": Pair(FULL, "ib.port", {PORT + "state": "1: DOWN\n"},
                         [f"pass - {CLASS}"], ["fail ib.port.down mlx5_ib4:1"],
                         ["--require=ib=8"], also=["ib.count"]),
    "ib_port_unknown": Pair(FULL, "ib.port", {PORT + "state": None},
                            [f"pass - {CLASS}"], ["unknown ib.port.unknown mlx5_ib4:1"]),
    "ib_rate": Pair(FULL, "ib.rate", {PORT + "rate": "100 Gb/sec (4X EDR)\n"},
                    [f"pass - {CLASS}"], ["fail ib.rate.low mlx5_ib4:1"], ["--require=ib=8@400"]),
    "ib_rate_unequal": Pair(FULL, "ib.rate", {PORT + "rate": "100 Gb/sec (4X EDR)\n"},
                            [f"pass - {CLASS}"], ["note ib.rate.low mlx5_ib4:1"]),
    "ib_rate_by_size": Pair(FULL, "ib.rate", {PORT + "rate": "100 Gb/sec (4X EDR)\n"},
                            [f"pass - {CLASS}"], ["warn ib.rate.low mlx5_ib4:1"],
                            ["--expect=azure=ND96isr_H100_v5"]),
    "ib_count": Pair(FULL, "ib.count", {PORT + "state": "2: INIT\n"},
                     [f"pass - {CLASS}"], [f"warn ib.count.few {CLASS}"], ["--expect=ib=8"],
                     also=["ib.port"]),
    "ib_uverbs_absent": Pair(FULL, "ib.uverbs", {NODES + "uverbs4": None},
                             ["pass - /dev/infiniband"], ["fail ib.uverbs.absent mlx5_ib4"],
                             ["--require=ib=8"]),
    "ib_uverbs_denied": Pair(FULL, "ib.uverbs", {NODES + "uverbs4": 0o444},
                             ["pass - /dev/infiniband"], ["warn ib.uverbs.denied mlx5_ib4"],
                             ["--expect=ib=8"]),
    "ib_uverbs_mode": Pair(FULL, "ib.uverbs", {NODES + "uverbs4": 0o000},
                           ["pass - /dev/infiniband"], ["fail ib.uverbs.mode mlx5_ib4"],
                           ["--require=ib.uverbs"]),
    # a pod may be given one of eight
    "ib_uverbs_one_is_enough": Pair(FULL, "ib.uverbs", {NODES + "uverbs4": None},
                                    ["pass - /dev/infiniband"], ["note ib.uverbs.absent mlx5_ib4"],
                                    WIDE),
    "ib_uverbs_several_nodes": Pair("az-nc24rs-v3", "ib.uverbs", {NODES + "uverbs0": None},
                                    ["pass - /dev/infiniband"], ["warn ib.uverbs.absent mlx4_0"],
                                    WIDE),
    "ib_ofed": Pair("ofed-23.10", "ib.ofed", {MODULE: "5.0-0\n"}, ["pass - mlx5_core"],
                    ["fail ib.ofed.inbox mlx5_core"], OFED),
    "ib_ofed_not_asked": Pair("ofed-23.10", "ib.ofed", {MODULE: None}, ["pass - mlx5_core"],
                              ["pass - mlx5_core"]),
    "ib_peermem": Pair("no-peermem", "ib.peermem", {"sys/module/nvidia_peermem/version": "535\n"},
                       ["warn ib.peermem.absent nvidia_peermem"],
                       ["pass - /sys/module/nvidia_peermem/version"], ["--require=ib=8"]),
    "nccl_disabled": Pair("az-nc24rs-v3", "nccl.env",
                          {"sys/class/infiniband/mlx4_0/ports/1/state": "1: DOWN\n"},
                          ["warn nccl.env.disabled NCCL_IB_DISABLE",
                           "pass - NCCL_TOPO_FILE"],
                          ["pass - NCCL_IB_DISABLE", "pass - NCCL_TOPO_FILE"],
                          [*WIDE, "NCCL_IB_DISABLE=1"],
                          also=["ib.port", "ib.count",
                                "ib.rate"]),
    "nccl_hca": Pair("az-nc24rs-v3", "nccl.env", {
        "etc/nccl.conf": "NCCL_IB_HCA=mlx5_ib\n"},
        ["pass - NCCL_TOPO_FILE"], ["warn nccl.env.hca NCCL_IB_HCA"], WIDE),
    "nccl_hca_variable": Pair("az-nc24rs-v3", "nccl.env", {
        "etc/nccl.conf": "NCCL_IB_HCA=mlx5_ib\n"},
        ["pass - NCCL_IB_HCA", "pass - NCCL_TOPO_FILE"], ["pass - NCCL_IB_HCA"],
        [*WIDE, "NCCL_IB_HCA=^mlx5_an"]),
    "nccl_net": Pair("cdi-void", "nccl.env", {"etc/nccl.conf": "NCCL_NET=IB\n"},
                     ["pass - NCCL_TOPO_FILE"], ["warn nccl.env.net NCCL_NET"], TWO),
    "nccl_plugin": Pair(FULL, "nccl.env", {"etc/nccl.conf": "NCCL_NET_PLUGIN=ofi\n"},
                        ["pass - NCCL_TOPO_FILE"], ["note nccl.env.plugin NCCL_NET_PLUGIN"]),
    "nccl_plugin_by_path": Pair(FULL, "nccl.env", {"opt/net.so": ""},
                                ["fail nccl.env.plugin NCCL_NET_PLUGIN", "pass - NCCL_TOPO_FILE"],
                                ["pass - NCCL_NET_PLUGIN", "pass - NCCL_TOPO_FILE"],
                                ["NCCL_NET_PLUGIN=/opt/net.so", "--require=nccl.env"]),
    "nccl_topo_file": Pair(FULL, "nccl.env", {"opt/microsoft/ndv5/topo.xml": None},
                           ["pass - NCCL_TOPO_FILE"], ["warn nccl.env.topo NCCL_TOPO_FILE"], WIDE),
    "net_hostname": Pair(FULL, "net.hostname", {"etc/hosts": "127.0.0.1 localhost\n"},
                         ["pass - node-0"], ["unknown net.hostname.unknown node-0"],
                         also=["net.loopback"]),
    "net_loopback": Pair(FULL, "net.loopback", {"etc/hosts": ("10.0.0.4", "127.0.1.1")},
                         ["pass - node-0"], ["note net.loopback.name node-0"], WIDE),
    "net_iface": Pair(FULL, "net.iface", {"sys/class/net/eth0/operstate": "down\n"},
                      ["pass - GLOO_SOCKET_IFNAME"],
                      ["warn net.iface.none GLOO_SOCKET_IFNAME"],
                      [*WIDE, "GLOO_SOCKET_IFNAME=eth0"]),
    "fs_data": Pair(FULL, "fs.data", {MOUNTS: ("ext4 /dev/nvme0n1p1", "fuse blobfuse2")},
                    ["pass - AZ_BATCHAI_INPUT_DATA"], ["warn fs.data.slow AZ_BATCHAI_INPUT_DATA"],
                    [*WIDE, "AZ_BATCHAI_INPUT_DATA=/mnt/data/train"]),
    "fs_data_nfs": Pair(FULL, "fs.data", {MOUNTS: ("ext4 /dev/nvme0n1p1", "nfs4 10.0.0.9:/")},
                        ["pass - SM_CHANNEL_TRAIN"], ["warn fs.data.shared SM_CHANNEL_TRAIN"],
                        [*WIDE, "SM_CHANNEL_TRAIN=/mnt/data/train"]),
    "fs_data_nfs_one_node": Pair(FULL, "fs.data", {
        MOUNTS: ("ext4 /dev/nvme0n1p1", "nfs4 10.0.0.9:/")},
        ["pass - SM_CHANNEL_TRAIN"], ["note fs.data.shared SM_CHANNEL_TRAIN"],
        [*TWO, "SM_CHANNEL_TRAIN=/mnt/data/train"]),
    "fs_out": Pair("data-mounts", "fs.out", {MOUNTS: ("/out ro,", "/out rw,")},
                   ["warn fs.out.denied --output-dir"], ["pass - --output-dir"],
                   ["--", "python", "train.py", "--output-dir=/out/a"]),
    "fs_out_of_the_file_system": Pair("data-mounts", "fs.out", {
        MOUNTS: ("rw,relatime - squashfs /dev/loop0 ro", "rw,relatime - ext4 /dev/loop0 rw")},
        ["fail fs.out.denied SM_MODEL_DIR"], ["pass - SM_MODEL_DIR"],
        ["SM_MODEL_DIR=/opt/ml/model", "--require=fs.out"]),
    "fs_out_mode": Pair("data-mounts", "fs.out", {"mnt/blob/imagenet": 0o555},
                        ["pass - AZURE_ML_OUTPUT_x"], ["warn fs.out.denied AZURE_ML_OUTPUT_x"],
                        ["AZURE_ML_OUTPUT_x=/mnt/blob/imagenet/new/folder"]),
    "fs_out_no_folder": Pair("data-mounts", "fs.out", {"mnt/blob/x": "a file\n"},
                             ["pass - SM_MODEL_DIR"], ["warn fs.out.denied SM_MODEL_DIR"],
                             ["SM_MODEL_DIR=/mnt/blob/x/model"]),
    "fs_hang": Pair("limits-fit", "fs.hang", {MOUNTS: None},
                    ["skip - mounts"], ["unknown fs.hang.unknown mounts"],
                    also=["shm.size", "shm.free"]),
    "fs_tmp": Pair("temporary", "fs.tmp", {"tmp": 0o777},
                   ["pass - /tmp"], ["note fs.tmp.sticky /tmp"]),
    "fs_tmp_denied": Pair("temporary", "fs.tmp", {"tmp": 0o555},
                          ["pass - /tmp"], ["warn fs.tmp.denied /tmp"]),
    "fs_tmp_read_only": Pair("temporary", "fs.tmp", {MOUNTS: ("/ / rw", "/ / ro")},
                             ["pass - TMPDIR"], ["fail fs.tmp.denied TMPDIR"],
                             ["TMPDIR=/var/tmp", "--require=fs.tmp"]),
    "fs_tmp_long": Pair("temporary", "fs.tmp", {f"var/lib/{'long' * 20}/tmp/x": ""},
                        ["unknown fs.tmp.unknown TMPDIR", "note fs.tmp.long TMPDIR"],
                        ["pass - TMPDIR", "note fs.tmp.long TMPDIR"],
                        [f"TMPDIR=/var/lib/{'long' * 20}/tmp"]),
    "fs_tmp_unknown": Pair("temporary", "fs.tmp", {"tmp": None},
                           ["pass - /tmp"], ["unknown fs.tmp.unknown /tmp"]),
    "net_master": Pair(FULL, "net.master", {"etc/hosts": ("node-0", "node-0 head.job")},
                       ["unknown net.master.unknown MASTER_ADDR"], ["pass - MASTER_ADDR"],
                       ["MASTER_ADDR=head.job"]),
})

CUDA = "usr/lib/libcuda.so.580.95.05"
FOLDER = "usr/local/nvidia/lib64"


def to_s390(path):
    """e_machine of its ELF header (elf(5))."""
    with open(path, "r+b") as file:
        file.seek(18)
        file.write(bytes([22, 0]))


def to_the_side(path):
    """Where a container without ldconfig's table has it, and only LD_LIBRARY_PATH leads."""
    folder = path.removesuffix(CUDA) + FOLDER
    os.makedirs(folder)
    os.rename(path, folder + "/libcuda.so.1")


ONE_PORT = "sys/class/infiniband/mlx4_0/ports/1/"
PAIRS.update({
    "gpu_libcuda_foreign": Pair(FULL, "gpu.libcuda", {CUDA: to_s390}, [f"pass - /{LIBCUDA}"],
                                [f"warn gpu.libcuda.foreign /{LIBCUDA}"]),
    "gpu_libcuda_stub": Pair(FULL, "gpu.libcuda", {
        CUDA: None, "usr/lib/libcuda.so.1": None, "usr/local/cuda/lib64/stubs/libcuda.so": ""},
        [f"pass - /{LIBCUDA}"],
        ["warn gpu.libcuda.stub /usr/local/cuda/lib64/stubs/libcuda.so"], also=["gpu.libver"]),
    "gpu_libcuda_apart": Pair(FULL, "gpu.libcuda", {CUDA: to_the_side}, [f"pass - /{LIBCUDA}"],
                              [f"warn gpu.libcuda.apart /{FOLDER}/libcuda.so.1"]),
    "ib_dev_unknown": Pair("limits-fit", "ib.dev", {"sys/class": None},
                           [f"fail ib.dev.absent {CLASS}"], [f"unknown ib.dev.unknown {CLASS}"],
                           ["--require=ib"], also=["rdma_cm"]),
    "ib_ofed_unknown": Pair("ofed-23.10", "ib.ofed", {"sys/module/mlx5_core": None},
                            ["pass - mlx5_core"], ["unknown ib.ofed.unknown /sys/module"]),
    "ib_rate_unknown": Pair("az-nc24rs-v3", "ib.rate", {ONE_PORT + "rate": None},
                            [f"pass - {CLASS}"], [f"unknown ib.rate.unknown {CLASS}"]),
    "mpi_root_unknown": Pair("debian-ompi", "mpi.root", {"proc/self/status": None},
                             ["note mpi.root.guard /usr/bin/mpirun"],
                             ["unknown mpi.root.unknown /usr/bin/mpirun"],
                             also=["mpi.cma", "seccomp"]),
    "net_iface_unknown": Pair(FULL, "net.iface", {"sys/class/net": None},
                              ["pass - GLOO_SOCKET_IFNAME"],
                              ["unknown net.iface.unknown GLOO_SOCKET_IFNAME"],
                              ["GLOO_SOCKET_IFNAME=eth0"], also=["mtu_eth0",
                              *(f"mtu_ib{n}" for n in range(8))]),
    "fs_data_unknown": Pair(FULL, "fs.data", {MOUNTS: None},
                            ["pass - AZ_BATCHAI_INPUT_DATA"],
                            ["unknown fs.data.unknown AZ_BATCHAI_INPUT_DATA"],
                            ["AZ_BATCHAI_INPUT_DATA=/mnt/data/train"],
                            also=["shm.size", "fs.hang"]),
})


def change(root, path, new):
    path = os.path.join(root, path)
    if new is None and os.path.isdir(path):
        shutil.rmtree(path)
        return
    if new is None:
        os.remove(path)
        return
    if isinstance(new, int):
        os.chmod(path, new)
        return
    if callable(new):
        new(path)
        return
    if isinstance(new, tuple):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        assert new[0] in old, "the change changes nothing"
        new = old.replace(*new)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


def compare(rankinit, tmp_path, pair):
    root = str(tmp_path / "root")
    grow(pair.machine, root)
    before = lines_of(look(rankinit, root, pair.words))
    for path, new in pair.files.items():
        change(root, path, new)
    after = lines_of(look(rankinit, root, pair.words))

    def split(lines):
        own = [f"{status} {rest}" for status, name, rest in (line.split(" ", 2) for line in lines)
               if name == pair.check]
        return own, [line for line in lines
                     if line.split(" ", 2)[1] not in (pair.check, *pair.also)]

    assert split(before)[0] == pair.before
    assert split(after)[0] == pair.after
    assert split(before)[1] == split(after)[1], "another check changes as well"


@pytest.mark.parametrize("name", PAIRS)
def test_pair(rankinit, tmp_path, name):
    compare(rankinit, tmp_path, PAIRS[name])


def test_a_path_is_not_cut(rankinit, tmp_path):
    """It is to be copied; whatever else is longer than a line is folded."""
    mpi = "/opt/intel/compilers_and_libraries_2018.3.222/linux/mpi"
    grow("aml-intelmpi2018", str(tmp_path / "root"))
    done = subprocess.run([rankinit, "--check", f"--root={tmp_path}/root"],
                          env={**BASE, "PATH": mpi + "/bin64"}, capture_output=True, timeout=60,
                          check=True)
    lines = done.stdout.decode().splitlines()
    assert f"{' ' * 28}LD_LIBRARY_PATH={mpi}/lib64," in lines
    assert [line for line in lines if len(line) > 79 and mpi not in line] == []


# Nothing is wrong with these; what may be asked of each.
EIGHT_FAST = "--require=ib=8@400,gpu=8,shm=16G,mpi"
HEALTHY = {
    "az-nd96isr-h100": EIGHT_FAST + ",ofed", "az-nd96is-h200": "--require=gpu=8,mpi",
    "az-nc24rs-v3": "--require=ib=1@56,gpu=4,ofed,mpi", "inbox-6.8": EIGHT_FAST,
    "inbox-5.4": EIGHT_FAST, "inbox-distro": EIGHT_FAST, "mofed-5.4": EIGHT_FAST + ",ofed",
    "ofed-23.10": EIGHT_FAST + ",ofed", "doca-25.10": EIGHT_FAST + ",ofed",
    "cdi-void": "--require=gpu=8,mpi",
    "enroot": "--require=ib=2@400,ofed,gpu=8,mpi",
    "storage-ports": EIGHT_FAST + ",ofed",
    "aws-efa": "--require=gpu=8,ib.uverbs,ib.libs,ib.provider,mpi",
    "roce": "--require=gpu=8,ib.uverbs,ib.libs,ib.provider,mpi",
    "az-accelerated": "--require=gpu=8,shm=16G,mpi", "mig-given": "--require=gpu=1,mpi",
}
# Of these the job has more ranks than GPUs are there.
SHARED = [("az-nc24rs-v3", "several nodes"), ("mig-given", "several ranks"),
          ("mig-given", "several nodes")]


def test_gpus_that_a_variable_hides(rankinit, tmp_path):
    """
    What helps is in the job's environment; the controls: what helps where there are too few, though
    a variable lists all that are here.
    """
    root = str(tmp_path / "root")
    grow("az-nd96isr-h100", root)
    for words, hint in ((["CUDA_VISIBLE_DEVICES=GPU-x", "--require=gpu=8"],
                         "in the job's environment: list GPUs"),
                        (["--require=gpu=9"], "outside the image: docker run --gpus all"),
                        (["CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7", "--require=gpu=9"],
                         "outside the image: docker run --gpus all")):
        (result,) = [result for result in look(rankinit, root, words)["checks"]
                     if result["id"] == "gpu.count"]
        assert (result["status"], result["code"]) == ("fail", "gpu.count.few")
        assert result["hint"].startswith(hint), result


@pytest.mark.parametrize("machine", HEALTHY)
def test_healthy(rankinit, tmp_path, machine):
    """Nobody is warned of anything there, whatever the job is."""
    root = str(tmp_path / "root")
    grow(machine, root)
    for words, options in {"": [], "several ranks": TWO, "several nodes": WIDE,
                           "asked": [HEALTHY[machine]]}.items():
        document = look(rankinit, root, options)
        shared = ["warn gpu.count gpu.count.shared GPUs"] if (machine, words) in SHARED else []
        assert [line for line in lines_of(document)
                if line.startswith(("warn", "fail"))] == shared, words
        assert document["fit"], words
