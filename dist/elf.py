# SPDX-License-Identifier: Apache-2.0
"""What the head of a program says; elf(5)."""

import re
import struct

MACHINES = {62: "x86_64", 183: "aarch64"}   # e_machine: EM_X86_64, EM_AARCH64
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture(path):
    with open(path, "rb") as file:
        head = file.read(20)
    if head[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit little-endian program")
    return MACHINES[struct.unpack_from("<H", head, 18)[0]]


def glibc(content):
    """The newest version of glibc's symbols that a dynamic program asks for."""
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
    return f"2.{max(minors)}"
