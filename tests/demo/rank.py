# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a training script: says what a framework would read."""

import os

NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")

# One write, so that the lines of several ranks do not mix.
os.write(1, (" ".join(os.environ.get(name, "-") for name in NAMES) + "\n").encode())
