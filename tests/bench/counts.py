# SPDX-License-Identifier: Apache-2.0
"""What can be counted and not only timed: system calls, wake-ups, memory."""

import os
import re
import signal
import subprocess
import tempfile
import time

CALL = re.compile(r"^(\d+)\s+([a-z_0-9]+)\((.*)$")
CLONES = ("clone", "clone3", "fork", "vfork")
SETTLE = 0.7  # seconds until an init has surely started its command


class CannotRun(Exception):
    """This place does not allow the measurement; the reason is the text."""


def spec_line(variant, payload_mode):
    """One variant as the measuring programs read it."""
    command = variant.command(payload_mode)
    return "\t".join([variant.key, variant.env_file] + command) + "\n"


def check_status(status, errors):
    if status == 77:
        raise CannotRun(errors.strip())
    if status:
        raise RuntimeError(f"a measuring program failed: {errors.strip()}")


# --- idle -----------------------------------------------------------------


def read_fields(path):
    """The numbers of a 'Name:   123 kB' file."""
    with open(path, encoding="ascii", errors="replace") as file:
        found = re.findall(r"^(\w+):\s+(\d+)", file.read(), re.M)
    return {name: int(value) for name, value in found}


def context_switches(pid):
    fields = read_fields(f"/proc/{pid}/status")
    return (fields["voluntary_ctxt_switches"]
            + fields["nonvoluntary_ctxt_switches"])


def memory(pid):
    """
    In kB. Private is what no other container shares: anonymous pages. The rest of Rss is
    the binary's own, in the page cache. The address space is what RLIMIT_AS limits.
    """
    rollup = read_fields(f"/proc/{pid}/smaps_rollup")
    return {"private_kb": rollup["Anonymous"], "rss_kb": rollup["Rss"],
            "space_kb": read_fields(f"/proc/{pid}/status")["VmSize"]}


def sample(pids, seconds):
    before = {}
    for key, pid in pids.items():
        try:
            before[key] = context_switches(pid)
        except (OSError, KeyError):
            continue
    time.sleep(seconds)
    result = {}
    for key, count in before.items():
        try:
            result[key] = {
                "seconds": seconds,
                "wakeups": context_switches(pids[key]) - count,
                **memory(pids[key]),
            }
        except (OSError, KeyError):
            continue
    return result


def idle(variants, pidns, seconds):
    """All inits at once, each with a sleeping child. key -> numbers."""
    spec = "".join(spec_line(v, "sleep") for v in variants)
    runner = subprocess.Popen(
        [pidns], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
        runner.stdin.write(spec)
        runner.stdin.close()
        lines = [runner.stdout.readline() for _ in variants]
        pids = dict(line.split() for line in lines if line)
        if len(pids) < len(variants):
            check_status(runner.wait(10), runner.stderr.read())
        time.sleep(SETTLE)
        return sample(pids, seconds)
    finally:
        runner.send_signal(signal.SIGTERM)
        runner.wait(10)
        runner.stdout.close()
        runner.stderr.close()


# --- system calls -----------------------------------------------------------


def read_trace(path):
    """strace -f -o as [(pid, call, text)]; only the begin of each call."""
    calls = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = CALL.match(line)
            if match:
                calls.append((int(match[1]), match[2], match[3]))
    return calls


def find_exec(calls, program, not_pid=None):
    """Where this program is executed: (position, pid), else None."""
    wanted = f'"{program}"'
    for at, (pid, call, text) in enumerate(calls):
        if call == "execve" and text.startswith(wanted) and pid != not_pid:
            return at, pid
    return None


def count_phases(calls, program, payload):
    """
    start: after the exec of the init, up to and with the clone of the child
    child: in the child, up to and with its exec
    after: in the init from there on
    others: in any further process that the init starts
    """
    began = find_exec(calls, program)
    if not began:
        raise RuntimeError(f"the trace does not show {program}")
    exec_at, init = began
    if program == payload:
        after = sum(1 for pid, _, _ in calls[exec_at + 1:] if pid == init)
        return {"start": 0, "child": 0, "after": after, "others": 0,
                "total": after}
    started = find_exec(calls, payload, not_pid=init)
    if not started:
        raise RuntimeError(f"{program} did not start its command")
    child_exec, child = started
    child_at = next(i for i, c in enumerate(calls) if c[0] == child)
    clone_at = max((i for i, c in enumerate(calls[:child_at])
                    if c[0] == init and c[1] in CLONES), default=exec_at)
    counts = {"start": 0, "child": 0, "after": 0, "others": 0}
    for at, (pid, _, _) in enumerate(calls):
        if at <= exec_at:
            continue
        if pid == init:
            counts["start" if at <= clone_at else "after"] += 1
        elif pid == child:
            counts["child"] += at <= child_exec
        elif pid != calls[0][0]:
            counts["others"] += 1
    counts["total"] = sum(counts.values())
    return counts


def system_calls_of(variant, pidns, strace):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        done = subprocess.run(
            [strace, "-f", "-qq", "-e", "signal=none", "-o", trace, pidns,
             "wait"], input=spec_line(variant, None), text=True,
            capture_output=True, timeout=8)
        if done.returncode and "ptrace" in done.stderr:
            raise CannotRun(done.stderr.strip())
        if done.returncode == 77:
            raise CannotRun(done.stderr.strip())
        if done.returncode:
            raise RuntimeError("ended with a failure under strace")
        return count_phases(read_trace(trace), variant.command(None)[0],
                            variant.payload)


def system_calls(variants, pidns, strace):
    """key -> counts, key -> why there are none"""
    result, failed = {}, {}
    for variant in variants:
        try:
            result[variant.key] = system_calls_of(variant, pidns, strace)
        except RuntimeError as error:
            failed[variant.key] = str(error)
        except subprocess.TimeoutExpired:
            failed[variant.key] = "did not end under strace"
    return result, failed
