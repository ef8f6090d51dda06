# SPDX-License-Identifier: Apache-2.0
"""The Horovod image: a sum over Open MPI, with each rank behind rankinit."""

SUM = """
import os, torch, horovod.torch as hvd
hvd.init()
total = hvd.allreduce(torch.tensor([10 ** hvd.rank()]), op=hvd.Sum)
# in one write: ranks may share a pipe
os.write(1, f"{hvd.rank()} {os.environ['RANK']} {hvd.size()} {int(total)}\\n".encode())
"""


def test_mpirun_starts_the_ranks(engine):
    done = engine.run("horovod", "mpirun", "-np", "2", "--oversubscribe",
                      "rankinit", "--", "python", "-c", SUM, options=["--shm-size", "256m"])
    assert sorted(done.stdout.splitlines()) == ["0 0 2 11", "1 1 2 11"]


def test_it_has_mpi_and_nothing_else(engine):
    done = engine.run("horovod", "horovodrun", "--check-build")
    marked = [line.split("]")[1].strip() for line in done.stdout.splitlines() if "[X]" in line]
    assert marked == ["PyTorch", "MPI", "MPI"]
