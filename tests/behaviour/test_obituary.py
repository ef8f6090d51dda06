# SPDX-License-Identifier: Apache-2.0
"""The one line about an abnormal end: who, by which signal, why, who asked."""

import re
import signal
import subprocess

import pytest

from box import BASE, Result
from peek import PATIENCE

SH = ["--", "/bin/sh", "-c"]
# 64 MiB in a group that may have 32; nothing is swapped out.
GREEDY = "import sys; x = bytearray(64 << 20); x[::4096] = b'x' * len(x[::4096]); sys.exit(7)"


def obituary(result):
    """The line; there is exactly one."""
    found = [line for line in result.lines() if " was killed by " in line]
    assert len(found) == 1, result.err
    assert re.match(r"rankinit: \S+ \(pid \d+\) was killed by SIG\S+ \(\d+\)", found[0])
    return found[0]


@pytest.mark.parametrize("name", ["HUP", "INT", "KILL", "SEGV", "TERM", "USR1", "BUS"])
def test_the_name_of_the_signal(box, name):
    result = box.run(*SH, f"kill -{name} $$")
    number = getattr(signal, "SIG" + name)
    assert f"rankinit: sh (pid 2) was killed by SIG{name} ({int(number)})" in obituary(result)
    assert result.status == 128 + number and result.out == b""


def test_real_time_signals(box, actor):
    for number, name in (34, "SIGRTMIN"), (36, "SIGRTMIN+2"), (64, "SIGRTMIN+30"):
        line = obituary(box.run("--", actor("probe"), "/dev/null", f"raise={number}"))
        assert f"killed by {name} ({number})" in line


def test_no_line_for_other_ends(box):
    for command in ("exit 0", "exit 1", "exit 137", "exit 255", "trap 'exit 3' TERM; kill -TERM $$",
                    "sh -c 'kill -9 $$'; exit 0"):
        assert box.run(*SH, command).lines() == [], command
    # the control
    obituary(box.run(*SH, "kill -9 $$"))


def of_mpirun(rank, size):
    return {f"OMPI_COMM_WORLD_{name}": str(value) for name, value in
            (("RANK", rank), ("SIZE", size), ("LOCAL_RANK", rank), ("LOCAL_SIZE", size))}


def test_a_rank_whose_others_are_watched_elsewhere(box):
    """Their lines come out in one stream: each says whose it is."""
    words = ["--supervise=always", *SH]
    result = box.run(*words, "kill -SEGV $$", env=of_mpirun(3, 4))
    line, = result.lines()
    assert line.startswith("rankinit: rank 3 (pid 2) was killed by SIGSEGV (11)")
    result = box.run(*words, "exit 7", env=of_mpirun(3, 4))
    line, = result.lines()
    assert line.startswith("rankinit: rank 3 (local rank 3, pid 2 on ") and result.status == 7
    assert ") failed: exit status 7, after " in line
    # the controls: one that ends well, and the only rank of its job
    assert box.run(*words, "exit 0", env=of_mpirun(3, 4)).lines() == []
    assert box.run(*words, "exit 7", env=of_mpirun(0, 1)).lines() == []
    assert "rankinit: sh (pid " in obituary(box.run(*words, "kill -9 $$",
                                                   env=of_mpirun(0, 1)))


def test_quiet_keeps_it_and_verbose_does_not_double_it(box):
    for option in "-q", "-v":
        obituary(box.run(option, *SH, "kill -9 $$"))


def test_the_exit_map_changes_no_words(box):
    result = box.run("--exit-map=137:0", *SH, "kill -9 $$")
    assert result.status == 0 and "SIGKILL (9)" in obituary(result)


# Core dumps.

def core_is_a_file():
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        return not file.read().startswith("|")


@pytest.mark.skipif(not core_is_a_file(), reason="core dumps go to a program here")
@pytest.mark.parametrize("prefix", [[], ["unshare", "--pid", "--fork", "--kill-child"]])
def test_core_dumped_or_not(box, tmp_path, prefix):
    """Not in a box: those have no core dumps for good."""
    def end(name, limit):
        words = ["sh", "-c", f'ulimit -c {limit} || exit 99; exec "$@"', "sh", *prefix,
                 box.rankinit, *SH, f"kill -{name} $$"]
        done = subprocess.run(words, env=BASE, cwd=tmp_path, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode == 99:
            pytest.skip("the limit of core dumps cannot be raised")
        core = [path.unlink() for path in tmp_path.glob("core*")]
        line = obituary(Result(done.returncode, done.stdout, done.stderr.decode()))
        return done.returncode, len(core), ", core dumped" in line

    assert end("SEGV", "unlimited") == (139, 1, True)
    assert end("SEGV", "0") == (139, 0, False)
    assert end("TERM", "unlimited") == (143, 0, False), "a signal that never dumps"


# Memory.

def enter(group):
    return f"echo 0 > {group}/cgroup.procs"


def memory_group(cgroup):
    group = cgroup("memory", limit_in_bytes=32 << 20)
    with open(f"{group}/memory.oom_control", encoding="ascii") as file:
        if "oom_kill " not in file.read():
            pytest.skip("the kernel does not count kills here")
    return group


@pytest.mark.parametrize("place", ["init", "below"])
def test_out_of_memory(box, cgroup, place):
    group = memory_group(cgroup)
    words = ["--", "/usr/bin/python3", "-I", "-S", "-c", GREEDY]
    result = box.run(*words, shell=enter(group), place=place)
    assert result.status == 137
    line = obituary(result)
    assert re.search(r"SIGKILL \(9\): out of memory \(the cgroup's oom_kill count rose from 0 "
                     r"to \d+\)", line)
    assert 8 <= int(re.search(r"peak memory (\d+) MiB", line).group(1)) <= 40
    # the counter does not start at 0: only what moved counts
    line = obituary(box.run(*SH, "kill -9 $$", shell=enter(group), place=place))
    assert "not for lack of memory, by the cgroup's count" in line
    # the control: the same with room enough
    assert box.run(*words, place=place).status == 7


def test_out_of_memory_of_a_child(box, cgroup):
    """The command survives it and says so by its status: no line."""
    group = memory_group(cgroup)
    result = box.run("--", "/bin/sh", "-c", '"$@"; exit $?', "sh", "/usr/bin/python3", "-I", "-S",
                     "-c", GREEDY, shell=enter(group))
    assert result.status == 137
    assert " was killed by " not in result.err


def test_a_plain_kill_is_not_for_memory(box):
    line = obituary(box.run(*SH, "kill -9 $$"))
    assert "out of memory" not in line
    assert "not for lack of memory" in line or "does not show whether memory ran out" in line
    # other signals: the question does not come up
    assert "for memory" not in obituary(box.run(*SH, "kill -TERM $$"))


def test_no_cgroup_to_ask(box):
    line = obituary(box.run(*SH, "kill -9 $$", shell="umount -l /sys/fs/cgroup || umount -l /sys"))
    assert "the cgroup does not show whether memory ran out" in line


# Who asked.

def test_the_sender_of_the_stop(box):
    job = box.start("--", "sleep", "60")
    job.main()
    line = obituary(job.stop())
    assert re.search(r"SIGTERM \(15\).*; \d+ ms after a stop from outside this container$", line)
    # from inside, by a process with a number
    result = box.run(*SH, "kill -TERM 1; sleep 60")
    assert re.search(r"; \d+ ms after a stop from pid 2 of uid 0$", obituary(result))
    # the control: nobody asked
    assert "after a stop" not in obituary(box.run(*SH, "kill -TERM $$"))


def test_the_stop_is_told_with_verbose(box):
    job = box.start("-v", "--", "sleep", "60")
    job.main()
    assert "rankinit: SIGTERM from pid 0 of uid 0" in job.stop().err.splitlines()


def test_hostile_names(box, tmp_path):
    """A command's name reaches the terminal without its control characters."""
    program = tmp_path / "a\033[31m\nb"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    result = box.run("--", program)
    assert result.err.startswith("rankinit: a?[31m?b (pid 2) was killed by SIGKILL (9)")
    assert result.err.count("\n") == 1
    long = tmp_path / ("n" * 200)
    long.write_text("#!/bin/sh\nkill -9 $$\n")
    long.chmod(0o755)
    assert f"rankinit: {'n' * 64} (pid 2) was killed" in box.run("--", long).err


# Shared memory.

FILLS = """
import mmap, os, signal, sys
size = int(sys.argv[1])
file = os.open("/dev/shm/pages", os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(file, size)
pages = mmap.mmap(file, size)
if len(sys.argv) > 2:
    os.unlink("/dev/shm/pages")
for at in range(0, size, 4096):
    pages[at] = 1
os._exit(7)
"""


def shm(size):
    """A namespace is a box's own, so nothing of it is seen outside."""
    return f"mount -t tmpfs -o size={size} none /dev/shm || exit 99"


def about_shm(result):
    return [line for line in result.lines() if line.startswith("rankinit: /dev/shm ")]


@pytest.mark.parametrize("place", ["init", "below"])
def test_a_sigbus_of_a_full_dev_shm(box, place):
    words = ["--", "/usr/bin/python3", "-I", "-S", "-c", FILLS]
    result = box.run(*words, str(4 << 20), shell=shm("1m"), place=place)
    if result.status == 99:
        pytest.skip("nothing can be mounted here")
    line, = about_shm(result)
    assert result.status == 135 and "was killed by SIGBUS (7)" in obituary(result)
    assert line.startswith("rankinit: /dev/shm was full (1 MiB)") and "--shm-size" in line
    assert line.endswith(" [shm.free.small]")
    # what it made goes with it, as torch's files do: it is small all the same
    line, = about_shm(box.run(*words, str(4 << 20), "unlinked", shell=shm("1m"), place=place))
    assert line.startswith("rankinit: /dev/shm is small (1 MiB)")
    assert line.endswith(" [shm.size.small]")
    # the control: the same with room enough
    assert box.run(*words, str(4 << 20), shell=shm("8m"), place=place).status == 7


def test_a_sigbus_of_something_else(box):
    """/dev/shm is no reason where there is plenty of it, nor for another signal."""
    plenty = box.run(*SH, "kill -BUS $$", shell=shm("2g"))
    if plenty.status == 99:
        pytest.skip("nothing can be mounted here")
    assert (plenty.status, about_shm(plenty)) == (135, [])
    assert about_shm(box.run(*SH, "kill -SEGV $$", shell=shm("1m"))) == []
    assert about_shm(box.run(*SH, "exit 7", shell=shm("1m"))) == []
    # what is no file system in memory is not asked
    other = box.run(*SH, "kill -BUS $$", shell="mount --bind /tmp /dev/shm || exit 99")
    assert (other.status, about_shm(other)) == (135, [])
