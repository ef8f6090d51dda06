# SPDX-License-Identifier: Apache-2.0
"""Training with torch on CPUs: a plain loop of collectives, --ddp or --fsdp."""

import gc
import os
import time
from datetime import timedelta

import faults

wanted = faults.options("--ddp", "--fsdp", "--workers", "--spawn", "--tqdm", "--slow")
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import torch  # noqa: E402 (a program may fail before it has imported anything)
import torch.distributed as dist  # noqa: E402
from torch.distributed.elastic.multiprocessing.errors import record  # noqa: E402

STEPS = 5


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * wanted.batch_size

    def __getitem__(self, index):
        if index >= 3 * wanted.batch_size:
            faults.strike("worker", wanted, rank)
        return torch.full((8,), float(index))


def make_loader():
    if not (wanted.workers or wanted.spawn):
        return torch.utils.data.DataLoader(Data(), batch_size=wanted.batch_size)
    collate = (lambda samples: torch.stack(samples)) if wanted.fault == "spawn-pickling" else None
    return torch.utils.data.DataLoader(
        Data(), batch_size=wanted.batch_size, num_workers=1, collate_fn=collate,
        multiprocessing_context="spawn" if wanted.spawn else "fork")


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(8, width)
        self.second = torch.nn.Linear(width, 1)
        self.spare = torch.nn.Linear(width, 1) if wanted.fault == "unused" else None

    def forward(self, batch):
        return self.second(torch.relu(self.first(batch)))


def make_model():
    odd = wanted.fault == "model-differs" and wanted.rank == str(rank)
    model = Model(17 if odd else 16)
    if wanted.fault == "checkpoint" and wanted.rank == str(rank):
        model.load_state_dict(Model(32).state_dict())
    if wanted.fsdp:
        from torch.distributed.fsdp import FullyShardedDataParallel
        return FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    return torch.nn.parallel.DistributedDataParallel(model) if wanted.ddp else model


def average(model):
    """What DDP would do, by hand."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def train_step(model, optimizer, batch, number):
    if number == 3:
        faults.strike("step", wanted, rank)
        if wanted.fault == "mismatch" and wanted.rank == str(rank):
            dist.broadcast(torch.zeros(3), src=rank)
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    if not (wanted.ddp or wanted.fsdp):
        average(model)
    optimizer.step()
    return loss.item()


def bar(batches):
    if not wanted.tqdm:
        return batches
    from tqdm import tqdm
    return tqdm(batches, desc=f"rank {rank}", mininterval=0)


def train():
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for number, batch in enumerate(bar(make_loader())):
        loss = train_step(model, optimizer, batch, number)
        if rank == 0:
            print(f"step {number} loss {loss:.4f}", flush=True)
    if wanted.fault == "monitored":
        if wanted.rank == str(rank):
            faults.sleeps()
        dist.monitored_barrier(timeout=timedelta(seconds=wanted.seconds))
    dist.barrier()


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=wanted.seconds))
    if not wanted.tidy:
        train()
        return dist.destroy_process_group()
    try:
        train()
    finally:
        dist.destroy_process_group()
        if wanted.slow:     # whatever else a program does then
            gc.collect()
            time.sleep(0.5)


if __name__ == "__main__":
    (record(main) if wanted.record else main)()
