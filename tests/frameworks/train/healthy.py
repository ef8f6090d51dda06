# SPDX-License-Identifier: Apache-2.0
"""
SECONDS: healthy training of that length, which must not be taken for a job that hangs: DDP with
data-loader workers, a checkpoint each epoch, and an evaluation of 45 s on rank 0 alone, for which
the others wait. With COMPILE=1 torch.compile comes first.
"""

import os
import sys
import time

import torch
import torch.distributed as dist


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, _row):
        time.sleep(0.002)
        return torch.randn(256)


def main():
    end = time.monotonic() + float(sys.argv[1])
    dist.init_process_group("gloo")
    rank, epoch = dist.get_rank(), 0
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    if os.environ.get("COMPILE") == "1":
        torch.compile(lambda rows: (model.module(rows) ** 2).mean())(torch.randn(8, 256))
    over = torch.zeros(1)
    while over.item() == 0:
        for rows in torch.utils.data.DataLoader(Rows(), batch_size=32, num_workers=1):
            loss = (model(rows) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.05)
        epoch += 1
        torch.save({"model": model.state_dict(), "more": torch.zeros(5000000)}, f"saved{rank}")
        if epoch % 5 == 0 and rank == 0:
            time.sleep(45)
        dist.barrier()
        over = torch.tensor([float(time.monotonic() > end)])
        dist.all_reduce(over)
    print("epochs:", epoch, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
