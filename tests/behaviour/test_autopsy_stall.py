# SPDX-License-Identifier: Apache-2.0
"""--stall: which jobs move, though a rank's main thread stays where it is in Python."""

import os
import socket
import time

import pytest

from peek import PATIENCE
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
import os
import socket
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


def test_where_nobody_knows_what_is_printed(box):
    """A socket has no time of its last write: Python alone says whether the job moves."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        box.start("--nproc-per-node=2", "--checks=none", "--stall=1", "--", *PYTHON, "-c", IDLE,
                  stdout=theirs, stderr=theirs)
        theirs.close()
        ours.settimeout(PATIENCE)
        text = b""
        while b"\n" not in text:
            text += ours.recv(4096)
    assert text.startswith(b"rankinit: autopsy: no rank moves any more; what its processes do:\n")


@pytest.mark.parametrize("program, why", [
    (["sleep", "600"], "rank 0 (sleep): it runs no Python"),
    ([*PYTHON, "-c", IDLE], None),
])
def test_what_cannot_be_seen_is_said_once(box, program, why):
    job = box.start("--nproc-per-node=2", "--checks=none", "--stall=1", "--", *program)
    if why is None:
        until_said(job, STALLED)
    else:
        until_said(job, f"--stall cannot see whether a rank moves: {why} [autopsy.blind]")
        time.sleep(2)
        assert STALLED not in said(job)
    lines = [line for line in said(job) if "--stall" in line]
    assert sum(line.endswith("[autopsy.blind]") for line in lines) <= 1
    # where Python starts slowly, it was blind until then
    assert lines == [] or (why is None) == lines[-1].endswith("sees all ranks again")


# In turns it runs Python, and does not, for as long as whoever asked has not opened a FIFO.
PHASES = """
cd "$1"
read word <shell
"$2" -I -S -c 'import os, time
while os.path.exists("python"):
    sum(range(100000))
    time.sleep(0.005)'
read word <shell-again
exec cat other
"""


def test_what_comes_again_is_said_once(box, tmp_path):
    """Whatever else is the reason is said, too, and that it sees again."""
    for name in ("shell", "shell-again", "other"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "python").touch()
    job = box.start("--nproc-per-node=1", "--checks=none", "--stall=1", "--", "sh", "-c", PHASES,
                    "sh", tmp_path, PYTHON[0])
    blind = "autopsy: --stall cannot see whether a rank moves: rank 0 (%s): it runs no Python"
    until_said(job, blind % "sh")
    with open(tmp_path / "shell", "w"):
        pass
    until_said(job, "autopsy: --stall sees all ranks again")
    (tmp_path / "python").unlink()
    time.sleep(3)  # the control: here it was said again
    with open(tmp_path / "shell-again", "w"):
        pass
    until_said(job, blind % "cat")
    lines = [line for line in said(job) if "--stall" in line]
    # a process that has just begun may not have its variables yet, and is no rank until then
    assert lines[lines.index(f"warning: {blind % 'sh'} [autopsy.blind]") + 1:] == [
        "autopsy: --stall sees all ranks again", f"warning: {blind % 'cat'} [autopsy.blind]"]
