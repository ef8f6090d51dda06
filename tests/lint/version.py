#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
version.py [--write] [FOLDER]: VERSION is in the Makefile; whatever else names a version of
rankinit names that one. --write makes it so.

The news of each release has a heading, "## VERSION, DATE" or "not released", newest first.
"""
import os
import re
import subprocess
import sys

# Where it stands beside something that is ours; another program's versions do not count.
NAMED = re.compile(r"(?<![\w/])(rankinit(?:-[a-z]+)?[:_-]|\bARG VERSION=|\$\{VERSION:-|"
                   r"\bwhat is in |\bsuch as (?=[\d.]+:process))(\d+\.\d+\.\d+)(?!\d)")
NOT_OURS = re.compile(r"docs/NEWS\.md|tests/(hosts|fuzz/corpus|golden)/.*|.*\.def|tests/lint/.*")
HEADING = re.compile(r"^## (.*)$", re.M)


def version():
    with open("Makefile", encoding="ascii") as file:
        return re.search(r"^VERSION := (\d+\.\d+\.\d+)$", file.read(), re.M).group(1)


def files():
    """What git knows or would add, else all."""
    if os.path.exists(".git"):
        done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                               "--exclude-standard"], stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().split("\0")
    return [os.path.join(folder, name)[2:] for folder, _, found in os.walk(".")
            for name in found if not (folder + "/").startswith("./build/")]


def texts():
    for name in sorted(files()):
        if not os.path.isfile(name) or NOT_OURS.fullmatch(name):
            continue
        try:
            with open(name, encoding="utf-8") as file:
                yield name, file.read()
        except UnicodeDecodeError:
            pass


def write(wanted):
    for name, text in texts():
        made = NAMED.sub(rf"\g<1>{wanted}", text)
        if made != text:
            with open(name, "w", encoding="utf-8") as file:
                file.write(made)
            print(f"{name}: {wanted}")


def news(wanted):
    if not os.path.exists("docs/NEWS.md"):
        return
    with open("docs/NEWS.md", encoding="utf-8") as file:
        found = HEADING.findall(file.read())
    for number, heading in enumerate(found):
        said = re.fullmatch(r"(\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d|not released)", heading)
        if not said:
            yield f'docs/NEWS.md: "## {heading}" is no version and date'
        elif number == 0 and said[1] != wanted:
            yield f"docs/NEWS.md: the first news are of {said[1]}, VERSION is {wanted}"
        elif number > 0 and said[2] == "not released":
            yield f"docs/NEWS.md: {said[1]} is not released, but older than {found[0]}"
    if not found:
        yield "docs/NEWS.md: no release has a heading"


def complaints(wanted):
    for name, text in texts():
        for found in NAMED.finditer(text):
            if found[2] != wanted:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{line}: {found[0]}: VERSION is {wanted}"
    yield from news(wanted)


def main(words):
    changes = "--write" in words
    words = [word for word in words if word != "--write"]
    os.chdir(words[0] if words else
             os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    wanted = version()
    if changes:
        write(wanted)
    said = list(complaints(wanted))
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
