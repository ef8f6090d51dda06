# SPDX-License-Identifier: Apache-2.0
"""
Which rank of a job of several nodes holds up the others? Three nodes with four ranks of torch's DDP
each, one of which stops in one of eleven ways. Another node is asked, and every log names that
rank, and every report. The control is a job that trains.
"""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import PROGRAM, TOP
from deadmount import mounted
from peek import children
from test_link import BOUND, KEY, Job

TRAIN = os.path.join(TOP, "tests", "frameworks", "train", "torch_hang.py")
LOOK = os.path.join(TOP, "build", "release", "tests", "joblook")
NODES, RANKS, VICTIM, ASKED = 3, 12, 6, 2
HEALTHY_LOOKS = 100
# What the log says of the victim, behind its name.
FAULTS = {
    "sleep": r"is in main \(torch_hang\.py:\d+\) and sleeps|is in <lambda> .* and sleeps",
    "collective": r"waits in barrier \(torch_hang\.py:\d+\)",
    "dead-mount": r"is in read_dead \(torch_hang\.py:\d+\) and (is blocked|waits) .*fuse\.dead on ",
    "lock": r"is in deadlock \(torch_hang\.py:\d+\) and waits for a lock",
    "spin": r"is in spin \(torch_hang\.py:\d+\) and runs",
    "dead-loader": r"is in .*__next__ \(torch_hang\.py:\d+\) and waits for its data loader: worker "
                   r"\d+ \(.*\) was stopped by a signal",
    "worker-mount": r"is in .*__next__ \(torch_hang\.py:\d+\) and waits for its data loader: "
                    r"worker \d+ \(.*fuse\.dead on ",
    "no-data": r"is in Queue\.get \(torch_hang\.py:\d+\) and waits for data in get",
    "debugger": r"is in be_traced \(torch_hang\.py:\d+\) and is in a debugger",
    "stopped": r".* \(torch_hang\.py:\d+\) and was stopped by a signal",
    "c-code": r".* \(torch_hang\.py:\d+\) and runs in C code, at one Python instruction",
}
FOUND = re.compile(r"rankinit: autopsy: (?:the ranks differ: )?of \d+ ranks .*")
AGAIN_S = 10.5  # a node looks every ten seconds at most


def is_rank(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"\0LOCAL_RANK=" in b"\0" + file.read()
    except OSError:
        return False


def find_nodes(pid):
    """The rankinits below a process whose children are ranks, in the order of their ranks."""
    found = [pid] if sum(map(is_rank, children(pid))) >= RANKS // NODES else []
    return found or [node for child in children(pid) for node in find_nodes(child)]


class Hang:
    """A job of three simulated nodes whose ranks have begun to train."""

    def __init__(self, python, folder, fault, path=""):
        self.folder = folder
        self.job = Job(
            [PROGRAM, f"--simulate=kubeflow_pytorch:{NODES}x{RANKS // NODES}", "--link",
             "--checks=none", "--autopsy-signal=USR1", "--grace=2",
             f"--report={folder}/%n.json", "--", python, TRAIN, fault, str(VICTIM), str(path)],
            RANKINIT_LINK_KEY=KEY)
        while self.job.said(0).count("trains") < RANKS:
            assert self.job.process.poll() is None, repr(self.job)
            assert time.monotonic() < self.job.begun + BOUND, repr(self.job)
            time.sleep(0.2)
        self.nodes = find_nodes(self.job.process.pid)
        assert len(self.nodes) == NODES, (self.nodes, repr(self.job))

    def found(self):
        """What the nodes have said together, each log's line on its own."""
        return [match[0] for match in FOUND.finditer(self.job.said(1))]

    def ask(self):
        """One node is asked; what all logs say of it."""
        before = len(self.found())
        os.kill(self.nodes[ASKED], signal.SIGUSR1)
        until = time.monotonic() + AGAIN_S
        while time.monotonic() < until and len(self.found()) < before + NODES:
            time.sleep(0.1)
        said = self.found()[before:]
        time.sleep(max(0, until - time.monotonic()))
        return said

    def reported(self):
        """The job is stopped: the rank and the node that each report names."""
        self.job.process.send_signal(signal.SIGTERM)
        self.job.process.wait(BOUND)
        found = []
        for node in range(NODES):
            with open(os.path.join(self.folder, f"{node}.json"), encoding="utf-8") as file:
                autopsy = json.load(file)["job_autopsy"]
            found.append((autopsy["rank"], autopsy["node"]))
        return found


@pytest.fixture
def hang(python_with, tmp_path):
    jobs = []

    def start(*words):
        jobs.append(Hang(python_with("torch"), tmp_path, *words))
        return jobs[-1]
    yield start
    for one in jobs:
        one.job.end()


@pytest.fixture
def dead(tmp_path):
    with mounted(tmp_path / "dead"):
        yield tmp_path / "dead"


def named(line):
    """The rank that a line names, and what it says of it; None: it names none."""
    match = re.search(r", rank (\d+) \(node (\d+), [^)]*\) (.*)", line)
    return match and (int(match[1]), int(match[2]), match[3])


@pytest.mark.parametrize("fault", FAULTS)
def test_every_log_names_the_rank(hang, fault, request):
    """Never another one, not even at first, when the ranks may not wait yet."""
    here = hang(fault, request.getfixturevalue("dead") / "x" if "mount" in fault else "")
    culprit = VICTIM, VICTIM * NODES // RANKS
    while True:
        lines = here.ask()
        for line in filter(named, lines):
            assert named(line)[:2] == culprit, repr(here.job)
        if lines and all(map(named, lines)):
            break
        assert here.job.process.poll() is None, repr(here.job)
        assert time.monotonic() < here.job.begun + 2 * BOUND, (here.found(), repr(here.job))
    assert len(lines) == NODES and len(set(lines)) == 1, lines
    assert re.match(FAULTS[fault], named(lines[0])[2]), lines
    assert here.reported() == [culprit] * NODES


def test_nobody_is_named_in_a_healthy_job(hang):
    here = hang("healthy")
    lines = here.ask()
    assert len(lines) == NODES and not any(map(named, lines)), lines
    done = subprocess.run([LOOK, str(HEALTHY_LOOKS), *map(str, here.nodes)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
                          timeout=BOUND + HEALTHY_LOOKS)
    looks = done.stdout.splitlines()
    assert len(looks) == HEALTHY_LOOKS
    assert [look for look in looks if not look.startswith("0 -1 -1 ")] == []
    assert sum(look.startswith("0 -1 -1 of 12 ranks ") for look in looks) > HEALTHY_LOOKS // 2
