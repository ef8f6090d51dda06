# SPDX-License-Identifier: Apache-2.0
"""tables.py PYSTACK PACKAGE...: the lines of all instructions of these, as Python and we see them.

Run by the interpreter that is asked: each code object below the sources of these packages of its
library ("." for all of it) is compiled, and what code.co_lines() says of its instructions (3.9:
dis.findlinestarts) is compared with what lib/python makes of its table. Prints how many.
"""

import dis
import os
import subprocess
import sys
import sysconfig
import types


def sources(packages):
    top = sysconfig.get_path("stdlib")
    for package in packages:
        path = os.path.normpath(os.path.join(top, package))
        if os.path.isfile(path + ".py"):
            yield path + ".py"
        for folder, folders, names in os.walk(path):
            folders[:] = [name for name in folders if name != "site-packages"]
            paths = (os.path.join(folder, name) for name in names if name.endswith(".py"))
            yield from filter(os.path.isfile, paths)    # a link may lead nowhere


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def lines_of(code):
    """Of each instruction, two bytes long; 0: it belongs to none."""
    if hasattr(code, "co_lines"):
        ranges = code.co_lines()
    else:
        starts = list(dis.findlinestarts(code))
        ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
        ranges = [(start, end, line) for (start, line), end in zip(starts, ends)]
    lines = []
    for start, end, line in ranges:
        lines += [line or 0] * ((end - start) // 2)
    return lines


def compile_all(packages):
    for path in sources(packages):
        with open(path, "rb") as file:
            try:
                found = compile(file.read(), path, "exec", dont_inherit=True)
            except (SyntaxError, UnicodeDecodeError, ValueError):
                continue  # tests of the compiler
        yield from codes(found)


def main(pystack, *packages):
    every = list(compile_all(packages))
    asked = []
    for code in every:
        table = code.co_linetable if hasattr(code, "co_lines") else code.co_lnotab
        asked.append(b"%d %d %d\n%s" % (code.co_firstlineno, len(table), len(code.co_code), table))
    done = subprocess.run([pystack, "--lines", str(sys.version_info[1])], input=b"".join(asked),
                          stdout=subprocess.PIPE, check=True)
    answers = done.stdout.decode().splitlines()
    assert len(answers) == len(every), (len(answers), len(every))
    instructions = 0
    for code, answer in zip(every, answers):
        expected = lines_of(code)
        instructions += len(expected)
        assert answer.split() == [str(line) for line in expected], \
            (code.co_filename, code.co_name, code.co_firstlineno, answer, expected)
    print(len(every), "code objects,", instructions, "instructions")


main(*sys.argv[1:])
