# SPDX-License-Identifier: Apache-2.0
"""What /proc tells about processes, and waiting for it to tell something."""

import os
import socket
import time

# Only something broken ever waits so long; the machine may be busy.
PATIENCE = 30.0


def free_port():
    """One that no process of this machine uses, as the kernel says."""
    with socket.create_server(("", 0)) as taken:
        return taken.getsockname()[1]


def wait_until(condition, what, seconds=PATIENCE):
    """The first true value of condition(); it is asked every 5 ms."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {seconds} s in vain: {what}"
        time.sleep(0.005)


def read(pid, name):
    """A file of /proc/PID, empty where the process has gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def stat(pid):
    """(name, state, parent), or None."""
    head, _, tail = read(pid, "stat").decode("utf-8", "replace").rpartition(")")
    field = tail.split()
    return (head.partition("(")[2], field[0], int(field[1])) if field else None


def state(pid):
    found = stat(pid)
    return found[1] if found else None


# poll, rt_sigtimedwait and epoll_wait by /proc/PID/syscall. The wait for an exec is a ppoll,
# which on x86_64 has a number of its own.
WAITS = {"x86_64": {b"7", b"128", b"232", b"281"},
         "aarch64": {b"22", b"73", b"137"}}.get(os.uname().machine, set())


def rests(pid):
    """Whether rankinit's start is over, and it sleeps until something comes."""
    return state(pid) == "S" and read(pid, "syscall").partition(b" ")[0] in WAITS


def wchan(pid):
    """The function of the kernel that a process waits in."""
    return read(pid, "wchan").decode()


def field(pid, name):
    """A line of /proc/PID/status, without its name."""
    for line in read(pid, "status").decode("utf-8", "replace").splitlines():
        if line.startswith(name + ":"):
            return line.partition(":")[2].strip()
    return None


def private_memory(pid):
    """
    Anonymous pages, in kB; 0: there is no such process. Private_Dirty is the same, but
    also counts a binary's own pages while the disk has not got them yet.
    """
    for line in read(pid, "smaps_rollup").decode("ascii").splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1])
    return 0


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def members(wanted):
    """Everything in one PID namespace, zombies too: {pid: (name, state, parent)}."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and namespace(entry) == wanted:
            facts = stat(entry)
            if facts:
                found[int(entry)] = facts
    return found


def children(pid):
    text = read(pid, f"task/{pid}/children").decode()
    return [int(word) for word in text.split()]


def switches(pid):
    """How often a process has been on a CPU."""
    return (int(field(pid, "voluntary_ctxt_switches")),
            int(field(pid, "nonvoluntary_ctxt_switches")))
