# SPDX-License-Identifier: Apache-2.0
"""
rankinit where it is not process 1, as under Slurm with enroot or in a shared
PID namespace: a subreaper that leaves nothing behind and touches no stranger.
"""

import os
import signal
import time

import pytest

from peek import state, wait_until

TERM = signal.SIGTERM
KINDS = ["same", "group", "session", "orphan"]
LOADERS = [f"{kind}:{kind}" for kind in KINDS]


def told_once(job, *names):
    for name in names:
        assert job.count(f"{name} SIGTERM") == 1, (name, job.log())
        assert job.count(f"{name} done") == 1, (name, job.log())


def start(box, *words, ready=("main",), **options):
    job = box.start(*words, place="below", **options)
    job.until(*(f"{name} ready" for name in ready))
    return job


def test_a_stop(box):
    job = start(box, "--", *box.payload("main", "status=5", *LOADERS, "stopped:sleeper"),
                ready=["main", *KINDS])
    result = job.stop()
    assert (result.status, result.err) == (5, "")
    assert job.others() == {}
    assert [line for line in job.log() if line.startswith("main needs")] == \
        [f"main needs {name}: there" for name in ("same", "group", "session", "sleeper")]
    told_once(job, "main", *KINDS, "sleeper")
    assert job.count("sleeper SIGCONT") == 1 and job.count("session SIGCONT") == 0


def test_a_stop_through_a_shell(box):
    job = start(box, "--", "sh", "-c", '"$@"; echo end', "sh", *box.payload("main"))
    result = job.stop()
    assert result.status == 143 and b"end" not in result.out
    assert os.path.exists(f"{job.folder}/main.ckpt") and job.others() == {}
    told_once(job, "main")


def test_half_of_the_grace(box):
    """A shell with a trap: its child is told, the shell not again."""
    trap = 'trap "echo trapped" TERM; "$@"; echo code $?'
    job = start(box, "--grace=3", "--", "bash", "-c", trap, "bash",
                *box.payload("main", "session:loader"), ready=["main", "loader"])
    begin = time.monotonic()
    job.signal(TERM)
    job.until("main SIGTERM")
    assert time.monotonic() - begin >= 1.4
    result = job.wait()
    assert (result.status, result.out) == (0, b"trapped\ncode 0\n")
    told_once(job, "main", "loader")


def test_the_command_is_killed(box, tool):
    """As by the out-of-memory killer: the workers in sessions of their own go too."""
    words = ["--", *box.payload("main", "session:worker", "orphan:lost")]
    job = start(box, *words, ready=["main", "worker", "lost"])
    job.signal(signal.SIGKILL, job.main())
    assert job.wait().status == 137
    assert job.others() == {}
    told_once(job, "worker", "lost")
    # the control: tini as a subreaper leaves them
    job = start(box, "-s", *words, program=tool("tini"), ready=["main", "worker", "lost"])
    job.signal(signal.SIGKILL, job.main())
    assert job.wait().status == 137
    assert len(job.others()) == 2
    assert job.count("lost SIGTERM") == 0


def test_the_deadline(box):
    job = start(box, "--grace=1", "--",
                *box.payload("main", "deaf", "orphan:good", "session:its", "orphan:lost!"),
                ready=["main", "good", "its", "lost"])
    result = job.stop()
    assert result.status == 137 and job.others() == {}
    assert "warning: SIGKILL for " in result.err
    for name, terms in ("main", 1), ("lost", 1), ("its", 0):
        assert job.count(f"{name} SIGTERM") == terms and job.count(f"{name} done") == 0
    told_once(job, "good")


def test_many_generations(box):
    """Everything is found, however deep and however much it forks."""
    script = ('f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))) & fi; trap "" TERM; '
              'while :; do sleep 60 & wait; done; }; f 30')
    job = box.start("--grace=0.5", "--", "sh", "-c", script, place="below")
    wait_until(lambda: len(job.others()) > 60, "31 shells and their sleeps")
    assert job.stop().status == 137
    assert job.others() == {}


def test_a_fork_bomb_is_defeated(box):
    script = 'trap "" TERM; while :; do (trap "" TERM; exec setsid sleep 60) & sleep 0.01; done'
    job = box.start("--grace=1", "--", "sh", "-c", script, place="below")
    wait_until(lambda: len(job.others()) > 10, "some of them")
    assert job.stop().status == 137
    assert job.others() == {}


@pytest.mark.parametrize("grace", ["0", "1"])
def test_strangers_are_left_alone(box, grace):
    """A neighbour in the same PID namespace, of the same user, is not ours."""
    neighbour = " ".join(box.payload("neighbour", "deaf"))
    script = f'{neighbour} & "$@"; echo status $?; kill -9 $!; wait'
    job = start(box, "-c", script, "sh", box.rankinit, f"--grace={grace}", "--",
                *box.payload("main", "after=0.2", "session:worker"),
                program="/bin/sh", ready=["neighbour", "worker"])
    assert job.wait().out == b"status 0\n"
    told_once(job, "worker")
    assert job.count("neighbour SIGTERM") == 0
    assert [line for line in job.log() if line.startswith("neighbour")][1:] == ["neighbour ready"]


def test_without_proc(box):
    """Nothing can be looked for: it says so, and does not wait for ever."""
    job = start(box, "--grace=0.5", "--",
                *box.payload("main", "after=0.2", "status=3", "session:worker"),
                shell="umount /proc", ready=["worker"])
    result = job.wait()
    assert result.status == 3
    assert "warning: cannot look for " in result.err
    # the control
    job = start(box, "--grace=0.5", "--",
                *box.payload("main", "after=0.2", "status=3", "session:worker"), ready=["worker"])
    assert (job.wait().err, job.others()) == ("", {})


def test_what_cannot_be_killed_is_named(box, cgroup):
    """A frozen process stands for one that hangs in a driver."""
    group = cgroup("freezer")
    job = start(box, "--grace=0.5", "--",
                *box.payload("main", "status=4", "save=0", "session:stuck"),
                ready=["main", "stuck"])
    stuck = job.named("stuck")
    with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(stuck))
    with open(f"{group}/freezer.state", "w", encoding="ascii") as file:
        file.write("FROZEN")
    try:
        wait_until(lambda: state(stuck) == "D", "frozen")
        result = job.stop()
        assert result.status == 4, "the command's"
        errors = [line for line in result.lines() if line.startswith("rankinit: error: ")]
        assert len(errors) == 1 and "python3 (" in errors[0] and "uninterruptible" in errors[0]
    finally:
        with open(f"{group}/freezer.state", "w", encoding="ascii") as file:
            file.write("THAWED")
    wait_until(lambda: stuck not in job.members(), "gone once it can be")


def test_the_kernel_refuses_a_subreaper(box, tool):
    words = ["-o", "@FOLDER/trace", "-e", "trace=prctl", "-e", "inject=prctl:error=EINVAL",
             box.rankinit]
    job = box.start(*words, "--", "sh", "-c", "exit 3", program=tool("strace"), place="below")
    result = job.wait()
    if b"INJECTED" not in job.read("trace"):
        pytest.skip("strace cannot inject errors here")
    assert result.status == 3
    assert "warning: orphaned processes cannot be adopted" in result.err
    # the control
    job = box.start("--", "sh", "-c", "exit 3", place="below")
    assert (job.wait().status, job.error_text()) == (3, "")


def test_as_nobody(box):
    """No privilege is needed for any of it."""
    job = start(box, "--reuid=65534", "--regid=65534", "--clear-groups", box.rankinit, "--",
                *box.payload("main", "status=5", *LOADERS), program="/usr/bin/setpriv",
                shell="chmod 777 @FOLDER", ready=["main", *KINDS])
    result = job.stop()
    assert (result.status, result.err) == (5, "")
    assert job.others() == {}
    told_once(job, "main", *KINDS)


def test_variables_alone_are_no_process_manager(box):
    """RANK and its companions may be anybody's: nobody else watches over this rank."""
    quartet = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
               "MASTER_ADDR": "localhost"}
    mpi = {f"OMPI_COMM_WORLD_{name}": value for name, value in
           (("RANK", "0"), ("SIZE", "1"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "1"))}

    def left(env):
        job = box.start("--", "sh", "-c", "setsid sleep 60 & exit 3", place="below", env=env)
        assert job.wait().status == 3
        return len(job.others())

    assert left(quartet) == 0
    # the control: mpirun's own rank is executed in place, and mpirun cleans up
    assert left(mpi) == 1
