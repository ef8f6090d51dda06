#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the documents that are printed from the program's own tables:
docs/rankinit.8, docs/sources.md, docs/frameworks.md, docs/checks.md,
docs/codes.md and the shell completion; and docs/works-with.md and the table
of README.md, from that of tests/frameworks.

usage: generate.py [--check]     --check: say which are stale, write nothing
"""

import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "tests", "frameworks"))
sys.dont_write_bytecode = True
import works_with  # noqa: E402 (found by the line above)

RANKINIT = os.path.join(os.path.dirname(HERE), "build", "rankinit")
MADE = "made by `make docs` from the program's own table"


def table(name):
    """--list as rows of fields; sub-rows (a leading tab) under their row."""
    text = subprocess.run([RANKINIT, f"--list={name}"], check=True,
                          capture_output=True, text=True).stdout
    rows = []
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0]:
            rows.append((fields, []))
        else:
            rows[-1][1].append(fields[1:])
    return rows


def roff(text):
    """Text that troff takes for text."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def man_option(fields):
    name, letter, form, meta, default, twin, help_text = fields
    item = ".It " + (f"Fl {letter} , " if letter != "-" else "") + f"Fl -{name[2:]}"
    if form == "required":
        item += f" Ns = Ns Ar {meta}"
    elif form != "none":
        item += f" Ns Op = Ns Ar {meta}"
    lines = [item] + [roff(line) for line in textwrap.wrap(
        help_text[0].upper() + help_text[1:] + ".", 72, break_on_hyphens=False)]
    if default != "-":
        lines.append(f"Default: {roff(default)}.")
    if twin != "-":
        lines += [".br", "Twin:", f".Ev {twin} ."]
    return lines


def man_page():
    with open(os.path.join(HERE, "rankinit.8.in"), encoding="utf-8") as source:
        text = source.read()
    options = [line for fields, _ in table("options") for line in man_option(fields)]
    codes = [f".It {roff(name)} Ta {status if status != '0' else 'finding'} Ta {roff(meaning)}"
             for (name, status, meaning), _ in table("codes") if name != "none"]
    return text.replace("@OPTIONS@", "\n".join(options)).replace("@CODES@", "\n".join(codes))


def sentence(text):
    """A name with a dot in it is spelt as it is."""
    return (text if "." in text.split()[0] else text[0].upper() + text[1:]) + "."


def cell(text):
    return text.replace("|", "\\|")


def page(name, title, intro, more=lambda *fields: []):
    lines = [f"<!-- SPDX-License-Identifier: Apache-2.0; {MADE} -->", f"# {title}", "", intro, ""]
    for (entry, summary, *rest), variables in table(name):
        lines += [f"## {entry}", "", sentence(summary), "", *more(*rest),
                  "| variable | meaning | where that was read |", "| --- | --- | --- |"]
        lines += [f"| `{v}` | {cell(meaning)} | {cell(cite)} |" for v, meaning, cite in variables]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def sources():
    return page("sources", "Sources", "What rankinit reads, one section for each orchestrator. "
                "The order is the precedence: the first one with a complete tuple of rank, size, "
                "local rank and local size says who this process is.")


def frameworks():
    return page("frameworks", "Frameworks",
                "What rankinit writes for the command, one section for each framework. Nothing "
                "is written for a command that starts the whole job, and without an identity no "
                "more than how many ranks a launcher shall start. `--frameworks` names those "
                "that are written for; of ranks that `--nproc-per-node` starts each is told "
                "RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE, whatever is named.",
                framework_rows) + inherited()


def inherited():
    lines = ["", "## What ranks must not inherit", "",
             "What tells one process who it is, and so is kept from several that it starts: from "
             "those of a launcher, and from the ranks of `--nproc-per-node`. The first line that "
             "fits a variable decides; what fits none stays.", "",
             "| variable | fate | where that was read |", "| --- | --- | --- |"]
    lines += [f"| `{pattern}` | {fate} | {cell(cite)} |"
              for (pattern, fate, cite), _ in table("inherited")]
    return "\n".join(lines) + "\n"


def framework_rows(when, sources):
    lines = textwrap.wrap(when, 98) + [""]
    if sources != "always":
        names = " or ".join(f"`{name}`" for name in sources.split(","))
        lines += textwrap.wrap(f"Left to itself rankinit writes it only where {names} speaks; "
                               "elsewhere it has to be asked for, by `--frameworks` or an option "
                               "that is for it alone.", 98) + [""]
    return lines


def codes():
    lines = [f"<!-- SPDX-License-Identifier: Apache-2.0; {MADE} -->", "# Codes", "",
             "What stands in brackets at the end of a message. A code never changes its meaning.",
             "", "| code | exit status | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {status if status != '0' else 'none, a finding'} | {cell(meaning)} |"
              for (name, status, meaning), _ in table("codes") if name != "none"]
    return "\n".join(lines) + "\n"


CHECKS = """\
Whether this node is fit for the job: `rankinit --check` runs these, but for
those that say otherwise, and before a launch that knows who it is, or that a
service's own variable says to be a job's (AZUREML_RUN_ID, AWS_BATCH_JOB_ID or
AZ_BATCH_JOB_ID), those of them run that might have something to say. They run
in a child with a deadline of half a second each and of two seconds in all; one
that hangs or crashes is `unknown`, and the others go on. Of several ranks on a
node the first one checks and speaks; where something may refuse the launch each
of them looks, and refuses in a line of its own: two seconds later, so that a
launcher that ends a job at its first failure does not end the one that says
what to do. Those of `--deep` run `rankinit-probe`, which lies beside rankinit
or on PATH, and have two and a half seconds each besides.

What is found is held against what is asked for: by the kind of job, by
`--azure-size` and by `--expect` (a warning), by `--require` (the node is not
fit: exit status 123). Where nobody asks, only what makes a launch fail or crawl
is a warning; the rest are notes, seen with `--check` and `-v`. Required and
unknown is not fit. `--check-level=shm.size=fail,net.*=off` overrides it all. A
check that a level of fail names by its id is asked for as by `--require`: with
nothing to look at it has not passed. Of a family, as `gpu.*=fail`, that is no
failure; what its checks do find, or cannot see, is. What follows from another
check's problem is in `--check` alone: before a launch that one's line stands
for both.

A VM size of Azure is an expectation, and a node that has less is warned of.
Either of these refuses such a node:

```sh
rankinit --azure-size=Standard_ND96isr_H100_v5 \\
    --check-level=gpu.count=fail,ib.count=fail,ib.rate=fail -- python3 train.py
rankinit --require=gpu=8,ib=8@400 -- python3 train.py
```

The [sizes](#vm-sizes-of-azure) are at the end of this page. A name that is not among them is an
error on the command line, and a warning in RANKINIT_AZURE_SIZE."""

SIZES = """\
## VM sizes of Azure

What `--azure-size` expects; `Standard_` and capitals may be left out, and a size with fewer cores
(`HB120-16rs_v3`) is the one with all of them. Where the network is NetworkDirect, its RDMA is none
that verbs can use.

| size | GPUs | network |
| --- | --- | --- |
"""

PROGRAMS = ("mpirun ", "libibverbs ")    # spelt as they are

WHEN = {"always": "it may warn though nobody asks for anything",
        "several ranks": "it may warn where several ranks are on the node",
        "several nodes": "it may warn where the job has several nodes",
        "asked": "only where something that it is about is asked for"}


def check_section(fields):
    name, summary, default, when, topics, reads, fails, advice, unverified = fields
    first = summary if summary.startswith(PROGRAMS) else summary[0].upper() + summary[1:]
    lines = [f"## {name}", "", first + ".", ""]
    asked = " or ".join([f"`{topic}`" for topic in topics.split(",") if topic != "-"]
                        + [f"`{name}`"])
    for title, text in (("Reads", reads), ("Fails when", fails), ("What to do", advice),
                        ("Before a launch", WHEN[when] + f"; asked for by {asked}"),
                        ("Not verified on real hardware", unverified)):
        if text != "-":
            lines += textwrap.wrap(f"- {title}: {text}.", 98, subsequent_indent="  ",
                                   break_on_hyphens=False, break_long_words=False)
    if default == "extra":
        lines.append("- Runs only by its id, or with `--checks=all`.")
    if default == "deep":
        lines.append("- Runs only with `--deep`, since it has rankinit-probe load the image's own "
                     "libraries;\n  asked for by its id without that is an error (125).")
    return [*lines, ""]


def azure_sizes():
    """No --list has them: they are read in the table itself."""
    path = os.path.join(HERE, os.pardir, "lib", "demand", "azure_sizes.def")
    networks = {"INFINIBAND": "InfiniBand: {ports} of {rate} Gb/s", "ETHERNET": "Ethernet",
                "NETWORK_DIRECT": "NetworkDirect"}
    with open(path, encoding="utf-8") as table_file:
        rows = re.findall(r'^RI_AZURE_SIZE\("(\w+)", (\d+), (\d+), (\d+), (\w+)\)',
                          table_file.read(), re.M)
    lines = SIZES.splitlines()
    for name, gpus, ports, rate, network in rows:
        lines.append(f"| `{name}` | {gpus} | {networks[network].format(ports=ports, rate=rate)} |")
    return lines


def checks():
    lines = [f"<!-- SPDX-License-Identifier: Apache-2.0; {MADE} -->", "# Checks", "", CHECKS, ""]
    for fields, _ in table("checks"):
        lines += check_section(fields)
    with open(os.path.join(HERE, "checks.planned.md"), encoding="utf-8") as planned:
        lines += planned.read().splitlines()[1:]
    lines += ["", *azure_sizes()]
    return "\n".join(lines).rstrip() + "\n"


def completion():
    words = []
    for (name, _, form, meta, *_), _ in table("options"):
        words.append(name + ("=" if form == "required" else ""))
        if form != "none" and "|" in meta:
            words += [f"{name}={choice}" for choice in meta.split("|") if choice.islower()]
    return "\n".join([
        "# SPDX-License-Identifier: Apache-2.0",
        f"# bash completion for rankinit, {MADE}",
        "_rankinit() {",
        "    local cur=${COMP_WORDS[COMP_CWORD]} i",
        "    COMPREPLY=()",
        "    # past the options everything belongs to the command",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        "        [[ ${COMP_WORDS[i]} == -- ]] && return",
        "    done",
        "    if [[ $cur == -* ]]; then",
        "        mapfile -t COMPREPLY < <(compgen -W '" + " ".join(words) + "' -- \"$cur\")",
        "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace",
        "    else",
        "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")",
        "    fi",
        "}",
        "complete -o default -F _rankinit rankinit",
    ]) + "\n"


DOCUMENTS = {
    "rankinit.8": man_page,
    "sources.md": sources,
    "frameworks.md": frameworks,
    "checks.md": checks,
    "codes.md": codes,
    "completions/rankinit.bash": completion,
    "works-with.md": works_with.full,
    "../README.md": works_with.readme,
}


def main(arguments):
    check = arguments == ["--check"]
    stale = []
    for name, make in DOCUMENTS.items():
        path, text, old = os.path.join(HERE, name), make(), None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as document:
                old = document.read()
        if check and old != text:
            stale.append(name)
        elif not check:
            with open(path, "w", encoding="utf-8") as document:
                document.write(text)
    for name in stale:
        print(f"docs/{name} is stale: run make docs")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
