# SPDX-License-Identifier: Apache-2.0
"""A check that does not end, or not as it should; and a stop meanwhile."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import pytest

import peek
from box import BASE, Result, warned
from deadmount import is_held, mounted
from peek import PATIENCE, wait_until
from test_check import HUGE, ONE, UNMET, machine, rank, unfit
from verdict import names


@pytest.fixture
def dead(tmp_path):
    """A machine some files of which lie on a FUSE mount that nobody answers for."""
    root = machine(tmp_path)
    point = os.path.join(root, "dead")

    def hide(*paths):
        for path in paths:
            os.remove(os.path.join(root, path))
            os.symlink("/dead/file", os.path.join(root, path))
        return root
    with mounted(point):
        yield hide


def results(out, name=None):
    return [one for one in json.loads(out)["checks"] if name in (None, one["id"])]


def test_a_check_that_hangs_is_named_and_the_others_go_on(box, dead):
    root = dead("proc/self/mountinfo")
    result = box.run("--check=json", "--checks=shm.size,lim.memlock", f"--root={root}")
    assert result.status == 0
    hung, = results(result.out, "shm.size")
    assert (hung["status"], hung["code"], hung["subject"]) == ("unknown", "check.hung", "shm.size")
    assert "500 ms" in hung["text"] and "--checks=default,^shm.size" in hung["hint"]
    assert results(result.out, "lim.memlock")[0]["status"] == "pass"


@pytest.mark.parametrize("asked, status", [("shm.size", 123), ("shm=1k", 123), ("ofed", 123),
                                           ("lim.memlock", 0)])
def test_required_and_unknown_is_not_fit(box, dead, asked, status):
    root = dead("proc/self/mountinfo")
    result = box.run("--check=json", "--checks=shm.size,lim.memlock", f"--require={asked}",
                     f"--root={root}")
    assert result.status == status
    assert json.loads(result.out)["fit"] == (status == 0)


def test_many_hang_and_the_others_run(box, dead):
    """Each takes a third of the time that is left at most, so that some always is."""
    hanging = ["shm.size", "shm.free", "lim.memlock", "lim.nofile", "fs.hang"]
    root = dead("proc/self/mountinfo", "proc/self/limits")
    # few enough that a machine that is slow has a part of a second left for the others
    checks = ",".join([*hanging, "fs.out", "gpu.vendor"])
    result = box.run("--check=json", f"--checks={checks}", f"--root={root}")
    codes = {one["id"]: one["code"] for one in results(result.out)}
    hung = {name for name, code in codes.items() if code == "check.hung"}
    assert hung == set(hanging)
    assert codes["fs.out"] is None and codes["gpu.vendor"] is None
    times = [int(re.search(r"within (\d+) ms", one["text"]).group(1))
             for one in results(result.out) if one["id"] in hung]
    assert times[0] == 500 and times == sorted(times, reverse=True) and times[-1] < 300
    assert result.status == 0


def test_all_hang_and_it_ends(box, dead):
    """There is a deadline for all; those that are not reached are one line of a launch."""
    root = dead()
    for name in ("proc", "sys", "dev", "etc"):
        shutil.rmtree(os.path.join(root, name), ignore_errors=True)
        os.symlink("/dead/file", os.path.join(root, name))
    result = box.run("--check=json", "--checks=all", f"--root={root}")
    codes = [one["code"] for one in results(result.out)]
    first = codes.index("check.unreached")
    assert set(codes[first:]) == {"check.unreached"} and "check.hung" in codes[:first]
    assert [one["text"] for one in results(result.out)][first] == "not reached in time"
    shown = box.run("--explain=json", "--checks=all", "--expect=gpu,ib,mpi,shm=1G,ofed",
                    "--require=cg.cpu", f"--root={root}", "--", "true", env=rank(0))
    late = [(one["severity"], one["subject"]) for one in json.loads(shown.out)["findings"]
            if one["code"] == "check.unreached"]
    assert (shown.status, late) == (123, [("error", "--require"), ("warning", "--checks")])


# The kernel gives no process to check in.

@pytest.fixture
def no_process(box, actor):
    """Run rankinit where fork(2) fails, and clone(2), which makes the command, does not."""
    def run(*words):
        return box.run("fork=EAGAIN", "--", box.rankinit, *words, program=actor("deny"),
                       env=rank(0))
    if box.run("fork=EAGAIN", "--", "true", program=actor("deny")).status != 0:
        pytest.skip("there is no fork(2) here, or no seccomp")
    return run


def test_without_a_process_a_launch_goes_on(no_process):
    result = no_process("--expect=gpu,ib=8", "--", "sh", "-c", "echo ran; exit 7")
    assert (result.status, result.out) == (7, b"ran\n")
    line = warned(result, "check.refused", "--checks")
    assert "gpu.vendor" in line and " more: not run: " in line and "--pids-limit" in line
    first, last = result.lines()
    assert "mount" not in line and line in first
    assert names(last, 0, 0)


def test_without_a_process_what_is_required_is_unknown(no_process):
    result = no_process("--require=gpu", "--checks=shm.write,gpu.count", "--", "sh", "-c",
                        "echo ran")
    line = unfit(result, "check.refused", "--require")
    assert "gpu.open" in line and "shm.write" not in line and "--pids-limit" in line
    assert "shm.write" in warned(result, "check.refused", "--checks")
    shown = json.loads(no_process("--check=json", "--require=gpu").out)
    assert {one["code"] for one in shown["checks"]} == {"check.refused"}
    assert not shown["fit"]


def child_of(pid):
    def look():
        return list(filter(is_held, peek.children(pid)))
    return wait_until(look, "the child that checks", 5)[0]


def test_a_check_that_is_killed_is_named(box, dead):
    root = dead("proc/self/mountinfo")
    job = box.start("--check=json", "--checks=shm.size,lim.memlock", f"--root={root}")
    job.signal(signal.SIGKILL, child_of(job.pid))
    result = job.wait()
    killed, = results(result.out, "shm.size")
    assert (killed["status"], killed["code"]) == ("unknown", "check.crashed")
    assert "was ended by SIGKILL" in killed["text"]
    assert results(result.out, "lim.memlock")[0]["status"] == "pass"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("place", ["init", "below"])
def test_a_stop_ends_it_at_once(box, dead, number, place):
    root = dead("proc/self/mountinfo")
    job = box.start("--check", "--checks=shm.size", f"--root={root}", place=place)
    child_of(job.pid)
    job.signal(number)
    result = job.wait()
    assert (result.status, result.out) == (128 + number, b"")
    assert job.others() == {}, "no child stays"


def test_a_hang_under_load_of_other_signals(box, dead):
    """Signals that are no stop, and orphans, do not disturb the waiting."""
    root = dead("proc/self/mountinfo")
    job = box.start("--check=json", "--checks=shm.size", f"--root={root}")
    child_of(job.pid)
    for number in (signal.SIGUSR1, signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT):
        job.signal(number)
    assert results(job.wait().out)[0]["code"] == "check.hung"


@pytest.mark.parametrize("trap, status", [("trap '' HUP", 0), ("true", 129)])
def test_a_stop_that_we_were_started_to_ignore(box, dead, trap, status):
    """As nohup(1) does; without it, the control, it ends the checks."""
    root = dead("proc/self/mountinfo")
    job = box.start("--check=json", "--checks=shm.size", f"--root={root}", shell=trap)
    child_of(job.pid)
    job.signal(signal.SIGHUP)
    assert job.wait().status == status


def test_sigchld_ignored_by_whoever_started_us(box):
    result = box.run("--check", shell="trap '' CHLD")
    assert result.status == 0 and b"shm.size" in result.out


# Before a launch.

@pytest.fixture
def hung_launch(box):
    """Start rankinit where /dev/shm is a FUSE mount that nobody answers for."""
    libc = ctypes.CDLL(None, use_errno=True)
    devices, started = [], []

    def enter():
        options = f"fd={devices[-1]},rootmode=40000,user_id=0,group_id=0"
        if (libc.unshare(0x20000) != 0      # CLONE_NEWNS; MS_REC | MS_PRIVATE
                or libc.mount(None, b"/", None, 0x44000, None) != 0
                or libc.mount(b"dead", b"/dev/shm", b"fuse", 0, options.encode()) != 0):
            os._exit(99)

    def run(words, **env):
        try:
            devices.append(os.open("/dev/fuse", os.O_RDWR))
        except OSError as error:
            pytest.skip(f"no FUSE here: {error}")
        process = subprocess.Popen(words, env={**BASE, **ONE, **env},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=enter,
                                   pass_fds=(devices[-1],))
        started.append(process)
        return process

    def start(*options, check="shm.write", **env):
        return run([box.rankinit, f"--checks={check}", *options, "--", "sh", "-c",
                    "echo ran; exit 7"], **env)
    if run(["/bin/true"]).wait(PATIENCE) == 99:
        pytest.skip("no FUSE mount can be made here")
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    for device in devices:
        os.close(device)


@pytest.mark.parametrize("supervise", ["always", "never"])
def test_a_launch_goes_on_after_a_hang(hung_launch, supervise):
    process = hung_launch("--expect=shm=1k", f"--supervise={supervise}")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (7, b"ran\n")
    assert err.startswith(b"rankinit: warning: shm.write: did not end within 500 ms")
    assert err.endswith(b" [check.hung]\n")


def test_what_is_no_memory_is_not_measured(hung_launch):
    """The table of mounts says enough of it."""
    process = hung_launch("--expect=shm=1k", check="shm.size")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (7, b"ran\n")
    assert b"[shm.size.absent]" in err and b"check.hung" not in err


def test_a_hang_of_what_is_required(hung_launch):
    process = hung_launch("--require=shm=1k")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (123, b"")
    end = Result(process.returncode, out, err.decode())
    assert "[check.hung]" in end.err and end.err.endswith("[check.unfit]\n")
    assert end.brief["cause"] == "unfit"


@pytest.mark.parametrize("options", [["--supervise=never"], [], ["--report=report"]], ids=str)
def test_a_stop_before_the_command_is_there(hung_launch, tmp_path, options):
    report = tmp_path / "report"
    options = [option.replace("=report", f"={report}") for option in options]
    process = hung_launch("--expect=shm=1k", *options, TMPDIR=str(tmp_path))
    checker = child_of(process.pid)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    end = Result(process.returncode, out, err.decode())
    assert (end.status, end.out, end.err, end.brief["cause"]) == (143, b"", "", "preempted")
    wait_until(lambda: not os.path.exists(f"/proc/{checker}"), "no child stays")
    assert report.exists() == (len(options) > 0 and "--report" in options[0])
    if not report.exists():
        return
    said = json.loads(report.read_text())
    assert (said["exit_status"], said["stop"]["signal"]) == (143, "SIGTERM")
    assert [rank["state"] for rank in said["ranks"]] == ["not-started"]


def test_the_command_finds_nothing_of_it(box):
    """No child, no descriptor, no signal is left for the command; in place and supervised."""
    shell = ("ls /proc/self/fd | wc -l; grep -E 'Sig(Pnd|Blk|Ign)|ShdPnd' /proc/self/status; "
             "cat /proc/self/task/*/children; ulimit -c; ulimit -v")
    for place in ("init", "below"):
        for option in ("--supervise=always", "--supervise=never"):
            plain = box.run("--checks=none", option, "--", "sh", "-c", shell, env=ONE, place=place)
            checked = box.run(f"--expect={HUGE}", option, "--", "sh", "-c", shell, env=ONE,
                              place=place)
            assert "[shm.size.small]" in checked.err, "the control: it was checked"
            assert checked.out == plain.out


def test_a_child_s_end_is_not_taken_for_the_command_s(box):
    result = box.run(f"--expect={HUGE}", "--", "sh", "-c", "sleep 0.2; exit 7", env=ONE)
    assert result.status == 7


def test_stderr_that_nobody_reads(box):
    """A full pipe drops lines, and the launch goes on."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    job = box.start(f"--expect={HUGE}", "--", "sh", "-c", "exit 7", env=ONE, stderr=write)
    os.close(write)
    assert job.wait().status == 7
    os.close(read)


# What it costs.

def test_one_process_checks_where_a_job_begins(box, tool, tmp_path):
    """Else none is made but the command's own."""
    def processes(*options, env):
        trace = tmp_path / "trace"
        subprocess.run([tool("strace"), "-f", "-e", "trace=clone,fork,vfork,clone3", "-o",
                        str(trace), box.rankinit, *options, "--", "/bin/true"],
                       env={**BASE, **env}, timeout=PATIENCE, check=True, capture_output=True)
        return len(re.findall(r"(?:clone|fork|vfork|clone3)\(", trace.read_text()))

    assert processes("--supervise=always", "--checks=none", env=ONE) == 1
    assert processes("--supervise=always", "--checks=none", UNMET, env=ONE) == 1
    assert processes("--supervise=always", "--checks=shm.*", env=rank(1)) == 1
    assert processes("--supervise=always", UNMET, env={}) == 1, "no job"
    assert processes("--supervise=always", env=ONE) == 2
    assert processes("--supervise=always", "--checks=shm.*", "--expect=shm=1k", env=ONE) == 2


def test_many_at_once(box, tmp_path):
    """Checks of several containers on a machine do not know of each other."""
    root = machine(tmp_path)
    statuses = []

    def one():
        done = subprocess.run([box.rankinit, "--check", f"--root={root}"], env=BASE,
                              capture_output=True, timeout=PATIENCE, check=False)
        statuses.append(done.returncode)
    threads = [threading.Thread(target=one) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 16
