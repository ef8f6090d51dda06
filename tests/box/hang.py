# SPDX-License-Identifier: Apache-2.0
"""
hang.py FOLDER DEED VICTIM: a rank that meets the others in a collective and never leaves it,
but for the victim, which does something else. FOLDER has a module whose file is named as torch's
own is.
"""

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time

folder, deed, victim = sys.argv[1:4]
sys.path.insert(0, os.path.join(folder, "site-packages"))
from torch.distributed import distributed_c10d as dist  # noqa: E402 (of that folder)

LIBC = ctypes.CDLL(None)
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def be_traced():
    """By a child, which may trace whom it descends from where there is no Yama."""
    parent = os.getpid()
    if os.fork() == 0:
        LIBC.ptrace(PTRACE_SEIZE, parent, 0, 0)
        LIBC.ptrace(PTRACE_INTERRUPT, parent, 0, 0)
        time.sleep(600)
    while True:
        time.sleep(0.01)


def work():
    time.sleep(600)


def wait_for_child():
    if os.fork() == 0:
        work()
    os.wait()


def hold():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def spin():
    while True:
        sum(range(100))


def work_in_turns():
    """As a rank does that computes, and waits for its data."""
    while True:
        sum(range(100000))
        time.sleep(0.005)


DEEDS = {
    "sleep": work,
    "lock": hold,
    "queue": lambda: queue.Queue().get(),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "spin": spin,
    "turns": work_in_turns,
    "child": wait_for_child,
    "traced": be_traced,
    "read": lambda: open(os.path.join(folder, "dead", "x"), "rb"),
    "vfork": lambda: subprocess.Popen([os.path.join(folder, "dead", "x")]),
    "barrier": dist.barrier,
    "collective": dist.all_reduce,
}


def save(*_):
    """A checkpoint, and the time when it was asked for; it goes on while FOLDER/hold is there."""
    with open(os.path.join(folder, "saved." + os.environ.get("RANK", "0")), "w") as file:
        file.write(f"{time.monotonic()} " + "x" * 100000)
    while os.path.exists(os.path.join(folder, "hold")):
        time.sleep(0.01)
    os._exit(0)


def main():
    signal.signal(signal.SIGTERM, save)
    print("hangs", flush=True)
    if os.environ.get("RANK", "0") == victim:
        DEEDS[deed]()
    dist.all_reduce()


main()
