# SPDX-License-Identifier: Apache-2.0
"""Run rankinit in a PID namespace of its own, with strace(1) watching or injecting.

Every run is nsrun -> [deny ->] rankinit -> command. nsrun waits until strace
is attached, so that nothing but rankinit (and, where asked for, the child
that it makes) is traced. Killing nsrun ends everything that was started.
"""

import functools
import os
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "box"))
import everybody  # noqa: E402 (found by the line above)

# Copies, since --user changes to somebody who may not come here.
RANKINIT = everybody.copy(
    os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build", "rankinit"))))
ACTORS = everybody.FOLDER
BUILT = os.path.join(ROOT, "build", "tests")
# For what a scenario writes; gone in the end, whatever failed.
FOLDER = f"/dev/shm/rankinit-fault-{os.getpid()}"
DEADLINE = 20.0     # seconds for one run; an ordinary one takes 0.02
# On Alpine gcc itself is musl's.
COMPILE = ["gcc" if os.path.exists("/etc/alpine-release") else "musl-gcc",
           "-static", "-O2", "-Wall", "-Wextra", "-Werror",
           "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
SOURCES = {"deny": "tests/fault/deny.c", "nsrun": "tests/conformance/nsrun.c",
           "orted": "tests/conformance/nsrun.c",
           "probe": "tests/conformance/probe.c"}
CALL = re.compile(r"^(\w+)\((.*?)(?:\)\s+= (.*)|)$")


def cannot_run():
    """Why nothing of this can be done here, or None."""
    if shutil.which("strace") is None:
        return "there is no strace"
    for name in SOURCES:
        try:
            actor(name)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"{name} is not built and cannot be: {error}"
    tried = subprocess.run([actor("nsrun"), "-r", "2", "--", "strace", "-o", "/dev/null", "true"],
                           capture_output=True, text=True)
    return None if "status 0" in tried.stderr else f"no namespace or no ptrace: {tried.stderr}"


@functools.lru_cache
def actor(name):
    """The path of a test program's copy, built if it is missing or old."""
    path, source = os.path.join(BUILT, name), os.path.join(ROOT, SOURCES[name])
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
        os.makedirs(BUILT, exist_ok=True)
        made = f"{path}.{os.getpid()}"
        subprocess.run([*COMPILE, "-o", made, source], check=True)
        os.rename(made, path)
    return everybody.copy(path)


@dataclass
class Scenario:
    """How rankinit is started, and with which status it ends if nothing is wrong."""
    command: list
    options: list = field(default_factory=list)
    pid1: bool = False
    env: dict = field(default_factory=dict)
    deny: list = field(default_factory=list)    # rules for deny
    tty: bool = False       # a terminal as standard input, output and error
    status: int = 7
    nsrun: list = field(default_factory=list)   # further options for it
    waits: float = 0.0      # seconds that it takes although nothing is wrong
    parent: str = "nsrun"   # what that is called

    def words(self, report, go, tty):
        words = [actor(self.parent), "-r", str(report), "-g", str(go)]
        words += self.nsrun + (["-t", tty] if tty else [])
        words += ["--"] if self.pid1 else ["-n", "--"]
        words += [actor("deny"), *self.deny, "--"] if self.deny else []
        return words + [RANKINIT, *self.options, *self.command]


@dataclass
class Call:
    """A call in a trace; ordinal counts this name in this process, as strace does."""
    who: str                # "" is rankinit, "child" what it makes, until it executes
    name: str
    arguments: str
    result: str
    ordinal: int


    def key(self):
        """What the table calls it: the name, and whatever tells two uses apart."""
        words = [word.strip() for word in self.arguments.split(",")]
        name, what = self.name, ""
        if name in ("prctl", "ioctl"):
            what = words[name == "ioctl"]
        elif name == "renameat":
            what = "before" if '.before"' in self.arguments else ""
        elif name == "mmap":
            what = "shared" if "MAP_SHARED" in self.arguments else ""
        elif name == "clone":
            what = "helper" if "CLONE_FILES" in self.arguments else ""
        elif name in ("kill", "pidfd_send_signal"):
            what = ("all " if words[0] == "-1" else "") + words[1]
        elif name in ("open", "openat", "openat2", "read", "readlink", "getdents64") or \
                (name == "write" and self.who == "judge"):
            by_fd = name in ("read", "getdents64", "write")
            path = re.search(r"<(/[^>]*)>" if by_fd else r'"([^"]*)"', self.arguments)
            what = os.path.basename(path.group(1)) or "/" if path else "pipe"
            what = "oom" if what in ("memory.oom_control", "memory.events") else what
            what = "quota" if what.startswith(("cpu.max", "cpu.cfs_")) else what
            what = "torch" if re.match(r"rankinit-\w{8}$", what) else what
            what = "new" if re.match(r"\.rankinit-\w{8}\.new$", what) else what
            what = "folder" if what == os.path.basename(FOLDER) else what
            what = "directory" if "O_PATH" in self.arguments else what
        return " ".join(filter(None, (self.who, name, what)))


@dataclass
class Result:
    status: int = None      # exit status, 128 + signal; None: it hung
    stderr: str = ""
    seconds: float = 0.0
    calls: list = field(default_factory=list)
    injected: set = field(default_factory=set)  # the calls that strace let fail
    where: str = ""         # the last call of the trace

    def story(self):
        ended = "it hangs" if self.status is None else f"exit status {self.status}"
        said = self.stderr.strip() or "(nothing)"
        return f"{ended} after {self.seconds:.2f} s and {len(self.calls)} calls; " \
               f"last call: {self.where}\nstderr: {said}"

    def complaints(self):
        """The lines that are more than notes, without numbers that change."""
        lines = [re.sub(r"\d+ (ms|KiB)", r"N \1", line) for line in self.stderr.splitlines()]
        return [line for line in lines if re.search(r"warning:|error:|was killed by", line)]


def read_log(path, who, seen):
    """The calls of one process; those before rankinit is executed count only."""
    calls, counts, last = [], {}, ""
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            match = CALL.match(line.strip())
            if not match:
                continue
            last = line.strip()
            name, arguments, result = match.groups()
            if not counts and name != "read" and not who:
                counts["read"] = 1  # nsrun's, which began before strace saw it
            counts[name] = counts.get(name, 0) + 1
            if seen:
                calls.append(Call(who, name, arguments, result or "", counts[name]))
            if name == "execve" and result == "0" and seen:
                break
            seen = seen or (name == "execve" and arguments.startswith(f'"{RANKINIT}"'))
    return calls, last


def read_trace(folder, pid, result):
    own = os.path.join(folder, f"log.{pid}")
    if not os.path.exists(own):
        own = os.path.join(folder, "log")
    result.calls, result.where = read_log(own, "", False)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8", errors="replace") as log:
            head = log.readline() + log.readline()
        who = "child" if "setpgid(0, 0)" in head else "judge" if "rankinit-judge" in head else None
        if path != own and who is not None:
            calls, last = read_log(path, who, True)
            result.calls += calls
            result.where += f"; its {who}: {last}"
    result.injected = {call.key() for call in result.calls if "(INJECTED)" in call.result}


def report_line(report, word, ends):
    """The number that stands after this word in nsrun's report; None: too late."""
    text = b""
    while not text.endswith(b"\n"):
        left = ends - time.monotonic()
        if left <= 0 or not select.select([report], [], [], left)[0]:
            return None
        byte = os.read(report, 1)
        if not byte:
            raise RuntimeError(f"nsrun ended and did not report its {word}")
        text += byte
    assert text.startswith(word.encode()), text
    return int(text.split()[1])


def read_terminal(master):
    """What was written; EIO says that nobody holds the other end any more."""
    text = b""
    while select.select([master], [], [], 0)[0]:
        try:
            text += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    return text


def few_files():
    """Without close_range(2) every possible file is closed, and strace sees it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


def attach(pid, options, folder):
    tracer = subprocess.Popen(["strace", "-y", "-a1", "-s160", "-o", os.path.join(folder, "log"),
                               *options, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    said = tracer.stderr.readline()
    if "attached" not in said:
        tracer.wait()
        raise RuntimeError(f"strace: {said}{tracer.stderr.read()}")
    return tracer


def run(scenario, inject=(), follow=False, trace=True):
    """One run. inject: specifications like "clone:error=EAGAIN:when=1"."""
    options, ends = ["-ff"] if follow else [], time.monotonic() + DEADLINE + scenario.waits
    for specification in inject:
        options += ["-e", f"inject={specification}"]
    report, report_end = os.pipe()
    go_end, go = os.pipe()
    master, slave = os.openpty() if scenario.tty else (None, None)
    result, started, tracer = Result(), time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="fault.") as folder:
        nsrun = subprocess.Popen(
            scenario.words(report_end, go_end, os.ttyname(slave) if scenario.tty else None),
            pass_fds=(report_end, go_end), preexec_fn=few_files,
            env={"PATH": "/usr/bin:/bin", **scenario.env},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(report_end)
        os.close(go_end)
        try:
            pid = report_line(report, "init", ends)
            tracer = attach(pid, options, folder) if trace else None
            os.write(go, b"x")
            raw = report_line(report, "status", ends)
            result.seconds = time.monotonic() - started
            if raw is not None:
                result.status = 128 + (raw & 0x7f) if raw & 0x7f else raw >> 8
        finally:
            nsrun.kill()
            said = nsrun.communicate()[1]
            if tracer:
                tracer.communicate()
            for end in (report, go):
                os.close(end)
        if scenario.tty:
            os.close(slave)
            said = read_terminal(master)
        result.stderr = said.decode(errors="replace")
        if tracer:
            read_trace(folder, pid, result)
    return result
