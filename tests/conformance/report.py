#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turn the result of conform.py into a page, or into a verdict.

    report.py FILE                                          Markdown on stdout
    report.py FILE --require rankinit=all --peer-limit 42   0 if that holds
"""

import argparse
import json
import sys

LETTERS = {"pass": "P", "fail": "F", "info": "i", "skip": "-"}

HEAD = """\
# Conformance of container inits

What does rankinit do as an init that others do not? `make conformance` runs these
cases and makes this page; do not edit it. Each case starts an init as process 1 of
a new PID namespace (or, if it says so, as an ordinary process in one), does
something to it, and looks at what happens. All inits get the same cases, the same
limits and the same machine, each with its own best options
(`tests/conformance/inits.json`).

**P** as expected, **F** not, **i** for information only, **-** not run. A case
expects what a training job needs from its init; the authors of some inits chose
some of the F on purpose.
"""


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def count(init, verdict):
    return sum(1 for found in init["cases"].values() if found["verdict"] == verdict)


def row(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(result):
    inits = result["inits"]
    yield row("", "case", "expected", *(init["name"] for init in inits))
    yield row("---", "---", "---", *(":-:" for _ in inits))
    yield row("", "*version*", "", *(init["version"] for init in inits))
    for case in result["cases"]:
        letters = (LETTERS[init["cases"][case["id"]]["verdict"]] for init in inits)
        yield row(case["id"], case["title"], case["expected"], *letters)
    for verdict, word in (("pass", "passed"), ("fail", "failed"), ("skip", "not run")):
        numbers = [count(init, verdict) for init in inits]
        if verdict != "skip" or any(numbers):
            yield row("", f"**{word}**", "", *numbers)


def notes(result):
    """What the cases for information saw."""
    for case in result["cases"]:
        found = [(init["name"], init["cases"][case["id"]]) for init in result["inits"]]
        if not any(one["verdict"] == "info" for _, one in found):
            continue
        yield f"{case['id']}, {case['title']}:"
        yield ""
        for name, one in found:
            yield f"- {name}: {one['evidence']}"
        yield ""


def page(result):
    return "\n".join([HEAD, *table(result), "", "## For information", "", *notes(result)])


def check_required(result, name):
    """Print what the required init fails; True if it is good."""
    init = next((one for one in result["inits"] if one["name"] == name), None)
    if init is None:
        print(f"{name}: not in the result")
        return None
    titles = {case["id"]: case["title"] for case in result["cases"]}
    for key, found in init["cases"].items():
        if found["verdict"] in ("fail", "skip"):
            print(f"{name} {key} {found['verdict']}: {titles[key]}: {found['evidence']}")
    return init


def check(result, name, limit):
    good = result["complete"]
    if not good:
        print("only some of the cases were run")
    for init in result["inits"]:
        passed = count(init, "pass")
        if init["name"] != name and limit is not None and passed > limit:
            print(f"{init['name']}: passes {passed} cases, more than {limit}: "
                  "too lenient, or it is a new version")
            good = False
    init = check_required(result, name)
    if init is None:
        print("0 passed, 0 failed, 0 skipped")
        return False
    passed, failed = count(init, "pass"), count(init, "fail")
    print(f"{passed} passed, {failed} failed, {count(init, 'skip')} skipped")
    return good and passed > 0 and failed == 0


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="what conform.py --json wrote")
    parser.add_argument("--require", metavar="NAME=all", help="this init must pass all cases")
    parser.add_argument("--peer-limit", type=int, metavar="N",
                        help="no other init may pass more cases")
    options = parser.parse_args(argv)
    result = load(options.file)
    if not options.require:
        sys.stdout.write(page(result))
        return 0
    name, _, amount = options.require.partition("=")
    if amount != "all":
        parser.error("--require takes NAME=all")
    return 0 if check(result, name, options.peer_limit) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
