# SPDX-License-Identifier: Apache-2.0
"""--restarts: the ranks of a node start again, as they started at first."""

import json
import os
import re
import signal
import sys

import pytest

import schema
from box import refused, warned
from peek import free_port, wait_until
from test_terminal import CTRL_C, terminal  # noqa: F401  a fixture

PLACES = ["init", "below"]
SH = ["sh", "-c"]
AGAIN = re.compile(r"rankinit: (.*); (the ranks start|it starts) again \(restart (\d+) of (\d+)\)")
NOT_AGAIN = re.compile(r"rankinit: the (?:ranks do|command does) not start again: (.*)")
# Rank 1 is killed in the first so many attempts, when rank 0 is there; the others wait for that.
KILLED = (": > at.$RANK.$RANKINIT_ATTEMPT; [ $RANK = 1 ] && [ $RANKINIT_ATTEMPT -lt %d ] && { "
          "until [ -e at.0.$RANKINIT_ATTEMPT ]; do sleep 0.01; done; kill -9 $$; }; ")
WAIT = "[ $RANKINIT_ATTEMPT -lt %d ] && exec sleep 60; "


def restarts(result):
    """The lines about restarts: (what had failed, number, of so many)."""
    found = [AGAIN.fullmatch(line) for line in result.lines()]
    return [(one[1], int(one[3]), int(one[4])) for one in found if one]


def why_not(result):
    """The line about why there is none, or None; it is the last one."""
    found = [NOT_AGAIN.fullmatch(line) for line in result.lines()]
    assert sum(map(bool, found)) <= 1 and not any(found[:-1]), result.err
    return found[-1][1] if found and found[-1] else None


def attempts(job):
    """What each rank said at its start, in order: "RANK ATTEMPT"."""
    return sorted(line for line in job.log() if re.fullmatch(r"\d+ \d+", line))


SAY = 'echo "$RANK $RANKINIT_ATTEMPT" >> @FOLDER/log; '
# Rank 0 prints more each time.
FURTHER = "seq $RANKINIT_ATTEMPT >&2; "


def killed(times, then="exit 0"):
    return [*SH, SAY + KILLED % times + WAIT % times + then]


@pytest.mark.parametrize("place", PLACES)
def test_ranks_start_again(box, place):
    job = box.start("--restarts=2", "--nproc-per-node=2", "--", *killed(1), place=place)
    result = job.wait()
    assert result.status == 0
    assert attempts(job) == ["0 0", "0 1", "1 0", "1 1"]
    (failure, number, most), = restarts(result)
    assert (number, most) == (1, 2) and why_not(result) is None
    (brief,) = [line for line in result.lines() if "rankinit: verdict " in line]
    assert brief.endswith(" retries=0 restarted=yes") and result.brief is None
    assert re.fullmatch(r"rank 1 \(local rank 1, pid \d+\) failed: killed by SIGKILL \(9\), "
                        r"after \S+ s", failure)
    assert job.others() == {} if place == "below" else job.members() == {}
    control = box.start("--nproc-per-node=2", "--", *killed(1), place=place, env={
        "RANKINIT_ATTEMPT": "0"})
    result = control.wait()
    assert result.status == 137 and "restarted" not in result.brief
    assert attempts(control) == ["0 0", "1 0"], "the control: without the option there is one"


def test_by_the_variable_and_by_another_name(box, tmp_path):
    tini = tmp_path / "tini"
    tini.symlink_to(box.rankinit)
    for program in (box.rankinit, str(tini)):
        job = box.start("--", *SH, SAY + "[ $RANKINIT_ATTEMPT = 1 ] || kill -9 $$", program=program,
                        env={"RANKINIT_RESTARTS": "3", "RANK": "x"})
        assert job.wait().status == 0
        assert attempts(job) == [] and job.log() == ["x 0", "x 1"]


# What a rank finds, without what is to differ: numbers of processes and of attempts, the file that
# torch may write, and the pipes that are each attempt's own.
FINDS = """
import os, re, resource, sys, time
same = sorted(f"{name}={value}" for name, value in os.environ.items() if name not in (
    "RANKINIT_ATTEMPT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_ERROR_FILE"))
same += [os.getcwd(), repr(sys.argv), oct(os.umask(0)), str(resource.getrlimit(
    resource.RLIMIT_NOFILE)), str(os.getppid()), str(os.sched_getaffinity(0))]
for line in open("/proc/self/status"):
    if line.startswith(("SigB", "SigI", "SigC", "ShdP", "Cap", "NoNew", "Seccomp")):
        same.append(line.strip())
same += [open("/proc/%d/%s" % (os.getppid(), name)).read() for name in ("comm", "cmdline")]
for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
    try:
        same.append("%d %s" % (fd, re.sub("pipe:.*", "pipe" if fd < 3 else r"\\g<0>",
                                          os.readlink("/proc/self/fd/%d" % fd))))
    except OSError:
        pass        # that of the list itself
name = "found.%s.%s" % (os.environ["RANK"], os.environ["RANKINIT_ATTEMPT"])
with open(name + ".new", "w") as file:
    file.write("\\n".join(same))
os.rename(name + ".new", name)
if os.environ["RANKINIT_ATTEMPT"] == "0":
    while os.environ["RANK"] == "0" or not os.path.exists("found.0.0"):
        time.sleep(0.01)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("options", [
    [], ["--log-prefix"], ["--log-file=@FOLDER/rank_%r"],
    ["--report=fd:@FD", "--state=@FOLDER/state", "--user=daemon", "--cap-drop=all"],
], ids=["plain", "prefix", "file", "much"])
def test_the_next_attempt_finds_what_the_first_one_did(box, options):
    """Descriptors that rankinit was given for its ranks, mask, limits, folder, environment."""
    inherited, report = os.open("/dev/null", os.O_RDONLY), os.memfd_create("report", 0)
    os.set_inheritable(inherited, True)
    words = [word.replace("@FD", str(report)) for word in options]
    job = box.start("--restarts=1", "--nproc-per-node=2", f"--master-port={free_port()}", *words,
                    "--", sys.executable, "-ISc", FINDS, "word",
                    env={"EVEN": "a\nb", "TORCHELASTIC_RUN_ID": "x"},
                    pass_fds=(inherited, report), nsrun=(),
                    shell="umask 027; chmod 777 @FOLDER; trap '' USR1; ulimit -Sn 512")
    result = job.wait()
    os.close(inherited)
    os.close(report)
    assert result.status == 0, result.err
    assert len(restarts(result)) == 1 and os.path.exists(f"{job.folder}/found.0.0"), result.err
    for rank in "01":
        first, again = (job.read(f"found.{rank}.{attempt}").decode() for attempt in "01")
        assert first == again
        assert f"\n{inherited} /dev/null" in first and job.folder in first
        assert "RANKINIT_CARRIED" not in first and "(512, " in first
        own = any("@FD" in word for word in options)
        assert ("memfd:report" in first) != own, "that of --report is rankinit's own"


def test_what_tells_the_ranks(box):
    show = ("echo $RANKINIT_ATTEMPT $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS "
            ">> @FOLDER/log; kill -9 $$")
    job = box.start("--restarts=1", "--", *SH, show)
    job.wait()
    assert job.log() == ["0 0 1", "1 1 1"]
    theirs = box.start("--restarts=1", "--", *SH, show, env={
        "TORCHELASTIC_RESTART_COUNT": "7", "TORCHELASTIC_MAX_RESTARTS": "9"})
    theirs.wait()
    assert theirs.log() == ["0 7 9", "1 7 9"], "the platform's own stay"
    plain = box.start("--", *SH, show)
    plain.wait()
    assert plain.log() == [""], "the control: without the option there are none"


@pytest.mark.parametrize("place", PLACES)
def test_what_the_ranks_left_is_gone_before(box, place):
    """Also what left its session and hears no SIGTERM."""
    left = ("(trap '' TERM; exec setsid sleep 3333) & "
            "until grep -qs 3333 /proc/$!/cmdline; do sleep 0.01; done; kill -9 $$")
    look = "grep -ls [3]333 /proc/[0-9]*/cmdline > @FOLDER/seen; exit 0"
    script = f"if [ $RANKINIT_ATTEMPT = 0 ]; then {left}; fi; {look}".replace("3333", "33''33")
    job = box.start("--restarts=1", "--grace=0.2", "--", *SH, script, place=place)
    result = job.wait()
    assert result.status == 0 and len(restarts(result)) == 1, result.err
    assert job.read("seen") == b""
    there = "until grep -qs [3]333 /proc/$!/cmdline; do :; done; "
    control = box.start("--", *SH, "sleep 33''33 & " + there + look.replace("3333", "33''33"),
                        place=place)
    control.wait()
    assert control.read("seen") != b"", "the control: it would be seen"


def test_logs_go_on_below_a_line(box):
    script = "echo out $RANK $RANKINIT_ATTEMPT; " + FURTHER + KILLED % 2 + WAIT % 2 + "exit 0"
    for options, name in ((["--log-file=rank_%r"], "rank_1"),
                          (["--log-file=all"], "all")):
        job = box.start("--restarts=2", "--nproc-per-node=2", *options, "--", *SH, script)
        assert job.wait().status == 0
        lines = [line for line in job.read(name).decode().splitlines() if line]
        marks = [at for at, line in enumerate(lines) if line.startswith("rankinit: ")]
        assert len(marks) == 2
        for number, at in enumerate(marks, 1):
            assert lines[at].startswith(f"rankinit: restart {number} of 2: rank 1 ")
            assert any(f"out 1 {number - 1}" in line for line in lines[:at])
            assert not any(f"out 1 {number}" in line for line in lines[:at])
            assert any(f"out 1 {number}" in line for line in lines[at:])


def read_report(job, name):
    document = json.loads(job.read(name))
    schema.check(document, "report")
    return document


def test_a_report_of_each_attempt(box):
    with_report = ["--restarts=5", "--nproc-per-node=2", "--report=report.json", "--log-prefix"]
    job = box.start(*with_report, "--", *SH, FURTHER + KILLED % 2 + WAIT % 2 + "exit 0",
                    shell="echo old > report.json")
    assert job.wait().status == 0
    assert sorted(name for name in os.listdir(job.folder) if "report" in name) == [
        "report.json", "report.json.1", "report.json.2", "report.json.before"]
    first, second = (read_report(job, f"report.json.{number}") for number in (1, 2))
    last = read_report(job, "report.json")
    assert [one["exit_status"] for one in (first, second, last)] == [137, 137, 0]
    assert [len(one["restarts"]) for one in (first, second, last)] == [0, 1, 2]
    assert [one["number"] for one in last["restarts"]] == [1, 2]
    for one in last["restarts"]:
        assert (one["most"], one["rank"]["rank"], one["rank"]["signal"]) == (5, 1, "SIGKILL")
    assert last["first_failure"] is None
    assert last["restarts"][0]["rank"]["pid"] == first["ranks"][1]["pid"]


def test_one_report_for_a_descriptor(box):
    """Its reader wants one document: that of the end, which lists what was before."""
    reader, writer = os.pipe()
    job = box.start("--restarts=1", "--nproc-per-node=2", f"--report=fd:{writer}", "--",
                    *killed(1, "exit 4"), pass_fds=(writer,))
    os.close(writer)
    assert job.wait().status == 4
    with open(reader, "rb") as file:
        document = json.loads(file.read())
    schema.check(document, "report")
    assert document["exit_status"] == 4 and len(document["restarts"]) == 1


def test_the_state_and_torch_s_files(box):
    """A probe sees a job that runs, in each attempt and between them."""
    script = (SAY + "echo $TORCHELASTIC_ERROR_FILE >> @FOLDER/log; cat @FOLDER/state | cut -d ' ' "
              "-f 2 >> @FOLDER/log; " + KILLED % 1 + "trap 'cut -d \" \" -f 2 @FOLDER/state >> "
              "@FOLDER/log; exit' TERM; [ $RANKINIT_ATTEMPT = 1 ] || while :; do sleep 0.01; done")
    job = box.start("--restarts=1", "--nproc-per-node=2", "--state=state", "--", *SH, script)
    assert job.wait().status == 0
    said, files = job.log(), [line for line in job.log() if line.endswith(".json")]
    assert len(set(files)) == 4, "each attempt has its own"
    assert not any(os.path.exists(os.path.dirname(file)) for file in files)
    assert {line for line in said if line.isalpha()} <= {"starting", "running"}
    assert job.read("state").split()[1] == b"done"


def test_the_terminal_comes_back(box, terminal):  # noqa: F811
    """The next one may read from it again."""
    script = ("echo ready $RANKINIT_ATTEMPT; read line; echo got $line; "
              "[ $RANKINIT_ATTEMPT = 1 ] || kill -9 $$")
    for place in PLACES:
        job = box.start("--restarts=1", "--", *SH, script, tty=terminal.path, place=place)
        terminal.until("ready 0")
        terminal.type("one\n")
        terminal.until("ready 1")
        terminal.type("two\n")
        terminal.until("got two")
        assert job.wait().status == 0
        terminal.text = ""


# What ends the job.

def test_restarts_are_used_up(box):
    script = FURTHER + KILLED.replace("$RANK = 1", "$RANK = 0") % 9 + WAIT % 9
    job = box.start("--restarts=3", "--nproc-per-node=2", "--", *SH, script)
    result = job.wait()
    assert result.status == 137
    assert [number for _, number, _ in restarts(result)] == [1, 2, 3]
    assert why_not(result) == "--restarts=3 is used up"
    assert "rankinit:   rankinit had started the ranks again 3 times, at first because rank 0 " \
           "failed: killed by SIGKILL (9)" in result.err


def test_the_same_failure_twice(box):
    result = box.run("--restarts=9", "--nproc-per-node=2", "--", *SH, KILLED % 9 + WAIT % 9)
    assert result.status == 137 and len(restarts(result)) == 1
    assert why_not(result) == ("the same failure came twice, and this attempt printed no more than "
                               "the one before it")
    other = box.run("--restarts=2", "--nproc-per-node=2", "--", *SH,
                    "[ $RANK = $RANKINIT_ATTEMPT ] && kill -9 $$; [ $RANKINIT_ATTEMPT = 2 ] || "
                    "sleep 60")
    assert other.status == 0 and len(restarts(other)) == 2, "the control: of another rank"


def test_what_would_come_again(box):
    result = box.run("--restarts=9", "--nproc-per-node=2", "--", sys.executable, "-ISc",
                     "raise ValueError('bad batch 17')")
    assert result.status == 1 and restarts(result) == []
    assert why_not(result) == ("the next attempt would end the same way (cause=exception, "
                               "retry=never)")


def test_a_stop(box):
    job = box.start("--restarts=9", "--nproc-per-node=2", "--", *SH,
                    SAY + "trap 'exit 3' TERM; while :; do sleep 0.01; done")
    job.until("0 0", "1 0")
    result = job.stop()
    assert result.status == 3 and restarts(result) == []
    assert why_not(result) == "a stop came from outside"


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c(box, terminal, place):  # noqa: F811
    job = box.start("--restarts=9", "--nproc-per-node=2", "--", *SH, SAY + "exec sleep 60",
                    tty=terminal.path, place=place)
    job.until("0 0", "1 0")
    wait_until(lambda: [name for name, *_ in job.members().values()].count("sleep") == 2, "ranks")
    terminal.type(CTRL_C)
    assert job.wait().status == 130
    terminal.until("not start again: a stop came from outside")
    assert attempts(job) == ["0 0", "1 0"]


def test_a_clean_end_says_nothing(box):
    result = box.run("--restarts=9", "--nproc-per-node=2", "--", "true")
    assert (result.status, result.err) == (0, "")


def test_a_command_that_is_not_there(box):
    result = box.run("--restarts=9", "--nproc-per-node=2", "--", "nosuch-command")
    assert result.status == 127 and restarts(result) == []
    assert why_not(result) == "not all could be started"


def test_a_stop_that_comes_between_two_attempts(box, tool):
    """It stays in the queue while rankinit executes itself, and no rank starts any more."""
    job = box.start("-f", "-o", "@FOLDER/trace", "-e", "trace=execveat", "-e",
                    "inject=execveat:signal=TERM", box.rankinit, "--restarts=9",
                    "--nproc-per-node=2", "--report=report.json", "--", *killed(1),
                    program=tool("strace"), place="below")
    result = job.wait()
    if "execveat" not in job.read("trace").decode():
        pytest.skip("strace cannot inject signals here")
    assert result.status == 143
    assert attempts(job) == ["0 0", "1 0"]
    assert any(line.startswith("rankinit: before restart 1: rank 1 (local rank 1, pid ")
               for line in result.lines())
    document = read_report(job, "report.json")
    assert document["stop"]["signal"] == "SIGTERM" and len(document["restarts"]) == 1
    assert read_report(job, "report.json.1")["exit_status"] == 137


def test_a_node_that_is_not_fit_any_more(box):
    """The checks run before each attempt; the failure before it is told with theirs."""
    ruin = "[ $RANK = 1 ] && prlimit --pid $PPID --nofile=64:64; "
    job = box.start("--restarts=9", "--nproc-per-node=2", "--require=lim.nofile",
                    "--report=report.json", "--", *SH, SAY + ruin + KILLED % 9 + WAIT % 9)
    result = job.wait()
    assert result.status == 123, result.err
    assert attempts(job) == ["0 0", "1 0"]
    assert [line for line in result.lines() if line.startswith("rankinit: before restart 1: ")]
    document = read_report(job, "report.json")
    assert document["exit_status"] == 123 and len(document["restarts"]) == 1
    fit = box.run("--restarts=1", "--nproc-per-node=2", "--require=lim.nofile", "--",
                  *killed(1))
    assert fit.status == 0, "the control: it was fit"


# What it cannot do.

RANK_OF_OTHERS = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
                  "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


@pytest.mark.parametrize("words, env, hint", [
    (["torchrun", "x.py"], {}, "write torchrun --max-restarts=3 in place of it"),
    (["torchrun", "--max-restarts=1", "x.py"], {}, "leave --restarts out"),
    (["torchrun", "x.py"], {"PET_MAX_RESTARTS": "1"}, "leave --restarts out"),
    (["mpirun", "-n", "2", "x"], {}, "let rankinit start the ranks"),
    (["true"], RANK_OF_OTHERS, "--nproc-per-node=N"),
])
def test_ranks_of_others(box, words, env, hint):
    line = refused(box.run("--restarts=3", "--", *words, env=env), 125, "restarts.refused",
                   "--restarts")
    assert hint in line
    twin = refused(box.run("--", *words, env={**env, "RANKINIT_RESTARTS": "3"}), 125,
                   "restarts.refused", "RANKINIT_RESTARTS")
    assert "RANKINIT_RESTARTS" in twin
    none = box.run("--restarts=0", "--explain", "--", *words, env=env)
    assert none.status == 0 and b"restarts.refused" not in none.out, "the control"


def test_without_rankinit_it_is_none(box):
    result = box.run("--restarts=3", "--", *SH, "exit 5", env={"RANKINIT_DISABLE": "1"})
    assert result.status == 5 and restarts(result) == []


@pytest.mark.parametrize("value", ["3", "1", "-1", "x", "", "99999999999999999999"])
def test_what_rankinit_has_not_left_is_ignored(box, value):
    """A file, one that is sealed, or no number: it stays what it is."""
    fake = os.memfd_create("fake", os.MFD_ALLOW_SEALING)
    os.write(fake, b"rankinit-carried " + bytes(20000))
    job = box.start("--", *SH, "echo ${RANKINIT_CARRIED-gone}; cat <&$FAKE | wc -c",
                    env={"RANKINIT_CARRIED": value.replace("3", str(fake)), "FAKE": str(fake)},
                    pass_fds=(fake,), shell="true")
    result = job.wait()
    os.close(fake)
    assert result.status == 0
    warned(result, "restarts.foreign", "RANKINIT_CARRIED")
    assert result.out.decode().split()[0] == "gone"


def test_explain_shows_it(box):
    shown = box.run("--restarts=3", "--nproc-per-node=2", "--explain=json", "--", "true")
    found = [one for one in json.loads(shown.out)["findings"] if one["code"] == "restarts.on"]
    assert found[0]["text"] == "after a failure the ranks start again, 3 times at most"
    assert b"restarts.on" not in box.run("--explain=json", "--", "true").out


def test_a_simulated_job(box):
    job = box.start("--simulate=jobset:1x2", "--restarts=2", "--", *killed(1, "exit 0"))
    result = job.wait()
    assert result.status == 0, result.err
    assert attempts(job) == ["0 0", "0 1", "1 0", "1 1"]


def test_many_attempts(box):
    """More than are listed; each as the first."""
    script = "seq $RANKINIT_ATTEMPT >&2; [ $RANKINIT_ATTEMPT = 20 ] || kill -9 $$"
    job = box.start("--restarts=30", "--report=report.json", "--", *SH, script)
    result = job.wait()
    assert result.status == 0 and len(restarts(result)) == 20
    document = read_report(job, "report.json")
    assert [one["number"] for one in document["restarts"]] == list(range(1, 17))
    assert document["restarts"][0]["rank"]["rank"] is None, "it is a command without one"


def test_signals_go_to_the_ranks_of_each_attempt(box):
    job = box.start("--restarts=1", "--", *SH, "trap 'echo $RANKINIT_ATTEMPT usr >> @FOLDER/log; "
                    "[ $RANKINIT_ATTEMPT = 1 ] && exit 0; kill -9 $$' USR1; "
                    "echo at $RANKINIT_ATTEMPT >> @FOLDER/log; while :; do sleep 0.01; done")
    for attempt in "01":
        job.until(f"at {attempt}")
        job.signal(signal.SIGUSR1)
        job.until(f"{attempt} usr")
    assert job.wait().status == 0


HELD = """import os, socket, threading, time
attempt = int(os.environ["RANKINIT_ATTEMPT"])
with open("@FOLDER/log", "a") as log:
    log.write(os.environ["RANK"] + f" {attempt}\\n")
if attempt == 0 and os.environ["RANK"] == "1":
    threading.Thread(target=time.sleep, args=(600,)).start()
    raise socket.gaierror(-3, "Temporary failure in name resolution")
time.sleep(0 if attempt else 600)
"""


def test_a_rank_that_does_not_get_to_its_end(box):
    """--linger stops it, and all start again; without it nothing ends."""
    words = ["--restarts=1", "--nproc-per-node=2", "--", sys.executable, "-ISc", HELD]
    job = box.start("--linger=1", *words)
    result = job.wait()
    assert result.status == 0, result.err
    assert attempts(job) == ["0 0", "0 1", "1 0", "1 1"]
    assert restarts(result)[0][1:] == (1, 1) and "had not ended" in result.err, result.err
    control = box.start("--linger=0", *words)
    wait_until(lambda: attempts(control) == ["0 0", "1 0"], "both ranks")
    wait_until(lambda: "gaierror" in control.error_text(), "its exception")
    control.signal(signal.SIGTERM)
    assert control.wait().status == 143 and attempts(control) == ["0 0", "1 0"]


MEETS = """import os, signal, socket, time
attempt = int(os.environ["RANKINIT_ATTEMPT"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    store = socket.create_server(where)
    store.accept()[0].recv(1)
else:
    while True:
        try:
            peer = socket.create_connection(where)
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    if attempt == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    peer.send(b"x")
with open("@FOLDER/log", "a") as log:
    log.write(os.environ["RANK"] + f" {attempt}\\n")
"""


@pytest.mark.parametrize("place", PLACES)
def test_the_ranks_meet_where_they_met(box, place):
    """Rank 0 listens on MASTER_PORT, and does so again."""
    job = box.start("--restarts=1", "--nproc-per-node=2", "--", sys.executable, "-ISc", MEETS,
                    place=place)
    result = job.wait()
    assert result.status == 0, result.err
    assert attempts(job) in (["0 0", "0 1", "1 1"], ["0 1", "1 1"])
    assert restarts(result)[0][1:] == (1, 1)
