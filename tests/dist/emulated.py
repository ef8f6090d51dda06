#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Tests of the program for the other processor, by qemu-user: what it can bear of the unit
tests, all golden cases, and behaviour tests of the start, the stop, ranks and the verdict.

usage: emulated.py unit|golden|behaviour

qemu-user is no kernel of that processor: it hands system calls on to this one, and knows
threads, fork and vfork, but no seccomp, no ptrace, no subreaper (PR_SET_CHILD_SUBREAPER),
no limit of memory, and none but this machine's size of pages. The tests that this keeps from
passing stand below, by reason. The last line counts: N passed, N failed, N skipped.
"""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[os.uname().machine]
PROGRAM = os.path.join(TOP, "build", OTHER, "rankinit")
EMULATE = [os.path.join(HERE, "emulate.py"), f"/usr/bin/qemu-{OTHER}-static", PROGRAM]
PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]

# In unit tests, by name.
UNIT = {
    "the emulator does not limit memory (RLIMIT_AS)": {
        "test_out_of_memory", "test_null_only_when_out_of_memory", "test_memory",
        "test_host_file_without_memory", "test_a_list_without_memory",
        "test_hostfile_without_memory", "memory_is_bounded"},
    "/proc/self/stat is the emulator's": {"our_own_file_is_one"},
    "the emulator writes a core of its own for longer than a check may take":
        {"crashes_are_named"},
    "the libraries of this machine are not for that processor": {"test_this_machine"},
}

# Behaviour: file -> tests that cannot pass, with the reason.
BELOW = "without a subreaper nothing is adopted outside of a container"
NUMBER = "a thread of the emulator has the number that the command would have"
SPACE = "a user namespace may not make devices"
OWN = "the memory and the wake-ups are the emulator's"
BEHAVIOUR = {
    "options": {},
    "option_words": {},
    "before_exec": {},
    "explain": {},
    "launch_modes": {BELOW: ["test_broken_metadata_is_none_of_a_whole_jobs_business"]},
    "privileges": {OWN: ["test_rankinit_stays_readable_for_its_own_user"]},
    "terminal": {},
    "fanout": {},
    "fanout_end": {
        BELOW: ["test_a_stop_reaches_every_rank_once[below]",
                *(f"test_the_first_failure_ends_the_job[{end}-below]" for end in (
                    "exit 7-7-exit status 7", "kill -SEGV $$-139-killed by SIGSEGV (11)",
                    "kill -KILL $$-137-killed by SIGKILL (9)")),
                "test_what_a_failed_rank_left_behind_goes_too", "test_512_short_ranks[below]"],
        OWN: ["test_512_ranks[init]", "test_512_ranks[below]"]},
    "stop": {
        NUMBER: ["test_a_stop_that_waits_for_a_shell_is_said",
                 "test_the_deadline_kills_and_names"],
        BELOW: ["test_signal_group_and_one_that_leaves_it"],
        "a million of orphans take too long": ["test_a_stop_comes_between_orphans"],
        "two signals of 10 ms do not come within them": ["test_two_terms_within_10_ms_are_one"]},
    "verdict": {BELOW: ["test_an_exception_in_a_nested_call[below]"],
                SPACE: ["test_the_copy_for_kubernetes"]},
}


def run(*words, **more):
    done = subprocess.run(["nice", "-n", "5", *EMULATE, *words], cwd=TOP, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                          stderr=subprocess.STDOUT, check=False, **more)
    if done.returncode == 77:
        print(done.stdout, end="")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    return done


def skip(reason, names):
    print(f"skip {len(names)} tests, {reason}: {', '.join(sorted(names))}")
    return len(names)


def unit():
    """With that processor's compiler, for the tests that make libraries."""
    tools = os.path.join(TOP, "build", OTHER, "tools")
    os.makedirs(tools, exist_ok=True)
    if not os.path.lexists(f"{tools}/gcc"):
        os.symlink(f"/usr/bin/{OTHER}-linux-gnu-gcc", f"{tools}/gcc")
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    reasons = {name: reason for reason, names in UNIT.items() for name in names}
    passed, failed, skipped = 0, 0, {}
    for program in sorted(glob.glob(f"build/{OTHER}/release/tests/test_*", root_dir=TOP)):
        if program.endswith(".d"):
            continue
        done = run(program, env=env)
        passed += len(re.findall(r"^\[       OK \]", done.stdout, re.M))
        wrong = set(re.findall(r"^\[  FAILED  \] ([a-z]\w*)$", done.stdout, re.M))
        for name in wrong & set(reasons):
            skipped.setdefault(reasons[name], set()).add(
                f"{os.path.basename(program)}:{name}")
        if wrong - set(reasons) or (done.returncode and not wrong):
            failed += len(wrong - set(reasons)) or 1
            print("\n".join(done.stdout.splitlines()[-40:]))
    count = sum(skip(reason, names) for reason, names in skipped.items())
    return passed, failed, count


def golden():
    done = run("/usr/bin/python3", "-B", "tests/golden/run.py", PROGRAM)
    print("\n".join(done.stdout.splitlines()[-40:]))
    return [int(number) for number in re.search(
        r"^(\d+) passed, (\d+) failed, (\d+) skipped$", done.stdout, re.M).groups()]


def behaviour():
    words, count = [], 0
    for name, reasons in BEHAVIOUR.items():
        path = f"tests/behaviour/test_{name}.py"
        words.append(path)
        for reason, names in reasons.items():
            words += [f"--deselect={path}::{test}" for test in names]
            count += skip(reason, {f"{name}:{test}" for test in names})
    done = run(*PYTEST, *words, env={**os.environ, "RANKINIT": PROGRAM})
    print("\n".join(done.stdout.splitlines()[-120:-1]))
    said = {word: int(number) for number, word in
            re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", done.stdout.splitlines()[-1])}
    failed = said.get("failed", 0) + said.get("error", 0) + said.get("errors", 0)
    if done.returncode and not failed:
        failed = 1
    return said.get("passed", 0), failed, said.get("skipped", 0) + count


def main(suite):
    if not os.path.exists(EMULATE[1]):
        print(f"skip there is no {EMULATE[1]}")
        counts = 0, 0, 1
    else:
        counts = {"unit": unit, "golden": golden, "behaviour": behaviour}[suite]()
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
