# SPDX-License-Identifier: Apache-2.0
"""Terminals: who has the foreground, and what the keys of a terminal do."""

import os
import re
import select
import signal
import time

from harness import PATIENCE
from registry import case, judge


def on_terminal(bench, *steps, **options):
    """The init leads a session with a terminal, as with docker run -it."""
    master, path = bench.terminal()
    run = bench.probe(*steps, tty=path, **options)
    run.need("main ready")
    return run, master


def read_until_end(run, master):
    """All that appears on the terminal until the init has ended."""
    text = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended = not run.alive()
        if select.select([master], [], [], 0.05)[0]:
            text += os.read(master, 65536)
        elif ended:
            break
    return text.decode("utf-8", "replace")


@case("T60", "controlling terminal", "the command has the foreground")
def t60(bench):
    run, _ = on_terminal(bench, "info", "ready", "serve=15")
    field = run.fields()
    good = field["foreground"] == field["pgrp"]
    return judge(good, "in the foreground" if good else "in the background")


@case("T61", "Ctrl-C", "exactly one INT in the command")
def t61(bench):
    run, master = on_terminal(bench, "ready", "serve=15")
    os.write(master, b"\x03")
    run.expect("main signal 2", 5)
    run.drain(0.3)
    count = run.saw("main signal 2")
    return judge(count == 1, f"INT seen: {count}")


@case("T62", "Ctrl-Z, then CONT and TERM", "nothing gets stuck")
def t62(bench):
    run, master = on_terminal(bench, "allow=20", "ready", "serve=15", "exit=31")
    os.write(master, b"\x1a")
    run.drain(0.3)
    run.signal(signal.SIGCONT)
    run.expect("main signal 18", 2)
    code = run.stop()
    return judge(code == 31, run.outcome())


@case("T63", "interactive bash", "job control is on, no complaint")
def t63(bench):
    bash = bench.tool("bash")
    master, path = bench.terminal()
    run = bench.start(bash, "--norc", "--noprofile", "-i", tty=path)
    os.write(master, b"echo flags=$-\nexit 7\n")
    text = read_until_end(run, master)
    flags = re.search(r"flags=(\w+)", text)
    on = bool(flags) and "m" in flags.group(1)
    complained = "job control" in text or "cannot set terminal" in text
    return judge(on and not complained and run.code() == 7,
                 f"job control {'on' if on else 'off'}, "
                 f"{'complaint' if complained else 'no complaint'}, {run.outcome()}")


@case("T64", "the terminal goes away", "the command gets HUP")
def t64(bench):
    run, master = on_terminal(bench, "ready", "serve=1", "exit=32")
    bench.close_terminal(master)
    got = run.expect("main signal 1")
    return judge(got, f"HUP {'arrived' if got else 'lost'}")


@case("T65", "stdin closed", "works")
def t65(bench):
    run = bench.probe("ready", "exit=33", no_stdin=True)
    code = run.code()
    return judge(code == 33, f"{run.outcome()}: {run.complaint()}")


@case("T66", "stdin is a terminal, but not the controlling one", "works")
def t66(bench):
    _, path = bench.terminal()
    run = bench.probe("ready", "exit=34", stdin_tty=path)
    code = run.code()
    return judge(code == 34, f"{run.outcome()}: {run.complaint()}")


@case("T68", "started in the background of a terminal",
      "not stopped, does not take the foreground")
def t68(bench):
    master, path = bench.terminal()
    run = bench.probe("info", "ready", "serve=0", tty=path, nested=True, background=True)
    started = run.expect("main ready", 5)
    field = run.fields()
    # The keeper of the namespace leads the session and had the foreground.
    stolen = started and field["foreground"] not in ("1", "-1")
    kept = os.tcgetpgrp(master) not in (run.pid, *run.children())
    return judge(started and not stolen and kept,
                 f"{'started' if started else 'not started'}, foreground "
                 f"{'kept' if kept and not stolen else 'taken'}")
