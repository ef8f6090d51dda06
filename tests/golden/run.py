#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run rankinit in every golden environment and compare what it would set.

    run.py [PROGRAM] [PART-OF-A-CASE-NAME]...

What a case is stands in README.md. Findings are looked for on stderr where
they are warnings; the exact list is checked by tests/unit/test_golden.c.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT_PROGRAM = HERE.parent.parent / "build" / "rankinit"


def lines(path):
    """The lines of a file that are not comments; none if there is no file."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def read_want(case):
    want = {}
    for line in lines(case / "want.env"):
        if line.startswith("-"):
            want[line[1:]] = None
        else:
            name, _, value = line.partition("=")
            want[name] = value
    return want


@functools.lru_cache
def reads_below_a_root(program):
    done = subprocess.run([str(program), "--help"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return "--root" in done.stdout


def root_of(case):
    """The machine of the case: without one, a machine without any files."""
    return case / "root" if (case / "root").is_dir() else case


def can_run(program, case):
    return reads_below_a_root(program) or not (case / "root").is_dir()


def run(program, case):
    env = dict(line.split("=", 1) for line in lines(case / "env"))
    root = [f"--root={root_of(case)}"] if reads_below_a_root(program) else []
    command = lines(case / "command") or ["true"]
    return subprocess.run(
        [str(program), *root, "--print-env=json", *lines(case / "options"), "--", *command],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="surrogateescape", timeout=20, check=False)


def faults_of_error(case, result):
    (wanted,) = lines(case / "want.error")
    code, subject = wanted.split(" ", 1)
    if result.returncode != 125:
        yield f"exit status {result.returncode}, not 125"
    if f"[{code}]" not in result.stderr:
        yield f"no [{code}] on stderr: {result.stderr!r}"
    if subject not in result.stderr:
        yield f"no {subject} on stderr: {result.stderr!r}"


def faults_of_env(case, result):
    if result.returncode != 0:
        yield f"exit status {result.returncode}: {result.stderr!r}"
        return
    got = json.loads(result.stdout)
    # The mark of rankinit itself is no part of what an orchestrator says.
    got = {name: value for name, value in got.items() if not name.startswith("RANKINIT")}
    want = read_want(case)
    for name in sorted(set(got) | set(want)):
        if got.get(name, "(nothing)") != want.get(name, "(nothing)"):
            yield f"{name}: {got.get(name, '(nothing)')!r}, not {want.get(name, '(nothing)')!r}"
    for line in lines(case / "want.findings"):
        severity, code, subject = line.split(" ", 2)
        if severity == "warning" and not (f"[{code}]" in result.stderr
                                          and subject in result.stderr):
            yield f"no [{code}] about {subject} on stderr: {result.stderr!r}"


def faults(program, case):
    result = run(program, case)
    if (case / "want.error").exists():
        return list(faults_of_error(case, result))
    return list(faults_of_env(case, result))


def cases(parts=()):
    found = sorted(path.parent for path in HERE.glob("*/*/env"))
    return [case for case in found
            if not parts or any(part in str(case.relative_to(HERE)) for part in parts)]


def test_golden():
    """All cases, for pytest."""
    program = os.environ.get("RANKINIT_UNDER_TEST", DEFAULT_PROGRAM)
    wrong = {str(case): found for case in cases()
             if can_run(program, case) and (found := faults(program, case))}
    assert not wrong, wrong


def main(arguments):
    program = pathlib.Path(arguments[0]) if arguments else DEFAULT_PROGRAM
    if not os.access(program, os.X_OK):
        print(f"golden: {program} is not there: build it first", file=sys.stderr)
        return 2
    chosen = cases(arguments[1:])
    failed = skipped = 0
    for case in chosen:
        if not can_run(program, case):
            skipped += 1
            continue
        found = faults(program, case)
        failed += bool(found)
        for fault in found:
            print(f"golden: {case.relative_to(HERE)}: {fault}")
    print(f"{len(chosen) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
