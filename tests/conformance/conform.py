#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the conformance cases against one init, or against all of inits.json.

    conform.py --name X --init 'X --' [--plain X] [--group 'X -g --'] ...
    conform.py --suite [--jobs 2] [--build DIR] --json FILE
    conform.py --list

Needs root, for PID namespaces. {build} in a command stands for the build
folder, {grace} for a number of seconds; NAME=VALUE before it is environment.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
import importlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

from harness import Bench, PATH, split_command  # noqa: E402
import registry  # noqa: E402

MODES = ("init", "plain", "group", "all", "subreaper", "grace", "verbose")
MODULES = ("cases_exit", "cases_signals", "cases_race", "cases_tree", "cases_tty",
           "cases_rest")


def case_order(name):
    number, letter = re.fullmatch(r"T(\d+)(\w*)", name).groups()
    return int(number), letter


def load_cases():
    for module in MODULES:
        importlib.import_module(module)
    return [registry.CASES[name] for name in sorted(registry.CASES, key=case_order)]


def complete(init, build):
    """Fill in the modes that an init does not name, and {build}."""
    modes = {mode: init.get(mode) or init["init"] for mode in MODES}
    if not init.get("plain"):
        modes["plain"] = re.sub(r" --$", "", init["init"])
    return {mode: text.replace("{build}", build) for mode, text in modes.items()}


def find(command):
    """The program that a command would run, or None."""
    _, words = split_command(command)
    return shutil.which(words[0], path=PATH + ":" + os.environ.get("PATH", ""))


def version_of(command):
    if not command or not find(command):
        return "unknown"
    ended = subprocess.run(split_command(command)[1], stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=20, check=False)
    number = re.search(r"\d+(?:\.\d+)+[-+.\w]*", ended.stdout)
    return number.group().partition("_")[0] if number else "unknown"


def run_case(case, modes, build):
    bench = Bench(modes, build)
    try:
        return case.function(bench)
    except registry.Gone as reason:
        return registry.judge(False, str(reason))
    except registry.Skip as reason:
        return registry.skip(str(reason))
    except Exception as error:  # a broken case must not end the suite
        return registry.judge(False, f"error in the case: {type(error).__name__}: {error}")
    finally:
        bench.close()


def check_machine(build):
    """Why no case can run here, or None."""
    for actor in ("nsrun", "probe"):
        if not os.access(os.path.join(build, "tests", actor), os.X_OK):
            return f"{build}/tests/{actor} is not built"
    ended = subprocess.run([os.path.join(build, "tests", "nsrun"), "-r", "1", "--", "true"],
                           capture_output=True, text=True, timeout=20, check=False)
    if ended.returncode or "status 0" not in ended.stdout:
        return "no PID namespace: " + (ended.stderr.strip() or "unknown reason")
    return None


def run_all(inits, cases, options):
    """Every case for every init, some at a time."""
    build = options.build
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        waiting = [(init, case, pool.submit(run_case, case, init["modes"], build))
                   for init in inits for case in cases]
        for init, case, future in waiting:
            try:
                found = future.result()
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            init["cases"][case.id] = {"verdict": found.verdict, "evidence": found.evidence}
            print(f"{init['name']:12} {case.id:5} {found.verdict:4}  {case.title}: "
                  f"{found.evidence}", flush=True)


def totals(init):
    count = {"pass": 0, "fail": 0, "info": 0, "skip": 0}
    for found in init["cases"].values():
        count[found["verdict"]] += 1
    return count


def suite_inits(build):
    """The inits of the data file that are installed here."""
    with open(os.path.join(HERE, "inits.json"), encoding="utf-8") as file:
        listed = json.load(file)["inits"]
    for init in listed:
        modes = complete(init, build)
        if find(modes["init"]):
            yield {"name": init["name"], "modes": modes, "cases": {},
                   "version": version_of(init["version"].replace("{build}", build))}
        else:
            print(f"{init['name']}: not installed, left out", file=sys.stderr)


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="store_true", help="all inits of inits.json")
    parser.add_argument("--list", action="store_true", help="the cases, and nothing else")
    parser.add_argument("--name", default="init", help="what to call a single init")
    for mode in MODES:
        parser.add_argument(f"--{mode}", metavar="COMMAND", help=f"its {mode} mode")
    parser.add_argument("--only", metavar="T10,T11", help="these cases only")
    parser.add_argument("--json", metavar="FILE", help="write the result there")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR")
    options = parser.parse_args(argv)
    options.build = os.path.abspath(options.build)
    if not (options.suite or options.list or options.init):
        parser.error("--suite, --list or --init is needed")
    return options


def choose(cases, only):
    if not only:
        return cases
    names = only.split(",")
    unknown = set(names) - {case.id for case in cases}
    if unknown:
        sys.exit("conform: no such case: " + " ".join(sorted(unknown)))
    return [case for case in cases if case.id in names]


def write_json(path, inits, cases):
    result = {
        "schema": "conformance-1",
        "complete": len(cases) == len(registry.CASES),
        "cases": [{"id": case.id, "title": case.title, "expected": case.expected}
                  for case in cases],
        "inits": inits,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent="\t")
        file.write("\n")


def main(argv):
    options = parse(argv)
    cases = choose(load_cases(), options.only)
    if options.list:
        for case in cases:
            print(f"{case.id:5} {case.title}: {case.expected}")
        return 0
    problem = check_machine(options.build)
    if problem:
        sys.exit("conform: " + problem)
    if options.suite:
        inits = list(suite_inits(options.build))
    else:
        inits = [{"name": options.name, "version": "unknown", "cases": {},
                  "modes": complete(vars(options), options.build)}]
    run_all(inits, cases, options)
    for init in inits:
        count = totals(init)
        print(f"{init['name']}: {count['pass']} passed, {count['fail']} failed, "
              f"{count['skip']} skipped, {count['info']} for information")
    if options.json:
        write_json(options.json, inits, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
