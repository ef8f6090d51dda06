# SPDX-License-Identifier: Apache-2.0
"""--linger: a rank that stands still with an exception that has not been printed yet."""

import json
import shlex
import sys

import pytest

import peek
import schema
from peek import wait_until
from test_launched import LAUNCHER, until_watched
from test_linger import WORKS, launch, said_at_once, start

HAS_TABLES = pytest.mark.skipif(sys.version_info < (3, 11), reason="no exception tables")
# What the rank does before its exception is printed, and where it is said to be.
UNSAID = """
import atexit, contextlib, os, subprocess, sys, threading, time
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
    "one that was caught": (
        "    try:\n        step()\n    except ValueError:\n        pass\n    hold()"),
    "an end by sys.exit": "    try:\n        sys.exit(3)\n    finally:\n        hold()",
}
# What a rank may do for long before its exception is printed: it may store what it has computed.
STORES = {
    "it computes": "while True: pass",
    "a child works": "subprocess.run(['sleep', '600'])",
    "it waits for a pipe": "os.read(os.pipe()[0], 1)",
    "it waits for an answer": "__import__('select').select([os.pipe()[0]], [], [], 600)",
    "it is stopped": "os.kill(os.getpid(), 19)",
    "a thread writes": "threading.Thread(target=store, daemon=True).start(); hold()",
}
STORE = """
def store():
    null, bytes = os.open("/dev/null", os.O_WRONLY), b"x" * (4 << 20)
    while True:
        os.write(null, bytes)
        time.sleep(0.02)
"""
# How a function of torch's looks in which a rank waits for the others.
BARRIER = """
import threading
exec(compile("def barrier(): threading.Event().wait()", "torch/distributed/distributed_c10d.py",
             "exec"))
"""
AT_BARRIER = "    try:\n        step()\n    finally:\n        barrier()"
LEAVES = "import os, time\ntime.sleep(5)\nos._exit(5)\n"


def unsaid(body, before=""):
    return UNSAID.format(body=body) + before + "main()\n"


def by_rank(texts):
    """A program that is this text for the rank of this number; the others wait."""
    return f"import os, threading\ntexts = {texts!r}\nrank = int(os.environ['RANK'])\n" \
        "exec(compile(texts[rank], '<string>', 'exec')) if rank in texts else " \
        "threading.Event().wait()\n"


@HAS_TABLES
@pytest.mark.parametrize("what", IN_HAND)
def test_a_rank_that_has_not_printed_its_exception(box, what):
    body, place = IN_HAND[what]
    job = start(box, by_rank({1: unsaid(body)}), "--linger=0.4", "--grace=3", "--report=r.json",
                ranks=3)
    result = job.wait()
    assert result.status == 1, result.err
    lines = [line for line in result.lines() if not line.startswith("rankinit: warning: ")]
    assert lines[0].startswith("rankinit: rank 1 (pid "), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    assert lines[0].endswith(f" s: {place}; --linger stops it now"), lines[0]
    assert " failed first: raised the error below, and had not ended " in lines[1]
    assert lines[2] == f"rankinit:   seen before the stop: {place}"
    assert lines[3] == "rankinit:   ValueError: bad batch 17"
    assert 'rankinit:       File "<string>", line 6, in step' in lines
    assert "rankinit:   ranks 0, 2: told to stop, killed by SIGTERM (15)" in lines
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert [rank["class"] for rank in document["ranks"]] == ["stopped", "own", "stopped"]
    assert document["first_failure"]["rank"] == 1


@HAS_TABLES
def test_ranks_whose_exception_may_be_caught(box):
    """They are looked at with one that is at its end, which comes later, and are left alone."""
    texts = {number: unsaid(body) for number, body in enumerate(GO_ON.values())}
    last = len(texts)
    texts[last] = unsaid(IN_HAND["a finally"][0], before="time.sleep(1)\n")
    result = start(box, by_rank(texts), "--linger=0.6", "--grace=6", ranks=last + 1).wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1, result.err
    assert said_at_once(result)[0].startswith(f"rankinit: rank {last} (pid "), result.err


@HAS_TABLES
@pytest.mark.parametrize("what", STORES)
def test_one_that_may_store_what_the_job_has_computed(box, what):
    """Rank 1 may wait for rank 0 in its own handler, so neither has failed for good."""
    stores = f"    try:\n        step()\n    finally:\n        {STORES[what]}"
    texts = {0: STORE + unsaid(stores), 1: unsaid(IN_HAND["a finally"][0]), 2: LEAVES}
    result = start(box, by_rank(texts), "--linger=1", "--grace=1", ranks=3).wait()
    assert result.status == 5 and not said_at_once(result), result.err


@HAS_TABLES
def test_all_ranks_of_a_node_that_wait_for_another_node(box):
    """One there may store what they have computed together."""
    waits = BARRIER + unsaid(AT_BARRIER)
    ends = f"import threading\nthreading.Thread(target=exec, args=({LEAVES!r},)).start()\n"
    result = start(box, by_rank({0: waits, 1: ends + waits}), "--linger=1", "--grace=1",
                   ranks=2).wait()
    assert result.status == 5 and not said_at_once(result), result.err


@HAS_TABLES
def test_one_that_waits_for_ranks_that_work(box):
    """The control: the other rank has no exception in hand."""
    result = start(box, by_rank({1: BARRIER + unsaid(AT_BARRIER)}), "--linger=0.5", "--grace=3",
                   ranks=2).wait()
    assert result.status == 1 and len(said_at_once(result)) == 1, result.err
    assert said_at_once(result)[0].startswith("rankinit: rank 1 (pid "), result.err
    assert "barrier (torch/distributed/distributed_c10d.py:1); --linger" in result.err


@HAS_TABLES
def test_one_that_moves_with_its_exception_in_hand(box):
    """It says nothing and uses no CPU, and its instruction is another one at each look."""
    body = "    try:\n        step()\n    finally:\n" + \
        "        time.sleep(0.25)\n" * 24 + "        os._exit(5)"
    result = start(box, by_rank({1: unsaid(body)}), "--linger=2", ranks=3).wait()
    assert result.status == 5 and not said_at_once(result), result.err


@HAS_TABLES
def test_a_job_that_speaks_is_not_looked_at(box):
    """The control of the silence: another rank writes a line now and then, and then no more."""
    speaks = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)\n" \
        "print('last', flush=True)\ntime.sleep(600)\n"
    body = IN_HAND["a finally"][0]
    result = start(box, by_rank({0: speaks, 1: unsaid(body)}), "--linger=1", ranks=2).wait()
    assert result.status == 1 and len(said_at_once(result)) == 1, result.err
    assert b"last" in result.out


@HAS_TABLES
def test_with_linger_off_nobody_looks_for_it(box):
    job = start(box, by_rank({1: unsaid(IN_HAND["a finally"][0])}), "--linger=0", ranks=3)
    wait_until(lambda: len(job.members()) >= 4, "the ranks")
    assert not job.ended(1.5)
    result = job.stop()
    assert result.status == 143 and "raised" not in result.err, result.err


@HAS_TABLES
@pytest.mark.parametrize("what", ["a finally", "an except that raises"])
def test_a_rank_of_a_launcher_that_has_not_printed_its_exception(box, what):
    body, place = IN_HAND[what]
    caught = unsaid(GO_ON["an except"])
    job = launch(box, [WORKS, unsaid(body), caught], "--linger=0.6", "--grace=4",
                 "--report=r.json")
    result = job.wait()
    assert result.status == 1, result.err
    lines = [line for line in result.lines() if not line.startswith("rankinit: warning: ")]
    assert lines[0].startswith("rankinit: rank 1 (local rank 1, pid "), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    assert lines[0].endswith(f" s: {place}; --linger stops it now"), lines[0]
    assert " failed first: raised the error below, and had not ended " in lines[1]
    assert lines[3] == "rankinit:   ValueError: bad batch 17"
    assert "rankinit:   ranks 0, 2: told to stop, killed by SIGTERM (15)" in lines
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert [rank["class"] for rank in document["ranks"]] == ["stopped", "own", "stopped"]


@HAS_TABLES
def test_looks_at_a_silent_job_become_seldom(box):
    """Each after twice the time of the one before."""
    job = start(box, by_rank({}), "--linger=0.2", ranks=2)
    wait_until(lambda: len(job.members()) >= 3, "the ranks")
    before = sum(peek.switches(job.pid))
    assert not job.ended(4)
    # at 0.1, 0.3, 0.7, 1.5, 3.1 s: a helper begins and ends, and the start is on its way
    assert sum(peek.switches(job.pid)) - before < 60
    job.stop()


@HAS_TABLES
@pytest.mark.parametrize("shell", [
    '%s -ISc "$1"; sleep 9999', 'sh -c \'%s -ISc "$0"; :\' "$1"; :',
    'sleep 9999 & %s -ISc "$1"; wait'])
def test_a_shell_in_front_of_each_rank(box, shell):
    body, place = IN_HAND["a finally"]
    job = box.start("--nproc-per-node=2", "--linger=0.5", "--grace=3", "--", "bash", "-c",
                    shell % sys.executable, "bash", by_rank({1: unsaid(body)}))
    result = job.wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1, result.err
    assert said_at_once(result)[0].startswith("rankinit: rank 1 (pid "), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in result.err
    assert said_at_once(result)[0].endswith(f" s: {place}; --linger stops it now"), result.err


@HAS_TABLES
def test_a_shell_in_front_of_each_rank_of_a_launcher(box):
    """The one whose Python has ended sleeps, and is none."""
    body, _ = IN_HAND["a finally"]
    job = box.start("--linger=0.8", "--grace=3", "--", "./torchrun",
                    *(f"{sys.executable} -ISc {shlex.quote(text)}; sleep 9999"
                      for text in ("pass", unsaid(body), WORKS)),
                    shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\nchmod +x torchrun")
    until_watched(job, 3)
    result = job.wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1, result.err
    assert said_at_once(result)[0].startswith("rankinit: rank 1 (local rank 1, pid "), result.err
