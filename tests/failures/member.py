# SPDX-License-Identifier: Apache-2.0
"""
A rank of a job without a framework: all meet at MASTER_PORT, are connected to each other, and say
a word to each other again and again, as in a collective. One of them fails in the way that
FAULT says.

    member.py FAULT RANK MILLISECONDS      FAULT of RANK, so long after they have met
    member.py none - MILLISECONDS          all end well, so long after they have met
"""

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PLACE = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
FAULT, WHO, AFTER = (*sys.argv[1:3], int(sys.argv[3]) / 1000) if len(sys.argv) > 3 else (
    "none", "-", 60)
PATIENCE = 30.0
TURN = 0.05
WAIT = 2.5          # as long as a collective waits
GLOO = "[/build/third_party/gloo/gloo/transport/tcp/pair.cc:534]"


def lines(connection):
    return connection.makefile("rw", buffering=1)


def lead(listener):
    """Rank 0 has the list of all addresses."""
    places = {0: listener.getsockname()}
    with socket.create_server(PLACE, backlog=SIZE) as server:
        server.settimeout(PATIENCE)
        calls = [lines(server.accept()[0]) for _ in range(SIZE - 1)]
    for call in calls:
        rank, place = json.loads(call.readline())
        places[rank] = place
    for call in calls:
        call.write(json.dumps(places) + "\n")
    return places


def follow(listener):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            call = lines(socket.create_connection(PLACE))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end, f"nobody listens at {PLACE}"
            time.sleep(0.02)
    call.write(json.dumps([RANK, listener.getsockname()]) + "\n")
    return {int(rank): place for rank, place in json.loads(call.readline()).items()}


def meet():
    """Connections to all other ranks."""
    with socket.create_server(("127.0.0.1", 0), backlog=SIZE) as listener:
        listener.settimeout(PATIENCE)
        places = lead(listener) if RANK == 0 else follow(listener)
        peers = []
        for rank in range(RANK):
            peers.append(socket.create_connection(tuple(places[rank])))
        for _ in range(RANK + 1, SIZE):
            peers.append(listener.accept()[0])
    return peers


def fail():
    """The end of the one that is to fail."""
    os.environ.pop("RANKINIT_SIMULATED", None)
    if FAULT == "exception":
        raise ValueError("bad batch 17")
    if FAULT == "memory":
        raise MemoryError("cannot allocate 81920 MiB")
    if FAULT == "text":
        sys.exit("no such data set: /data/train")
    if FAULT == "silent":
        os._exit(3)
    if FAULT == "assert":
        print("train: step.cc:41: run: Assertion `n > 0' failed.", file=sys.stderr, flush=True)
        os.abort()
    if FAULT == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "segv":
        ctypes.string_at(0)
    if FAULT == "hang":
        os.kill(os.getpid(), signal.SIGSTOP)
    if FAULT == "gone":     # the machine: its init, and all below it
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(PATIENCE)
    if FAULT == "left":     # at once: its connections would be closed well before its end
        os._exit(0)


def take(peer):
    """A word of that peer."""
    ready, _, _ = select.select([peer], [], [], WAIT)
    if not ready:
        raise RuntimeError(f"{GLOO} Timed out waiting {WAIT * 1000:.0f}ms for recv operation")
    try:
        word = peer.recv(1)
    except ConnectionError:
        word = b""
    if not word:
        raise RuntimeError(f"{GLOO} Connection closed by peer [127.0.0.1]:{PLACE[1]}")


def work(peers):
    """Collectives, until the time has come."""
    turns = int(AFTER / TURN)
    for turn in range(turns + (0 if FAULT == "none" else 1000)):
        if str(RANK) == WHO and turn == turns:
            fail()
        time.sleep(0 if FAULT == "deadlock" and turn > turns else TURN)
        if FAULT == "deadlock" and turn > turns:
            take(peers[0])          # all wait, and nobody sends
        for peer in peers:
            try:
                peer.sendall(b".")
            except ConnectionError:
                pass
        for peer in peers:
            take(peer)


if __name__ == "__main__":
    work(meet())
