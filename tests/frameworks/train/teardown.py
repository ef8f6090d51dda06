# SPDX-License-Identifier: Apache-2.0
"""Rank 1 raises, and its teardown waits for the others, who wait for it for SECONDS."""

import datetime
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=int(os.environ["SECONDS"])))
late = dist.new_group(timeout=datetime.timedelta(seconds=600))


def main():
    try:
        if dist.get_rank() == 1:
            raise ValueError("bad batch 17")
        dist.all_reduce(torch.ones(1))
    finally:
        if dist.get_rank() == 1:
            dist.barrier(late)
        dist.destroy_process_group()


main()
