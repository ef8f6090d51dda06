# SPDX-License-Identifier: Apache-2.0
"""Every rank adds another power of ten. Who destroys the group waits for its threads, too."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([10 ** dist.get_rank()])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, local {os.environ['LOCAL_RANK']}, "
      f"sum {total.item()}", flush=True)
# nobody hangs up on those who are still there
dist.barrier()
dist.destroy_process_group()
