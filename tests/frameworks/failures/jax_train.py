# SPDX-License-Identifier: Apache-2.0
"""A loop of collectives with JAX, one process a rank, on CPUs."""

import os

import faults

wanted = faults.options()
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import jax  # noqa: E402
import jax.numpy as np  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402


def main():
    jax.distributed.initialize(
        coordinator_address=f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
        num_processes=int(os.environ["WORLD_SIZE"]), process_id=rank,
        local_device_ids=[0], heartbeat_timeout_seconds=int(wanted.seconds),
        initialization_timeout=int(wanted.seconds), shutdown_timeout_seconds=int(wanted.seconds))
    gradient = jax.jit(jax.grad(lambda weights, batch: np.square(batch @ weights).mean()))
    weights = np.ones(8)
    for number in range(6):
        if number == 3:
            faults.strike("step", wanted, rank)
        shares = multihost_utils.process_allgather(gradient(weights, np.ones((4, 8))))
        weights = weights - 0.01 * shares.mean(axis=0)
        if rank == 0:
            print(f"step {number} weight {weights[0]:.4f}", flush=True)


if __name__ == "__main__":
    main()
