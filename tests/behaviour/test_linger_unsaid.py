# SPDX-License-Identifier: Apache-2.0
"""A rank with an exception in hand, which leaves its program when a finally or an except ends."""

import json
import pathlib
import shlex
import sys

import pytest

import peek
import schema
from peek import wait_until
from test_launched import LAUNCHER, until_watched
from test_linger import WORKS, launch, start, told
from verdict import came_late, names

HAS_TABLES = pytest.mark.skipif(sys.version_info < (3, 11), reason="no exception tables")
# What the rank does before its exception is printed, and where it is said to be.
UNSAID = """
import atexit, contextlib, ctypes, os, subprocess, sys, threading, time
def hold():
    threading.Event().wait()
def step():
    raise ValueError("bad batch 17\\n(20 left)")
class Held:
    def __enter__(self): return self
    def __exit__(self, *exception): hold(); return True
    def __del__(self):
        try: step()
        finally: hold()
    def __getattr__(self, name):
        try: raise AttributeError(name)
        finally: hold()
    def __len__(self):
        try: raise TypeError
        finally: hold()
    def __iter__(self): return self
    def __next__(self):
        try: raise StopIteration
        finally: hold()
def stay():
    try: step()
    finally: hold()
def main():
{body}
"""
IN_HAND = {
    "a finally": (
        "    try:\n        step()\n    finally:\n        hold()",
        "it is in main (<string>:30), and there in hold (<string>:4)"),
    "a finally in C": (
        "    try:\n        step()\n    finally:\n        time.sleep(600)",
        "it is in main (<string>:30)"),
    "an except that raises": (
        "    try:\n        step()\n    except KeyError:\n        pass\n"
        "    except Exception as error:\n        hold()\n"
        "        raise RuntimeError('x') from error",
        "it is in main (<string>:32), and there in hold (<string>:4)"),
    "a finally of an outer function's": (
        "    try:\n        stay()\n    finally:\n        print('over')",
        "it is in stay (<string>:25), and there in hold (<string>:4)"),
}
# Each has an exception in hand, or had one, and may go on.
GO_ON = {
    "an except": "    try:\n        step()\n    except ValueError:\n        hold()",
    "an except with a way out": (
        "    try:\n        step()\n    except ValueError:\n        while True:\n"
        "            if len(sys.argv) > 9:\n                return\n            hold()"),
    "a loop that tries again": (
        "    while True:\n        try:\n            stay()\n        except ValueError:\n"
        "            continue"),
    "a finally in a loop": (
        "    for _ in range(9):\n        try:\n            step()\n        finally:\n"
        "            hold()\n            continue"),
    "a finally that returns": (
        "    try:\n        step()\n    finally:\n        hold()\n        return 1"),
    "a with around it": "    with contextlib.suppress(ValueError):\n        stay()",
    "the end of a with": "    with Held():\n        step()",
    "a destructor": "    held = Held()\n    del held",
    "an attribute that is not there": "    getattr(Held(), 'other', None)",
    "a length that is not there": "    list(Held())",
    "the end of an iterator": "    next(iter(Held()), None)",
    "what C calls": "    ctypes.CFUNCTYPE(None)(stay)()",
    "what another one sorts by": "    sorted([1, 2], key=lambda _: stay())",
    "one that was caught": (
        "    try:\n        step()\n    except ValueError:\n        pass\n    hold()"),
    "an end by sys.exit": "    try:\n        sys.exit(3)\n    finally:\n        hold()",
}
# gloo of torch 2.13, whose time is over (third_party/gloo/gloo/transport/tcp/unbound_buffer.cc)
LATE = """
import os, time
while not os.path.exists("late"):
    time.sleep(0.05)
raise RuntimeError("[/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for "
                   "recv operation to complete")
"""


def unsaid(body, before=""):
    return UNSAID.format(body=body) + before + "main()\n"


def by_rank(texts):
    """A program that is this text for the rank of this number; the others wait."""
    return f"import os, threading\ntexts = {texts!r}\nrank = int(os.environ['RANK'])\n" \
        "exec(compile(texts[rank], '<string>', 'exec')) if rank in texts else " \
        "threading.Event().wait()\n"


def run_ranks(box, texts, *options, ranks=2, **more):
    """Each rank runs its text as a program of its own; the others wait."""
    words = " ".join(shlex.quote(texts.get(number, WORKS)) for number in range(ranks))
    return box.start(f"--nproc-per-node={ranks}", *options, "--", "bash", "-c",
                     f'ranks=({words}); exec {sys.executable} -ISc "${{ranks[$RANK]}}"', **more)


@HAS_TABLES
@pytest.mark.parametrize("what", IN_HAND)
def test_one_with_an_exception_in_hand_is_told_and_not_ended(box, what):
    body, place = IN_HAND[what]
    job = run_ranks(box, {1: unsaid(body)}, "--linger=0.4", "--autopsy-after=0", ranks=3)
    wait_until(lambda: told(job.error_text()), "the line")
    assert not job.ended(1.5)
    result = job.stop()
    assert result.status == 143 and "--linger" not in result.err, result.err
    lines = told(result.err)
    assert len(lines) == 1 and lines[0].startswith("rankinit: rank 1 (pid "), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    assert lines[0].endswith(f" s: {place}"), lines[0]


@HAS_TABLES
def test_ranks_whose_exception_may_be_caught(box):
    """They are looked at with one that will leave, which comes later: that alone is told."""
    texts = {number: unsaid(body) for number, body in enumerate(GO_ON.values())}
    last = len(texts)
    texts[last] = unsaid(IN_HAND["a finally"][0], before="time.sleep(1)\n")
    job = run_ranks(box, texts, "--linger=0.6", "--grace=6", "--autopsy-after=0", ranks=last + 1)
    wait_until(lambda: told(job.error_text()), "the line")
    assert not job.ended(2)
    result = job.stop()
    assert len(told(result.err)) == 1, result.err
    assert told(result.err)[0].startswith(f"rankinit: rank {last} (pid "), result.err


@HAS_TABLES
def test_it_is_named_when_the_others_time_out(box):
    """That they waited for it alone is the fact; what it had in hand is why."""
    body, place = IN_HAND["a finally"]
    job = run_ranks(box, {0: LATE, 1: unsaid(body), 2: LATE}, "--grace=4", "--report=r.json",
                    "--linger=0.4", ranks=3)
    wait_until(lambda: told(job.error_text()), "the line")
    pathlib.Path(job.folder, "late").touch()
    result = job.wait()
    lines = [line for line in result.lines() if " and has not ended for " not in line]
    assert names(lines[0], 1, 1), result.err
    assert came_late(lines[0])
    assert f"rankinit:   rank 1 had raised ValueError: bad batch 17: {place}" in lines, result.err
    assert (result.brief["cause"], result.brief["class"], result.brief["retry"],
            result.brief["rank"]) == ("exception", "loss", "never", "1")
    schema.check(json.loads(job.read("r.json")), "report")


def test_one_that_works_is_named_without_an_exception(box):
    """The control: it printed one, and caught it."""
    works = "import os, time, traceback\ntry:\n    raise ValueError('bad batch 17')\n" \
        "except ValueError:\n    traceback.print_exc()\nopen('late', 'w').close()\n" \
        "time.sleep(600)"
    result = run_ranks(box, {0: LATE, 1: works, 2: LATE}, "--grace=4", ranks=3).wait()
    lines = result.lines()
    assert names(lines[0], 1, 1), result.err
    assert came_late(lines[0])
    assert "had raised" not in result.err, result.err
    assert result.brief["cause"] == "late", result.err


@HAS_TABLES
@pytest.mark.parametrize("what", ["a finally", "an except that raises"])
def test_a_rank_of_a_launcher_with_an_exception_in_hand(box, what):
    """It is told, and named when the others time out and their launcher stops it."""
    body, place = IN_HAND[what]
    job = launch(box, [LATE, unsaid(body)], "--linger=0.6", "--grace=4", "--report=r.json")
    wait_until(lambda: told(job.error_text()), "the line")
    pathlib.Path(job.folder, "late").touch()
    result = job.wait()
    assert result.status == 1, result.err
    lines = told(result.err)
    assert len(lines) == 1 and names(lines[0], 1, 1)
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    assert lines[0].endswith(f" s: {place}"), lines[0]
    assert came_late(result.err)
    assert f"rankinit:   rank 1 had raised ValueError: bad batch 17: {place}" in result.lines()
    schema.check(json.loads(job.read("r.json")), "report")


@HAS_TABLES
def test_looks_at_a_silent_job_become_seldom(box):
    """Each after twice the time of the one before."""
    job = start(box, by_rank({}), "--linger=0.2", ranks=2)
    wait_until(lambda: len(job.members()) >= 3, "the ranks")
    before = sum(peek.switches(job.pid))
    assert not job.ended(4)
    # at 0.1, 0.2, 0.4, 0.8, 1.6, 3.2 s: a helper begins and ends, and the start is on its way
    assert sum(peek.switches(job.pid)) - before < 60
    job.stop()


@HAS_TABLES
@pytest.mark.parametrize("shell", [
    '%s -ISc "$1"; sleep 9999', 'sh -c \'%s -ISc "$0"; :\' "$1"; :',
    'sleep 9999 & %s -ISc "$1"; wait'])
def test_a_shell_in_front_of_each_rank(box, shell):
    """The shell may go on, so its python is told of, and not the rank ended."""
    body = "    try:\n        step()\n    finally:\n" \
        "        if os.environ['RANK'] == '1': hold()\n" \
        "        else: os.execvp('sleep', ['sleep', '600'])"
    job = box.start("--nproc-per-node=2", "--linger=0.5", "--grace=3", "--autopsy-after=0", "--",
                    "bash", "-c", shell % sys.executable, "bash", unsaid(body))
    wait_until(lambda: told(job.error_text()), "the line")
    assert not job.ended(1.5)
    result = job.stop()
    lines = told(result.err)
    assert len(lines) == 1 and lines[0].startswith("rankinit: the python (pid "), result.err
    assert ") of rank 1 (pid " in lines[0] and "--linger" not in result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]


@HAS_TABLES
def test_a_shell_in_front_of_each_rank_of_a_launcher(box):
    """The one whose Python has ended sleeps, and is none."""
    body, _ = IN_HAND["a finally"]
    job = box.start("--linger=0.8", "--grace=3", "--autopsy-after=0", "--", "./torchrun",
                    *(f"{sys.executable} -ISc {shlex.quote(text)}; sleep 9999"
                      for text in ("pass", unsaid(body), WORKS)),
                    shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\nchmod +x torchrun")
    until_watched(job, 3)
    wait_until(lambda: told(job.error_text()), "the line")
    assert not job.ended(1.5)
    result = job.stop()
    lines = told(result.err)
    assert len(lines) == 1 and lines[0].startswith("rankinit: the python (pid "), result.err
    assert ") of rank 1 (local rank 1, pid " in lines[0]
