#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Breaks what reads the environment and what writes it, one place at a time, and
requires that a test notices: a golden case, or a unit test of from, model or to.

usage: mutants.py [--all] [--seed=N] [--count=N] [--jobs=N] [PART-OF-A-FILE-NAME]...

A mutant is a line left out of a table of lib/from or lib/to, or one condition of
lib/{from,model,command,to}/*.c: an `if` turned round, && for ||, a comparison shifted
by one. --count of them (150) are drawn by --seed; --all takes every one. Those that cannot be
noticed, because they change nothing, stand in mutants.txt with the reason. `make mutants`
starts this: it names the reader of options in PURE_SHIM and makes the machines of the cases.
"""
import argparse
import concurrent.futures
import os
import pathlib
import queue
import random
import re
import resource
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
OUT = TOP / "build" / "mutants"
LIBRARY = OUT / "librankinit.a"
TESTS = ("test_golden", "test_from", "test_from_cluster", "test_from_place", "test_from_pid1",
         "test_manual", "test_own_address", "test_model", "test_explain", "test_hostlist",
         "test_worlds", "test_from_cloud", "test_from_kube", "test_allocation", "test_nodes",
         "test_scrub", "test_to", "test_command", "test_expand", "test_tensorflow",
         "test_fan_out")
# Each table, and what has to be compiled with it.
TABLES = {"lib/from/sources.def": "lib/from/from.c", "lib/to/frameworks.def": "lib/to/to.c",
          "lib/command/launchers.def": "lib/command/command.c",
          "lib/to/scrub.def": "lib/to/to.c"}
# The reader of options, which golden cases have: what the Makefile calls so.
PURE_SHIM = os.environ.get("PURE_SHIM", "").split()
# What is undefined ends the program, without a runtime library.
COMPILE = ["gcc", "-std=gnu11", "-O0", "-D_GNU_SOURCE", '-DRI_VERSION="mutant"',
           "-fsanitize=undefined,bounds-strict", "-fsanitize-undefined-trap-on-error"]
TIMEOUT_S = 10
MEMORY = 2 << 30

SWAPS = {"&&": "||", "||": "&&", "==": "!=", "!=": "==",
         "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPERATOR = re.compile(r"(?<= )(&&|\|\||==|!=|<=|>=|<|>)(?=[ \n])")
HIDDEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#.*?$',
                    re.S | re.M)

class Mutant:
    """One file with one change, and how it is called in mutants.txt."""

    def __init__(self, path, text, start, end, new):
        self.path = path
        self.text = text[:start] + new + text[end:]
        self.line_number = text.count("\n", 0, start) + 1
        first = text.rfind("\n", 0, start) + 1
        line = text[first:text.find("\n", start)].strip()
        old = text[start:end]
        nth = text.count(old, first, start) + 1
        change = "left out" if new == "" else "turned round" if old.startswith("(") \
            else f"{old} becomes {new}" + (f", {nth}" if nth > 1 else "")
        self.name = f"{path}: {line}: {change}"

def blank(text):
    """The text with comments, strings and directives blanked out, of equal length."""
    return HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)

def closing(text, at):
    """Where the parenthesis that opens at `at` has been closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise ValueError("unbalanced")

def mutants_of_source(path):
    text = (TOP / path).read_text(encoding="utf-8")
    code = blank(text)
    for found in OPERATOR.finditer(code):
        yield Mutant(path, text, found.start(), found.end(), SWAPS[found.group()])
    for found in re.finditer(r"\bif (?=\()", code):
        end = closing(code, found.end())
        yield Mutant(path, text, found.end(), end, f"(!{text[found.end():end]})")

def mutants_of_table(path):
    text = (TOP / path).read_text(encoding="utf-8")
    code = blank(text)
    for found in re.finditer(r"^RI_(?:SOURCE|FRAMEWORK|STARTS|WRAPPER|SCRUB)(?=\()", code, re.M):
        yield Mutant(path, text, found.start(), closing(code, found.end()), "")

def all_mutants(parts):
    rooms = ("from", "model", "command", "to")
    paths = [*TABLES] + [str(source.relative_to(TOP)) for room in rooms
                         for source in sorted(TOP.glob(f"lib/{room}/*.c"))]
    for path in paths:
        if not parts or any(part in path for part in parts):
            yield from (mutants_of_table if path in TABLES else mutants_of_source)(path)

def read_equivalent():
    """What mutants.txt lists: a name on a line, its reason indented below it."""
    text = (TOP / "tests" / "mutants.txt").read_text(encoding="utf-8")
    return {line for line in text.split("\n")
            if line and not line.startswith(("#", " ", "\t"))}

def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

def run(command):
    """True where the command ended well, in time."""
    try:
        done = subprocess.run(command, cwd=TOP, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=TIMEOUT_S, preexec_fn=limit_memory, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0

def object_of(source):
    """lib/from/env.c and lib/base/env.c are two."""
    return OUT / (str(source.relative_to(TOP).with_suffix(".o")).replace("/", "-"))

def compile_one(source):
    name = object_of(source)
    subprocess.run(COMPILE + ["-Ilib", "-Ishim", "-c", "-o", str(name), str(source)], cwd=TOP,
                   check=True)
    return name

def source_of(test):
    return TOP / "tests" / "unit" / f"{test}.c"

def build_tests(jobs):
    """The library and the tests as they are, to be linked with each mutant."""
    OUT.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        sources = sorted(TOP.glob("lib/*/*.c")) + [TOP / name for name in PURE_SHIM]
        objects = list(pool.map(compile_one, sources))
        list(pool.map(compile_one, map(source_of, TESTS)))
    LIBRARY.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", str(LIBRARY), *map(str, objects)], check=True)

def judge(mutant, room):
    """'noticed', 'survived', or 'no program' where it does not compile."""
    is_table = mutant.path in TABLES
    source = room / mutant.path if is_table else room / "mutant.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(mutant.text, encoding="utf-8")
    built = run(COMPILE + (["-I", str(room / "lib")] if is_table else [])
                + ["-Ilib", "-c", "-o", str(room / "mutant.o"),
                   TABLES[mutant.path] if is_table else str(source)])
    if is_table:
        source.unlink()
    if not built:
        return "no program"
    for test in TESTS:
        program = str(room / test)
        if not run(["gcc", "-o", program, str(object_of(source_of(test))), str(room / "mutant.o"),
                    str(LIBRARY), "-lcmocka", "-ljansson", "-lsodium"]):
            return "no program"
        if not run([program]):
            return "noticed"
    return "survived"

def judge_all(chosen, jobs):
    rooms = queue.SimpleQueue()
    for number in range(jobs):
        room = OUT / f"room{number}"
        room.mkdir(exist_ok=True)
        rooms.put(room)

    def one(mutant):
        room = rooms.get()
        try:
            return judge(mutant, room)
        finally:
            rooms.put(room)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, chosen))

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("parts", nargs="*")
    return parser.parse_args()

def main():
    args = arguments()
    equivalent = read_equivalent()
    found = list(all_mutants(args.parts))
    names = {mutant.name for mutant in found}
    chosen = [mutant for mutant in found if mutant.name not in equivalent]
    if not args.all and len(chosen) > args.count:
        chosen = random.Random(args.seed).sample(chosen, args.count)
    build_tests(args.jobs)
    results = judge_all(chosen, args.jobs)
    stale = [] if args.parts else sorted(equivalent - names)
    for name in stale:
        print(f"mutants.txt: there is no such mutant: {name}")
    for mutant, result in zip(chosen, results):
        if result == "survived":
            print(f"survived: {mutant.name} (line {mutant.line_number})")
    count = results.count
    print(f"{len(found)} mutants, {len(chosen)} tried, {count('no program')} no program")
    print(f"{count('noticed')} passed, {count('survived') + len(stale)} failed, 0 skipped")
    return 1 if count("survived") or stale or not count("noticed") else 0

if __name__ == "__main__":
    sys.exit(main())
