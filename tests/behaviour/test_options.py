# SPDX-License-Identifier: Apache-2.0
"""Every option: on the command line, as a twin, and the one against the other."""

import atexit
import os
import re
import sys
from dataclasses import dataclass, field

import pytest

from test_terminal import terminal  # noqa: F401  a fixture
from box import refused, warned

GROUP = ('trap "kill -USR2 \\$!" USR1; '
         '(trap "[ \\$said ] || { said=1; echo group; }; exit" USR1; '
         'trap "[ \\$said ] || { said=1; echo alone; }; exit" USR2; kill -USR1 1; '
         'while :; do sleep 0.02; done) & wait; wait')
# Rank 1 ends because it lost rank 0, which is slower.
# A thread holds rank 1 for a while after its exception, or until it is stopped.
HELD = ("[ $RANK = 0 ] && { trap 'echo stopped; exit 1' TERM; "
        "while [ ! -e over ]; do sleep 0.02; done; echo ended; rm over; exit; }; "
        f"exec {sys.executable} -ISc 'import os, threading, time\n"
        "def hold():\n"
        "    time.sleep(8)\n"
        "    open(\"over\", \"w\")\n"
        "    while os.path.exists(\"over\"):\n"
        "        time.sleep(0.02)\n"
        "threading.Thread(target=hold).start()\n"
        "raise ValueError'")


# The link's process is there before the command, and may not listen yet.
CHILDREN = "cat /proc/[0-9]*/stat | grep -c ') . 1 '"
LISTENS = f"""exec {sys.executable} -ISc 'import glob, os, time
def links():
    for name in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            yield os.readlink(name)
        except OSError:
            pass
ports = []
while not ports:
    time.sleep(0.02)
    lines = [line.split() for name in ("tcp", "tcp6") if os.path.exists("/proc/net/" + name)
             for line in open("/proc/net/" + name)]
    ours = set(links())
    ports = [line[1].rpartition(":")[2] for line in lines
             if line[3] == "0A" and f"socket:[{{line[9]}}]" in ours]
print(int(ports[0], 16) == 7778)'"""
MAPPED = ('trap "echo one; exit" USR1; trap "echo two; exit" USR2; kill -USR1 1; '
          'while :; do sleep 0.02; done')
BOUNDING = "sed -n 's/^CapBnd:.//p' /proc/self/status"


def printed(result):
    return result.out.decode().strip()


def warns_of_shm(result):
    return "rankinit: warning: /dev/shm: " in result.err


HUGE = "shm=1000000G"


@dataclass
class Row:
    """Two values of an option, and what the command shows under each."""

    shell: str
    other: str              # a value that changes what is seen
    changed: object
    same: str               # a value that does not
    usual: object
    see: object = printed
    more: list = field(default_factory=list)
    env: dict = field(default_factory=dict)


# The only rank of a job.
RANK = {f"OMPI_COMM_WORLD_{name}": value for name, value in
        (("RANK", "0"), ("SIZE", "1"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "1"))}

ROWS = {
    "launch": Row("echo ${RANKINIT#*:}", "node", "node", "process", "process", env=RANK),
    "nproc_per_node": Row("echo $WORLD_SIZE", "2", "2\n2", "1", "1", env=RANK),
    "expand": Row("echo '$RANK'", "all", "0", "off", "$RANK", env=RANK),
    "supervise": Row("[ $$ = 1 ] && echo itself || echo child",
                     "never", "itself", "always", "child"),
    "grace": Row("echo $OMPI_MCA_odls_base_sigkill_timeout", "10", "4", "0", ""),
    "linger": Row(HELD, "0.2", "stopped", "0", "ended", more=["--nproc-per-node=2"]),
    "restarts": Row("echo $RANKINIT_ATTEMPT; kill -9 $$", "1", "0\n1", "0", ""),
    "signal_map": Row(MAPPED, "USR1:USR2", "two", "USR1:10", "one"),
    "signal_group": Row(GROUP, "yes", "group", "no", "alone"),
    "exit_map": Row("exit 3", "3:9", 9, "4:9", 3, see=lambda result: result.status),
    "exit_class": Row("exit 3", "yes", 120, "no", 3, see=lambda result: result.status),
    "user": Row("id -un", "daemon", "daemon", "root", "root"),
    "cap_drop": Row(f"{BOUNDING} | grep -c '[13579bdf]$'", "CHOWN", "0", "kill", "1"),
    "cap_keep": Row(BOUNDING, "cap_kill", "0000000000000020", "chown", "0000000000000001",
                    more=["--cap-drop=all"]),
    "no_new_privs": Row("sed -n 's/^NoNewPrivs:.//p' /proc/self/status", "yes", "1", "no", "0"),
    "log_prefix": Row("echo a", "yes", "[0] a", "no", "a"),
    "log_file": Row("echo a", "/proc/self/fd/2", True, "/dev/null", False,
                    see=lambda result: result.err == "a\n"),
    "require": Row(":", HUGE, 123, "shm=1k", 0, env=RANK, see=lambda result: result.status),
    "expect": Row(":", HUGE, True, "shm=1k", False, env=RANK, see=warns_of_shm),
    "checks": Row(":", "none", False, "shm.*", True, env=RANK, more=[f"--expect={HUGE}"],
                  see=warns_of_shm),
    "quiet": Row(":", "yes", False, "no", True, env={"RANKINIT_ODD": "x"},
                 see=lambda result: "[option.twin]" in result.err),
    "verbose": Row("(true &)", "yes", True, "no", False,
                   see=lambda result: "rankinit: reaped pid" in result.err),
}
MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4",
       "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
       "MASTER_ADDR": "m", "MASTER_PORT": "1"}
TASK = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
TF = ["--hosts=a,b", "--frameworks=tensorflow"]
TASKS = """echo $TF_CONFIG | sed 's/.*type":"\\(.*\\)","index":\\(.\\).*/\\1 \\2/'"""
ROWS |= {
    "rank": Row("echo $RANK", "3", "3", "1", "1", env=MPI),
    "world_size": Row("echo $WORLD_SIZE", "8", "8", "4", "4", env=MPI),
    "local_rank": Row("echo $LOCAL_RANK", "0", "0", "1", "1", env=MPI),
    "local_world_size": Row("echo $LOCAL_WORLD_SIZE", "4", "4", "2", "2", env=MPI),
    "node_rank": Row("echo $NODE_RANK", "1", "1", "0", "0", env=MPI),
    "master_addr": Row("echo $MASTER_ADDR", "n", "n", "m", "m", env=MPI),
    "master_port": Row("echo $MASTER_PORT", "2", "2", "1", "1", env=MPI),
    "hosts": Row("echo $MASTER_ADDR", "n,o", "n", "m,o", "m", env=MPI),
    "frameworks": Row("echo $RANK", "none", "", "auto", "1", env=MPI),
    "tf_ps": Row(TASKS, "1", "ps 0", "0", "worker 1", env=TASK, more=TF),
    "source": Row("echo $RANK", "none", "", "openmpi", "1", env=MPI),
}
ROWS |= {
    "omp_threads": Row("echo $OMP_NUM_THREADS", "3", "3", "auto", ""),
}
STATE = f"/dev/shm/rankinit-state-{os.getpid()}"
ROWS |= {
    "report": Row(":", "fd:1", True, "/dev/null", False,
                  see=lambda result: b'"rankinit-report-1"' in result.out),
    "state": Row(f"grep -qE ' (starting|running) ' {STATE} 2>/dev/null && echo kept",
                 STATE, "kept", "/dev/null", ""),
    "wait_master": Row(":", "0.2", 124, "0", 0, see=lambda result: result.status,
                       env={**MPI, "MASTER_ADDR": "master.invalid"}),
}
NODE = ["--node-rank=0", "--nnodes=2", "--master-addr=10.255.255.1", "--nproc-per-node=1"]
ROWS |= {
    "link": Row(CHILDREN, "yes", "2", "no", "1",
                more=[*NODE, "--roll-call=0"]),
    "link_port": Row(LISTENS, "7778", "True", "7779", "False", more=[*NODE, "--link"]),
}
atexit.register(lambda: os.path.exists(STATE) and os.unlink(STATE))
# What no value of its own changes in a command: test_explain.py, test_affinity.py,
# test_autopsy.py and test_link.py have these.
ELSEWHERE = {"nnodes", "hostfile", "root", "gpu_bind", "bind_to", "simulate", "link_key",
             "link_grace", "roll_call", "autopsy_after", "autopsy_signal", "stall", "restart_wait"}
ACTIONS = {"help", "version", "list", "print_env", "explain", "check", "status",
           "blame", "autopsy", "install"}


def long(symbol):
    return "--" + symbol.replace("_", "-")


def twin(symbol):
    return "RANKINIT_" + symbol.upper()


def seen(box, row, *options, env=None):
    place = "below" if row.see is None else "init"
    job = box.start(*row.more, *options, "--", "sh", "-c", row.shell,
                    env={**row.env, **(env or {})}, place=place)
    result = job.wait()
    value = len(job.others()) if row.see is None else row.see(result)
    job.close()
    box.jobs.remove(job)
    return value


def test_the_table_here_is_the_program_s(box):
    lines = box.run("--list=options").out.decode().splitlines()
    names = {line.split("\t")[0][2:].replace("-", "_"): line.split("\t")[5] for line in lines}
    assert set(names) == set(ROWS) | ELSEWHERE | ACTIONS
    assert {name for name, twin_ in names.items() if twin_ == "-"} == ACTIONS
    assert all(names[name] == twin(name) for name in ROWS)


@pytest.mark.parametrize("symbol", ROWS)
def test_option_and_twin(box, symbol):
    row, name = ROWS[symbol], long(symbol)
    if symbol != "cap_keep":
        assert seen(box, row) == row.usual, "the control: without the option"
    assert seen(box, row, f"{name}={row.same}") == row.usual
    assert seen(box, row, f"{name}={row.other}") == row.changed
    assert seen(box, row, env={twin(symbol): row.other}) == row.changed, "the twin"


# One place reads all options: of what is the same for each of them some are asked.
@pytest.mark.parametrize("symbol", [name for name in ROWS if name != "cap_keep"][::4])
def test_which_of_both_counts(box, symbol):
    row, name = ROWS[symbol], long(symbol)
    assert seen(box, row, f"--{symbol}={row.other}") == row.changed, "_ equals -"
    assert seen(box, row, f"{name}={row.same}", env={twin(symbol): row.other}) == row.usual
    assert seen(box, row, f"{name}={row.other}", env={twin(symbol): row.same}) == row.changed
    assert seen(box, row, env={twin(symbol): ""}) == row.usual, "an empty twin is unset"


@pytest.mark.parametrize("symbol", [name for name in ROWS if ROWS[name].same != "no"])
def test_value_in_the_next_word(box, symbol):
    row = ROWS[symbol]
    assert seen(box, row, long(symbol), row.other) == row.changed
    refused(box.run(long(symbol)), 125, "option.missing", long(symbol))
    refused(box.run(long(symbol) + "=", "true"), 125, "option.missing", long(symbol))


FLAGS = [name for name in ROWS if ROWS[name].same == "no"]


@pytest.mark.parametrize("symbol", FLAGS)
def test_flag_forms(box, symbol):
    """All words of a flag and of one with more words, and one of each kind of the others."""
    row, name = ROWS[symbol], long(symbol)
    most = None if symbol in (FLAGS[0], "log_prefix") else 1
    assert seen(box, row, name) == row.changed
    for word in ("yes", "1", "true", "on", "YES", "True")[:most]:
        assert seen(box, row, f"{name}={word}") == row.changed, word
    for word in ("no", "0", "false", "off", "NO")[:most]:
        assert seen(box, row, f"{name}={word}") == row.usual, word
    for word in ("maybe", "", "2", "yes ", "ye", "\u00a0")[:most]:
        error = refused(box.run(f"{name}={word}", "--", "true"), 125, "option.value", name)
        more = {"log_prefix": "yes, no or node", "link": "yes, no or tell"}
        assert f"expected {more.get(symbol, 'yes or no')}" in error
    result = box.run("--", "true", env={twin(symbol): "maybe"})
    refused(result, 125, "option.value", twin(symbol))


def test_the_last_of_two_counts(box):
    row = ROWS["exit_map"]
    assert seen(box, row, "--exit-map=3:9", "--exit-map=3:8") == 8
    assert seen(box, row, "--exit-map=3:9", "--exit-map=4:8") == 3, "it replaces the first"
    row = ROWS["expect"]
    assert seen(box, row, f"--expect={HUGE}", "--expect=shm=1k") is False, "lists do not add up"
    assert seen(box, row, "--expect=shm=1k", f"--expect={HUGE}") is True


def test_an_option_that_is_gone_is_one_warning(box):
    """Of several ranks, and of a rankinit in each of them, too."""
    env = {"RANKINIT_COLOR": "never", "RANKINIT_TF_PORT": "1"}
    result = box.run("--settle", "5", "--log-mode=redirect", "--nproc-per-node=2", "--",
                     box.rankinit, "echo", "said", env=env)
    assert (result.status, result.out) == (0, b"said\n" * 2)
    assert result.err.count("[option.gone]") == result.err.count(" is gone") == 4
    for name in "--settle", "--log-mode", "RANKINIT_COLOR", "RANKINIT_TF_PORT":
        assert f"warning: {name}: is gone, and rankinit goes on without it; " in result.err
    assert "[option.gone]" not in box.run("true", env=dict.fromkeys(env, "")).err
    assert "--explain=json and --check=json" in refused(
        box.run("--capture=x", "--", "true"), 125, "option.unknown", "--capture")


def test_help_has_the_common_options_and_all_of_them(box):
    names = {line.split("\t")[0] for line in box.run("--list=options").out.decode().splitlines()}
    found = {word: set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", box.run(word).out.decode(), re.M))
             for word in ("--help", "--help=all")}
    assert found["--help=all"] == names > found["--help"]
    assert {"--nproc-per-node", "--grace", "--report", "--link", "--require",
            "--rank"} <= found["--help"]
    assert {"--tf-ps", "--link-grace", "--expand"} <= names - found["--help"]
    assert box.run("--help=all", "--explain", "true").out == box.run("--help=all").out


@pytest.mark.parametrize("word, wanted, other", [
    ("restarts", "--restarts", "--grace"), ("--restart_wait", "--restart-wait", "--restarts"),
    ("CHECKPOINT", "--link-grace", "--restarts"), ("color", "--color", "--grace")])
def test_help_of_a_word(box, word, wanted, other):
    result = box.run(f"--help={word}")
    found = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", result.out.decode(), re.M)
    assert result.status == 0 and wanted in found and other not in found
    assert b"usage:" not in result.out


def test_help_of_an_option_that_is_gone(box):
    said = box.run("--help=color").out.decode()
    assert "--color, which is no option any more\n" in said and "CLICOLOR_FORCE=1" in said
    # the controls: of options that are there, and of one that lost a value alone
    for word in "restarts", "bind-to", "all":
        assert "no option any more" not in box.run(f"--help={word}").out.decode(), word


@pytest.mark.parametrize("words", [["--graec=5", "true"], ["--grace=x", "true"], ["--grace"],
                                   ["--check", "--explain"], []])
def test_what_is_mistyped_on_a_terminal_has_no_line_for_programs(box, terminal, words):
    job = box.start(*words, tty=terminal.path)
    assert job.wait().status == 125
    terminal.until("rankinit: error: ")
    terminal.look(0.1)
    assert "rankinit: verdict" not in terminal.text
    # the control: a program reads it
    assert box.run(*words).brief["cause"] == "refused"


def test_a_refusal_on_a_terminal_has_a_line_for_programs(box, terminal):
    """The control: nothing was mistyped."""
    job = box.start("--user=no-such", "true", tty=terminal.path)
    assert job.wait().status == 125
    terminal.until("rankinit: verdict cause=refused")


def test_letters(box):
    verbose, quiet = ROWS["verbose"], ROWS["quiet"]
    assert seen(box, verbose, "-v") is True
    assert seen(box, verbose, "-qv") is True
    assert seen(box, quiet, "-q") is False
    assert box.run("-h").out == box.run("--help").out == box.run("--help=common").out != b""
    assert box.run("-V").out == box.run("--version").out != b""


@pytest.mark.parametrize("word, hint", [
    ("--graec=5", "did you mean --grace?"),
    ("--exitmap=1:2", "did you mean --exit-map?"),
    ("--signalgroup", "did you mean --signal-group?"),
    ("--verbos", "did you mean --verbose?"),
    ("--gra=5", ""),
    ("--super=never", ""),
    ("--print", "did you mean --print-env?"),
    ("--nproc=4", "did you mean --nproc-per-node?"),
    ("--rewrite", "see rankinit --help"),
    ("-rank", "did you mean --rank?"),
    ("--completely-other", "see rankinit --help"),
    ("--GRACE=5", ""),
    ("-np", "to start N ranks on this node: --nproc-per-node=N; "),
    ("-n", "put mpirun or srun into the command"),
    ("-n2", "to start 2 ranks on this node: --nproc-per-node=2; "),
    ("-n=2", "--nproc-per-node=2; "),
    ("-np4", "--nproc-per-node=4; "),
    ("--nprocs=2", "--nproc-per-node=2; "),
    ("--nprocs=$N", "--nproc-per-node=N; "),
    ("--num_processes=8", "--nproc-per-node=8; "),
    ("-nx", "see rankinit --help"),
    ("-x", "mpirun"),
    ("-it", "docker run -it IMAGE"),
    ("--gpus=all", "docker run --gpus all IMAGE"),
    ("-e", "rankinit -- env NAME=VALUE COMMAND"),
    ("--env=A=b", "rankinit -- env NAME=VALUE COMMAND"),
    ("--timeout=3", "rankinit -- timeout SECONDS COMMAND"),
    ("-c", "sh -c"),
    ("-m", "rankinit -- python3 -m MODULE"),
    ("--standalone", "leave it out: without an orchestrator all ranks are on this node; for "
                     "torchrun's own: rankinit -- torchrun --standalone ..."),
    ("--use_env", "leave it out: ranks always find LOCAL_RANK in their environment"),
    ("--rdzv_backend=c10d", "rankinit -- torchrun --rdzv-backend=..."),
    ("--rdzv-endpoint=a:1", "ranks meet at --master-addr and --master-port"),
    ("--max-restarts=3", "rankinit -- torchrun --max-restarts=N"),
    ("-vz", ""),
    ("---", ""),
    ("--=1", ""),
    ("--\033[31mred", ""),
])
def test_unknown_option(box, word, hint):
    subject = word.partition("=")[0].replace("\033", "?")
    result = box.run(word, "--", "true")
    assert hint in refused(result, 125, "option.unknown", subject)
    assert "\033" not in result.err


@pytest.mark.parametrize("symbol, values", {
    "grace": ["-1", "+1", "1e3", "0x10", "1.", ".5", "5s", "86401", "99999999999999999999",
              "1" * 5000, "nan", "5\n6", "5,0"],
    "autopsy_after": ["-1", "1e3", "5s", "86401", "x"],
    "stall": ["-1", "1e3", "5s", "86401", "x"],
    "autopsy_signal": ["TERM", "INT", "KILL", "STOP", "CHLD", "IO", "CONT", "TSTP", "x", "0", "65",
                       "USR1,USR2"],
    "linger": ["-1", "1e3", "5s", "86401", "x"],
    "restart_wait": ["-1", "1e3", "5s", "86401", "x"],
    "restarts": ["-1", "1e3", "1001", "x", "1.5", "3,4"],
    "exit_map": ["3", "3:", ":3", "3:9,", ",3:9", "256:0", "0:256", "-1:0", "3:9:1", "a:b",
                 "3 9", "143:0;1:2", "3:9,,4:5", "9" * 70000],
    "signal_map": ["TERM", "TERM:", ":TERM", "TERM:INT,", "KILL:TERM", "STOP:TERM", "CHLD:TERM",
                   "TERM:CHLD", "0:TERM", "65:1", "1:65", "TERM:-1", "SIGSIGTERM:INT",
                   "RTMIN+31:1", "RTMAX-31:1", "RTMIN-1:1", "FOO:INT", "TERM=INT"],
    "supervise": ["yes", "Always", "auto,never", "x" * 100000],
    "log_file": ["%", "a%", "%x", "%%%", "%5r", "x" * 70000 + "%", "/a%/", "%R", "% r", "%r%"],
    "user": [":", ":0", "root:", "a:b:c", "ro\not", "x" * 300],
    "cap_drop": ["chown,", ",chown", "cap_", "all,chown", "nosuch", "CAP_CAP_CHOWN", "64",
                 "chown;kill", "c" * 9000],
    "cap_keep": ["nosuch", "all", "chown,,kill"],
    "wait_master": ["-1", "soon", "1e3", "86401"],
    "require": ["x", ",", "mpi,", "mpi=1", "gpu=0", "gpu=-1", "gpu=1e3", "ib=8@", "ib=@400",
                "ib=8@0", "shm", "shm=", "shm=16X", "shm=0", "shm=16", "shm=99999999999T",
                "mpi,mpi", "shm.size=1", "shm*", "^shm.size", "azure", "azure=x", "deep=yes",
                "deep,azure=", "gpu=" + "9" * 100],
    "expect": ["shm=1.5G", " mpi", "MPI", "ofed=1"],
    "checks": ["x", "all,x", "shm", "shm.", "*", "default,none",
               "none,shm.size", "^", "^x", "^^shm.size", "^all", "shm.size,", "shm.size=1"],
    "report": ["fd:", "fd:0", "fd:x", "fd:-1", "fd:1 2", "/tmp/%q", "/tmp/%"],
    "state": ["/tmp/%q", "100%"],
}.items())
def test_hostile_values(box, at_once, symbol, values):
    def attempt(value):
        result = box.run(f"{long(symbol)}={value}", "--", "true")
        error = refused(result, 125, "option.value", long(symbol))
        assert len(error) < 1024 and "expected" in error
        return result
    at_once(attempt, values)


@pytest.mark.parametrize("value", ["0", "0.5", " 5 ", "2.5", "86400", "1.999", "007"])
def test_seconds_that_are_good(box, value):
    assert box.run(f"--grace={value}", "--", "sh", "-c", "exit 7").status == 7


@pytest.mark.parametrize("action, value, expected", [
    ("--list", "nothing",
     "sources, simulations, frameworks, checks, facts, codes or options"),
    ("--check", "xml", "text or json"),
    ("--print-env", "xml", "shell, dotenv, json or null"),
    ("--blame", "xml", "text or json"),
    ("--help", "zork", "common, all or a word that an option has; see rankinit --help=all"),
    ("--version", "", "no value"),
])
def test_values_of_actions(box, action, value, expected):
    error = refused(box.run(f"{action}={value}"), 125, "option.value", action)
    assert expected in error


@pytest.mark.parametrize("first, second", [
    ("--check", "--explain"), ("--print-env", "--explain"), ("--explain=json", "--check=json"),
    ("--status", "--check"), ("--list=codes", "--print-env"), ("--explain", "--list=codes"),
    ("--list=codes", "--list=checks"), ("--explain", "--explain=json")])
def test_two_actions_are_refused(box, first, second):
    error = refused(box.run(first, second, "--", "true"), 125, "option.conflict",
                    second.partition("=")[0])
    before = first.partition("=")[0]
    assert (f"be combined with {before}:" in error) != ("twice, with different values" in error)
    assert (": is given twice" in error) == (before == second.partition("=")[0])


def test_an_action_twice_is_one_and_help_wins(box):
    for words, says in ((("--explain", "--explain"), b"no orchestrator"),
                        (("--check", "--check"), b"fit"), (("--check", "--help"), b"usage"),
                        (("--version", "--check"), b"rankinit "),
                        (("--print-env", "--version"), b"rankinit "),
                        (("--help", "--explain", "--check"), b"usage")):
        result = box.run(*words, "--", "sh", "-c", "echo ran")
        assert (result.status, result.err) == (0, ""), words
        assert says in result.out.lower() and b"ran\n" not in result.out, words


def test_actions_run_nothing_and_the_first_one_wins(box):
    for action in ("--help", "--version", "--list=codes", "--print-env"):
        result = box.run(action, "--", "touch", "@FOLDER/ran")
        assert result.status == 0 and result.err == ""
    assert box.run("--version", "--help").out == box.run("--version").out
    # the control: without the action it runs
    job = box.start("--", "touch", "@FOLDER/ran")
    assert job.wait().status == 0 and job.read("ran") == b""


def test_an_answer_that_cannot_be_written(box):
    with open("/dev/full", "wb") as full:
        result = box.run("--help", stdout=full)
    refused(result, 125, "output", "stdout")


# Where the options end.

@pytest.mark.parametrize("words, status, out", [
    (["--", "echo", "-v", "--", "-x"], 0, b"-v -- -x\n"),
    (["echo", "-v", "--help"], 0, b"-v --help\n"),
    (["echo", "--", "--grace=5"], 0, b"-- --grace=5\n"),
    (["--grace=5", "echo", "--nonsense"], 0, b"--nonsense\n"),
])
def test_the_command_s_own_words(box, words, status, out):
    result = box.run(*words)
    assert (result.status, result.out, result.err) == (status, out, "")


@pytest.mark.parametrize("name", ["-h", "--help", "--", "-", "--version", "-np"])
def test_a_command_with_the_name_of_an_option(box, tmp_path, name):
    program = tmp_path / name
    program.write_text("#!/bin/sh\necho ran $#\n")
    program.chmod(0o755)
    result = box.run("--", name, "1", "2", env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert (result.status, result.out) == (0, b"ran 2\n"), result.err
    # the control: there is no such command elsewhere
    refused(box.run("--", name), 127, "exec.not_found", name)


def test_no_command(box):
    for words in ([], ["--"], ["-v"], ["--grace=3", "--"]):
        refused(box.run(*words), 125, "command.missing", "COMMAND")


def test_disabled_sets_nothing_for_a_grace(box):
    name = "OMPI_MCA_odls_base_sigkill_timeout"
    words = ["--grace=25", "--", "sh", "-c", f"echo ${{{name}-unset}}"]
    assert box.run(*words, env={"RANKINIT_DISABLE": "1"}).out == b"unset\n"
    # the control
    assert box.run(*words).out == b"11\n"


def test_a_broken_twin_is_not_read_where_the_command_line_speaks(box):
    env = {"RANKINIT_GRACE": "abc"}
    assert box.run("--grace=5", "--", "true", env=env).status == 0
    for action in "--help", "--version", "--list=codes":
        assert box.run(action, env=env).status == 0
    # the control
    refused(box.run("--", "true", env=env), 125, "option.value", "RANKINIT_GRACE")


# Variables that look like twins.

@pytest.mark.parametrize("name, nearest", [
    ("RANKINIT_GRACEE", "did you mean RANKINIT_GRACE?"),
    ("RANKINIT_EXITMAP", "did you mean RANKINIT_EXIT_MAP?"),
    ("RANKINIT_DISABLED", "did you mean RANKINIT_DISABLE?"),
    ("RANKINIT_HELP", "see rankinit --help"),
    ("RANKINIT_FOO", "see rankinit --help"),
    ("RANKINIT_LIST", "see rankinit --help"),
    ("RANKINIT_grace", "did you mean RANKINIT_GRACE?"),
    ("RANKINIT_NPROC", "did you mean RANKINIT_NPROC_PER_NODE?"),
    ("RANKINIT_QQQQQQQQQQ", "see rankinit --help"),
])
def test_unknown_twin(box, name, nearest):
    result = box.run("--", "sh", "-c", "exit 4", env={name: "1"})
    assert nearest in warned(result, "option.twin", name)
    assert result.status == 4, "only a warning"


def test_not_twins(box):
    env = {"RANKINIT_VERSION": "v9", "RANKINIT_PORT": "tcp://10.0.0.1:80", "RANKINIT": "x",
           "RANKINIT_SERVICE_HOST": "10.0.0.1", "RANKINIT_SERVICE_PORT": "80",
           "RANKINIT_SERVICE_PORT_HTTP": "80", "RANKINIT_PORT_80_TCP": "tcp://10.0.0.1:80",
           "RANKINIT_PORT_80_TCP_ADDR": "10.0.0.1", "RANKINITX": "", "MY_RANKINIT_GRACE": "x"}
    result = box.run("--", "env", env=env)
    assert (result.status, result.err) == (0, "")
    assert set(result.out.decode().split("\n")) >= {f"{k}={v}" for k, v in env.items()}
    # the control: a name of the same kind that is none of these
    warned(box.run("--", "true", env={"RANKINIT_PORTS": "1"}), "option.twin", "RANKINIT_PORTS")


def test_disable(box):
    broken = {"RANKINIT_GRACE": "soon", "RANKINIT_USER": "nosuch", "RANKINIT_ODD": "1",
              "RANKINIT_EXIT_MAP": "3:9"}
    for value in ("1", "yes", "anything"):
        result = box.run("--", "sh", "-c", "env; exit 3", env={**broken, "RANKINIT_DISABLE": value})
        assert result.status == 3 and len(result.lines()) == 1
        assert "a plain init" in warned(result, "option.disabled", "RANKINIT_DISABLE")
        assert set(result.out.decode().split("\n")) >= {f"{k}={v}" for k, v in broken.items()}
    # the controls: not disabled, or told not to be
    for env in ({}, {"RANKINIT_DISABLE": "0"}, {"RANKINIT_DISABLE": ""}):
        result = box.run("--", "true", env={**broken, **env})
        refused(result, 125, "option.value", "RANKINIT_GRACE")
    # the command line goes on to count
    result = box.run("--exit-map=3:8", "--", "sh", "-c", "exit 3",
                     env={**broken, "RANKINIT_DISABLE": "1"})
    assert result.status == 8
