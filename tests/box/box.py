# SPDX-License-Identifier: Apache-2.0
"""
A box: a PID namespace in which one program runs, and what became of it.

place="init"    the program is process 1
place="below"   a keeper is process 1, which adopts and reaps; what the program
                left behind is still there when it has ended
"""

import json
import os
import re
import select
import signal
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import everybody
import peek
from peek import PATIENCE, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BASE = {"PATH": PATH, "LC_ALL": "C"}
PAYLOAD = [sys.executable, "-I", "-S", everybody.copy(os.path.join(HERE, "payload.py"))]


def read_brief(line):
    """The verdict's last line as a dictionary of texts; None where it is another one."""
    if not line.startswith("rankinit: verdict cause="):
        return None
    rest = line.removeprefix("rankinit: verdict")
    pairs = re.findall(r' (\w+)=("(?:[^"\\]|\\.)*"|[^" =]+)', rest)
    assert "".join(f" {key}={value}" for key, value in pairs) == rest, line
    assert len(line.encode()) < 400
    return {key: json.loads(value) if value.startswith('"') else value for key, value in pairs}


@dataclass
class Result:
    """What became of it. The verdict's last line is apart from the others: see test_brief.py."""
    status: int         # the exit code, or minus the signal that killed it
    out: bytes
    err: str
    brief: dict = None  # the verdict's last line, where there is one

    def __post_init__(self):
        before, end, last = self.err.removesuffix("\n").rpartition("\n")
        self.brief = read_brief(last)
        if self.brief is not None:
            self.err = before + end

    def lines(self):
        """What the program under test itself said."""
        return [line for line in self.err.splitlines() if line.startswith("rankinit: ")]


def refused(result, status, code, subject):
    """It said no, in one line, for this reason, about this; and did not crash."""
    errors = [line for line in result.lines() if line.startswith("rankinit: error: ")]
    assert result.status == status, (result.status, result.err)
    assert len(errors) == 1, result.err
    assert errors[0].startswith(f"rankinit: error: {subject}: "), errors[0]
    assert errors[0].endswith(f" [{code}]"), errors[0]
    assert result.out == b""
    return errors[0]


def warned(result, code, subject):
    """The one warning with this code about this subject."""
    found = [line for line in result.lines()
             if line.startswith(f"rankinit: warning: {subject}: ") and line.endswith(f"[{code}]")]
    assert len(found) == 1, result.err
    return found[0]


def merged(extra):
    """The base environment with changes; None takes a name away."""
    both = {**BASE, **(extra or {})}
    return {name: value for name, value in both.items() if value is not None}


class Job:
    """One program in its namespace. Only Boxes makes these."""

    def __init__(self, nsrun, words, options):
        self.place = options.pop("place", "init")
        self.folder = tempfile.mkdtemp(prefix="box-")
        self.log_path = os.path.join(self.folder, "log")
        self.raw = None
        self._rest = b""
        self._report, write_end = os.pipe()
        self._files = [open(os.path.join(self.folder, name), "w+b") for name in ("out", "err")]
        words = [word.replace("@FOLDER", self.folder) for word in words]
        words = self._wrap(nsrun, write_end, options) + words
        try:
            self.process = subprocess.Popen(
                words, env=merged(options.pop("env", None)), cwd=options.pop("cwd", self.folder),
                stdin=options.pop("stdin", subprocess.DEVNULL),
                stdout=options.pop("stdout", self._files[0]),
                stderr=options.pop("stderr", self._files[1]),
                pass_fds=(write_end, *options.pop("pass_fds", ())), start_new_session=True)
        finally:
            os.close(write_end)
        line = self._line(PATIENCE)
        if options or not line or not line.startswith("init "):
            text = self.error_text()
            self.close()
            raise AssertionError(f"not started: {options or text}")
        self.pid = int(line.split()[1])
        self.namespace = self._find_namespace()

    def _wrap(self, nsrun, report, options):
        words = [nsrun, "-r", str(report)]
        if self.place == "below":
            words.append("-n")
        if options.get("tty"):
            words += ["-t", options["tty"]]
        options.pop("tty", None)
        words += [*options.pop("nsrun", ()), "--"]
        shell = options.pop("shell", None)
        if shell:
            words += ["/bin/sh", "-c", shell.replace("@FOLDER", self.folder) + '; exec "$@"', "sh"]
        return words

    def _line(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = max(0.0, end - time.monotonic())
            if not select.select([self._report], [], [], left)[0]:
                return None
            chunk = os.read(self._report, 4096)
            if not chunk:
                return None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def _find_namespace(self):
        """Of the first process in it; None where a short command has ended already."""
        for pid in peek.children(self.process.pid):
            return peek.namespace(pid)
        return None

    # The program.

    def signal(self, number, pid=None):
        """By a descriptor, so that no process outside is ever hit."""
        try:
            handle = os.pidfd_open(pid or self.pid)
        except ProcessLookupError:
            return
        try:
            if peek.namespace(pid or self.pid) == self.namespace is not None:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)

    def ended(self, seconds=0.0):
        if self.raw is None:
            line = self._line(seconds)
            if line is not None:
                assert line.startswith("status "), line
                self.raw = int(line.split()[1])
        return self.raw is not None

    def wait(self, seconds=PATIENCE):
        assert self.ended(seconds), f"still runs: {self.members()}\n{self.error_text()}"
        with open(self._files[0].name, "rb") as file:
            out = file.read()
        return Result(os.waitstatus_to_exitcode(self.raw), out, self.error_text())

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def error_text(self):
        with open(self._files[1].name, "rb") as file:
            return file.read().decode("utf-8", "backslashreplace")

    # What its processes wrote into the log.

    def log(self):
        try:
            with open(self.log_path, encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def count(self, line):
        return self.log().count(line)

    def until(self, *lines):
        """Until all of these lines are in the log."""
        wait_until(lambda: self.ended() or set(lines) <= set(self.log()),
                   f"{lines} in {self.log()}")
        assert set(lines) <= set(self.log()), (self.log(), self.error_text())

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    # Its processes, by their pids out here.

    def members(self):
        """None once process 1 has ended; the number of its namespace may be used again."""
        gone = self.namespace is None or (self.place == "init" and self.raw is not None)
        return {} if gone else peek.members(self.namespace)

    def others(self):
        """All but the keeper, where there is one: {pid: name}."""
        return {pid: facts[0] for pid, facts in self.members().items()
                if self.place != "below" or self.inner(pid) not in ("1", None)}

    def main(self):
        """The first child of the program that runs a program of its own: not its helper."""
        def look():
            words = peek.read(self.pid, "cmdline")
            return [pid for pid in peek.children(self.pid)
                    if peek.read(pid, "cmdline") not in (words, b"")]
        return wait_until(look, "a child")[0]

    def named(self, name):
        """The process that wrote "NAME pid N" into the log, by its pid out here."""
        wanted = [line.split()[2] for line in self.log() if line.startswith(f"{name} pid ")][0]
        return next(pid for pid in self.members() if self.inner(pid) == wanted)

    @staticmethod
    def inner(pid):
        """A process's number in its own namespace, None where it has gone."""
        numbers = peek.field(pid, "NSpid")
        return numbers and numbers.split()[-1]

    def close(self):
        """nsrun takes the namespace with it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._report)
        for file in self._files:
            file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Boxes:
    """What a test is given: start programs, everything is gone at the end."""

    def __init__(self, nsrun, rankinit):
        self.nsrun = nsrun
        self.rankinit = rankinit
        self.jobs = []

    def start(self, *arguments, program=None, **options):
        """Start rankinit, or another program, with these arguments."""
        words = [program or self.rankinit, *map(str, arguments)]
        job = Job(self.nsrun, words, options)
        self.jobs.append(job)
        return job

    def run(self, *arguments, **options):
        """The same, to its end."""
        job = self.start(*arguments, **options)
        try:
            return job.wait()
        finally:
            self.jobs.remove(job)
            job.close()

    def payload(self, *words):
        """The words of a command that runs payload.py with the log of its box."""
        return [*PAYLOAD, "@FOLDER", *words]

    def close(self):
        for job in self.jobs:
            job.close()
