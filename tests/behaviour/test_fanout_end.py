# SPDX-License-Identifier: Apache-2.0
"""How a job of several ranks ends: stops, failures, kills, and what is said about it."""

import json
import os
import re
import shutil
import signal
import time

import pytest

import peek
from box import refused
from peek import free_port, wait_until
from test_terminal import CTRL_C, CTRL_Z, terminal  # noqa: F401  a fixture
from verdict import failed_first, names, status_line, stopped_line, was_killed_late

TERM, INT, KILL = signal.SIGTERM, signal.SIGINT, signal.SIGKILL
PLACES = ["init", "below"]
RANKS = 4
NAMES = [f"rank{rank}" for rank in range(RANKS)]


def start(box, *words, options=(), count=RANKS, **more):
    """So many ranks of the payload, each with these words."""
    job = box.start(f"--nproc-per-node={count}", *options, "--",
                    *box.payload("env:RANK", *words), **more)
    job.until(*(f"rank{rank} ready" for rank in range(count)))
    return job


def started(box, script, *words, options=(), count=RANKS, **more):
    """So many ranks of a shell, each of which becomes the payload or what script says."""
    job = box.start(f"--nproc-per-node={count}", *options, "--", "sh", "-c",
                    script + '; exec "$@"', "sh", *box.payload("env:RANK", *words), **more)
    return job


# A shell that exits has no more to say.
SAID_NOTHING = "it wrote nothing to stderr: look at its stdout"

# Rank 1 fails when the others are ready.
LAST = "[ $RANK = 1 ] && { until [ \"$(grep -c ready @FOLDER/log)\" = 3 ]; do sleep 0.05; done; " \
       "exit 4; } 2>/dev/null"


def told_once(job, *names):
    for name in names:
        assert job.count(f"{name} SIGTERM") == 1, (name, job.log())
        assert job.count(f"{name} done") == 1, (name, job.log())


def nothing_is_left(job):
    assert job.others() == {} if job.place == "below" else job.members() == {}


def verdict(result):
    """The line about who failed first, and those about the others."""
    lines = result.lines()
    first = [at for at, line in enumerate(lines) if re.match(r"rankinit: rank \d+ \(", line)]
    assert len(first) == 1, result.err
    assert len(lines) - first[0] <= 25
    return lines[first[0]], [line for line in lines[first[0] + 1:] if SAID_NOTHING not in line]


# A stop.

@pytest.mark.parametrize("place", PLACES)
def test_a_stop_reaches_every_rank_once(box, place):
    job = start(box, "session:env", place=place, count=3)
    result = job.stop()
    assert (result.status, result.err) == (0, "")
    nothing_is_left(job)
    told_once(job, "rank0", "rank1", "rank2")
    assert job.count("env SIGTERM") == 3 and job.count("env done") == 3
    assert all(os.path.exists(f"{job.folder}/rank{k}.ckpt") for k in range(3))


def test_the_first_status_after_a_stop(box):
    """There is no first failure then, and no line about one."""
    script = ('if [ $RANK = 2 ]; then trap "exit 9" TERM; echo r >&2; '
              'while :; do sleep 0.01; done; fi')
    job = started(box, script, "save=0.1")
    job.until("rank0 ready", "rank1 ready", "rank3 ready")
    wait_until(lambda: "r" in job.error_text(), "the shell")
    result = job.stop()
    assert result.status == 9
    # who that was nobody asks, since all were told
    assert "failed" not in result.err
    assert result.lines()[0].startswith("rankinit: stopped by SIGTERM from ")
    assert result.lines()[0].endswith("; exit status 9")


def test_ranks_that_die_of_the_stop(box):
    job = box.start("--nproc-per-node=3", "--", "sleep", "60")
    wait_until(lambda: [n for n, *_ in job.members().values()].count("sleep") == 3, "ranks")
    result = job.stop()
    assert result.status == 143
    assert result.lines()[0].startswith("rankinit: stopped by SIGTERM from ")
    assert result.lines()[1:] == [stopped_line("0-2")]


@pytest.mark.parametrize("place", PLACES)
def test_groups_get_it_once(box, place):
    job = start(box, "same:loader", options=["--signal-group"], place=place, count=3)
    assert job.stop().status == 0
    told_once(job, "rank0", "rank1", "rank2")
    assert job.count("loader SIGTERM") == 3
    nothing_is_left(job)


def test_other_signals_reach_every_rank(box):
    job = start(box)
    for number, name in (signal.SIGUSR1, "SIGUSR1"), (INT, "SIGINT"):
        job.signal(number)
        job.until(*(f"{rank} {name}" for rank in NAMES))
    assert job.wait().status == 0
    assert [job.count(f"{rank} SIGUSR1") for rank in NAMES] == [1] * RANKS
    assert [job.count(f"{rank} SIGINT") for rank in NAMES] == [1] * RANKS


def test_the_deadline_of_a_stop(box):
    job = start(box, "deaf", options=["--grace=1"])
    result = job.stop()
    assert result.status == 137
    assert len([line for line in result.lines() if "SIGKILL for" in line]) == 1
    assert [job.count(f"{rank} SIGTERM") for rank in NAMES] == [1] * RANKS


# A failure.

@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("end, status, words", [
    ("exit 7", 7, "exit status 7"),
    ("kill -SEGV $$", 139, "killed by SIGSEGV (11)"),
    ("kill -KILL $$", 137, "killed by SIGKILL (9)"),
])
def test_the_first_failure_ends_the_job(box, place, end, status, words):
    script = (f'[ $RANK = 2 ] && {{ until grep -qs "rank3 ready" @FOLDER/log && '
              f'grep -qs "rank0 ready" @FOLDER/log && grep -qs "rank1 ready" @FOLDER/log; '
              f'do sleep 0.01; done; {end}; }}')
    job = started(box, script, "session:loader", "status=3", place=place)
    result = job.wait()
    assert result.status == status
    line, others = verdict(result)
    assert names(line, 2, 2)
    assert failed_first(line, words)
    assert others == [stopped_line("0-1, 3", "exit status 3"),
                      status_line(status)], "it said nothing itself"
    told_once(job, "rank0", "rank1", "rank3")
    assert job.count("loader SIGTERM") == 3
    nothing_is_left(job)


def test_who_ends_early_and_well_does_not_fail(box):
    """The control of the above: nobody is told anything."""
    job = started(box, "[ $RANK = 2 ] && exit 0", "after=0.6")
    result = job.wait()
    assert (result.status, result.err) == (0, "")
    assert not [line for line in job.log() if "SIG" in line]
    assert job.count("rank0 done") == 1


def test_a_failure_after_others_ended_well(box):
    result = box.run("--nproc-per-node=3", "--", "sh", "-c",
                     "[ $RANK = 1 ] || exit 0; sleep 0.3; exit 5")
    assert result.status == 5
    line, others = verdict(result)
    assert names(line, 1, 1) and "exit status 5" in line
    assert others[0] == "rankinit:   ranks 0, 2: exit status 0", "there was no other one to stop"


def test_the_deadline_of_a_failure(box):
    job = started(box, LAST, "deaf", options=["--grace=1"])
    result = job.wait()
    assert result.status == 4
    assert was_killed_late(result.err)
    line, others = verdict(result)
    assert "rank 1 (" in line
    assert others[0] == stopped_line("0, 2-3", "killed by SIGKILL (9)")


@pytest.mark.parametrize("place", PLACES)
def test_a_stop_while_the_others_are_stopped(box, place):
    """They get it, beside their SIGTERM for the failure, and keep the time of that."""
    job = started(box, LAST, "deaf", options=["--grace=3"], place=place)
    job.until("rank0 SIGTERM", "rank2 SIGTERM", "rank3 SIGTERM")
    result = job.stop()
    assert result.status == 4 and was_killed_late(result.err)
    assert [job.count(f"rank{rank} SIGTERM") for rank in (0, 2, 3)] == [2] * 3
    nothing_is_left(job)


def test_what_a_failed_rank_left_behind_goes_too(box):
    script = '[ $RANK = 1 ] && { (trap "echo told; exit" TERM; : >@FOLDER/left; ' \
             'while :; do sleep 0.05; done) & ' \
             'until [ -e @FOLDER/left ]; do sleep 0.01; done; exit 6; }'
    job = started(box, script, "save=0.1", place="below")
    result = job.wait()
    assert result.status == 6 and result.out == b"told\n"
    assert job.others() == {}


def test_one_rank_is_as_any_command(box):
    """No line about a plain exit status, and the usual one about a signal."""
    result = box.run("--nproc-per-node=1", "--", "sh", "-c", "exit 7")
    assert (result.status, result.err) == (7, "")
    result = box.run("--nproc-per-node=1", "--", "sh", "-c", "kill -9 $$")
    assert result.status == 137 and "rankinit: sh (pid " in result.err


def test_exit_map_counts_for_ranks(box):
    assert box.run("--nproc-per-node=2", "--exit-map=7:77", "--", "sh", "-c",
                   "exit 7").status == 77


# Nothing outlives us.

def test_ranks_go_with_their_parent(box):
    job = start(box, place="below", count=3)
    ranks = set(peek.children(job.pid))
    assert len(ranks) == 3
    job.signal(KILL)
    assert job.wait().status == -9
    wait_until(lambda: not any(peek.state(pid) not in (None, "Z") for pid in ranks), "gone")


def test_as_process_1_everything_goes(box):
    job = start(box, "session:worker!", "orphan:lost!", count=2)
    assert len(job.members()) == 7
    job.signal(KILL)
    job.wait()
    wait_until(lambda: job.members() == {}, "gone")


# Starting.

@pytest.mark.parametrize("make, status, code", [
    (None, 127, "exec.not_found"),
    (lambda path: path.write_text("#!/bin/sh\n"), 126, "exec.denied"),
    (lambda path: (path.write_text("no program"), path.chmod(0o755)), 126, "exec.denied"),
])
def test_a_command_that_cannot_be_executed(box, tmp_path, make, status, code):
    command = tmp_path / "command"
    if make:
        make(command)
    for place in PLACES:
        result = box.run("--nproc-per-node=3", "--", command, place=place)
        refused(result, status, code, str(command))
        line, others = verdict(result)
        assert line.startswith("rankinit: rank 0 (local rank 0, no process on ")
        assert re.fullmatch(r"rankinit:   .* \[exec\.\w+\]", others.pop(0))
        assert others == ["rankinit:   ranks 1-2: not started",
                          status_line(status)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("spoil, status, code", [
    ("rm COMMAND", 127, "exec.not_found"), ("chmod 0 COMMAND", 126, "exec.denied"),
    ("echo no program >new; chmod 755 new; mv new COMMAND", 126, "exec.denied"),
])
def test_a_command_that_is_spoilt_between_ranks(box, tmp_path, place, spoil, status, code):
    """The ranks that run are stopped, and the status says what happened."""
    command = tmp_path / "command"
    # a program and no script, of which a shell that is late would not find the lines
    shutil.copy("/bin/sh", command)
    script = "trap 'echo told; exit 0' TERM; " \
        f"[ $RANK = 0 ] && {{ {spoil}; }}; while :; do sleep 0.02; done"
    job = box.start("--nproc-per-node=512", "--", command, "-c",
                    script.replace("COMMAND", str(command)), cwd=tmp_path, place=place)
    result = job.wait()
    assert result.status == status and f"[{code}]" in result.err
    line, others = verdict(result)
    assert "no process on " in line and line.endswith(" could not be started")
    assert re.fullmatch(r"rankinit:   ranks \d+-511: not started", others[-2])
    found = re.search(r"rank (\d+) was not started; the (\d+) before it are stopped", result.err)
    assert found.group(1) == found.group(2) != "0"
    assert b"told\n" in result.out
    nothing_is_left(job)


@pytest.mark.parametrize("place", PLACES)
def test_no_more_processes(box, cgroup, place):
    """As with --pids-limit: those that were started are stopped, and nothing stays."""
    group = cgroup("pids", max=12)
    job = box.start("--nproc-per-node=64", "--", *box.payload("env:RANK", "save=0.1"),
                    place=place, shell=f"echo 0 > {group}/cgroup.procs")
    result = job.wait()
    assert result.status == 125 and "[spawn.refused]" in result.err
    found = re.search(r"rank (\d+) was not started; the (\d+) before it are stopped", result.err)
    assert found.group(1) == found.group(2) and 5 <= int(found.group(1)) <= 12
    nothing_is_left(job)
    # the control: as many as there is room for
    assert box.run("--nproc-per-node=5", "--", "true", place=place,
                   shell=f"echo 0 > {group}/cgroup.procs").status == 0


# The terminal.

@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_reaches_every_rank_once(box, terminal, place):  # noqa: F811
    job = start(box, "save=0.1", tty=terminal.path, place=place, count=3)
    terminal.type(CTRL_C)
    assert job.wait().status == 0
    assert [job.count(f"rank{k} SIGINT") for k in range(3)] == [1] * 3


def took(job, count):
    """The ranks have had it, and rankinit its own: a second one that waits would be none."""
    wait_until(lambda: job.ended() or job.count("rank0 SIGINT") >= count and
               peek.field(job.pid, "ShdPnd") == "0" * 16, f"{count} SIGINT")


def press(job, terminal, count):  # noqa: F811
    """Ctrl-C, each when the ranks have had the one before."""
    for _ in range(count):
        before = job.count("rank0 SIGINT")
        terminal.type(CTRL_C)
        took(job, before + 1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("first", [None, TERM], ids=["running", "stopping"])
def test_three_ctrl_c_in_a_row_kill(box, terminal, place, first):  # noqa: F811
    """Of ranks that hear none of it; before that it is said."""
    job = start(box, "deaf", options=["--report=report.json"], tty=terminal.path, place=place,
                count=3)
    if first:
        job.signal(first)
        job.until("rank0 SIGTERM")
    press(job, terminal, 2)
    assert not job.ended()
    # on a machine that takes five seconds for one of them there are more in a row
    for _ in range(20):
        if job.ended(0.1):
            break
        press(job, terminal, 1)
    result, failure = ended(job, terminal)
    assert (result.status, failure) == (137, None)
    assert "rankinit: warning: one more Ctrl-C within 5 seconds sends SIGKILL to every process\n" \
        in result.err
    assert "warning: SIGKILL for processes that still run after three Ctrl-C: python3 (" \
        in result.err
    stopped = "SIGTERM from " if first else "SIGINT from the terminal; exit status 137"
    assert f"rankinit: stopped by {stopped}" in result.err, result.err
    nothing_is_left(job)


def test_ctrl_c_now_and_then_kills_nobody(box, terminal):  # noqa: F811
    """The control: not in a row, or no key at all."""
    job = start(box, "deaf", tty=terminal.path, count=2)
    press(job, terminal, 2)
    time.sleep(5.5)
    press(job, terminal, 2)
    for _ in range(4):
        before = job.count("rank0 SIGINT")
        job.signal(INT)
        took(job, before + 1)
    assert not job.ended()
    terminal.look(0.1)
    assert "SIGKILL for" not in terminal.text


PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
# A folder, since Python may lose an interrupt that comes while it closes a file.
READY = "import os, signal, sys, time\nrank = os.environ['RANK']\n" \
        "def ready(): os.mkdir(f'ready{rank}')\n"
SLEEP = READY + "ready()\ntime.sleep(60)\n"


def scripts(box, code, *options, **more):
    """Three ranks that run this, once each has called ready()."""
    job = box.start("--nproc-per-node=3", "--report=report.json", *options, "--", *PYTHON, code,
                    **more)
    wait_until(lambda: all(os.path.exists(f"{job.folder}/ready{k}") for k in range(3)), "ranks")
    return job


def ended(job, screen=None):
    """Its result, with what was said on the screen, and who failed first by its report."""
    result = job.wait()
    if screen:
        screen.look(0.1)
        result.err = re.sub(r"\x1b\[\d*m|\r", "", screen.text)
    return result, json.loads(job.read("report.json"))["first_failure"]


# Python that is killed by it, that exits in its own way, and a handler with no word at all
INTERRUPTED = [
    (SLEEP, 130),
    (READY + "try: ready(); time.sleep(60)\n"
     "except KeyboardInterrupt: print('enough'); sys.exit(7)\n", 7),
    (READY + "sys.excepthook = lambda *w: (sys.__excepthook__(*w), os._exit(1))\n"
     "ready()\ntime.sleep(60)\n", 1),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("code, status", INTERRUPTED, ids=["killed", "exits", "hooked"])
def test_ctrl_c_is_a_stop_from_outside(box, terminal, place, code, status):  # noqa: F811
    job = scripts(box, code, tty=terminal.path, place=place)
    terminal.type(CTRL_C)
    result, first = ended(job, terminal)
    assert (result.status, first) == (status, None)
    assert "failed first" not in result.err
    assert f"rankinit: stopped by SIGINT from the terminal; exit status {status}" in result.lines()
    report = json.loads(job.read("report.json"))
    assert report["started"] <= report["stop"]["at"] <= report["ended"]


def test_an_interrupt_that_is_passed_on(box):
    """By pid, as an engine without a terminal does for its Ctrl-C."""
    for number, name in (INT, "SIGINT"), (signal.SIGHUP, "SIGHUP"), (signal.SIGQUIT, "SIGQUIT"):
        job = scripts(box, SLEEP)
        job.signal(number)
        result, first = ended(job)
        assert (result.status, first) == (128 + number, None)
        assert f"rankinit: stopped by {name} from outside this container; exit status " \
               f"{128 + number}" in result.lines()
        job.close()
        box.jobs.remove(job)
    job = scripts(box, SLEEP, "--signal-map=2:12")
    job.signal(INT)
    result, first = ended(job)
    assert (result.status, first) == (140, None)


def test_a_rank_that_alone_is_interrupted_fails(box):
    """The control: nobody asked the job to end."""
    job = scripts(box, SLEEP)
    rank = peek.children(job.pid)[1]
    job.signal(INT, rank)
    result, first = ended(job)
    assert (result.status, first["signal"]) == (130, "SIGINT")
    assert failed_first(verdict(result)[0], "killed by SIGINT (2)")


GOES_ON = READY + "signal.signal(2, lambda *w: open(f'took{rank}', 'w').close())\n"


def test_a_failure_after_an_interrupt_that_was_ignored(box, terminal):  # noqa: F811
    job = scripts(box, GOES_ON + "ready()\nwhile True:\n time.sleep(0.02)\n"
                  " if rank == '1' and os.path.exists('go'): raise ValueError('bad batch')\n",
                  tty=terminal.path)
    terminal.type(CTRL_C)
    wait_until(lambda: all(os.path.exists(f"{job.folder}/took{k}") for k in range(3)), "them")
    open(f"{job.folder}/go", "w", encoding="utf-8").close()
    result, first = ended(job, terminal)
    assert (result.status, first["rank"]) == (1, 1)
    line, others = verdict(result)
    assert line.startswith("rankinit: rank 1 (")
    assert others[0] == "rankinit:   ValueError: bad batch"


def test_a_failure_before_the_interrupt(box, terminal):  # noqa: F811
    """Ctrl-C while the others take their time to end."""
    job = scripts(box, READY + "signal.signal(15, lambda *w: open(f'took{rank}', 'w').close())\n"
                  "ready()\nwhile rank == '1' and not os.path.exists('go'): time.sleep(0.02)\n"
                  "if rank == '1': raise ValueError('bad batch')\n"
                  "while True: time.sleep(0.02)\n", tty=terminal.path)
    open(f"{job.folder}/go", "w", encoding="utf-8").close()
    wait_until(lambda: all(os.path.exists(f"{job.folder}/took{k}") for k in (0, 2)), "the stop")
    terminal.type(CTRL_C)
    result, first = ended(job, terminal)
    assert (result.status, first["rank"]) == (1, 1)
    assert verdict(result)[0].startswith("rankinit: rank 1 (")
    assert "stopped by" not in result.err


def test_a_rank_ends_before_our_interrupt_is_read(box, tool):
    """Between a SIGCHLD and the reaping: one Ctrl-C, and no second one after it."""
    words = ["-D", "-o", "/dev/null", "-e", "trace=wait4", "-e",
             "inject=wait4:delay_enter=1500000", box.rankinit]
    job = box.start(*words, "--nproc-per-node=2", "--report=report.json", "--", "sh", "-c",
                    'trap "exit 0" TERM; : >ready$RANK; while :; do sleep 0.02; done',
                    program=tool("strace"), place="below")
    wait_until(lambda: all(os.path.exists(f"{job.folder}/ready{k}") for k in range(2)), "ranks")
    ranks = [pid for pid in peek.children(job.pid) if peek.stat(pid)[0] == "sh"]
    job.signal(INT, ranks[0])
    wait_until(lambda: peek.state(ranks[0]) == "Z", "its end")
    wait_until(lambda: int(peek.field(job.pid, "SigPnd"), 16) |
               int(peek.field(job.pid, "ShdPnd"), 16) == 0, "its SIGCHLD was taken")
    assert peek.state(ranks[0]) == "Z", "and it was not reaped"
    job.signal(INT)
    result, first = ended(job)
    assert (result.status, first) == (130, None)
    assert "rankinit: stopped by SIGINT from pid " in result.err or \
           "rankinit: stopped by SIGINT from outside this container" in result.err


def test_ctrl_z_stops_all_and_fg_goes_on(box, terminal):  # noqa: F811
    words = [box.rankinit, "--nproc-per-node=2", "--", *box.payload("env:RANK", "save=0.1")]
    job = box.start("-mc", '"$@"; echo stopped; fg; echo over', "sh", *words, program="/bin/bash",
                    tty=terminal.path)
    job.until("rank0 ready", "rank1 ready")
    terminal.type(CTRL_Z)
    job.until("rank0 SIGCONT", "rank1 SIGCONT")
    terminal.until("stopped")
    terminal.type(CTRL_C)
    terminal.until("over")
    job.wait()
    assert [job.count(f"rank{k} SIGINT") for k in range(2)] == [1] * 2


# Many.

@pytest.mark.parametrize("place", PLACES)
def test_512_ranks(box, actor, place):
    env = {f"VARIABLE_{number}": "x" * 50 for number in range(300)}
    job = box.start("--nproc-per-node=512", "--", actor("probe"), "/dev/null", "serve=15",
                    "exit=0", env=env, place=place)
    # in / it has closed what only the start needs
    wait_until(lambda: len(peek.children(job.pid)) == 512 and
               os.readlink(f"/proc/{job.pid}/cwd") == "/" and peek.rests(job.pid),
               "all of them")
    assert peek.private_memory(job.pid) < 4096, f"{peek.private_memory(job.pid)} kB"
    # a pipe from each, what these are waited for with, the port's name, and the folder of torch's
    # files, which is held open as what it is in is: each fd is one of ours
    kinds = [os.readlink(f"/proc/{job.pid}/fd/{fd}").partition(":")[0] for fd in
             os.listdir(f"/proc/{job.pid}/fd") if int(fd) > 2]
    assert len([kind for kind in kinds if kind.startswith("/dev/shm")]) == 2
    assert {kind for kind in kinds if not kind.startswith("/dev/shm")} <= \
        {"pipe", "anon_inode", "socket"}
    assert kinds.count("socket") == 1
    assert len(os.listdir(f"/proc/{job.pid}/fd")) <= 3 + 512 + 6
    wait_until(lambda: all(peek.state(pid) == "S" for pid in peek.children(job.pid)), "they wait")
    result = job.stop()
    assert (result.status, result.err) == (0, "")
    nothing_is_left(job)


@pytest.mark.parametrize("place", PLACES)
def test_512_short_ranks(box, actor, place):
    job = box.start("-v", "--nproc-per-node=512", "--checks=none", f"--master-port={free_port()}",
                    "--", actor("probe"), "/dev/null", "exit=0", place=place)
    result = job.wait()
    assert result.status == 0 and set(result.err.splitlines()) == {
        line for line in result.err.splitlines() if line.endswith("[omp.threads]")}
    nothing_is_left(job)


def test_one_of_512_fails(box, actor):
    script = 'if [ $RANK = 300 ]; then exit 42; fi; exec "$@"'
    result = box.run("--nproc-per-node=512", "--", "sh", "-c", script, "sh", actor("probe"),
                     "/dev/null", "serve=15", "exit=0")
    assert result.status == 42
    line, others = verdict(result)
    assert names(line, 300, 300)
    assert "exit status 42" in line and len(others) <= 4
