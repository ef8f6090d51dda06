#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Read the golden cases, as README.md says they are written.

    cases.py INTO    make the machine of each case that has one, as INTO/SOURCE/CASE

tests/unit/golden_cases.h reads the same files in C; malformed.txt has what both refuse.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hosts"))
from grow import grow_lines  # noqa: E402  pylint: disable=wrong-import-position

SECTIONS = ("env", "machine", "options", "command", "want", "error", "findings")
MAY_BE_EMPTY = ("env", "want")
LINES = {   # what each line of a section looks like; of "options" and "command", each word
    "env": (r"[^=]+=.*", "NAME=value"),
    "options": (r"--.+", "--name=value"),
    "command": (r".*", "a word"),
    "want": (r"-[^=]+|[^-=][^=]*=.*", "NAME=value or -NAME"),
    "error": (r"\S+ \S.*", "code subject"),
    "findings": (r"(note|warning) \S+ \S.*", "severity code subject"),
}


class Malformed(Exception):
    """A file of cases that cannot be read: its name, the line and why."""


@dataclass
class Case:
    """The lines, or words, of each section; None where there is no such section."""
    name: str       # source/case
    path: str
    line: int       # of its header
    env: list = None
    machine: list = None
    options: list = None
    command: list = None
    want: list = None
    error: list = None
    findings: list = None

    def put_machine(self, root):
        """Make its files below root, a new folder; without a machine it is empty."""
        grow_lines(f"{self.path}:{self.line}: machine", self.machine or [], root)


class Reader:
    """One file of cases, line by line."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.source = pathlib.Path(path).stem
        self.number = 0
        self.section = None     # the name of the one that goes on, or None
        self.cases = []

    def fault(self, why, number=None):
        return Malformed(f"{self.path}:{number or self.number}: {why}")

    def begin(self, name):
        """The header of a case; the one before is complete."""
        self.finish()
        if not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise self.fault("no name of a case")
        if any(case.name == f"{self.source}/{name}" for case in self.cases):
            raise self.fault("this case stands twice")
        self.cases.append(Case(f"{self.source}/{name}", self.path, self.number))
        self.section = None

    def finish(self):
        """What only a whole case can lack."""
        if not self.cases:
            return
        case = self.cases[-1]
        if case.env is None:
            raise self.fault("a case without [env]", case.line)
        if (case.want is None) == (case.error is None):
            raise self.fault("a case has either [want] or [error]", case.line)
        for name in SECTIONS:
            if getattr(case, name) == [] and name not in MAY_BE_EMPTY:
                raise self.fault(f"nothing in [{name}]", case.line)

    def header(self, line):
        name = line[1:-1]
        if line.startswith("[case ") and line.endswith("]"):
            self.begin(name.removeprefix("case "))
        elif name not in SECTIONS or line != f"[{name}]":
            raise self.fault("no such section")
        elif not self.cases:
            raise self.fault("no case begins before this")
        elif getattr(self.cases[-1], name) is not None:
            raise self.fault("this section stands twice")
        else:
            self.section = name
            setattr(self.cases[-1], name, [])

    def words(self, line):
        """The words of a line; one with blanks in it stands between single quotes."""
        words = re.findall(r"'[^']*'(?= |$)|[^ ]+", line)
        if not all(re.fullmatch(r"'[^']*'|[^']+", word) for word in words):
            raise self.fault("a quote that does not fit")
        return [word[1:-1] if word.startswith("'") else word for word in words]

    def body(self, line, rest):
        if self.section is None:
            raise self.fault("a line outside of all sections")
        items = getattr(self.cases[-1], self.section)
        if self.section == "machine":
            items += self.file(line, rest)
            return
        found = self.words(line) if self.section in ("options", "command") else [line]
        pattern, looks = LINES[self.section]
        if not all(re.fullmatch(pattern, item) for item in found):
            raise self.fault(f"not {looks}")
        if self.section == "error" and items:
            raise self.fault("a second error")
        items += found

    def file(self, line, rest):
        """A line of a machine, and those up to "." where it says that they are a file."""
        lines, number = [line], self.number
        while line.endswith(" <<") and lines[-1] != ".":
            if not rest:
                raise self.fault('no line "." ends this file', number)
            lines.append(rest.pop(0))
            self.number += 1
        return lines

    def read(self):
        rest = self.text.split("\n")
        while rest:
            line = rest.pop(0)
            self.number += 1
            if line.startswith("["):
                self.header(line)
            elif line and not line.startswith("#"):
                self.body(line, rest)
        self.finish()
        if not self.cases:
            raise self.fault("no case", 1)
        return self.cases


def parse(path, text):
    """The cases of one file with this text, in its order."""
    return Reader(path, text).read()


def load(source="*"):
    """All cases, or those of one source or framework."""
    return [case for path in sorted(HERE.glob(f"{source}.cases"))
            for case in parse(os.path.relpath(path, HERE.parent.parent), path.read_text(
                encoding="utf-8", errors="surrogateescape"))]


def faults_of_reader():
    """malformed.txt: a line "%% WHY" before each text that is to be refused for it."""
    text = (HERE / "malformed.txt").read_text(encoding="utf-8")
    first, *blocks = re.split(r"^%% ", text, flags=re.M)
    if not blocks:
        yield "malformed.txt: nothing in it"
    for block in blocks:
        why, _, text = block.partition("\n")
        try:
            parse("malformed.cases", text)
            got = "nothing is wrong with it"
        except Malformed as fault:
            got = str(fault)
        if got != f"malformed.cases:{why}":
            yield f"malformed.txt: {got}, not malformed.cases:{why}"


def main(arguments):
    (into,) = arguments
    shutil.rmtree(into, ignore_errors=True)
    for case in load():
        if case.machine is not None:
            case.put_machine(os.path.join(into, case.name))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Malformed as malformed:
        sys.exit(f"golden: {malformed}")
