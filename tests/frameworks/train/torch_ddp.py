# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel. Every rank adds another power of ten, so the sum shows who took part."""

import argparse
import gc
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--local_rank", "--local-rank", type=int)
options = parser.parse_args()

dist.init_process_group("gloo", init_method="env://")
local = int(os.environ["LOCAL_RANK"]) if options.local_rank is None else options.local_rank
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
model(torch.tensor([float(10 ** dist.get_rank())])).backward()
# the mean of all ranks' gradients, which are their inputs
total = round(model.module.weight.grad.item() * dist.get_world_size())
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, local {local}, sum {total}", flush=True)
# nobody hangs up on those who are still there
dist.barrier()
# it holds the group, whose threads must not outlive the interpreter (pytorch/pytorch 179291)
del model
gc.collect()
dist.destroy_process_group()
