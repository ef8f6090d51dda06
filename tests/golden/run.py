#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run rankinit in every golden environment and compare what it would set.

    run.py [PROGRAM] [PART-OF-A-CASE-NAME]...

What a case is stands in README.md. The findings on stderr, notes among them, are
those of the case: no more, no fewer, and in order.
"""
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import cases

DEFAULT_PROGRAM = cases.HERE.parent.parent / "build" / "rankinit"


def read_want(case):
    want = {}
    for line in case.want:
        if line.startswith("-"):
            want[line[1:]] = None
        else:
            name, _, value = line.partition("=")
            want[name] = value
    return want


@functools.lru_cache
def reads_below_a_root(program):
    done = subprocess.run([str(program), "--list=options"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return "--root" in done.stdout


def can_run(program, case):
    return reads_below_a_root(program) or case.machine is None


def run(program, case, root):
    """root: a folder for its machine; without one, a machine without any files."""
    case.put_machine(root)
    below = [f"--root={root}"] if reads_below_a_root(program) else []
    return subprocess.run(
        [str(program), *below, "-v", "--print-env=json", *(case.options or []),
         "--", *(case.command or ["true"])],
        env=dict(line.split("=", 1) for line in case.env), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="surrogateescape", timeout=20, check=False)


# how a line of stderr begins; a finding's ends with its code
BEGINS = {"error": "rankinit: error: ", "warning": "rankinit: warning: ", "note": "rankinit: "}


def is_finding(line, wanted):
    """Is this line of stderr the finding "SEVERITY CODE SUBJECT"?"""
    severity, code, subject = wanted.split(" ", 2)
    return line.startswith(f"{BEGINS[severity]}{subject}: ") and line.endswith(f" [{code}]")


def faults_of_findings(stderr, want, errors=False):
    """Are the errors among the lines of stderr, or all findings, those that are wanted?"""
    said = [line for line in stderr.splitlines() if re.search(r" \[[a-z0-9_.]+\]$", line)
            and (not errors or line.startswith(BEGINS["error"]))]
    for line, wanted in itertools.zip_longest(said, want):
        if line is None or wanted is None or not is_finding(line, wanted):
            yield (f"stderr says {line!r}, " if line else "") + (
                f"the case wants {wanted!r}" if wanted else "which [findings] lacks")


def faults_of_error(case, result):
    """What was found before an error is not said beside it: test_golden.c looks at that."""
    if result.returncode != 125:
        yield f"exit status {result.returncode}, not 125: {result.stderr!r}"
    yield from faults_of_findings(result.stderr, [f"error {case.error[0]}"], errors=True)


def simulate(program, case):
    """The same member, if it is one of a simulated job, as --simulate makes it; or None."""
    match = re.fullmatch(r".*/simulated-(.+)-node(\d)-rank(\d)", case.name)
    if match is None:
        return None
    name, node, rank = match[1].replace("-", "_"), match[2], int(match[3])
    return subprocess.run(
        [str(program), f"--simulate={name}:2x2", f"--node-rank={node}",
         f"--local-rank={rank % 2}", "-v", "--print-env=json", "--", "true"],
        env={}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)


def faults_of_env(case, result, unseen=()):
    """unseen: names that the case's own machine, which has no files, does not give."""
    if result.returncode != 0:
        yield f"exit status {result.returncode}: {result.stderr!r}"
        return
    got = json.loads(result.stdout)
    # The mark of rankinit itself is no part of what an orchestrator says.
    got = {name: value for name, value in got.items()
           if not name.startswith("RANKINIT") and name not in unseen}
    want = read_want(case)
    for name in sorted(set(got) | set(want)):
        if got.get(name, "(nothing)") != want.get(name, "(nothing)"):
            yield f"{name}: {got.get(name, '(nothing)')!r}, not {want.get(name, '(nothing)')!r}"
    yield from faults_of_findings(result.stderr, case.findings or [])


def faults(program, case):
    with tempfile.TemporaryDirectory() as root:
        result = run(program, case, root)
    if case.error is not None:
        return list(faults_of_error(case, result))
    found = list(faults_of_env(case, result))
    simulated = simulate(program, case)
    if simulated is not None:
        found += [f"--simulate: {fault}"
                  for fault in faults_of_env(case, simulated, ("OMP_NUM_THREADS",))]
    return found


def chosen_cases(parts):
    return [case for case in cases.load()
            if not parts or any(part in case.name for part in parts)]


def main(arguments):
    program = pathlib.Path(arguments[0]) if arguments else DEFAULT_PROGRAM
    if not os.access(program, os.X_OK):
        print(f"golden: {program} is not there: build it first", file=sys.stderr)
        return 2
    misread = list(cases.faults_of_reader())
    for fault in misread:
        print(f"golden: {fault}")
    chosen = chosen_cases(arguments[1:])
    failed = 0
    runnable = [case for case in chosen if can_run(program, case)]
    skipped = len(chosen) - len(runnable)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(functools.partial(faults, program), runnable))
    for case, found in zip(runnable, results):
        failed += bool(found)
        for fault in found:
            print(f"{case.path}:{case.line}: {case.name}: {fault}")
    print(f"{len(chosen) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or misread or not chosen else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except cases.Malformed as malformed:
        sys.exit(f"golden: {malformed}")
