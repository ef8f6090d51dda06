# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a training program, by name, and where: the programs call strike()."""

import argparse
import ctypes
import faulthandler
import os
import signal
import socket
import struct
import sys
import threading
import time

FAULTS = {}


def fault(point, name):
    """The function below is what happens at this point of the program."""
    def add(function):
        FAULTS[name] = (point, function)
        return function
    return add


def options(*more):
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--rank", default="2", help="who has the fault: a number, or all")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60, help="how long a collective may take")
    parser.add_argument("--tidy", action="store_true", help="clean up in `finally`")
    for word in ("--record", *more):
        parser.add_argument(word, action="store_true")
    return parser.parse_args()


def strike(point, wanted, rank):
    """What is to happen to this rank at this point of the program, if anything."""
    at, function = FAULTS.get(wanted.fault, (None, None))
    if at == point and wanted.rank in ("all", str(rank)):
        function()


# Exceptions.

def augment(sample):
    raise ValueError(f"bad batch 17: expected 3 channels, got {sample}")


@fault("step", "raises")
def raises():
    augment(4)


@fault("step", "chain")
def chain():
    try:
        {"image": 1}["label"]
    except KeyError as missing:
        raise RuntimeError("sample 4711 of shard-0003.tar cannot be decoded") from missing


@fault("step", "cleanup")
def cleanup():
    """The clean-up after the first exception fails as well."""
    try:
        raise OSError(28, "No space left on device", "/job/checkpoints/step-3.pt.tmp")
    except OSError:
        os.unlink("/job/checkpoints/step-3.pt.tmp")


@fault("step", "asserts")
def asserts():
    loss = float("nan")
    assert loss == loss, "loss is nan at step 3"


@fault("step", "recursion")
def recursion():
    def descend(tree):
        return descend(tree)
    descend({})


@fault("step", "memory")
def memory():
    bytearray(1 << 60)


@fault("step", "allocator")
def allocator():
    import torch
    torch.empty(1 << 58)


@fault("step", "pickling")
def pickling():
    import pickle
    pickle.dumps(lambda batch: batch)


@fault("step", "group")
def group():
    raise ExceptionGroup("2 shards failed", [
        FileNotFoundError(2, "No such file or directory", "/data/shard-0001.tar"),
        ValueError("shard-0002.tar: bad magic number")])


@fault("step", "reset-by-server")
def reset_by_server():
    """An exception that reads like the loss of a peer; but it was the server of the data."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as reader:
            other, _ = server.accept()
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            other.close()
            reader.recv(1)


@fault("step", "logged")
def logged():
    """Caught, logged with its traceback, and the status says the rest."""
    import logging
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        augment(4)
    except ValueError:
        logging.getLogger("train").exception("training failed")
        sys.exit(1)


@fault("step", "rich")
def rich():
    from rich.traceback import install
    install(width=100)
    augment(4)


@fault("step", "footer")
def footer():
    """Words at exit, as trackers of experiments have them, hide the traceback."""
    import atexit

    def say():
        for line in ("", "tracker: Run history:", "tracker: loss 0.91 0.88 0.87",
                     "tracker: View run brisk-sun-17 at: http://localhost:8080/runs/17",
                     "tracker: Synced 5 file(s), 0 media file(s), 0 artifact file(s)",
                     "tracker: Find logs at: ./tracker/run-17/logs"):
            print(line, file=sys.stderr)
        time.sleep(0.4)
    atexit.register(say)
    augment(4)


@fault("step", "hangs-after-traceback")
def hangs_after_traceback():
    threading.Thread(target=time.sleep, args=(600,), name="uploader").start()
    augment(4)


# Ends without a traceback.

@fault("step", "killed")
def killed():
    os.kill(os.getpid(), signal.SIGKILL)


@fault("step", "segv")
def segv():
    ctypes.string_at(0)


@fault("step", "segv-told")
def segv_told():
    faulthandler.enable()
    ctypes.string_at(0)


@fault("step", "exit3")
def exit3():
    os._exit(3)


@fault("step", "aborts")
def aborts():
    os.abort()


@fault("step", "double-free")
def double_free():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    block = libc.malloc(24)
    for _ in range(2):
        libc.free(ctypes.c_void_p(block))


@fault("step", "exit-text")
def exit_text():
    sys.exit("train: checkpoint step-2.pt is of another model")


@fault("step", "exit-status")
def exit_status():
    sys.exit(3)


@fault("step", "ends-early")
def ends_early():
    sys.exit(0)


@fault("step", "sleeps")
def sleeps():
    time.sleep(600)


# Before the first step.

@fault("import", "no-module")
def no_module():
    import flash_kernels  # noqa: F401


@fault("import", "bad-option")
def bad_option():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int)
    parser.parse_args(["--batch-size=many"])


@fault("import", "killed-before")
def killed_before():
    os.kill(os.getpid(), signal.SIGKILL)


@fault("import", "raises-before")
def raises_before():
    raise FileNotFoundError(2, "No such file or directory", "/job/config/large.yaml")


@fault("import", "world-size")
def world_size():
    os.environ["WORLD_SIZE"] = str(int(os.environ["WORLD_SIZE"]) + 1)


@fault("import", "port-taken")
def port_taken():
    taken = socket.create_server(("", int(os.environ["MASTER_PORT"])))
    threading.Thread(target=taken.accept, daemon=True).start()


# In a worker of the data loader.

@fault("worker", "worker-raises")
def worker_raises():
    augment(4)


@fault("worker", "worker-killed")
def worker_killed():
    killed()


@fault("worker", "worker-segv")
def worker_segv():
    segv()


@fault("worker", "worker-exit")
def worker_exit():
    os._exit(3)


# What only the program itself can do: it asks for options.fault.
for NAME in ("mismatch", "monitored", "model-differs", "unused", "spawn-pickling", "checkpoint",
             "gather-mismatch", "mpi-abort"):
    FAULTS[NAME] = ("program", None)
