# SPDX-License-Identifier: Apache-2.0
"""
Two rankinits in one job, an image's ENTRYPOINT and a command: of each failure one of them speaks,
the inner one where the outer one hears that from it.
"""

import json
import shlex
import signal
import sys

import pytest

from peek import wait_until
from test_launched import LAUNCHER

TWO = ["--nproc-per-node=2", "--master-port=1"]
RAISE = [sys.executable, "-ISc", "import os, time\n"
         "if os.environ['RANK'] == '0':\n    raise ValueError('bad batch 17')\ntime.sleep(60)"]
KILLED = ["sh", "-c", "kill -KILL $$"]
ONE = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1",
       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
LOUD = ["--exit-class", "--report=outer.json", "--restarts=1"]


def verdicts(text):
    """What the lines for programs say, each without what differs from run to run."""
    found = [line.partition(" host=")[0].partition("verdict ")[2] for line in text.splitlines()
             if line.startswith("rankinit: verdict ")]
    return found


def said(result):
    """Both parts of what it printed."""
    brief = result.brief
    last = [] if brief is None else [" ".join(f"{key}={brief[key]}" for key in brief).partition(
        " host=")[0]]
    return verdicts(result.err) + last


@pytest.fixture(name="run")
def run_fixture(box):
    """One rankinit with these options, and a command in which RANKINIT is another one."""
    def start(options, command, **more):
        words = [box.rankinit if word == "RANKINIT"
                 else word.replace("RANKINIT ", f"{box.rankinit} ") for word in command]
        return box.run(*options, "--", *words, place="below", **more)
    return start


FIRST = "cause=exception class=own retry=never rank=0 node=0"
INNER = ["RANKINIT", *TWO, "--", *RAISE]
LINE = f"RANKINIT {shlex.join([*TWO, '--', *RAISE])}"
# what stands between the two
BETWEEN = {
    "nothing": INNER,
    "a shell's line": ["bash", "-c", f"{LINE}; exit $?"],
    "a shell that executes it": ["bash", "-c", f"exec 3>log; exec {LINE}"],
    "others": ["env", "A=1", "nice", "timeout", "600", *INNER],
    "a third one": ["RANKINIT", "--", *INNER],
    "a third one that speaks, too": ["RANKINIT", "--exit-class", "--", *INNER],
}


@pytest.mark.parametrize("option, status", [
    ("--exit-class", 120), ("--restarts=1", 1), ("--report=outer.json", 1),
])
@pytest.mark.parametrize("name", BETWEEN)
def test_the_inner_one_speaks(run, name, option, status):
    result = run([option], BETWEEN[name])
    if "third one that" in name:
        status = 120
    assert said(result) == [FIRST]
    assert result.status == status
    assert result.err.count(" failed first: ") == 1
    assert "does not start again" not in result.err


@pytest.mark.parametrize("name", [name for name in BETWEEN if "third" not in name])
def test_without_a_word_the_outer_one_speaks(run, name):
    """The control: an inner one that was not told where, as an older one is not."""
    words = BETWEEN[name]
    if len(words) == 3:
        words = [words[0], words[1], f"unset RANKINIT_OUTER; {words[2]}"]
    else:
        at = words.index("RANKINIT")
        words = [*words[:at], "env", "-u", "RANKINIT_OUTER", *words[at:]]
    result = run(["--exit-class"], words)
    assert said(result)[0] == FIRST and len(said(result)) == 2
    assert result.status == 120


@pytest.mark.parametrize("close", ["exec {fd}>&-", "exec {fd}</dev/null",
                                   "exec {fd}</proc/self/fd/{fd}"])
def test_a_descriptor_that_is_closed_or_another_file(run, close):
    line = close.replace("{fd}", '{fd}').replace("exec ", "fd=${RANKINIT_OUTER%%:*}; eval \"exec ")
    line = line.replace("{fd}", "$fd") + '"'
    result = run(["--exit-class"], ["bash", "-c", f"{line}; {LINE}; exit $?"])
    assert len(said(result)) == 2 and said(result)[0] == FIRST
    assert result.status == 120


def test_both_reports(box, run):
    result = run(["--report=/dev/stdout"], ["RANKINIT", "--report=/dev/stderr", *TWO, "--", *RAISE])
    outer = json.loads(result.out)
    inner = json.loads("{" + result.err.partition("\n{")[2].rpartition("\n}")[0] + "}")
    assert outer["verdict"]["cause"] == inner["verdict"]["cause"] == "exception"
    assert outer["verdict"]["retry"] == inner["verdict"]["retry"] == "never"
    assert (outer["verdict"]["rank"], inner["first_failure"]["rank"]) == (0, 0)
    assert outer["exit_status"] == inner["exit_status"] == 1
    assert said(result) == [FIRST]


# the options of the outer one, of the inner one, and the status
STATUSES = {
    "neither": ([], [], 137),
    "the outer one": (["--exit-class"], [], 220),
    "the inner one": ([], ["--exit-class"], 220),
    "both": (["--exit-class"], ["--exit-class"], 220),
    "a map in the inner one": (["--exit-class"], ["--exit-map=137:3"], 220),
    "a map in the outer one": (["--exit-map=220:7"], ["--exit-class"], 7),
    "a map in both": (["--exit-map=3:5", "--report=r"], ["--exit-map=137:3"], 5),
}


@pytest.mark.parametrize("name", STATUSES)
def test_statuses(run, name):
    outer, inner, status = STATUSES[name]
    result = run(outer, ["RANKINIT", *inner, "--", *KILLED])
    assert said(result) == ["cause=killed class=own retry=same"]
    assert result.status == status


def test_three_reports_have_the_status_of_the_rank(run, tmp_path):
    """The innermost makes a class of it: the others know what it was before that."""
    inner = ["RANKINIT", "--exit-class", *TWO, "--", "sh", "-c",
             "[ $RANK = 0 ] && exit 3; exec sleep 60"]
    run([f"--report={tmp_path}/outer"], ["RANKINIT", f"--report={tmp_path}/middle", "--", *inner])
    assert [json.loads((tmp_path / name).read_text())["verdict"]["status"]
            for name in ("middle", "outer")] == [3, 3]


def test_a_refusal_is_the_inner_one_s(run):
    for words, status, cause in ((["--nonsense", "--", "true"], 125, "refused"),
                                 (["--", "no-such"], 127, "exec")):
        result = run(["--restarts=1"], ["RANKINIT", *words])
        assert said(result) == [f"cause={cause} class=own retry=never"]
        assert result.status == status
        assert result.err.count("rankinit: error: ") == 1
        assert run(["--exit-class"], ["RANKINIT", *words]).status == 120


def test_what_the_inner_one_survives(run):
    """A status of the line's own is another failure, and one that is 0 is none."""
    result = run(["--exit-class"], ["bash", "-c", f"{LINE} || exit 9"])
    assert [line.partition(" rank=")[0] for line in said(result)] == [
        "cause=exception class=own retry=never", said(result)[1]]
    assert result.brief["status"] == "9" and result.status == 120
    result = run(["--exit-class"], ["bash", "-c", f"{LINE} || true"])
    assert said(result) == [FIRST] and result.status == 0


def test_an_inner_one_that_is_killed(run):
    """And what one before it had said counts no more."""
    kill = "RANKINIT -- sh -c 'kill -KILL $PPID; sleep 60'"
    for before in ("", f"{LINE}; "):
        result = run(["--exit-class"], ["bash", "-c", f"{before}{kill}; exit $?"])
        assert len(said(result)) == (2 if before else 1)
        assert result.brief["status"] == "137"
        assert before or (result.brief["cause"], result.status) == ("killed", 220)


def test_an_inner_one_that_becomes_its_command(run):
    result = run(["--exit-class"], ["RANKINIT", "--supervise=never", "--", *KILLED])
    assert said(result) == ["cause=killed class=own retry=same"]
    assert result.status == 220


def test_restarts_by_the_inner_one_s_word(run):
    """It starts again what is worth it, and gives up what would fail again."""
    result = run(["--restarts=1"], ["RANKINIT", "--", *KILLED])
    assert said(result) == ["cause=killed class=own retry=same"] * 2
    assert result.err.count("it starts again (restart 1 of 1)") == 1
    assert result.status == 137
    result = run(["--restarts=1"], INNER)
    assert said(result) == [FIRST] and "starts again" not in result.err


@pytest.mark.parametrize("ranks", [[], TWO])
def test_a_stop_from_outside(box, ranks):
    job = box.start("--exit-class", "--", box.rankinit, *ranks, "--", "sh", "-c",
                    "echo ready >>@FOLDER/log; exec sleep 60")
    wait_until(lambda: job.count("ready") == (2 if ranks else 1), "all are ready")
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert [line.partition(" node=")[0] for line in said(result)] == [
        "cause=preempted class=stopped retry=same"]
    assert result.status == 220


# --- one rank of several --------------------------------------------------------------

@pytest.mark.parametrize("options, inner, status", [
    ([], [], 1), (["--exit-class"], [], 120), ([], ["--exit-class"], 1),
    (["--exit-class"], ["--exit-class"], 120), ([], ["--report=/dev/null"], 1),
])
def test_each_of_several_ranks(run, options, inner, status):
    """The outer one knows all of them, and makes the class."""
    result = run([*options, *TWO], ["RANKINIT", *inner, "--", *RAISE])
    assert said(result) == [FIRST]
    assert result.status == status
    assert [line for line in result.lines() if " failed" in line] == [
        next(line for line in result.lines() if "rank 0 (" in line and " failed first: " in line)]


def test_refusals_of_several_ranks(run):
    result = run(TWO, ["RANKINIT", "--nonsense", "--", "true"])
    assert len(said(result)) == 1 and result.brief["status"] == "125"


def test_one_rank_tells_an_outer_one_of_that_rank_alone(run):
    """Two jobs' places would not be told apart by a status."""
    word = "RANKINIT -- sh -c 'kill -KILL $$'; exit $?"
    result = run(["--exit-class"], ["bash", "-c", word], env=ONE)
    assert said(result) == ["cause=killed class=own retry=same rank=0 node=0"]
    all_of_it = " ".join(f"{name}={ONE[name]}" for name in ONE)
    for env, other in ((ONE, "RANK=1"), ({}, all_of_it)):
        result = run(["--exit-class"], ["bash", "-c", f"{other} {word}"], env=env)
        assert len(said(result)) == 2 and result.status == 220


TORCHRUN = ["./torchrun", "exec " + shlex.join(RAISE), "until false; do sleep 0.1; done"]


@pytest.mark.parametrize("option, status", [("--exit-class=no", 1), ("--exit-class", 120)])
@pytest.mark.parametrize("command", [
    ["RANKINIT", "--", *TORCHRUN], ["bash", "-c", f"RANKINIT -- {shlex.join(TORCHRUN)}; exit $?"],
    # each is one rank, and becomes it
    ["./torchrun", f"TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 GROUP_RANK=0 "
     f"exec RANKINIT -- {shlex.join(RAISE)}", TORCHRUN[2]],
], ids=["behind", "behind a shell", "in front"])
def test_a_launcher_and_two_rankinits(run, command, option, status):
    result = run([option], command, shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\nchmod +x torchrun")
    assert len(said(result)) == 1 and result.brief["cause"] == "exception", result.err
    assert result.status == status


MPIRUN = ["--allow-run-as-root", "--oversubscribe", "-np", "2"]


@pytest.mark.parametrize("options, status", [([], 1), (["--exit-class"], 120)])
def test_ranks_of_mpirun_between_the_two(run, tool, options, status):
    """Each inner one is one rank of two, and no more: the outer one speaks."""
    command = [tool("mpirun"), *MPIRUN, "RANKINIT", "--", *RAISE]
    result = run(options, command, env={"HOME": "/tmp"})
    assert len(said(result)) == 1 and result.brief["cause"] == "exception", result.err
    assert result.status == status


def test_two_rankinits_in_a_rank_of_mpirun(box, tool):
    """The inner one becomes the command, and the outer one stays; the control keeps both."""
    words = [tool("mpirun"), *MPIRUN, box.rankinit, "--", box.rankinit]
    show = ["--", "sh", "-c", "echo $(tr '\\0' ' ' </proc/$PPID/cmdline)"]
    env = {"HOME": "/tmp"}

    def parents(*options):
        out = box.run(*words[1:], *options, *show, program=words[0], env=env).out.decode()
        return [line.split().count(box.rankinit) for line in out.splitlines()]
    assert parents() == [2, 2] and parents("--supervise=always") == [1, 1]


@pytest.mark.parametrize("shape", ["azureml_mpi:1x2", "indexed_job:1x2"])
def test_a_simulated_job(run, shape):
    result = run([f"--simulate={shape}"], ["RANKINIT", "--", *RAISE])
    assert [line.partition(" node=")[0] for line in verdicts(result.err)] == [
        "cause=exception class=own retry=never rank=0"], result.err
    assert result.status == 1


# --- whoever else writes there --------------------------------------------------------

WORD = """
import os, struct, sys
fd = int(os.environ['RANKINIT_OUTER'].partition(':')[0])
version = {version!r}.encode()
fields = dict(cause={cause}, retry=0, cls=4, status=3, rank=-1, node=-1, of_rank=-1, exit_status=3)
fields.update({change})
# lib/report/verdict.h: no restarts, no mark, no stop and no host
data = struct.pack('@24s3Ii2q88xqi4x', b'rankinit-inner ' + version, *fields.values())
os.pwrite(fd, {data}, 0)
os._exit(3)
"""
HOSTILE = {
    "another status": {"change": "exit_status=4"},
    "no status": {"change": "exit_status=0"},
    "a negative status": {"change": "status=-3"},
    "a large status": {"change": "status=1 << 20"},
    "no such cause": {"change": "cause=1 << 20"},
    "a negative cause": {"change": "cause=2 ** 32 - 1"},
    "no such retry": {"change": "retry=3"},
    "no such class": {"change": "cls=77"},
    "another version": {"version": "9.9.9"},
    "another rank": {"change": "of_rank=5"},
    "half of it": {"data": "data[:40]"},
    "nothing": {"data": "b''"},
    "garbage": {"data": "os.urandom(len(data))"},
    "a flood": {"data": "os.urandom(1 << 20)"},
}


def hostile(box, **parts):
    version = box.run("--version").out.decode().split()[1]
    parts = {"version": version, "cause": 0, "change": "", "data": "data", **parts}
    return WORD.format(**parts)


@pytest.mark.parametrize("name", HOSTILE)
def test_words_of_strangers(box, run, name):
    result = run(["--exit-class"], [sys.executable, "-ISc", hostile(box, **HOSTILE[name])])
    assert said(result) == ["cause=exit_status class=unknown retry=never"]
    assert result.status == 120


def test_a_word_of_a_stranger_that_holds_silences_and_no_more(box, run):
    """The control of each row above."""
    result = run(["--restarts=1"], [sys.executable, "-ISc", hostile(box)])
    assert said(result) == []
    assert result.status in (3, 137) and "crash" not in result.err


def test_the_descriptor_waits_for_nobody(box, run):
    """Processes that hold it, and write to it for ever, hold up no end."""
    writer = ("import os\nfd = int(os.environ['RANKINIT_OUTER'].partition(':')[0])\n"
              "os.write(1, b'x')\nwhile True:\n    os.pwrite(fd, os.urandom(4096), 0)")
    line = f"read -r -n 1 < <(exec setsid {shlex.join([sys.executable, '-ISc', writer])}); exit 3"
    result = run(["--exit-class"], ["bash", "-c", line])
    assert len(said(result)) == 1 and result.status == 120


@pytest.mark.parametrize("value", ["1:1", "0:0", "x", "", ":", "3:", "104", "999999999999:1",
                                   "-1:5", "ranks ", "3:18446744073709551616"])
def test_a_variable_that_names_nothing(box, value):
    result = box.run("--exit-class", "--", *KILLED, env={"RANKINIT_OUTER": value})
    assert said(result) == ["cause=killed class=own retry=same"]
    assert result.status == 220 and "RANKINIT_OUTER" not in result.err


def test_a_rank_has_neither(box):
    """Neither the descriptor nor the number of it goes on to ranks of the inner one."""
    show = "ls -l /proc/self/fd | grep -c memfd:rankinit-inner; echo $RANKINIT_OUTER"
    result = box.run("--exit-class", "--", box.rankinit, *TWO, "--", "sh", "-c", show)
    assert sorted(result.out.split()) == [b"0"] * 2 + [b"ranks"] * 2
    result = box.run("--exit-class", "--", "sh", "-c", show)
    assert result.out.split()[0] == b"1" and b":" in result.out, "the control"
    result = box.run("--", "sh", "-c", show)
    assert result.out.split() == [b"0"], "nothing is said twice here"
