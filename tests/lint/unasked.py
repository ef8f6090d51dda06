#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unasked.py [FOLDER]: docs/design.md has a row for all that rankinit does to others unasked.

Each function that signals processes, or orders nodes to stop, stands in the table's column of
places; each place is such a function or another one that is there, and each test is one that runs.
"""
import os
import re
import sys

import code

# What reaches processes, and what stops another node; by number 0 a signal reaches none.
ACTS = re.compile(
    r"\b(?:(?:kill|ri_children_signal)\s*\((?![^,]*, 0\))|ri_signal_children\s*\(|"
    r"ri_leftovers_(?:stop|stop_orphans|kill)\s*\(|ri_signal_recheck\s*\(|"
    r"SYS_\w*kill|SYS_pidfd_send_signal|ri_phase_kill\s*\(|tell_children\s*\(|"
    r"begin_killing\s*\(|stop_rest\s*\(|ri_helper_end_all\s*\()")
ORDERS = re.compile(r"[.>]order = ")
BEGINS = re.compile(r"^[A-Za-z_][^;={}]*?\b([a-z_0-9]+)\(")
HEADING = "## What rankinit does unasked"
PLACE = re.compile(r"`((?:lib|shim)/[a-z_/]+\.c):([a-z_0-9]+)`")
TEST = re.compile(r"`(tests/[a-z_/]+\.(?:py|c)):([a-z_0-9]+)`")


def functions(path):
    """(name, lines of code) of each function of a file."""
    with open(path, encoding="utf-8") as file:
        lines = code.code(file.read(), False).split("\n")
    name, body = None, []
    for line in lines:
        found = BEGINS.match(line)
        if found:
            name = found.group(1)
        if line == "{":
            body = []
        elif line == "}" and name:
            yield name, body
            name, body = None, []
        elif name:
            body.append(line)


def main(top):
    os.chdir(top)
    complaints = []
    with open("docs/design.md", encoding="utf-8") as file:
        section = file.read().partition(HEADING + "\n")[2].partition("\n## ")[0]
    rows = [row for row in section.split("\n") if row.startswith("| ") and "---" not in row][1:]
    if len(rows) < 10:
        complaints.append(f"docs/design.md: {len(rows)} rows below {HEADING}")
    places = set(PLACE.findall(section))
    for row in rows:
        cells = row.split(" | ")
        if len(cells) != 4 or not PLACE.search(cells[2]) or not TEST.search(cells[3]):
            complaints.append(f"docs/design.md: no place or no test: {row[:60]}")
    known = set()
    for path in code.files(["shim", "lib"]):
        if not path.endswith(".c") or path.startswith("shim/probe/"):
            continue
        for name, body in functions(path):
            known.add((path, name))
            what = ORDERS if path.startswith("lib/link/") else ACTS
            acts = [line for line in body if what.search(line)]
            if acts and (path, name) not in places:
                complaints.append(f"{path}:{name}: docs/design.md has no row for: "
                                  f"{acts[0].strip()}")
    complaints += [f"docs/design.md: {path}:{name} is not there"
                   for path, name in sorted(places - known)]
    for path, name in sorted(set(TEST.findall(section))):
        try:
            with open(path, encoding="utf-8") as file:
                there = re.search(rf"^(?:def|static void) {name}\(", file.read(), re.M)
        except OSError:
            there = None
        if not there:
            complaints.append(f"docs/design.md: {path}:{name} is not there")
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__),
                                                                       "..", "..")))
