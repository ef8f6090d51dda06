# SPDX-License-Identifier: Apache-2.0
"""A rank prints an exception that it has caught, and another one fails: who is named?"""

import json

import pytest

from verdict import failed_first, names, stopped_line


PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
BEGIN = """
import atexit, fcntl, os, signal, struct, sys, termios, time, traceback
rank = os.environ['RANK']
def say(name): open('@FOLDER/' + name, 'w').close()
def wait(name):
    while not os.path.exists('@FOLDER/' + name): time.sleep(0.01)
def log(words):
    try: raise ValueError(words)
    except ValueError: traceback.print_exc()
    # what rankinit looks at when it reads that may change from here on
    while struct.unpack('i', fcntl.ioctl(2, termios.FIONREAD, bytes(4)))[0]: time.sleep(0.01)
"""
# Rank 0 is healthy, and logs an exception; rank 1 fails, and what of it comes in more lines.
CAUGHT = BEGIN + """
if rank == '0':
    log('bad sample 12')
    for step in range(LINES): print('step', step, file=sys.stderr, flush=True)
    say('logged')
    time.sleep(3600)
wait('logged')
time.sleep(AFTER)
if rank == '1': FAILS
time.sleep(3600)
"""
PRINTED = "rankinit:   rank 0 had printed: ValueError: bad sample 12"


DENIED = ["process_vm_readv=EPERM"]


@pytest.fixture
def run(box):
    """The verdict's lines, the status and the report's first failure."""
    def run_job(script, *options, count=3, program=None, words=()):
        command = [f"--nproc-per-node={count}", "--report=report.json", *options, "--", *PYTHON,
                   script]
        more = {} if program is None else {"program": program}
        if program is not None:
            command = [*words, "--", box.rankinit, *command]
        job = box.start(*command, **more)
        result = job.wait()
        lines = [line for line in result.err.splitlines() if "rankinit: " in line]
        return lines, result.status, json.loads(job.read("report.json"))["first_failure"]
    return run_job


@pytest.mark.parametrize("after, lines", [(0, 0), (0.5, 2), (3, 0)])
@pytest.mark.parametrize("fails, status, words", [
    ("raise KeyError('the real one')", 1, "rankinit:   KeyError: 'the real one'"),
    ("os._exit(9)", 9, "rankinit:   it wrote nothing to stderr: look at its stdout"),
], ids=["raises", "silent"])
def test_the_other_one_is_named(run, after, lines, fails, status, words):
    script = CAUGHT.replace("LINES", str(lines)).replace("AFTER", str(after))
    found, got, first = run(script.replace("FAILS", fails))
    assert names(found[0], 1, 1), found
    assert (got, first["rank"]) == (status, 1)
    assert words in found and PRINTED in found
    assert stopped_line("0, 2") in found


# Rank 1 raises, and is long at its exit; rank 2 ends because of that, without a word.
LONG = BEGIN + """
if rank == '0':
    log('bad sample 12')
    say('logged')
    time.sleep(3600)
wait('logged')
if rank == '1':
    def upload():
        say('raised')
        time.sleep(3600)
    atexit.register(upload)
    raise KeyError('the real one')
wait('raised')
os._exit(9)
"""


def test_one_that_is_at_its_exit_is_told_from_one_that_goes_on(run):
    found, status, first = run(LONG)
    assert names(found[0], 1, 1), found
    assert failed_first(found[0], "raised the error below, then was stopped while exiting")
    assert (status, first["rank"], first["class"]) == (9, 1, "own")
    assert PRINTED in found and "rankinit:   rank 2: exit status 9" in found


def test_where_memory_cannot_be_read_nobody_is_accused(run, actor):
    """The control: what is not seen does not count, and is told."""
    found, status, first = run(LONG, program=actor("deny"), words=DENIED)
    assert names(found[0], 2, 2), found
    assert (status, first["rank"]) == (9, 2)
    assert PRINTED in found
    assert "rankinit:   rank 1 had printed: KeyError: 'the real one'" in found


# The handler is there when the traceback is read, and then it is not.
@pytest.mark.parametrize("then", [
    "signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "os.execvp('sleep', ['sleep', '3600'])",
], ids=["default", "ignores", "another program"])
def test_a_handler_that_is_put_away_is_no_end(run, then):
    script = CAUGHT.replace("LINES", "0").replace("AFTER", "0.5").replace(
        "    say('logged')\n    time.sleep(3600)",
        f"    say('logged')\n    time.sleep(0.3)\n    {then}\n    time.sleep(3600)")
    found, status, first = run(script.replace("FAILS", "os._exit(9)"))
    assert names(found[0], 1, 1), found
    assert (status, first["rank"]) == (9, 1)
    assert PRINTED in found


THREADS = BEGIN + """
import threading
def bad(): raise ValueError('bad sample 12')
def train():
    if rank == '0':
        thread = threading.Thread(target=bad)
        thread.start()
        thread.join()
        say('logged')
    wait('logged')
    time.sleep(0.5)
    if rank == '1': os._exit(9)
    time.sleep(3600)
threading.Thread(target=train).start()
"""


def test_a_program_that_is_all_threads_does_not_end_of_one(run):
    found, status, first = run(THREADS)
    assert names(found[0], 1, 1), found
    assert (status, first["rank"]) == (9, 1)
    assert PRINTED in found
    # the control: the exception of the program itself, which waits for the thread
    script = THREADS.replace("""        thread.start()
        thread.join()
        say('logged')
""", "        wait('logged')\n") + """
if rank == '0':
    say('logged')
    raise KeyError('the real one')
"""
    found, status, first = run(script)
    assert names(found[0], 0, 0), found
    assert (status, first["rank"]) == (9, 0)


# Rank 1 notes its pid, so that rank 0 sees when it has been reaped.
NOTED = """
open('@FOLDER/new', 'w').write(str(os.getpid()))
os.rename('@FOLDER/new', '@FOLDER/pid')
wait('logged')
os._exit(9)
"""
REAPED = "while os.path.exists('/proc/' + open('@FOLDER/pid').read()): time.sleep(0.01)"


@pytest.mark.parametrize("handler, end, named", [
    ("lambda *_: os._exit(1)", "time.sleep(3600)", "1"),
    # it hears no SIGTERM, so its exit is its own
    ("signal.SIG_IGN", f"{REAPED}\n    time.sleep(0.5)\n    os._exit(1)", "0"),
], ids=["handles", "ignores"])
def test_a_status_after_the_stop(run, handler, end, named):
    script = BEGIN + f"""
if rank == '0':
    signal.signal(signal.SIGTERM, {handler})
    wait('pid')
    log('bad sample 12')
    say('logged')
    {end}
""" + NOTED
    found, _, first = run(script, "--grace=4", count=2)
    assert found[0].startswith(f"rankinit: rank {named} ("), found
    assert first["rank"] == int(named)


def test_one_that_ends_of_what_it_caught_gets_its_time(run):
    """It prints, tidies up and exits, and the other one ends in between."""
    script = BEGIN + f"""
if rank == '0':
    wait('pid')
    log('the real one')
    say('logged')
    {REAPED}
    time.sleep(0.3)
    os._exit(1)
""" + NOTED
    found, status, first = run(script, count=2)
    assert found[0].startswith("rankinit: rank 0 ("), found
    assert (status, first["rank"], first["exit_code"]) == (1, 0, 1)
    # the control: without the wait it is stopped before
    found, status, first = run(script, "--grace=0.4", count=2)
    assert found[0].startswith("rankinit: rank 1 ("), found
    assert (status, first["rank"]) == (9, 1)
