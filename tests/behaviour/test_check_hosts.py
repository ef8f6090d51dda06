# SPDX-License-Identifier: Apache-2.0
"""
What the checks say of recorded machines.

tests/hosts/MACHINE.checks, MACHINE being a folder or a tree of grow.py, holds
blocks: a line "$ WORD..." with variables and options, and below it, for each
result of `--check=json --checks=all` on that machine, "STATUS ID CODE SUBJECT".
CHECKS_WRITE=1 writes the blocks anew: read what it wrote.

PAIRS: a machine, what of it is changed, and what of all that is said changes
by that: results of one check alone.
"""

import glob
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from box import BASE

HOSTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hosts")
sys.path.insert(0, HOSTS)
from grow import grow  # noqa: E402  pylint: disable=wrong-import-position

MACHINES = sorted(os.path.basename(path)[:-len(".checks")]
                  for path in glob.glob(os.path.join(HOSTS, "*.checks")))


def look(rankinit, root, words):
    """Exit status and document of --check with these variables and options."""
    env = dict(word.split("=", 1) for word in words if re.match(r"[A-Za-z_]+=", word))
    command = words[words.index("--"):] if "--" in words else []
    options = [word for word in words[:len(words) - len(command)] if word.startswith("-")]
    done = subprocess.run([rankinit, "--check=json", "--checks=all", f"--root={root}", *options,
                           *command],
                          env={**BASE, **env}, capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["schema"] == "rankinit-check-1"
    assert document["fit"] == (done.returncode == 0)
    return document


def lines_of(document):
    return [f"{result['status']} {result['id']} {result['code'] or '-'} {result['subject']}"
            for result in document["checks"]]


@pytest.mark.parametrize("machine", MACHINES)
def test_machine(rankinit, tmp_path, machine):
    root = str(tmp_path / "root")
    grow(machine, root)
    path = os.path.join(HOSTS, machine + ".checks")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    made = []
    for line in text.splitlines():
        if line.startswith("$"):
            words = shlex.split(line[1:])
            made += [line, *lines_of(look(rankinit, root, words))]
        elif line.startswith("#") or not line:
            made.append(line)
    if os.environ.get("CHECKS_WRITE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(made) + "\n")
    assert made == text.splitlines()


@dataclass
class Pair:
    machine: str
    check: str              # whose results change, and no other's
    files: dict             # path -> content, (old, new) in it, or None: it is taken away
    before: list            # its lines as they are, without the id
    after: list
    words: list = field(default_factory=list)   # variables and options for both


TWO = [f"OMPI_COMM_WORLD_{name}={value}" for name, value in
       (("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "2"))]
LIMITS = "proc/self/limits"
MOUNTS = "proc/self/mountinfo"
LOCKED = "Max locked memory         unlimited            unlimited "
OFED = ["--require=ofed"]

PAIRS = {
    "shm_docker": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                       ["pass - /dev/shm"], ["note shm.size.small /dev/shm"]),
    "shm_several_ranks": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                              ["pass - /dev/shm"], ["warn shm.size.small /dev/shm"], TWO),
    "shm_required": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "8g")},
                         ["pass - /dev/shm"], ["fail shm.size.small /dev/shm"],
                         ["--require=shm=16G"]),
    "shm_for_ofed": Pair("limits-fit", "shm.size", {MOUNTS: ("67108864k", "65536k")},
                         ["pass - /dev/shm"], ["fail shm.size.small /dev/shm"], OFED),
    "shm_no_tmpfs": Pair("limits-fit", "shm.size", {MOUNTS: ("tmpfs shm", "overlay shm")},
                         ["pass - /dev/shm"], ["warn shm.size.absent /dev/shm"], TWO),
    "shm_unknown": Pair("limits-fit", "shm.size", {MOUNTS: ("size=67108864k,", "")},
                        ["pass - /dev/shm"], ["unknown shm.size.unknown /dev/shm"]),
    "memlock_tiny": Pair("limits-fit", "lim.memlock",
                         {LIMITS: (LOCKED, LOCKED.replace("unlimited", "65536"))},
                         ["pass - memlock"], ["note lim.memlock.small memlock"]),
    "memlock_several": Pair("limits-fit", "lim.memlock",
                            {LIMITS: (LOCKED, LOCKED.replace("unlimited", "8388608"))},
                            ["pass - memlock"], ["warn lim.memlock.small memlock"], TWO),
    "memlock_required": Pair("limits-fit", "lim.memlock",
                             {LIMITS: (LOCKED, LOCKED.replace("unlimited", "8388608"))},
                             ["pass - memlock"], ["fail lim.memlock.small memlock"], OFED),
    "memlock_unknown": Pair("limits-fit", "lim.memlock", {LIMITS: (LOCKED, "")},
                            ["pass - memlock"], ["unknown lim.memlock.unknown memlock"], OFED),
}


def change(root, path, new):
    path = os.path.join(root, path)
    if new is None:
        os.remove(path)
        return
    if isinstance(new, tuple):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        assert new[0] in old, "the change changes nothing"
        new = old.replace(*new)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


@pytest.mark.parametrize("name", PAIRS)
def test_pair(rankinit, tmp_path, name):
    pair = PAIRS[name]
    root = str(tmp_path / "root")
    grow(pair.machine, root)
    before = lines_of(look(rankinit, root, pair.words))
    for path, new in pair.files.items():
        change(root, path, new)
    after = lines_of(look(rankinit, root, pair.words))

    def split(lines):
        own = [f"{status} {rest}" for status, name, rest in (line.split(" ", 2) for line in lines)
               if name == pair.check]
        return own, [line for line in lines if line.split(" ", 2)[1] != pair.check]

    assert split(before)[0] == pair.before
    assert split(after)[0] == pair.after
    assert split(before)[1] == split(after)[1], "another check changes as well"
