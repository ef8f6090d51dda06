#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""house.py [FOLDER]: the house in figures, each with its limit.

Calls are read from the compiled files, not from includes: file A calls file B where A uses a
function that B defines. A table that names another file's struct is data and no call.
"""

import collections
import os
import re
import subprocess
import sys

# What the house is allowed, and what it is to come to. A limit goes up for a feature alone, by
# what it takes.
LINES = 85000           # of *.c, *.h and *.def; to come: 77,500
NAMES_TWICE = 11        # names of .c files that several rooms have
REAP_FILES = 1          # that say how long they wait for a killed helper to end; to come: 1
STRSTR = 0              # files that look for words in messages of rankinit's own; to come: 0
CIRCLES = 0             # of files that call each other; to come: 0
WORDS = 0               # calls of other parsers of a rank's words, from outside of their room
OPTIONS = 62            # rows of options.def
CHECKS = 53             # rows of checks.def

# These read what a machine, a file, a variable or a command says.
READERS = ("lib/from", "lib/image", "lib/node", "lib/hang", "lib/to", "shim/check", "shim/probe",
           "shim/system", "shim/watch/step.c", "shim/preflight/")
SOURCES = (".c", ".h", ".def")

# What other rooms may ask lib/words: one function reads a rank's stderr for the verdict, three
# find in it what the report quotes, the others are about torch's error file, a line that was
# found before, the shape of one, names, and what a launcher says among the words of its ranks.
WORDS_ASKED = {"ri_words_read", "ri_traceback_find", "ri_last_words_find", "ri_last_lines_find",
               "ri_loss_peer", "ri_loss_of_exception", "ri_traceback_line", "ri_noise_hides",
               "ri_loss_kind_name", "ri_launcher_words_read", "ri_shape_fits",
               "ri_lines_of", "ri_work_is_same", "ri_work_waits"}
# Who reads: class.c alone, into the outcome.
WORDS_READERS = {"lib/report/class"}


def files(top):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top)
                  for name in names if name.endswith(SOURCES))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def calls():
    """{file: {file: [function, ...]}} without extensions, of every file that is compiled."""
    objects = [f"build/release/{path[:-2]}.o" for path in files("lib") + files("shim")
               if path.endswith(".c")]
    objects = [path for path in objects if os.path.exists(path)]
    listed = subprocess.run(["nm", "-A", "-P", *objects], capture_output=True, text=True,
                            check=True).stdout if objects else ""
    defined, used = {}, collections.defaultdict(set)
    for line in listed.splitlines():
        path, name, kind = line.split()[:3]
        path = path.removeprefix("build/release/").removesuffix(".o:")
        if kind == "T":
            defined[name] = path
        elif kind == "U":
            used[path].add(name)
    graph = collections.defaultdict(lambda: collections.defaultdict(list))
    for path, names in used.items():
        for name in sorted(names):
            if defined.get(name, path) != path:
                graph[path][defined[name]].append(name)
    return graph


def reach(graph, start):
    found, left = set(), [start]
    while left:
        for following in graph.get(left.pop(), ()):
            if following not in found:
                found.add(following)
                left.append(following)
    return found


def circles(graph):
    """Sets of nodes that reach each other."""
    reached = {node: reach(graph, node) for node in list(graph)}
    found = {frozenset(other for other in reached[node] if node in reached.get(other, ()))
             for node in reached if node in reached[node]}
    return sorted(map(sorted, found))


def rooms(graph):
    whole = collections.defaultdict(lambda: collections.defaultdict(list))
    for caller, called in graph.items():
        for other, names in called.items():
            if os.path.dirname(caller) != os.path.dirname(other):
                whole[os.path.dirname(caller)][os.path.dirname(other)] += names
    return whole


def parsers(graph):
    """Calls into lib/words that are not for the rooms outside."""
    return sorted(f"{caller}:{name}" for caller, called in graph.items()
                  if not caller.startswith("lib/words/")
                  for other, names in called.items() if other.startswith("lib/words/")
                  for name in names if name not in WORDS_ASKED or
                  (name == "ri_words_read" and caller not in WORDS_READERS))


def structs_twice(paths):
    defined = collections.defaultdict(set)
    for path in paths:
        for name in re.findall(r"^struct (ri_\w+) \{", read(path), re.M):
            defined[name].add(path)
    return {name: sorted(found) for name, found in defined.items() if len(found) > 1}


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    paths = files("lib") + files("shim")
    graph = calls()
    lines = collections.Counter()
    for path in paths:
        lines[os.path.dirname(path)] += read(path).count("\n")
    places = collections.defaultdict(set)
    for path in paths:
        if path.endswith(".c"):
            places[os.path.basename(path)].add(os.path.dirname(path))
    twice = sorted(name for name, folders in places.items() if len(folders) > 1)
    reaps = sorted(path for path in paths if re.search(r"\bREAP_MS\s*=", read(path)))
    options = len(re.findall(r"^RI_OPTION\(", read("shim/options/options.def"), re.M))
    checks = len(re.findall(r"^RI_CHECK\(", read("shim/check/checks.def"), re.M))
    strstr = [path for path in paths if path.endswith(".c") and not path.startswith(READERS) and
              re.search(r"\bstrstr\(", read(path))]
    rings = [" ".join(circle) for circle in circles(graph)]
    parsed = parsers(graph)
    figures = [("lines", sum(lines.values()), LINES, ""),
               ("file names in several rooms", len(twice), NAMES_TWICE, " ".join(twice)),
               ("files with a REAP_MS", len(reaps), REAP_FILES, " ".join(reaps)),
               ("files that search messages", len(strstr), STRSTR, " ".join(strstr)),
               ("circles of calls", len(rings), CIRCLES, "; ".join(rings)),
               ("parsers of a rank's words outside lib/words", len(parsed), WORDS,
                " ".join(parsed)),
               ("options", options, OPTIONS, ""), ("checks", checks, CHECKS, "")]
    complaints = [f"{what}: {number}, the limit is {limit} {which}".rstrip()
                  for what, number, limit, which in figures if number > limit]
    complaints += [f"struct {name} is defined in {' and '.join(found)}"
                   for name, found in sorted(structs_twice(paths).items())]
    complaints += [f"these rooms call each other in a circle: {' '.join(circle)}"
                   for circle in circles(rooms(graph))]
    sizes = ", ".join(f"{room} {count}" for room, count in sorted(lines.items()))
    print("\n".join([*complaints, *(f"note: {what}: {number} {which}".rstrip()
                                    for what, number, _, which in figures),
                     f"note: lines of rooms: {sizes}"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
