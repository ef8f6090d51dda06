# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md that need no other system: they do what is printed there."""

import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build/rankinit")))
WORDS = " build/rankinit "


def examples():
    """(command, lines of its output) of each `$ env -i ...` in an indented block."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"(?:^    .*\n)+", file.read(), re.M)
    for block in blocks:
        lines = [line[4:] for line in block.splitlines()]
        if not lines[0].startswith("$ env -i "):
            continue
        end = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[:end + 1])[2:], lines[end + 1:]


def sources():
    done = subprocess.run([PROGRAM, "--list=sources"], capture_output=True, text=True, check=True)
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


def wanted_sources(lines):
    """Those that the line "read" names."""
    (line,) = [line.split(None, 1)[1] for line in lines if line.split()[0] == "read"]
    return set(line.partition(";")[0].split(", "))


def identity(lines):
    return lines[-1].partition("; ")[2].split(" ")[0]


def test_there_is_one_for_each_of_four_systems():
    found = [identity(lines) for _, lines in examples()]
    assert found == ["slurm", "kubeflow_pytorch", "sagemaker", "azure_batch"]


@pytest.mark.parametrize("example", examples(), ids=lambda example: identity(example[1]))
def test_an_example_of_the_readme(example):
    command, lines = example
    missing = wanted_sources(lines) - sources()
    if missing:
        pytest.skip(f"no source yet: {', '.join(sorted(missing))}")
    assert WORDS in command.replace("\n", " ")
    done = subprocess.run(["sh", "-c", command.replace("build/rankinit", PROGRAM)], cwd=ROOT,
                          env={"PATH": os.defpath}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # the summary, whole, and nothing else in it
    assert done.stdout.splitlines()[1:len(lines) + 2] == [*lines, ""]
