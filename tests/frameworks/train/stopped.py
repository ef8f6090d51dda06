# SPDX-License-Identifier: Apache-2.0
"""A rank of MPI that waits for a stop, and says so."""

import os
import signal
import sys
import time

RANK = next(os.environ[name] for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
            if name in os.environ)


def stop(*_):
    os.write(1, f"stopped {RANK}\n".encode())
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
os.write(1, f"ready {RANK}\n".encode())
time.sleep(600)
