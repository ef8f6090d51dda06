# SPDX-License-Identifier: Apache-2.0
"""Which signals reach the command, and which must not harm the init."""

import signal

from harness import wait_until
import procfs
from registry import case, info, judge

TERM = int(signal.SIGTERM)
# The stop comes last: an init may take what follows it as impatience.
ORDINARY = (1, 2, 3, 10, 12, 13, 14, 16, 18, 23, 24, 25, 26, 27, 28, 29, 30, TERM)
FAULTS = (4, 5, 6, 7, 8, 11, 31)
SPIN_WINDOW = 0.4


def forwarded(run, numbers):
    """Send them one by one; those that did not arrive."""
    lost = []
    for number in numbers:
        run.signal(number)
        if not run.expect(f"main signal {number}", 3):
            lost.append(str(number))
        if len(lost) > 4:
            return lost + ["..."]
    return lost


def spins(pid):
    """Whether the process used a good part of a CPU for a moment."""
    before = procfs.ticks(pid)
    wait_until(lambda: False, SPIN_WINDOW)
    return procfs.ticks(pid) - before > SPIN_WINDOW * 100 / 4


@case("T10", "18 ordinary signals from outside", "each reaches the command")
def t10(bench):
    run = bench.ready("ready", "serve=0")
    lost = forwarded(run, ORDINARY)
    return judge(not lost, "lost: " + " ".join(lost) if lost else "18 of 18 arrived")


@case("T11", "real-time signals 34 to 64", "each reaches the command")
def t11(bench):
    run = bench.ready("ready", "serve=0")
    lost = forwarded(run, range(34, 65))
    return judge(not lost, "lost: " + " ".join(lost) if lost else "31 of 31 arrived")


@case("T12", "TERM from inside the namespace", "forwarded as from outside")
def t12(bench):
    run = bench.probe("ready", "kill=1:15", "serve=15", "exit=21")
    got = run.expect(f"main signal {TERM}")
    code = run.code()
    return judge(got and code == 21, f"{'arrived' if got else 'lost'}, {run.outcome()}")


@case("T13", "fault signals sent by a user", "the init survives them and goes on")
def t13(bench):
    run = bench.ready("ready", "serve=15", "exit=22")
    for number in FAULTS:
        run.signal(number)
    run.drain(0.2)
    seen = [str(n) for n in FAULTS if run.saw(f"main signal {n}")]
    code = run.stop()
    return judge(code == 22, f"forwarded: {' '.join(seen) or 'none'}; then {run.outcome()}")


@case("T16", "100 times USR1, then TERM", "at least one USR1 and the TERM arrive")
def t16(bench):
    run = bench.ready("ready", "serve=15", "exit=23")
    for _ in range(100):
        run.signal(signal.SIGUSR1)
    code = run.stop()
    run.drain()
    some = run.saw("main signal 10") > 0
    return judge(some and code == 23,
                 f"USR1 {'arrived' if some else 'lost'}, {run.outcome()}")


@case("T17", "20 times CHLD by a user", "the init neither ends nor spins")
def t17(bench):
    run = bench.ready("ready", "serve=15", "exit=24")
    for _ in range(20):
        run.signal(signal.SIGCHLD)
    busy = spins(run.pid)
    code = run.stop()
    return judge(not busy and code == 24, f"{'spins' if busy else 'calm'}, {run.outcome()}")


# A command whose own signals have stopped it, and the terminal's stop signals.


def stopped(pid):
    return wait_until(lambda: procfs.state(pid) == "T", 3)


def running(pid):
    return wait_until(lambda: procfs.state(pid) not in ("T", None), 3)


@case("T30", "TSTP, then CONT", "the command stops, goes on, and TERM still works")
def t30(bench):
    run = bench.ready("info", "allow=20", "ready", "serve=15", "exit=25")
    main = run.main_pid()
    run.signal(signal.SIGTSTP)
    halted = stopped(main)
    run.signal(signal.SIGCONT)
    resumed = running(main)
    code = run.stop()
    seen = ("resumed" if resumed else "not resumed") if halted else "not stopped"
    return judge(halted and resumed and code == 25, f"{seen}, {run.outcome()}")


@case("T31", "TTIN and TTOU", "nothing gets stuck, TERM works after CONT")
def t31(bench):
    run = bench.ready("info", "ready", "serve=15", "exit=26")
    run.signal(signal.SIGTTIN)
    run.signal(signal.SIGTTOU)
    run.drain(0.2)
    seen = [str(n) for n in (21, 22) if run.saw(f"main signal {n}")]
    # Some make a real stop of them, which is no harm if CONT ends it.
    run.signal(signal.SIGCONT)
    code = run.stop()
    return judge(code == 26, f"forwarded: {' '.join(seen) or 'none'}; then {run.outcome()}")


@case("T32", "the command stops itself, CONT to the init", "it goes on")
def t32(bench):
    run = bench.ready("info", "ready", "stop", "name=again", "ready", "serve=15", "exit=27")
    halted = stopped(run.main_pid())
    run.signal(signal.SIGCONT)
    resumed = run.expect("again ready", 3)
    code = run.stop()
    return judge(halted and resumed and code == 27,
                 f"{'resumed' if resumed else 'not resumed'}, {run.outcome()}")


# What the init was started with.


def bits(text):
    mask = int(text, 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def shown(numbers):
    return " ".join(str(number) for number in sorted(numbers)) or "none"


@case("T40", "started with mask {} and {10, 15, 21}", "the command has exactly that mask")
def t40(bench):
    wrong = []
    for wanted in (set(), {10, 15, 21}):
        block = ",".join(str(number) for number in sorted(wanted)) or None
        run = bench.ready("info", "ready", block=block)
        got = bits(run.fields()["blocked"])
        if got != wanted:
            wrong.append(f"{shown(wanted)} became {shown(got)}")
    return judge(not wrong, "; ".join(wrong) or "both masks kept")


@case("T41", "started with HUP INT PIPE TTOU ignored", "still ignored in the command")
def t41(bench):
    run = bench.ready("info", "ready", ignore="1,2,13,22")
    got = bits(run.fields()["ignored"])
    return judge(got == {1, 2, 13, 22}, f"ignored: {shown(got)}")


@case("T42", "started with CHLD ignored", "the command's code, no hang")
def t42(bench):
    run = bench.probe("exit=33", ignore="17")
    return judge(run.code(4) == 33, run.outcome())


@case("T43", "started with every signal blocked", "TERM is forwarded")
def t43(bench):
    run = bench.ready("ready", "serve=15", "exit=28", block="all")
    code = run.stop()
    return judge(code == 28, run.outcome())


@case("T75", "group and session of the command", "for information")
def t75(bench):
    run = bench.ready("info", "ready", "serve=15")
    field = run.fields()
    group = "own" if field["pgrp"] == field["pid"] else "inherited"
    session = "own" if field["sid"] == field["pid"] else "inherited"
    return info(f"{group} group, {session} session")
