# SPDX-License-Identifier: Apache-2.0
"""JAX: a sum over all processes."""

import os

import jax
import jax.numpy as np
from jax.experimental import multihost_utils

jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
local = os.environ["JAX_LOCAL_DEVICE_IDS"]
shares = multihost_utils.process_allgather(np.array([10 ** jax.process_index()]))
print(f"rank {jax.process_index()} of {jax.process_count()}, local {local}, "
      f"sum {int(shares.sum())}", flush=True)
