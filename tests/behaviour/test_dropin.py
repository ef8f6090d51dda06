# SPDX-License-Identifier: Apache-2.0
"""
rankinit called by the name of tini or dumb-init, as a link in its place: what
who relies on those gets. Each case runs the real program, too: the control.
"""

import signal
import subprocess

import pytest

from box import BASE
from peek import PATIENCE, state, wait_until
from test_terminal import terminal  # noqa: F401  pylint: disable=unused-import

PEERS = ["tini", "dumb-init"]
EXIT = ["sh", "-c", 'exit "$0"']
# a rank of a job of four, as Open MPI describes it
RANK = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


@pytest.fixture(params=["rankinit", "itself"])
def peer(request, tool, rankinit, tmp_path):
    """peer(NAME): the program of that name, or rankinit as a link of that name."""
    def find(name):
        if request.param == "itself":
            return tool(name)
        path = tmp_path / name
        if not path.exists():
            path.symlink_to(rankinit)
        return str(path)
    return find


@pytest.fixture
def link(rankinit, tmp_path):
    """link(NAME): rankinit by that name."""
    def make(name):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(rankinit)
        return str(path)
    return make


def run(program, *words, env=None):
    return subprocess.run([program, *words], env={**BASE, **(env or {})}, capture_output=True,
                          stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE, check=False)


# Exit statuses.

@pytest.mark.parametrize("name", PEERS)
def test_the_status_of_the_command(peer, name):
    for status in 0, 1, 2, 125, 126, 127, 255:
        assert run(peer(name), "--", *EXIT, str(status)).returncode == status
    for number in signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1:
        done = run(peer(name), "--", "sh", "-c", f"kill -{int(number)} $$")
        assert done.returncode == 128 + number


@pytest.mark.parametrize("words", [["-e", "7"], ["-e7"], ["-ge7"], ["-e", "1", "-e", "7"],
                                   ["-s", "-e", "0", "-e", "7", "-g"]], ids=" ".join)
def test_statuses_that_tini_forgives(peer, words):
    assert run(peer("tini"), *words, "--", *EXIT, "7").returncode == 0
    assert run(peer("tini"), *words, "--", *EXIT, "8").returncode == 8


def test_tini_forgives_a_signal_and_a_missing_command(peer):
    done = run(peer("tini"), "-e", "143", "--", "sh", "-c", "kill -15 $$")
    assert done.returncode == 0
    assert run(peer("tini"), "-e", "127", "--", "/no/such/command").returncode == 0


@pytest.mark.parametrize("name, missing, denied", [("tini", 127, 126), ("dumb-init", 2, 2)])
def test_a_command_that_cannot_run(peer, name, missing, denied):
    for command, status in ("/no/such/command", missing), ("/etc", denied):
        done = run(peer(name), "--", command)
        assert (done.returncode, done.stdout) == (status, "")
        assert command in done.stderr


TINI_REFUSES = [[], ["-Z", "true"], ["-e"], ["-e", "x", "true"], ["-e", "256", "true"],
                ["-e", "-1", "true"], ["-p", "SIGNOT", "true"], ["-p"], ["--grace=3", "true"],
                ["-gZ", "true"], ["-s", "-g"]]
DUMB_INIT_REFUSES = [[], ["-Z", "true"], ["--yolo", "true"], ["-r"], ["-r", "", "true"],
                     ["-r", "TERM:INT", "true"], ["-r", "15", "true"], ["-r", "15::12", "true"],
                     ["-r", "15:x", "true"], ["-r", "15:12", "-r"], ["-r", "1:32", "true"],
                     ["-r", "15:12", "-r", "0", "true"], ["-r", "0:1", "true"], ["-c"]]


@pytest.mark.parametrize("name, words", [("tini", words) for words in TINI_REFUSES] +
                         [("dumb-init", words) for words in DUMB_INIT_REFUSES],
                         ids=lambda one: one if isinstance(one, str) else " ".join(one))
def test_words_that_are_refused(peer, name, words):
    mark = ["sh", "-c", "echo ran"] if words and words[-1] == "true" else []
    done = run(peer(name), *(words[:-1] if mark else words), *mark)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr


def test_errors_name_what_is_wrong(link):
    """What only ours can be asked: code, subject and the name that it is called by."""
    done = run(link("tini"), "-Z", "true")
    assert done.stderr.startswith("rankinit: error: -Z: ")
    assert "not an option of tini" in done.stderr and done.stderr.endswith("[option.unknown]\n")
    done = run(link("dumb-init"), "--rewrite=1:32", "true")
    assert done.stderr.startswith("rankinit: error: -r: \"1:32\": ")
    assert done.stderr.endswith("[option.value]\n")


@pytest.mark.parametrize("name, word, begins", [
    ("tini", "--version", "tini version "), ("tini", "-h", "-e EXIT_CODE"),
    ("tini", "-l", "icen"), ("dumb-init", "-V", "dumb-init v"),
    ("dumb-init", "--version", "dumb-init v"), ("dumb-init", "-h", "--single-child"),
    ("dumb-init", "--help", "--rewrite s:r")])
def test_questions(peer, name, word, begins):
    """The one answers on stdout, the other on stderr."""
    done = run(peer(name), word)
    said, other = (done.stdout, done.stderr) if name == "tini" else (done.stderr, done.stdout)
    assert (done.returncode, other) == (0, "")
    assert begins in said


def test_what_docker_info_reads(link):
    said = run(link("docker-init"), "--version").stdout.split(" - ")[0].strip()
    assert said.startswith("tini version 0.19.0")


def test_words_behind_the_command_are_its_own(peer):
    assert run(peer("dumb-init"), "echo", "-c", "-r", "--help").stdout == "-c -r --help\n"
    assert run(peer("tini"), "--", "echo", "-g", "-e").stdout == "-g -e\n"


# Whom signals reach.

def told(box, program, *words, env=None, send=signal.SIGUSR1):
    """The log after a signal, and then one more that ends the command."""
    job = box.start(*words, "--", *box.payload("main", "same:helper"), program=program, env=env)
    job.until("main ready", "helper ready")
    job.signal(send)
    job.until(f"main {send.name}")
    job.stop()
    return job


@pytest.mark.parametrize("name, words, env, group", [
    ("tini", [], {}, False), ("tini", ["-g"], {}, True),
    ("tini", [], {"TINI_KILL_PROCESS_GROUP": ""}, True),
    ("dumb-init", [], {}, True), ("dumb-init", ["-c"], {}, False),
    ("dumb-init", ["--single-child"], {}, False),
    ("dumb-init", [], {"DUMB_INIT_SETSID": "0"}, False),
    ("dumb-init", [], {"DUMB_INIT_SETSID": "1"}, True)],
    ids=lambda one: str(one))
def test_the_group(box, peer, name, words, env, group):
    job = told(box, peer(name), *words, env=env)
    assert job.count("main SIGUSR1") == 1
    assert job.count("helper SIGUSR1") == group


@pytest.mark.parametrize("words, send, got", [
    (["-r", "10:12"], signal.SIGUSR1, "SIGUSR2"), (["--rewrite", "1:10"], signal.SIGHUP, "SIGUSR1"),
    (["--rewrite=12:1"], signal.SIGUSR2, "SIGHUP"), (["-r10:12"], signal.SIGUSR1, "SIGUSR2"),
    (["-r", "10:12", "-r", "12:10"], signal.SIGUSR2, "SIGUSR1"),
    (["-r", "15:2"], signal.SIGTERM, "SIGINT")], ids=str)
def test_dumb_init_rewrites(box, peer, words, send, got):
    job = box.start(*words, *box.payload("main"), program=peer("dumb-init"))
    job.until("main ready")
    job.signal(send)
    job.until(f"main {got}")
    assert job.log()[2:] == [f"main {got}"] or got == "SIGINT"


TERM, INT, QUIT, HUP, CONT = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
                              signal.SIGCONT)


@pytest.mark.parametrize("name, words, sends, got", [
    *((name, [], [TERM, INT, TERM], "TERM INT TERM") for name in PEERS),
    *((name, [], [TERM] * 4, "TERM TERM TERM TERM") for name in PEERS),
    *((name, [], [TERM, QUIT, CONT, INT], "TERM QUIT CONT INT") for name in PEERS),
    *((name, [], [INT, TERM, HUP, TERM, CONT], "INT TERM HUP TERM CONT") for name in PEERS),
    ("dumb-init", ["-c"], [TERM, QUIT, CONT, INT], "TERM QUIT CONT INT"),
    # dumb-init's own tests have these
    ("dumb-init", ["-r", "15:2"], [TERM, QUIT, CONT, INT], "INT QUIT CONT INT"),
    ("dumb-init", ["-r", "15:2", "-r", "2:15"], [TERM, QUIT, CONT, INT], "INT QUIT CONT TERM"),
    ("dumb-init", ["-r", "15:3", "-r", "2:0"], [TERM, QUIT, INT, CONT], "QUIT QUIT CONT"),
    ], ids=str)
def test_every_signal_after_a_stop(box, peer, name, words, sends, got):
    job = box.start(*words, "--", *box.payload("main", "deaf"), program=peer(name))
    job.until("main ready")
    for number in sends:
        before = len(job.log())
        job.signal(number)
        if (number, words[-1:]) != (INT, ["2:0"]):
            wait_until(lambda: len(job.log()) > before, job.log())  # pylint: disable=W0640
    assert [line.removeprefix("main SIG") for line in job.log()[2:]] == got.split()
    assert not job.ended()


@pytest.mark.parametrize("name, words", [("tini", []), ("dumb-init", []), ("dumb-init", ["-c"])],
                         ids=str)
def test_the_end_of_a_session(box, peer, terminal, name, words):  # noqa: F811
    """Process 1 leads it: the command gets one HUP and one CONT, and what comes by hand."""
    job = box.start(*words, "--", *box.payload("main", "deaf"), program=peer(name),
                    tty=terminal.path)
    job.until("main ready")
    for number in HUP, CONT:
        job.signal(number)
        job.until(f"main {number.name}")
    terminal.hang_up()
    wait_until(lambda: (job.count("main SIGHUP"), job.count("main SIGCONT")) == (2, 2), job.log())
    job.signal(TERM)
    job.until("main SIGTERM")
    assert len(job.log()) == 2 + 5


def test_dumb_init_drops(box, peer):
    job = box.start("-r", "10:0", "--", *box.payload("main"), program=peer("dumb-init"))
    job.until("main ready")
    job.signal(signal.SIGUSR1)
    job.signal(signal.SIGUSR2)
    job.until("main SIGUSR2")
    assert job.count("main SIGUSR1") == 0


STOPS = [signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]


@pytest.mark.parametrize("number", STOPS, ids=lambda number: number.name)
def test_job_control_stops_dumb_init_too(box, peer, number):
    job = box.start("--", *box.payload("main"), program=peer("dumb-init"), place="below")
    job.until("main ready")
    main = job.main()
    job.signal(number)
    wait_until(lambda: state(main) == state(job.pid) == "T", "both are stopped")
    job.signal(signal.SIGCONT)
    job.until("main SIGCONT")
    wait_until(lambda: "T" not in (state(main), state(job.pid)), "both go on")


@pytest.mark.parametrize("number", STOPS, ids=lambda number: number.name)
def test_a_stop_that_is_rewritten(box, peer, number):
    """The command gets the other signal, and dumb-init stops all the same."""
    job = box.start("-r", f"{int(number)}:10", "--", *box.payload("main"),
                    program=peer("dumb-init"), place="below")
    job.until("main ready")
    main = job.main()
    job.signal(number)
    job.until("main SIGUSR1")
    wait_until(lambda: state(job.pid) == "T", "dumb-init is stopped")
    assert state(main) != "T"
    job.signal(signal.SIGCONT)
    job.until("main SIGCONT")


def test_tini_is_not_stopped(box, peer):
    job = box.start("--", *box.payload("main"), program=peer("tini"), place="below")
    job.until("main ready")
    job.signal(signal.SIGTSTP)
    wait_until(lambda: state(job.main()) == "T", "the command is stopped")
    assert state(job.pid) != "T"
    job.signal(signal.SIGCONT)
    job.until("main SIGCONT")


# Orphans, and the parent.

ORPHAN = ["sh", "-c", "(sh -c 'sleep 0.05' &) ; sleep 0.4; exit 3"]


@pytest.mark.parametrize("words, env", [(["-s"], {}), ([], {"TINI_SUBREAPER": ""})], ids=str)
def test_tini_below_tells_whom_it_reaped(box, peer, words, env):
    done = box.run(*words, "-w", "--", *ORPHAN, program=peer("tini"), env=env, place="below")
    assert done.status == 3
    assert "eaped" in done.err
    done = box.run(*words, "--", *ORPHAN, program=peer("tini"), env=env, place="below")
    assert (done.status, done.err) == (3, "")


def test_we_adopt_without_being_asked(box, link):
    """Where tini only warns that it does not."""
    done = box.run("-w", "--", *ORPHAN, program=link("tini"), place="below")
    assert done.status == 3
    assert len(done.lines()) == 1 and "reaped pid" in done.err


@pytest.mark.parametrize("words, got", [(["-p", "SIGUSR1"], 1), ([], 0)], ids=str)
def test_the_parent_of_tini_ends(box, peer, words, got):
    script = '"$@" & until grep -q ready "$0/log" 2>/dev/null; do sleep 0.01; done'
    job = box.start("-c", script, "@FOLDER", peer("tini"), "-s", *words, "--",
                    *box.payload("main"), program="/bin/sh", place="below")
    job.until("main ready")
    main = job.named("main")
    wait_until(lambda: job.ended(0.01), "the parent is gone")
    wait_until(lambda: job.count("main SIGUSR1") >= got, "the signal")
    job.signal(signal.SIGHUP, main)
    wait_until(lambda: job.count("main SIGHUP"), "what proves that no other one is on its way")
    assert job.count("main SIGUSR1") == got


# What is said.

def test_verbosity(peer):
    """tini warns where it is not process 1; of ours a name that is no option's is a warning."""
    program, warns = peer("tini"), {"RANKINIT_NO_SUCH": "1"}
    quiet = run(program, "--", *ORPHAN, env={**warns, "TINI_VERBOSITY": "0"})
    usual = run(program, "--", *ORPHAN, env={**warns, "TINI_VERBOSITY": "1"})
    assert (quiet.stderr, quiet.returncode, usual.returncode) == ("", 3, 3)
    assert usual.stderr
    # what more there is: theirs on stdout, ours on stderr
    for words, env in (["-v"], {}), ([], {"TINI_VERBOSITY": "3"}):
        done = run(program, *words, "--", *ORPHAN, env={**warns, **env})
        assert len(done.stdout + done.stderr) > len(usual.stderr)


@pytest.mark.parametrize("words, env, says", [
    (["-v"], {}, True), (["--verbose"], {}, True), ([], {"DUMB_INIT_DEBUG": "1"}, True),
    ([], {"DUMB_INIT_DEBUG": "0"}, False), ([], {}, False)], ids=str)
def test_dumb_init_debug(peer, words, env, says):
    done = run(peer("dumb-init"), *words, "--", "sh", "-c", "(sleep 0.01 &) ; sleep 0.2",
               env=env)
    assert (done.returncode, bool(done.stderr), done.stdout) == (0, says, "")


# What only ours does.

PRINT_RANK = ["sh", "-c", "echo rank=$RANK; exit 5"]


@pytest.mark.parametrize("name", ["tini", "tini-static", "dumb-init", "sbin/docker-init"])
def test_ranks_get_their_variables(link, name):
    program = link(name)
    done = run(program, "--", *PRINT_RANK, env=RANK)
    assert (done.returncode, done.stdout) == (5, "rank=3\n")
    done = run(program, "--", *PRINT_RANK, env={**RANK, "RANKINIT_DISABLE": "1"})
    assert (done.returncode, done.stdout) == (5, "rank=\n")


def test_another_name_is_none_of_theirs(link):
    """The control: the options are told by the whole name."""
    done = run(link("tini2"), "-e", "5", "--", *PRINT_RANK)
    assert done.returncode == 125 and "[option.unknown]" in done.stderr


BROKEN = {**RANK, "OMPI_COMM_WORLD_RANK": "9"}


@pytest.mark.parametrize("name", PEERS)
def test_a_broken_environment_refuses_nothing(link, rankinit, name):
    """rankinit refuses it; in the place of an init that reads none it warns and goes on."""
    done = run(rankinit, "--", *PRINT_RANK, env=BROKEN)
    assert (done.returncode, done.stdout) == (125, "") and "[rank.range]" in done.stderr
    done = run(link(name), "--", *PRINT_RANK, env=BROKEN)
    assert (done.returncode, done.stdout) == (5, "rank=\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("rankinit: warning: ") and line.endswith(" [rank.range]")
    assert f"called as {name}" in line


def test_what_is_asked_of_rankinit_itself_counts(link):
    program = link("tini")
    done = run(program, "--", *PRINT_RANK, env={"RANKINIT_GRACE": "soon"})
    assert (done.returncode, done.stdout) == (1, "") and "[option.value]" in done.stderr
    done = run(program, "--", *PRINT_RANK, env={**RANK, "RANKINIT_EXIT_MAP": "5:0"})
    assert (done.returncode, done.stdout) == (0, "rank=3\n")
    done = run(program, "--", *PRINT_RANK, env={**RANK, "OMPI_COMM_WORLD_LOCAL_RANK": "0",
               "RANKINIT_REQUIRE": "gpu=999"})
    assert (done.returncode, done.stdout) == (123, "")
    # an option of the link wins over the variable
    done = run(program, "-e", "5", "--", *EXIT, "6", env={"RANKINIT_EXIT_MAP": "6:0"})
    assert done.returncode == 6


def test_the_stop_is_ours(box, link, tool):
    """Who is left when the command has ended may finish; with tini the kernel kills it."""
    for program, finished in (link("tini"), 1), (tool("tini"), 0):
        job = box.start("--", *box.payload("main", "save=0", "session:slow"), program=program)
        job.until("main ready", "slow ready")
        assert job.stop().status == 0
        assert job.count("slow done") == finished


def test_the_environment_is_not_touched(link):
    """Without an orchestrator, variables of the peer's included."""
    env = {"TINI_SUBREAPER": "", "TINI_VERBOSITY": "0", "DUMB_INIT_SETSID": "0"}
    done = run(link("tini"), "--", "env", "-0", env=env)
    assert done.stdout.split("\0")[:-1] == [f"{name}={value}"
                                            for name, value in {**BASE, **env}.items()]
