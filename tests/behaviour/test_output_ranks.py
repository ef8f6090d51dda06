# SPDX-License-Identifier: Apache-2.0
"""The output of several ranks that one rankinit starts."""

import fcntl
import os
import subprocess

import pytest

from peek import wait_until

SH = ["--", "sh", "-c"]
RANKS = 4
COUNT = 30000
# Lines of several lengths, written in blocks that end somewhere inside of one.
FLOOD = f"yes \"$RANK $(printf %0$((RANK * 40 + 1))d 0)\" | head -n {COUNT} | cat -n"


@pytest.fixture
def ranks(box):
    """Run a script in each of four ranks."""
    text = subprocess.run([box.rankinit, "--help"], capture_output=True, text=True, check=True)
    if "--nproc-per-node" not in text.stdout:
        pytest.skip("this rankinit starts one command")

    def start(script, *options, **more):
        return box.start("-q", f"--nproc-per-node={RANKS}", *options, *SH, script, **more)
    return start


def check_lines(text, prefix=True):
    """Every line of every rank, whole and in its order."""
    seen = [0] * RANKS
    for line in text.splitlines():
        head, _, said = line.partition(b"] ") if prefix else (b"", b"", line)
        number, rank, filler = said.split()
        assert not prefix or head == b"[" + rank
        assert len(filler) == int(rank) * 40 + 1
        seen[int(rank)] += 1
        assert int(number) == seen[int(rank)]
    assert seen == [COUNT] * RANKS


def test_lines_of_ranks_are_never_mixed(ranks, tmp_path):
    result = ranks(FLOOD, "--log-prefix").wait()
    assert (result.status, result.err) == (0, "")
    check_lines(result.out)
    with open(tmp_path / "both", "wb") as both:
        job = ranks(f"if [ $((RANK % 2)) = 0 ]; then {FLOOD}; else {FLOOD} >&2; fi",
                    "--log-prefix", stdout=both, stderr=both)
        assert job.wait().status == 0
    check_lines((tmp_path / "both").read_bytes())


def test_a_slow_reader_gets_whole_lines(ranks):
    read_end, write_end = os.pipe()
    job = ranks(FLOOD, "--log-prefix", stdout=write_end)
    os.close(write_end)
    text = b""
    while text.count(b"\n") < RANKS * COUNT:
        text += os.read(read_end, 1000 if len(text) < 100000 else 100000)
    os.close(read_end)
    assert job.wait().status == 0
    check_lines(text)


@pytest.mark.parametrize("prefix", ["yes", "no"])
def test_one_file_for_all_ranks(ranks, prefix):
    job = ranks(FLOOD, "--log-file=@FOLDER/log", f"--log-prefix={prefix}")
    result = job.wait()
    assert result.status == 0 and result.err == ""
    check_lines(job.read("log"), prefix == "yes")
    assert len(result.out) > 0


def test_a_warning_stands_behind_lines_that_wait(box, tool):
    """The file is full while nobody reads: our own line replaces none of a rank's."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    script = ('[ "$RANK" = 0 ] || exit 0; seq 1000; '
              "while [ ! -e @FOLDER/go ]; do sleep 0.02; done; seq 1001 2000")
    words = f"ulimit -f 8; exec {box.rankinit} --nproc-per-node=2 --log-prefix " \
            f"--log-file=@FOLDER/log -- sh -c '{script}'"
    job = box.start("-c", words, program=tool("bash"), stdout=write_end, stderr=write_end)
    os.close(write_end)
    # what the pipe does not take is pending from now on
    log = os.path.join(job.folder, "log")
    wait_until(lambda: os.path.exists(log) and b"[0] 1000\n" in job.read("log"),
               "the first half is there")
    with open(os.path.join(job.folder, "go"), "wb"):
        pass
    wait_until(lambda: os.path.getsize(log) == 8192, "the file is full")
    with os.fdopen(read_end, "rb") as file:
        lines = file.read().splitlines()
    assert job.wait().status == 0
    own = [line for line in lines if not line.startswith(b"[0] ")]
    assert [b"cannot be written" in line for line in own] == [True, False], own
    assert [line for line in lines if line not in own] == \
        [b"[0] %d" % number for number in range(1, 2001)]


def test_a_file_for_each_rank(ranks):
    job = ranks("echo out $RANK; echo err $RANK >&2", "--log-file=@FOLDER/logs/rank_%r.log")
    result = job.wait()
    assert len(result.out.splitlines()) == len(result.err.splitlines()) == RANKS
    for rank in range(RANKS):
        lines = job.read(f"logs/rank_{rank}.log").decode().splitlines()
        assert sorted(lines) == [f"err {rank}", f"out {rank}"]


def test_stderr_is_passed_on_unchanged(ranks):
    """It goes through us for the verdict's sake, and nobody sees that."""
    result = ranks("printf 'no end %s\\r\\0\\n' $RANK >&2; echo $RANK").wait()
    assert sorted(result.out.split()) == [b"0", b"1", b"2", b"3"]
    for rank in range(RANKS):
        assert f"no end {rank}\r\0\n" in result.err


FAILS = "[ $RANK = 1 ] || exec sleep 60; printf '%s' \"$1\" >&2; exit 3"


@pytest.mark.parametrize("words, before", [("abc", "abc\n"), ("abc\n", "abc\n"),
                                           (" 9%|#\r", " 9%|#\r\n"), ("", "")])
def test_our_line_begins_a_line(box, words, before):
    """The control ends its own: no empty line is made."""
    job = box.start("--nproc-per-node=2", *SH, FAILS, "sh", words)
    assert job.wait().err.startswith(before + "rankinit: rank 1 (")
    job = box.start("--nproc-per-node=2", "--log-prefix", *SH, FAILS, "sh", words)
    after = "" if words == "" else "\n" if words.endswith("\n") else words[-1] + "\n"
    assert (after or "") + "rankinit: rank 1 (" in job.wait().err
    assert "\n\n" not in job.error_text()


def test_a_warning_begins_a_line(box):
    """So does each line of ours that comes while the ranks run."""
    script = "trap '' TERM; printf abc >&2; while :; do sleep 0.1; done"
    job = box.start("--nproc-per-node=2", "--grace=2", *SH, script)
    wait_until(lambda: job.error_text().count("abc") == 2, "both have said it")
    job.signal(15)
    text = job.wait().err
    assert text.startswith("abcabc\nrankinit: warning: ")
    assert all(line.startswith("rankinit: ") for line in text.splitlines()[1:])
