# SPDX-License-Identifier: Apache-2.0
"""--stall: which jobs move, though a rank's main thread stays where it is in Python."""

import time

import pytest

from test_autopsy import PYTHON, STALLED, said, until_said

CHILD = "import subprocess, sys; subprocess.run([*sys.orig_argv[:3], '-c', sys.argv[1]])"
THREAD = """
import sys, threading
thread = threading.Thread(target=exec, args=(sys.argv[1], {}))
thread.start()
thread.join()
"""
BUSY = "while True: sum(range(1000))"
WALKS = """
import time
def there(): time.sleep(0.3)
def here(): time.sleep(0.3)
while True:
    here()
    there()
"""
# A compiler: one Python instruction that takes memory and gives it back.
COMPILES = "import itertools; all(map(b'x'.__mul__, itertools.repeat(64 << 20)))"
IDLE = "import time; time.sleep(600)"


def start(box, *program):
    return box.start("--nproc-per-node=2", "--checks=none", "--stall=1", "--", *PYTHON, "-c",
                     *program)


@pytest.mark.parametrize("program", [[CHILD, BUSY], [CHILD, WALKS], [THREAD, BUSY], [COMPILES]])
def test_what_works_for_a_rank_moves(box, program):
    job = start(box, *program)
    time.sleep(4)
    assert STALLED not in said(job), job.error_text()


@pytest.mark.parametrize("program", [[CHILD, IDLE], [THREAD, IDLE], [IDLE]])
def test_what_stands_still_below_a_rank_does_not(box, program):
    until_said(start(box, *program), STALLED)
