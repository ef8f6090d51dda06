#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
dockerfiles.py [FOLDER]: every Dockerfile builds with the legacy builder and
with BuildKit, without a registry, and keeps what hadolint's rules are about.
Each complaint names hadolint's rule where there is one.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

STAND_INS = "stand-in"
LABELS = ("title", "description", "version", "revision")


def version():
    with open("Makefile", encoding="ascii") as file:
        return re.search(r"^VERSION := (\S+)", file.read(), re.M).group(1)


def instructions(text):
    """(line number, instruction, the rest on one line); comments are gone."""
    number, start, words = 0, 0, ""
    for line in text.splitlines():
        number += 1
        if re.match(r"\s*(#|$)", line):
            continue
        start = start if words else number
        words += line.rstrip("\\").strip() + " "
        if not line.endswith("\\"):
            name, _, rest = words.partition(" ")
            yield start, name, rest.strip()
            words = ""


def stages(found):
    """One list of instructions for each FROM, and one for what stands before."""
    result = [[]]
    for it in found:
        if it[1] == "FROM":
            result.append([])
        result[-1].append(it)
    return result[0], result[1:]


def check_head(path, text, before):
    """What can be replaced from outside, and by what it is not replaced."""
    if re.search(r"^#\s*syntax\s*=", text, re.M | re.I):
        yield 1, "a syntax line is fetched from a registry"
    arguments = dict(rest.partition("=")[::2] for _, name, rest in before if name == "ARG")
    if "BASE_IMAGE" not in arguments:
        yield 1, "no ARG BASE_IMAGE before the first FROM"
    for name, value in arguments.items():
        repository, _, tag = value.rpartition(":")
        if value == "${BASE_IMAGE}":
            continue
        if not repository or tag == "latest":
            yield 1, f"{name}={value}: no tag, or latest (DL3006, DL3007)"
        if "/" in value and re.search(r"[.:]|^localhost$", value.split("/")[0]):
            yield 1, f"{name}={value}: the name of a registry"
        if repository.startswith("rankinit-") and tag != version():
            yield 1, f"{name}={value}: not this version, {version()}"


def check_from(all_stages):
    named = {"scratch"}
    for stage in all_stages:
        line, _, rest = stage[0]
        words = rest.split()
        if not words[0].startswith("${") and words[0] not in named:
            yield line, f"FROM {words[0]}: an image that no ARG replaces"
        if len(words) == 3:
            named.add(words[2])
        for line, name, rest in stage[1:]:
            source = re.match(r"--from=(\S+)", rest)
            if name == "COPY" and source and source.group(1) not in named:
                yield line, f"COPY --from={source.group(1)}: no stage of this file (DL3022)"


def check_run(rest):
    """A layer of packages: nothing that is not needed, nothing left behind."""
    if re.match(r"--\w+", rest) or "<<" in rest:
        yield "the legacy builder knows no RUN with options, and no here-documents"
    if re.search(r"\bapt\s", rest):
        yield "apt is for people, apt-get for scripts (DL3027)"
    if re.search(r"apt-get install", rest):
        for wanted, rule in (("apt-get update", "DL3009"), ("--no-install-recommends", "DL3015"),
                             (" -y ", "DL3014"), ("rm -rf", "DL3009"),
                             ("/var/lib/apt/lists/*", "DL3009")):
            if wanted not in rest:
                yield f"apt-get install without {wanted.strip()} ({rule})"
    for words in re.findall(r"pip[^&;|]* install [^&;]*", rest):
        if "--no-cache-dir" not in words:
            yield "pip install without --no-cache-dir (DL3042)"
    if re.search(r"(^|&&|;)\s*cd\s", rest):
        yield "cd: that is WORKDIR (DL3003)"
    if re.search(r"[^|]\|[^|]", rest) and "pipefail" not in rest:
        yield "a pipe whose first command may fail unseen (DL4006)"
    if re.search(r"\bsudo\b|\b(curl|wget)\b", rest):
        yield "sudo, or a download without a checksum (DL3004)"
    yield from shellcheck(rest)


def shellcheck(rest):
    if not shutil.which("shellcheck"):
        return
    done = subprocess.run(["shellcheck", "-s", "sh", "-e", "SC2154", "-f", "gcc", "-"],
                          input=rest + "\n", capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        yield line.split(": ", 1)[1]


def check_instructions(found):
    for line, name, rest in found:
        if name == "RUN":
            yield from ((line, text) for text in check_run(rest))
        if name == "ADD":
            yield line, "ADD: COPY for files, nothing for addresses (DL3020)"
        if name == "COPY" and re.search(r"--(chmod|link|parents)", rest):
            yield line, "the legacy builder knows no such COPY"
        if name in ("ENTRYPOINT", "CMD") and not rest.startswith("["):
            yield line, f"{name} with a shell in between (DL3025)"
        if name == "HEALTHCHECK":
            yield line, "HEALTHCHECK: who wants one says so, for a file of state"
        if name == "WORKDIR" and not rest.startswith("/"):
            yield line, "WORKDIR is no absolute path (DL3000)"
        if name == "MAINTAINER":
            yield line, "MAINTAINER is a label now (DL4000)"


def check_final(path, stage):
    users = [rest for _, name, rest in stage if name == "USER"]
    if users and re.match(r"(root|0)(:|$)", users[-1]):
        yield stage[0][0], "the last USER is root (DL3002)"
    ends = " ".join(rest for _, name, rest in stage if name == "LABEL")
    for label in LABELS:
        if f"org.opencontainers.image.{label}=" not in ends and STAND_INS not in path:
            yield stage[0][0], f"no label org.opencontainers.image.{label}"


def check(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = list(instructions(text))
    before, all_stages = stages(found)
    yield from check_head(path, text, before)
    yield from check_from(all_stages)
    yield from check_instructions(found)
    if all_stages:
        yield from check_final(path, all_stages[-1])


def runs_of(path):
    with open(path, encoding="utf-8") as file:
        return [(name, rest) for _, name, rest in instructions(file.read())
                if name in ("RUN", "COPY", "ENV", "STOPSIGNAL", "CMD", "WORKDIR", "USER")]


def check_twins():
    """images/cuda is images/base on something else: what one has the other has."""
    base, cuda = (os.path.join("images", name, "Dockerfile") for name in ("base", "cuda"))
    missing = [it for it in runs_of(base) if it not in runs_of(cuda)]
    for name, rest in missing:
        yield f"{cuda}: lacks what {base} has: {name} {rest[:60]}"


def folders():
    """Every image has what its users and its tests need."""
    for path in sorted(glob.glob("images/*/Dockerfile")):
        folder = os.path.dirname(path)
        name = os.path.basename(folder)
        for file in ("README.md", f"test_{name}.py"):
            if not os.path.exists(os.path.join(folder, file)):
                yield f"{folder}: no {file}"


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else
             os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    paths = sorted(glob.glob("images/**/Dockerfile", recursive=True))
    complaints = [f"{path}:{line}: {text}" for path in paths for line, text in check(path)]
    complaints += [*check_twins(), *folders()]
    if not paths:
        complaints.append("images: no Dockerfile")
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
