# SPDX-License-Identifier: Apache-2.0
"""
One rank behind a launcher that owns it: it tells why it failed, and the launcher sees what it would
see of the rank alone. The test is the launcher; tests/frameworks/test_behind.py has real ones.
"""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys

import pytest

import peek
from box import BASE, read_brief
from peek import wait_until

PYTHON = [sys.executable, "-I", "-S", "-c"]
RAISES = "raise ValueError('bad batch 17')"
LOST = "raise RuntimeError('[gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:80')"
OPENMPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4",
           "OMPI_COMM_WORLD_LOCAL_RANK": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "4",
         "MASTER_ADDR": "node-0"}
SLURM = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "2", "SLURM_NTASKS": "4",
         "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "2", "SLURM_STEP_TASKS_PER_NODE": "4",
         "SLURM_STEP_NUM_NODES": "1", "SLURM_NODEID": "0", "SLURM_STEP_NODELIST": "localhost",
         "SLURM_NNODES": "1", "SLURM_TASK_PID": "1"}
MVAPICH = {"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4",
           "MV2_COMM_WORLD_LOCAL_RANK": "2", "MV2_COMM_WORLD_LOCAL_SIZE": "4"}


def call_oneself(name):
    """Whose name decides whether its signals are known."""
    with open("/proc/self/comm", "r+", encoding="ascii") as file:
        before = file.read().strip()
        if name is not None:
            file.write(name)
    return before


@pytest.fixture
def launch(rankinit):
    """As a launcher does: the rank leads its process group, and each write to stderr is apart."""
    started, name = [], call_oneself(None)

    def start(command, *options, env=None, program=(), called=None, **more):
        ours, theirs = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)     # packets: pipe(2)
        more.setdefault("stderr", theirs)
        call_oneself(called or ("hydra_pmi_proxy" if "PMI_RANK" in (env or {}) else "orted"))
        job = subprocess.Popen(
            [*program, rankinit, "--checks=none", *options, "--", *command],
            env={**BASE, "MASTER_ADDR": "127.0.0.1", **(OPENMPI if env is None else env)},
            stdin=more.pop("stdin", subprocess.DEVNULL), start_new_session=True,
            # nohup(1) before the tests is not meant for what they start
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL), **more)
        os.close(theirs)
        job.packets, job.until = lambda: packets(ours), lambda word: until(ours, word)
        started.append((job, ours))
        return job
    yield start
    call_oneself(name)
    for job, ours in started:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        os.close(ours)


def packets(fd):
    found = []
    while packet := os.read(fd, 65536):
        found.append(packet.decode())
    return found


def until(fd, word):
    seen = ""
    while word not in seen:
        assert select.select([fd], [], [], 3 * peek.PATIENCE)[0], seen
        seen += os.read(fd, 65536).decode()
    return seen


def end(job):
    """
    Its status, what the rank wrote, and what rankinit did: a list of whole writes. What the rank
    wrote, which passes as bytes, may be in one read with a packet behind it.
    """
    wrote, ours = "", []
    for text in job.packets():
        before, own, after = re.split(r"^(rankinit: |\Z)", text, maxsplit=1, flags=re.M)
        wrote += before
        ours += [own + after] if own else []
    job.wait(peek.PATIENCE)
    return job.returncode, wrote, ours


def verdict(lines):
    """Of the one write that there is."""
    assert len(lines) == 1 and len(lines[0]) <= 4096, lines
    return read_brief(lines[0].splitlines()[-1])


@pytest.mark.parametrize("env", [OPENMPI, HYDRA, SLURM], ids=["openmpi", "hydra", "slurm"])
def test_the_rank_that_failed_says_why_once(launch, env):
    job = launch([*PYTHON, RAISES], env=env)
    status, wrote, ours = end(job)
    brief = verdict(ours)
    assert status == 1 and wrote.endswith("ValueError: bad batch 17\n")
    assert {name: brief[name] for name in ("cause", "class", "retry", "rank", "status")} == {
        "cause": "exception", "class": "own", "retry": "never", "rank": "2", "status": "1"}
    assert ("stops the other ranks only if they use MPI" in ours[0]) == (env is HYDRA)
    assert f" below {job.pid} on " in ours[0] and "\nrankinit:   ValueError: bad batch 17\n" in \
        ours[0]


@pytest.mark.parametrize("last", ["exit 0", "exit 3", "kill -9 $$", "kill -11 $$", "kill -6 $$",
                                  "kill -1 $$", "kill -15 $$", "exit 143"])
def test_the_end_is_the_rank_s_own(launch, last):
    """By the same signal; the control becomes the command."""
    plain = end(launch(["sh", "-c", last], "--supervise=never"))
    status, wrote, ours = end(launch(["sh", "-c", last]))
    assert (status, wrote) == plain[:2] and plain[2] == []
    assert (verdict(ours)["rank"] == "2") if status != 0 else ours == []
    assert status == 0 or re.search(r"\bpid \d+ below \d+\b", ours[0])


def test_a_victim_has_one_line(launch):
    status, _, ours = end(launch([*PYTHON, LOST]))
    assert (status, ours) == (1, ["rankinit: rank 2 lost a peer: exit status 1\n"])


def test_of_many_victims_those_that_are_stopped_are_silent(launch):
    """It is not told of the end before the stop is there as well."""
    def lose(size):
        job = launch([*PYTHON, "input();" + LOST], stdin=subprocess.PIPE,
                     env={**OPENMPI, "OMPI_COMM_WORLD_SIZE": size,
                          "OMPI_COMM_WORLD_LOCAL_SIZE": size})
        rank, = wait_until(lambda: peek.children(job.pid), "the rank")
        os.kill(job.pid, signal.SIGSTOP)
        wait_until(lambda: peek.stat(job.pid)[1] == "T", "rankinit is stopped")
        job.stdin.write(b"\n")
        job.stdin.close()
        wait_until(lambda: peek.stat(rank)[1] == "Z", "the rank has ended")
        os.kill(job.pid, signal.SIGCONT)
        return end(job)[2]
    assert lose("65") == [] and len(lose("64")) == 1


COUNTS = "; ".join(f"trap 'echo {name} >>$1/$2' {name}" for name in ("TERM", "USR1", "HUP"))
WAITS = f"{COUNTS}; echo ready >>$1/$2; while [ ! -e $1/end ]; do sleep 0.02; done; exit 0"
TWO = f'(set -- "$1" child; {WAITS}) & {WAITS}'


@pytest.fixture
def counted(launch, tmp_path):
    """A rank with a child, both of which note their signals; and what each has noted."""
    def start(*options, **more):
        job = launch(["sh", "-c", TWO, "sh", str(tmp_path), "rank"], *options, **more)
        wait_until(lambda: all((tmp_path / name).exists() for name in ("rank", "child")), "both")
        # what comes before rankinit knows that the rank is there is passed on as well
        wait_until(lambda: os.readlink(f"/proc/{job.pid}/fd/1") == "/dev/null", "rankinit")
        return job

    def noted():
        return {name: (tmp_path / name).read_text().split()[1:] for name in ("rank", "child")}
    yield start, noted, lambda: (tmp_path / "end").touch()


@pytest.mark.parametrize("name", ["TERM", "USR1", "HUP"])
def test_what_the_launcher_sends_its_group_is_not_sent_twice(counted, name):
    """A second signal, which nobody passes on either, comes after what was passed on."""
    start, noted, release = counted
    job = start()
    for sent in (name, "USR1" if name != "USR1" else "HUP"):
        os.killpg(job.pid, getattr(signal, f"SIG{sent}"))
        wait_until(lambda sent=sent: all(sent in got for got in noted().values()), sent)
    release()
    assert end(job)[0] == 0
    assert all(len(got) == 2 and got[0] == name for got in noted().values()), noted()


def test_what_another_one_sends_is_passed_on(counted):
    start, noted, release = counted
    job = start()
    subprocess.run(["kill", "-USR1", str(job.pid)], check=True)
    wait_until(lambda: noted()["rank"], "the signal")
    release()
    assert end(job)[0] == 0 and noted() == {"rank": ["USR1"], "child": []}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU])
def test_a_rank_that_was_stopped_is_silent(launch, number):
    """By any signal that its launcher passes on; the control is sent to the rank alone."""
    for to_all in (True, False):
        job = launch(["sh", "-c", "echo ready >&2; exec sleep 60"])
        job.until("ready")
        os.kill(-job.pid if to_all else peek.children(job.pid)[0], number)
        status, _, ours = end(job)
        assert status == -number and len(ours) == (not to_all), ours


def test_a_rank_whose_reader_has_gone_ends_of_that(launch):
    reader, writer = os.pipe()
    job = launch(["sh", "-c", "echo ready; while echo more >&2; do :; done; exit 5"],
                 stderr=writer, stdout=subprocess.PIPE)
    os.close(writer)
    job.stdout.readline()
    os.close(reader)
    assert job.wait(peek.PATIENCE) in (-signal.SIGPIPE, 5)


CAUGHT = """import signal, sys, time, traceback
signal.signal(signal.SIGTERM, %s)
try: raise ValueError('bad batch 17')
except ValueError: traceback.print_exc()
print('ready', file=sys.stderr, flush=True)
time.sleep(60)"""


@pytest.mark.parametrize("handler, status", [
    ("signal.SIG_DFL", -signal.SIGTERM), ("lambda *_: sys.exit(143)", 143),
    ("lambda *_: sys.exit(0)", 0)])
def test_what_it_had_printed_before_a_stop_is_not_judged(launch, handler, status):
    job = launch([*PYTHON, CAUGHT % handler])
    job.until("ready")
    os.killpg(job.pid, signal.SIGTERM)
    ended, _, ours = end(job)
    assert (ended, ours) == (status, [])


def test_a_crash_after_a_stop_is_the_rank_s_own(launch):
    job = launch(["sh", "-c", "trap 'kill -11 $$' TERM; echo ready >&2; "
                  "while :; do sleep 0.1; done"])
    job.until("ready")
    os.killpg(job.pid, signal.SIGTERM)
    status, _, ours = end(job)
    assert status == -signal.SIGSEGV and verdict(ours)["cause"] == "signal"


def test_a_rank_with_a_group_of_its_own_is_stopped(launch):
    """timeout(1) makes one; the launcher's signal reaches it by rankinit alone."""
    job = launch(["timeout", "60", "sh", "-c", "echo ready >&2; exec sleep 60"])
    job.until("ready")
    os.killpg(job.pid, signal.SIGTERM)
    assert end(job)[0] in (124, -signal.SIGTERM, 143)


def test_a_verdict_that_is_too_long_keeps_its_ends(launch):
    text = "x" * 150
    _, _, ours = end(launch([*PYTHON, "\n".join(
        f"def f{i}(): f{i + 1}()  # {text}" for i in range(60)) + f"\ndef f60(): {RAISES}\nf0()"]))
    assert verdict(ours)["rank"] == "2"
    assert ours[0].startswith("rankinit: rank 2 (local rank 2, ")


def test_what_is_passed_in_stays_open(launch):
    """Hydra kills all ranks when the last copy of PMI_FD is closed; stdin and stdout are let go."""
    theirs, ours = os.pipe()
    job = launch(["sh", "-c", "echo ready >&2; exec sleep 60"], pass_fds=[ours],
                 stdin=theirs, env={**HYDRA, "PMI_FD": str(ours)})
    job.until("ready")
    def links():
        return {fd: os.readlink(f"/proc/{job.pid}/fd/{fd}") for fd in (0, 1, ours)}
    wait_until(lambda: links()[1] == "/dev/null", links)
    assert links()[0] == "/dev/null" and links()[ours] == os.readlink(f"/proc/self/fd/{ours}")
    os.close(theirs)
    os.close(ours)


def test_what_the_rank_left_is_the_launcher_s(launch, tmp_path):
    """It is neither adopted nor waited for: rankinit has ended while it lives."""
    job = launch(["sh", "-c", f"sh -c 'echo $$ >{tmp_path}/pid; exec sleep 60' 2>/dev/null & "
                  f"while [ ! -s {tmp_path}/pid ]; do sleep 0.01; done; exit 3"])
    status, _, ours = end(job)
    left = int((tmp_path / "pid").read_text())
    assert status == 3 and verdict(ours)["status"] == "3" and peek.stat(left)[0] == "sleep"
    os.kill(left, signal.SIGKILL)


OVER = """import ctypes
libc = ctypes.CDLL(None)
ctypes.pythonapi.Py_AtExit(ctypes.cast(libc.pause, ctypes.c_void_p))
raise ValueError('bad batch 17')"""


def test_one_that_waits_behind_its_last_line_is_told_of(launch):
    """As mpi4py does in MPI_Finalize; the control waits as long and is at work."""
    busy = launch([*PYTHON, CAUGHT % "signal.SIG_DFL"])
    job = launch([*PYTHON, OVER])
    job.until("bad batch 17\n")
    said = job.until("handler\n")
    assert re.search(r"^rankinit: rank 2 raised ValueError: bad batch 17 and has not ended for "
                     r"3\d s: its interpreter has ended, and it waits in MPI_Finalize or another "
                     r"exit handler$", said, re.M), said
    os.killpg(busy.pid, signal.SIGTERM)
    os.killpg(job.pid, signal.SIGKILL)
    assert [line for line in end(busy)[2] if "has not ended" in line] == []


def test_lines_pass_whole(launch, tmp_path):
    """At most as many bytes at a time as a pipe takes whole (pipe(7), PIPE_BUF)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    text = "".join(f"{number:0999}\n" for number in range(40))
    script = f"import os; input(); os.write(2, {text!r}.encode()); open('{tmp_path}/wrote', 'w')"
    job = launch([*PYTHON, script], stderr=theirs, stdin=subprocess.PIPE)
    wait_until(lambda: peek.children(job.pid), "the rank")
    os.kill(job.pid, signal.SIGSTOP)
    wait_until(lambda: peek.stat(job.pid)[1] == "T", "rankinit is stopped")
    job.stdin.write(b"\n")
    job.stdin.close()
    wait_until((tmp_path / "wrote").exists, "the lines are in the pipe")
    os.kill(job.pid, signal.SIGCONT)
    theirs.close()
    parts = list(iter(lambda: ours.recv(65536).decode(), ""))
    ours.close()
    assert "".join(parts) == text and len(parts) == 10
    assert all(part.endswith("\n") and len(part) <= 4096 for part in parts)


def test_a_part_of_a_line_goes_on_at_once(launch):
    job = launch(["sh", "-c", "printf 'name? ' >&2; read name; exit 0"], stdin=subprocess.PIPE)
    assert job.until("?") == "name? "
    job.stdin.write(b"x\n")
    job.stdin.close()
    assert end(job)[0] == 0


@pytest.mark.parametrize("stderr", ["&-", "/dev/full", "/dev/null"])
def test_where_stderr_takes_nothing_the_end_is_the_same(launch, stderr):
    shell = ["sh", "-c", f'exec "$@" 2>{stderr}', "sh"]
    job = launch(["sh", "-c", "echo lost >&2; kill -11 $$"], program=shell)
    assert end(job) == (-signal.SIGSEGV, "", [])


def parent(launch, *options, env=None, **more):
    """What the parent of the command is."""
    job = launch(["sh", "-c", "cat /proc/$PPID/comm"], *options, env=env,
                 stdout=subprocess.PIPE, **more)
    out = job.stdout.read().decode().strip()
    job.wait(peek.PATIENCE)
    return out


def test_elsewhere_it_becomes_the_command(launch):
    """Where the launcher's signals are not known, it is told of otherwise, or is a terminal's."""
    assert parent(launch) == "rankinit", "the control"
    main, side = pty.openpty()
    others = [parent(launch, "--supervise=never"), parent(launch, env=MVAPICH),
              parent(launch, called="wrapper").replace("wrapper", "orted"),
              parent(launch, env=HYDRA, called="orted"),
              parent(launch, env={**OPENMPI, "OMPI_COMM_WORLD_SIZE": "1",
                                  "OMPI_COMM_WORLD_RANK": "0",
                                  "OMPI_COMM_WORLD_LOCAL_RANK": "0",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}),
              parent(launch, env={**OPENMPI, "RANKINIT_OUTER": "manager"}),
              parent(launch, stderr=side)]
    os.close(main)
    os.close(side)
    assert "rankinit" not in others and len(set(others)) == 1, others


def test_two_of_them_say_it_once(launch, rankinit):
    _, _, ours = end(launch([rankinit, "--checks=none", "--", *PYTHON, RAISES]))
    assert verdict(ours)["cause"] == "exception"


def test_a_command_that_is_not_there(launch):
    job = launch(["no-such-command"])
    status, _, ours = end(job)
    assert status == 127 and len(ours) == 2 and "[exec.not_found]" in ours[0], ours
    assert read_brief(ours[1].strip())["cause"] == "exec"


# A launcher with one child: both say what comes.
STARTER = """#!/usr/bin/python3 -IS
import os, signal
NUMBERS = {signal.SIGTERM, signal.SIGRTMAX}
signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
name = b"child" if os.fork() == 0 else b"launcher"
os.write(2, name + b" ready\\n")
while True:
    os.write(2, name + b" %d\\n" % signal.sigwaitinfo(NUMBERS).si_signo)
"""
NODE = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}


@pytest.mark.parametrize("option", ["--supervise=auto", "--supervise=never", "--supervise=always"])
def test_what_a_launcher_starts_has_the_signals_of_its_group(launch, tmp_path, option):
    """
    Below mpirun, which starts torchrun once on each node and signals process groups: each has a
    signal once, as without rankinit. The control is an init, whose command has a group of its own.
    """
    program = tmp_path / "torchrun"
    program.write_text(STARTER, encoding="ascii")
    program.chmod(0o755)
    job = launch([str(program), "train.py"], option, env=NODE)
    who = ["launcher"] if option == "--supervise=always" else ["child", "launcher"]
    seen = ""

    def until_both(what, names=("child", "launcher"), times=1):
        nonlocal seen
        while any(seen.count(f"{name} {what}\n") < times for name in names):
            seen += job.until("\n")
    until_both("ready")
    for number, times in ((int(signal.SIGRTMAX), 1), (int(signal.SIGTERM), 1),
                          (int(signal.SIGRTMAX), 2)):
        os.killpg(job.pid, number)
        until_both(number, who, times)
    came = re.findall(r"^(?:child|launcher) \d+$", seen, re.M)
    assert len(came) == 3 * len(who), came
    parent = job.pid if option == "--supervise=never" else peek.children(job.pid)[0]
    child, = peek.children(parent)
    os.killpg(job.pid, signal.SIGKILL)
    assert job.wait(peek.PATIENCE) == -signal.SIGKILL
    if len(who) == 1:
        os.kill(child, signal.SIGKILL)
