# SPDX-License-Identifier: Apache-2.0
"""
steps.py FOLDER DEED: a rank that meets the others in a collective of FOLDER's module, which is
named as torch's own is, and really does: rank 0 has a thread that counts them.
"""

import os
import subprocess
import sys
import time

folder, deed = sys.argv[1:3]
sys.path.insert(0, os.path.join(folder, "site-packages"))
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK", "0")))
os.environ["STEPS_RANK"] = str(rank)
from torch.distributed import distributed_c10d as dist  # noqa: E402 (of that folder)


def move():
    """Rank 2 sleeps in each step, and the others wait for it."""
    while True:
        if rank == 2:
            time.sleep(0.1)
        dist.barrier()


def hang():
    if rank == 2:
        time.sleep(600)
    dist.barrier()


def start_daemon():
    """As a service that measures does: it has no parent, and all variables of its rank."""
    if rank == 0 and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    hang()


def set_variables():
    """As scripts do below mpirun; what is started then is surer of its rank than the rank."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
    hang()


def leave():
    if rank == 2:
        os._exit(0)
    dist.barrier()


dist.barrier()
print("steps", flush=True)
{"move": move, "hang": hang, "daemon": start_daemon, "variables": set_variables,
 "leave": leave}[deed]()
