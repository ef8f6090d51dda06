#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tables.py [FOLDER]: folder, table, documents, golden cases and enums say the same."""

import glob
import os
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Kind:
    """One table: the folder it lists, and what belongs to each entry."""

    def __init__(self, word, folder, table, document, golden):
        self.word, self.folder, self.document = word, folder, document
        self.table = os.path.join(folder, table)
        self.golden = golden    # whether each entry has a file of cases

    def listed(self):
        return re.findall(rf"^RI_{self.word.upper()}\((\w+)\)", read(self.table), re.M)

    def defined(self):
        """name -> file, from the definitions in the folder."""
        pattern = rf"^const struct ri_{self.word} ri_{self.word}_(\w+) = {{"
        return [(name, path) for path in sorted(glob.glob(self.folder + "/*.c"))
                for name in re.findall(pattern, read(path), re.M)]

    def check_folder(self):
        listed, defined = self.listed(), self.defined()
        names = [name for name, _ in defined]
        for name in listed:
            if name not in names:
                yield f"{self.table}: {name} is defined in no file of {self.folder}"
            if listed.count(name) > 1:
                yield f"{self.table}: {name} stands twice"
        for name, path in defined:
            if name not in listed:
                yield f"{path}: {name} is not in {self.table}"
            file = re.search(rf"\({name}\)\s+/\* (\S+) \*/", read(self.table))
            file = file[1] if file else name + ".c"
            if os.path.basename(path) != file:
                yield f"{path}: {name} belongs into {self.folder}/{file}"
            if not re.search(rf'\.name = "{name}"', read(path)):
                yield f"{path}: .name of {name} is not \"{name}\""

    def check_document(self):
        if not os.path.exists(self.document):
            print(f"no {self.document}: not compared")
            return
        sections = re.findall(r"^## (\w+)$", read(self.document), re.M)
        listed = self.listed()
        for name in listed:
            if name not in sections:
                yield f"{self.document}: no section for {name}"
        for name in sections:
            if name not in listed:
                yield f"{self.document}: a section for {name}, which is not in {self.table}"
        if sorted(listed) == sorted(sections) and listed != sections:
            yield f"{self.document}: another order than in {self.table}"

    def check_golden(self):
        if not self.golden:
            return
        if not os.path.isdir("tests/golden"):
            print("no tests/golden: not compared")
            return
        listed = self.listed()
        found = sorted(glob.glob("tests/golden/*.cases"))
        names = [os.path.basename(path).removesuffix(".cases") for path in found]
        for name in listed:
            if name not in names:
                yield f"tests/golden/{name}.cases: no such file"
        for name, path in zip(names, found):
            if name not in [*listed, *FRAMEWORK.listed()]:
                yield f"{path}: not the name of a source or framework"


# Sources that bring no shape (lib/from/sources.h) for --simulate, and why.
NO_SHAPE = {
    "manual": "the user's options, which go on as they are",
    "rankinit": "an outer rankinit, which is started with a job of another source",
    "kubeflow_tf": "names of Kubernetes services, by which alone it is known, lead nowhere on "
                   "one machine; the job is that of tf_config",
    "pid1": "no job, but what another process of the container was given",
}


def check_shapes(kind):
    """Every source brings its shapes, or stands above."""
    defined = kind.defined()
    for name, path in defined:
        has = re.search(rf"^const struct ri_source ri_source_{name} = {{\n(?:(?!^}}).*\n)*?"
                        r"\tRI_SHAPES\(", read(path), re.M) is not None
        if not has and name not in NO_SHAPE:
            yield f"{path}: {name} has no RI_SHAPES for --simulate (lib/from/sources.h)"
        if has and name in NO_SHAPE:
            yield f"{path}: {name} has RI_SHAPES, but NO_SHAPE of tables.py says that it has none"
    for path in sorted({path for _, path in defined}):
        if read(path).count(".grace_s = ") != read(path).count("RI_CITE("):
            yield f"{path}: a shape without RI_CITE, where it was read"
    for name in NO_SHAPE:
        if name not in [one for one, _ in defined]:
            yield f"tests/lint/tables.py: NO_SHAPE has {name}, which is no source"


# what a framework is written may also show in the cases of the sources
FRAMEWORK = Kind("framework", "lib/to", "frameworks.def", "docs/frameworks.md", False)


def check_checks():
    """Every check is defined once, by its id, and documented in the table's order."""
    listed = [f"{family}.{name}" for family, name in
              re.findall(r"^RI_CHECK\((\w+), (\w+)\)", read(CHECKS), re.M)]
    defined = []
    for path in sorted(glob.glob("shim/check/**/*.c", recursive=True)):
        for symbol in re.findall(r"^const struct ri_check ri_check_(\w+) = {", read(path), re.M):
            name = symbol.replace("_", ".", 1)
            defined.append(name)
            if name not in listed:
                yield f"{path}: {name} is not in {CHECKS}"
    for name in listed:
        if defined.count(name) != 1:
            yield f"{CHECKS}: {name} is defined {defined.count(name)} times"
    sections = re.findall(r"^## (\w+\.\w+)$", read("docs/checks.md"), re.M)
    if sections != listed:
        yield "docs/checks.md: other checks, or another order, than in " + CHECKS
    codes = re.findall(r'^RI_CODE\(\w+,\s*"(\w+\.\w+)\.\w+"', read("lib/base/codes.def"), re.M)
    for name in sorted(set(codes) - set(listed)):
        yield f"lib/base/codes.def: codes of {name}, which is not in {CHECKS}"


def check_choices():
    """The constants of an option's enum are its words, in their order."""
    headers = "".join(read(path) for path in glob.glob("lib/*/*.h") + glob.glob("shim/*/*.h"))
    for symbol, meta, enum in re.findall(r'^RI_OPTION\((\w+), .*?, "([^"]*)", "[^"]*",\s*'
                                         r"CHOICE\((\w+), ", read(OPTIONS), re.M):
        found = re.search(rf"^enum {enum} {{(.*?)}};", headers, re.M | re.S)
        words = re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", found[1] if found else "", flags=re.S))
        wanted = [f"{enum}_{word}".upper() for word in meta.split("|")]
        if words != wanted:
            yield f"{OPTIONS}: {symbol}: enum {enum} is not {', '.join(wanted)}"


OPTIONS = "shim/options/options.def"
CHECKS = "shim/check/checks.def"
KINDS = [Kind("source", "lib/from", "sources.def", "docs/sources.md", True), FRAMEWORK]


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(__file__), "..", ".."))
    if not os.path.exists(KINDS[1].table):
        print(f"skip: there is no {KINDS[1].table}")
        return 77
    errors = [line for kind in KINDS for check in
              (kind.check_folder, kind.check_document, kind.check_golden) for line in check()]
    errors += check_shapes(KINDS[0])
    errors += check_choices()
    errors += check_checks()
    for line in errors:
        print(line)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
