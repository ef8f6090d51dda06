#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py [FOLDER]: options and codes of the program against help and documents."""

import os
import re
import subprocess
import sys

BINARY = os.path.join("build", "rankinit")
MAN = os.path.join("docs", "rankinit.8")
CODES = os.path.join("docs", "codes.md")
COMMON = 100        # lines of --help
GROUPS = {"Start", "Stop", "Output", "Failures", "Hangs", "Several nodes", "Checks",
          "Facts by hand"}
COMPLETION = os.path.join("docs", "completions", "rankinit.bash")


def ask(*words):
    return subprocess.run([os.path.join(".", BINARY), *words], capture_output=True, text=True,
                          check=True, env={"PATH": "/usr/bin:/bin"}).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compare(what, wanted, where, found):
    """Both ways: what is missing there, and what is there without a reason."""
    wanted, found = set(wanted), set(found)
    for name in sorted(wanted - found):
        yield f"{what} {name}: not in {where}"
    for name in sorted(found - wanted):
        yield f"{what} {name}: in {where}, but the program does not know it"


def man_options(text):
    """".It Fl h , Fl -help" and ".It Fl -list Ns = ..." begin an option."""
    for line in re.findall(r"^\.It (Fl .*)$", text.replace("\\-", "-"), re.M):
        yield from ("--" + name for name in re.findall(r"Fl -([a-z][a-z-]+)", line))


def named(help_text):
    return re.findall(r"^ *(?:-\w, *)?(--[a-z][a-z-]+)", help_text, re.M)


def check_common(names, text):
    """--help: what a user reads before anything else, on two screens."""
    lines = text.splitlines()
    if len(lines) > COMMON:
        yield f"--help has {len(lines)} lines, the limit is {COMMON}"
    yield from (f"--help: {line}: wider than 79 columns" for line in lines if len(line) > 79)
    for name in sorted(set(named(text)) - set(names)):
        yield f"option {name}: in --help, but the program does not know it"
    found = re.findall(r"^([A-Z][\w ,]+):\n((?:  .*\n)*)", text, re.M)
    for title in GROUPS - {title for title, options in found if named(options)}:
        yield f"--help: no option is under {title}"
    outside = set(named(text)) - {name for _, options in found for name in named(options)}
    yield from (f"option {name}: under no title of --help" for name in sorted(outside))


def check_options(rows):
    names = [row[0] for row in rows]
    help_text = ask("--help=all")
    yield from compare("option", names, "--help=all", named(help_text))
    yield from check_common(names, ask("--help"))
    for name, letter, form, meta, default, twin, text in rows:
        if not text.strip():
            yield f"option {name}: no help"
        if letter != "-" and f"-{letter}, {name}" not in help_text:
            yield f"option {name}: its letter -{letter} is not in --help"
        if twin != "-" and twin != "RANKINIT_" + name[2:].upper().replace("-", "_"):
            yield f"option {name}: its twin is called {twin}"
        if form in ("required", "optional") and meta == "-":
            yield f"option {name}: takes a value and does not say which"
        if default != "-" and form == "none":
            yield f"option {name}: a default for no value"
    yield from compare("option", names, MAN, man_options(read(MAN)))
    if os.path.exists(COMPLETION):
        text = read(COMPLETION)
        for name in names:
            if name not in text:
                yield f"option {name}: not in {COMPLETION}"


def check_codes(rows):
    found = re.findall(r"^\| `([^`]+)` \| (\d+|none)?", read(CODES), re.M)
    names = [row[0] for row in rows if row[0] != "none"]
    yield from compare("code", names, CODES, [name for name, _ in found])
    documented = dict(found)
    for name, status, meaning in rows:
        if documented.get(name, "") not in ("", "none" if status == "0" else status):
            yield f"code {name}: exit status {status}, {CODES} says {documented[name]}"
        if not meaning.strip():
            yield f"code {name}: no meaning"
        if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", name):
            yield f"code {name}: not a name of small letters, '_' and '.'"


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(__file__), "..", ".."))
    for path in (BINARY, MAN, CODES):
        if not os.path.exists(path):
            print(f"skip: there is no {path}")
            return 77
    rows = {table: [line.split("\t") for line in ask(f"--list={table}").splitlines()]
            for table in ("options", "codes")}
    errors = [*check_options(rows["options"]), *check_codes(rows["codes"])]
    for line in errors:
        print(line)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
