# SPDX-License-Identifier: Apache-2.0
"""
Ranks without a framework. They meet at MASTER_ADDR, on the port after MASTER_PORT, which torchrun
may have; where the leader goes before that they wait for the next one. Then they run until somebody
makes a file in their container: /tmp/end, or /tmp/fail-RANK for one of them.

    ranks.py [early] [save=SECONDS]

early: that file is looked for before they meet, too. save: a checkpoint that is written
when they are told to stop, and takes so long.
"""

import os
import signal
import socket
import sys
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PLACE = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + 1
SAVE = next((float(word[5:]) for word in sys.argv if word.startswith("save=")), None)
PIECE = bytes(range(256)) * 64  # twenty of them a second
stopped = False


def stop(number, frame):
    global stopped
    stopped = True


def look():
    if os.path.exists(f"/tmp/fail-{RANK}"):
        raise ValueError("a rank that is told to fail")


def lead():
    others = []
    with socket.create_server(("", PLACE[1]), backlog=SIZE) as server:
        server.settimeout(0.1)
        while len(others) < SIZE - 1 and not os.path.exists("/tmp/end"):
            try:
                others.append(server.accept()[0])
            except TimeoutError:
                pass
    for one in others:
        one.sendall(b"1")


def follow():
    while not os.path.exists("/tmp/end"):
        if "early" in sys.argv:
            look()
        try:
            with socket.create_connection(PLACE, timeout=1) as leader:
                leader.settimeout(None)
                if leader.recv(1) == b"1":
                    return
        except OSError:
            pass
        time.sleep(0.05)


def save():
    print(f"rank {RANK} saves", flush=True)
    with open(f"/tmp/rank-{RANK}.part", "wb") as file:
        for _ in range(round(20 * SAVE)):
            file.write(PIECE)
            time.sleep(0.05)
    os.rename(file.name, f"/tmp/rank-{RANK}")
    print(f"rank {RANK} has saved", flush=True)


if SAVE is not None:
    signal.signal(signal.SIGTERM, stop)
if RANK == 0:
    lead()
else:
    follow()
print(f"rank {RANK} of {SIZE} is up", flush=True)
while not stopped and not os.path.exists("/tmp/end"):
    look()
    time.sleep(0.05)
if stopped:
    save()
