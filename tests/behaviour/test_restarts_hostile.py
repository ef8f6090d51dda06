# SPDX-License-Identifier: Apache-2.0
"""
--restarts where somebody is against it: a kernel that seals more than it was asked to, exceptions
with bytes of a terminal, a program that is taken away, and who presses a key meanwhile. There are
never more attempts than were asked for, and none after a stop.
"""

import fcntl
import json
import os
import signal

import pytest

from box import warned

SH = ["sh", "-c"]
# Each attempt leaves a line, and prints one more than that before it; the sixth ends well.
COUNTS = ('echo $RANKINIT_ATTEMPT >>@FOLDER/log; n=$(wc -l <@FOLDER/log); '
          'seq $n >&2; [ $n -gt 5 ] && exit 0; ')


def again(result):
    return [line for line in result.lines() if " again (restart " in line]


@pytest.mark.parametrize("value", [0, 1, 2])
def test_memory_files_that_no_one_may_execute(box, value):
    """Linux 6.3 gives each the seal F_SEAL_EXEC, or refuses those that ask for none."""
    name = "/proc/sys/vm/memfd_noexec"
    if not os.path.exists(name):
        pytest.skip("this kernel has no vm.memfd_noexec")
    job = box.start("--restarts=2", "--", *SH, COUNTS + "kill -9 $$",
                    shell=f"echo {value} >{name}")
    result = job.wait()
    assert result.status == 137 and job.log() == ["0", "1", "2"], result.err
    assert len(again(result)) == 2 and "--restarts=2 is used up" in result.err


# A time-out may not come again; the words are those of torch's error file.
RAISES = """
import json, os, sys
with open("log", "a") as log:
    log.write(os.environ["RANKINIT_ATTEMPT"] + "\\n")
words = "TimeoutError: " + os.environ["RANKINIT_ATTEMPT"] + " "
words += os.fsencode(sys.argv[1]).decode("latin-1")
with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump({"message": {"message": words}}, file)
sys.exit(1 if len(open("log").readlines()) < 6 else 0)
"""
WORDS = ["TimeoutError: \x1b[31m\x01\x07 red ", "E: \x85\x9b31m ", "E: a\nrankinit: verdict ",
         "E: " + "x" * 100000, "\t", "E: \udcff\udcfe", "E: HF_TOKEN=hf_" + "Ab1" * 12 + " "]


@pytest.mark.parametrize("words", WORDS, ids=range(len(WORDS)))
def test_words_of_a_failure(box, words):
    """What the next attempt is to know of them is read again, whatever they are."""
    job = box.start("--restarts=2", "--report=report", "--log-file=all", "--", "python3", "-ISc",
                    RAISES, words[:90000])
    result = job.wait()
    assert result.status == 1 and job.log() == ["0", "1", "2"], result.err
    said = job.read("err") + job.read("all") + job.read("report") + job.read("report.1")
    assert not any(byte < 32 and byte not in b"\n\t" for byte in said) and b"Ab1" not in said
    assert len(json.loads(job.read("report"))["restarts"]) == 2


@pytest.mark.parametrize("how", ["rm -f p/rankinit", "cp /bin/true new; mv new p/rankinit",
                                 "umount -l p"])
def test_a_program_that_was_taken_away(box, how):
    """It is held open, and is the same in each attempt."""
    shell = f"mkdir p; mount -t tmpfs none p; cp {box.rankinit} p/"
    job = box.start("--restarts=2", "--", *SH, COUNTS + how + "; kill -9 $$",
                    program="p/rankinit", shell=shell)
    result = job.wait()
    assert result.status == 137 and job.log() == ["0", "1", "2"], result.err


def test_a_program_that_may_not_be_executed_any_more(box):
    """The job ends as it would have, and says so."""
    shell = f"mkdir p; mount -t tmpfs none p; cp {box.rankinit} p/"
    job = box.start("--restarts=2", "--report=report", "--", *SH,
                    COUNTS + "mount -o remount,noexec p; kill -9 $$", program="p/rankinit",
                    shell=shell)
    result = job.wait()
    assert result.status == 137 and job.log() == ["0"], result.err
    assert "cannot execute itself: Permission denied [restarts.refused]" in result.err


def test_without_proc(box):
    shell = "mkdir e; mount --bind e /proc"
    job = box.start("--restarts=2", "--", *SH, COUNTS + "kill -9 $$", shell=shell)
    result = job.wait()
    assert result.status == 137 and job.log() == ["0", "1", "2"], result.err


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_key_while_the_ranks_end(box, number):
    """Rank 1 has failed already, and rank 0 takes its time."""
    script = ("echo $RANK >>@FOLDER/log; "
              "if [ $RANK = 1 ]; then until [ -e ready ]; do sleep 0.01; done; kill -9 $$; fi; "
              "trap 'echo told >>@FOLDER/log' TERM; trap 'exit 7' INT HUP QUIT; : >ready; "
              "while :; do sleep 0.01; done")
    job = box.start("--restarts=2", "--nproc-per-node=2", "--", *SH, script)
    job.until("told")
    job.signal(number)
    result = job.wait()
    assert result.status == 137 and again(result) == [], result.err
    assert "not start again: a stop came from outside" in result.err
    assert sorted(job.log()) == ["0", "1", "told"]


def test_signals_that_are_no_stop(box):
    """The control: those that a program takes for something else, or that are mapped to such."""
    script = ("[ $RANKINIT_ATTEMPT = 1 ] && exit 0; trap 'kill -9 $$' USR1; echo ready "
              ">>@FOLDER/log; while :; do sleep 0.01; done")
    for options, number in ([], signal.SIGUSR1), (["--signal-map=HUP:USR1"], signal.SIGHUP):
        job = box.start("--restarts=2", *options, "--", *SH, script)
        job.until("ready")
        job.signal(number)
        result = job.wait()
        assert result.status == 0 and len(again(result)) == 1, result.err


FOREIGN = {
    "a pipe": lambda: os.pipe()[0],
    "a folder": lambda: os.open("/", os.O_RDONLY),
    "an O_PATH": lambda: os.open("/proc/self/exe", os.O_PATH),
    "an empty memory file": lambda: sealed(b""),
    "a small one": lambda: sealed(b"rankinit-carried "),
    "a large one": lambda: sealed(b"rankinit-carried " + bytes(1 << 20)),
}


def sealed(data):
    fd = os.memfd_create("fake", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    os.set_inheritable(fd, True)
    fcntl.fcntl(fd, 1033, 15)   # F_ADD_SEALS, all of them
    return fd


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("options", [[], ["--restarts=1"]], ids=str)
def test_descriptors_of_others(box, what, options):
    """The variable is nobody's, and the descriptor goes on to the command."""
    fd = FOREIGN[what]()
    job = box.start(*options, "--", *SH, "echo ${RANKINIT_CARRIED-gone} >>@FOLDER/log; "
                    "[ -e /proc/$$/fd/$FD ] && echo there >>@FOLDER/log; exit 0",
                    env={"RANKINIT_CARRIED": str(fd), "FD": str(fd)}, pass_fds=(fd,))
    result = job.wait()
    os.close(fd)
    assert result.status == 0 and job.log() == ["gone", "there"], result.err
    warned(result, "restarts.foreign", "RANKINIT_CARRIED")


def test_a_variable_of_a_rank_that_starts_rankinit(box):
    """RANKINIT_ATTEMPT is no option's, and says so to nobody."""
    for inner in ([], ["--restarts=1", "--nproc-per-node=2"]):
        result = box.run("--restarts=1", "--", box.rankinit, *inner, "--", *SH,
                         "[ $RANKINIT_ATTEMPT = 0 ]")
        assert result.status == 0 and result.err == ""
