# SPDX-License-Identifier: Apache-2.0
"""A step of DeepSpeed's engine, on CPUs."""

import argparse

import deepspeed
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
options = parser.parse_args()

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(1, 1, bias=False)
engine, *_ = deepspeed.initialize(
    args=options, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    config={"train_micro_batch_size_per_gpu": 1})
engine.backward(engine(torch.tensor([float(10 ** engine.global_rank)])).sum())
engine.step()
total = torch.tensor([10 ** engine.global_rank])
deepspeed.comm.all_reduce(total)
print(f"rank {engine.global_rank} of {engine.world_size}, local {engine.local_rank}, "
      f"sum {total.item()}", flush=True)
