#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sizes.py [FOLDER]: lengths of functions, files and lines, and nesting.

Past a hard limit is an error; past a soft one is a note, and no error.
"""

import os
import re
import shutil
import subprocess
import sys

FUNCTION_SOFT, FUNCTION_HARD = 50, 80
FILE_SOFT, FILE_HARD = 400, 700
COLUMNS = 100
NESTING = 4
PARAMETERS = 5
CONTROL = re.compile(r"^(\t*)(?:\} )?(?:if|for|while|switch|do|else)\b")


def source_files(*folders):
    for folder in folders:
        for path, dirs, names in os.walk(folder):
            dirs.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".py", ".sh")):
                    yield os.path.join(path, name)


def functions(files):
    """(name, file, first line, last line, signature) of every C function."""
    listed = subprocess.run(
        ["ctags", "--fields=+neS", "--kinds-c=f", "--languages=C", "-u", "-f", "-", *files],
        capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        if line.startswith("!"):
            continue
        name, path, rest = line.split("\t", 2)
        fields = dict(word.split(":", 1) for word in rest.split("\t") if ":" in word)
        if "end" in fields:
            yield name, path, int(fields["line"]), int(fields["end"]), fields.get("signature", "")


def deepest(lines):
    """How many control statements stand around the innermost one, itself included."""
    return max((len(match.group(1)) for match in map(CONTROL.match, lines) if match), default=0)


def check_functions(files, errors, notes):
    texts = {}
    for path in files:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read().split("\n")
    found = list(functions(files))
    if not found:
        errors.append("ctags found no function: is it universal-ctags?")
    for name, path, first, last, signature in found:
        lines = texts[path]
        length = last - first + 1
        where = f"{path}:{first}: {name}"
        if length > FUNCTION_HARD:
            errors.append(f"{where} has {length} lines, the limit is {FUNCTION_HARD}")
        elif length > FUNCTION_SOFT:
            notes.append(f"{where} has {length} lines")
        depth = deepest(lines[first:last])
        if depth > NESTING:
            errors.append(f"{where} nests {depth} deep, the limit is {NESTING}")
        count = signature.count(",") + 1
        if count > PARAMETERS:
            notes.append(f"{where} has {count} parameters")


def check_text(path, errors, notes):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    length = len(lines) - 1
    if length > FILE_HARD:
        errors.append(f"{path} has {length} lines, the limit is {FILE_HARD}")
    elif length > FILE_SOFT:
        notes.append(f"{path} has {length} lines")
    for number, line in enumerate(lines, 1):
        if len(line.expandtabs(8)) > COLUMNS:
            errors.append(f"{path}:{number}: {len(line.expandtabs(8))} columns, "
                          f"the limit is {COLUMNS}")


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(__file__), "..", ".."))
    if shutil.which("ctags") is None:
        print("skip: there is no ctags")
        return 77
    errors, notes = [], []
    own = [path for path in source_files("lib", "shim") if path.endswith((".c", ".h"))]
    check_functions(own, errors, notes)
    for path in source_files("lib", "shim", "tests", "docs", "images"):
        check_text(path, errors, notes)
    for line in errors + [f"note: {note}" for note in notes]:
        print(line)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
