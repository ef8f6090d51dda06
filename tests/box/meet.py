# SPDX-License-Identifier: Apache-2.0
"""
A training job without a framework: rank 0 listens where MASTER_ADDR and MASTER_PORT
say, the others connect, and each prints the sum of all ranks.

    meet.py FOLDER
"""

import os
import socket
import struct
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
PLACE = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
PATIENCE = 30.0


def lead():
    with socket.create_server(PLACE, backlog=SIZE) as server:
        server.settimeout(PATIENCE)
        others = [server.accept()[0] for _ in range(SIZE - 1)]
    total = sum(struct.unpack("i", one.recv(4, socket.MSG_WAITALL))[0] for one in others)
    for one in others:
        one.sendall(struct.pack("i", total))
    return total


def follow():
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(PLACE) as leader:
                leader.sendall(struct.pack("i", RANK))
                return struct.unpack("i", leader.recv(4, socket.MSG_WAITALL))[0]
        except ConnectionRefusedError:
            assert time.monotonic() < end, f"nobody listens at {PLACE}"
            time.sleep(0.05)


print(f"rank {RANK} of {SIZE}, local {os.environ['LOCAL_RANK']} of "
      f"{os.environ['LOCAL_WORLD_SIZE']}, node {os.environ['NODE_RANK']}: "
      f"sum {lead() if RANK == 0 else follow()}", flush=True)
