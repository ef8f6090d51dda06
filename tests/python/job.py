# SPDX-License-Identifier: Apache-2.0
"""job.py: two processes that wait now here, now there, for compare.py; prints their pids.

With torch: two ranks of gloo with a data loader's worker each, and one or the other is late for a
collective, a batch or a lock. Without: threads that do the like with what Python brings.
"""

import os
import queue
import random
import socket
import subprocess
import sys
import threading
import time

try:
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, Dataset
except ImportError:
    torch, Dataset = None, object

RANK = int(os.environ.get("RANK", "-1"))
LOCK = threading.Lock()


def down(left, then):
    """At another depth each time, as in real programs."""
    return down(left - 1, then) if left else then()


def late():
    down(random.randrange(12), lambda: time.sleep(random.uniform(0.3, 1.2)))


class Slow(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if random.random() < 0.3:
            late()
        return torch.ones(8)


def locked():
    with LOCK:
        late()


def hold():
    while True:
        locked()
        time.sleep(0.01)


def train():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    random.seed(RANK)
    same = random.Random(7)     # the ranks take the same collective
    threading.Thread(target=hold, daemon=True).start()
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    for batch in DataLoader(Slow(), batch_size=2, num_workers=1, prefetch_factor=1):
        if random.random() < 0.5:
            late()
        model(batch).sum().backward()
        same.choice([lambda: distributed.all_reduce(torch.ones(4)), distributed.barrier,
                     locked])()
        distributed.barrier()


def wait_for(kind):
    """One of what a thread can be stuck in."""
    first, second = socket.socketpair()
    if kind == "queue":
        threading.Timer(random.uniform(0.3, 1.2), KINDS.put, [1]).start()
        KINDS.get()
    elif kind == "child":
        subprocess.run(["sleep", str(random.uniform(0.3, 1.2))], check=True)
    elif kind == "socket":
        first.settimeout(random.uniform(0.3, 1.2))
        try:
            first.recv(1)
        except OSError:
            pass
    elif kind == "event":
        threading.Event().wait(random.uniform(0.3, 1.2))
    else:
        locked()
    first.close()
    second.close()


KINDS = queue.Queue()


def threads(seed):
    chosen = random.Random(seed)
    while True:
        kind = chosen.choice(["queue", "child", "socket", "event", "lock"])
        down(chosen.randrange(12), lambda kind=kind: wait_for(kind))


def main():
    if RANK >= 0:
        if torch:
            train()
        for seed in range(3):
            threading.Thread(target=threads, args=(seed,), daemon=True).start()
        threads(RANK)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, __file__], env={
        **os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port)}) for rank in range(2)]
    print(*(rank.pid for rank in ranks), flush=True)
    try:
        sys.stdin.read()
    finally:
        for rank in ranks:
            rank.kill()


main()
