# SPDX-License-Identifier: Apache-2.0
"""--linger: a rank that has raised an exception, and does not get to its end."""

import json
import sys

import pytest

import schema
from peek import wait_until

HANGS = {
    "a thread": "threading.Thread(target=time.sleep, args=(600,)).start()",
    "a handler of atexit": "atexit.register(time.sleep, 600)",
    "an excepthook": "sys.excepthook = lambda *a: (sys.__excepthook__(*a), time.sleep(600))",
    "what ignores SIGTERM": "signal.signal(15, signal.SIG_IGN); atexit.register(time.sleep, 600)",
}
# Rank 1 raises, and what it has set up holds it; rank 0 waits for it in vain.
RAISES = """
import atexit, os, signal, sys, threading, time
if os.environ["RANK"] == "0":
    time.sleep(600)
{hang}
raise ValueError("bad batch 17")
"""
# It goes on after each exception that it prints, and says in the end that it has.
CATCHES = """
import logging, os, queue, time
def catch():
    try:
        raise ValueError("bad batch 17")
    except ValueError:
        logging.exception("once more")
catch()
{then}
print("done", flush=True)
"""


def start(box, program, *options, **more):
    return box.start("--nproc-per-node=2", *options, "--", sys.executable, "-ISc", program, **more)


@pytest.mark.parametrize("hang", HANGS)
def test_a_rank_that_does_not_get_to_its_end(box, hang):
    job = start(box, RAISES.format(hang=HANGS[hang]), "--linger=0.3", "--grace=3",
                "--report=r.json")
    result = job.wait()
    lines = [line for line in result.lines() if not line.startswith("rankinit: warning: ")]
    assert result.status == 1, result.err
    assert lines[0].startswith("rankinit: rank 1 (pid "), lines
    assert ") raised ValueError: bad batch 17; its program is over, and it has not ended for " \
        in lines[0] and lines[0].endswith(" s: it is stopped now (--linger)")
    assert lines[1].startswith("rankinit: rank 1 (local rank 1, pid ")
    assert ": raised the error below, then was stopped while exiting: killed by SIG" in lines[1]
    assert lines[2] == "rankinit:   ValueError: bad batch 17"
    assert "rankinit:   rank 0: told to stop, killed by SIGTERM (15)" in lines
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert document["first_failure"]["rank"] == 1 and document["first_failure"]["class"] == "own"


@pytest.mark.parametrize("then", [
    "for _ in range(20):\n    time.sleep(0.1)\n    catch()",
    "end = time.monotonic() + 2\nwhile time.monotonic() < end:\n    pass",
    "time.sleep(2)",
    "try:\n    queue.Queue().get(timeout=2)\nexcept queue.Empty:\n    pass",
])
def test_an_exception_that_was_caught(box, then):
    """It computes, waits, or catches one after the other, and is left alone."""
    job = start(box, CATCHES.format(then=then), "--linger=0.2")
    result = job.wait()
    assert (result.status, result.out) == (0, b"done\ndone\n"), result.err
    assert not result.lines()


def test_without_it_the_job_waits(box):
    """The control: a stop from outside ends it, and tells of the exception."""
    job = start(box, RAISES.format(hang=HANGS["a thread"]), "--linger=0", "--autopsy-after=0")
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(1.0)
    result = job.stop()
    assert "rank 1" in result.err and "(--linger)" not in result.err


def test_a_program_that_is_no_python(box):
    """It prints what looks like a traceback, and its memory says that it has no program."""
    job = box.start("--nproc-per-node=2", "--linger=0.2", "--", "sh", "-c",
                    'printf "Traceback (most recent call last):\\n  File \\"a\\", line 1, in f\\n'
                    'ValueError: bad\\n" >&2; sleep 1.5; echo done')
    result = job.wait()
    assert (result.status, result.out) == (0, b"done\ndone\n"), result.err
    assert not result.lines()
