# SPDX-License-Identifier: Apache-2.0
"""More than one process: whom a stop reaches, and what is left behind."""

import os
import signal
import time

from cases_signals import spins
from harness import wait_until
import procfs
from registry import case, info, judge

KINDS = ("same", "group", "session", "orphan")
FAR = ("group", "session", "orphan")


def plant(bench, *last, kinds=KINDS, linger=0, **options):
    """A command with members around it, all of them ready."""
    steps = ["info", f"linger={linger}"] + [f"member={kind}:{kind}" for kind in kinds]
    run = bench.probe(*steps, "ready", *last, **options)
    for name in ("main", *kinds):
        run.need(f"{name} ready")
    return run


def terms(run, names):
    return " ".join(f"{name}={run.saw(f'{name} signal 15')}" for name in names)


@case("T20", "TERM to a tree, default mode", "for information: how many TERM each gets")
def t20(bench):
    run = plant(bench, "serve=0")
    run.signal(signal.SIGTERM)
    run.expect("main signal 15")
    run.drain(0.3)
    return info("TERM seen: " + terms(run, ("main", *KINDS)))


@case("T21", "TERM to a tree, group mode", "the command and its group get it")
def t21(bench):
    run = plant(bench, "serve=0", mode="group")
    run.signal(signal.SIGTERM)
    good = run.expect("main signal 15", 5) and run.expect("same signal 15", 5)
    return judge(good, "TERM seen: " + terms(run, ("main", "same")))


@case("T22", "TERM to a tree, best mode", "other group, session and orphan get TERM before KILL")
def t22(bench):
    run = plant(bench, "serve=15", "exit=0", mode="all")
    code = run.stop()
    run.drain(0.1)
    good = code is not None and all(run.saw(f"{name} signal 15") for name in FAR)
    return judge(good, "TERM seen: " + terms(run, FAR))


def leave_two(bench, linger):
    """The command ends by itself and leaves two others behind."""
    return plant(bench, "serve=10", "exit=7", kinds=("same", "session"),
                 linger=linger, mode="all")


def end_main(run):
    """USR1 straight to the command, past the init."""
    os.kill(run.main_pid(), signal.SIGUSR1)


@case("T23", "the command ends by itself, two others remain", "both get TERM")
def t23(bench):
    run = leave_two(bench, 0)
    end_main(run)
    code = run.code()
    run.drain(0.1)
    names = ("same", "session")
    good = code is not None and all(run.saw(f"{name} signal 15") for name in names)
    return judge(good, f"TERM seen: {terms(run, names)}, {run.outcome()}")


@case("T24", "as T23, and they need 300 ms to end", "both can end, the command's code is kept")
def t24(bench):
    run = leave_two(bench, 300)
    end_main(run)
    code = run.code()
    run.drain(0.1)
    done = [name for name in ("same", "session") if run.saw(f"{name} done")]
    return judge(code == 7 and len(done) == 2,
                 f"ended in peace: {' '.join(done) or 'none'}, {run.outcome()}")


@case("T25", "the command ignores TERM, grace of 1 s", "137 after the grace")
def t25(bench):
    bench.with_grace(1)
    run = bench.ready("ready", "serve=0", mode="grace")
    code = run.stop(6)
    return judge(code == 137, run.outcome())


@case("T26", "TERM TERM INT INT TERM to it", "each of them reaches the command")
def t26(bench):
    run = bench.ready("ready", "serve=0")
    lost = []
    for at, number in enumerate((15, 15, 2, 2, 15), 1):
        before = run.saw(f"main signal {number}")
        run.signal(number)
        if not run.expect(f"main signal {number}", 3, before + 1):
            lost.append(str(at))
    return judge(not lost and run.alive(), f"lost: {' '.join(lost) or 'none'}, {run.outcome()}")


@case("T27", "not process 1: the command is killed, a worker in its own session remains",
      "the worker is gone once the init is")
def t27(bench):
    run = plant(bench, "serve=0", kinds=("session",), mode="subreaper", nested=True)
    os.kill(run.main_pid(), signal.SIGKILL)
    code = run.code(15)
    # The keeper of the namespace is the only one that may be left.
    clean = wait_until(lambda: len(run.members()) <= 1, 0.5)
    return judge(code == 137 and clean,
                 f"{'nothing' if clean else 'worker'} left, {run.outcome()}")


@case("T28", "stderr has lost its reader, verbose mode, orphans to report",
      "no PIPE reaches the command, the init does not spin, TERM works")
def t28(bench):
    reader, writer = os.pipe()
    try:
        run = bench.ready("info", "ready", "serve=10", "orphans=20", "serve=15", "exit=30",
                          mode="verbose", stderr=writer)
    finally:
        os.close(reader)
        os.close(writer)
    end_main(run)
    run.expect("main orphans 20")
    busy = spins(run.pid)
    run.drain()
    piped = run.saw("main signal 13")
    code = run.stop(4)
    return judge(not piped and not busy and code == 30,
                 f"PIPE {'forwarded' if piped else 'not seen'}, "
                 f"{'spins' if busy else 'calm'}, {run.outcome()}")


# Orphans and zombies.


def zombies(run):
    return [pid for pid, facts in run.members().items() if facts[1] == "Z"]


@case("T50", "500 orphans", "no zombie remains")
def t50(bench):
    run = bench.probe("orphans=500", "ready", "serve=15")
    run.need("main ready", 20)
    clean = wait_until(lambda: len(run.members()) == 2, 5)
    left = len(zombies(run))
    return judge(clean and run.alive(), f"{left if left else 'no'} zombies")


def adoption(bench, mode):
    run = plant(bench, "serve=15", kinds=("orphan",), mode=mode, nested=True)
    inside = (procfs.status_field(run.pid, "NSpid") or "?").split()[-1]
    return run, run.fields("orphan ready")["ppid"] == inside


@case("T51", "not process 1, default mode", "adopts orphans, or says that it does not")
def t51(bench):
    run, adopted = adoption(bench, "init")
    warned = bool(run.stderr().strip())
    return judge(adopted or warned, f"{'adopted' if adopted else 'not adopted'}, "
                                    f"{'warned' if warned else 'silent'}")


@case("T52", "not process 1, subreaper mode", "adopts orphans")
def t52(bench):
    adopted = adoption(bench, "subreaper")[1]
    return judge(adopted, "adopted" if adopted else "not adopted")


@case("T53", "the command and 100 orphans end together, 60 times", "always the command's code")
def t53(bench):
    for count in range(60):
        run = bench.probe("held=100", "exit=42")
        if run.code() != 42:
            return judge(False, f"round {count + 1}: {run.outcome()}")
        run.close()
        bench.runs.remove(run)
    return judge(True, "60 of 60 rounds")


@case("T54", "the init already has a child when it starts", "reaped, not taken for the command")
def t54(bench):
    run = bench.ready("info", "ready", "serve=15", "exit=42", prechild=True)
    main = run.main_pid()
    for pid in run.children():
        if pid != main:
            os.kill(pid, signal.SIGKILL)
    reaped = wait_until(lambda: run.children() == [main], 5)
    code = run.stop()
    return judge(reaped and code == 42,
                 f"{'reaped' if reaped else 'not reaped'}, {run.outcome()}")


@case("T55", "an adopted process is killed", "the command's code is unchanged")
def t55(bench):
    run = plant(bench, "serve=15", "exit=5", kinds=("orphan",))
    main = run.main_pid()
    others = [pid for pid in run.children() if pid != main]
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    reaped = wait_until(lambda: run.children() == [main], 5)
    code = run.stop()
    return judge(len(others) == 1 and reaped and code == 5,
                 f"{'reaped' if reaped else 'not reaped'}, {run.outcome()}")


@case("T76", "not process 1: the init is killed", "the command ends, or gets a signal")
def t76(bench):
    run = bench.ready("info", "ready", "serve=0", mode="subreaper", nested=True)
    main = run.main_pid()
    run.signal(signal.SIGKILL)
    run.status()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        run.drain(0.05)
        told = any(line.startswith("main signal ") for line in run.events)
        if told or procfs.state(main) in (None, "Z"):
            return judge(True, "signalled" if told else "ended with the init")
    return judge(False, "still running, no signal")
