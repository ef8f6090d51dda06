# SPDX-License-Identifier: Apache-2.0
"""Each check has a test in which it changes, and each of its codes is seen somewhere."""

import glob
import os
import re

import test_check_docker as docker
import test_check_hosts as hosts
import test_check_kinds as kinds
import test_check_namespaces as namespaces
import test_check_software as software

TOP = os.path.dirname(os.path.dirname(hosts.HOSTS))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


# Those of --deep load libraries, which test_deep.py makes; it asks for their codes by name.
DEEP = ["ib.verbs", "ib.memory", "mpi.version"]
# A library that is gone between the look at it and its loading.
NEVER_SEEN = ["ib.verbs.missing", "mpi.version.missing"]
PAIRS = [*hosts.PAIRS.values(), *kinds.PAIRS.values(), *software.PAIRS.values()]


def listed():
    return [".".join(pair) for pair in
            re.findall(r"^RI_CHECK\((\w+), (\w+)\)", read("shim/check/checks.def"), re.M)]


def toggles():
    return [*namespaces.TOGGLES.values(), namespaces.FORBIDDEN, namespaces.PROCESSES,
            *docker.TOGGLES.values()]


def test_every_check_has_a_pair():
    """Two machines that differ in one thing, where it says one thing and another."""
    paired = {pair.check for pair in PAIRS if getattr(pair, "before", None) != pair.after}
    for toggle in toggles():
        paired |= set(toggle.said)
    assert [name for name in listed() if name not in paired] == DEEP


def test_every_code_is_seen():
    """In a pair, or in what is said of a recorded machine."""
    lines = [line for path in glob.glob(hosts.HOSTS + "/*.checks")
             for line in read(path).splitlines()]
    for pair in PAIRS:
        lines += [*getattr(pair, "before", []), *pair.after]
    for toggle in toggles():
        lines += [line for both in toggle.said.values() for side in both for line in side]
    seen = {word for line in lines for word in line.split()[1:3]}
    for path in ("test_deep.py", "test_deep_real.py"):
        seen |= set(re.findall(r"[a-z_]+\.[a-z_]+\.[a-z_]+", read("tests/behaviour/" + path)))
    codes = re.findall(r'^RI_CODE\(\w+, "(\w+\.\w+\.\w+)"', read("lib/base/codes.def"), re.M)
    assert [code for code in codes if code.rpartition(".")[0] in listed() and code not in seen
            ] == NEVER_SEEN
