# SPDX-License-Identifier: Apache-2.0
"""Horovod's own optimizer, over MPI."""

import horovod.torch as hvd
import torch

hvd.init()
model = torch.nn.Linear(1, 1, bias=False)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), op=hvd.Sum)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
before = model.weight.item()
model(torch.tensor([float(10 ** hvd.rank())])).backward()
optimizer.step()
total = round(before - model.weight.item())
print(f"rank {hvd.rank()} of {hvd.size()}, local {hvd.local_rank()}, sum {total}", flush=True)
