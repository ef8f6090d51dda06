# SPDX-License-Identifier: Apache-2.0
"""
--autopsy PID, --autopsy-signal, --autopsy-after and --stall, with ranks that are plain Python:
what waits in a file named as torch's own waits for the other ranks.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import everybody
import peek
import schema
from box import BASE, HERE, Result, refused
from deadmount import mounted
from peek import PATIENCE, wait_until

COLLECTIVES = """
import os
def all_reduce():
    os.read(os.pipe()[0], 1)
def barrier():
    os.read(os.pipe()[0], 1)
"""
PYTHON = [sys.executable, "-I", "-S"]
CROWD = everybody.copy(os.path.join(os.path.dirname(HERE), "python/crowd.py"))
RANKS = 4
VICTIM = "2"
ATTEMPTS = 10   # at what takes a process that runs for some ten milliseconds


@pytest.fixture
def folder(tmp_path):
    """With a module of collectives; every user may enter."""
    os.chmod(tmp_path, 0o777)
    made = tmp_path / "site-packages" / "torch" / "distributed"
    made.mkdir(parents=True)
    (made / "distributed_c10d.py").write_text(COLLECTIVES)
    return tmp_path


@pytest.fixture
def hang(box, folder):
    """A job whose ranks are hang.py, once all of them hang."""
    program = everybody.copy(os.path.join(HERE, "hang.py"))

    def start(deed, *options, ranks=RANKS, victim=VICTIM, before=(), **more):
        job = box.start(f"--nproc-per-node={ranks}", "--checks=none", *options, "--", *before,
                        *PYTHON, program, folder, deed, victim, **more)
        wait_until(lambda: job.read("out").count(b"hangs") == ranks, job.error_text())
        return job
    return start


def ask(rankinit, pid, *words, before=()):
    done = subprocess.run([*before, rankinit, *(words or ["--autopsy=json"]), str(pid)], env=BASE,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                          check=False)
    return Result(done.returncode, done.stdout, done.stderr.decode())


def look(rankinit, pid, before=()):
    done = ask(rankinit, pid, before=before)
    assert done.status == 0, done.err
    autopsy = json.loads(done.out)
    schema.check(autopsy, "autopsy")
    return autopsy


def suspect(rankinit, job):
    """The first one that is named; ranks that still start are no reason to name another one."""
    return wait_until(lambda: look(rankinit, job.pid)["suspect"], job.error_text())


def process_of(autopsy, rank):
    return next(one for one in autopsy["processes"] if one["is_rank"] and one["rank"] == rank)


@pytest.mark.parametrize("deed, name, words", [
    ("sleep", "sleeps", "sleeps, hang.py"),
    ("lock", "lock", "waits for a lock, hang.py"),
    ("queue", "data", "waits for data in get, hang.py"),
    ("stop", "stopped", "was stopped by a signal (SIGSTOP, SIGTSTP), hang.py"),
    ("spin", ("runs", "spins"), "runs"),
    ("child", "child", "waits for a child, hang.py"),
    ("traced", "debugged", "is in a debugger, python3 (pid "),
    ("barrier", "collective", "waits for the other ranks in barrier, hang.py"),
])
def test_the_rank_that_holds_up_the_others(hang, rankinit, deed, name, words):
    job = hang(deed)
    found = suspect(rankinit, job)
    assert found["rank"] == int(VICTIM)
    assert found["class"] in (name if isinstance(name, tuple) else (name,))
    assert found["text"].startswith(words), found


def test_which_ranks_do_the_same(hang, rankinit):
    job = hang("sleep")
    suspect(rankinit, job)
    ranks = {group["class"]: group["ranks"] for group in look(rankinit, job.pid)["groups"]}
    assert ranks == {"collective": [0, 1, 3], "sleeps": [2]}


def test_who_waits_for_a_child_says_what_that_does(hang, rankinit):
    job = hang("child")
    assert ") sleeps, hang.py:" in suspect(rankinit, job)["text"]


def test_nobody_is_suspected_where_all_wait_alike(hang, rankinit):
    job = hang("collective")
    wait_until(lambda: {one["class"] for one in look(rankinit, job.pid)["processes"]} ==
               {"collective"}, "all of them wait")
    for _ in range(3):
        assert look(rankinit, job.pid)["suspect"] is None


@pytest.mark.parametrize("ranks", [2, 3])
def test_two_ranks_are_too_few(hang, rankinit, ranks):
    """Of two that differ each may hold up the other one."""
    job = hang("sleep", ranks=ranks, victim="1")
    wait_until(lambda: {one["class"] for one in look(rankinit, job.pid)["processes"]} ==
               {"sleeps", "collective"}, "both")
    assert (look(rankinit, job.pid)["suspect"] is None) == (ranks == 2)


def test_the_text(hang, rankinit):
    job = hang("sleep")
    suspect(rankinit, job)
    lines = ask(rankinit, job.pid, "--autopsy").out.decode().splitlines()
    assert lines[0].startswith(f"suspect: rank {VICTIM} (pid ")
    assert lines[0].endswith("; the others wait for it")
    assert lines[1].startswith(
        "ranks 0-1, 3 (3): each waits for the other ranks in all_reduce, hang.py")
    assert lines[2].startswith("    ") and " in all_reduce" in lines[2]
    assert any(line.startswith(f"rank {VICTIM} (pid ") for line in lines[3:])


def test_a_process_without_a_rank(rankinit):
    """Its stack is shown, and that of its other thread."""
    program = ("import threading, time\ndef inner():\n    time.sleep(600)\n"
               "threading.Thread(target=inner).start()\nprint('there', flush=True)\ninner()")
    child = subprocess.Popen([*PYTHON, "-c", program], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"there\n"
        wait_until(lambda: look(rankinit, child.pid)["processes"][0]["class"] == "sleeps", "sleep")
        lines = ask(rankinit, child.pid, "--autopsy").out.decode().splitlines()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert lines[0] == f"python3 (pid {child.pid}): sleeps, <string>:3 in inner"
    assert lines[1] == "    <string>:3 in inner"
    assert lines[2] == "    <string>:6 in <module>"
    assert lines[3].startswith("    thread ") and ": <string>:3 in inner < " in lines[3]


def test_shells_in_front(hang, rankinit):
    job = hang("sleep", before=["sh", "-c", '"$@"; :', "sh"])
    found = suspect(rankinit, job)
    assert (found["rank"], found["class"]) == (int(VICTIM), "sleeps")


def test_what_a_shell_put_into_the_background(hang, rankinit):
    job = hang("sleep", before=["sh", "-c", 'sleep 600 & "$@"; :', "sh"])
    groups = look(rankinit, job.pid)["groups"]
    found = [one["text"] for one in groups if one["class"] == "child"]
    assert found and all("(python3) " in text for text in found), groups


def test_no_such_process(rankinit):
    done = ask(rankinit, 2 ** 22 + 1)
    refused(done, 125, "autopsy.pid", "--autopsy")
    assert "there is no process" in done.err


@pytest.mark.parametrize("words", [["--autopsy", "1", "2"], ["--autopsy", "x"], ["--autopsy"]])
def test_what_is_no_process(box, words):
    refused(box.run(*words), 125, "autopsy.pid", "--autopsy")


@pytest.fixture
def dead(folder):
    """A mount that does not answer, in the folder."""
    with mounted(folder / "dead"):
        yield folder / "dead"


def test_blocked_on_a_dead_mount(hang, rankinit, dead):
    """FUSE waits so that SIGKILL reaches it: it is state S or D, by the kernel's own choice."""
    job = hang("read")
    found = suspect(rankinit, job)
    assert found["rank"] == int(VICTIM)
    assert found["class"] in ("blocked", "waits")
    assert f"{dead}/x" in found["text"] and f"(fuse.dead on {dead})" in found["text"]


def test_vfork_before_a_dead_mount(hang, rankinit, dead):
    job = hang("vfork")
    found = suspect(rankinit, job)
    assert found["rank"] == int(VICTIM)
    assert found["class"] == "vforking", found
    assert f"waits in execve() of {dead}/x (fuse.dead on {dead})" in found["text"], found


UNPRIVILEGED = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--inh-caps=-all",
                "--bounding-set=-all"]


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: it takes root to be another user")
def test_as_another_user_without_capabilities(hang, rankinit):
    job = hang("sleep", "--user=1000:1000")
    wait_until(lambda: look(rankinit, job.pid, UNPRIVILEGED)["suspect"], "a suspect")
    autopsy = look(rankinit, job.pid, UNPRIVILEGED)
    assert autopsy["suspect"]["class"] == "sleeps"
    assert all(one["no_stack"] is None for one in autopsy["groups"])


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: it takes root to be another user")
def test_processes_of_somebody_else(hang, rankinit):
    """Each is there, with its state, and why there is no more."""
    job = hang("sleep")
    autopsy = look(rankinit, job.pid, UNPRIVILEGED)
    assert autopsy["suspect"] is None
    assert len(autopsy["processes"]) >= RANKS
    assert {one["class"] for one in autopsy["processes"]} == {"refused"}
    assert all("the kernel refuses its memory" in one["no_stack"] for one in autopsy["groups"])


# A busy machine takes longer than a look has for all of them.
TOO_LONG = {"no Python stack: it took too long to read",
            "no Python stack: its memory was not looked at"}


def test_a_process_of_five_thousand_threads(box, rankinit):
    """Its own thread is told of, and no other one in its place."""
    job = box.start("--checks=none", "--supervise=always", "--", *PYTHON, CROWD)
    wait_until(lambda: b"there" in job.read("out"), "its threads")

    def told():
        (process,), (group,) = (look(rankinit, job.pid)[part] for part in ("processes", "groups"))
        return None if group["no_stack"] in TOO_LONG else (process, group)
    process, group = wait_until(told, "a look in time", 4 * PATIENCE)
    assert process["threads"] == 5001 and group["threads"], group["no_stack"]
    assert group["threads"][0]["main"]
    assert [frame["function"] for frame in group["threads"][0]["frames"]] == \
        ["wait", "main", "<module>"]


def test_a_filter_that_refuses(hang, rankinit, actor):
    """As Yama would refuse it, by the system call itself; and it is called so."""
    job = hang("sleep")
    deny = [actor("deny"), "process_vm_readv=EPERM", "--"]
    autopsy = look(rankinit, job.pid, deny)
    assert {one["no_stack"] for one in autopsy["groups"]} == {
        "no Python stack: a seccomp profile refuses process_vm_readv, as that of Docker before 23 "
        "does, and of containerd before 1.7; start the container with --cap-add=SYS_PTRACE"}
    assert process_of(autopsy, int(VICTIM))["call"]["name"] in ("clock_nanosleep", "select")
    assert autopsy["suspect"] is None


# Each lives a moment: the parent of a new one ends at once.
MAYFLIES = """
import ctypes, os
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
for _ in range(6):
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
            sum(range(30000))
print("there", flush=True)
while True:
    os.wait()
"""


def test_processes_that_end_meanwhile(box, rankinit):
    """What is gone was not refused; a busy machine may have no time to look at the others."""
    job = box.start("--checks=none", "--supervise=always", "--", *PYTHON, "-c", MAYFLIES)
    wait_until(lambda: b"there" in job.read("out"), job.error_text())
    for _ in range(12):
        groups = look(rankinit, job.pid)["groups"]
        assert not [one for one in groups if "refuse" in (one["no_stack"] or "")], groups


def said(job):
    return [line.removeprefix("rankinit: ") for line in job.error_text().splitlines()
            if line.startswith("rankinit: ")]


def until_said(job, part):
    wait_until(lambda: any(part in line for line in said(job)), f"{part} in {said(job)}")


ASKED = "autopsy: what the processes do:"
SILENT = "autopsy: the job had been silent; what its processes did before this stop:"
STALLED = "autopsy: no rank moves any more, and the job is silent; what its processes do:"


def test_a_signal(hang):
    """Twice is once, for ten seconds, and the ranks do not get it: they would die of it."""
    job = hang("sleep", "--autopsy-signal=USR1")
    job.signal(signal.SIGUSR1)
    until_said(job, ASKED)
    job.signal(signal.SIGUSR1)
    job.signal(signal.SIGUSR1)
    assert job.stop().status == 0
    assert said(job).count(ASKED) == 1


def test_without_the_option_the_signal_is_the_ranks(hang):
    job = hang("sleep")
    job.signal(signal.SIGUSR1)
    assert job.wait().status == 128 + signal.SIGUSR1
    assert ASKED not in said(job)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: it takes root to be another user")
def test_the_helper_is_the_user_of_the_ranks(hang):
    """The first look may find a rank on its way to where it hangs: then one is asked again."""
    job = hang("sleep", "--autopsy-signal=USR1", "--user=1000:1000")

    def names_the_victim():
        job.signal(signal.SIGUSR1)
        time.sleep(1)
        return any(line.startswith(f"  suspect: rank {VICTIM} ") for line in said(job))
    wait_until(names_the_victim, "a suspect", 4 * PATIENCE)
    until_said(job, "hang.py:")


@pytest.mark.parametrize("number", ["TERM", "KILL", "IO", "0", "nothing"])
def test_signals_that_mean_something_else(box, number):
    refused(box.run(f"--autopsy-signal={number}", "true"), 125, "option.value",
            "--autopsy-signal")


def stop_when_seen(job, folder, saved=tuple(f"saved.{rank}" for rank in range(RANKS))):
    """SIGTERM to all; the ranks end when whoever looks has ended, however slow the machine is."""
    (folder / "hold").touch()
    job.signal(signal.SIGTERM)
    wait_until(lambda: job.ended() or all((folder / name).exists() for name in saved), "SIGTERM")
    wait_until(lambda: not helper_of(job), "the end of who looks")
    (folder / "hold").unlink()
    return job.wait()


def test_before_the_stop_of_a_silent_job(hang, folder):
    """A suspect takes two looks in 0.45 s, for which the machine may be too busy now and then."""
    for _ in range(ATTEMPTS):
        job = hang("sleep", "--autopsy-after=0.5", "-v", f"--report={folder}/report.json")
        time.sleep(1)
        done = stop_when_seen(job, folder)
        assert SILENT in said(job)
        assert done.status == 0
        for rank in range(RANKS):
            assert (folder / f"saved.{rank}").stat().st_size > 100000
            (folder / f"saved.{rank}").unlink()
        report = json.loads((folder / "report.json").read_text())
        schema.check(report, "report")
        found = report["autopsy"]["suspect"]
        assert any(line.startswith("  suspect: rank 2 ") for line in said(job)) == bool(found)
        if found:
            break
    assert found["rank"] == int(VICTIM)


@pytest.mark.parametrize("options", [["--autopsy-after=0"], ["--autopsy-after=60"], [],
                                     ["--autopsy-after=0.5", "--quiet"]])
def test_a_job_that_is_not_silent_is_not_looked_at(hang, folder, options):
    job = hang("sleep", *options, f"--report={folder}/report.json")
    time.sleep(1)
    assert stop_when_seen(job, folder).status == 0
    assert SILENT not in said(job)
    report = json.loads((folder / "report.json").read_text())
    assert (report["autopsy"] is None) == ("--quiet" not in options)


def stopped_at(job, folder):
    """How long it took from the signal to the first and the last rank, in ms."""
    begun = time.monotonic()
    job.signal(signal.SIGTERM)
    job.wait()
    moments = [float((folder / f"saved.{rank}").read_text().split()[0]) for rank in range(RANKS)]
    for rank in range(RANKS):
        assert (folder / f"saved.{rank}").read_text().endswith("x" * 100000)
    return [round(1000 * (moment - begun), 1) for moment in (min(moments), max(moments))]


def helper_of(job):
    """The process that looks, or looked and was not reaped."""
    return [pid for pid in peek.children(job.pid)
            if (peek.stat(pid) or [None])[0] == "rankinit-look"]


def freeze(job):
    """Stop the process that looks as soon as it is there. Returns whether it still looked."""
    while not job.ended():
        for pid in helper_of(job):
            job.signal(signal.SIGSTOP, pid)
            return wait_until(lambda: peek.state(pid) in ("T", "Z", None), "a stop") and \
                peek.state(pid) == "T"
    return False


def test_a_helper_that_never_ends_holds_up_nobody(hang, folder):
    for _ in range(ATTEMPTS):
        job = hang("sleep", "--autopsy-after=0.5")
        time.sleep(1)
        begun = time.monotonic()
        job.signal(signal.SIGTERM)
        frozen = freeze(job)
        assert job.wait().status == 0
        if frozen:
            break
    assert frozen
    moments = [float((folder / f"saved.{rank}").read_text().split()[0]) for rank in range(RANKS)]
    print(f"helper stopped: {1000 * (min(moments) - begun):.0f} to "
          f"{1000 * (max(moments) - begun):.0f} ms from SIGTERM to the ranks")
    assert SILENT not in said(job)


def test_a_second_stop_passes_the_first_one_on(hang, folder):
    job = hang("sleep", "--autopsy-after=0.5")
    time.sleep(1)
    job.signal(signal.SIGTERM)
    freeze(job)
    time.sleep(0.06)
    job.signal(signal.SIGTERM)
    assert job.wait().status == 0
    assert (folder / "saved.0").stat().st_size > 100000


def test_a_process_that_is_refused(box, actor, folder):
    """One warning, and the stop goes on as if there were no autopsy. 29 is SIGIO."""
    program = everybody.copy(os.path.join(HERE, "hang.py"))
    job = box.start("clone:0=29=EAGAIN", "--", box.rankinit, f"--nproc-per-node={RANKS}",
                    "--checks=none", "--autopsy-after=0.5", "--", *PYTHON, program, folder,
                    "sleep", VICTIM, program=actor("deny"))
    wait_until(lambda: job.read("out").count(b"hangs") == RANKS, job.error_text())
    time.sleep(1)
    print("refused:", stopped_at(job, folder), "ms from SIGTERM to the ranks")
    warnings = [line for line in said(job) if line.endswith("[autopsy.refused]")]
    assert len(warnings) == 1, said(job)


@pytest.fixture
def memory(tmp_path):
    """A memory cgroup of 80 MB: the folder, and the names of its limit and its usage."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        own = [line.strip().split(":", 2) for line in file]
    path = next((path for _, names, path in own if "memory" in names.split(",")), None)
    folder = f"/sys/fs/cgroup/memory{path}/autopsy-{os.getpid()}"
    files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    if path is None:
        folder = f"/sys/fs/cgroup{own[-1][2]}/autopsy-{os.getpid()}".replace("//", "/")
        files = ("memory.max", "memory.current")
    try:
        os.mkdir(folder)
        with open(f"{folder}/{files[0]}", "w", encoding="ascii") as file:
            file.write(str(80 << 20))
    except OSError as error:
        pytest.skip(f"NOT TESTED: no memory cgroup can be made here: {error}")
    yield (folder, f"{folder}/{files[1]}")
    wait_until(lambda: not open(f"{folder}/cgroup.procs").read(), "the end of all of them")
    os.rmdir(folder)


FULL = """
import mmap, os, signal, sys, time
def save(*_):
    with open(sys.argv[3], "w") as file:
        file.write("x" * 100000)
    while os.path.exists(sys.argv[4]):
        time.sleep(0.01)
    os._exit(0)
signal.signal(signal.SIGTERM, save)
with open(sys.argv[1]) as file:
    hoard = mmap.mmap(-1, (80 << 20) - int(file.read()) - (int(sys.argv[2]) << 10))
for page in range(0, len(hoard), 4096):
    hoard[page] = 1
print("hangs", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("kilobytes, looks", [(3000, False), (40000, True)])
def test_where_memory_ends_no_rank_is_killed_for_a_look(box, folder, memory, kilobytes, looks):
    """A fork at the limit would have the kernel kill the largest process there."""
    job = box.start("--autopsy-after=0.5", "--supervise=always", "--", *PYTHON, "-c", FULL,
                    memory[1], str(kilobytes), folder / "saved", folder / "hold",
                    shell=f"echo $$ >{memory[0]}/cgroup.procs")
    wait_until(lambda: job.ended() or b"hangs" in job.read("out"), "a full cgroup")
    time.sleep(1)
    assert stop_when_seen(job, folder, ["saved"]).status == 0, job.error_text()
    assert (SILENT in said(job)) == looks, said(job)
    assert any(line.endswith("[autopsy.refused]") for line in said(job)) != looks
    assert (folder / "saved").stat().st_size == 100000


def test_all_that_wake_it_at_once(hang, box, folder):
    """The roll call, the link and the autopsy have one signal: each takes its own."""
    job = hang("sleep", "--autopsy-signal=USR1", "--stall=1", "--link", "--roll-call=0.3",
               "--nnodes=2", "--node-rank=1", "--master-addr=10.255.255.1", "--master-port=29511")
    for _ in range(3):
        job.signal(signal.SIGUSR1)
        time.sleep(0.1)
    until_said(job, ASKED)
    until_said(job, STALLED)
    until_said(job, "node 1 has not connected to node 0 (10.255.255.1:29511)")
    wait_until(lambda: not [pid for pid in helper_of(job) if peek.state(pid) == "Z"], "reaping")
    job.stop()


def test_a_rank_in_vfork_is_stopped_all_the_same(hang, folder, dead):
    for _ in range(ATTEMPTS):
        job = hang("vfork", "--autopsy-after=0.5", "--grace=2")
        time.sleep(1)
        begun = time.monotonic()
        job.signal(signal.SIGTERM)
        job.wait()
        moments = [float((folder / f"saved.{rank}").read_text().split()[0]) for rank in (0, 1, 3)]
        print(f"a rank in vfork: {1000 * (min(moments) - begun):.0f} to "
              f"{1000 * (max(moments) - begun):.0f} ms from SIGTERM to the other ranks")
        if any("waits in vfork" in line for line in said(job)):
            return
    assert False, said(job)


def test_what_the_look_costs_a_stop(hang, folder):
    """Printed; the control is a stop without it."""
    for after in ("0.5", "0"):
        job = hang("sleep", f"--autopsy-after={after}")
        time.sleep(1)
        print(f"--autopsy-after={after}:", stopped_at(job, folder),
              "ms from SIGTERM to the first and the last rank")
        for rank in range(RANKS):
            (folder / f"saved.{rank}").unlink()


def test_a_stall_is_said_once(hang):
    job = hang("sleep", "--stall=1")
    until_said(job, STALLED)
    until_said(job, "  suspect: rank 2 ")
    time.sleep(2.5)
    assert job.stop().status == 0
    assert said(job).count(STALLED) == 1


def test_a_job_that_moves_does_not_stall(hang):
    """The control: one rank that works is enough, and so is a job that prints."""
    job = hang("turns", "--stall=1")
    time.sleep(4)
    job.signal(signal.SIGKILL, job.main())
    assert STALLED not in said(job)


def test_without_it_rankinit_never_wakes_up(hang):
    """It is on before a stop, and costs nothing until there is one."""
    job = hang("sleep", "--autopsy-after=0.5", "--autopsy-signal=USR1")
    def switches():
        return peek.field(job.pid, "voluntary_ctxt_switches")
    wait_until(lambda: peek.rests(job.pid), "it sleeps")
    before = switches()
    time.sleep(1.5)
    assert switches() == before
