# SPDX-License-Identifier: Apache-2.0
"""Rank 1 raises, and a thread keeps it from its end; the others wait for it. With HOOK torch's."""

import os
import threading
import time


def prefetch():
    time.sleep(600)


if "HOOK" in os.environ:
    import torch.distributed
    torch.distributed.init_process_group("gloo")
if os.environ["RANK"] == "1":
    threading.Thread(target=prefetch).start()   # it is no daemon
    raise ValueError("bad batch 17")
time.sleep(600)
