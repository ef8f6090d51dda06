# SPDX-License-Identifier: Apache-2.0
"""The table of what was tried, for docs/works-with.md and README.md: made of shapes.py."""

import os
import textwrap

import recipes
import shapes

BEGIN, END = "<!-- works-with: made by `make docs` -->", "<!-- works-with: end -->"


def line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(head, rows):
    return [line(head), "|" + " --- |" * len(head), *(line(row) for row in rows)]


def met(shape):
    """The result, which the test has asserted."""
    total = shape.rows[0][3]
    return f"{shape.rows[0][1]} ranks, sum {total}"


def command_of(look, env):
    """With the variables that the platform sets."""
    words = [f"{name}={value}" for name, value in env.items()]
    return f"`{' '.join([*words, recipes.read()[look.recipe].command()])}`"


def seen(said, status):
    return f"`{said}`, exit status {status}"


def full():
    """docs/works-with.md"""
    known, versions = recipes.read(), shapes.versions()
    rows = [(shape.framework, versions[shape.framework], shape.where,
             f"`{known[shape.recipe].command()}`", met(shape), shape.without.text)
            for shape in shapes.SHAPES]
    looks = [row for look in shapes.LOOKS for row in (
        (look.system, command_of(look, look.env), look.host, seen(look.line, look.status)),
        (look.system, command_of(look, look.worse_env), look.worse,
         seen(look.worse_line, look.worse_status)))]
    intro = """
        `make frameworks` runs each command of [recipes.md](recipes.md) with the real framework, on
        CPUs, once with rankinit and once without. Unless the row says otherwise there are two nodes
        with two ranks each. The nodes are network and UTS namespaces of one machine; mpirun (Open
        MPI), mpiexec.hydra (MPICH) and srun are those of Debian 12, and jobs of Azure ML, Azure
        Batch and Kubeflow are started as their documentation describes, not in those services. Rank
        R contributes 10 to the power of R: a sum of 1111 shows that all four took part. The last
        column is the same command without rankinit and without a shell around it.
        """
    nodes = """
        A simulated node is a folder of files (/proc, /sys, /dev, libraries) from `tests/hosts`,
        which `--root` reads. It was put together from the documentation of Linux, NVIDIA,
        Mellanox and Azure ([how](hacking.md#recorded-machines)), not copied from such a
        machine: no GPU and no InfiniBand adapter has been used. [checks.md](checks.md) says of
        each check what has not been verified on hardware.
        """
    return "\n".join([
        "<!-- SPDX-License-Identifier: Apache-2.0; made by `make docs` from that of the tests -->",
        "# Works with", "", textwrap.fill(textwrap.dedent(intro).strip(), 100), "",
        *table(("framework", "version", "started as", "command", "result", "without rankinit"),
               rows), "",
        "Checks of the node:", "",
        *table(("of", "command", "simulated node", "result"), looks), "",
        textwrap.fill(textwrap.dedent(nodes).strip(), 100)]) + "\n"


def short():
    """The part of README.md: a row for each system, with the first of its commands."""
    known, versions, systems = recipes.read(), shapes.versions(), {}
    for shape in shapes.SHAPES:
        systems.setdefault(shape.system, []).append(shape)
    rows = [(system, f"{first.framework} {versions[first.framework]}", first.where,
             f"`{known[first.recipe].command()}`", met(first), str(1 + len(more)))
            for system, (first, *more) in systems.items()]
    rows += [(look.system, "simulated nodes", ", ".join(dict.fromkeys((look.host, look.worse))),
              command_of(look, look.env),
              f"`{look.line}`; `{look.worse_line}`, {look.worse_status}", "1")
             for look in shapes.LOOKS]
    head = ("system", "version", "started as", "command", "result", "recipes")
    return "\n".join([BEGIN, *table(head, rows), END])


def readme():
    """README.md with this table in place of the one that is there."""
    with open(os.path.join(recipes.TOP, "README.md"), encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    return before + short() + rest.partition(END)[2]
