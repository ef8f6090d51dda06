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
import test_facts

TOP = os.path.dirname(os.path.dirname(hosts.HOSTS))


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def listed():
    return [".".join(pair) for pair in
            re.findall(r"^RI_CHECK\((\w+), (\w+)\)", read("shim/check/checks.def"), re.M)]


def deep():
    return "".join(read(f"tests/behaviour/test_{name}.py")
                   for name in ("deep", "deep_real", "gpu_health"))


def storage():
    """Of this machine alone, where mounts are made for it, or the kernel refuses something."""
    return (read("tests/behaviour/test_check_storage.py")
            + read("tests/behaviour/test_check_live.py"))


def toggles():
    return [*namespaces.TOGGLES.values(), namespaces.FORBIDDEN, namespaces.PROCESSES,
            *docker.TOGGLES.values()]


def test_every_check_has_a_pair():
    """Two machines that differ in one thing, where it says one thing and another."""
    paired = {pair.check for pair in hosts.PAIRS.values() if pair.before != pair.after}
    paired |= {pair.check for pair in software.PAIRS.values()}
    for toggle in toggles():
        paired |= set(toggle.said)
    # libraries, whole and with one thing wrong
    paired |= {name for name in listed() if f'"{name}"' in deep()}
    paired |= set(re.findall(r'"(\w+\.\w+)"', storage()))
    assert [name for name in listed() if name not in paired] == []


def test_every_fact_has_a_pair():
    """But for what test_report.py has, and what only this machine and its packages can show."""
    facts = set(re.findall(r'^\t\{ "(\w+|NCCL_\*)",', read("shim/check/node_facts.c"), re.M))
    paired = {pair.check for pair in test_facts.FACTS.values() if pair.before != pair.after}
    for toggle in toggles():
        paired |= set(toggle.said)
    elsewhere = {"NCCL_*": "report", "mpi": "check_software"}
    for fact, file in elsewhere.items():
        assert fact.strip("*") in read(f"tests/behaviour/test_{file}.py")
    assert len(facts) > 15
    assert {fact.replace("INTERFACE", "eth0") for fact in facts} - paired == set(elsewhere)


def test_every_code_is_seen():
    """In a pair, or in what is said of a recorded machine."""
    lines = [line for path in glob.glob(hosts.HOSTS + "/*.checks")
             for line in read(path).splitlines()]
    for pair in [*hosts.PAIRS.values(), *kinds.PAIRS.values(), *software.PAIRS.values()]:
        lines += [*getattr(pair, "before", []), *pair.after]
    for toggle in toggles():
        lines += [line for both in toggle.said.values() for side in both
                  if isinstance(side, list) for line in side]
    seen = set(re.findall(r'"(\w+\.\w+\.\w+)"', deep() + storage()))
    seen |= {word for line in lines for word in line.split()[1:3]}
    codes = re.findall(r'^RI_CODE\(\w+, "(\w+\.\w+)(\.\w+)"', read("lib/base/codes.def"), re.M)
    assert [name + end for name, end in codes if name in listed() and name + end not in seen] == []


def definitions():
    """name of the struct -> its fields"""
    return {name: words for path in glob.glob(TOP + "/shim/check/**/*.c", recursive=True)
            for name, words in re.findall(r"^const struct ri_check ri_check_(\w+) = (.*?)^};",
                                          read(path), re.M | re.S)}


def test_what_warns_unasked_runs_before_a_launch():
    """Else --check alone shows it. The checks of MPI are asked for by a job of MPI's."""
    warn = {pair.check for pair in hosts.PAIRS.values()
            if not any(word.startswith("--") for word in pair.words)
            and any(line.startswith("warn ") for line in [*pair.before, *pair.after])}
    fields = definitions()
    late = sorted(name for name in warn if name in listed() and not re.search(
        r"\.runs = RI_CHECK_LAUNCH|RI_CHECK_PROBES", fields[name.replace(".", "_")]))
    assert len(warn) > 5
    assert late == [], "give them .runs = RI_CHECK_LAUNCH, or a lack in place of the warning"


def test_the_comparison_names_checks():
    """docs/checks.md, "What other health checks test": what stands there for theirs."""
    text = read("docs/checks.md.in").partition("## What other health checks test")[2]
    rows = re.findall(r"^\|.*\| (AzNHC|NHC|DCGM)\b.*\| (.*) \|$", text.partition("\n## ")[0], re.M)
    families = "|".join({name.partition(".")[0] for name in listed()})
    named = re.findall(rf"`((?:{families})\.\w+)`", " ".join(row[1] for row in rows))
    assert len(rows) > 40 and len(named) > 30
    assert [name for name in named if name not in listed()] == []


def test_every_cause_is_a_check():
    """And no chain of them comes back to where it began."""
    names = listed()
    pairs = []
    for name, words in definitions().items():
        cause = re.search(r'\.because = "([\w.]+)"', words)
        if cause:
            pairs.append((cause[1], name.replace("_", ".", 1)))
    assert pairs and all(cause in names for cause, _ in pairs)
    follows = dict((name, cause) for cause, name in pairs)
    for name in follows:
        seen = [name]
        while seen[-1] in follows:
            seen.append(follows[seen[-1]])
            assert len(set(seen)) == len(seen)
