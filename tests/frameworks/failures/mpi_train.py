# SPDX-License-Identifier: Apache-2.0
"""A loop of collectives over MPI: with Horovod, or --plain with mpi4py alone."""

import os

import faults

wanted = faults.options("--plain")
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
faults.strike("import", wanted, rank)


def horovod_step():
    import horovod.torch as hvd
    import torch
    hvd.init()
    model = torch.nn.Linear(8, 1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1e-4))

    def step():
        optimizer.zero_grad()
        model(torch.rand(4, 8)).square().mean().backward()
        optimizer.step()
    return step


def plain_step():
    from mpi4py import MPI
    return lambda: MPI.COMM_WORLD.allreduce(rank)


def main():
    step = plain_step() if wanted.plain else horovod_step()
    for number in range(5):
        if number == 3:
            faults.strike("step", wanted, rank)
            if wanted.fault == "mpi-abort" and wanted.rank == str(rank):
                from mpi4py import MPI
                MPI.COMM_WORLD.Abort(7)
        step()
        print(f"rank {rank} step {number}", flush=True)


if __name__ == "__main__":
    main()
