#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the documents that have tables of the program or of the tests in them:
of docs/NAME.in, which is written by hand, docs/NAME with a table in place of
each @WORD@; the completion for bash; and the table of README.md.

usage: generate.py [--check]     --check: name the stale ones, write nothing
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
MADE = "made by `make docs` from {}.in"


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
        lines += [".br", "Environment:", f".Ev {twin} ."]
    return lines


def man_options():
    return "\n".join(line for fields, _ in table("options") for line in man_option(fields))


def man_codes():
    return "\n".join(
        f".It {roff(name)} Ta {status if status != '0' else 'finding'} Ta {roff(meaning)}"
        for (name, status, meaning), _ in table("codes") if name != "none")


def sentence(text):
    """A name with a dot in it is spelt as it is."""
    return (text if "." in text.split()[0] else text[0].upper() + text[1:]) + "."


def cell(text):
    return text.replace("|", "\\|")


def sections(name, more=lambda *fields: []):
    """One for each entry of a table, with the variables below it."""
    lines = []
    for (entry, summary, *rest), variables in table(name):
        lines += [f"## {entry}", "", sentence(summary), "", *more(*rest),
                  "| variable | meaning | where that was read |", "| --- | --- | --- |"]
        lines += [f"| `{v}` | {cell(meaning)} | {cell(cite)} |" for v, meaning, cite in variables]
        lines.append("")
    return "\n".join(lines[:-1])


def sources():
    return sections("sources")


def frameworks():
    return sections("frameworks", framework_rows)


def inherited():
    """The rows of lib/to/scrub.def, whose macros name what is cited."""
    with open(os.path.join(HERE, "..", "lib", "to", "scrub.def"), encoding="utf-8") as file:
        text = file.read()
    names = dict(re.findall(r'^#define (\w+) "(.*)"$', text, re.M))
    fates = {"KEEP": "kept", "REMOVE": "removed",
             "REMOVE_HERE": "removed from the ranks that rankinit starts"}
    rows = re.findall(r'^RI_SCRUB\((\w+), (.*?),((?:\s+"[^"]*",?)+)\)$', text, re.M | re.S)
    return "\n".join(
        f"| `{pattern}` | {fates[fate]} | " + cell("".join(
            names.get(word, word.strip('"')) for word in re.findall(r'"[^"]*"|\w+', cite))) + " |"
        for fate, cite, patterns in rows for pattern in re.findall(r'"(.*?)"', patterns))


def framework_rows(when, sources):
    lines = textwrap.wrap(when, 98) + [""]
    if sources != "always":
        names = " or ".join(f"`{name}`" for name in sources.split(","))
        lines += textwrap.wrap(f"rankinit writes it only if {names} is found, or if you ask for "
                               "it: by `--frameworks`, or by an option of this framework alone.",
                               98) + [""]
    return lines


def codes():
    return "\n".join(
        f"| `{name}` | {status if status != '0' else 'none, a finding'} | {cell(meaning)} |"
        for (name, status, meaning), _ in table("codes") if name != "none")


def simulations():
    return "\n".join(f"| `{name}` | {started} | {cell(summary)} |"
                     for (name, started, summary), _ in table("simulations"))


PROGRAMS = ("mpirun ", "libibverbs ")    # spelt as they are


def check_section(fields):
    name, summary, default, runs, topics, reads, fails, advice = fields
    first = summary if summary.startswith(PROGRAMS) else summary[0].upper() + summary[1:]
    asked = " or ".join([f"`{topic}`" for topic in topics.split(",") if topic != "-"]
                        + [f"`{name}`"])
    job = ", and in an MPI job of several ranks" if "mpi" in topics.split(",") else ""
    when = {"extra": "by its id or `--checks=all` alone",
            "deep": f"with `deep`; {asked} asks for it",
            "default": f"before each launch; {asked} asks for it" if runs == "launch"
            else f"before a launch only if {asked} is asked for{job}"}[default]
    lines = [f"## {name}", "", *textwrap.wrap(f"{first}. Runs {when}.", 98,
                                              break_on_hyphens=False, break_long_words=False), ""]
    for title, text in (("Reads", reads), ("Fails when", fails), ("What to do", advice)):
        lines += textwrap.wrap(f"- {title}: {text}.", 98, subsequent_indent="  ",
                               break_on_hyphens=False, break_long_words=False)
    return [*lines, ""]


def azure_sizes():
    """No --list has them: they are read in the table itself."""
    path = os.path.join(HERE, os.pardir, "lib", "demand", "azure_sizes.def")
    networks = {"INFINIBAND": "InfiniBand: {ports} of {rate} Gb/s", "ETHERNET": "Ethernet",
                "NETWORK_DIRECT": "NetworkDirect"}
    with open(path, encoding="utf-8") as table_file:
        rows = re.findall(r'^RI_AZURE_SIZE\("(\w+)", (\d+), (\d+), (\d+), (\w+)\)',
                          table_file.read(), re.M)
    return "\n".join(
        f"| `{name}` | {gpus} | {networks[network].format(ports=ports, rate=rate)} |"
        for name, gpus, ports, rate, network in rows)


def strings(text):
    """Strings of C between commas, each of one piece or more."""
    return [re.sub(r"\"\s*\"", "", part).strip().strip('"').replace('\\"', '"')
            for part in re.split(r'",', text)]


def causes():
    """From the table itself, in its order; what is of no kind comes last."""
    path = os.path.join(HERE, os.pardir, "lib", "report", "causes.def")
    with open(path, encoding="utf-8") as table_file:
        rows = re.findall(r"^RI_CAUSE\(\w+, \"(\w+)\", (\w+),((?:\s*\"(?:[^\"\\]|\\.)*\",?)+)\)",
                          table_file.read(), re.M)
    lines = []
    for word, retry, rest in rows[1:] + rows[:1]:
        meaning, seen, example = map(cell, strings(rest))
        lines.append(f"| `{word}` | `{retry.lower()}` | {meaning} | {seen} | `{example}` |")
    return "\n".join(lines)


def gone():
    """From the table itself: no --list has them."""
    path = os.path.join(HERE, os.pardir, "shim", "check", "checks.def")
    with open(path, encoding="utf-8") as table_file:
        rows = re.findall(r'^RI_CHECK_GONE\("([\w.]+)", "([^"]*)"\)', table_file.read(), re.M)
    return "\n".join(f"| `{name}` | {cell(use)} |" for name, use in rows)


def checks():
    return "\n".join(line for fields, _ in table("checks")
                     for line in check_section(fields)).rstrip()


def facts():
    return "\n".join(f"| `{name}` | {cell(says)} | {'yes' if report == 'report' else 'no'} "
                     f"| {cell(reads)} |" for (name, says, report, reads), _ in table("facts"))


def completion():
    words = []
    for (name, _, form, meta, *_), _ in table("options"):
        words.append(name + ("=" if form == "required" else ""))
        if form != "none" and "|" in meta:
            words += [f"{name}={choice}" for choice in meta.split("|") if choice.islower()]
    return "\n".join([
        "# SPDX-License-Identifier: Apache-2.0",
        "# bash completion for rankinit, made by `make docs` from the program's own table",
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


TABLES = {
    "OPTIONS": man_options,
    "MAN_CODES": man_codes,
    "SOURCES": sources,
    "FRAMEWORKS": frameworks,
    "INHERITED": inherited,
    "CHECKS": checks,
    "GONE": gone,
    "FACTS": facts,
    "AZURE_SIZES": azure_sizes,
    "CODES": codes,
    "SIMULATIONS": simulations,
    "CAUSES": causes,
    "RECIPES": works_with.recipes_tried,
    "LOOKS": works_with.looks_tried,
}


def filled_in(name):
    """docs/NAME.in with its tables in it."""
    with open(os.path.join(HERE, name + ".in"), encoding="utf-8") as source:
        text = source.read().replace("@MADE@", MADE.format(name))
    return re.sub(r"^@([A-Z_]+)@$", lambda found: TABLES[found[1]](), text, flags=re.M)


DOCUMENTS = {name: lambda name=name: filled_in(name) for name in (
    "rankinit.8", "sources.md", "frameworks.md", "checks.md", "codes.md", "works-with.md",
    "simulate.md", "after-a-failure.md")}
DOCUMENTS["completions/rankinit.bash"] = completion
DOCUMENTS["../README.md"] = works_with.readme


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
