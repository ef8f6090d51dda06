# SPDX-License-Identifier: Apache-2.0
"""One of two ranks takes memory until there is none."""

import os
import time

memory = []
while os.environ["RANK"] == "1":
    memory.append(bytearray(1 << 20))
time.sleep(60)
