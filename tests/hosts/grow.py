#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Grow the recorded machines that are written as one file: grow.py INTO [NAME...]

tests/hosts holds machines of two kinds: folders, and files NAME.tree, which
become folders below INTO. What a repository cannot hold (modes, thousands of
files of a byte each) is no trouble for the second kind. Lines of a tree:

    # a remark
    base NAME               begin with this machine, of either kind; several may be joined
    drop PATH               remove what the base has there
    PATH = TEXT             a file of one line; with nothing behind "=" an empty one
    PATH = TEXT mode 0444   the same with a mode, by which it stands for a device node
    PATH raw TEXT           a file of just these bytes: \\n is a newline, \\0 a NUL, and \\\\
                            a backslash
    PATH <<                 a file of the lines that follow, up to a line "."
    PATH elf SONAME WORD... a library; a word: the version of its symbols, NAME=TEXT,
                            or compat:13.1:535,580, NVIDIA's note of CUDA and drivers
    PATH -> TARGET          a symbolic link
    PATH/                   an empty folder
    PATH/ mode 01777        the same with a mode

{0-7} in a path writes the line eight times; {} stands for the number, in the
path and behind it. tests/golden writes the machines of its cases like this too, and
a base may be one of tests/golden/machines.
"""

import os
import re
import shutil
import sys

import elf

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [HERE, os.path.join(os.path.dirname(HERE), "golden", "machines")]
ESCAPES = {"n": "\n", "0": "\0", "\\": "\\"}


class Bad(Exception):
    """A tree that cannot be read."""


def expand(line):
    """One line and what belongs to it, as often as its {A-B} says."""
    match = re.match(r"[^\n]*?\{(\d+)-(\d+)\}", line)
    if not match:
        return [line]
    numbers = range(int(match[1]), int(match[2]) + 1)
    span = f"{{{match[1]}-{match[2]}}}"
    return [line.replace(span, str(n), 1).replace("{}", str(n)) for n in numbers]


def put(root, path, text, mode=0o644):
    """Write a file in place of whatever was there."""
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    drop(root, path)
    with open(full, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(full, mode)


def unescape(found):
    """The byte that a backslash and what follows it stand for."""
    if found[1] not in ESCAPES:
        raise Bad(f"no such escape: {found[0]}")
    return ESCAPES[found[1]]


def drop(root, path):
    """Remove what a base brought."""
    full = os.path.join(root, path)
    if os.path.islink(full) or os.path.isfile(full):
        os.unlink(full)
    elif os.path.isdir(full):
        shutil.rmtree(full)


def obey(root, line, rest):
    """Do what one expanded line says; rest: the lines behind it, for "<<"."""
    words = line.split()
    if words[0] == "drop" and len(words) == 2:
        if not os.path.lexists(os.path.join(root, words[1])):
            raise Bad(f"nothing to drop: {line}")
        drop(root, words[1])
    elif len(words) > 2 and words[1] == "elf":
        symbols = dict(word.split("=", 1) for word in words[3:] if "=" in word)
        notes = [word.split(":") for word in words[3:] if word.startswith("compat:")]
        versions = [word for word in words[3:] if "=" not in word and ":" not in word]
        note = b"".join(elf.compat_note(cuda, [int(n) for n in drivers.split(",")])
                        for _, cuda, drivers in notes)
        put(root, words[0], elf.make(words[2], (versions or [None])[0], symbols, note))
    elif len(words) > 2 and words[1] == "raw":
        put(root, words[0], re.sub(r"\\(.?)", unescape, line.partition(" raw ")[2]))
    elif " -> " in line:
        path, target = line.split(" -> ")
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        drop(root, path)
        os.symlink(target, os.path.join(root, path))
    elif match := re.fullmatch(r"(\S+) =(?: (.*?))??(?: mode 0([0-7]{3}))?", line):
        text = match[2] + "\n" if match[2] else ""
        put(root, match[1], text, int(match[3] or "644", 8))
    elif match := re.fullmatch(r"(\S+/)(?: mode 0([0-7]+))?", line):
        os.makedirs(os.path.join(root, match[1]), exist_ok=True)
        os.chmod(os.path.join(root, match[1]), int(match[2] or "755", 8))
    elif len(words) == 2 and words[1] == "<<":
        put(root, words[0], "".join(text + "\n" for text in rest))
    else:
        raise Bad(f"not understood: {line}")


def obey_file(root, lines):
    """All lines of a tree but its bases."""
    while lines:
        line, rest = lines.pop(0), []
        if not line.strip() or line.startswith("#"):
            continue
        if line.endswith(" <<"):
            end = lines.index(".")
            rest, lines[: end + 1] = lines[:end], []
        for one in expand("\n".join([line, *rest])):
            first, *more = one.split("\n")
            obey(root, first, more)


def find(name):
    """Where a machine is: a tree or a folder."""
    for folder in FOLDERS:
        for path in (os.path.join(folder, name + ".tree"), os.path.join(folder, name)):
            if os.path.exists(path):
                return path
    raise Bad(f"no such machine: {name}")


def grow_lines(where, lines, root):
    """Make what these lines say in root, over what is there; where: for a fault in them."""
    os.makedirs(root, exist_ok=True)
    try:
        for base in [line for line in lines if line.startswith("base ")]:
            grow(base.split(None, 1)[1], root)
        obey_file(root, [line for line in lines if not line.startswith("base ")])
    except (Bad, OSError, ValueError) as error:
        raise SystemExit(f"{where}: {error}") from error


def grow(name, root):
    """Make the machine in root, over what is there."""
    path = find(name)
    if os.path.isdir(path):
        shutil.copytree(path, root, symlinks=True, dirs_exist_ok=True)
        return
    with open(path, encoding="utf-8") as file:
        grow_lines(os.path.basename(path), file.read().splitlines(), root)


def names():
    """All machines that are written as one file."""
    return sorted(name[:-5] for name in os.listdir(HERE) if name.endswith(".tree"))


def main():
    """grow.py INTO [NAME...]"""
    into = sys.argv[1]
    for name in sys.argv[2:] or names():
        root = os.path.join(into, name)
        shutil.rmtree(root, ignore_errors=True)
        grow(name, root)


if __name__ == "__main__":
    main()
