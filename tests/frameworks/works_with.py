# SPDX-License-Identifier: Apache-2.0
"""The table of what was tried, for docs/works-with.md and README.md: made of shapes.py."""

import os

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


def recipes_tried():
    """For docs/works-with.md: a row for each recipe that trains."""
    known, versions = recipes.read(), shapes.versions()
    rows = [(shape.framework, versions[shape.framework], shape.where,
             f"`{known[shape.recipe].command()}`", met(shape), shape.without.text)
            for shape in shapes.SHAPES]
    return "\n".join(table(
        ("framework", "version", "started as", "command", "result", "without rankinit"), rows))


def looks_tried():
    """For docs/works-with.md: two rows for each recipe that looks at a node."""
    rows = [row for look in shapes.LOOKS for row in (
        (look.system, command_of(look, look.env), look.host, seen(look.line, look.status)),
        (look.system, command_of(look, look.worse_env), look.worse,
         seen(look.worse_line, look.worse_status)))]
    return "\n".join(table(("of", "command", "simulated node", "result"), rows))


# The rows of README.md: where a user runs, and the recipe for that place.
README = (("one machine", "one-machine"),
          ("Azure ML", "pytorch-torchrun"),
          ("mpirun", "mpirun"),
          ("Slurm", "slurm-per-node"),
          ("Kubeflow PyTorchJob", "kubeflow-torchrun"),
          ("containers on two hosts", "containers"))


def short():
    """The part of README.md: six recipes, each of which trains in the tests."""
    known, where = recipes.read(), {shape.recipe: shape.where for shape in shapes.SHAPES}
    rows = [(place, where[name], f"`{known[name].command()}`") for place, name in README]
    return "\n".join([BEGIN, *table(("where you run", "your job", "what you write"), rows), END])


def readme():
    """README.md with this table in place of the one that is there."""
    with open(os.path.join(recipes.TOP, "README.md"), encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    return before + short() + rest.partition(END)[2]
