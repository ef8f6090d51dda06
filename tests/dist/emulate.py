#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs a command that can execute programs of another processor, by qemu-user.

usage: emulate.py QEMU PROGRAM COMMAND [ARG]...   as root; QEMU is static, PROGRAM one that
                                                  it shall run, and all of its kind

It is in a user namespace of its own with the same users, since binfmt_misc belongs to one
(Linux 6.7): nothing else on this machine gets to know of QEMU. Exit status 77: this
kernel has no such thing.
"""

import ctypes
import os
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000    # sched.h
WHERE = "/proc/sys/fs/binfmt_misc"
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def hexadecimal(some):
    return "".join(f"\\x{byte:02x}" for byte in some)


def register(qemu, program):
    """By the head of an ELF file; 2 and 3 (static-pie) are programs: elf(5), e_type."""
    with open(program, "rb") as file:
        head = bytearray(file.read(20))
    mask = bytearray(b"\xff" * 20)
    head[7:16], mask[7:16] = bytes(9), bytes(9)
    head[16], mask[16] = 2, 0xfe
    with open(f"{WHERE}/register", "w", encoding="ascii") as file:
        # F: it is opened now, and found below any root
        file.write(f":emulated:M::{hexadecimal(head)}:{hexadecimal(mask)}:{qemu}:F")


def enter(ready, mapped):
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    os.close(ready)
    os.read(mapped, 1)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    call("mount", b"emulate", WHERE.encode(), b"binfmt_misc", 0, None)


def child(qemu, program, command, ready, mapped):
    try:
        enter(ready, mapped)
        register(qemu, program)
    except OSError as error:
        print(f"skip no processor can be emulated here: {error}", flush=True)
        os._exit(77)
    os.execvp(command[0], command)


def main(qemu, program, *command):
    ready, ready_end = os.pipe()
    mapped_end, mapped = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        os.close(mapped)
        child(qemu, program, command, ready_end, mapped_end)
    os.close(ready_end)
    os.close(mapped_end)
    os.read(ready, 1)
    for name in ("uid_map", "gid_map"):
        try:
            with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
                file.write("0 0 65536")
        except OSError:
            pass    # the child says so
    os.close(mapped)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(abs(main(*sys.argv[1:])))
