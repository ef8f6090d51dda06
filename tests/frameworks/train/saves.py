# SPDX-License-Identifier: Apache-2.0
"""A rank whose checkpoint takes a minute from the stop on, and that ends by itself then."""

import os
import signal
import time

RANK = os.environ["RANK"]
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(time.monotonic()))
os.write(1, f"ready {RANK}\n".encode())
while not told:
    time.sleep(0.1)
while time.monotonic() < told[0] + 60:
    time.sleep(1)
os.write(1, f"saved {RANK}\n".encode())
