# SPDX-License-Identifier: Apache-2.0
"""Ranks of MPI itself."""

import os

from mpi4py import MPI

world = MPI.COMM_WORLD
local = world.Split_type(MPI.COMM_TYPE_SHARED)
total = world.allreduce(10 ** world.rank)
assert int(os.environ.get("RANK", world.rank)) == world.rank
print(f"rank {world.rank} of {world.size}, local {local.rank}, sum {total}", flush=True)
