# SPDX-License-Identifier: Apache-2.0
"""
What the command says: whole lines with a prefix, copies in files, and a
reader that is slow, gone or full, which is never the reason for anything.
"""

import fcntl
import os
import random
import re
import signal
import socket
import stat
import time

import pytest

import peek
from box import refused, warned
from peek import wait_until

SH = ["--", "sh", "-c"]
PIECE = 65536
# A flood that goes on, and a SIGTERM that is answered beside it.
DEAF_TO_PIPES = 'trap "echo told > @FOLDER/told; kill $!; exit 9" TERM; yes "$0" & wait'
RANK = {f"OMPI_COMM_WORLD_{name}": value for name, value in
        (("RANK", "13"), ("SIZE", "16"), ("LOCAL_RANK", "5"), ("LOCAL_SIZE", "8"))}


def rejoin(text, prefix=b"[0]"):
    """The bytes that were said, from the lines that were printed."""
    said = b""
    for line in re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)", text):
        if line == b"\r":
            said += line
            continue
        assert line.startswith(prefix) and line[len(prefix):][:1] in b" +", line[:40]
        if line[len(prefix):].startswith(b"+"):
            assert said.endswith(b"\n")
            said = said[:-1]
        assert len(line) <= len(prefix) + 1 + PIECE + 1
        said += line[len(prefix) + 1:]
    return said


def losses(result):
    """What is said to be lost: {"stdout": 12}."""
    lines = [line for line in result.lines() if "output was lost: " in line]
    assert len(lines) <= 1, result.err
    return {what: int(count) for count, what in
            re.findall(r"(\d+) bytes of (stdout|stderr|log files)", lines[0])} if lines else {}


def said_by(tmp_path, data):
    """A command that says these bytes."""
    path = tmp_path / "said"
    path.write_bytes(data)
    return ["--", "cat", str(path)]


# Lines.

def test_whole_lines_with_a_prefix(box):
    script = "printf 'one\\n\\ntwo'; printf 'error\\nmore' >&2"
    result = box.run("--log-prefix", *SH, script)
    assert result.out == b"[0] one\n[0] \n[0] two\n"
    assert result.err == "[0] error\n[0] more\n"
    assert box.run(*SH, script).out == b"one\n\ntwo", "the control"


def test_the_rank_is_the_job_s(box):
    assert box.run("--log-prefix", *SH, "echo a", env=RANK).out == b"[13] a\n"


def test_a_line_that_comes_in_parts(box):
    script = "printf a; sleep 0.1; printf b; sleep 0.1; echo c"
    assert box.run("--log-prefix", *SH, script).out == b"[0] abc\n"


def test_a_bar_of_progress_that_grows(box):
    """What stands before a return is there at once, in its place."""
    out, end = os.pipe()
    job = box.start("--log-prefix", *SH, "printf '\\r 1%%\\r 2%%\\rx'; cat @FOLDER/go",
                    shell="mkfifo @FOLDER/go", stdout=end)
    os.close(end)
    grown = b"\r[0]  1%\r[0]  2%\r"
    said = b""
    while len(said) < len(grown):
        said += os.read(out, len(grown) - len(said))
    assert said == grown
    with open(f"{job.folder}/go", "w", encoding="ascii") as go:
        go.write("y\n")
    assert job.wait().status == 0
    assert os.read(out, 100) == b"[0] xy\n"
    os.close(out)


STARTS = "printf '#!/bin/sh\\necho plain\\n' >{0}; chmod +x {0}"
UNTOLD = ("{} starts the ranks, and rankinit cannot tell their lines apart: they have no prefix, "
          "and are in one file; ")


@pytest.mark.parametrize("options, launcher, name, hint", [
    (["--log-prefix"], "torchrun", "torchrun", "add --tee 3 --log-dir DIR behind torchrun, or let"),
    (["--log-prefix=node"], "accelerate", "accelerate", "let rankinit start the ranks"),
    (["--log-prefix"], "mpirun", "a launcher of whole jobs", "put rankinit behind it"),
    (["--log-file=@FOLDER/%r"], "torchrun", "torchrun", "add --tee 3")])
def test_a_launcher_s_lines_are_nobody_s(box, options, launcher, name, hint):
    words = ["launch", "a.py"] if launcher == "accelerate" else ["a.py"]
    result = box.run(*options, "--checks=none", "--", f"./{launcher}", *words,
                     shell=STARTS.format(launcher))
    assert result.out == b"plain\n"
    said = warned(result, "log.launcher", options[0].partition("=")[0])
    assert UNTOLD.format(name) + hint in said


@pytest.mark.parametrize("options, launcher, words, label", [
    (["--log-file=@FOLDER/log"], "torchrun", [], b""),
    (["--log-prefix=no"], "torchrun", [], b""), (["--log-prefix"], "train", [], b"[0] "),
    (["--log-prefix"], "torchrun", ["--tee", "3"], b""),
    (["--simulate=kubeflow_pytorch:1x1"], "torchrun", [], b"")])
def test_where_nothing_is_said_of_lines(box, options, launcher, words, label):
    result = box.run(*options, "--checks=none", "--", f"./{launcher}", *words, "a.py",
                     shell=STARTS.format(launcher))
    assert result.out == label + b"plain\n"
    assert "log.launcher" not in result.err


@pytest.mark.parametrize("data", [
    b"", b"\n", b"x", b"\0\n\0\r\n\r\xff\xfe\xc3(\n\x1b[31mred\n\x80",
    b"x" * 1000000 + b"\n", b"x" * PIECE + b"\n" + b"y" * (PIECE + 1), b"\n" * 200000,
    "\u00e9\u20ac\U0001f600".encode() * 60000, random.Random(1).randbytes(3000001),
], ids=["empty", "newline", "one", "odd", "long", "pieces", "newlines", "utf8", "random"])
def test_every_byte_is_there(box, tmp_path, data):
    command = said_by(tmp_path, data)
    result = box.run("--log-prefix", f"--log-file={tmp_path}/copy", *command)
    assert result.status == 0 and result.err == ""
    ended = data if data.endswith(b"\n") or not data else data + b"\n"
    assert rejoin(result.out) == ended
    assert (tmp_path / "copy").read_bytes() == data
    # without a prefix nothing is cut or completed
    assert box.run(f"--log-file={tmp_path}/other", *command).out == data
    assert (tmp_path / "other").read_bytes() == data


def test_pieces_do_not_cut_characters(box, tmp_path):
    result = box.run("--log-prefix", *said_by(tmp_path, "x\u20ac".encode() * 50000))
    assert result.out.count(b"[0]+") == 3
    for line in result.out.splitlines():
        line.decode()


def test_stdout_and_stderr_in_one_pipe(box, tmp_path):
    """Written by one hand, so that their lines are not mixed."""
    line = "x" * 3000
    script = f"(yes {line}o | head -n 2000) & (yes {line}e | head -n 2000 >&2); wait"
    with open(tmp_path / "both", "wb") as both:
        assert box.run("--log-prefix", *SH, script, stdout=both, stderr=both).status == 0
    lines = (tmp_path / "both").read_text().splitlines()
    assert sorted(set(lines)) == [f"[0] {line}e", f"[0] {line}o"] and len(lines) == 4000


# Files.

def test_copies_in_a_folder_that_is_made(box, tmp_path):
    folder = tmp_path / "new"
    script = "umask; echo out; echo err >&2; ls -l /proc/self/fd/1 >/dev/null"
    result = box.run("-q", f"--log-file={folder}/rank_%r.log", *SH, script, env=RANK)
    assert (result.out, result.err) == (b"0022\nout\n", "err\n")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    log = folder / "rank_13.log"
    assert sorted(log.read_text().split()) == ["0022", "err", "out"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o644
    # it is appended to
    box.run(f"--log-file={folder}/rank_%r.log", *SH, "echo again", env=RANK)
    assert log.read_text().endswith("again\n") and "out" in log.read_text()


def test_names_of_files(box, tmp_path):
    pattern = f"{tmp_path}/%r-%l-%n-%h-%%.log"
    box.run(f"--log-file={pattern}", "--node-rank=1", *SH, "echo a", env=RANK)
    assert os.listdir(tmp_path) == [f"13-5-1-{os.uname().nodename}-%.log"]
    # a name in a folder, both with a pattern; relative to where we are
    job = box.start("--log-file=d%r/f%l", *SH, "echo a", env=RANK)
    assert job.wait().status == 0 and job.read("d13/f5") == b"a\n"


PLACES = [
    (["--log-file=/nonexistent/a/%r"], '"/nonexistent/a" cannot be created'),
    (["--log-file=/dev/null/%r"], '"/dev/null/0" cannot be opened'),
    (["--log-file=/"], '"/" cannot be opened'),
    (["--log-file=@FOLDER/fifo"], '"@FOLDER/fifo" cannot be opened'),
    (["--log-file=@FOLDER/%n"], "%n is the rank of this node"),
    (["--log-file=@FOLDER/gone/logs/%r"], '"@FOLDER/gone/logs" cannot be created'),
    (["--log-file=/nonexistent/a/%r", "--log-prefix"], '"/nonexistent/a" cannot be created'),
    (["--log-file=/proc/logs/%r"], '"/proc/logs" cannot be created'),
]
TRAP = "mkfifo @FOLDER/fifo; ln -s nowhere @FOLDER/gone"


@pytest.mark.parametrize("options, text", PLACES)
def test_files_that_cannot_be(box, options, text):
    job = box.start(*options, "--", "touch", "@FOLDER/ran", shell=TRAP)
    error = refused(job.wait(), 125, "log.refused", options[0].partition("=")[0])
    assert text.replace("@FOLDER", job.folder) in error
    assert not os.path.exists(job.folder + "/ran")


def test_a_folder_is_no_file(box, tmp_path):
    error = refused(box.run(f"--log-file={tmp_path}", "--", "true"), 125, "log.refused",
                    "--log-file")
    assert f"Is a directory; name files in it: {tmp_path}/rank_%r.log [" in error
    # the control: it works
    assert box.run(f"--log-file={tmp_path}/rank_%r.log", "--", "echo", "said").status == 0
    assert (tmp_path / "rank_0.log").read_bytes() == b"said\n"


@pytest.mark.parametrize("options, text, ranks", [
    *((*place, []) for place in PLACES), (*PLACES[0], ["--nproc-per-node=2"]),
])
def test_files_of_a_variable_that_cannot_be(box, options, text, ranks):
    """One for a whole fleet, whose share is gone: the jobs run, and print what they say."""
    pairs = [option[2:].replace("-", "_", 1).partition("=") for option in options]
    env = {"RANKINIT_" + name.upper(): value or "yes" for name, _, value in pairs}
    asker = "RANKINIT_" + pairs[0][0].upper()
    job = box.start(*ranks, *SH, "echo said; exit 7", shell=TRAP + "".join(
        f"; export {name}={value}" for name, value in env.items()))
    result = job.wait()
    assert result.status == 7 and b"said\n" in result.out
    warning = warned(result, "log.refused", asker)
    assert text.replace("@FOLDER", job.folder) in warning
    assert "the job runs without log files" in warning
    assert (b"[0] said\n" in result.out) == ("--log-prefix" in options)
    assert "said" not in box.run("-q", *ranks, "--", "true", env=env).err


def test_who_asks_for_files(box):
    """An option on the command line is meant, whatever a variable beside it says."""
    none = {"RANKINIT_LOG_FILE": "/nonexistent/a/%r"}
    job = box.start("--log-file=/nonexistent/b/%r", "--", "true", env=none)
    refused(job.wait(), 125, "log.refused", "--log-file")
    warned(box.run("--", "true", env=none), "log.refused", "RANKINIT_LOG_FILE")
    result = box.run("--", "true", env={"RANKINIT_LOG_FILE": "%q"})
    refused(result, 125, "option.value", "RANKINIT_LOG_FILE")


def test_control_files_of_a_variable_that_can_be(box):
    job = box.start(*SH, "echo said", shell="export RANKINIT_LOG_FILE=@FOLDER/logs/rank_%r.log")
    result = job.wait()
    assert (result.status, result.out, result.err) == (0, b"said\n", "")
    assert job.read("logs/rank_0.log") == b"said\n"


def test_a_disk_that_is_full(box):
    result = box.run(*SH, "echo said; exit 7", env={"RANKINIT_LOG_FILE": "/dev/full"})
    assert (result.status, result.out) == (7, b"said\n") and losses(result)["log files"] == 5


def test_a_fifo_whose_reader_stops_to_read(box):
    """A copy can do without it."""
    result = box.start("--log-file=@FOLDER/fifo", *SH, "seq 50000; exit 3",
                       shell="mkfifo @FOLDER/fifo; exec 9<>@FOLDER/fifo").wait()
    assert result.status == 3 and len(result.out) == 288894
    # its 16 pages are full only where what came in one go filled each of them
    assert 0 < 288894 - losses(result)["log files"] <= 65536


def test_options_that_contradict_each_other(box):
    options = ["--log-prefix", "--supervise=never"]
    refused(box.run(*options, "--", "true"), 125, "option.conflict", "--supervise")
    result = box.run("--explain", *options, "--", "true")
    assert result.status == 125 and "[option.conflict]" in result.out.decode() + result.err


def test_a_log_that_is_truncated(box):
    """As logrotate's copytruncate does: what comes later begins at the beginning."""
    job = box.start("--log-file=@FOLDER/log", *SH,
                    'trap "echo after; exit" USR1; echo before; while :; do sleep 0.02; done')
    path = job.folder + "/log"
    wait_until(lambda: os.path.exists(path) and job.read("log") == b"before\n", "a line")
    os.truncate(path, 0)
    job.signal(signal.SIGUSR1)
    assert job.wait().status == 0 and job.read("log") == b"after\n"


def test_a_rank_of_mpirun_is_looked_after(box):
    """What would become the command stays its parent."""
    script = "cat /proc/$PPID/comm"
    for options, parent in (["--log-prefix"], "[13] rankinit"), ([], "nsrun"):
        result = box.run(*options, *SH, script, env=RANK, place="below")
        assert result.out.decode().strip() == parent


# Readers.

@pytest.fixture
def pipe():
    """A pipe that takes 4096 bytes and that nobody reads."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    yield read_end, write_end
    os.close(read_end)
    os.close(write_end)


@pytest.fixture
def terminal():
    master, slave = os.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


@pytest.fixture
def connection():
    ours, theirs = socket.socketpair()
    yield ours.fileno(), theirs.fileno()
    ours.close()
    theirs.close()


HIDE = "mount -t tmpfs none /proc"  # nothing can be opened again there


def stops_beside(box, end, **options):
    """Somebody floods it and nobody reads; a SIGTERM goes through, and it ends."""
    job = box.start("--log-prefix", *SH, DEAF_TO_PIPES, "word " * 200, stdout=end, **options)
    wait_until(lambda: is_stuck(job, "yes"), "it is full")
    result = job.stop()
    assert result.status == 9 and job.read("told") == b"told\n"
    return result


def is_stuck(job, name):
    """The command waits in its write, and so nothing is moved any more."""
    return any(facts[:2] == (name, "S") for facts in job.members().values()) and idle(job)


def idle(job):
    before = sum(peek.switches(job.pid))
    time.sleep(0.1)
    return peek.state(job.pid) == "S" and sum(peek.switches(job.pid)) == before


@pytest.mark.parametrize("kind", ["pipe", "terminal", "connection"])
@pytest.mark.parametrize("shell", [None, HIDE], ids=["proc", "no-proc"])
def test_a_reader_that_does_not_read(box, request, kind, shell):
    end = request.getfixturevalue(kind)[1]
    result = stops_beside(box, end, shell=shell)
    assert losses(result)["stdout"] > 65536 and "no process read them" in result.err
    assert os.get_blocking(end), "it is shared: it is left as it was"


def test_ranks_feel_it(box, pipe):
    """No more is read than fits: the command waits in its write."""
    job = box.start("--log-prefix", *SH, "dd if=/dev/zero bs=64k count=64 2>@FOLDER/dd",
                    stdout=pipe[1])
    wait_until(lambda: is_stuck(job, "dd"), "it is full")
    assert job.read("dd") == b"" and not job.ended()
    assert peek.private_memory(job.pid) < 2048
    # the control: somebody reads, and all of it comes
    count = 0
    while count < 64 * 65536:
        count += len(os.read(pipe[0], 65536))
    assert job.wait().status == 0 and b"64+0 records out" in job.read("dd")


def test_a_reader_that_goes(box):
    """No SIGPIPE for the command: it says what it says to the end."""
    read_end, write_end = os.pipe()
    job = box.start("--log-prefix", "--log-file=@FOLDER/log", *SH,
                    "seq 100000; echo done > @FOLDER/done; exit 5", stdout=write_end)
    os.read(read_end, 10)
    os.close(read_end)
    result = job.wait()
    os.close(write_end)
    assert result.status == 5 and job.read("done") == b"done\n"
    assert 0 < losses(result)["stdout"] <= 588895 + 400000 and "Broken pipe" in result.err
    assert len(job.read("log")) == 588895, "the copy is whole"


def test_a_full_device(box):
    with open("/dev/full", "wb") as full:
        result = box.run("--log-prefix", *SH, "seq 10; exit 5", stdout=full)
        assert result.status == 5 and losses(result) == {"stdout": 61}
        assert "No space left on device" in result.err
        # and nothing is said where nothing can be
        assert box.run("--log-prefix", *SH, "seq 10 >&2; exit 5", stderr=full).status == 5


def test_a_full_disk_under_the_log(box, tool):
    """What fits is there, the rest is counted, and the terminal has all of it."""
    script = (f"mount -t tmpfs -o size=64k none /mnt; {box.rankinit} --log-file=/mnt/log -- "
              "sh -c 'seq 100000; exit 5'; code=$?; wc -c </mnt/log >&2; exit $code")
    result = box.run("-m", "sh", "-c", script, program=tool("unshare"))
    assert result.status == 5 and len(result.out) == 588895
    written = int(result.err.splitlines()[-1])
    assert 0 < written <= 65536 and written + losses(result)["log files"] == 588895
    assert result.err.count("the log file cannot be written, output is lost there") == 1


def test_a_file_at_its_limit(box, tool):
    words = ["-c", f"ulimit -f 8; exec {box.rankinit} --log-file=@FOLDER/log -- "
             "sh -c 'seq 100000; exit 5' >/dev/null"]
    job = box.start(*words, program=tool("bash"))
    result = job.wait()
    assert result.status == 5 and "File too large" in result.err
    assert len(job.read("log")) + losses(result)["log files"] == 588895


def test_closed_descriptors(box):
    for closed in "0", "1", "2", "01", "12", "02", "012":
        shell = "exec " + " ".join(f"{fd}>&-" for fd in closed)
        job = box.start("--log-prefix", "--log-file=@FOLDER/log", *SH,
                        "echo out; echo err >&2; exit 3", shell=shell)
        result = job.wait()
        assert result.status == 3 and losses(result) == {}
        assert result.out == (b"" if "1" in closed else b"[0] out\n")
        assert result.err == ("" if "2" in closed else "[0] err\n")
        assert sorted(job.read("log").split()) == [b"err", b"out"]


# The end.

def test_the_output_of_those_that_are_left(box):
    script = '(trap "echo left; exit" TERM; while :; do sleep 0.02; done) & sleep 0.1'
    assert box.run("--log-prefix", *SH, script).out == b"[0] left\n"


def test_a_slow_reader_gets_all_of_it(box, pipe):
    job = box.start("--log-prefix", *SH, "seq 20000", stdout=pipe[1])
    wait_until(lambda: not peek.children(job.pid) and idle(job), "the command has ended")
    assert not job.ended()
    text = b""
    while text.count(b"\n") < 20000:
        text += os.read(pipe[0], 1000)
    result = job.wait()
    assert (result.status, result.err) == (0, "") and text.endswith(b"[0] 20000\n")


def test_a_stop_while_the_rest_is_written(box, pipe):
    """Nobody waits for ever for a reader, with the command's own status."""
    job = box.start("--log-prefix", *SH, "seq 20000; exit 5", stdout=pipe[1])
    wait_until(lambda: not peek.children(job.pid) and idle(job), "the command has ended")
    job.signal(signal.SIGTERM)
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert result.status == 5 and "no process read them" in result.err
    total = sum(len(f"[0] {number}\n") for number in range(1, 20001))
    assert losses(result)["stdout"] + len(os.read(pipe[0], 65536)) == total


def test_no_wake_up_while_nothing_is_said(box):
    job = box.start("--log-prefix", "--log-file=@FOLDER/log", "--", "sleep", "60")
    child = job.main()
    wait_until(lambda: peek.stat(child)[0] == "sleep" and idle(job), "it sleeps")
    before = sum(peek.switches(job.pid))
    time.sleep(1.5)
    assert sum(peek.switches(job.pid)) == before
    assert peek.private_memory(job.pid) <= 128
    # signalfd, two times epoll and pipe, the file
    fds = os.listdir(f"/proc/{job.pid}/fd")
    assert len(fds) <= 3 + 8, fds


def test_nothing_of_it_without_the_options(box):
    job = box.start("--", "sleep", "60")
    child = job.main()
    wait_until(lambda: peek.stat(child)[0] == "sleep" and idle(job), "it sleeps")
    for fd in 1, 2:
        assert os.path.samefile(f"/proc/{child}/fd/{fd}", f"/proc/{job.pid}/fd/{fd}")
