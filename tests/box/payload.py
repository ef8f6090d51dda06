# SPDX-License-Identifier: Apache-2.0
"""
The trainer's place is taken by this.

    payload.py FOLDER NAME [WORD...]

It writes "NAME SIGNAL" to FOLDER/log for every TERM, INT, QUIT, USR1, USR2, HUP,
CONT and RTMAX that it takes, once per signal; of RTMAX alone none is ever lost. The
first TERM or INT makes it write a checkpoint to FOLDER/NAME.ckpt, which takes
its time; then it ends. Words:

    save=SECONDS    how long the checkpoint takes, 0.5 at first
    status=N        exit status, 0 at first
    after=SECONDS   end by itself after this time, without a checkpoint
    deaf            no signal makes it end
    KIND:NAME       a child with this name, which ends on its own TERM and
                    takes 0.1 s; KIND is same, group, session, orphan (another
                    session, and its parent is gone), stopped (by SIGSTOP) or
                    leaver (goes into a session of its own on USR2); a NAME
                    that ends in "!" is a deaf one
    barrier=N       once done, wait until rank0 to rankN-1 are, as ranks do: mpirun
                    kills the others when the first one has ended after a stop
    title=TEXT      the name of the process from here on

A NAME like env:VARIABLE is "rank" and the value of that variable.
"""

import os
import signal
import sys
import time

TAKEN = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
         signal.SIGHUP, signal.SIGCONT, signal.SIGRTMAX}


class Process:
    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.save = 0.5
        self.status = 0
        self.after = None
        self.deaf = False
        self.leaves = False
        self.barrier = 0
        self.log = os.open(folder + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.children = []

    def say(self, text):
        os.write(self.log, f"{self.name} {text}\n".encode())

    def serve(self):
        self.say(f"pid {os.getpid()}")
        self.say("ready")
        asked = False
        end = None if self.after is None else time.monotonic() + self.after
        while end is None or time.monotonic() < end:
            left = 3600 if end is None else max(0.0, end - time.monotonic())
            info = signal.sigtimedwait(TAKEN, left)
            if info is None:
                continue
            if info.si_signo == signal.SIGUSR2 and self.leaves:
                os.setsid()
            self.say(signal.Signals(info.si_signo).name)
            stop = info.si_signo in (signal.SIGTERM, signal.SIGINT)
            if stop and not asked and not self.deaf:
                asked = True
                end = time.monotonic() + self.save
        if asked and self.save > 0:
            self.checkpoint()
        self.say("done")
        self.wait_for_ranks()

    def wait_for_ranks(self):
        wanted = {f"rank{rank} done" for rank in range(self.barrier)}
        limit = time.monotonic() + 5
        while wanted and time.monotonic() < limit:
            with open(self.folder + "/log", encoding="utf-8") as log:
                wanted -= set(log.read().splitlines())
            time.sleep(0.01)

    def checkpoint(self):
        """Data loaders have to be there until this is written."""
        for name, pid in self.children:
            try:
                os.kill(pid, 0)
                alive = os.waitpid(pid, os.WNOHANG)[0] == 0
            except (ProcessLookupError, ChildProcessError):
                alive = False
            self.say(f"needs {name}: {'there' if alive else 'gone'}")
        with open(f"{self.folder}/{self.name}.ckpt", "w", encoding="ascii") as file:
            file.write("weights")

    def child(self, kind, name):
        ready, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            child = Process(self.folder, name.rstrip("!"))
            child.save = 0.1
            child.deaf = name.endswith("!")
            child.run_as(kind, told)
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        if kind == "orphan":
            os.waitpid(pid, 0)
        else:
            if kind == "stopped":
                os.waitpid(pid, os.WUNTRACED)
            self.children.append((name.rstrip("!"), pid))

    def run_as(self, kind, told):
        if kind == "group":
            os.setpgid(0, 0)
        self.leaves = kind == "leaver"
        if kind in ("session", "orphan"):
            os.setsid()
        if kind == "orphan" and os.fork():
            os._exit(0)
        if kind == "stopped":
            self.say("stops")
            os.write(told, b"r")
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            os.write(told, b"r")
        self.serve()
        os._exit(0)

    def word(self, word):
        key, _, value = word.partition("=")
        if key in ("save", "after"):
            setattr(self, key, float(value))
        elif key == "barrier":
            self.barrier = int(value)
        elif key == "status":
            self.status = int(value)
        elif key == "deaf":
            self.deaf = True
        elif key == "title":
            with open("/proc/self/comm", "wb") as file:
                file.write(os.fsencode(value))
        else:
            self.child(*word.split(":", 1))


def main(folder, name, *words):
    signal.pthread_sigmask(signal.SIG_BLOCK, TAKEN)
    if name.startswith("env:"):
        name = "rank" + os.environ[name[4:]]
    process = Process(folder, name)
    for word in words:
        process.word(word)
    process.serve()
    os._exit(process.status)


main(*sys.argv[1:])
