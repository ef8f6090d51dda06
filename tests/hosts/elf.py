# SPDX-License-Identifier: Apache-2.0
"""
The smallest ELF library that says of itself what checks read: its name, a
version of its symbols, symbols that hold text, NVIDIA's note of cuda-compat.
There is no code in it, and it is for the machine that this runs on.
"""

import json
import os
import struct

MACHINES = {"x86_64": 62, "aarch64": 183}
LOAD, DYNAMIC, NOTE = 1, 2, 4
STRTAB, SYMTAB, STRSZ, SONAME, GNU_HASH, VERDEF, VERDEFNUM = (
    5, 6, 10, 14, 0x6ffffef5, 0x6ffffffc, 0x6ffffffd)


def gnu_hash(name):
    """The hash of DT_GNU_HASH."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xffffffff
    return value


class Strings:
    """A table of strings, and where each stands."""

    def __init__(self):
        self.data = b"\0"

    def add(self, text):
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def compat_note(cuda, drivers):
    """The note by which libcuda of cuda-compat says for which drivers it is."""
    owner = b"NVIDIA Corporation\0"
    text = json.dumps({"Format": 1, "CUDA Version": cuda, "Driver": drivers}).encode()
    return (struct.pack("<III", len(owner), len(text), 1) + owner.ljust(20, b"\0") +
            text.ljust((len(text) + 3) // 4 * 4, b"\0"))


def make(soname, version=None, symbols=None, note=b""):
    """Bytes of the library; symbols: name -> text."""
    symbols = symbols or {}
    strings, data, table = Strings(), b"", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    tags = [(SONAME, strings.add(soname))]
    names = [(strings.add(name), gnu_hash(name), text.encode() + b"\0")
             for name, text in symbols.items()]
    version_at = strings.add(version or "")
    parts = {}
    at = 64 + 3 * 56

    def place(key, content):
        nonlocal at
        parts[key] = (at, content)
        at += (len(content) + 7) // 8 * 8

    place("strings", strings.data)
    for _, _, text in names:
        data += text
    place("data", data)
    offset = parts["data"][0]
    for name, _, text in names:
        table += struct.pack("<IBBHQQ", name, 1 << 4 | 1, 0, 1, offset, len(text))
        offset += len(text)
    place("symbols", table)
    # one bucket, a filter that lets everything through, the last hash ends the chain
    hashes = [value & ~1 for _, value, _ in names]
    if hashes:
        hashes[-1] |= 1
    place("hash", struct.pack("<IIIIQI", 1, 1, 1, 0, 2**64 - 1, 1 if names else 0) +
          b"".join(struct.pack("<I", value) for value in hashes))
    place("version", struct.pack("<HHHHIII", 1, 0, 2, 1, gnu_hash(version or ""), 20, 0) +
          struct.pack("<II", version_at, 0))
    tags += [(STRTAB, parts["strings"][0]), (STRSZ, len(strings.data)),
             (SYMTAB, parts["symbols"][0]), (GNU_HASH, parts["hash"][0])]
    if version:
        tags += [(VERDEF, parts["version"][0]), (VERDEFNUM, 1)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in [*tags, (0, 0)])
    place("dynamic", dynamic)
    place("note", note)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, MACHINES[os.uname().machine],
                         1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    header += struct.pack("<IIQQQQQQ", LOAD, 6, 0, 0, 0, at, at, 4096)
    header += struct.pack("<IIQQQQQQ", DYNAMIC, 6, parts["dynamic"][0], parts["dynamic"][0],
                          parts["dynamic"][0], len(dynamic), len(dynamic), 8)
    header += struct.pack("<IIQQQQQQ", NOTE, 4, parts["note"][0], parts["note"][0],
                          parts["note"][0], len(note), len(note), 4)
    out = bytearray(header.ljust(at, b"\0"))
    for start, content in parts.values():
        out[start:start + len(content)] = content
    return bytes(out)
