# SPDX-License-Identifier: Apache-2.0
"""Rank 1 raises in the first FAILS starts; the main function writes torch's error file."""

import os
import time

from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    start = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    failed = os.environ["RANK"] == "1" and start < int(os.environ["FAILS"])
    # until rankinit has had the time for its looks at both
    time.sleep(2)
    if failed:
        raise ValueError(f"bad batch {17 + start}")
    time.sleep(2)


main()
