# SPDX-License-Identifier: Apache-2.0
"""
docs/recipes.md as the tests run it. A fenced block below a line
`<!-- run: NAME -->` is the recipe NAME:

    sh           words for a shell
    python       a program
    dockerfile   ENV, ENTRYPOINT and CMD of an image
    yaml         lines of a command job of Azure ML: its command, and what kind of job it is
                 or a job of GitHub Actions: its last step, for each entry of its matrix
"""

import json
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^<!-- run: (\S+) -->\n```(\w+)\n(.*?)^```$", re.M | re.S)


class Recipe:
    """words: the command; job: (type, numbers) of Azure ML; env: what the image sets."""

    def __init__(self, name, kind, text):
        self.name, self.text = name, text
        self.job, self.env, self.words = ("", {}), {}, []
        getattr(self, "read_" + kind)(text)

    def read_sh(self, text):
        self.words = text.replace("\\\n", " ").split()

    def read_python(self, text):
        compile(text, self.name, "exec")

    def read_dockerfile(self, text):
        lines = dict(line.split(None, 1) for line in text.splitlines()
                     if re.match(r"(ENTRYPOINT|CMD)\s", line))
        self.entrypoint = json.loads(lines["ENTRYPOINT"])
        self.words = self.entrypoint + json.loads(lines["CMD"])
        self.env = dict(line.split(None, 1)[1].split("=", 1) for line in text.splitlines()
                        if line.startswith("ENV "))

    def read_yaml(self, text):
        if text.startswith("command: "):
            self.read_azureml(text)
        else:
            self.read_actions(text)

    def read_azureml(self, text):
        keys = dict(line.split(": ", 1) for line in text.splitlines())
        self.words = keys.pop("command").split()
        of_job = " ".join(keys.values())
        kind = re.search(r"\btype: (\w+)", of_job)
        numbers = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", of_job)}
        self.job = kind[1] if kind else "", numbers

    def read_actions(self, text):
        """`matrix.NAME` takes the values of NAME's list; lines: the last step for each of them."""
        name, values = re.search(r"^ +matrix:\n +(\w+): \[(.*)\]$", text, re.M).groups()
        *_, step = re.findall(r"^ +- run: (.*)$", text, re.M)
        self.lines = [step.replace("${{ matrix.%s }}" % name, value)
                      for value in values.split(", ")]

    def command(self):
        """On one line, for a table."""
        return " ".join(word if re.fullmatch(r"[\w@%+=:,./$-]+", word) else f"'{word}'"
                        for word in self.words)

    def without_rankinit(self):
        """The same words, had nobody heard of rankinit."""
        words = list(self.words)
        if "rankinit" in words:
            start = words.index("rankinit")
            end = start + 1
            while words[end].startswith("-"):
                end += 1
            del words[start:end]
        return words


def read():
    with open(os.path.join(TOP, "docs", "recipes.md"), encoding="utf-8") as file:
        text = file.read()
    recipes = [Recipe(*found) for found in BLOCK.findall(text)]
    return {recipe.name: recipe for recipe in recipes}


def blocks_without_a_name(text):
    """Every block is somebody's recipe, so that none is there that nobody has run."""
    return len(re.findall(r"^```\w+$", text, re.M)) - len(BLOCK.findall(text))
