# SPDX-License-Identifier: Apache-2.0
"""
A rankinit for each rank, behind a real launcher: its signals, what a rank leaves, the bytes of
stderr and of stdin are as with --supervise=never, the control of each test.
"""

import collections
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from conftest import PROGRAM, SECONDS, TOP, clean_env
from test_behind import HYDRA, OPENMPI, launch, launcher_words  # noqa: F401 (a fixture)
from verdict import names

PAYLOAD = os.path.join(TOP, "tests", "box", "payload.py")
BOTH = ["--supervise=auto", "--supervise=never"]
LAUNCHERS = [*OPENMPI, *HYDRA]


def until(condition, job):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.02)


# --- signals ---------------------------------------------------------------------------

# What the launcher gets, until the ranks end of it. Each launcher of another make is asked all.
SIGNALS = {"term": ["TERM"], "usr1": ["USR1", "TERM"], "int": ["INT"], "hup": ["HUP"],
           "tstp": ["TSTP", "CONT", "TERM"]}
ASKED = [(launcher, name) for launcher in LAUNCHERS for name in SIGNALS
         if name in ("term", "usr1") or "5" not in launcher]


def received(installed, launcher, option, signals):
    """(name, signal) -> how often, of both ranks and their children."""
    with tempfile.TemporaryDirectory(prefix="rankinit-", dir="/tmp") as folder:
        def log():
            try:
                with open(f"{folder}/log", encoding="ascii") as file:
                    return file.read().splitlines()
            except FileNotFoundError:
                return []
        words = launcher_words(installed, launcher, 2)
        # Intel's is a shell script
        words[0] = words[0].replace("/impi/bin/mpirun", "/impi/bin/mpiexec.hydra")
        job = subprocess.Popen(
            [*words, PROGRAM, option, "--", sys.executable,
             PAYLOAD, folder, "env:RANK", "same:child", "save=0.1", "barrier=2"],
            env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        until(lambda: sum(line.endswith(" ready") for line in log()) == 4, job)
        for name in signals:
            before = len(log())
            job.send_signal(signal.Signals[f"SIG{name}"])
            if name == "USR1":
                until(lambda: len(log()) >= before + 4, job)    # pylint: disable=W0640
            if name in ("TSTP", "CONT"):
                time.sleep(0.5)     # it has no other sign
        out, err = job.communicate(timeout=SECONDS)
        print(launcher, option, out, err, "\n".join(log()))
        assert "rankinit: " not in err
        return collections.Counter(
            tuple(line.split(" ", 1)) for line in log() if " SIG" in line)


@pytest.mark.parametrize("launcher, name", ASKED)
def test_each_process_gets_each_signal_once(installed, launcher, name):
    seen, plain = (received(installed, launcher, option, SIGNALS[name]) for option in BOTH)
    assert seen == plain
    told = "SIG" + {"tstp": "TERM"}.get(name, name.upper())
    # Hydra dies of SIGHUP, and its ranks with it; Open MPI makes a SIGTERM of a stop
    if launcher in OPENMPI and name in ("int", "hup"):
        told = "SIGTERM"
    if launcher not in HYDRA or name != "hup":
        assert (seen["rank0", told], seen["rank1", told], seen["child", told]) == (1, 1, 2)


# --- what a rank leaves ----------------------------------------------------------------

LEAVES = """import os, subprocess
if os.environ["RANK"] == "1":
    left = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)
    print(left.pid, flush=True)
    os._exit(0)
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_child_that_outlives_its_rank(launch, launcher):  # noqa: F811 (the fixture)
    """It is the launcher's to end: the job is over while it runs."""
    for option in [*BOTH, "--supervise=always"]:
        status, out, err = launch(launcher, option, ranks=2,
                                  command=[shutil.which("python3"), "-c", LEAVES])
        left = int(out)
        lives = alive(left)
        if lives:
            os.kill(left, signal.SIGKILL)
        assert status == 0 and lives == (option != "--supervise=always"), (option, err)
        assert option == "--supervise=always" or err == ""


# --- bytes -----------------------------------------------------------------------------

WRITES = """import os, sys
rank, lines = int(os.environ["RANK"]), int(sys.argv[1])
for number in range(lines):
    os.write(2, f"<{rank} {number} ".encode().ljust(1022, b"x") + b">\\n")
"""
LINE = re.compile(rb"<(\d) (\d+) x+>")


@pytest.mark.parametrize("launcher, lines", [
    ("mpiexec.hydra (MPICH 4)", 10000), ("mpirun (MPICH 5)", 1000), ("mpirun (Intel MPI)", 1000),
    ("mpirun (Open MPI 4)", 10000), ("mpirun (Open MPI 5)", 1000)])
def test_no_byte_of_stderr_is_lost(installed, tmp_path, launcher, lines):
    with open(tmp_path / "err", "wb") as file:
        done = subprocess.run(
            [*launcher_words(installed, launcher, 8), PROGRAM, "--", sys.executable, "-c", WRITES,
             str(lines)], env=clean_env(), stdin=subprocess.DEVNULL, stderr=file, timeout=SECONDS,
            check=False)
    err = (tmp_path / "err").read_bytes()
    assert done.returncode == 0 and len(err) == 8 * lines * 1024
    assert err.count(b"<") == err.count(b">") == err.count(b"\n") == 8 * lines
    # the others tear lines without a rankinit, too
    if "MPICH" in launcher:
        whole = map(LINE.fullmatch, err.splitlines())
        seen = collections.Counter(match and match[1] for match in whole)
        assert seen == {str(rank).encode(): lines for rank in range(8)}


# Eight last lines of 470 bytes each, as a column has two, and the name of the host twice.
LAST = """import os
for number in range(20):
    os.write(2, f"{number} {chr(233) * 234}\\n".encode())
os._exit(3)
"""
NAMED = ["unshare", "--uts", "sh", "-c", f'hostname {"h" * 60} && exec "$@"', "sh"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a host's name is root's to change")
def test_a_long_verdict_is_one_write():
    """pipe(7), O_DIRECT: what one write has put there is what one read gets, up to PIPE_BUF."""
    reader, writer = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
    # whose signals are known: the rank leads its group, and its parent is called so
    with open("/proc/self/comm", "r+", encoding="ascii") as name:
        called = name.read().strip()
        name.write("orted")
    job = subprocess.Popen(
        [*NAMED, PROGRAM, "--", sys.executable, "-c", LAST], stderr=writer,
        env=clean_env(OMPI_COMM_WORLD_RANK="2", OMPI_COMM_WORLD_SIZE="4",
                      OMPI_COMM_WORLD_LOCAL_RANK="2", OMPI_COMM_WORLD_LOCAL_SIZE="4"),
        start_new_session=True)
    os.close(writer)
    writes = []
    while part := os.read(reader, 1 << 16):
        writes.append(part)
    os.close(reader)
    pathlib.Path("/proc/self/comm").write_text(called, encoding="ascii")
    assert job.wait() == 3
    # what the rank wrote comes by an opening of its own, and may stand before it in one read
    mine = [part[part.index(b"rankinit: "):] for part in writes if b"rankinit: " in part]
    assert len(mine) == 1 and 3000 < len(mine[0]) <= 4096
    lines = mine[0].decode().splitlines()
    assert names(lines[0], 2, 2)
    assert lines[1] == "rankinit:   its last lines on stderr:"
    assert lines[-2].startswith("rankinit:     19 ") and "rankinit:   ..." in lines
    assert lines[-1].startswith("rankinit: verdict cause=exit_status class=unknown ")
    assert lines[-1].endswith(" status=3 retries=0")


READS = """import hashlib, os, sys
if os.environ["RANK"] == "0":
    print(hashlib.sha256(sys.stdin.buffer.read(4096)).hexdigest(), flush=True)
"""


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_rank_0_has_the_stdin(installed, launcher):
    """As much as all launchers can pass on: Open MPI 5 loses the end of it, and Hydra gives up."""
    given = bytes(range(256)) * 16
    done = subprocess.run(
        [*launcher_words(installed, launcher, 2), PROGRAM, "--", sys.executable, "-c", READS],
        env=clean_env(), input=given, capture_output=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout.decode().strip(), done.stderr) == (
        0, hashlib.sha256(given).hexdigest(), b"")
