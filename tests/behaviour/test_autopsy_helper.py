# SPDX-License-Identifier: Apache-2.0
"""The process that looks for --autopsy-signal, --autopsy-after and --stall: what becomes of it."""

import json
import os
import signal
import subprocess
import time

import pytest

import peek
from box import BASE, Result, refused
from peek import PATIENCE, wait_until
from test_autopsy import (ASKED, ATTEMPTS, PYTHON, SILENT, folder, hang,  # noqa: F401  fixtures
                          helper_of, said, until_said)

SLEEP = ["sleep", "600"]


@pytest.fixture
def pids():
    """The folder of a cgroup that limits how many processes there may be."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        own = [line.strip().split(":", 2) for line in file]
    path = next((path for _, names, path in own if "pids" in names.split(",")), None)
    folder = f"/sys/fs/cgroup/pids{path}" if path else f"/sys/fs/cgroup{own[-1][2]}"
    folder = os.path.join(folder, f"autopsy-{os.getpid()}")
    try:
        os.mkdir(folder)
        with open(f"{folder}/pids.max", "w", encoding="ascii") as file:
            file.write("max")
    except OSError as error:
        pytest.skip(f"NOT TESTED: no pids cgroup can be made here: {error}")
    yield folder
    wait_until(lambda: not open(f"{folder}/cgroup.procs").read(), "the end of all of them")
    os.rmdir(folder)


def limit(folder, number):
    with open(f"{folder}/pids.max", "w", encoding="ascii") as file:
        file.write(str(number))


def hold(job):
    """A process that looks for PID 1, stopped; None where it was too quick."""
    for pid in helper_of(job):
        job.signal(signal.SIGSTOP, pid)
        if wait_until(lambda: peek.state(pid) in ("T", "Z", None), "a stop") and \
                peek.state(pid) == "T":
            return pid
    return None


def test_its_end_is_none_of_the_ranks_signals(box, pids):
    """It has ended and was reaped, no other may be started, and only then its SIGIO comes."""
    job = box.start("--nproc-per-node=2", "--checks=none", "--stall=1", "--autopsy-signal=USR1",
                    "--", *SLEEP, shell=f"echo $$ >{pids}/cgroup.procs")
    helper = wait_until(lambda: hold(job), "a look")
    job.signal(signal.SIGSTOP)
    job.signal(signal.SIGKILL, helper)
    wait_until(lambda: peek.state(helper) == "Z", "its end")
    limit(pids, 1)
    job.signal(signal.SIGUSR1)
    job.signal(signal.SIGCONT)
    until_said(job, "[autopsy.refused]")
    assert not job.ended(1), job.error_text()
    assert job.stop().status == 128 + signal.SIGTERM, job.error_text()
    assert ASKED not in said(job)


def test_whoever_asked_is_told_that_there_is_no_answer(box):
    job = box.start("--nproc-per-node=2", "--checks=none", "--autopsy-signal=USR1", "--", *SLEEP)
    wait_until(lambda: len(peek.children(job.pid)) == 2, "the ranks")
    job.signal(signal.SIGUSR1)
    job.signal(signal.SIGKILL, wait_until(lambda: hold(job), "a look"))
    until_said(job, "autopsy: the process that looks was killed before it had an answer; look "
                    "from outside: rankinit --autopsy 1 [autopsy.unfinished]")
    assert ASKED not in said(job)
    assert not job.ended(0.2), job.error_text()


def test_one_that_is_stopped_costs_one_look(hang):  # noqa: F811
    """
    SIGALRM does not end a process that is stopped: it is given up, and another one looks. Where
    there is a suspect a look takes two seconds.
    """
    job = hang("sleep", "--autopsy-after=0", "--autopsy-signal=USR1")
    job.signal(signal.SIGUSR1)
    held = wait_until(lambda: hold(job), "a look")
    wait_until(lambda: "warning: autopsy: the process that looks ran out of time before it had an "
                       "answer; look from outside: rankinit --autopsy 1 [autopsy.unfinished]"
                       in said(job), "the end of its time, 23 seconds", 4 * PATIENCE)
    wait_until(lambda: peek.state(held) is None, "its end")
    assert ASKED not in said(job)
    job.signal(signal.SIGUSR1)
    until_said(job, ASKED)
    assert job.stop().status == 0, job.error_text()


def join(folder):
    """Whoever comes from outside is counted, and not refused."""
    with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def test_no_process_to_look_with(box, pids):
    """The helper may be there, and nobody that works for it."""
    job = box.start("--nproc-per-node=2", "--checks=none", "--autopsy-signal=USR1", "--", *SLEEP,
                    shell=f"echo $$ >{pids}/cgroup.procs")
    wait_until(lambda: len(peek.children(job.pid)) == 2, "the ranks")
    with open(f"{pids}/pids.current", encoding="ascii") as file:
        limit(pids, int(file.read()) + 1)
    job.signal(signal.SIGUSR1)
    until_said(job, "  no process to look with (Resource temporarily unavailable): 0 of the 2 "
                    "processes that rankinit started were looked at, and no other one")
    assert not any("not known" in line for line in said(job)), said(job)
    done = subprocess.run([box.rankinit, "--autopsy", str(job.pid)], env=BASE, check=False,
                          preexec_fn=lambda: join(pids), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE)
    refused(Result(done.returncode, done.stdout, done.stderr.decode()), 125, "spawn.refused",
            "--autopsy")
    job.stop()


MANY = """
import os, sys, time
sys.path.insert(0, sys.argv[1] + "/site-packages")
from torch.distributed.distributed_c10d import all_reduce
for _ in range(300):
    if os.fork() == 0:
        time.sleep(600)
print("hangs", flush=True)
all_reduce()
"""


def test_ranks_come_first_where_the_time_is_short(box, folder, tmp_path):  # noqa: F811
    """
    However slow the machine is, nobody else is looked for before each rank has a stack, and what
    was not looked at is said. tests/unit/test_examine.c has the same with a count for the time.
    """
    path = tmp_path / "report.json"
    job = box.start("--nproc-per-node=4", "--checks=none", "--autopsy-after=0.5",
                    f"--report={path}", "--", *PYTHON, "-c", MANY, folder)
    wait_until(lambda: job.read("out").count(b"hangs") == 4, job.error_text())
    time.sleep(1)
    job.stop()
    autopsy = json.loads(path.read_text())["autopsy"]
    if autopsy is None:
        return  # not even the process that looks came to its end
    lines = said(job)[said(job).index(SILENT):]
    assert (autopsy["unseen"] == 0 and autopsy["listed"]) == ("cut short after" not in lines[1])
    if len(autopsy["processes"]) > 4:
        at = 1 + (autopsy["unseen"] > 0)
        assert lines[at].startswith(
            "  ranks 0-3 (4): each waits for the other ranks in all_reduce, distributed_c10d.py:")


def test_the_report_has_the_last_whole_one(box, tmp_path):
    """When it was, and why; a later look that did not end takes nothing away."""
    path = tmp_path / "report.json"
    for _ in range(ATTEMPTS):
        job = box.start("--nproc-per-node=2", "--checks=none", "--autopsy-after=0.5",
                        "--autopsy-signal=USR1", f"--report={path}", "--", *SLEEP)
        wait_until(lambda: len(peek.children(job.pid)) == 2, "the ranks")
        job.signal(signal.SIGUSR1)
        until_said(job, ASKED)
        time.sleep(1)
        job.signal(signal.SIGTERM)
        held = wait_until(lambda: hold(job) or job.ended(), "a look")
        job.wait()
        if SILENT not in said(job):
            break
    assert held and SILENT not in said(job)
    report = json.loads(path.read_text())
    assert report["autopsy"]["why"] == "asked"
    assert report["started"] < report["autopsy"]["at"] < report["stop"]["at"]
