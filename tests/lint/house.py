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

# What the house is allowed. A limit goes up for a feature alone, by what it takes.
LINES = 77260           # of *.c, *.h and *.def
NAMES_TWICE = 7         # names of .c files that several rooms have
REAP_FILES = 1          # that say how long they wait for a killed helper to end
STRSTR = 0              # files that look for words in messages of rankinit's own
CIRCLES = 0             # of files that call each other
WORDS = 0               # calls of other parsers of a rank's words, from outside of their room
OPTIONS = 62            # rows of options.def
CHECKS = 53             # rows of checks.def

# Lines of functions that PID 1 may run while ranks live, from these on.
IN_PID_1_LINES = 6000
IN_PID_1 = ("ri_supervise_run", "ri_autopsy_due", "ri_autopsy_act", "ri_autopsy_take",
            "ri_roll_call_due", "ri_roll_call_act", "ri_roll_call_take")
# They read what a rank, a file or another node wrote, and shim/init calls none of them: PID 1
# knows a rank's words by ri_watch_add of lib/output alone, which finds fixed ones in passing.
PARSERS = ("lib/words/", "lib/redact/", "lib/report/", "lib/blame/")
# Nor a function of jansson or of libsodium.
LIBRARIES = ("json_", "jsonp_", "sodium_", "crypto_", "randombytes")

# These read what a machine, a file, a variable or a command says.
READERS = ("lib/from", "lib/image", "lib/node", "lib/hang", "lib/to", "shim/check", "shim/probe",
           "shim/system", "shim/init/signalling.c", "shim/preflight/")
SOURCES = (".c", ".h", ".def")

# What other rooms may ask lib/words: one function reads a rank's stderr for the verdict, three
# find in it what the report quotes, the others are about torch's error file, a line that was
# found before, the shape of one, names, and what a launcher says among the words of its ranks.
WORDS_ASKED = {"ri_words_read", "ri_traceback_find", "ri_last_words_find", "ri_last_lines_find",
               "ri_loss_peer", "ri_loss_of_exception", "ri_traceback_line", "ri_noise_hides",
               "ri_launcher_words_read", "ri_shape_fits",
               "ri_lines_of", "ri_work_is_same", "ri_work_waits"}
# Who reads: culprit.c alone, into the outcome.
WORDS_READERS = {"lib/report/culprit"}


def files(top):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(top)
                  for name in names if name.endswith(SOURCES))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def symbols():
    """{function: file that defines it}, {file: functions that it uses}, without extensions."""
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
    return defined, used


def calls(defined, used):
    """{file: {file: [function, ...]}}, of every file that is compiled."""
    graph = collections.defaultdict(lambda: collections.defaultdict(list))
    for path, names in used.items():
        for name in sorted(names):
            if defined.get(name, path) != path:
                graph[path][defined[name]].append(name)
    return graph


def functions(path):
    """{name: its lines} of a .c file: what has its opening brace in the first column."""
    lines, found = read(path).split("\n"), {}
    for at, line in enumerate(lines):
        if line != "{":
            continue
        begin, end = at - 1, at
        while begin > 0 and lines[begin][:1] in ("\t", " "):
            begin -= 1
        while lines[end] != "}":
            end += 1
        head = " ".join(lines[begin:at])
        name = re.search(r"(\w+)\((?!\()", re.sub(r"__attribute__\(\(.*?\)\)", "", head))
        if name:
            found[name[1]] = lines[begin:end + 1]
    return found


def tables(path):
    """{name: its text} of file-scope variables with a value in braces."""
    return dict(re.findall(r"^[^\n\t#/ ][^\n]*?(\w+)(?:\[[^\n=]*\])? = \{\n(.*?)\n\};", read(path),
                           re.M | re.S))


def relocations():
    """{(file, section): the names that it uses}, and where each function is defined."""
    uses, defined = collections.defaultdict(set), {}
    for path in files("lib") + files("shim"):
        name = f"build/release/{path[:-2]}.o"
        if not path.endswith(".c") or not os.path.exists(name):
            continue
        listed = subprocess.run(["objdump", "-r", "-t", name], capture_output=True, text=True,
                                check=True).stdout
        section = None
        for line in listed.splitlines():
            header = re.match(r"RELOCATION RECORDS FOR \[\.text\.(?:unlikely\.)?(.*)\]:", line)
            words = line.split()
            if line.startswith("RELOCATION"):
                section = header and header[1].split(".")[0]
            elif section and len(words) == 3 and re.match("[0-9a-f]{16}$", words[0]):
                uses[path, section].add(re.sub(r"^\.text\.|[+-]0x[0-9a-f]+$", "", words[2]))
            elif re.match(r"[0-9a-f]{16} g +F \.text", line):
                defined[words[-1]] = path
    return uses, defined


def reached():
    """
    {file: lines of functions} of all that PID 1 may run while ranks live. A body of a helper runs
    in a process of its own. What the compiler put into its only caller is found by its name there.
    """
    uses, defined = relocations()
    sources = {path: functions(path) for path in files("lib") + files("shim")
               if path.endswith(".c")}
    bodies = {(path, name) for path in sources for name in re.findall(
        r"\.body = (\w+)|\.work = (\w+)[^;]*\.forked = true", read(path)) for name in name}
    data = {path: tables(path) for path in sources}
    left, found = [(defined[name], name) for name in IN_PID_1 if name in defined], set()
    while left:
        path, name = left.pop()
        if (path, name) in found | bodies or name not in sources[path]:
            continue
        found.add((path, name))
        text = " ".join(sources[path][name][1:])
        text += " ".join(data[path][word] for word in set(re.findall(r"\b\w+\b", text)) &
                         set(data[path]))
        names = uses[path, name] | (set(re.findall(r"(?<![.>\w])\w+\b", text)) & set(sources[path]))
        left += [(defined.get(other, path) if other not in sources[path] else path, other)
                 for other in names]
    lines = collections.Counter()
    for path, name in found:
        lines[path] += len(sources[path][name])
    return lines


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


def foreign(defined, used):
    """What shim/init uses of parsers, and of libraries that read or encrypt."""
    return sorted(f"{path}:{name}" for path, names in used.items()
                  if path.startswith("shim/init/") for name in names
                  if defined.get(name, "").startswith(PARSERS) or name.startswith(LIBRARIES))


def structs_twice(paths):
    defined = collections.defaultdict(set)
    for path in paths:
        for name in re.findall(r"^struct (ri_\w+) \{", read(path), re.M):
            defined[name].add(path)
    return {name: sorted(found) for name, found in defined.items() if len(found) > 1}


def raised(what):
    """What to do about a figure that a feature may raise."""
    name = what.upper()
    return (f": if what you add is worth it, raise {name} in tests/lint/house.py by what it takes"
            if name in ("LINES", "OPTIONS", "CHECKS") else "")


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    paths = files("lib") + files("shim")
    defined, used = symbols()
    graph = calls(defined, used)
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
    strange = foreign(defined, used)
    in_pid_1 = reached()
    parsers_there = sorted(path for path in in_pid_1 if path.startswith(PARSERS))
    figures = [("lines of functions that PID 1 may run while ranks live", sum(in_pid_1.values()),
                IN_PID_1_LINES, ""),
               ("parsers that PID 1 may run while ranks live", len(parsers_there), 0,
                " ".join(parsers_there)),
               ("symbols of parsers in shim/init", len(strange), 0, " ".join(strange)),
               ("lines", sum(lines.values()), LINES, ""),
               ("file names in several rooms", len(twice), NAMES_TWICE, " ".join(twice)),
               ("files with a REAP_MS", len(reaps), REAP_FILES, " ".join(reaps)),
               ("files that search messages", len(strstr), STRSTR, " ".join(strstr)),
               ("circles of calls", len(rings), CIRCLES, "; ".join(rings)),
               ("parsers of a rank's words outside lib/words", len(parsed), WORDS,
                " ".join(parsed)),
               ("options", options, OPTIONS, ""), ("checks", checks, CHECKS, "")]
    complaints = [f"{what}: {number}, the limit is {limit}{raised(what)} {which}".rstrip()
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
