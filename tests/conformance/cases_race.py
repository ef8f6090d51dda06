# SPDX-License-Identifier: Apache-2.0
"""TERM in the short time between starting the child and running the command.

strace holds each process of the init for a moment in the system call in
question, so that the signal hits that very place. Which call an init uses to
make a group or a session does not matter, nor how it makes the child.
"""

from harness import PATIENCE, wait_until
import procfs
from registry import case, Gone, judge

HOLD = "600ms"


def trace(bench, run, names, where):
    """Attach before the init is executed, then let it go."""
    calls = ",".join(names)
    bench.spawn([bench.tool("strace"), "-f", "-qq", "-o", "/dev/null",
                 "-e", f"trace={calls}", "-e", f"inject={calls}:{where}={HOLD}",
                 "-p", str(run.pid)])
    if not wait_until(lambda: procfs.tracer(run.pid)):
        raise Gone("strace could not attach")
    run.go()


def held_child(run, names, unmasked):
    """A child of the init that sits in one of these calls now."""
    for pid in run.children():
        if procfs.in_syscall(pid, names):
            if not unmasked or not procfs.blocks(pid, 15):
                return pid
    return None


def wait_for_place(run, names, unmasked):
    """True there; False if the command runs without having been there."""
    def look():
        if held_child(run, names, unmasked):
            return "there"
        run.drain()
        return "past" if run.saw("main ready") or not run.alive() else None
    return wait_until(look, 2 * PATIENCE, 0.005) == "there"


def hit(bench, names, where="delay_enter", unmasked=False, mode="init"):
    run = bench.probe("ready", "serve=15", "exit=29", mode=mode, hold=True)
    trace(bench, run, names, where)
    there = wait_for_place(run, names, unmasked)
    run.signal(15)
    # Either the command gets it, or it dies of it before it can say so.
    wait_until(lambda: not run.alive() or run.expect("main ready", 0.05), 2 * PATIENCE)
    code = run.code(1.5)
    place = "hit there" if there else "place never seen"
    return judge(code in (29, 143), f"{place}, {run.outcome()}")


@case("T14", "TERM before the child has its own group or session", "not lost")
def t14(bench):
    return hit(bench, ("setpgid", "setsid"))


@case("T14b", "TERM while the child enters execve", "not lost")
def t14b(bench):
    return hit(bench, ("execve",))


@case("T14c", "TERM once the child has its old mask back",
      "not lost to a handler that the init left there")
def t14c(bench):
    return hit(bench, ("rt_sigprocmask",), "delay_exit", unmasked=True)


@case("T15", "T14 in group mode", "not lost")
def t15(bench):
    return hit(bench, ("setpgid", "setsid"), mode="group")
