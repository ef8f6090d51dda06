# SPDX-License-Identifier: Apache-2.0
"""
torch_flight.py together|missing|another VICTIM: in the last collective one rank does not come, or
calls another one, until time is over for all of them; each then leaves the dump of its Flight
Recorder, as NCCL's watchdog would.
"""

import datetime
import os
import sys

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace

fault, victim = sys.argv[1], int(sys.argv[2])
PATIENCE = datetime.timedelta(seconds=5)


def wait_for_nobody():
    dist.distributed_c10d._get_default_store().wait(["no rank sets this"], PATIENCE)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    rank = dist.get_rank()
    value = torch.ones(4)
    for _ in range(4):
        dist.all_reduce(value)
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(PATIENCE)
    try:
        if fault == "together":
            wait_for_nobody()
        elif rank != victim:
            dist.all_reduce(value)
        elif fault == "another":
            dist.broadcast(value, victim)
            wait_for_nobody()
        else:
            wait_for_nobody()
    finally:
        with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank), "wb") as file:
            file.write(_dump_fr_trace())


main()
