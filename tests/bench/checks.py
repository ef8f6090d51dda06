# SPDX-License-Identifier: Apache-2.0
"""How long all default checks take on a recorded machine that is healthy."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

import hosts

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = "az-nd96isr-h100"


def own_ms(program, root):
    """What the checks themselves say: each of them once, however many results it has."""
    done = subprocess.run([program, "--check=json", f"--root={root}"], env={}, check=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    found = json.loads(done.stdout)["checks"]
    return sum({check["id"]: check["ms"] for check in found}.values())


def measure(program, rounds):
    """Medians: the sum of the checks' own times, and the whole run less one of --version."""
    own, wall = [], []
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "hosts"))
    from grow import grow  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, MACHINE)
        grow(MACHINE, root)
        for _ in range(rounds):
            own.append(own_ms(program, root) * 1e6)
            base = hosts.timed([program, "--version"])
            wall.append(hosts.timed([program, "--check=json", f"--root={root}"]) - base)
    return {"own": statistics.median(own), "wall": statistics.median(wall)}
