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
    assert result.seconds < 0.9, result.story()


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
    line = re.search(r"error: .*cannot be killed stay: (.*)", result.stderr).group(1)
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


def test_children_are_reaped_without_wait():
    """A kernel without rt_sigtimedwait: children are still reaped."""
    scenario = Scenario(["sleep", "0.05"], pid1=True, status=0)
    result = run_denied(scenario, "rt_sigtimedwait=ENOSYS")
    assert result.status == 0, result.story()


def test_deny_denies():
    """The tool itself: without it these tests would pass for nothing."""
    for rule, wanted in (("clone=EPERM", 125), ("clone:0=1=EPERM", 7)):
        assert run_denied(Scenario(EXIT, STAY), rule).status == wanted, (rule, RANKINIT)
    assert run_denied(Scenario([actor("probe")]), "nonsense=EPERM").status == 94
