#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text.py [FOLDER]: every text of ours.

Licence line, blanks, ends of lines, indentation, spelling, and words that do not belong into it.
"""
import os
import re
import shutil
import subprocess
import sys

# Recorded environments, machines and inputs are as they were found.
FOUND = re.compile(r"(LICENSE|tests/(hosts|golden/machines|fuzz/corpus)/.*|.*\.(cases|failure))")
# Documents by hand; the page about the style names the words.
PROSE = re.compile(r"README\.md|(docs|images)/.*\.md(\.in)?|docs/.*\.8\.in")
NOT_PROSE = {"docs/hacking.md"}
SOURCE = re.compile(r".*\.(c|h|def|py|sh|in|bash|yml)|Makefile|\.ci/.*")
C = re.compile(r".*\.(c|h|def)")
# What the program prints is held to the same, in its strings.
PROGRAM = re.compile(r"(lib|shim)/.*\.(c|h|def)")
SCRIPT = re.compile(r".*\.(py|sh)|\.ci/.*")
NO_LINT = re.compile(r"(?!tests/lint/(text\.py|selftest\.sh)$).*")
ANY = re.compile(r".*")
LICENCE = b"SPDX-License-Identifier: Apache-2.0"
# In which files, what, and what is wrong with it.
RULES = [(files, re.compile(pattern, re.M), why) for files, pattern, why in (
    (ANY, rb"[ \t]+$", "blanks at the end"),
    (ANY, rb"\r", "a carriage return"),
    (SOURCE, rb"[^\x00-\x7f]", "not ASCII"),
    (C, rb"^ (?! ?\*)", "indented with blanks, not tabs"),
    (C, rb"^\t* +\t", "a tab after a blank"),
    (SCRIPT, rb"^\t", "indented with a tab, not blanks"),
    (NO_LINT, rb"\b(TODO|FIXME|XXX|HACK)\b", "unfinished"),
    # mpiuser is the user of the MPI operator's images
    (NO_LINT, rb"(^|[^A-Za-z0-9_.}-])/(work|root|home/(?!mpiuser/)[a-z]+|Users)/",
     "a path of one machine"),
    (NO_LINT, rb"<<<<<<<|>>>>>>>", "left by a merge"),
    (PROSE, rb"\b([Nn]o|[Ss]ome)body\b|\b[Nn]othing (says|tells)\b", "who acts?"),
    (PROSE, rb"\b(is|are) (not )?so\b|(^|[.:;] )Of ", "subject, verb, object"),
    (PROGRAM, rb'"[^"\n]*\b([Nn]othing (says|tells)|([Nn]o|[Ss]ome)body)\b[^"\n]*"', "who acts?"),
    (PROGRAM, rb'"[^"\n]*\b(is|are) (not )?so\b[^"\n]*"', "subject, verb, object"),
)]
# mdoc's macro, parts of patterns and words, a name in Open MPI
WORDS = "nd,nam,nown,memor,scoll"


def files():
    """Every file of the source tree: what git knows or would add, else all."""
    if os.path.exists(".git"):
        done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                               "--exclude-standard"], stdout=subprocess.PIPE, check=True)
        names = done.stdout.decode().split("\0")
    else:
        names = [os.path.join(folder, name)[2:] for folder, _, found in os.walk(".")
                 for name in found if not (folder + "/").startswith("./build/")]
    return [name for name in sorted(names) if os.path.isfile(name) and not name.endswith(".pyc")]


def is_made(path):
    """Of tables, or about the words themselves."""
    return path in NOT_PROSE or os.path.exists(path + ".in")


def check(path, text):
    """What is wrong with one file."""
    if SOURCE.fullmatch(path) and LICENCE not in b"\n".join(text.split(b"\n", 3)[:3]):
        yield f"{path}: no SPDX line at its top"
    if text and not text.endswith(b"\n"):
        yield f"{path}: no newline at its end"
    if text.endswith(b"\n\n") or text == b"\n":
        yield f"{path}: empty lines at its end"
    if b"\0" in text:
        return
    for rule, pattern, why in RULES:
        if not rule.fullmatch(path) or (rule is PROSE and is_made(path)):
            continue
        for number in sorted({text.count(b"\n", 0, found.end()) + 1
                              for found in pattern.finditer(text)}):
            line = text.split(b"\n")[number - 1].decode(errors="replace")
            yield f"{path}:{number}:{line[:120]}: {why}"


def spelling(paths):
    """codespell in two processes, each on its part; nothing where it is not installed."""
    if shutil.which("codespell") is None:
        return
    paths = [path for path in paths if not path.endswith((".8", ".8.in"))]
    running = [subprocess.Popen(["codespell", "--quiet-level=3", f"--ignore-words-list={WORDS}",
                                 *part], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for part in (paths[::2], paths[1::2])]
    for process in running:
        yield from process.communicate()[0].decode(errors="replace").splitlines()


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    paths = [path for path in files() if not FOUND.fullmatch(path)]
    complaints = [] if paths else ["no files"]
    for path in paths:
        with open(path, "rb") as file:
            complaints += check(path, file.read())
    complaints += spelling(paths)
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
