# SPDX-License-Identifier: Apache-2.0
"""
Ranks as forks of this process, which has imported their framework already: four
imports of torch for each failure would be all that the machine does. A program
runs as `python3 FILE` would run it, from the module __main__ to the exit status.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import sys
import time
import types

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
run_file = ctypes.pythonapi.PyRun_AnyFileExFlags
run_file.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]


def be_program(words, env, keep=()):
    """In a fork: become this program. Never returns."""
    for number in range(3, 1024):
        if number not in keep:
            with contextlib.suppress(OSError):
                os.close(number)
    os.environ.update(env)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace",
                                       closefd=False)
    sys.argv, sys.path[0] = list(words), os.path.dirname(words[0])
    sys.modules.pop("faults", None)
    if "torch.distributed" in sys.modules:    # it has read its environment already
        sys.modules["torch.distributed"].set_debug_level_from_env()
    sys.modules["__main__"] = types.ModuleType("__main__")
    path = os.fsencode(words[0])
    failed = run_file(libc.fopen(path, b"r"), path, 1, None)
    ctypes.pythonapi.Py_Exit(1 if failed else 0)


def fork_program(words, env, folder, files=(None, None), keep=(), drop=None):
    """
    The pid of a process that runs it, leader of a group of its own. What drop
    has open is closed there, before its number may be another file's.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        if drop is not None:
            drop.close()
        os.setsid()
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, file in enumerate(files, 1):
            if file is not None:
                os.dup2(file, number)
        be_program(words, env, keep)
    finally:
        os._exit(120)


class Rank:
    """A rank and what was seen of it."""

    def __init__(self, number, pid):
        self.number, self.pid = number, pid
        self.ended = self.closed = self.status = None
        self.told = None    # when it got SIGTERM


class Watch:
    """
    Ranks, and what they did when: pieces of their output, when the kernel closed
    their files, and when they could be reaped. None is stopped before all had
    `seconds` since the first of them ended or printed an error.
    """

    def __init__(self, seconds, limit):
        self.seconds, self.limit = seconds, limit
        self.begin = time.monotonic()
        self.first = None       # when the first sign of a failure was seen
        self.ranks, self.pieces, self.rest = [], [], {}
        self.selector = selectors.DefaultSelector()

    def now(self):
        return time.monotonic() - self.begin

    def start(self, number, words, env, folder):
        reads, writes = zip(*(os.pipe() for _ in range(3)))
        os.set_inheritable(writes[2], True)
        rank = Rank(number, fork_program(words, env, folder, writes[:2], (writes[2],),
                                         self.selector))
        for file in writes:
            os.close(file)
        self.ranks.append(rank)
        for what, file in zip(("stdout", "stderr", "closed"), reads):
            self.selector.register(file, selectors.EVENT_READ, (rank, what))
        self.selector.register(os.pidfd_open(rank.pid), selectors.EVENT_READ, (rank, "ended"))

    def sign(self):
        if self.first is None:
            self.first = self.now()

    def add(self, rank, what, data):
        """Whole lines only; the rest of one waits for its end."""
        if b"Traceback" in data or b"rror" in data:
            self.sign()
        data = self.rest.pop((rank, what), b"") + data
        lines, newline, rest = data.rpartition(b"\n")
        if rest:
            self.rest[rank, what] = rest
        if newline:
            self.pieces.append((self.now(), rank.number, what, lines.decode(errors="replace")))

    def end(self, rank):
        """Its pid stays taken until its group has been told."""
        rank.ended = self.now()
        seen = os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)
        rank.status = seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status
        self.sign()

    def see(self, rank, what, file):
        """True if there is no more to come."""
        if what == "ended":
            self.end(rank)
            return True
        data = os.read(file, 1 << 16)
        if data:
            self.add(rank, what, data)
            return False
        if what == "closed":
            rank.closed = self.now()
        return True

    def look(self, seconds):
        for key, _ in self.selector.select(seconds):
            if self.see(*key.data, key.fd):
                self.selector.unregister(key.fd)
                os.close(key.fd)

    def alive(self):
        return [rank for rank in self.ranks if rank.ended is None]

    def look_while(self, seconds):
        """Until all have ended, or so long."""
        until = self.now() + seconds
        while self.alive() and self.now() < until:
            self.look(0.2)

    def stop(self):
        """Those that are left get SIGTERM, then SIGKILL."""
        for rank in self.alive():
            rank.told = self.now()
            os.kill(rank.pid, signal.SIGTERM)
        self.look_while(5)
        for rank in self.alive():
            os.kill(rank.pid, signal.SIGKILL)
        self.look_while(10)
        for rank in self.ranks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(rank.pid, signal.SIGKILL)
            os.waitpid(rank.pid, 0)
        until = self.now() + 2
        while self.selector.get_map() and self.now() < until:
            self.look(0.2)

    def run(self):
        while self.alive() and self.now() < self.limit:
            if self.first is not None and self.now() > self.first + self.seconds:
                break
            self.look(0.2)
        self.look(0.3)
        self.stop()
        for (rank, what), rest in self.rest.items():
            self.pieces.append((self.now(), rank.number, what, rest.decode(errors="replace")))
        for key in list(self.selector.get_map().values()):
            os.close(key.fd)
        self.selector.close()
        return self
