# SPDX-License-Identifier: Apache-2.0
"""
Real ranks fail below rankinit, and it says which one and why. All of this takes
long, because each rank imports its framework; so an ordinary run has nine silent
deaths and the failures of OFTEN, and with FAILURES=all there are thirty, and all
failures of failures/live.py whose culprit is certain.
"""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from conftest import PROGRAM, SECONDS, TOP, clean_env

HERE = os.path.join(TOP, "tests", "frameworks", "failures")
sys.path.append(HERE)
from live import LIVE  # noqa: E402 (found by the line above)

ALL = os.environ.get("FAILURES") == "all"
RUNS = 10 if ALL else 3
# How many of the silent deaths may be told wrongly, or not at all.
MISSES = 1 if ALL else 0
SILENT = ["live-torch-killed", "live-torch-segv", "live-torch-exit3"]
OFTEN = {
    "live-torch-raises-tidy", "live-torch-hangs-after-traceback", "live-torch-ends-early",
    "live-torch-killed-before", "live-torch-other-node-killed", "live-torch-ddp-worker-segv",
    "live-lightning-raises", "live-accelerate-segv-workers", "live-deepspeed-chain",
    "live-jax-raises", "live-tensorflow-in-graph"}
CERTAIN = [one for one in LIVE
           if one.certain and one.launcher != "mpirun" and one.name not in SILENT]

ENV = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu",
       "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo", "DS_ACCELERATOR": "cpu",
       "ACCELERATE_USE_CPU": "true",
       "TORCH_EXTENSIONS_DIR": os.path.join(TOP, "build", "frameworks", "torch", "extensions")}

NAMED = re.compile(r"rankinit: rank (\d+) \(.*failed first")
# A rank that had left before it was needed, or never came, may stand in the second line.
BLAMED = re.compile(r"\brank (\d+),? (?:\([^)]*\),? )?(?:had ended|did not)")


def start(one, node, python, port):
    """rankinit for one node of a job."""
    options = [f"--nproc-per-node={one.ranks // one.nodes}", f"--master-port={port}",
               "--grace=20"]
    if one.nodes > 1:
        options += [f"--nnodes={one.nodes}", f"--node-rank={node}", "--master-addr=127.0.0.1"]
    return subprocess.Popen(
        [PROGRAM, *options, "--", python, os.path.join(HERE, one.program), *one.words.split()],
        env=clean_env(**{**ENV, **one.env}), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, errors="replace", cwd="/")


def run(one, python, port):
    """The exit status and the standard error of the node that the table is about."""
    jobs = [start(one, node, python, port) for node in range(one.nodes)]
    try:
        said = [job.communicate(timeout=SECONDS)[1] for job in jobs]
    finally:
        for job in jobs:
            if job.poll() is None:
                job.send_signal(signal.SIGTERM)
                job.wait(30)
    return jobs[one.node].returncode, said[one.node]


def verdict_of(said):
    """Its own lines about the end: warnings came before the start."""
    return [line for line in said.splitlines()
            if line.startswith("rankinit: ") and not line.startswith("rankinit: warning: ")]


def named_by(lines):
    """The rank that the verdict names, or None."""
    found = NAMED.search(lines[0]) if lines else None
    found = found or BLAMED.search("\n".join(lines[:2]))
    return found and found.group(1)


def wrong(one, status, said):
    """What is wrong with the verdict, or None."""
    lines = verdict_of(said)
    named, text = named_by(lines), re.sub(r"\s+", " ", "\n".join(lines))
    if one.culprit in ("elsewhere", "unknown"):
        if named is not None:
            return f"it names rank {named}"
    elif named is None:
        return "it names no rank"
    elif one.culprit != "all" and named not in one.culprit.split(" or "):
        return f"it names rank {named}, not {one.culprit}"
    lacks = [cause for cause in one.cause if cause not in text]
    if lacks and not any(cause in text for cause in one.instead):
        return f"it lacks {lacks[0]!r}"
    return None if status == one.status else f"exit status {status}, not {one.status}"


@pytest.mark.parametrize("name", SILENT)
def test_silent_deaths(python_with, free_ports, name):
    """A rank that dies without a word: its peers' tracebacks come before its end is known."""
    (one,) = [one for one in LIVE if one.name == name]
    python = python_with(one.group)
    faults = []
    for _ in range(RUNS):
        status, said = run(one, python, free_ports())
        fault = wrong(one, status, said)
        if fault:
            faults.append(fault)
            print("\n".join([f"{name}: {fault}", *verdict_of(said)[:6]]))
    print(f"{name}: {RUNS - len(faults)} of {RUNS} right")
    assert not [fault for fault in faults if fault.startswith("it names rank")], faults
    assert len(faults) <= MISSES


@pytest.mark.parametrize("one", CERTAIN, ids=lambda one: one.name)
def test_live(python_with, free_ports, one):
    if not ALL and one.name not in OFTEN:
        pytest.skip("it takes long: FAILURES=all runs it")
    status, said = run(one, python_with(one.group), free_ports())
    fault = wrong(one, status, said)
    assert fault is None, "\n".join([fault, *verdict_of(said), "", said[-4000:]])


def test_a_wrong_name_is_noticed():
    """The judge itself."""
    (one,) = [one for one in LIVE if one.name == "live-torch-killed"]
    right = ("rankinit: rank 2 (local rank 2, pid 7 on a) failed first: killed by SIGKILL\n"
             "rankinit:   ...\n")
    assert wrong(one, 137, right) is None
    assert wrong(one, 137, "rankinit: warning: the master is loopback\n" * 2 + right) is None
    assert wrong(one, 1, right) == "exit status 1, not 137"
    assert wrong(one, 137, right.replace("rank 2", "rank 1")) == "it names rank 1, not 2"
    assert wrong(one, 137, right.replace("SIGKILL", "SIGSEGV")) == "it lacks 'SIGKILL'"
    assert wrong(one, 137, "rankinit: cannot tell: SIGKILL\n") == "it names no rank"
    racy = replace(one, cause=("worker died",), instead=("SIGKILL",))
    assert wrong(racy, 137, right) is None
    assert wrong(racy, 137, right.replace("SIGKILL", "SIGSEGV")) == "it lacks 'worker died'"
    other = replace(one, culprit="elsewhere")
    assert wrong(other, 137, right) == "it names rank 2"
