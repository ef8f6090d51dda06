# SPDX-License-Identifier: Apache-2.0
"""
A mount whose server is gone holds whoever asks it for a file in the kernel,
and process 1 cannot be interrupted there. So rankinit never asks itself: a stop
ends it, before the command runs as well as while it is started and after it.
"""

import ctypes
import json
import os
import pathlib
import signal
import struct

import pytest

import peek
from box import PATH, refused, warned
from deadmount import DyingMount, is_held, mounted
from peek import wait_until


@pytest.fixture
def dead(tmp_path):
    """The path of the mount; gone, with whoever waits there, at the end."""
    with mounted(tmp_path / "dead"):
        yield tmp_path / "dead"


def waits(job):
    """Somebody in there waits for the dead mount."""
    wait_until(lambda: any(map(is_held, job.members())), "somebody waits in the kernel")


# Where a dead folder is named: (options, environment, command); @ is the folder.
PLACES = {
    "the command": ([], {}, ["@/train"]),
    "an element of PATH": ([], {"PATH": "@:" + PATH}, ["python3"]),
    "the command of ranks": (["--nproc-per-node=2"], {}, ["@/train"]),
    "the command behind pipes": (["--log-prefix"], {}, ["@/train"]),
    "--hostfile": (["--hostfile=@/hosts"], {}, ["true"]),
    "a node file of PBS": ([], {"PBS_JOBID": "1.a", "PBS_NODEFILE": "@/nodes", "PBS_TASKNUM": "1",
                                "PBS_NODENUM": "0"}, ["true"]),
    "--state": (["--state=@/state"], {}, ["true"]),
    "--report": (["--report=@/report"], {}, ["true"]),
    "--log-file in a folder": (["--log-file=@/logs/a"], {}, ["true"]),
    "--log-file": (["--log-file=@/log"], {}, ["true"]),
    "TMPDIR": (["--nproc-per-node=2", "--master-port=1"], {"TMPDIR": "@"}, ["true"]),
}


def filled(place, folder):
    options, env, command = PLACES[place]
    put = [[word.replace("@", str(folder)) for word in words] for words in (options, command)]
    return put[0], {name: text.replace("@", str(folder)) for name, text in env.items()}, put[1]


@pytest.mark.parametrize("place", PLACES)
def test_a_stop_ends_the_start(box, dead, place):
    options, env, command = filled(place, dead)
    job = box.start(*options, "--", *command, env=env)
    waits(job)
    result = job.stop()
    assert result.status == 128 + signal.SIGTERM, result.err
    assert "error" not in result.err, result.err


@pytest.mark.parametrize("place", PLACES)
def test_control_where_the_mount_is_alive(box, tmp_path, place):
    """The same on a folder that answers: nothing is waited for, and the job ends by itself."""
    alive = tmp_path / "alive"
    alive.mkdir()
    (alive / "train").symlink_to("/bin/true")
    for name in ("hosts", "nodes"):
        (alive / name).write_text("a\nb\n")
    options, env, command = filled(place, alive)
    result = box.run(*options, "--", *command, env=env)
    assert result.status == 0, result.err


# A command that is not there yet is not ended by what makes a core dump: that becomes a SIGTERM.
@pytest.mark.parametrize("number, told", [(signal.SIGINT, signal.SIGINT),
                                          (signal.SIGHUP, signal.SIGHUP),
                                          (signal.SIGQUIT, signal.SIGTERM)])
def test_every_stop_ends_it(box, dead, number, told):
    for arguments, expected in ((["--", dead / "train"], told),
                                (["--state", dead / "state", "--", "true"], number)):
        job = box.start(*arguments)
        waits(job)
        job.signal(number)
        assert job.wait().status == 128 + expected


@pytest.mark.parametrize("to", ["QUIT", "WINCH", "0"])
def test_a_stop_ends_it_whatever_the_command_would_get(box, dead, to):
    """nginx and Apache stop of these; what is not executed yet has no handler for them."""
    job = box.start(f"--signal-map=TERM:{to}", "--", dead / "train")
    waits(job)
    assert job.stop().status == 128 + signal.SIGTERM


def test_what_hangs_is_named(box, dead):
    for arguments, subject, named in (
            (["--", f"{dead}/train"], f"{dead}/train", "it"),
            ([f"--hostfile={dead}/hosts", "--", "true"], f"{dead}/hosts", "it"),
            ([f"--state={dead}/state", "--", "true"], "--state", f'"{dead}/state"')):
        job = box.start(*arguments)
        wait_until(lambda: "file.slow" in job.error_text(), "a line that says what is missing")
        assert job.stop().lines()[0] == (
            f"rankinit: warning: {subject}: {named} has not answered for 5 s; look for its mount "
            "in /proc/mounts and for the kernel's messages in dmesg [file.slow]")


def test_ranks_that_run_are_stopped_with_the_one_that_hangs(box, dead, tmp_path):
    """The command is put on a dead mount while the ranks are started."""
    link, report = tmp_path / "command", tmp_path / "report"
    link.symlink_to("/bin/sleep")
    (tmp_path / "new").symlink_to(dead / "train")
    job = box.start("--nproc-per-node=512", "--master-port=1", f"--report={report}", "--", link,
                    "60")
    wait_until(lambda: len(peek.children(job.pid)) > 2, "the first ranks")
    (tmp_path / "new").rename(link)
    waits(job)
    assert 1 < len(peek.children(job.pid)) < 512
    started = len(peek.children(job.pid))
    result = job.stop()
    assert result.status == 128 + signal.SIGTERM, result.err
    ends = [rank["state"] for rank in json.loads(report.read_text())["ranks"]]
    assert ends.count("signaled") == started, ends
    assert ends[started:] == ["not-started"] * (512 - started), ends


def test_a_tmpdir_that_does_not_answer_is_done_without(box, dead):
    """It is for torch's error files alone."""
    result = box.run("--nproc-per-node=2", "--master-port=1", "--", "sh", "-c",
                     "echo ${TORCHELASTIC_ERROR_FILE-none}", env={"TMPDIR": str(dead)})
    assert result.status == 0, result.err
    assert result.out == b"none\nnone\n"
    assert [line for line in result.lines() if line.endswith("[file.slow]")], result.err


@pytest.fixture
def dying(tmp_path):
    """A mount that is alive until it is told to die."""
    with mounted(tmp_path / "dying", DyingMount) as mount:
        yield mount


def test_a_stop_reaches_the_command_though_the_state_cannot_be_written(box, dying):
    job = box.start(f"--state={dying.folder}/state", "--", *box.payload("run", "status=3"))
    job.until("run ready")
    # the command may be there before the mount has been told so
    state = pathlib.Path(dying.folder, "state")
    wait_until(lambda: " running " in state.read_text("ascii"), "a state that runs")
    dying.die()
    result = job.stop()
    assert result.status == 3, result.err
    assert job.count("run SIGTERM") == 1
    assert "the state cannot be written: its file system does not answer" in result.err
    assert result.err.count("cannot be written") == 1


def test_the_job_ends_though_the_report_cannot_be_written(box, dying):
    job = box.start(f"--report={dying.folder}/report", "--", *box.payload("run", "status=7"))
    job.until("run ready")
    dying.die()
    job.signal(signal.SIGTERM)
    waits(job)
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert result.status == 7, result.err
    assert "the report cannot be written: its file system does not answer" in result.err


def test_control_the_mount_stays_alive(box, dying):
    state, report = f"{dying.folder}/state", f"{dying.folder}/report"
    job = box.start(f"--state={state}", f"--report={report}", "--",
                    *box.payload("run", "status=7"))
    job.until("run ready")
    result = job.stop()
    assert result.status == 7, result.err
    with open(state, encoding="ascii") as file:
        assert " failed " in file.read()
    with open(report, encoding="utf-8") as file:
        assert json.load(file)["exit_status"] == 7
    assert "cannot be written" not in result.err


@pytest.mark.parametrize("option, code, subject", [
    ("--hostfile=@/hosts", "file.unreadable", "@/hosts"),
    ("--report=@/report", "report.refused", "--report"),
    ("--state=@/state", "report.refused", "--state"),
    ("--log-file=@/logs/a", "log.refused", "--log-file"),
])
def test_a_helper_that_somebody_kills_found_nothing(box, dead, option, code, subject):
    """The memory of a host, say: what it had not looked at is not taken for an empty file."""
    job = box.start(option.replace("@", str(dead)), "--", "true")
    waits(job)
    job.signal(signal.SIGKILL, next(filter(is_held, job.members())))
    refused(job.wait(), 125, code, subject.replace("@", str(dead)))


# As the command is: another user, or root without capabilities (linux/capability.h, version 3).
LIBC = ctypes.CDLL(None, use_errno=True)
NO_CAPS = struct.pack("Ii", 0x20080522, 0), bytes(24)
LESSER = {
    "--user=1234:1234": lambda: (os.setgroups([]), os.setresgid(1234, 1234, 1234),
                                 os.setresuid(1234, 1234, 1234)),
    "--cap-drop=all": lambda: LIBC.capset(*NO_CAPS),
}


def may_write_memory(pid, become):
    """May a process that became so write into the memory of that one?"""
    prober = os.fork()
    if prober == 0:
        answer = 0
        try:
            become()
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        except OSError:
            answer = 1
        finally:
            os._exit(answer)
    return os.waitpid(prober, 0)[1] == 0


@pytest.fixture
def everybody_may_enter(tmp_path):
    for folder in (tmp_path, tmp_path.parent):
        folder.chmod(0o755)


@pytest.mark.parametrize("option", LESSER)
def test_our_memory_is_not_the_command_s(box, dead, option, everybody_may_enter):
    """One that is held shares it, and goes on to do so after a stop that it does not mind."""
    job = box.start(option, "--", dead / "train", shell="trap '' TERM")
    waits(job)
    held = next(filter(is_held, job.members()))
    assert not may_write_memory(held, LESSER[option])
    job.signal(signal.SIGTERM)
    wait_until(lambda: os.readlink(f"/proc/{job.pid}/cwd") == "/", "what is after the start")
    assert not may_write_memory(held, LESSER[option])
    job.signal(signal.SIGKILL)
    job.wait()


@pytest.mark.parametrize("option", LESSER)
def test_control_the_command_s_own_memory_is(box, option):
    job = box.start(option, "--", "sh", "-c", "echo runs; exec sleep 60")
    wait_until(lambda: job.read("out") == b"runs\n", "the command")
    command, = peek.children(job.pid)
    assert may_write_memory(command, LESSER[option])
    assert not may_write_memory(job.pid, LESSER[option])
    job.stop()


@pytest.mark.parametrize("variable, code, without", [
    ("RANKINIT_REPORT", "report.refused", "a report"),
    ("RANKINIT_STATE", "report.refused", "a state file"),
    ("RANKINIT_LOG_FILE", "log.refused", "log files"),
])
def test_a_variable_is_no_reason_to_start_nothing(box, dead, variable, code, without):
    """The helper ends, as it does when the time is over."""
    job = box.start("--", "sh", "-c", "exit 7", env={variable: f"{dead}/place"})
    waits(job)
    job.signal(signal.SIGKILL, next(filter(is_held, job.members())))
    result = job.wait()
    assert result.status == 7
    assert f"the job runs without {without}" in warned(result, code, variable)
