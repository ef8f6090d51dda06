# SPDX-License-Identifier: Apache-2.0
"""
Ranks that a launcher starts: which failed first and why, though their parent is another one.

The launcher is a stand-in, launcher.py; tests/frameworks has the real ones.
"""

import json
import os
import pathlib
import signal

import pytest

import peek
import schema
from launcher import LAUNCHER
from peek import wait_until
from test_obituary import GREEDY, enter, memory_group
from test_terminal import terminal  # noqa: F401  a fixture
from verdict import failed_first, names, status_line, stopped_line

SCRIPT = """#!/bin/sh
./torchrun "$@"
"""

# A rank waits for its file, to end when the test has seen that it is watched.
WAIT = "until [ -e go$RANK.$ATTEMPT ]; do sleep 0.02; done; "
RAISE = WAIT + """exec python3 -ISc 'raise ValueError("bad batch 17")'"""
LOSE = WAIT + """echo '[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 9, in <module>
[rank1]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:3
' >&2; exit 1"""
OWN = WAIT + """echo '[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 7, in <module>
[rank0]: ValueError: bad batch 17' >&2; exit 1"""


@pytest.fixture
def launch(box):
    """Start a launcher in front of ranks; each is a shell's line."""
    def start(*ranks, options=(), command=None, shell=":", **more):
        job = box.start(*options, "--", *(command or ["./torchrun"]), *ranks,
                        shell=f"{shell}\ncat >torchrun <<'E'\n{LAUNCHER}E\n"
                              f"cat >run.sh <<'E'\n{SCRIPT}E\nchmod +x torchrun run.sh", **more)
        return job
    return start


def pids_held(pid):
    """Of which processes it holds a pidfd."""
    held = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        held |= {int(line.split()[1]) for line in lines if line.startswith("Pid:")}
    return held


def ranks_of(job, attempt=0):
    """{rank: pid} of those that live."""
    found = {}
    for pid in job.members():
        said = dict(pair.partition(b"=")[::2] for pair in peek.read(pid, "environ").split(b"\0"))
        if said.get(b"ATTEMPT") == str(attempt).encode() and (peek.stat(pid) or [""])[0] == "sh":
            found[int(said[b"RANK"])] = pid
    return found


def helper_of(job):
    return next((pid for pid, facts in job.members().items() if facts[0] == "rankinit-ranks"), None)


def until_watched(job, count, attempt=0):
    """Until the helper holds a pidfd of each rank. Returns {rank: pid}."""
    def look():
        ranks = ranks_of(job, attempt)
        held = pids_held(helper_of(job) or 0)
        return ranks if len(ranks) == count and set(ranks.values()) <= held else None
    return wait_until(look, "a helper that watches each rank")


def let_go(job, rank, attempt=0):
    pathlib.Path(job.folder, f"go{rank}.{attempt}").touch()


def verdict(result):
    return "\n".join(result.lines())


# One process of each node, which the platform has numbered as a rank.
AZUREML = {"AZUREML_RUN_ID": "job", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0",
           "NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "6105"}
SRUN = {"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_TASKS_PER_NODE": "1"}


@pytest.mark.parametrize("env, options", [
    ({}, []), (AZUREML, []), (SRUN, ["--grace=9"]), (SRUN, ["--supervise=always"])],
    ids=["alone", "azureml", "srun", "supervised"])
def test_an_exception_of_a_rank_below_a_launcher(launch, env, options):
    job = launch("sleep 99", RAISE, env=env, options=options)
    until_watched(job, 2)
    let_go(job, 1)
    result = job.wait()
    said = verdict(result)
    assert result.status == 1
    assert names(said.splitlines()[0], 1, 1), said
    assert failed_first(said.splitlines()[0], "exit status 1"), said
    assert "  ValueError: bad batch 17" in said.splitlines()[1], said
    assert stopped_line(0) in said
    assert said.splitlines()[-1] == status_line(1)


@pytest.mark.parametrize("end, said", [
    ("kill -KILL $$", "killed by SIGKILL (9)"),
    ("kill -SEGV $$", "killed by SIGSEGV (11)"),
    ("exit 3", "exit status 3"),
])
def test_the_kernel_tells_how_a_rank_ended(launch, end, said):
    job = launch(WAIT + end, "sleep 99", "sleep 99")
    until_watched(job, 3)
    let_go(job, 0)
    result = job.wait()
    assert names(verdict(result), 0, 0) and failed_first(verdict(result), said)
    assert stopped_line("1-2") in verdict(result)


def test_a_rank_that_ran_out_of_memory(launch, cgroup):
    """The cgroup counts it, whoever the parent is; a kill for another reason it does not."""
    # the kernel may take the launcher as well, before the rank's memory is free again
    shell = enter(memory_group(cgroup)) + "; echo -1000 >/proc/self/oom_score_adj"
    greedy = f'echo 1000 >/proc/self/oom_score_adj; exec python3 -ISc "{GREEDY}"'
    for end, counted in ((greedy, True), ("kill -KILL $$", False)):
        job = launch("sleep 99", WAIT + end, shell=shell)
        until_watched(job, 2)
        let_go(job, 1)
        line = verdict(job.wait()).splitlines()[0]
        assert names(line, 1, 1) and "killed by SIGKILL (9)" in line
        assert ("out of memory (the cgroup's oom_kill count rose)" in line) == counted


def test_a_victim_is_not_named(launch):
    """It ended first, and its words, which bear its number, say that it lost the other."""
    job = launch(OWN, LOSE, env={"STOP": "0"})
    pids = until_watched(job, 2)
    let_go(job, 1)
    wait_until(lambda: peek.state(pids[1]) in (None, "Z"), "the end of rank 1")
    let_go(job, 0)
    result = job.wait()
    said = verdict(result)
    assert names(said.splitlines()[0], 0, 0), said
    assert "  ValueError: bad batch 17" in said.splitlines()[1], said
    assert "rank 1: lost a peer, exit status 1" in said, said


@pytest.mark.parametrize("nodes, first", [
    (2, "rank 0 lost a peer on another node (node 1 of 2); a rank there went first: look at that "
        "node's log"), (1, "rank 0 (local rank 0, pid ")])
def test_one_victim_on_a_node(launch, nodes, first):
    """It lost a rank that another node has, if there is one."""
    there = ["--node-rank=1", "--nnodes=2", "--master-addr=10.255.255.1"] if nodes == 2 else []
    job = launch(LOSE.replace("rank1", "rank0"), options=[*there, "--checks=none"])
    until_watched(job, 1)
    let_go(job, 0)
    result = job.wait()
    assert result.lines()[0].startswith(f"rankinit: {first}"), result.err
    assert (result.brief["class"], "rank" in result.brief) == ("loss", nodes == 1)


def test_a_report_has_the_ranks(launch):
    job = launch("sleep 99", RAISE, options=["--report=r.json"])
    pids = until_watched(job, 2)
    inner = {rank: int(job.inner(pid)) for rank, pid in pids.items()}
    let_go(job, 1)
    job.wait()
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    ranks = document["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1]
    assert [rank["pid"] for rank in ranks] == [inner[0], inner[1]]
    assert [rank["class"] for rank in ranks] == ["stopped", "own"]
    assert [rank["signal"] for rank in ranks] == ["SIGTERM", None]
    assert document["first_failure"]["rank"] == 1
    assert "ValueError: bad batch 17" in json.dumps(document["first_failure"]["reason"])
    assert document["launch"] == "node" and document["exit_status"] == 1


@pytest.mark.parametrize("command", [
    ["bash", "-c", './torchrun "$@"', "bash"],
    ["sh", "run.sh"],
    ["./run.sh"],
])
def test_a_shell_in_front(launch, command):
    job = launch("sleep 99", RAISE, options=["--report=r.json"], command=command)
    until_watched(job, 2)
    let_go(job, 1)
    result = job.wait()
    assert names(verdict(result), 1, 1)
    assert "  ValueError: bad batch 17" in verdict(result)
    assert json.loads(job.read("r.json"))["launch"] == "process", "a shell is no launcher"


STEPS = "for i in 1 2 3 4 5 6 7 8; do echo step $i >&2; done; sleep 99"
NUMBERED = """./torchrun "$@" 2> >(while IFS= read -r line; do
    n=$((n + 1)); echo "%s$line"; done >&2)
status=$?; wait $!; exit $status"""


@pytest.mark.parametrize("prefix, read", [
    ("task/$n ", True), ("12:00:$n | ", True), ("$(printf '%*s' $((n % 3)) '')", False),
])
def test_what_stands_before_each_line(launch, prefix, read):
    """It is left out where all lines have it, their numbers aside."""
    job = launch(STEPS, RAISE, command=["bash", "-c", NUMBERED % prefix, "bash"])
    until_watched(job, 2)
    let_go(job, 1)
    result = job.wait()
    assert names(verdict(result), 1, 1), result.err
    assert ("rankinit:   ValueError: bad batch 17" in result.lines()[1]) == read, result.err


FAILS_ONCE = WAIT + """[ $ATTEMPT = 1 ] || exec python3 -ISc 'raise ValueError("bad batch 17")'"""


def run_attempts(job, *fails):
    """The ranks in fails end one after the other, each in its attempt."""
    for attempt, rank in enumerate(fails):
        until_watched(job, 2, attempt)
        let_go(job, rank, attempt)


def finish_attempt(job, attempt):
    """All ranks of this attempt end. Returns the result."""
    until_watched(job, 2, attempt)
    for rank in range(2):
        let_go(job, rank, attempt)
    return job.wait()


@pytest.mark.parametrize("command, launcher", [
    (["./torchrun"], "torchrun"), (["./ft_launcher"], "ft_launcher"),
    (["sh", "run.sh"], "the launcher"),
])
def test_a_restart_is_no_failure_of_the_job(launch, command, launcher):
    """It is said when it happens, and the report has it."""
    job = launch(WAIT + "exit 0", FAILS_ONCE, env={"RESTARTS": "1", "TELLS": "1"},
                 command=command, shell="ln -s torchrun ft_launcher",
                 options=["--report=r.json"])
    pid = job.inner(until_watched(job, 2)[1])
    run_attempts(job, 1)
    result = finish_attempt(job, 1)
    assert result.status == 0
    said, = result.lines()
    assert f"rank 1 (local rank 1, pid {pid}) failed: exit status 1, after " in said, said
    assert said.endswith(f" s: ValueError: bad batch 17; {launcher} starts its ranks again "
                         "(restart 1 of 1)"), said
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    restart, = document["restarts"]
    assert (restart["number"], restart["most"], restart["exception"]) == (
        1, 1, "ValueError: bad batch 17")
    assert (restart["rank"]["rank"], restart["rank"]["pid"], restart["rank"]["exit_code"]) == (
        1, int(pid), 1)
    assert document["first_failure"] is None


@pytest.mark.parametrize("env", [{"RESTARTS": "1"}, {"TELLS": "1"}])
def test_what_is_no_restart(launch, env):
    """Ranks that come again without torchrun's count, and a count that stays."""
    job = launch(WAIT + "exit 0", WAIT + ("exit 0" if "TELLS" in env else "[ $ATTEMPT = 1 ]"),
                 env=env, options=["--report=r.json"])
    run_attempts(job, *([1] if "RESTARTS" in env else []))
    result = finish_attempt(job, int(env.get("RESTARTS", "0")))
    assert result.status == 0 and not result.lines()
    assert json.loads(job.read("r.json"))["restarts"] == []


def test_the_last_attempt_is_told_of(launch):
    job = launch("sleep 99", WAIT + "[ $ATTEMPT = 0 ] && exit 3; exit 5", env={"RESTARTS": "1"})
    run_attempts(job, 1, 1)
    result = job.wait()
    assert "rank 1 (" in verdict(result) and "exit status 5" in verdict(result)
    assert "exit status 3" not in verdict(result)


def test_the_verdict_tells_of_the_restarts_before(launch):
    """Each attempt with its own rank and words, however little it said itself."""
    job = launch(WAIT + "exit 5", FAILS_ONCE + "; kill -KILL $$",
                 env={"RESTARTS": "2", "TELLS": "1"})
    run_attempts(job, 1, 1, 0)
    result = job.wait()
    first, second, *said = result.lines()
    assert "failed: exit status 1, after " in first and "(restart 1 of 2)" in first, first
    assert "rank 1 (" in second and "failed: killed by SIGKILL (9), after " in second, second
    assert " s; torchrun starts its ranks again (restart 2 of 2)" in second, second
    assert names(said[0], 0, 0) and "exit status 5" in said[0], said
    assert "bad batch" not in "".join(said[:-2]), said
    assert ("  torchrun had started its ranks again 2 times, at first because rank 1 failed: exit "
            "status 1, after ") in said[-2], said
    assert said[-2].endswith(" s: ValueError: bad batch 17"), said
    assert said[-1] == status_line(1)


def test_blame_tells_of_the_last_attempt(launch, box):
    job = launch("sleep 99", FAILS_ONCE + "; exit 5", env={"RESTARTS": "1", "TELLS": "1"},
                 options=["--report=r.json"])
    run_attempts(job, 1, 1)
    job.wait()
    page = box.run("--blame", f"{job.folder}/r.json").out.decode()
    assert "exit status 5" in page and "exit status 1" not in page, page
    assert ("before it: the ranks had been started again 1 time, at first for ValueError: "
            "bad batch 17") in page, page


def test_a_stop_from_outside_is_no_failure_of_a_rank(launch):
    job = launch("sleep 99", "sleep 99")
    until_watched(job, 2)
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert "failed" not in verdict(result), verdict(result)


def test_looks_wake_the_helper_alone(launch):
    """A healthy job: while it looks again, and again, rankinit sleeps on."""
    rankinit_sleeps_on(launch(WAIT + "echo step 1 >&2; sleep 99", "sleep 99"))


def rankinit_sleeps_on(job):
    """Until a line of rank 0's comes."""
    until_watched(job, 2)
    helper = helper_of(job)
    wait_until(lambda: peek.rests(job.pid), "rankinit at rest")
    slept, looked = peek.switches(job.pid)[0], peek.switches(helper)[0]
    wait_until(lambda: peek.switches(helper)[0] >= looked + 2, "two more looks")
    assert peek.rests(job.pid) and peek.switches(job.pid)[0] == slept
    # the control: a line of a rank's wakes it
    let_go(job, 0)
    wait_until(lambda: peek.switches(job.pid)[0] > slept, "rankinit awake")


# Launchers without a rank, each below a folder.
SILENT = "mkdir q; printf '#!/bin/sh\\n%s\\nexit %s\\n' '{}' {} >q/torchrun; chmod +x q/torchrun"


def test_a_launcher_that_fails_and_says_nothing(launch):
    job = launch(command=["q/torchrun"], shell=SILENT.format("", 7), options=["--report=r.json"])
    result = job.wait()
    first, *said = result.lines()
    assert result.status == 7
    assert first.startswith("rankinit: torchrun (pid "), first
    assert ") failed: exit status 7, after " in first, first
    assert said == ["rankinit:   it wrote nothing to stderr: look at its stdout",
                    "rankinit:   if its ranks write files, look there: torchrun names their "
                    "folder with --log-dir=DIR"]
    schema.check(json.loads(job.read("r.json")), "report")


@pytest.mark.parametrize("command, shell, status", [
    (["q/torchrun"], SILENT.format("", 0), 0),
    (["sh", "-c", "exit 7"], ":", 7),
    (["--supervise=never", "q/torchrun"], SILENT.format("", 7), 7),
    (["--launch=process", "q/torchrun"], SILENT.format("", 7), 7),
])
def test_who_need_not_say_anything(launch, command, shell, status):
    """The controls: one that ends well, one that is no launcher, and two that are not read."""
    result = launch(options=[word for word in command if word.startswith("--")], shell=shell,
                    command=[word for word in command if not word.startswith("--")]).wait()
    assert (result.status, result.err) == (status, "")


def test_a_launcher_that_says_why_is_told_of_once(launch):
    result = launch(command=["q/torchrun"], shell=SILENT.format("echo no such file >&2", 7)).wait()
    assert result.status == 7
    assert not any("wrote nothing" in line for line in result.lines()), result.err


def test_a_job_that_ends_well_says_nothing(launch):
    job = launch(WAIT + "echo done", WAIT + "echo done")
    until_watched(job, 2)
    let_go(job, 0)
    let_go(job, 1)
    result = job.wait()
    assert (result.status, result.out, result.err) == (0, b"done\ndone\n", "")


@pytest.mark.parametrize("words", [
    ["sleep", "99"],
    ["sh", "-c", "sleep 99"],
    ["--launch=process", "./torchrun", "sleep 99"],
    ["--supervise=never", "./torchrun", "sleep 99"],
])
def test_who_is_not_watched(launch, words):
    """A command that names no launcher, and one that is said to be a rank."""
    options = [word for word in words if word.startswith("--")]
    command = [word for word in words if not word.startswith("--")]
    job = launch(options=options, command=command)
    wait_until(lambda: any(facts[0] == "sleep" for facts in job.members().values()), "its sleep")
    assert helper_of(job) is None


def test_both_streams_keep_their_order(box, tmp_path):
    """One place for both: one pipe for both."""
    lines = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    with open(tmp_path / "both", "w+b") as both:
        job = box.start("--", "bash", "-c", f": torchrun; {lines}", stdout=both, stderr=both)
        job.wait()
        both.seek(0)
        said = both.read().decode().split("\n")
    assert said[:-1] == [f"{word} {i}" for i in range(1, 301) for word in ("out", "err")]


def test_a_terminal_stays_one(launch, terminal):  # noqa: F811
    """stderr is not read there, and the ends tell which rank it was."""
    job = launch("sleep 99", WAIT + "test -t 2 && exit 3", tty=terminal.path)
    until_watched(job, 2)
    let_go(job, 1)
    assert job.wait().status == 1
    terminal.look(0.1)
    assert names(terminal.text, 1, 1), terminal.text
    assert failed_first(terminal.text, "exit status 3"), terminal.text
    assert "it wrote nothing to stderr" not in terminal.text, terminal.text


# As torch writes it where the program's main function bears @record (error_handler.py).
ERROR = """printf '{"message": {"message": "ValueError: bad batch 17", "extraInfo":
{"py_callstack": "Traceback (most recent call last):\\\\n  File a.py\\\\nValueError: bad batch 17",
"timestamp": "'$(date +%s)'"}}}' >"$TORCHELASTIC_ERROR_FILE"; """


def test_the_error_file_of_a_rank(launch, terminal):  # noqa: F811
    """Of a rank whose stderr rankinit does not read, and of each start its own."""
    job = launch("sleep 99", WAIT + "[ $ATTEMPT = 1 ] && exit 5; " + ERROR + "exit 3",
                 tty=terminal.path, options=["--report=r.json"],
                 env={"RESTARTS": "1", "TELLS": "1", "ERRORS": "error-%d-%d.json"})
    run_attempts(job, 1, 1)
    job.wait()
    terminal.look(0.1)
    said = [line for line in terminal.text.splitlines() if "rankinit:" in line]
    assert " s: ValueError: bad batch 17; torchrun starts its ranks again" in said[0], said
    assert failed_first(said[1], "exit status 5") and "bad batch" not in said[2], said
    assert json.loads(job.read("r.json"))["first_failure"]["torch_error"] is None


@pytest.mark.parametrize("before, after, shown", [
    ("", "", True),
    ("mkfifo $F; sleep 99 <$F & ", "", False),
    ("ln -s other.json $F; ", "", False),
    ("", "ln $F other.json; ", False),
    ("", "head -c 70000 /dev/zero >>$F; ", False),
    ("", "echo oops >$F; ", False),
    ("", "touch -d 2099-01-01 $F; ", False),
    ("", "chown 12345 $F; ", False),
    ("export TORCHELASTIC_ERROR_FILE=/dev/null; ", "", False),
])
def test_what_is_an_error_file(launch, terminal, before, after, shown):  # noqa: F811
    rank = WAIT + "F=$TORCHELASTIC_ERROR_FILE; " + before + ERROR + after + "exit 3"
    job = launch("sleep 99", rank, tty=terminal.path, options=["--report=r.json"],
                 env={"ERRORS": "error-%d-%d.json"})
    run_attempts(job, 1)
    job.wait()
    terminal.look(0.1)
    assert failed_first(terminal.text, "exit status 3"), terminal.text
    assert ("ValueError: bad batch 17" in terminal.text) == shown, terminal.text
    error = json.loads(job.read("r.json"))["first_failure"]["torch_error"]
    assert (error is not None) == shown, error


def test_a_file_that_all_ranks_share(launch, terminal):  # noqa: F811
    job = launch("sleep 99", WAIT + ERROR + "exit 3", tty=terminal.path,
                 env={"ERRORS": "error%.0s%.0s.json"})
    run_attempts(job, 1)
    job.wait()
    terminal.look(0.1)
    assert failed_first(terminal.text, "exit status 3"), terminal.text
    assert "bad batch" not in terminal.text, terminal.text


def test_a_helper_that_was_killed_costs_nothing_but_its_words(launch):
    job = launch("sleep 99", RAISE)
    until_watched(job, 2)
    os.kill(helper_of(job), signal.SIGKILL)
    let_go(job, 1)
    result = job.wait()
    assert result.status == 1
    assert "  ValueError: bad batch 17" in verdict(result)
