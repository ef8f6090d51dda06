# SPDX-License-Identifier: Apache-2.0
"""
What the checks say of recorded machines.

tests/hosts/MACHINE.checks, MACHINE being a folder or a tree of grow.py, which six of them
have, holds blocks: a line "$ WORD..." with variables and options, and below it, for each
result of `--check=json --checks=all` on that machine, "STATUS ID CODE SUBJECT". Below the
first of them "fact NAME VALUE" is each of the machine's facts.

A result that says skip stands in none of them, so that a new check changes the tables of the
machines that it concerns. skipped.txt has all those of all machines, "ID SUBJECT", once.
CHECKS_WRITE=1 writes the blocks and skipped.txt anew: read what it wrote.
"""

import fnmatch
import os
import shlex
import subprocess
import tempfile

import pytest

from test_check_hosts import HOSTS, MACHINES, grow, lines_of, look

SKIPPED = os.path.join(HOSTS, "skipped.txt")
WRITE = bool(os.environ.get("CHECKS_WRITE"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def table_of(machine):
    return os.path.join(HOSTS, machine + ".checks")


@pytest.fixture(scope="module", name="listed")
def fixture_listed(rankinit):
    done = subprocess.run([rankinit, "--list=checks"], capture_output=True, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", name="results")
def fixture_results(rankinit):
    """Of a machine: (line "$ WORD...", lines of its results) for each block of its table."""
    found = {}

    def results(machine):
        if machine in found:
            return found[machine]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            root = os.path.join(folder, "root")
            grow(machine, root)
            found[machine] = [(line, lines_of(look(rankinit, root, shlex.split(line[1:]))))
                              for line in read(table_of(machine)) if line.startswith("$")]
        return found[machine]
    return results


def said(lines, facts):
    return [line for line in lines if not line.startswith("skip ")
            and (facts or not line.startswith("fact "))]


def skipped(lines):
    """As skipped.txt has them: such a result has no code."""
    return [line.removeprefix("skip ").replace(" - ", " ", 1)
            for line in lines if line.startswith("skip ")]


def is_block(line):
    return line.startswith("$")


@pytest.mark.parametrize("machine", MACHINES)
def test_machine(results, machine):
    """What should be skipped and is not has a line too many, the opposite one too few."""
    made, blocks = [], iter(results(machine))
    for line in read(table_of(machine)):
        if is_block(line):
            made += [line, *said(next(blocks)[1], facts=not any(map(is_block, made)))]
        elif line.startswith("#") or not line:
            made.append(line)
    if WRITE:
        write(table_of(machine), made)
    assert made == read(table_of(machine))


def asked_for(words, listed):
    """The checks that a block's --checks names; without it, all."""
    asked = [word.partition("=")[2] for word in words if word.startswith("--checks=")] or ["*"]
    return {name for name in listed
            if any(fnmatch.fnmatch(name, pattern) for pattern in asked[-1].split(","))}


@pytest.mark.parametrize("machine", MACHINES)
def test_each_check_says_at_least_that_it_is_skipped(results, listed, machine):
    """Of those that were asked for, in the order of the list."""
    for line, lines in results(machine):
        found = list(dict.fromkeys(line.split()[1] for line in lines
                                   if not line.startswith("fact ")))
        assert found == [name for name in listed if name in found], line
        assert asked_for(shlex.split(line[1:]), listed) <= set(found), line


def test_what_is_skipped_says_what_it_would_look_at(results, listed):
    """No more than skipped.txt has, and nothing there that no machine shows."""
    seen = {line for machine in MACHINES for _, lines in results(machine)
            for line in skipped(lines)}
    ordered = sorted(seen, key=lambda line: (listed.index(line.split()[0]), line))
    remarks = [line for line in read(SKIPPED) if line.startswith("#")]
    if WRITE:
        write(SKIPPED, remarks + ordered)
    assert read(SKIPPED) == remarks + ordered
