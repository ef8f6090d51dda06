# SPDX-License-Identifier: Apache-2.0
"""Every system call of rankinit fails in turn; fault_table.py says what happens then."""

import functools
import os
import re
import shutil

import pytest

from fault_runner import FOLDER, cannot_run, run
from fault_table import ENDS, ERRNOS, EXEMPT, SCENARIOS, TABLE

REASON = cannot_run()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
OCCURRENCES = 3     # at most: the first, the last, and one between
OTHER_WORDS = "it says something else than without the fault"


@pytest.fixture(scope="module", autouse=True)
def folder():
    os.makedirs(FOLDER, exist_ok=True)
    yield
    shutil.rmtree(FOLDER)


@functools.lru_cache(maxsize=None)
def clean(name):
    """The run of a scenario in which nothing fails."""
    result = run(SCENARIOS[name], follow=True)
    assert result.status == SCENARIOS[name].status, result.story()
    return result


def occurrences(name, key):
    calls = [call for call in clean(name).calls if call.key() == key]
    if key.endswith("execve"):
        return [call for call in calls if call.result == "0"]   # not the rest of PATH
    if len(calls) <= OCCURRENCES:
        return calls
    return [calls[0], calls[len(calls) // 2], calls[-1]]


def cases():
    for row in TABLE:
        scenario, key, expected = row[:3]
        others = row[3] if len(row) > 3 else {}
        errnos = [*ERRNOS, *others]
        if expected.slow:
            errnos = ["ENOSYS", "EINTR"]    # each of them waits for a deadline
        for errno in dict.fromkeys(errnos):
            yield pytest.param(scenario, key, errno, others.get(errno, expected),
                               id=f"{scenario}-{key.replace(' ', '_')}-{errno}")


def run_reached(scenario, key, call, fault):
    """A process that ends a moment earlier may save the last of many calls."""
    for _ in range(4):
        result = run(SCENARIOS[scenario], [fault], follow=call.who != "")
        if key in result.injected:
            return result
    assert call.ordinal > 1, f"{fault}: not reached\n{result.story()}"
    return None


def check(result, expected, scenario):
    """None, or what is wrong."""
    healthy = clean(scenario)
    if result.status is None:
        return "it hangs"
    wanted = expected.status or (healthy.status,)
    if result.status > 128 and result.status not in wanted:
        return "it crashes"
    if expected is ENDS:
        return None
    if result.status not in wanted:
        return f"exit status {result.status}, expected {wanted} ({expected.text})"
    if expected.says is None and result.complaints() != healthy.complaints():
        return OTHER_WORDS
    if expected.says and not re.search(expected.says, result.stderr):
        return f"it does not say {expected.says!r} ({expected.text})"
    if len(result.calls) > 3 * len(healthy.calls) + 600:
        return "it makes many more calls than without the fault"
    return None


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_call_has_a_row(scenario):
    """
    Of the judge those that write files: test_judge.py strikes it at each of its calls. While
    something is mounted or renamed anywhere openat2(2) says EAGAIN, and openat takes its place.
    """
    known = {row[1] for row in TABLE} | set(EXEMPT)
    known |= {key.replace("openat2 ", "openat ") for key in known}
    missing = sorted({call.key() for call in clean(scenario).calls if call.who != "judge"} - known)
    assert not missing, f"no row in fault_table.py for: {', '.join(missing)}"


def test_every_row_is_used():
    stale = [row[:2] for row in TABLE if not occurrences(row[0], row[1])]
    assert not stale, f"rows of fault_table.py for calls that are not made: {stale}"


@pytest.mark.parametrize("scenario, key, errno, expected", cases())
def test_fault(scenario, key, errno, expected):
    for call in occurrences(scenario, key):
        fault = f"{call.name}:error={errno}:when={call.ordinal}"
        result = run_reached(scenario, key, call, fault)
        wrong = None if result is None else check(result, expected, scenario)
        if wrong is OTHER_WORDS:
            # a check that a busy machine kept waiting says so, without a fault as well
            clean.cache_clear()
            result = run_reached(scenario, key, call, fault)
            wrong = None if result is None else check(result, expected, scenario)
        assert wrong is None, f"{key} fails with {errno} (number {call.ordinal}, " \
            f"{scenario}): {wrong}\n{result.story()}"


@pytest.mark.parametrize("errno", ["EINTR", "EAGAIN"])
def test_waiting_goes_on(errno):
    """A wait that is cut short twenty times is waited again, and that is all."""
    result = run(SCENARIOS["exit1"], [f"rt_sigtimedwait:error={errno}:when=1..20"])
    assert check(result, next(row[2] for row in TABLE if row[1] == "rt_sigtimedwait"),
                 "exit1") is None, result.story()
    assert len(result.calls) <= len(clean("exit1").calls) + 40, result.story()


@pytest.mark.parametrize("errno", [None, "EMFILE"])
def test_the_folder_of_torch_is_not_left_behind(errno):
    """Of a run without a fault, and where it was made and cannot be opened."""
    call = occurrences("report", "openat torch")[0]
    faults = [f"{call.name}:error={errno}:when={call.ordinal}"] if errno else []
    before = set(os.listdir(FOLDER))    # a removal that a fault refused stays
    result = run(SCENARIOS["report"], faults)
    assert ("openat torch" in result.injected) == bool(errno), result.story()
    assert [one for one in result.calls if one.name == "mkdirat" and one.result == "0"]
    assert {name for name in set(os.listdir(FOLDER)) - before if name.startswith("rankinit-")} \
        == set()
