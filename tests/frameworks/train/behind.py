# SPDX-License-Identifier: Apache-2.0
"""
Four ranks or more behind a launcher, each with a rankinit of its own. They meet by sockets in the
folder MEET, as ranks of torch do. Rank 2 fails as FAULT says; what the others do is OTHERS: loss,
they raise what gloo raises; end, they end well; wait, they wait for the launcher to stop them.
START is mpi for ranks of mpi4py, or pmi for a client of the launcher's PMI, which Hydra watches.
"""

import os
import select
import signal
import socket
import sys
import time
import traceback

FAULT, OTHERS = os.environ["FAULT"], os.environ["OTHERS"]
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
CULPRIT = 2
# gloo's of torch 2.13 (gloo/transport/tcp/pair.cc)
LOST = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer " \
    "[127.0.0.1]:4711"


def init():
    """What the ranks are for their launcher before they meet."""
    if os.environ.get("START") == "mpi":
        from mpi4py import MPI
        return MPI
    if os.environ.get("START") == "pmi":
        pmi = int(os.environ["PMI_FD"])
        os.write(pmi, b"cmd=init pmi_version=1 pmi_subversion=1\n")
        assert os.read(pmi, 1000).startswith(b"cmd=response_to_init ")
    return None


def meet():
    """rank -> a socket to it, of each other rank."""
    def path(rank):
        return f"{os.environ['MEET']}/{rank}"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path(RANK))
    server.listen(SIZE)
    peers = {}
    for rank in range(RANK):
        while rank not in peers:
            peer = socket.socket(socket.AF_UNIX)
            try:
                peer.connect(path(rank))
                peer.send(bytes([RANK]))
                peers[rank] = peer
            except OSError:
                time.sleep(0.02)
    while len(peers) < SIZE - 1:
        peer = server.accept()[0]
        peers[peer.recv(1)[0]] = peer
    # all have met when rank 0 has heard of all
    if RANK:
        peers[0].send(b"h")
        peers[0].recv(1)
        return peers
    for peer in peers.values():
        peer.recv(1)
    for peer in peers.values():
        peer.send(b"m")
    return peers


def leave_late(peers):
    """It has raised, and closes its sockets before it ends: by then others were stopped for it."""
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))

    def hook(*exception):
        traceback.print_exception(*exception)
        sys.stderr.flush()
        for peer in peers.values():
            peer.shutdown(socket.SHUT_WR)
        left = set(peers.values())
        while left and not told:
            for peer in select.select(list(left), [], [], 0.1)[0]:
                left.discard(peer)
    sys.excepthook = hook


def fail(mpi, peers):
    if FAULT == "import":
        __import__("no_such_module")
    if FAULT == "late":
        leave_late(peers)
    if FAULT in ("exception", "late"):
        raise ValueError("bad batch 17")
    if FAULT == "memory":
        eaten = []
        while True:
            eaten.append(b"x" * (16 << 20))
    if FAULT in ("kill", "segv"):
        os.kill(os.getpid(), 9 if FAULT == "kill" else 11)
    if FAULT == "exit":
        os._exit(3)
    if FAULT == "mpi_abort":
        mpi.COMM_WORLD.Abort(7)     # MPICH's comes back, and SIGKILL comes later
        time.sleep(60)
    # what libtorch prints where a CUDA error meets no handler (c10/cuda/CUDAException.cpp)
    sys.stderr.write("terminate called after throwing an instance of 'c10::AcceleratorError'\n"
                     "  what():  CUDA error: device-side assert triggered\n")
    sys.stderr.flush()
    os.abort()


def follow(peers):
    if OTHERS == "wait":
        time.sleep(60)
    if OTHERS == "end":
        peers[CULPRIT].recv(1)
        os._exit(0)
    select.select(list(peers.values()), [], [])
    raise RuntimeError(LOST)


def main():
    mpi = init()
    peers = meet()
    if FAULT == "none":
        sys.stdout.write(f"rank {RANK} says\n")
        sys.stderr.write(f"rank {RANK} warns\n")
    elif RANK == CULPRIT:
        fail(mpi, peers)
    else:
        follow(peers)


main()
