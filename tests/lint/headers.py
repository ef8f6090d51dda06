#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py [FOLDER]: every header of lib/ and shim/ compiles alone, and twice."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

COMPILE = ["gcc", "-fsyntax-only", "-x", "c", "-std=gnu11", "-D_GNU_SOURCE", '-DRI_VERSION=""',
           "-Ilib", "-Ishim", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes",
           "-Wmissing-prototypes", "-Wformat=2", "-Wvla", "-Wundef", "-Wpointer-arith",
           "-Wwrite-strings", "-Wcast-qual", "-"]
GUARD = re.compile(r"^#ifndef (RI_[A-Z0-9_]*_H)\n", re.M)


def headers():
    return sorted(os.path.join(folder, name) for top in ("lib", "shim")
                  for folder, _, found in os.walk(top) for name in found if name.endswith(".h"))


def check_text(path, text, guards):
    found = GUARD.search(text)
    last = text.splitlines()[-1:]
    if not found or f"\n#define {found[1]}\n" not in text or not last[0].startswith("#endif"):
        yield f"{path}: no include guard RI_..._H around all of it"
    elif found[1] in guards:
        yield f"{found[1]}: guards two headers"
    else:
        guards.add(found[1])
    if "/* SPDX-License-Identifier: Apache-2.0 */" not in text.split("\n", 1)[0]:
        yield f"{path}: the first line is no SPDX line"


def compile_alone(path):
    whole = os.path.abspath(path)
    done = subprocess.run(COMPILE, input=f'#include "{whole}"\n#include "{whole}"\n'
                          "extern int unused;\n", env={**os.environ, "LC_ALL": "C"},
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return [f"{path}: does not compile alone: {''.join(errors[:1])}"]


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1
             else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    if shutil.which("gcc") is None:
        print("skip: there is no gcc")
        return 77
    found, guards = headers(), set()
    complaints = [] if found else ["no headers"]
    for path in found:
        with open(path, encoding="utf-8") as file:
            complaints += check_text(path, file.read(), guards)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints += [line for lines in pool.map(compile_alone, found) for line in lines]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
