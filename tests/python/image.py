#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image.py PYSTACK OUT PROGRAM THREADS COMMAND...: an image of what a Python keeps in its memory.

COMMAND is an interpreter, or qemu-aarch64-static and one of that architecture. It runs a
program of this folder with these threads (program.py "far long", raises.py "a_choice a_finally"),
pystack reads their stacks, and the bytes that it read, no others, go to OUT:
what tests/unit/test_python.c and the fuzzers read again. It reads a little past the end of a
string; paths of this machine that lie there become dots.
"""

import os
import re
import shutil
import signal
import subprocess
import sys

# raises.py is the program itself, of which it matters that nothing has called it.
FILE = "/tmp/job/train.py"
HERE = os.path.dirname(os.path.abspath(__file__))
START = 'exec(compile(open({!r}, encoding="utf-8").read(), "/job/train.py", "exec"))'


def pieces(text):
    """(address, bytes) of each read that was recorded."""
    while text:
        line, _, text = text.partition(b"\n")
        address, size = line.split()
        yield int(address, 16), text[:int(size)]
        text = text[int(size) + 1:]


def merge(found):
    """They overlap and touch; what was read twice is as it was read last."""
    memory = {}
    for address, block in found:
        memory.update(enumerate(block, address))
    merged = []
    for address in sorted(memory):
        if not merged or merged[-1][0] + len(merged[-1][1]) != address:
            merged.append((address, bytearray()))
        merged[-1][1].append(memory[address])
    return merged


def without_paths(block):
    """A pointer has no eight bytes that are printed."""
    return re.sub(rb"[\x20-\x7e]{8,}", lambda found: found[0]
                  if b"/" not in found[0] or re.search(rb"/job|(^|/)long/", found[0])
                  else b"." * len(found[0]), bytes(block))


def main(pystack, out, name, threads, *command):
    words = ["-c", START.format(name)]
    if name != "program.py":
        os.makedirs(os.path.dirname(FILE), exist_ok=True)
        words = [shutil.copy(os.path.join(HERE, name), FILE)]
    with subprocess.Popen([*command, "-I", *words], cwd=HERE, stdout=subprocess.PIPE,
                          env={"THREADS": threads, "LC_ALL": "C.UTF-8"}) as started:
        try:
            started.stdout.readline()
            # the main thread is on its way to its wait
            signal.sigtimedwait([], 3)
            subprocess.run([pystack, str(started.pid), out], check=True)
        finally:
            started.kill()
    with open(out, "rb") as file:
        maps, _, text = file.read().partition(b"%%\n")
    with open(out, "wb") as file:
        file.write(maps + b"%%\n")
        for address, block in merge(pieces(text)):
            file.write(b"%x %d\n%s\n" % (address, len(block), without_paths(block)))


if __name__ == "__main__":
    main(*sys.argv[1:])
