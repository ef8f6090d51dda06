# SPDX-License-Identifier: Apache-2.0
"""What passes through an init unchanged, and what it holds on to itself."""

import os
import subprocess

from harness import wait_until
import procfs
from registry import case, judge

IDLE_SECONDS = 3
BYTES = bytes(range(256)) * 4096


@case("T67", "cat between two pipes", "bytes unchanged, nothing on stderr")
def t67(bench):
    run = bench.start(bench.tool("cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        out, _ = run.process.communicate(BYTES, timeout=20)
    except subprocess.TimeoutExpired:
        return judge(False, "still running")
    quiet = not run.stderr()
    return judge(out == BYTES and quiet and run.code() == 0,
                 f"{len(out)} of {len(BYTES)} bytes, "
                 f"{'nothing' if quiet else 'something'} on stderr, {run.outcome()}")


@case("T70", "descriptor 9 passed in", "the init does not keep it")
def t70(bench):
    run = bench.ready("ready", "serve=15", extra=9)
    closed = wait_until(lambda: procfs.descriptor(run.pid, 9) is None, 1)
    return judge(closed, "closed" if closed else "held by the init")


@case("T71", "descriptor 9 passed in", "open in the command")
def t71(bench):
    run = bench.ready("info", "ready", "serve=15", extra=9)
    fds = run.fields()["fds"]
    return judge("9" in fds.split(","), f"open in the command: {fds}")


@case("T72", "started in /usr", "the command in /usr, the init in /")
def t72(bench):
    run = bench.ready("info", "ready", "serve=15", cwd="/usr")
    command = run.fields()["cwd"]
    wait_until(lambda: procfs.cwd(run.pid) == "/", 1)
    init = procfs.cwd(run.pid)
    return judge(command == "/usr" and init == "/", f"command in {command}, init in {init}")


@case("T73", "environment", "unchanged, in the same order")
def t73(bench):
    given = {"EMPTY": "", "com.example.name": "x", "LINES_2": "a\nb", "Z": "last"}
    run = bench.ready("info", "ready", "serve=15", environment=given)
    raw = procfs.read(run.main_pid(), "environ").split("\0")
    wanted = [f"{name}={value}" for name, value in run.environment.items()]
    same = raw[:-1] == wanted
    extra = sorted({line.partition("=")[0] for line in set(raw[:-1]) ^ set(wanted)})
    return judge(same, "unchanged" if same else "changed: " + (" ".join(extra) or "order"))


@case("T74", "LISTEN_PID names the init", "it names the command in there")
def t74(bench):
    given = {"LISTEN_PID": "1", "LISTEN_FDS": "1"}
    run = bench.ready("info", "ready", "serve=15", environment=given)
    field = run.fields()
    good = field["listen"] == field["pid"]
    return judge(good, "names the command" if good else f"LISTEN_PID={field['listen']}")


@case("T77", "stdout and stderr have no reader, verbose mode", "the command's code")
def t77(bench):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = bench.probe("exit=6", mode="verbose", stdout=writer, stderr=writer)
    finally:
        os.close(writer)
    code = run.code()
    return judge(code == 6, run.outcome())


@case("T78", "verbose mode", "stdout has the command's bytes only")
def t78(bench):
    run = bench.start("echo", "hello", mode="verbose")
    run.code()
    out = run.stdout()
    return judge(out == "hello\n", f"{len(out)} bytes on stdout, 6 are the command's")


@case("T79", f"{IDLE_SECONDS} s idle", "the init does not wake up")
def t79(bench):
    run = bench.ready("ready", "serve=15")
    wait_until(lambda: procfs.state(run.pid) == "S")
    # The start may still be echoing: the count begins once it is at rest.
    last = [None]

    def settled():
        before, last[0] = last[0], procfs.switches(run.pid)
        return before == last[0]
    wait_until(settled, 2, 0.2)
    before = last[0]
    wait_until(lambda: False, IDLE_SECONDS)
    after = procfs.switches(run.pid)
    if before is None or after is None:
        return judge(False, "the init has ended")
    return judge(after == before, f"{'no' if after == before else 'some'} wake-ups")
