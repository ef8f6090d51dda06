#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite must fail what is no init: two such programs, and where they fail."""

import os
import sys

sys.dont_write_bytecode = True

import conform  # noqa: E402

# What each one must pass and fail; the other cases are not run.
WANTED = {
    "bad_exec.sh": {
        "pass": ("T01", "T12", "T67", "T71"),
        "fail": ("T02", "T23", "T27", "T50", "T51", "T54", "T72"),
    },
    "bad_shell.sh": {
        "pass": ("T01", "T50", "T67", "T78"),
        "fail": ("T24", "T27", "T40", "T43", "T52", "T74", "T76"),
    },
}


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                            os.path.join(conform.ROOT, "build"))
    problem = conform.check_machine(build)
    if problem:
        sys.exit("selftest: " + problem)
    cases = {case.id: case for case in conform.load_cases()}
    good = bad = 0
    for name, wanted in WANTED.items():
        modes = conform.complete({"init": os.path.join(conform.HERE, name) + " --"}, build)
        for verdict, ids in wanted.items():
            for key in ids:
                found = conform.run_case(cases[key], modes, build)
                if found.verdict == verdict:
                    good += 1
                    continue
                bad += 1
                print(f"{name} {key}: {found.verdict}, not {verdict}: {found.evidence}")
    print(f"{good} passed, {bad} failed, 0 skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
