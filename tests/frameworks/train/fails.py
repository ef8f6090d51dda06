# SPDX-License-Identifier: Apache-2.0
"""Rank 1 ends as FAULT says, the others wait for it. Runs below any launcher."""

import datetime
import glob
import os
import sys
import threading
import time

FAULT = os.environ["FAULT"]
RANK = int(next((os.environ[name] for name in
                 ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
                 if name in os.environ), -1))


def eat():
    """Until the kernel ends it: the test has put all of the job into a small memory cgroup."""
    eaten = []
    while True:
        eaten.append(b"x" * (16 << 20))


def is_watched():
    """Does a helper of rankinit hold a pidfd of this process?"""
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                if file.read() != "rankinit-ranks\n":
                    continue
            for held in glob.glob(os.path.dirname(path) + "/fdinfo/*"):
                with open(held, encoding="ascii") as file:
                    if f"Pid:\t{os.getpid()}\n" in file.read():
                        return True
        except OSError:
            continue
    return False


def train():
    """Until the next look at the ranks, where death is silent; what srun starts is never seen."""
    end = time.monotonic() + (60 if FAULT in ("kill", "segv", "exit", "memory", "abort") else 0)
    while "SLURM_PROCID" not in os.environ and time.monotonic() < end and not is_watched():
        time.sleep(0.1)


def fail():
    if FAULT == "import":
        __import__("no_such_module")
    time.sleep(1)   # as long as an import of a framework takes at least
    train()
    if FAULT == "linger":
        threading.Thread(target=time.sleep, args=(600,)).start()
    if FAULT in ("exception", "linger"):
        raise ValueError("bad batch 17")
    if FAULT == "kill":
        os.kill(os.getpid(), 9)
    if FAULT == "segv":
        os.kill(os.getpid(), 11)
    if FAULT == "exit":
        os._exit(3)
    if FAULT == "memory":
        eat()
    # what libtorch prints where a CUDA error meets no handler (c10/cuda/CUDAException.cpp)
    sys.stderr.write("terminate called after throwing an instance of 'c10::AcceleratorError'\n"
                     "  what():  CUDA error: device-side assert triggered\n")
    os.abort()


def main():
    if FAULT in ("gloo", "timeout"):
        import torch.distributed
        torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(
            seconds=10 if FAULT == "timeout" else 600))
        if RANK == 1 and FAULT == "gloo":
            raise ValueError("bad batch 17")
        if RANK == 1:
            time.sleep(600)
        torch.distributed.barrier()
    if RANK == 1:
        fail()
    train()
    time.sleep(15)


if __name__ == "__main__":
    main()
