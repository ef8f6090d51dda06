# SPDX-License-Identifier: Apache-2.0
"""Training with Accelerate on CPUs."""

import os

import faults

wanted = faults.options("--workers")
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import torch  # noqa: E402
from accelerate import Accelerator  # noqa: E402


def main():
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(torch.rand(80, 8), batch_size=wanted.batch_size,
                                         num_workers=1 if wanted.workers else 0)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for number, batch in enumerate(loader):
        if number == 3:
            faults.strike("step", wanted, rank)
            if wanted.fault == "gather-mismatch":
                width = 3 if wanted.rank == str(rank) else 2
                accelerator.gather(torch.zeros(width))
        loss = model(batch).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print(f"step {number}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    if wanted.record:
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
