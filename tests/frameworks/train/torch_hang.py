# SPDX-License-Identifier: Apache-2.0
"""
torch_hang.py FAULT VICTIM [PATH]: DDP on gloo with a data loader in each rank, in which one rank
stops in one of the ways that jobs do. FAULT healthy: none does.
"""

import ctypes
import hashlib
import os
import queue
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

fault, victim = sys.argv[1], int(sys.argv[2])
path = sys.argv[3] if len(sys.argv) > 3 else ""
GOOD = 6    # steps before it
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


class Numbers(Dataset):
    def __init__(self, dies):
        self.dies = dies

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        if self.dies and index == 4 * GOOD and path:
            read_dead()
        elif self.dies and index == 4 * GOOD:
            os.kill(os.getpid(), signal.SIGSTOP)
        return torch.full((8,), float(index % 7))


def be_traced():
    parent = os.getpid()
    if os.fork() == 0:
        libc = ctypes.CDLL(None)
        libc.ptrace(PTRACE_SEIZE, parent, 0, 0)
        libc.ptrace(PTRACE_INTERRUPT, parent, 0, 0)
        time.sleep(600)
    while True:
        time.sleep(0.01)


def deadlock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def spin():
    number = 0
    while True:
        number = (number + 1) % 1000


def read_dead():
    with open(path, "rb") as file:
        return file.read()


FAULTS = {
    "sleep": lambda: time.sleep(600),
    "collective": lambda: dist.barrier(),
    "dead-mount": read_dead,
    "lock": deadlock,
    "spin": spin,
    "no-data": lambda: queue.Queue().get(),
    "debugger": be_traced,
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "c-code": lambda: hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2 ** 31 - 1),
}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    data = Numbers(fault in ("dead-loader", "worker-mount") and rank == victim)
    for step, batch in enumerate(DataLoader(data, batch_size=2, num_workers=1)):
        if step == GOOD:
            print("trains", flush=True)
            if rank == victim and fault in FAULTS:
                FAULTS[fault]()
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()


main()
