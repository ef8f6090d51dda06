# SPDX-License-Identifier: Apache-2.0
"""
Facts of recorded machines: what each becomes when one thing of the machine is another. All facts
of each machine stand in tests/hosts/MACHINE.checks; those of this machine are in test_report.py.
"""

import pytest

from test_check_hosts import FULL, LIMITS, NODES, Pair, compare

FACTS = {
    "kernel": Pair(FULL, "kernel", {"proc/sys/kernel/osrelease": "6.1.0-x\n"},
                   ["fact 6.8.0-1030-azure"], ["fact 6.1.0-x"]),
    "boot": Pair(FULL, "boot", {"proc/sys/kernel/random/boot_id": "b0\n"}, [], ["fact b0"]),
    "nvidia_driver": Pair(FULL, "nvidia_driver", {"proc/driver/nvidia/version": "?\n"},
                          ["fact 580.95.05"], [],
                          also=["nvidia_modules", "gpu.compat", "gpu.libver"]),
    "nvidia_modules": Pair(FULL, "nvidia_modules", {"proc/driver/nvidia/version": (
        "NVIDIA UNIX Open Kernel Module for x86_64", "NVIDIA UNIX x86_64 Kernel Module")},
        ["fact open"], ["fact proprietary"]),
    "fabric_manager": Pair(FULL, "fabric_manager", {"run/nvidia-fabricmanager/socket": None},
                           ["fact its socket is here"], ["fact its socket is not here"]),
    "rdma_cm": Pair(FULL, "rdma_cm", {NODES + "rdma_cm": None}, ["fact can be opened"],
                    ["fact No such file or directory"]),
    "rdma_libraries": Pair(FULL, "rdma_libraries", {"usr/lib/libibverbs.so.1.14.44.0": None},
                           ["fact rdma-core 44, private interface 34"], [],
                           also=["ib.libs", "ib.provider"]),
    "stack_limit": Pair("limits-fit", "stack_limit", {LIMITS: ("Max stack size", "Max stack")},
                        ["fact 64 MiB"], []),
    "core_limit": Pair("limits-fit", "core_limit",
                       {LIMITS: ("Max core file size        0 ",
                                 "Max core file size        4096 ")},
                       ["fact 0 bytes"], ["fact 4 KiB"]),
    "mtu_eth0": Pair(FULL, "mtu_eth0", {"sys/class/net/eth0/mtu": "9000\n"}, ["fact 1500"],
                     ["fact 9000"]),
    "user_namespace": Pair(FULL, "user_namespace", {"proc/self/uid_map": "0 1000 1\n"},
                           ["fact none"], ["fact user 0 here is user 1000 outside"]),
    "user_namespace_of_one": Pair(FULL, "user_namespace", {"proc/self/uid_map": "1000 1000 1\n"},
                                  ["fact none"], ["fact user 1000 here is user 1000 outside"]),
    "seccomp": Pair(FULL, "seccomp", {"proc/self/status": ("Seccomp:\t0\n", "Seccomp:\t2\n")},
                    ["fact off"], ["fact filter"], also=["mpi.cma"]),
    "seccomp_untold": Pair(FULL, "seccomp", {"proc/self/status": ("Seccomp:\t0\n", "")},
                           ["fact off"], [], also=["mpi.cma"]),
    "nvidia_entrypoint": Pair("containers", "nvidia_entrypoint",
                              {"usr/local/cuda/compat/libcuda.so.580.95.05": None,
                               "usr/local/cuda/compat": None},
                              ["fact was bypassed, so /usr/local/cuda/compat is not used"],
                              ["fact has not run, and has nothing to set"]),
    "nvidia_entrypoint_ran": Pair("containers", "nvidia_entrypoint",
                                  {"opt/nvidia/nvidia_entrypoint.sh": None}, ["fact has run"], [],
                                  ["_CUDA_COMPAT_STATUS=CUDA_DRIVER_OK"]),
    "image": Pair("containers", "image",
                  {"IMAGE_INFORMATION": None, "etc/os-release": "PRETTY_NAME=\"X 1\"\n"},
                  ["fact azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04, "
                   "Materializaton Build:20241202.v1"], ["fact X 1"]),
}


@pytest.mark.parametrize("name", FACTS)
def test_fact(rankinit, tmp_path, name):
    compare(rankinit, tmp_path, FACTS[name])
