#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
In the place of a model server, `vllm serve` or `python3 -m sglang.launch_server`: it says with
which words it was started, its nodes meet at --dist-init-addr, and node 0 answers at /health.
"""

import argparse
import http.server
import signal
import socket
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("words", nargs="*")
parser.add_argument("--nnodes", type=int, default=1)
parser.add_argument("--node-rank", type=int, default=0)
parser.add_argument("--dist-init-addr", default="localhost:29500")
options, _ = parser.parse_known_args()
host, port = options.dist_init_addr.rsplit(":", 1)


class Health(http.server.BaseHTTPRequestHandler):
    """GET /health"""

    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def stop(*_):
    print(f"node {options.node_rank} stops", flush=True)
    sys.exit(0)


def lead():
    """Until all others have come; they stay connected."""
    with socket.create_server(("", int(port)), backlog=options.nnodes) as server:
        others = [server.accept()[0] for _ in range(1, options.nnodes)]
        for one in others:
            one.sendall(b"1")
    return others


def follow():
    while True:
        try:
            leader = socket.create_connection((host, int(port)), timeout=1)
            leader.settimeout(None)
            if leader.recv(1) == b"1":
                return leader
        except OSError:
            time.sleep(0.05)


signal.signal(signal.SIGTERM, stop)
print(" ".join(sys.argv[1:]), flush=True)
met = lead() if options.node_rank == 0 else follow()
print(f"node {options.node_rank} of {options.nnodes} serves", flush=True)
if options.node_rank == 0:
    http.server.HTTPServer(("", 8000), Health).serve_forever()
signal.pause()
