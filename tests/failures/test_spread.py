# SPDX-License-Identifier: Apache-2.0
"""
The recorded failures, spread over several nodes in virtual time: with --link, node 0 names the same
ranks whether the nodes answer its question or it waits for the half second.
"""
import os
import random
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reading  # noqa: E402  pylint: disable=wrong-import-position

SPREAD = reading.HERE.parent.parent / "build" / "release" / "tests" / "spread"
LATE_MS = 700       # that a node may hear of an end on another one
SEEDS = 3


class Times:
    """When each rank prints its last traceback, closes its connections and ends; ms or None."""

    def __init__(self, failure, node_of, seed):
        self.failure, self.node_of = failure, node_of
        draw = random.Random(f"{failure.name} {seed}")
        self.late = [draw.randrange(LATE_MS + 1) for _ in range(4)]
        self.of = {}

    def lost(self, rank, peer):
        """When this one hears of the end of that."""
        at = self.rank(peer)[1]
        if at is None:
            return None
        return at + (self.late[self.node_of[rank]] if self.node_of[rank] != self.node_of[peer]
                     else 0)

    def rank(self, rank):
        if rank not in self.of:
            self.of[rank] = (None, None, None, 0)   # of a rank that waits for itself
            self.of[rank] = self.find(rank)
        return self.of[rank]

    def find(self, rank):
        """(traceback, close, end, wait status)"""
        clock, traceback, close = 0, None, None
        for step in self.failure.steps_of(rank):
            if step.wait == "term":
                continue
            clock = {"at": lambda: step.ms, "delay": lambda: clock + step.ms,
                     "after": lambda: self.lost(rank, step.peer)}[step.wait]()
            if clock is None:
                break
            clock += step.ms if step.wait == "after" else 0
            if step.what == "stderr" and "Traceback (most recent call last)" in step.text:
                traceback = clock
            elif step.what == "close":
                close = clock
            elif step.what in ("exit", "signal", "kill"):
                status = {"exit": step.number << 8, "signal": step.number, "kill": 9}[step.what]
                return traceback, clock if close is None else close, clock, status
        return traceback, close, None, 0


def job(failure, nodes, seed):
    """The words of spread.c for it."""
    here = list(failure.here)
    node_of = {rank: at * nodes // len(here) for at, rank in enumerate(here)}
    times = Times(failure, node_of, seed)
    words = [f"job {nodes} {len(here)}\n".encode()]
    for rank in here:
        traceback, _, end, status = times.rank(rank)
        said = "".join(failure.said(step, rank) for step in failure.steps_of(rank)
                       if step.what == "stderr" and step.wait != "term").encode()
        words.append(f"rank {node_of[rank]} {-1 if traceback is None else traceback} "
                     f"{-1 if end is None else end} {status} {len(said)}\n".encode() + said)
    return b"".join(words)


def jobs(nodes):
    failures, faults = reading.load()
    assert not faults
    return [(failure.name, seed, job(failure, nodes, seed)) for failure in failures
            if failure.ranks >= nodes for seed in range(SEEDS)]


def play(all_jobs):
    """Of each two verdicts, with answers and without: (ms, ranks that are named)."""
    result = subprocess.run([SPREAD], input=b"".join(words for _, _, words in all_jobs),
                            stdout=subprocess.PIPE, check=True)
    lines = result.stdout.decode().splitlines()
    assert len(lines) == len(all_jobs)
    for line in lines:
        yield [(int(at), set(ranks)) for at, *ranks in map(str.split, line.split(","))]


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_the_same_names(nodes):
    spread, sooner, named = jobs(nodes), 0, 0
    for (name, seed, _), (answered, waited) in zip(spread, play(spread)):
        assert answered[0] <= waited[0], (name, seed)
        assert answered[1] == waited[1], (name, seed, answered, waited)
        sooner += answered[0] < waited[0]
        named += bool(waited[1] - {"-1"})
    # the control: these are jobs that fail, and answers end the wait
    assert named > len(spread) / 3 and sooner > len(spread) / 4, (named, sooner, len(spread))
