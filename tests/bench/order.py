#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
order.py UNSTRIPPED > shim/order.ld: which code and data lie together.

The kernel maps a file by sixteen pages around the one that is used, and each
such fault costs a start a microsecond or two. What an ordinary start uses is
a sixth of the code, spread over all of it; here valgrind says which sixth, in
the order of use, and the linker is told to keep it together. A name that is
gone, or one that is missing, costs a page fault and nothing else.
"""

import bisect
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# valgrind knows no clone(CLONE_VM) but vfork's, which is what remains without a pipe.
DENY = [os.path.join(HERE, "../../build/tests/deny"), "pipe2=EPERM", "--"]
UNSEEN = ("wait_for_exec",)     # for that reason
SMALL = 512     # bytes: what is larger of .bss has pages of its own
# The first function that runs after the command was started.
AFTER = "ri_supervise_run"
STARTS = (     # the one that is measured first; ranks need pipes, and are seen until their clone
    ("azureml-mpi.env", ["--supervise=always", "--checks=none"], DENY),
    ("plain.env", ["--nproc-per-node=2"], []),
)
# Written in assembly, in sections without a name of their own.
ASSEMBLY = ("crt1", "__set_thread_area", "clone", "memcpy", "memmove", "memset")
# Whose tables are walked through by every start, with the strings in them.
WALKED = ("lib/from", "lib/to")
OPTIONS = "*/options.o"

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made by make order: what an ordinary start uses, in the order of use. See
 * tests/bench/order.py.
 */
"""


def environment(name):
    with open(os.path.join(HERE, name), encoding="ascii") as file:
        lines = [line.rstrip("\n") for line in file]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def symbols(program):
    """Sorted (address, size, kind, name)."""
    listed = subprocess.run(["nm", "-n", "-S", program], capture_output=True, text=True,
                            check=True).stdout
    found = re.findall(r"^(\w+) (\w+) (\w) (\S+)$", listed, re.M)
    return [(int(at, 16), int(size, 16), kind.lower(), name) for at, size, kind, name in found]


def accesses(program, env, options, deny):
    """Addresses that the first process uses, in the order of use."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        subprocess.run([*deny, "valgrind", "-q", "--tool=lackey", "--trace-mem=yes",
                        "--log-file=" + trace, program, *options, "--", "/bin/true"],
                       env={"PATH": os.defpath, **environment(env)}, stdin=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL if not deny else None, check=bool(deny))
        with open(trace, encoding="ascii") as file:
            for line in file:
                if re.match(r"(I | [SLM]) [0-9a-f]+,", line):
                    yield int(line[3:].split(",")[0], 16)


def plain(name):
    """Without what the compiler adds to the name of a part of a function."""
    return re.sub(r"\.(part|isra|constprop|cold|lto_priv)\b.*", "", name)


class Use:
    """What was used: code before and after the spawn of the first start, data."""

    def __init__(self):
        self.before, self.after, self.others = {}, {}, {}
        self.constants, self.variables = {}, {}

    def add(self, table, at):
        code = self.others if self.before else self.before
        starts = [symbol[0] for symbol in table]
        for address in at:
            place = bisect.bisect_right(starts, address) - 1
            if place < 0 or address >= table[place][0] + table[place][1]:
                continue
            if table[place][3] == AFTER:
                code = self.after
            # a section has the name of one of them
            while place >= 0 and starts[place] == starts[place - 1]:
                place -= 1
            while place < len(table) and starts[place] <= address:
                self.add_one(code, *table[place][1:])
                place += 1

    def add_one(self, code, size, kind, name):
        if kind in "tw":
            code.setdefault(plain(name))
        elif kind == "r":
            self.constants.setdefault(name)
        elif kind in "bv" and size <= SMALL:
            self.variables.setdefault(name)


def section(name, inputs, where):
    lines = ["SECTIONS", "{", f"\t{name} : {{"]
    lines += [f"\t\t{one}" for one in inputs]
    return "\n".join(lines + ["\t}", "}", f"INSERT {where};", ""])


def walked():
    """The object files of these folders."""
    top = os.path.dirname(os.path.dirname(HERE))
    return [name[:-2] + ".o" for folder in WALKED
            for name in sorted(os.listdir(os.path.join(top, folder))) if name.endswith(".c")]


def main(program):
    use, table = Use(), symbols(program)
    for env, options, deny in STARTS:
        use.add(table, accesses(program, env, options, deny))
        use.before.update(dict.fromkeys(UNSEEN))
    # What runs later stays mapped while the command runs, so it stands apart.
    code = [name for name in use.before if name not in use.after] + list(use.after)
    code += [name for name in use.others if name not in code]
    print(HEAD, end="")
    print(section(".text.start", [f"*{name}.*o(.text)" for name in ASSEMBLY]
                  + [f"*(.text.{name} .text.{name}.*)" for name in code], "BEFORE .text"), end="")
    print(section(".rodata.start", ["*(.rodata.cst*)"]
                  + [f"*:{name}(.rodata.str1.*)" for name in walked()]
                  + [f"{OPTIONS}(.rodata.*str1.*)"]
                  + [f"*(.rodata.{name}.*)" for name in code]
                  + [f"*(.rodata.{name})" for name in use.constants], "AFTER .rodata"), end="")
    print(section(".bss.start (NOLOAD)", [f"*(.bss.{name})" for name in use.variables],
                  "BEFORE .bss"), end="")


if __name__ == "__main__":
    main(sys.argv[1])
