# SPDX-License-Identifier: Apache-2.0
"""What a healthy job costs in front of a launcher: how often rankinit wakes up for its ranks."""

import os
import signal
import subprocess
import tempfile
import time

SECONDS = 70    # the last look is 64 s after the start
LAUNCHER = """#!/bin/sh
for rank in 0 1; do
    env RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 sleep 600 &
done
wait
"""


def voluntary(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return fields["Name"].strip(), int(fields["voluntary_ctxt_switches"])


def measure(program, seconds=SECONDS):
    """name of the process -> how often it slept, from its start on."""
    with tempfile.TemporaryDirectory(prefix="bench-launched-") as folder:
        path = os.path.join(folder, "torchrun")
        with open(path, "w", encoding="ascii") as file:
            file.write(LAUNCHER)
        os.chmod(path, 0o755)
        job = subprocess.Popen([program, "--checks=none", "--", path], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(seconds)
            with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as file:
                found = [voluntary(pid) for pid in (job.pid, *file.read().split())]
            return {name: count for name, count in found if name.startswith("rankinit")}
        finally:
            job.send_signal(signal.SIGTERM)
            job.wait(60)
