# SPDX-License-Identifier: Apache-2.0
"""Start an init in a namespace of its own, talk to it, and clean up after it."""

import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import procfs
from registry import Gone, Skip

# Generous: only a broken init ever waits so long, and the machine may be busy.
PATIENCE = 10.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def wait_until(condition, seconds=PATIENCE, step=0.01):
    """The first true value of condition(), or its last false one."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() >= end:
            return value
        time.sleep(step)


class Lines:
    """Whole lines from a descriptor, with a deadline for each."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.rest = b""

    def next(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = max(0.0, end - time.monotonic())
            if not select.select([self.descriptor], [], [], left)[0]:
                return None
            chunk = os.read(self.descriptor, 65536)
            if not chunk:
                return None
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode("utf-8", "replace")


def split_command(text):
    """Leading NAME=VALUE words are environment, the rest is the command."""
    words = shlex.split(text)
    environment = {}
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    return environment, words


class Run:
    """One init in its namespace. Only Bench makes these."""

    def __init__(self, bench, mode, command, options):
        self.bench = bench
        self.mode = mode
        self.command = command
        self.nested = options.get("nested", False)
        self.process = None
        self.raw = None
        self.pid = None
        self.pidfd = None
        self.events = []
        self._open_channels(options)

    def _open_channels(self, options):
        self.folder = tempfile.mkdtemp(prefix="conform-")
        self.log_path = os.path.join(self.folder, "log")
        os.mkfifo(self.log_path)
        # Both ways, so that it neither blocks nor ever comes to an end.
        self.log = Lines(os.open(self.log_path, os.O_RDWR | os.O_CLOEXEC))
        self.report_read, write = os.pipe()
        # not one of those that a case passes in
        self.report_write = fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(write)
        self.report = Lines(self.report_read)
        self.go_read, self.go_write = os.pipe() if options.get("hold") else (None, None)
        self.files = {}
        for name in ("stdout", "stderr"):
            self.files[name] = open(os.path.join(self.folder, name), "w+b")

    def _arguments(self, options):
        words = [self.bench.actor("nsrun"), "-r", str(self.report_write)]
        switches = {"nested": "-n", "background": "-B", "prechild": "-C", "no_stdin": "-z"}
        values = {"ignore": "-i", "block": "-b", "tty": "-t", "stdin_tty": "-T", "extra": "-f"}
        words += [flag for name, flag in switches.items() if options.get(name)]
        for name, flag in values.items():
            if options.get(name) is not None:
                words += [flag, str(options[name])]
        if self.go_read is not None:
            words += ["-g", str(self.go_read)]
        return words + ["--"]

    def start(self, options):
        extra, init = split_command(self.bench.modes[self.mode])
        command = [self.log_path if word == "@LOG" else word for word in self.command]
        environment = {"PATH": PATH, "HOME": "/", "LC_ALL": "C"}
        environment.update(options.get("environment", {}))
        environment.update(extra)
        self.environment = environment
        passed = [fd for fd in (self.report_write, self.go_read) if fd is not None]
        self.process = subprocess.Popen(
            self._arguments(options) + init + command,
            stdin=options.get("stdin", subprocess.DEVNULL),
            stdout=options.get("stdout", self.files["stdout"]),
            stderr=options.get("stderr", self.files["stderr"]),
            cwd=options.get("cwd", "/"), env=environment,
            pass_fds=passed, start_new_session=True)
        os.close(self.report_write)
        line = self.report.next(PATIENCE)
        if line is None or not line.startswith("init "):
            raise Gone(f"nsrun did not start: {self.stderr().strip()[:200]}")
        self.pid = int(line.split()[1])
        self.namespace = procfs.namespace(self.pid)
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            pass  # a short command: the init has ended already

    def go(self):
        os.write(self.go_write, b"g")

    # What the probe wrote.

    def _take(self, seconds):
        line = self.log.next(seconds)
        if line is not None:
            self.events.append(line)
        return line

    def drain(self, seconds=0.0):
        """Take what is there, and what comes in the next moments."""
        end = time.monotonic() + seconds
        while self._take(max(0.0, end - time.monotonic())) is not None:
            pass

    def saw(self, start):
        """How many lines begin so; a whole word, "main signal 1" is not 15."""
        return sum(1 for line in self.events if (line + " ").startswith(start + " "))

    def expect(self, start, seconds=PATIENCE, count=1):
        """Wait for a line; False if the time passes or the init ends first."""
        end = time.monotonic() + seconds
        while self.saw(start) < count:
            if self._take(0.05) is not None:
                continue
            if time.monotonic() >= end:
                return False
            if not self.nested and self.status(0.0) is not None:
                self.drain()
                return self.saw(start) >= count
        return True

    def need(self, start, seconds=PATIENCE):
        if not self.expect(start, seconds):
            ended = "" if self.raw is None else f", init ended with {self.outcome()}"
            raise Gone(f'no "{start}" from the command{ended}: {self.complaint()}')

    def fields(self, start="main info"):
        for line in self.events:
            if line.startswith(start + " "):
                return dict(word.split("=", 1) for word in line.split() if "=" in word)
        return {}

    # The init itself.

    def signal(self, number):
        if self.pidfd is None:
            return
        try:
            signal.pidfd_send_signal(self.pidfd, number)
        except ProcessLookupError:
            pass

    def alive(self):
        return self.status(0.0) is None

    def status(self, seconds=PATIENCE):
        """The raw wait status once the init has ended, else None."""
        if self.raw is None:
            line = self.report.next(seconds)
            if line is not None and line.startswith("status "):
                self.raw = int(line.split()[1])
        return self.raw

    def code(self, seconds=PATIENCE):
        """The exit code; negative for a signal, None while it is running."""
        raw = self.status(seconds)
        return None if raw is None else os.waitstatus_to_exitcode(raw)

    def outcome(self, seconds=0.0):
        code = self.code(seconds)
        if code is None:
            return "still running"
        return f"signal {-code}" if code < 0 else f"code {code}"

    def stop(self, seconds=PATIENCE):
        """TERM, then the exit code."""
        self.signal(signal.SIGTERM)
        return self.code(seconds)

    def stdout(self):
        return self._text("stdout")

    def stderr(self):
        return self._text("stderr")

    def _text(self, name):
        with open(self.files[name].name, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def complaint(self):
        lines = self.stderr().strip().splitlines()
        return lines[-1][:120] if lines else "stderr empty"

    # The processes around it.

    def members(self):
        return procfs.members(self.namespace)

    def children(self):
        return [pid for pid, facts in self.members().items() if facts[2] == self.pid]

    def main_pid(self):
        """The probe that the init started, as seen from out here."""
        wanted = self.fields().get("pid")
        for pid in self.members():
            numbers = (procfs.status_field(pid, "NSpid") or "").split()
            if wanted and numbers and numbers[-1] == wanted:
                return pid
        raise Gone("the command has gone")

    def close(self):
        """Killing nsrun ends the namespace and with it all that is in there."""
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
        for descriptor in (self.pidfd, self.log.descriptor, self.report_read,
                           self.go_read, self.go_write):
            if descriptor is not None:
                os.close(descriptor)
        for file in self.files.values():
            file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Bench:
    """What one case is given: the init's modes, and ways to start it."""

    def __init__(self, modes, build):
        self.modes = modes
        self.build = build
        self.runs = []
        self.terminals = []
        self.others = []
        self.folders = []

    def folder(self):
        """An empty folder that goes away with the case."""
        self.folders.append(tempfile.mkdtemp(prefix="conform-"))
        return self.folders[-1]

    def actor(self, name):
        return os.path.join(self.build, "tests", name)

    def with_grace(self, seconds):
        """The same init, its grace mode told how long it may take."""
        modes = dict(self.modes)
        modes["grace"] = modes["grace"].replace("{grace}", str(seconds))
        self.modes = modes

    def start(self, *command, mode="init", **options):
        run = Run(self, mode, list(command), options)
        self.runs.append(run)
        run.start(options)
        return run

    def probe(self, *steps, mode="init", **options):
        """Start the init with a probe that does these steps."""
        return self.start(self.actor("probe"), "@LOG", *steps, mode=mode, **options)

    def ready(self, *steps, **options):
        """The same, and wait until it says so."""
        run = self.probe(*steps, **options)
        run.need("main ready")
        return run

    def terminal(self):
        """A new pseudo-terminal: (master, path of the slave)."""
        master, slave = os.openpty()
        path = os.ttyname(slave)
        self.terminals += [master, slave]
        return master, path

    def close_terminal(self, master):
        """All of our own descriptors of it: its end is a hang-up then."""
        at = self.terminals.index(master)
        for descriptor in self.terminals[at:at + 2]:
            os.close(descriptor)
        del self.terminals[at:at + 2]

    def tool(self, name):
        path = shutil.which(name)
        if path is None:
            raise Skip(f"{name} is not installed")
        return path

    def spawn(self, words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.others.append(process)
        return process

    def close(self):
        for run in self.runs:
            run.close()
        for process in self.others:
            if process.poll() is None:
                process.kill()
            process.wait()
        for descriptor in self.terminals:
            os.close(descriptor)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
