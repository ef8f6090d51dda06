# SPDX-License-Identifier: Apache-2.0
"""
The stop, with rankinit as process 1: the command alone first, then what is
left, each process once; wait for all of it; keep the command's status.
"""

import os
import re
import signal
import sys
import time

import pytest

import peek
from peek import wait_until

TERM, INT = signal.SIGTERM, signal.SIGINT
KINDS = ["same", "group", "session", "orphan"]
LOADERS = [f"{kind}:{kind}" for kind in KINDS]


def told_once(job, *names):
    for name in names:
        assert job.count(f"{name} SIGTERM") == 1, (name, job.log())
        assert job.count(f"{name} done") == 1, (name, job.log())
        assert job.count(f"{name} SIGCONT") == 0, (name, job.log())


def saved(job, name="main"):
    return os.path.exists(os.path.join(job.folder, name + ".ckpt"))


def killing(result):
    """The line that names what had to be killed."""
    found = [line for line in result.lines() if line.startswith("rankinit: warning: SIGKILL for ")]
    assert len(found) == 1, result.err
    return found[0]


def pause(seconds):
    """For what must not happen."""
    time.sleep(seconds)


# A shell between rankinit and the trainer.

SHELL = ["--", "sh", "-c", '"$@"; echo end', "sh"]
TRAP = ["--", "bash", "-c", 'trap "echo trapped" TERM; "$@"; echo code $?', "bash"]


def test_the_python_behind_a_shell_saves(box):
    job = box.start(*SHELL, *box.payload("main"))
    job.until("main ready")
    result = job.stop()
    assert result.status == 143 and b"end" not in result.out
    assert saved(job)
    told_once(job, "main")


def test_the_python_behind_a_shell_is_lost_with_tini(box, tool):
    """The control: the payload does show the loss."""
    job = box.start(*SHELL, *box.payload("main"), program=tool("tini"))
    job.until("main ready")
    assert job.stop().status == 143
    assert not saved(job) and job.count("main SIGTERM") == 0


def test_a_shell_with_a_trap_waits_for_its_child(box):
    """bash runs its trap only when the child has ended: half of the grace."""
    job = box.start("--grace=4", *TRAP, *box.payload("main", "status=3"))
    job.until("main ready")
    begin = time.monotonic()
    job.signal(TERM)
    job.until("main SIGTERM")
    assert time.monotonic() - begin >= 1.9, "not before half of the grace"
    result = job.wait()
    assert (result.status, result.out) == (0, b"trapped\ncode 3\n")
    assert saved(job)
    told_once(job, "main")


def test_a_shell_with_a_trap_without_a_grace(box):
    """The control: rankinit does not tell python, however often it is stopped itself."""
    job = box.start(*TRAP, *box.payload("main"))
    job.until("main ready")
    for _ in range(3):
        job.signal(TERM)
        pause(0.3)
    assert not job.ended() and job.count("main SIGTERM") == 0
    job.signal(TERM, job.named("main"))
    result = job.wait()
    assert (result.status, result.out) == (0, b"trapped\ncode 0\n")
    assert saved(job)
    told_once(job, "main")


# What passes SIGTERM on itself: a program that catches it, and a shell's trap while what it runs is
# in the background. WAITING is a script by a name of its own, whose trap has to wait.
PASSES_ON = ("import signal, subprocess, sys; child = subprocess.Popen(sys.argv[1:]); "
             "signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGTERM)); "
             "sys.exit(child.wait())")
LAUNCHER = [sys.executable, "-c", PASSES_ON]
FORWARDING = ["sh", "-c", '"$@" & trap "kill -TERM $!" TERM; wait $!; wait $!; :', "sh"]
WAITING = ["@FOLDER/train"]
WRITE_IT = "printf '#!/bin/sh\\ntrap : TERM\\n\"$@\"\\n' >@FOLDER/train; chmod +x @FOLDER/train"


@pytest.mark.parametrize("front", [
    LAUNCHER, FORWARDING, [*TRAP[1:], *LAUNCHER], WAITING, [*TRAP[1:], *WAITING]],
    ids=["launcher", "trap", "launcher in a shell", "script", "script in a shell"])
def test_half_of_the_grace_tells_none_twice(box, front):
    """One that saves for long has its SIGTERM, whoever sent it; the orphan shows half of it."""
    job = box.start("--grace=4", "--", *front, *box.payload("main", "deaf", "orphan:lost!"),
                    shell=WRITE_IT)
    job.until("main ready", "lost ready")
    job.signal(TERM)
    if front in (LAUNCHER, FORWARDING):
        job.until("main SIGTERM")
        assert job.count("lost SIGTERM") == 0, "before half of the grace"
    job.until("lost SIGTERM", "main SIGTERM")
    result = job.wait()
    assert result.status in (128 + signal.SIGKILL, 143) and "python3" in killing(result)
    assert job.count("main SIGTERM") == job.count("lost SIGTERM") == 1, job.log()


def test_loaders_live_beyond_half_of_the_grace(box):
    """They are the command's, which needs them for its checkpoint; the control is an orphan."""
    job = box.start("--grace=4", "--", *box.payload("main", "deaf", *LOADERS))
    job.until("main ready", *(f"{name} ready" for name in KINDS))
    job.stop()
    assert job.count("main SIGTERM") == job.count("orphan SIGTERM") == 1, job.log()
    assert not [name for name in KINDS[:3] if job.count(f"{name} SIGTERM")], job.log()


def told_whom(job):
    return re.findall(r"warning: waiting for (\S+ \(pid \d+\)), which handles SIGTERM only "
                      r"after the program that it runs has ended; with --grace=25 ",
                      job.error_text())


def test_a_stop_that_waits_for_a_shell_is_said(box):
    """After some seconds, once, with the option that helps."""
    inner = [*TRAP, *box.payload("main", "deaf")]
    jobs = {"shell": box.start(*inner), "grace": box.start("--grace=60", *inner),
            "ranks": box.start("--nproc-per-node=2", "--checks=none", *inner),
            "idle": box.start(*inner),
            "python": box.start("--", *box.payload("main", "deaf", "same:near"))}
    for job in jobs.values():
        job.until("main ready")
    for name, job in jobs.items():
        if name != "idle":
            job.signal(TERM)
    for name in "shell", "ranks":
        wait_until(lambda: told_whom(jobs[name]), "it is said")    # pylint: disable=W0640
    pause(1)
    assert told_whom(jobs["shell"]) == ["bash (pid 2)"]
    assert told_whom(jobs["ranks"]) in (["bash (pid 2)"], ["bash (pid 3)"])
    # the controls: it waits for half of the grace, for no shell, for nothing at all
    for name in "grace", "python", "idle":
        assert not jobs[name].ended() and "waiting for" not in jobs[name].error_text(), name
    jobs["python"].until("main SIGTERM")


# Data loaders.

def test_loaders_live_until_the_checkpoint_is_written(box):
    job = box.start("--", *box.payload("main", "status=9", *LOADERS))
    job.until("main ready", *(f"{name} ready" for name in KINDS))
    result = job.stop()
    assert result.status == 9 and result.err == ""
    assert saved(job)
    for name in KINDS[:3]:
        assert job.count(f"main needs {name}: there") == 1, job.log()
    told_once(job, "main", *KINDS)


def test_loaders_with_tini(box, tool):
    """The controls: a whole group told at once, and nobody told at all."""
    job = box.start("-g", "--", *box.payload("main", *LOADERS), program=tool("tini"))
    job.until("main ready", *(f"{name} ready" for name in KINDS))
    job.stop()
    assert job.count("main needs same: gone") == 1
    assert job.count("session SIGTERM") == 0
    job = box.start("--", *box.payload("main", "session:slow"), program=tool("tini"))
    job.until("main ready", "slow ready")
    job.stop()
    assert job.count("slow SIGTERM") == 0 and job.count("slow done") == 0


def test_after_a_normal_end_too(box, tool):
    words = ["--", *box.payload("main", "after=0.2", "status=7", *LOADERS)]
    job = box.start(*words)
    result = job.wait()
    assert result.status == 7 and result.err == ""
    told_once(job, *KINDS)
    assert job.count("main SIGTERM") == 0
    # the control
    job = box.start(*words, program=tool("tini"))
    assert job.wait().status == 7
    assert job.count("session SIGTERM") == 0


@pytest.mark.parametrize("name", ["mpirun-train.sh", "mpirun"])
def test_a_launcher_that_tells_nobody(box, name):
    """A script by a launcher's name, or one that was killed: its children are told then."""
    save = " ".join(box.payload("main", "save=0.3"))
    make = f"printf '#!/bin/sh\\n{save}\\n:\\n' >@FOLDER/{name}; chmod +x @FOLDER/{name}"
    job = box.start("--grace=20", "--", "sh", "-c", f"{make}; @FOLDER/{name}; :")
    job.until("main ready")
    result = job.stop()
    assert result.status == 143 and "SIGKILL" not in result.err
    told_once(job, "main")
    assert os.path.exists(f"{job.folder}/main.ckpt")


def test_a_stopped_command_is_woken(box):
    """It would not see its SIGTERM; one that runs gets no SIGCONT."""
    job = box.start("--", *box.payload("main"))
    job.until("main ready")
    os.kill(job.main(), signal.SIGSTOP)
    wait_until(lambda: peek.state(job.main()) == "T", "stopped")
    assert job.stop().status == 0
    assert (job.count("main SIGTERM"), job.count("main SIGCONT")) == (1, 1)
    job = box.start("--", *box.payload("main"))
    job.until("main ready")
    assert job.stop().status == 0
    assert (job.count("main SIGTERM"), job.count("main SIGCONT")) == (1, 0)


def test_a_stopped_one_is_woken(box, tool):
    words = ["--", *box.payload("main", "stopped:sleeper", "session:other")]
    job = box.start(*words)
    job.until("main ready", "sleeper stops", "other ready")
    assert job.stop().status == 0
    assert job.count("sleeper SIGTERM") == 1 and job.count("sleeper SIGCONT") == 1
    assert job.count("sleeper done") == 1
    told_once(job, "main", "other")
    # the control
    job = box.start(*words, program=tool("tini"))
    job.until("main ready", "sleeper stops")
    job.stop()
    assert job.count("sleeper SIGTERM") == 0


def test_a_stopped_member_of_the_group_is_woken(box):
    """With --signal-group it has its SIGTERM together with the command, and must see it."""
    job = box.start("--signal-group", "--", *box.payload("main", "stopped:sleeper", "same:near"))
    job.until("main ready", "sleeper stops", "near ready")
    assert job.stop().status == 0
    told_once(job, "main", "near")
    assert job.count("sleeper SIGTERM") == job.count("sleeper SIGCONT") == 1, job.log()
    assert job.count("sleeper done") == 1


# More than one signal: see test_signals.py as well.

def test_an_int_before_any_term_is_only_forwarded(box):
    job = box.start("--", *box.payload("main", "deaf", "session:loader"))
    job.until("main ready", "loader ready")
    for count in (1, 2, 3):
        job.signal(INT)
        job.until("main SIGINT")
        pause(0.1)
        assert job.count("main SIGINT") == count and not job.ended()
    assert job.count("loader SIGINT") == job.count("loader SIGTERM") == 0


# Deadlines.

def test_the_deadline_kills_and_names(box):
    job = box.start("--grace=1", "--",
                    *box.payload("main", "deaf", "orphan:lost!", "title=train er"))
    job.until("main ready", "lost ready")
    begin = time.monotonic()
    result = job.stop()
    assert time.monotonic() - begin >= 0.99
    assert result.status == 137
    assert job.count("main SIGTERM") == job.count("lost SIGTERM") == 1
    assert "train er (" in killing(result) and "python3 (" in killing(result)
    # the control: without the option it waits
    job = box.start("--", *box.payload("main", "deaf"))
    job.until("main ready")
    job.signal(TERM)
    job.until("main SIGTERM")
    pause(1.5)
    assert not job.ended()


def test_only_the_deaf_one_is_killed(box):
    job = box.start("--grace=1.5", "--",
                    *box.payload("main", "status=5", "save=0.2", "session:good", "session:bad!"))
    job.until("main ready", "good ready", "bad ready")
    result = job.stop()
    assert result.status == 5, "the command's, whatever happened to the rest"
    assert saved(job) and job.count("bad SIGTERM") == 1 and job.count("bad done") == 0
    told_once(job, "main", "good")
    assert killing(result).count("python3 (") == 1


def test_after_a_normal_end_it_is_said_and_has_its_time(box):
    job = box.start("--", *box.payload("main", "after=0.1", "status=6", "session:bad!"))
    job.until("main done", "bad SIGTERM")
    wait_until(lambda: re.search(r"warning: waiting for .*: python3 \(", job.error_text()),
               "it is said", 5)
    for _ in range(3):
        job.signal(TERM)
        pause(0.1)
    assert not job.ended() and job.count("bad SIGTERM") == 1
    result = job.wait()
    assert result.status == 6 and "python3 (" in killing(result)


def test_a_grace_bounds_the_wait_after_a_normal_end(box):
    job = box.start("--grace=0.6", "--",
                    *box.payload("main", "after=0.1", "status=6", "group:bad!"))
    result = job.wait(9)
    assert result.status == 6 and "python3 (" in killing(result)


def test_a_stop_comes_between_signals(box, tool):
    """The kernel hands out the lowest number that is pending, and here one always is."""
    words = ["-o", "@FOLDER/trace", "-e", "trace=rt_sigtimedwait", "-e", "signal=none",
             "-e", "inject=rt_sigtimedwait:signal=SIGUSR1:when=1..5000", box.rankinit,
             "--signal-map=USR1:0"]
    job = box.start(*words, "--", "sh", "-c", "kill $PPID; exec sleep 60",
                    program=tool("strace"), place="below")
    result, lines = job.wait(), job.read("trace").decode().splitlines()
    if not any("INJECTED" in line or "si_signo=SIGUSR1" in line for line in lines):
        pytest.skip("strace cannot inject signals here")
    assert result.status == 128 + TERM, result.err
    first = next(at for at, line in enumerate(lines) if "si_signo=SIGTERM" in line)
    assert first < 5000, lines[first]


def test_a_stop_comes_between_orphans(box, tool, actor):
    """However many there are to reap: a signal is not kept waiting until the last one."""
    trace = ["-D", "-o", "/dev/null", "-e", "trace=wait4", "-e", "inject=wait4:delay_enter=4000"]
    job = box.start(*trace, box.rankinit, "-v", "--supervise=always", "--", actor("probe"),
                    "/dev/null", "held=600", "exit=7", program=tool("strace"), place="below")
    wait_until(lambda: "reaped pid" in job.error_text(), "the first one")
    result = job.stop()
    before, said, after = result.err.partition("SIGTERM from pid ")
    assert said, "in the end they were all gone, and nobody had looked"
    assert result.status == 7 and "reaped pid" in after
    assert before.count("reaped pid") + after.count("reaped pid") == 600


# --signal-map and --signal-group.

def test_signal_map(box):
    job = box.start("--signal-map=TERM:INT,USR1:USR2,HUP:0", "--",
                    *box.payload("main", "session:loader"))
    job.until("main ready", "loader ready")
    job.signal(signal.SIGHUP)
    job.signal(signal.SIGUSR1)
    job.until("main SIGUSR2")
    assert job.stop().status == 0
    assert job.count("main SIGINT") == 1 and job.count("main SIGTERM") == 0
    assert job.count("main SIGHUP") == job.count("main SIGUSR1") == 0
    told_once(job, "loader")
    # the control
    job = box.start("--", *box.payload("main"))
    job.until("main ready")
    job.signal(signal.SIGHUP)
    job.signal(signal.SIGUSR1)
    job.until("main SIGHUP", "main SIGUSR1")
    job.stop()
    told_once(job, "main")


def test_a_dropped_term_still_starts_the_stop(box):
    job = box.start("--grace=1", "--signal-map=TERM:0", "--",
                    *box.payload("main", "session:loader"))
    job.until("main ready", "loader ready")
    assert job.stop().status == 137
    assert job.count("main SIGTERM") == 0
    told_once(job, "loader")


def test_signal_group(box):
    for option, expected in ("--signal-group", 1), ("--signal-group=no", 0):
        job = box.start(option, "--", *box.payload("main", "same:near", "group:far"))
        job.until("main ready", "near ready", "far ready")
        job.signal(signal.SIGUSR1)
        job.until("main SIGUSR1")
        pause(0.1)
        assert job.count("near SIGUSR1") == expected
        assert job.count("far SIGUSR1") == 0 and job.count("main SIGUSR1") == 1
        job.stop()
        assert job.count("main needs near: there") == 1 - expected


def test_signal_group_tells_each_once(box):
    """A member of the group that outlives the command has had its TERM."""
    job = box.start("--signal-group", "--", *box.payload("main", "save=0", "same:near"))
    job.until("main ready", "near ready")
    job.stop()
    told_once(job, "main", "near")


def test_signal_group_and_one_that_leaves_it(box, tool):
    """It leaves between the look at the group and the TERM for it: told later then."""
    trace = ["-D", "-o", "@FOLDER/trace", "-e", "trace=kill", "-e",
             "inject=kill:delay_enter=1500000"]
    job = box.start(*trace, box.rankinit, "--signal-group", "--grace=15", "--",
                    *box.payload("main", "leaver:near"), program=tool("strace"), place="below")
    job.until("main ready", "near ready")
    job.signal(TERM)
    pause(0.4)
    job.signal(signal.SIGUSR2, job.named("near"))
    job.until("near SIGUSR2")
    assert job.count("main SIGTERM") == 0, "still before the TERM"
    result = job.wait()
    assert (result.status, result.err) == (0, "")
    told_once(job, "main", "near")


# Where /proc does not help.

@pytest.mark.parametrize("shell", ["umount /proc", "mount -t tmpfs none /proc"])
def test_process_1_needs_no_proc(box, shell):
    job = box.start("--", *box.payload("main", "status=4", *LOADERS[1:], "stopped:sleeper"),
                    shell=shell)
    job.until("main ready", "sleeper stops", *(f"{name} ready" for name in KINDS[1:]))
    assert job.stop().status == 4
    assert saved(job)
    for name in ["main", *KINDS[1:], "sleeper"]:
        assert job.count(f"{name} SIGTERM") == 1 and job.count(f"{name} done") == 1, job.log()


def test_a_proc_that_never_answers(box):
    """Who may mount over /proc can put FIFOs there: nobody waits for a writer."""
    shell = "mount -t tmpfs none /proc; ln -s 1 /proc/self; mkdir $(seq -f /proc/%g 99); " \
            "mkfifo $(seq -f /proc/%g/stat 99)"
    job = box.start("--grace=0.6", "--", *box.payload("main", "deaf", "session:bad!"),
                    shell=shell)
    job.until("main ready", "bad ready")
    assert job.stop().status == 137


def test_process_1_kills_without_proc(box):
    job = box.start("--grace=0.6", "--", *box.payload("main", "deaf", "session:bad!"),
                    shell="umount /proc")
    job.until("main ready", "bad ready")
    result = job.stop()
    assert result.status == 137 and killing(result)
