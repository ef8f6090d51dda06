# SPDX-License-Identifier: Apache-2.0
"""
Every signal reaches the command, in each phase of a job's end, as --signal-map has it.
"""

import signal
import sys
import time

import pytest

import peek
from peek import wait_until
from verdict import was_killed_late

TERM, INT, QUIT, HUP, USR1 = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
                              signal.SIGUSR1)
SIGNALS = [USR1, HUP, INT, QUIT, TERM]
GRACE = 16


def has(job, line, count):
    wait_until(lambda: job.ended() or job.count(line) >= count, f"{line} in {job.log()}")
    assert job.count(line) == count, job.log()


def send_each(job, name="main", numbers=None, got=None):
    """One after the other; each has to come, once."""
    for number in numbers or SIGNALS:
        line = f"{name} {(got or {}).get(number, number).name}"
        before = job.count(line)
        job.signal(number)
        has(job, line, before + 1)
    assert not job.ended()


def received(job, name="main"):
    """The signals in their order."""
    return [line.split()[1] for line in job.log() if line.startswith(f"{name} SIG")]


# The phases. Each makes a job whose command, "main", is in that phase of its end.

def running(box, *options, **more):
    job = box.start(*options, "--", *box.payload("main", "deaf"), **more)
    job.until("main ready")
    return job


def asked(box, *options, **more):
    job = running(box, *options, **more)
    job.signal(TERM)
    job.until("main SIGTERM")
    return job


def swept(box, *options, **more):
    """What is beside the command has been told: half of the grace is over."""
    job = box.start(f"--grace={GRACE}", *options, "--",
                    *box.payload("main", "deaf", "orphan:loader"), **more)
    job.until("main ready", "loader ready")
    job.signal(TERM)
    job.until("loader done")
    return job


# Rank 1 ends in this way once rank 0 is ready.
RANKS = 'if [ $RANK = 0 ]; then exec "$@"; fi; until grep -q ready "$0"; do sleep 0.02; done; '
FAILS = RANKS + "exit 7"
LOSES = RANKS + "exec >&2; echo 'Traceback (most recent call last):'; " \
    "echo '  File \"a.py\", line 1, in <module>'; " \
    "echo 'RuntimeError: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer'; exit 1"


def two_ranks(box, script, *options, **more):
    job = box.start("--nproc-per-node=2", "--checks=none", *options, "--", "sh", "-c", script,
                    "@FOLDER/log", *box.payload("main", "deaf"), **more)
    job.until("main ready")
    return job


def told_by_us(box, *options, **more):
    """The other rank has failed. The first SIGTERM from outside is its second one."""
    job = two_ranks(box, FAILS, "--grace=60", *options, **more)
    job.until("main SIGTERM")
    return job


PHASES = [running, asked, swept, told_by_us]


@pytest.mark.parametrize("place", ["init", "below"])
@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
def test_each_signal_in_each_phase(box, phase, place):
    job = phase(box, place=place)
    terms = job.count("main SIGTERM")
    assert terms == (phase is not running), "the control: that of the phase"
    send_each(job)
    send_each(job, numbers=[TERM, INT])
    assert job.count("main SIGTERM") == terms + 2
    assert "SIGKILL" not in job.error_text()


@pytest.mark.parametrize("phase", PHASES[:3], ids=lambda phase: phase.__name__)
def test_each_signal_as_the_map_has_it(box, phase):
    job = phase(box, "--signal-map=USR1:HUP,INT:QUIT,HUP:0")
    send_each(job, numbers=[USR1, INT, TERM], got={USR1: HUP, INT: QUIT})
    before = len(received(job))
    job.signal(HUP)
    send_each(job, numbers=[QUIT])
    assert len(received(job)) == before + 1, "HUP is dropped"


@pytest.mark.parametrize("number", [USR1, HUP, INT, QUIT], ids=lambda number: number.name)
def test_a_signal_while_a_rank_that_lost_another_is_judged(box, number):
    """The stop then is the one that all get, once; what comes before it passes."""
    for _ in range(5):
        job = two_ranks(box, LOSES, "--grace=400", "-v")
        wait_until(lambda: len(job.others()) == 2 or job.count("main SIGTERM"), "one is reaped")
        send_each(job, numbers=[number])
        # that phase lasts for two seconds, and on a busy machine the signal may be late for it
        if job.count("main SIGTERM") == 0:
            break
    assert job.count("main SIGTERM") == 0, "still the same phase"
    send_each(job, numbers=[TERM, number])
    assert received(job) == [number.name, "SIGTERM", number.name]


def test_a_signal_in_the_look_at_a_silent_job(box):
    """Its SIGTERM waits for the look, unless something else comes: then it goes before that."""
    job = running(box, "--autopsy-after=0.2", "--supervise=always")
    time.sleep(0.5)
    job.signal(TERM)
    wait_until(lambda: peek.field(job.pid, "ShdPnd") == "0" * 16, "the stop is taken")
    # of two that wait the command takes the lower number first
    send_each(job, numbers=[signal.SIGRTMAX])
    assert received(job) == ["SIGTERM", "SIGRTMAX"]


# Of the launchers whose rank rankinit is, Open MPI sends SIGKILL a second after its SIGTERM.
BELOW = {
    "no launcher": {},
    "MPICH": {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
                 "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
}


@pytest.mark.parametrize("launcher", BELOW)
def test_no_look_where_the_launcher_kills_soon(box, launcher):
    """What the rank does of its SIGTERM needs that second; the others are the control."""
    job = running(box, "--autopsy-after=0.2", "--supervise=always", "--checks=none",
                  env={"MASTER_ADDR": "127.0.0.1", **BELOW[launcher]})
    time.sleep(0.5)
    job.signal(TERM)
    job.until("main SIGTERM")
    if launcher != "Open MPI":
        wait_until(lambda: "autopsy: " in job.error_text(), "a look")
    assert len(job.others()) == 2, "its helper has gone"
    assert ("autopsy: " in job.error_text()) == (launcher != "Open MPI")


BEFORE = "import os, signal, sys; " \
    "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); " \
    "[os.kill(os.getpid(), int(n)) for n in sys.argv[1].split(',')]; " \
    "os.execv(sys.argv[2], sys.argv[2:])"


def test_signals_before_the_command_is_there(box):
    """They wait for it, and the kernel gives the lowest number first."""
    numbers = ",".join(str(int(number)) for number in SIGNALS)
    job = box.start("-ISc", BEFORE, numbers, box.rankinit, "--", *box.payload("main", "deaf"),
                    program=sys.executable)
    job.until(*(f"main {number.name}" for number in SIGNALS))
    assert sorted(received(job)) == sorted(number.name for number in SIGNALS)
    send_each(job)


@pytest.fixture
def slow_path(tmp_path):
    """A PATH that takes minutes to search, unless its symlink is removed."""
    target = "./" * 2000
    for step in range(30):
        (tmp_path / str(step)).symlink_to(f"{target}{step + 1}" if step < 29 else target)
    slow, last = tmp_path / "0", tmp_path / "bin"
    last.mkdir()
    (last / "python3").symlink_to(sys.executable)
    return slow, ":".join([str(slow)] * (120000 // (len(str(slow)) + 1)) + [str(last)])


@pytest.mark.parametrize("place", ["init", "below"])
@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
                                    signal.SIGSTOP], ids=lambda number: number.name)
def test_what_is_stopped_before_it_is_the_command_goes_on(box, slow_path, number, place):
    """As of a Ctrl-Z at once: rankinit waits for the exec, and a shell would continue it alone."""
    slow, path = slow_path
    words = ["python3", *box.payload("main", "deaf")[1:]]
    job = box.start("--", *words, place=place, env={"PATH": path})
    child, = wait_until(lambda: peek.children(job.pid), "a child")
    wait_until(lambda: peek.field(child, "SigBlk") == "0" * 16, "its search")
    job.signal(number, child)
    wait_until(lambda: peek.field(child, "ShdPnd") == "0" * 16, "it is stopped")
    slow.unlink()
    job.until("main ready")
    send_each(job, numbers=[USR1])
    # the control: of the command itself that is somebody's business
    job.signal(number, child)
    wait_until(lambda: peek.state(child) == "T", "stopped")
    time.sleep(0.3)
    assert peek.state(child) == "T" and job.count("main SIGCONT") == 0


def test_nothing_but_the_deadline_kills(box):
    """However often somebody asks; the checkpoint is written, and its status kept."""
    job = box.start("--", *box.payload("main", "save=2", "status=9", "session:loader"))
    job.until("main ready", "loader ready")
    for number in TERM, TERM, INT, TERM, QUIT, TERM:
        send_each(job, numbers=[number])
    result = job.wait()
    assert (result.status, result.err) == (9, "")
    assert job.count("main needs loader: there") == 1, "it was not told either"
    assert job.count("loader SIGTERM") == job.count("loader done") == 1
    # the control: the deadline does
    job = box.start("--grace=0.5", "--", *box.payload("main", "deaf"))
    job.until("main ready")
    result = job.stop()
    assert result.status == 137 and was_killed_late(result.err)
