# SPDX-License-Identifier: Apache-2.0
"""
torch_waits.py KIND VICTIM FOLDER: ranks that are parallel in one of torch's ways, on gloo, of which
one sleeps from one of its first steps on.
"""

import itertools
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel

kind, victim, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
CPU = torch.device("cpu")


def trains(model):
    optimizer = torch.optim.SGD(model.parameters(), 0.001)

    def step(number):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    return step


def shard():
    mesh = dist.init_device_mesh("cpu", (world,))
    return trains(fully_shard(torch.nn.Linear(8, 8), mesh=mesh))


def prefetch():
    """The parameters are asked for, and waited for later."""
    mesh = dist.init_device_mesh("cpu", (world,))
    model = fully_shard(torch.nn.Linear(8, 8), mesh=mesh)
    step = trains(model)

    def prefetching(number):
        handle = model.unshard(async_op=True)
        handle.wait()
        step(number)
    return prefetching


def shard_old():
    return trains(FullyShardedDataParallel(torch.nn.Linear(8, 8), device_id=CPU))


def pipe():
    stage = PipelineStage(torch.nn.Linear(8, 8), rank, world, CPU)
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda out, target: (out - target).sum())

    def step(number):
        if rank == 0:
            schedule.step(torch.ones(2, 8))
        elif rank == world - 1:
            schedule.step(target=torch.ones(2, 8))
        else:
            schedule.step()
    return step


def save():
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    return lambda number: checkpoint.save(model.state_dict(),
                                          checkpoint_id=f"{folder}/{number % 2}")


# What makes a step, and in which one the victim sleeps.
KINDS = {
    "ddp": (lambda: trains(DistributedDataParallel(torch.nn.Linear(8, 8))), 1),
    "ddp-buffers": (lambda: trains(DistributedDataParallel(torch.nn.BatchNorm1d(8))), 2),
    "fsdp1": (shard_old, 1),
    "fsdp2": (shard, 1),
    "fsdp2-prefetch": (prefetch, 1),
    "pipeline": (pipe, 1),
    "checkpoint": (save, 1),
}


def main():
    make, last = KINDS[kind]
    step = make()
    for number in itertools.count():
        if number == last:
            print("trains", flush=True)
            if rank == victim:
                time.sleep(600)
        step(number)


main()
