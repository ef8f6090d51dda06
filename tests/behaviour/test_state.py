# SPDX-License-Identifier: Apache-2.0
"""--state and --status: what probes see."""

import os
import signal
import subprocess

import pytest

from box import BASE, refused, warned
from peek import wait_until

SH = ["sh", "-c"]


def status(box, path=None, *options, env=None, cwd="/"):
    """--status from outside the box: the exit status, and the line."""
    word = "--status" if path is None else f"--status={path}"
    done = subprocess.run([box.rankinit, *options, word], env={**BASE, **(env or {})}, cwd=cwd,
                          capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def inside(job, rankinit, path):
    """The same in the PID namespace of the box, as a probe runs."""
    member = min(job.members())
    done = subprocess.run(["nsenter", "-t", str(member), "-p", "-m", rankinit,
                           f"--status={path}"], env=BASE, capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def word(job):
    try:
        return job.read("state").decode().split()[1]
    except FileNotFoundError:
        return None


def test_the_life_of_a_job(box, tool):
    tool("nsenter")
    job = box.start("--state=state", "--", *SH,
                    'trap "echo told >>@FOLDER/log; until [ -e @FOLDER/go ]; do sleep 0.05; done; '
                    'exit 0" TERM; '
                    'echo ready >>@FOLDER/log; while :; do sleep 0.05; done')
    job.until("ready")
    path = os.path.join(job.folder, "state")
    wait_until(lambda: word(job) == "running", "running")
    code, line = inside(job, box.rankinit, path)
    assert code == 0 and line.startswith("running, since ") and line.endswith("(pid 1)\n"), line
    job.signal(signal.SIGTERM)
    job.until("told")
    assert word(job) == "stopping"
    code, line = inside(job, box.rankinit, path)
    assert (code, line[:9]) == (1, "stopping,")
    go = os.path.join(job.folder, "go")
    with open(go, "w", encoding="ascii"):
        pass
    assert job.wait().status == 0
    os.unlink(go)
    assert word(job) == "done"
    code, line = status(box, path)
    assert code == 1 and line.startswith("done: exit status 0, since ")
    assert sorted(os.listdir(job.folder)) == ["err", "log", "out", "state"]


@pytest.mark.parametrize("command, expected", [
    ([*SH, "exit 7"], "failed: exit status 7,"),
    (["nosuch"], "failed: exit status 127,"),
    ([*SH, "kill -9 $$"], "failed: exit status 137,"),
    (["true"], "done: exit status 0,"),
])
def test_how_it_ended(box, command, expected):
    job = box.start("--state=state", "--", *command)
    job.wait()
    code, line = status(box, os.path.join(job.folder, "state"))
    assert code == 1 and line.startswith(expected)


def test_the_exit_map_decides_what_failed(box):
    job = box.start("--state=state", "--exit-map=3:0", "--", *SH, "exit 3")
    job.wait()
    assert word(job) == "done"


def test_a_state_that_nobody_is_left_to_change(box, tool):
    tool("nsenter")
    job = box.start("--state=state", "--", "sleep", "60", place="below")
    wait_until(lambda: word(job) == "running", "running")
    job.signal(signal.SIGKILL)
    job.wait()
    assert word(job) == "running"
    path = os.path.join(job.folder, "state")
    code, line = inside(job, box.rankinit, path)
    assert code == 1 and line.startswith("not running: pid "), line


def test_a_pid_that_somebody_else_has_now(box, tmp_path):
    born = open(f"/proc/{os.getpid()}/stat", encoding="ascii").read().rpartition(")")[2].split()[19]
    path = tmp_path / "state"
    line = "rankinit-state-1 running pid={} born={} ranks=1 status=0 since=1700000000 at=x\n"
    path.write_text(line.format(os.getpid(), born))
    assert status(box, path)[0] == 0
    path.write_text(line.format(os.getpid(), int(born) + 1))
    assert status(box, path)[0] == 1 and "is gone" in status(box, path)[1]
    # where the writer could not tell when it was born
    path.write_text(line.format(os.getpid(), 0))
    assert status(box, path)[0] == 0


@pytest.mark.parametrize("content", [b"", b"running\n", b"\0" * 4096, b"x" * 100000,
                                     b"rankinit-state-1 running pid=x\n"])
def test_files_that_are_no_state(box, tmp_path, content):
    path = tmp_path / "state"
    path.write_bytes(content)
    code, line = status(box, path)
    assert code == 1 and line.startswith("not running: ") and line.count("\n") == 1


def test_which_file(box, tmp_path):
    path = tmp_path / "state"
    path.write_text(f"rankinit-state-1 running pid={os.getpid()} born=0 ranks=2 status=0 since=9\n")
    assert status(box, path)[0] == 0
    assert status(box, env={"RANKINIT_STATE": str(path)})[0] == 0
    assert status(box, None, f"--state={path}")[0] == 0
    assert status(box, None, "--state=state", cwd=tmp_path)[0] == 0
    code, line = status(box)
    assert code == 1 and "/run/rankinit.state" in line
    # the file named wins, and a host's name can be part of it
    assert status(box, path, env={"RANKINIT_STATE": "/nonexistent"})[0] == 0
    (tmp_path / os.uname().nodename).write_text(path.read_text())
    assert status(box, None, f"--state={tmp_path}/%h")[0] == 0
    error = refused(box.run("--state=/run/%r", "--status"), 125, "option.value", "--state")
    assert "--status=FILE" in error


def test_quiet_prints_nothing(box, tmp_path):
    assert status(box, tmp_path / "none", "-q") == (1, "")
    path = tmp_path / "state"
    path.write_text(
        f"rankinit-state-1 starting pid={os.getpid()} born=0 ranks=0 status=0 since=9\n")
    assert status(box, path, "-q") == (0, "")
    assert status(box, path)[1].startswith("starting, since ")


def test_a_refusal_after_the_start(box):
    job = box.start("--state=state", "--wait-master=0.1", "--master-addr=none.invalid", "--",
                    "true", env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1",
                                 "OMPI_COMM_WORLD_LOCAL_RANK": "0",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE": "1"})
    assert job.wait().status == 124
    assert word(job) == "failed"


# Docker's own: a root that is read-only, a user, and /dev/shm, which all may write to.
READ_ONLY = ("mount -t tmpfs -o ro none /run && mount -t tmpfs -o mode=1777 none /dev/shm || "
             "exit 99; chmod 777 @FOLDER")
USER = ["--reuid=1000", "--regid=1000", "--clear-groups"]
# As the man page has it for HEALTHCHECK.
IMAGE = {"RANKINIT_STATE": "/run/rankinit.state"}


def healthcheck(job, rankinit, uid=1000):
    """The man page's HEALTHCHECK, run as a container engine does."""
    member = next(pid for pid in job.members() if job.inner(pid) == "1")
    done = subprocess.run(["nsenter", "-t", str(member), "-p", "-m", "setpriv", f"--reuid={uid}",
                           "--clear-groups", rankinit, "--status"], env={**BASE, **IMAGE},
                          capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def test_a_root_that_is_read_only(box, tool):
    """The man page's example works there, and leaves nothing where others might see it."""
    tool("nsenter")
    words = [*USER, box.rankinit, "--", *SH, 'trap "exit 3" TERM; echo ready >>@FOLDER/log; '
             "while :; do sleep 0.05; done"]
    job = box.start(*words, program="/usr/bin/setpriv", shell=READ_ONLY, env=IMAGE)
    job.until("ready")
    # the command may be ready before that is written
    wait_until(lambda: not healthcheck(job, box.rankinit, 0)[1].startswith("starting"), "it runs")
    for uid in 1000, 0:
        code, line = healthcheck(job, box.rankinit, uid)
        assert code == 0 and line.startswith("running, since "), line
    # of somebody else it is believed only where that is root
    assert healthcheck(job, box.rankinit, 1001)[0] == 1
    memory = f"/proc/{job.pid}/root/dev/shm"
    assert len([name for name in os.listdir(memory) if name.endswith(".state")]) == 1
    handle = os.open(memory, os.O_RDONLY)
    try:
        result = job.stop()
        assert result.status == 3 and os.listdir(handle) == []
    finally:
        os.close(handle)
    warning = warned(result, "report.refused", "RANKINIT_STATE")
    assert "/run/rankinit.state" in warning and "/dev/shm/rankinit-" in warning
    # the control: where /run can be written to there is nothing to say
    job = box.start(*words, program="/usr/bin/setpriv", env=IMAGE, shell=READ_ONLY.replace(
        "-o ro none /run", "-o mode=777 none /run"))
    job.until("ready")
    assert healthcheck(job, box.rankinit)[0] == 0
    assert not [name for name in os.listdir(f"/proc/{job.pid}/root/dev/shm")
                if name.endswith(".state")]
    assert job.stop().err == ""


def test_nowhere_to_write_the_state(box):
    shell = "mount -t tmpfs -o ro none /run && mount -t tmpfs -o ro none /dev/shm || exit 99"
    result = box.run("--", *SH, "exit 7", shell=shell, env=IMAGE)
    assert result.status == 7
    assert "--status will find no state" in warned(result, "report.refused", "RANKINIT_STATE")


@pytest.mark.parametrize("name", ["/nonexistent/state", "/etc", "/dev/nonexistent"])
def test_places_that_cannot_be_written(box, name):
    """A probe is no reason to start nothing."""
    result = box.run(f"--state={name}", "--", *SH, "exit 7")
    assert result.status == 7 and name in warned(result, "report.refused", "--state")
    assert box.run(f"--state={name}", "-q", "--", "true").err == ""


@pytest.mark.parametrize("name, code", [("/tmp/%x", "option.value"), ("/tmp/%n", "report.refused")])
def test_names_that_cannot_be_made(box, name, code):
    refused(box.run(f"--state={name}", "--", "touch", "@FOLDER/ran"), 125, code, "--state")


def test_a_state_that_cannot_be_written_any_more(box):
    result = box.run("--state=@FOLDER/d/state", "--", *SH, "rm -r d; exit 7",
                     shell="mkdir @FOLDER/d")
    assert result.status == 7
    assert len([line for line in result.lines() if "the state cannot be written" in line]) == 1


def test_without_the_option_there_is_no_file(box):
    job = box.start("--", "true")
    job.wait()
    assert sorted(os.listdir(job.folder)) == ["err", "out"]


def test_what_a_command_leaves_is_stopped(box):
    """No rank is up any more: a probe is told so while the rest is waited for."""
    job = box.start("--state=state", "--grace=20", "--", *SH,
                    '(trap "" TERM; echo ready >>@FOLDER/log; '
                    "while [ ! -e @FOLDER/go ]; do sleep 0.05; done) & "
                    "while [ ! -e @FOLDER/log ]; do sleep 0.02; done")
    job.until("ready")
    wait_until(lambda: word(job) == "stopping", "it is stopping")
    assert not job.ended()
    with open(os.path.join(job.folder, "go"), "wb"):
        pass
    assert job.wait().status == 0 and word(job) == "done"
