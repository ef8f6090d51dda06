# SPDX-License-Identifier: Apache-2.0
"""
rankinit's own lines: on stderr only, never waiting for a reader, never the
reason why something ends.
"""

import fcntl
import itertools
import os
import select
import signal

import pytest

from peek import wait_until

SH = ["--", "/bin/sh", "-c"]
CLOSED = [which for count in (1, 2, 3) for which in itertools.combinations((0, 1, 2), count)]
# One line of each kind: a warning, notes, an obituary.
NOISY = ["-v", *SH, "(true &) ; kill -9 $$"]
NOISE = {"RANKINIT_ODD": "1"}


def closing(which):
    """Shell code that closes descriptors."""
    return "exec " + " ".join(f"{fd}>&-" for fd in which)


@pytest.mark.parametrize("which", CLOSED)
def test_closed_descriptors(box, which):
    for place in "init", "below":
        result = box.run(*SH, "exit 3", shell=closing(which), place=place)
        assert (result.status, result.err) == (3, "")
        result = box.run(*NOISY, env=NOISE, shell=closing(which), place=place)
        assert result.status == 137
        # the lines appear where stderr is open, and nowhere else
        assert ("was killed by SIGKILL" in result.err) == (2 not in which)
        assert result.out == b""


@pytest.mark.parametrize("which", CLOSED)
def test_closed_for_the_command_as_well(box, which):
    """Nothing of ours is found there, and nothing of the command's is lost."""
    script = "ls /proc/self/fd > @FOLDER/fds; exit 3"
    job = box.start("--user=root", "--cap-drop=chown", *SH, script, shell=closing(which))
    assert job.wait().status == 3
    # ls has its own output at 1, and a descriptor of the folder
    fds = {int(fd) for fd in job.read("fds").split()}
    assert fds - {1} <= ({0, 2} - set(which)) | {min({0, 2, 3} & (set(which) | {3}))}


@pytest.mark.parametrize("place", ["init", "below"])
def test_what_an_idle_rankinit_holds(box, place):
    """No descriptor but the three, and no folder."""
    read_end, write_end = os.pipe()
    try:
        job = box.start("--user=root", "--", "sleep", "60", place=place, pass_fds=(write_end,))
        child = job.main()
        wait_until(lambda: sorted(os.listdir(f"/proc/{job.pid}/fd")) == ["0", "1", "2"], "closed")
        wait_until(lambda: os.path.samefile(f"/proc/{job.pid}/cwd", "/"), "let go")
        # the control: the command has them
        assert str(write_end) in os.listdir(f"/proc/{child}/fd")
        assert os.path.samefile(f"/proc/{child}/cwd", job.folder)
    finally:
        os.close(read_end)
        os.close(write_end)


# A reader that does not read.

@pytest.fixture
def full_pipe():
    """A pipe that takes not one byte more."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write_end, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(write_end, b"x" * 4096)
    os.set_blocking(write_end, True)
    yield write_end, read_end
    os.close(read_end)
    os.close(write_end)


def test_a_full_stderr_does_not_block(box, full_pipe):
    write_end, read_end = full_pipe
    assert box.run(*NOISY, env=NOISE, stderr=write_end).status == 137
    assert box.run("--nonsense", stderr=write_end).status == 125
    job = box.start("-v", "--grace=0.5", "--", *box.payload("main", "deaf", "session:bad!"),
                    env=NOISE, stderr=write_end)
    job.until("main ready", "bad ready")
    job.signal(signal.SIGTERM)
    assert job.wait().status == 137
    assert os.get_blocking(write_end), "the pipe is shared: it is left as it was"
    assert set(os.read(read_end, 65536)) == {ord("x")}
    # the control: there is room now, and the lines appear
    assert box.run("--nonsense", stderr=write_end).status == 125
    assert b"[option.unknown]" in os.read(read_end, 65536)


def fill_terminal(slave, most):
    """Byte by byte, at most so many, while poll says that there is room."""
    poll, count = select.poll(), 0
    poll.register(slave, select.POLLOUT)
    while count < most and poll.poll(0):
        count += os.write(slave, b"x")
    return count


@pytest.mark.parametrize("missing", [0, 1, 20, 100, 200, 300])
def test_a_full_terminal_does_not_block(box, missing):
    """Nor does one that has room for the beginning of a line."""
    made = [os.openpty()]
    count = fill_terminal(made[0][1], 1000000)
    # the kernel moves what is written in its own time, so they do not all take the same
    for _ in range(50):
        made.append(os.openpty())
        if fill_terminal(made[-1][1], count - missing) == count - missing:
            break
    else:
        pytest.skip("no two terminals take the same here")
    assert box.run(*NOISY, env=NOISE, stderr=made[-1][1]).status == 137
    for end in sum(made, ()):
        os.close(end)


def test_a_command_may_block_on_it(box, full_pipe):
    """The control: it is full for those who wait."""
    job = box.start(*SH, "echo word >&2", stderr=full_pipe[0])
    job.main()
    assert not job.ended(0.5)


def test_a_reader_that_has_gone(box):
    for place in "init", "below":
        read_end, write_end = os.pipe()
        os.close(read_end)
        result = box.run(*NOISY, env=NOISE, stderr=write_end, place=place)
        assert result.status == 137
        # no SIGPIPE reaches the command, which has its usual action for it
        result = box.run("-v", *SH, "(true &); sleep 0.1; exit 6", env=NOISE, stderr=write_end,
                         place=place)
        assert result.status == 6
        # the control: a command that writes there is killed
        assert box.run(*SH, "exec cat /etc/passwd >&2", stderr=write_end).status == 128 + 13
        # nor are we, when we could not become the command
        for supervise in "never", "always":
            assert box.run(f"--supervise={supervise}", "--", "/nonexistent", stderr=write_end,
                           place=place).status == 127
        os.close(write_end)


def test_a_full_disk(box):
    with open("/dev/full", "wb") as full:
        assert box.run(*NOISY, env=NOISE, stderr=full).status == 137
        assert box.run("--nonsense", stderr=full).status == 125


def test_a_file_at_its_limit(box, tool):
    """The kernel's SIGXFSZ for our line is ours alone."""
    words = ["-c", f'ulimit -f 1; head -c 2000 /dev/zero >@FOLDER/full; '
             f'exec {box.rankinit} -v -- sh -c "(true &); sleep 0.3; exit 6" 2>>@FOLDER/full']
    assert box.run(*words, program=tool("bash"), place="below").status == 6


# What goes where.

def test_stdout_belongs_to_the_command(box):
    script = "echo out; echo err >&2; (true &); kill -9 $$"
    result = box.run("-v", *SH, script, env=NOISE)
    assert result.out == b"out\n"
    kinds = ["err", "rankinit: warning: RANKINIT_ODD", "rankinit: reaped", "rankinit: sh (pid"]
    for kind in kinds:
        assert any(line.startswith(kind) for line in result.err.splitlines()), (kind, result.err)
    for words in (["--nonsense"], ["--", "no-such"], ["--user=no-such", "--", "true"], []):
        assert box.run("-v", *words).out == b""


@pytest.mark.parametrize("size", [0, 1, 65536, 3000001])
def test_bytes_pass_unchanged(box, tmp_path, size):
    data = os.urandom(size)
    (tmp_path / "in").write_bytes(data)
    with open(tmp_path / "in", "rb") as file:
        result = box.run("--", "cat", stdin=file)
    assert (result.status, result.err) == (0, "") and result.out == data


def test_control_characters_of_names(box):
    """A process can call itself what it likes; a terminal must not obey."""
    job = box.start("--grace=0.5", "--", *box.payload("main", "after=0.1", "session:bad!",
                                                      "title=\033[31mx"))
    result = job.wait()
    assert "\033" not in result.err
    job = box.start("--grace=0.5", "--",
                    *box.payload("main", "deaf", "title=\033[31m\nred\177"))
    job.until("main ready")
    result = job.stop()
    assert "?[31m?red? (" in result.err and "\033" not in result.err
    assert all(line.startswith("rankinit: ") for line in result.err.splitlines())


def test_colour_only_when_asked_or_on_a_terminal(box):
    for env, expected in (
            ({}, False), ({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "0"}, False),
            ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, False)):
        result = box.run("--", "true", env={**NOISE, **env})
        assert result.err.startswith("\033[33mrankinit: warning: ") == expected
        assert result.err.count("\033") == 2 * expected and ("\033[0m" in result.err) == expected
        result = box.run("--report=report", "--", "sh", "-c", "exit 3", env=env)
        assert result.brief is not None, "programs read the last line"
    master, slave = os.openpty()
    for env, expected in (
            ({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False),
            ({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
            ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True)):
        assert box.run("--", "true", env={**NOISE, **env}, stderr=slave).status == 0
        assert (b"\033[33m" in os.read(master, 4096)) == expected
    os.close(master)
    os.close(slave)
