# SPDX-License-Identifier: Apache-2.0
"""
--restarts: what is said and done rests on facts. A stop that comes meanwhile is not lost, what the
kernel refuses is known before the ranks are said to start again, and who came into the namespace
from outside lives on.
"""

import json
import os
import re
import signal
import subprocess

import pytest

import peek
from peek import wait_until
from test_restarts import KILLED, SAY, SH, WAIT, attempts, restarts, why_not


# The ranks of the second attempt end by a stop alone.
UNTIL_STOPPED = SAY + KILLED % 1 + WAIT % 1 + "exec sleep 60"


def traced(box, tool, *words):
    return box.start("-o", "@FOLDER/trace", *words, box.rankinit, "--restarts=9",
                     "--nproc-per-node=2", "--", *SH, UNTIL_STOPPED, program=tool("strace"),
                     place="below")


def stop_rankinit(job):
    """Not strace, which has started it."""
    pids = [pid for pid, name in job.others().items() if name == "rankinit"]
    for pid in pids[:1]:
        job.signal(signal.SIGTERM, pid)


def calls_of_a_restart(box, tool):
    """(call, how many before it): from the end of a rank until those of the next attempt run."""
    job = traced(box, tool)
    job.until("0 1", "1 1")
    stop_rankinit(job)
    result = job.wait()
    assert result.status == 143 and len(restarts(result)) == 1, result.err
    lines = [line for line in job.read("trace").decode().splitlines() if re.match(r"\w+\(", line)]
    names = [line.partition("(")[0] for line in lines]
    first = next(at for at, line in enumerate(lines) if line.startswith("wait4(")
                 and "SIGKILL" in line)
    last = max(at for at, name in enumerate(names) if name in ("clone", "vfork", "fork"))
    found = {}
    for at, name in enumerate(names):
        if first <= at <= last + 10:
            found.setdefault(name, []).append(names[:at].count(name) + 1)
    return found


def test_a_stop_at_any_call_of_a_restart(box, tool):
    """It reaches the ranks that start again, or none starts: behind the first, a middle, the last
    of each kind of call."""
    for name, numbers in calls_of_a_restart(box, tool).items():
        for number in sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]}):
            job = traced(box, tool, "-e", f"trace={name}", "-e",
                         f"inject={name}:signal=TERM:when={number}")
            wait_until(lambda: job.ended() or {"0 1", "1 1"} <= set(job.log()), "an end or ranks")
            if job.read("trace").count(name.encode() + b"(") < number:  # fewer than before
                stop_rankinit(job)
            result = job.wait()
            assert result.status in (137, 143), (name, number, result.err)


# What the kernel refuses of a restart, and in which words. There are two ways to execute.
REFUSED = {
    "nothing": ([], None),
    "one way": (["execveat:error=EPERM"], None),
    "memory file": (["memfd_create:error=EPERM"], "Operation not permitted"),
    "both ways": (["execveat:error=EACCES", "execve:error=E2BIG"],
                  "Argument list too long"),
    "size of files": ("prlimit --pid $PPID --fsize=12000; ", "File too large"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_kernel_refuses(box, tool, what):
    """Then nobody says that the ranks start again, and the verdict is the job's, said once."""
    faults, words = REFUSED[what]
    ruin = faults if isinstance(faults, str) else ""
    report = os.memfd_create("report")
    trace = [] if ruin else [word for fault in faults for word in ("-e", f"inject={fault}")]
    job = box.start("-o", "@FOLDER/trace", "-e", "trace=execveat,execve,memfd_create", *trace,
                    box.rankinit, "--restarts=9", "--nproc-per-node=2", f"--report=fd:{report}",
                    "--", *SH, SAY + "[ $RANK = 1 ] && { " + ruin + ":; }; " + KILLED % 1 +
                    WAIT % 1 + "exit 0", program=tool("strace"), place="below",
                    pass_fds=(report,))
    result = job.wait()
    if faults and not ruin and b"INJECTED" not in job.read("trace"):
        pytest.skip("strace cannot inject errors here")
    with open(report, "rb") as file:
        file.seek(0)
        document = file.read()
    assert result.status == (0 if words is None else 137), result.err
    assert json.loads(document)["exit_status"] == result.status
    if words is None:
        assert attempts(job) == ["0 0", "0 1", "1 0", "1 1"] and len(restarts(result)) == 1
        return
    assert attempts(job) == ["0 0", "1 0"] and restarts(result) == []
    assert why_not(result) == f"rankinit cannot execute itself: {words} [restarts.refused]"
    assert result.brief["cause"] == "killed" and "rankinit: verdict" not in result.err


ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def test_what_torch_had_said_is_known_after_a_refusal(box, tool):
    """The files have gone by then, as the next attempt would write its own."""
    says = json.dumps({"message": {"message": ECC, "extraInfo": {
        "py_callstack": f'Traceback (most recent call last):\n  File "a.py", line 1\n{ECC}\n',
        "timestamp": "TIME"}}})
    words = f"[ $RANK = 1 ] || exec sleep 60; printf %s '{says}' | " \
            "sed s/TIME/$(date +%s)/ >$TORCHELASTIC_ERROR_FILE; exit 1"
    job = box.start("-o", "@FOLDER/trace", "-e", "trace=execveat,execve", "-e",
                    "inject=execveat:error=EACCES", "-e", "inject=execve:error=E2BIG", box.rankinit,
                    "--restarts=9", "--nproc-per-node=2", "--", *SH, words, program=tool("strace"),
                    place="below")
    result = job.wait()
    if b"INJECTED" not in job.read("trace"):
        pytest.skip("strace cannot inject errors here")
    assert "cannot execute itself: Argument list too long" in why_not(result)
    assert (result.brief["cause"], result.brief["retry"]) == ("ecc", "other_node"), result.err


# By number, the seconds of a sleep that is asked for. The job leaves 6 and 7; 4 is older than it.
LIVES = 'for n in 1 2 3 4 5 6 7; do grep -lzxqs "333$n" /proc/[0-9]*/cmdline && echo $n; done'
LEAVES = ("if [ $RANKINIT_ATTEMPT = 0 ]; then sleep 33''36 & setsid sleep 33''37 & "
          "echo up >>@FOLDER/log; until [ -e @FOLDER/go ]; do sleep 0.01; done; kill -9 $$; fi; ")


def come_from_outside(job):
    """A shell as of nsenter, one with a session of its own as of kubectl exec, one that is gone."""
    words = ["sleep 33''31; :"], ["setsid", "(sleep 33''32 &) ; sleep 33''33; :"], \
        ["(setsid sleep 33''35 &)"]
    shells = [subprocess.Popen(["nsenter", "-t", str(job.pid), "-p", "-m", "--", *before, "sh",
                                "-c", script]) for *before, script in words]
    shells.pop().wait()
    wait_until(lambda: {"3331", "3332", "3333", "3335", "3336", "3337"} <= {
        peek.read(pid, "cmdline").decode().split("\0")[1] for pid in job.members()
        if peek.read(pid, "cmdline").startswith(b"sleep\0")}, "all of them")
    return shells


def test_a_restart_spares_who_came_from_outside(box):
    """
    And what is older than the ranks, but nothing that the job left. A daemon whose starter is gone
    may be either, and counts as the job's.
    """
    job = box.start("--restarts=1", "--grace=0.2", "--", *SH,
                    LEAVES + LIVES + " >@FOLDER/seen; exit 0",
                    shell="setsid sleep 3334 & sleep 0.1")
    job.until("up")
    shells = come_from_outside(job)
    with open(f"{job.folder}/go", "w", encoding="ascii"):
        pass
    result = job.wait()
    assert result.status == 0 and len(restarts(result)) == 1, result.err
    assert job.read("seen").split() == [b"1", b"2", b"3", b"4"]
    for shell in shells:
        shell.wait()
