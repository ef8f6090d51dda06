# SPDX-License-Identifier: Apache-2.0
"""
DDP on gloo, of which rank 1 raises an exception at step 2. FAULT=late: it ends slowly, and rank 0
aborts of its loss first; FAULT=caught: rank 1 caught it and goes on, and rank 0 ends as before.
"""

import atexit
import gc
import os
import sys
import time
import traceback

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

FAULT = os.environ.get("FAULT", "")
PEER = "[/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:23960"


def close_and_wait():
    """The frames that the exception holds have the model, and that has the group."""
    sys.last_type = sys.last_value = sys.last_traceback = sys.last_exc = None
    gc.collect()
    dist.destroy_process_group()
    gc.collect()
    time.sleep(20)


def abort():
    """As C++ does where a thread of gloo's still runs at the exit."""
    sys.stderr.write("terminate called without an active exception\n")
    sys.stderr.flush()
    os.abort()


def step(batch, model, optimizer):
    if batch == 2 and dist.get_rank() == 1:
        raise ValueError(f"bad batch {batch}")
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()


def train():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in range(5):
        try:
            step(batch, model, optimizer)
        except ValueError:
            if FAULT != "caught":
                raise
            traceback.print_exc()
            time.sleep(60)
        if FAULT == "caught" and batch == 1 and dist.get_rank() == 0:
            time.sleep(2)
            raise RuntimeError(PEER)


dist.init_process_group("gloo")
if FAULT in ("late", "caught"):
    atexit.register(close_and_wait if dist.get_rank() == 1 else abort)
if os.environ.get("RECORD"):
    train = record(train)
train()
