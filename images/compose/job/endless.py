# SPDX-License-Identifier: Apache-2.0
"""Sums until it is stopped; then rank 0 of each node takes 5 s to write a checkpoint."""

import datetime
import os
import signal
import time

import torch
import torch.distributed as dist

stopped = False


def stop(number, frame):
    global stopped
    stopped = True


signal.signal(signal.SIGTERM, stop)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
print(f"rank {dist.get_rank()} of {dist.get_world_size()} trains", flush=True)
steps = 0
while True:
    # how many ranks were told to stop: all of them leave at the same step
    told = torch.tensor([int(stopped)])
    dist.all_reduce(told)
    steps += 1
    if told.item() > 0:
        break
    time.sleep(0.1)
if os.environ["LOCAL_RANK"] == "0":
    time.sleep(5)
    print(f"rank {dist.get_rank()} wrote its checkpoint", flush=True)
# nobody hangs up on those who are still there
dist.barrier()
dist.destroy_process_group()
