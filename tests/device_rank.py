# SPDX-License-Identifier: Apache-2.0
"""A rank of device.py's: one all-reduce over NCCL, by the variables that rankinit gives."""

import os

import torch
import torch.distributed as dist

rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(local)
dist.init_process_group("nccl")
mine = torch.full((1 << 20,), rank + 1, device="cuda")
dist.all_reduce(mine)
assert bool((mine == mine[0]).all())
print(f"rank {rank} of {world}: sum {int(mine[0])} over {dist.get_backend()}", flush=True)
dist.destroy_process_group()
