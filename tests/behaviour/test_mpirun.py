# SPDX-License-Identifier: Apache-2.0
"""
A real mpirun as the command. It puts each of its ranks into a process group
of its own and stops them itself: CONT, a second later TERM, a second later
KILL. OMPI_MCA_odls_base_sigkill_timeout is that second.
"""

import os
import re
import signal
import tempfile

import pytest

from peek import wait_until

RANKS = ["rank0", "rank1"]


@pytest.fixture
def mpirun(box, tool):
    words = [tool("mpirun"), "--oversubscribe", "--allow-run-as-root", "-np", "2"]

    def start(*options, payload=(), **more):
        job = box.start(*options, "--", *words,
                        *box.payload("env:OMPI_COMM_WORLD_RANK", "barrier=2", *payload),
                        env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()}, **more)
        job.until(*(f"{rank} ready" for rank in RANKS))
        return job
    return start


def saved(job):
    return [rank for rank in RANKS if os.path.exists(f"{job.folder}/{rank}.ckpt")]


def told_once(job):
    for rank in RANKS:
        assert job.count(f"{rank} SIGTERM") == 1, job.log()
        assert job.count(f"{rank} done") == 1, job.log()


@pytest.mark.parametrize("place", ["init", "below"])
@pytest.mark.parametrize("save", ["0.3", "2.2"])
def test_each_rank_is_told_once_and_saves(mpirun, place, save):
    """2.2 seconds: longer than mpirun's own timer would leave them."""
    job = mpirun("--grace=8", payload=[f"save={save}"], place=place)
    result = job.stop()
    assert saved(job) == RANKS
    assert result.status != 0 and "warning: SIGKILL" not in result.err
    if place == "below":
        assert job.others() == {}
    told_once(job)


@pytest.mark.parametrize("place", ["init", "below"])
def test_behind_a_shell_they_are_mpirun_s_to_tell(box, tool, place):
    """The shell dies at once; what is left is told, but not what mpirun tells itself."""
    words = [tool("mpirun"), "--oversubscribe", "--allow-run-as-root", "-np", "2",
             *box.payload("env:OMPI_COMM_WORLD_RANK", "barrier=2")]
    job = box.start("--grace=8", "--", "sh", "-c", f"{' '.join(words)}; echo end",
                    env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()}, place=place)
    job.until(*(f"{rank} ready" for rank in RANKS))
    result = job.stop()
    assert saved(job) == RANKS
    assert result.status == 143 and "warning: SIGKILL" not in result.err
    told_once(job)


def test_without_a_grace_mpirun_kills_them(mpirun):
    """The control: three seconds are too long for mpirun's own timer."""
    job = mpirun(payload=["save=3"])
    job.stop()
    assert saved(job) == []
    assert job.count("rank0 SIGTERM") == 1 and job.count("rank0 done") == 0


def test_a_quick_checkpoint_needs_no_grace(mpirun):
    job = mpirun(payload=["save=0.3"])
    job.stop()
    told_once(job)
    assert saved(job) == RANKS


@pytest.mark.parametrize("place", ["init", "below"])
def test_mpirun_is_killed(mpirun, place):
    """As by the out-of-memory killer: its ranks are told, and wait is made for them."""
    job = mpirun(place=place)
    job.signal(signal.SIGKILL, job.main())
    assert job.wait().status == 137
    if place == "below":
        assert job.others() == {}
    assert saved(job) == RANKS
    told_once(job)


def test_mpirun_is_killed_below_tini(mpirun, tool):
    """The control: the ranks go on, with the memory of their GPUs."""
    job = mpirun("-s", program=tool("tini"), place="below")
    job.signal(signal.SIGKILL, job.main())
    assert job.wait().status == 137
    wait_until(lambda: len(job.others()) == 2, "both ranks are still there")
    assert job.count("rank0 SIGTERM") == 0


def test_the_ranks_end_by_themselves(mpirun):
    job = mpirun(payload=["after=0.2"])
    result = job.wait()
    assert result.status == 0 and not result.lines()
    assert job.count("rank0 SIGTERM") == 0


@pytest.mark.parametrize("end, words", [
    ("kill -SEGV $$", r"\(pid \d+\) was killed by SIGSEGV \(11\)"),
    ("exit 7", r"\(local rank 1, pid \d+ on .*\) failed: exit status 7, after "),
])
def test_the_line_of_an_end_names_the_rank(box, tool, end, words):
    result = box.run("-np", "2", "--oversubscribe", "--allow-run-as-root", box.rankinit,
                     "--supervise=always", "--", "sh", "-c",
                     f"[ $OMPI_COMM_WORLD_RANK = 0 ] && exec sleep 20; ulimit -c 0; {end}",
                     program=tool("mpirun"),
                     env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()})
    lines = [line for line in result.err.splitlines() if line.startswith("rankinit: rank 1 ")]
    assert len(lines) == 1, result.err
    assert re.match("rankinit: rank 1 " + words, lines[0])
    # rank 0 was stopped for it, and says so of itself at most
    assert not any("failed" in line for line in result.err.splitlines()
                   if line.startswith("rankinit: rank 0 "))


def test_a_launcher_that_mpirun_starts_has_a_verdict(box, tool):
    """As torchrun, once on each node; the controls end well, and become the launcher."""
    def run(status, *options):
        return box.run("-np", "1", "--allow-run-as-root", box.rankinit, *options, "--launch=node",
                       "--", "sh", "-c", f"exit {status}", program=tool("mpirun"),
                       env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()})

    failed, well, plain = run(3), run(0), run(3, "--supervise=never")
    assert (failed.status, well.status, plain.status) == (3, 0, 3)
    assert len(re.findall("^rankinit: verdict .* status=3 ", failed.err, re.M)) == 1, failed.err
    assert not well.lines() and not plain.lines()


def test_what_a_launcher_leaves_is_the_manager_s(box, tool, tmp_path):
    """As a server that a rank starts; the control, an init that was asked for, stops it."""
    def is_told(*options):
        told, begun = (tempfile.mktemp(dir=tmp_path) for _ in range(2))
        server = f"trap 'echo >{told}; exit' TERM; echo >{begun}; while :; do sleep 0.1; done"
        line = f'setsid sh -c "{server}" >/dev/null 2>&1 </dev/null & ' \
            f"while [ ! -e {begun} ]; do sleep 0.1; done"
        job = box.run("-np", "1", "--allow-run-as-root", box.rankinit, *options, "--launch=node",
                      "--", "sh", "-c", line, program=tool("mpirun"),
                      env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()})
        assert job.status == 0, job.err
        return os.path.exists(told)

    assert not is_told()
    assert is_told("--supervise=always")


def test_a_stop_of_mpirun_reaches_the_launcher_once(box, tool):
    job = box.start("-np", "1", "--allow-run-as-root", box.rankinit, "--launch=node", "--",
                    *box.payload("rank", "save=0.3"), program=tool("mpirun"), place="below",
                    env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()})
    job.until("rank ready")
    job.stop()
    wait_until(lambda: job.count("rank done") == 1, job.log())
    assert job.count("rank SIGTERM") == 1 and os.path.exists(f"{job.folder}/rank.ckpt")


# The checks of a node whose ranks mpirun starts.

@pytest.fixture
def ranks_checked(box, tool):
    """mpirun starts four times rankinit, each with these options."""
    def run(*options, command=("sh", "-c", "echo ran; exec sleep 20")):
        return box.run("-np", "4", "--oversubscribe", "--allow-run-as-root", box.rankinit,
                       *options, "--", *command, program=tool("mpirun"),
                       env={"HOME": "/root", "TMPDIR": tempfile.gettempdir()})
    return run


def own_lines(result):
    return [line for line in result.err.splitlines() if line.startswith("rankinit: ")]


def test_one_rank_of_a_node_speaks(ranks_checked):
    result = ranks_checked("--expect=shm=1000000G", "--checks=shm.size",
                           command=("sh", "-c", "echo ran"))
    line, = own_lines(result)
    assert result.status == 0 and line.endswith(" [shm.size.small]")
    assert result.out == b"ran\n" * 4


def test_an_unfit_node_ends_the_job(ranks_checked):
    """Each rank refuses, so that none has begun; local rank 0 says why, before mpirun ends it."""
    result = ranks_checked("--require=shm=1000000G")
    codes = [line.rpartition(" ")[2] for line in own_lines(result) if " error: " in line]
    assert result.status == 123 and result.out == b""
    assert codes.count("[shm.size.small]") == 1 and 1 <= codes.count("[check.unfit]") <= 4
    assert "; start it on another node, or give this one what it needs [check.unfit]" in result.err
    assert set(codes) <= {"[shm.size.small]", "[check.unfit]"}


# A rankinit in front of mpirun, which has no rank and so does not look.

@pytest.fixture
def launched(box, tool):
    def run(*options, env=None, inner=True):
        words = [tool("mpirun"), "-np", "2", "--oversubscribe", "--allow-run-as-root"]
        if inner:
            words += [box.rankinit, "--checks=shm.size", "--"]
        return box.run(*options, "--", *words, "sh", "-c", "echo ran; exec sleep 1",
                       env={"HOME": "/root", "TMPDIR": tempfile.gettempdir(), **(env or {})})
    return run


@pytest.mark.parametrize("option", [False, True])
def test_what_is_required_reaches_the_ranks(launched, option):
    huge = "shm=1000000G"
    result = launched("--require=" + huge) if option else launched(env={"RANKINIT_REQUIRE": huge})
    # the verdict on mpirun shows its last lines once more
    codes = [line.rpartition(" ")[2] for line in own_lines(result)
             if line.startswith(("rankinit: error: ", "rankinit: warning: "))]
    assert result.status == 123 and result.out == b""
    assert codes.count("[shm.size.small]") == 1 and 1 <= codes.count("[check.unfit]") <= 2
    assert set(codes) == {"[shm.size.small]", "[check.unfit]"}, "and no check.unasked"
    fit = launched(env={"RANKINIT_REQUIRE": "shm=4k"})
    assert (fit.status, fit.out, own_lines(fit)) == (0, b"ran\n" * 2, []), "the control"


def test_ranks_without_rankinit_are_not_looked_at(launched):
    result = launched(env={"RANKINIT_REQUIRE": "shm=1000000G"}, inner=False)
    line, = own_lines(result)
    assert (result.status, result.out) == (0, b"ran\n" * 2)
    assert line.startswith("rankinit: warning: RANKINIT_REQUIRE: ")
    assert "put rankinit before the program" in line and line.endswith(" [check.unasked]")
