# SPDX-License-Identifier: Apache-2.0
"""What /proc of the driver's own namespace says about other processes."""

import os
import platform

# The system calls that an init makes between starting its child and handing
# over to the command, by the number the kernel shows in /proc/PID/syscall.
SYSCALLS = {
    "x86_64": {"rt_sigprocmask": 14, "execve": 59, "setpgid": 109, "setsid": 112},
    "aarch64": {"rt_sigprocmask": 135, "execve": 221, "setpgid": 154, "setsid": 157},
}


def read(pid, name):
    """A file of /proc/PID as text, empty where the process has gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def stat(pid):
    """(name, state, parent, ticks of CPU used), or None."""
    text = read(pid, "stat")
    if not text:
        return None
    head, _, tail = text.rpartition(")")
    field = tail.split()
    return head.partition("(")[2], field[0], int(field[1]), int(field[11]) + int(field[12])


def state(pid):
    found = stat(pid)
    return found[1] if found else None


def members(wanted):
    """The processes of one PID namespace: {pid: (name, state, parent)}."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and namespace(entry) == wanted:
            facts = stat(entry)
            if facts:
                found[int(entry)] = facts[:3]
    return found


def ticks(pid):
    found = stat(pid)
    return found[3] if found else 0


def status_field(pid, name):
    for line in read(pid, "status").splitlines():
        if line.startswith(name + ":"):
            return line.partition(":")[2].strip()
    return None


def switches(pid):
    """How often the process was taken off a CPU, or None once it has gone."""
    total = 0
    for name in ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"):
        value = status_field(pid, name)
        if value is None:
            return None
        total += int(value)
    return total


def tracer(pid):
    return int(status_field(pid, "TracerPid") or 0)


def blocks(pid, number):
    mask = int(status_field(pid, "SigBlk") or "0", 16)
    return bool(mask >> (number - 1) & 1)


def in_syscall(pid, names):
    """Whether the process is stopped in one of these system calls."""
    numbers = SYSCALLS.get(platform.machine())
    if numbers is None:
        return False
    field = read(pid, "syscall").split()
    return bool(field) and field[0] in {str(numbers[name]) for name in names}


def descriptor(pid, number):
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return None


def cwd(pid):
    try:
        # seen from a chroot, the link of a process in another mount namespace
        # has the name outside
        if os.path.samefile(f"/proc/{pid}/cwd", "/"):
            return "/"
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
