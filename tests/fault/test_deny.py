# SPDX-License-Identifier: Apache-2.0
"""A seccomp profile denies calls, for rankinit and for all that it starts.

deny.c installs it, so that there is no strace and a call fails every time.
DENIED says what happens; calls that are not in it for a flow change nothing.
"""

import dataclasses
import itertools
import re

import pytest

from fault_runner import RANKINIT, Scenario, actor, cannot_run, run
from fault_table import EXIT, NO_ORPHANS, NO_PRIVILEGE, SAME, SCENARIOS, STAY, refused, stop
from test_fault import check

REASON = cannot_run()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

CALLS = ["close_range", "openat2", "pidfd_open", "pidfd_send_signal", "prctl", "pwritev2",
         "getdents64"]
FLOWS = ["exit1", "exit", "stop1", "stop", "killed", "user", "tty"]
# TABLE: (flow, call) where something is to be seen.
DENIED = {
    ("exit", "prctl"): NO_ORPHANS,
    ("killed", "prctl"): dataclasses.replace(NO_ORPHANS, status=(137,)),
    ("tty", "prctl"): NO_ORPHANS,
    ("user", "prctl"): NO_PRIVILEGE,
}


def run_denied(scenario, *rules):
    return run(dataclasses.replace(scenario, deny=list(rules)), trace=False)


# Tests of their own, below.
ELSEWHERE = [("stop", "getdents64"), ("stop", "prctl")]


@pytest.mark.parametrize("flow, call, errno", [
    case for case in itertools.product(FLOWS, CALLS, ["ENOSYS", "EPERM"])
    if case[:2] not in ELSEWHERE])
def test_denied(flow, call, errno):
    expected = DENIED.get((flow, call), SAME)
    result = run_denied(SCENARIOS[flow], f"{call}={errno}")
    wrong = check(result, expected, flow)
    assert wrong is None, f"{call} denied with {errno} in {flow}: {wrong}\n{result.story()}"


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_nobody_is_found(errno):
    """What is left cannot be found in /proc: after --grace and two seconds it stays."""
    scenario = dataclasses.replace(SCENARIOS["stop"], waits=3)
    result = run_denied(scenario, f"getdents64={errno}")
    assert result.status == 7, result.story()
    assert 2.5 < result.seconds, result.story()


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_orphans_elsewhere(errno):
    """No subreaper: what is left has another parent, and rankinit ends at once."""
    result = run_denied(SCENARIOS["stop"], f"prctl={errno}")
    assert result.status == 7, result.story()
    assert "cannot be adopted" in result.stderr, result.story()
    assert "SIGKILL for" not in result.stderr, "nobody is waited for until --grace is over"


@pytest.mark.parametrize("rule, expected, scenario", [
    ("rt_sigprocmask:2=0=EPERM", SAME, "exit1"),      # in the child, just before the command
    ("rt_sigaction=EPERM", SAME, "exit1"),
    ("prctl:0=1=EPERM", SAME, "exit"),                 # PR_SET_PDEATHSIG
    ("prctl:0=1=ENOSYS", SAME, "exit"),
    ("prctl:0=4=EPERM", SAME, "user"),                 # PR_SET_DUMPABLE
    ("prctl:0=24=EPERM", NO_PRIVILEGE, "user"),        # PR_CAPBSET_DROP
    ("prctl:0=38=EPERM", NO_PRIVILEGE, "user"),        # PR_SET_NO_NEW_PRIVS
    ("capget=EPERM", NO_PRIVILEGE, "user"),
    ("setgroups=EPERM", NO_PRIVILEGE, "user"),
    ("clone=ENOSYS", refused(r"spawn\.refused"), "exit1"),
    ("futex=ENOSYS", SAME, "user"),
    ("futex=EPERM", SAME, "user"),
    ("ppoll=ENOSYS", SAME, "exit1"),
    ("ppoll=EPERM", SAME, "ranks"),
    ("close=EPERM", SAME, "exit1"),
    ("pipe2=EPERM", SAME, "exit1"),
    ("ioctl=EPERM", SAME, "tty"),
    ("chdir=EPERM", SAME, "exit1"),
])
def test_rule(rule, expected, scenario):
    result = run_denied(SCENARIOS[scenario], rule)
    wrong = check(result, expected, scenario)
    assert wrong is None, f"{rule} in {scenario}: {wrong}\n{result.story()}"


# What an emulator of another processor answers to all but threads and vfork.
EMULATOR = ["clone:0=0x111=EINVAL", "clone:0=0x200700=EINVAL"]


@pytest.mark.parametrize("flow", ["exit1", "exit", "stop1", "stop", "user", "ranks", "killed"])
def test_an_emulator(flow):
    """docker run --platform: a child that has a copy of our memory."""
    result = run_denied(SCENARIOS[flow], *EMULATOR)
    wrong = check(result, SAME, flow)
    assert wrong is None, f"{flow}: {wrong}\n{result.story()}"


@pytest.mark.parametrize("command, status, code", [
    ("/nonexistent/command", 127, "exec.not_found"), ("/etc/passwd", 126, "exec.denied")])
def test_why_it_failed_in_a_copy(command, status, code):
    scenario = Scenario([command], pid1=True, status=status)
    result = run_denied(scenario, *EMULATOR)
    assert result.status == status, result.story()
    assert f"rankinit: error: {command}: " in result.stderr, result.story()
    assert result.stderr.splitlines()[-2].endswith(f"[{code}]"), result.story()


CLOSES = """i=0
while [ -e /proc/$PPID/fd/9 ] && [ $i -lt 100 ]; do sleep 0.01; i=$((i + 1)); done
[ -e /proc/self/fd/9 ] && [ ! -e /proc/$PPID/fd/9 ] && exit 7"""


@pytest.mark.parametrize("rules", [(), ("close_range=ENOSYS",), ("close_range=EPERM",)])
def test_inherited_file_is_closed(rules):
    """rankinit lets go of descriptor 9, the command keeps it."""
    scenario = Scenario(["sh", "-c", CLOSES], pid1=True, nsrun=["-f", "9"])
    result = run_denied(scenario, *rules)
    assert result.status == 7, result.story()


WRITES = """trap 'rm -rf "$folder"' EXIT
folder=$(mktemp -d)
@RANKINIT --report=fd:3 -- sh -c 'kill -SEGV $$' 3>"$folder/report" 2>"$folder/said"
grep -q 'killed by SIGSEGV' "$folder/said" && grep -q '"exit_status": *139' "$folder/report" &&
exit 7"""


@pytest.mark.parametrize("rules", [(), ("pwritev2=EAGAIN",), ("pwritev2=ENOSYS",)])
def test_a_file_that_would_have_to_wait(rules):
    """XFS and btrfs refuse a write that does not wait whenever a file's time changes."""
    scenario = Scenario(["sh", "-c", WRITES.replace("@RANKINIT", RANKINIT)])
    result = run_denied(scenario, *rules)
    assert result.status == 7, result.story()


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_everything_new_is_denied(errno):
    """Linux before 5.1, or an old profile: the whole stop works all the same."""
    rules = [f"{call}={errno}" for call in CALLS if call not in ("prctl", "getdents64")]
    for flow in ("stop1", "stop"):
        result = run_denied(SCENARIOS[flow], *rules)
        assert check(result, SAME, flow) is None, result.story()
        assert "SIGTERM from pid" in result.stderr, result.story()
        assert "reaped pid" in result.stderr, result.story()


def test_nobody_can_be_killed():
    """No SIGKILL gets through: two seconds later rankinit ends and names who stays."""
    scenario = Scenario(stop(2, "linger=60000"), ["--grace=1", *STAY], waits=3)
    result = run_denied(scenario, "kill:1=9=EPERM", "pidfd_send_signal:1=9=EPERM")
    assert result.status == 7, result.story()
    assert re.search(r"error: .*cannot be killed.* probe \(", result.stderr), result.story()


DEAF = "[ $RANK = 1 ] && { sleep 0.2; exit 5; }; trap '' TERM; while :; do sleep 0.1; done"


@pytest.mark.parametrize("pid1", [False, True])
def test_ranks_that_cannot_be_killed(pid1):
    """As a rank in a driver's uninterruptible sleep: named, and not waited for for ever."""
    scenario = Scenario(["sh", "-c", DEAF], ["--grace=1", "--nproc-per-node=3"], waits=4,
                        pid1=pid1)
    result = run_denied(scenario, "kill:1=9=EPERM", "pidfd_send_signal:1=9=EPERM")
    assert result.status == 5, result.story()
    assert 2.5 < result.seconds, result.story()
    line = re.search(r"error: .*cannot be killed remain: (.*)", result.stderr).group(1)
    assert len(re.findall(r"sh \(\d+\)", line)) == 2, result.story()
    assert re.search(r"rank 1 \(.*\) failed first: exit status 5", result.stderr)
    assert "ranks 0, 2: told to stop, cannot be killed\n" in result.stderr
    # the control: they can be killed
    result = run_denied(scenario)
    assert result.status == 5 and "cannot be killed" not in result.stderr, result.story()


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_bounding_set_is_cut_or_refused(errno):
    script = "grep -q '^CapBnd:[[:space:]]*0*$' /proc/self/status && exit 7"
    scenario = Scenario(["sh", "-c", script], [*STAY, "--cap-drop=all"])
    assert run_denied(scenario).status == 7
    result = run_denied(scenario, f"prctl:0=23={errno}")
    assert result.status in (7, 125), result.story()


# Every call that a start and a stop make, but those that the command needs to run at all.
EVERY = """bind capget chdir clock_gettime close_range dup3 epoll_create1 epoll_ctl epoll_pwait
fcntl getdents64 getpid getppid getrandom ioctl madvise openat2 pidfd_open pidfd_send_signal
pipe2 poll ppoll prctl prlimit64 pwritev2 readlink rt_sigpending rt_sigprocmask rt_sigtimedwait
sched_getaffinity setpgid signalfd4 socket uname wait4 waitid""".split()
KINDS = {"one": STAY, "two": ["--nproc-per-node=2", "--checks=none"], "log": ["--log-prefix"]}
# What cannot work is refused, of these kinds.
OUTPUT = ("two", "log")
IMPOSSIBLE = {
    "epoll_create1": (OUTPUT, "log.refused"), "epoll_ctl": (OUTPUT, "log.refused"),
    "fcntl": (OUTPUT, "log.refused"), ("pipe2", "EPERM"): (OUTPUT, "log.refused"),
    "signalfd4": (OUTPUT, "log.refused"), "dup3": (("two",), "spawn.refused"),
    "getpid": (tuple(KINDS), "spawn.refused"), "setpgid": (tuple(KINDS), "spawn.refused"),
    "rt_sigprocmask": (tuple(KINDS), "signals.refused"),
}
# All ranks are ready, then the first one stops the job: each of them has its own part of it.
STOPPED = """trap 'exit 7' TERM; mkdir @FOLDER/${RANK:-0}; i=0
until [ -e @FOLDER/0 ] && [ -e @FOLDER/@LAST ]; do sleep 0.01; done
[ "${RANK:-0}" != 0 ] || kill -TERM 1
while [ $i -lt 200 ]; do sleep 0.01; i=$((i + 1)); done; exit 8"""


def stopped(kind, folder):
    script = STOPPED.replace("@FOLDER", str(folder)).replace("@LAST", "1" if kind == "two" else "0")
    return Scenario(["/bin/sh", "-c", script], KINDS[kind], pid1=True, waits=7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", EVERY)
def test_a_job_is_stopped(call, kind, tmp_path):
    """Whichever call is denied: a job ends by its SIGTERM, or is refused in one sentence."""
    for errno in ("ENOSYS", "EPERM"):
        kinds, code = IMPOSSIBLE.get(call, IMPOSSIBLE.get((call, errno), ((), None)))
        folder = tmp_path / errno
        folder.mkdir()
        result = run_denied(stopped(kind, folder), f"{call}={errno}")
        if kind not in kinds:
            assert result.status == 7, (errno, result.story())
            assert "error: " not in result.stderr, (errno, result.story())
            continue
        assert result.status == 125, (errno, result.story())
        errors = [line for line in result.stderr.splitlines()
                  if line.startswith("rankinit: error: ")]
        assert len(errors) == 1 and errors[0].endswith(f"[{code}]"), (errno, result.story())


def test_no_denial_changes_nothing(tmp_path):
    """The control of the matrix, without a filter."""
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        assert run_denied(stopped(kind, folder)).status == 7, kind


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_signals_are_taken_without_their_sender(errno, tmp_path):
    """Neither rt_sigtimedwait nor signalfd: what is pending is seen, and who sent it is not."""
    rules = [f"{call}={errno}" for call in ("rt_sigtimedwait", "signalfd4", "poll", "ppoll")]
    scenario = stopped("one", tmp_path)
    scenario.options = [*STAY, "-v"]
    result = run_denied(scenario, *rules)
    assert result.status == 7, result.story()
    assert "SIGTERM from pid 0 " in result.stderr, result.story()


def test_the_sender_is_known_by_signalfd(tmp_path):
    scenario = stopped("one", tmp_path)
    scenario.options = [*STAY, "-v"]
    for rules in (), ("rt_sigtimedwait=EPERM",):
        result = run_denied(scenario, *rules)
        assert result.status == 7, result.story()
        assert "SIGTERM from pid 2 " in result.stderr, (rules, result.story())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_nobody_tells_what_ended(errno, kind):
    """Without wait4 and waitid no end is ever known: said, and not waited for for ever."""
    for command in EXIT, ["sleep", "60"]:
        scenario = Scenario(command, KINDS[kind], pid1=True)
        if command != EXIT:
            scenario.command = ["/bin/sh", "-c", "kill -TERM 1; exec sleep 60"]
        result = run_denied(scenario, f"wait4={errno}", f"waitid={errno}")
        assert result.status == 125, result.story()
        assert re.search(r"error: wait4: .*\[wait\.refused\]$", result.stderr, re.M), result.story()


@pytest.mark.parametrize("status", ["exit 7", "kill -KILL $$", "kill -SEGV $$"])
def test_an_end_as_waitid_tells_it(status):
    """The same status, and the same words about it, as with wait4."""
    scenario = Scenario(["/bin/sh", "-c", f"ulimit -c 0; {status}"], STAY)
    without, result = run_denied(scenario), run_denied(scenario, "wait4=EPERM")
    assert result.status == without.status != 0, result.story()
    assert [re.sub(r"\d+", "N", line) for line in result.complaints()] == \
        [re.sub(r"\d+", "N", line) for line in without.complaints()]


def test_much_output_without_epoll_pwait():
    """Nobody tells which pipe has something: more than a pipe holds comes through all the same."""
    counted = f"[ $({RANKINIT} --log-file=/dev/null -- head -c 3000000 /dev/zero " \
              "| wc -c) = 3000000 ] && exit 7"
    scenario = Scenario(["/bin/sh", "-c", counted], waits=5)
    for rules in (), ("epoll_pwait=EPERM",), ("epoll_pwait=ENOSYS",):
        assert run_denied(scenario, *rules).status == 7, rules


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_a_signal_that_kill_may_not_send(errno):
    """Denied for us alone, as it were: passed on by pidfd."""
    script = "trap 'exit 7' USR1; kill -TERM 1; i=0; " \
             "while [ $i -lt 100 ]; do sleep 0.01; i=$((i + 1)); done; exit 8"
    scenario = Scenario(["/bin/sh", "-c", script], ["--signal-map=TERM:USR1"], pid1=True,
                        waits=7)
    assert run_denied(scenario, f"kill:1=10={errno}").status == 7
    # the control: nor may a pidfd
    rules = f"kill:1=10={errno}", f"pidfd_send_signal:1=10={errno}"
    assert run_denied(scenario, *rules).status == 8


def test_deny_denies():
    """The tool itself: without it these tests would pass for nothing."""
    for rule, wanted in (("clone=EPERM", 125), ("clone:0=1=EPERM", 7)):
        assert run_denied(Scenario(EXIT, STAY), rule).status == wanted, (rule, RANKINIT)
    assert run_denied(Scenario([actor("probe")]), "nonsense=EPERM").status == 94
