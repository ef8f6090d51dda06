# SPDX-License-Identifier: Apache-2.0
"""Rank 1 ends as FAULT says, the others wait for it. Runs below any launcher."""

import os
import sys
import time

FAULT = os.environ["FAULT"]
RANK = int(next(os.environ[name] for name in
                ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
                if name in os.environ))


def fail():
    if FAULT == "exception":
        raise ValueError("bad batch 17")
    if FAULT == "import":
        __import__("no_such_module")
    if FAULT == "kill":
        os.kill(os.getpid(), 9)
    if FAULT == "segv":
        os.kill(os.getpid(), 11)
    if FAULT == "exit":
        time.sleep(1)   # Hydra says nothing of it, so it has to be seen
        os._exit(3)
    # what libtorch prints where a CUDA error meets no handler (c10/cuda/CUDAException.cpp)
    sys.stderr.write("terminate called after throwing an instance of 'c10::AcceleratorError'\n"
                     "  what():  CUDA error: device-side assert triggered\n")
    os.abort()


if FAULT == "gloo":
    import torch
    import torch.distributed
    torch.distributed.init_process_group("gloo")
    if RANK == 1:
        raise ValueError("bad batch 17")
    torch.distributed.barrier()
if RANK == 1:
    fail()
time.sleep(30)
