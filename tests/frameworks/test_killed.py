# SPDX-License-Identifier: Apache-2.0
"""
--restarts and a real torch: a job with a checkpoint loses a rank ten times, at random moments, and
ends by itself with the right sum. Two nodes have a network each, and each rankinit is process 1.
The seed is printed; KILLED_SEED repeats it. The control is the same job without --restarts.
"""

import glob
import json
import os
import random
import re
import signal
import time

import pytest

import platforms
from conftest import PROGRAM, TRAIN, clean_env

KEY = "d08fbc5a150028b59a73c7852451d26f"
KILLS, RANKS = 10, 4
BOUND = 580     # seconds for all of it; nothing depends on how far a job comes in them
SECONDS = 4     # a moment is so long behind the first line of a rank, or behind a step


def reach(kills):
    """How far each attempt comes at most: each makes more steps than the one before."""
    return [2 * attempt * (attempt + 1) for attempt in range(1, kills + 2)]


def environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(one.split("=", 1) for one in file.read().decode().split("\0") if "=" in one)
    except OSError:
        return {}


class Job:
    """The nodes of a job, and what becomes of it."""

    def __init__(self, world, commands, kills, ranks, **env):
        self.folder, self.kills, self.ranks = world.folder, kills, ranks
        self.has_ranks = any("nproc" in word for word in commands[0])
        self.until = time.monotonic() + BOUND
        self.world = world
        self.nodes = [world.on(host, words, {"OMP_NUM_THREADS": "1", "KILLED_IN": world.folder,
                                             **env})
                      for host, words in zip(world.hosts.names, commands)]

    def has(self, what, attempt, ranks):
        return all(os.path.exists(f"{self.folder}/{what}.{attempt}.{rank}") for rank in ranks)

    def read(self, what, attempt, rank):
        with open(f"{self.folder}/{what}.{attempt}.{rank}", encoding="ascii") as file:
            return file.read()

    def wait_for(self, condition):
        while not condition():
            assert [node.poll() for node in self.nodes] == [None] * len(self.nodes), repr(self)
            assert time.monotonic() < self.until, repr(self)
            time.sleep(0.02)

    def pid(self, rank, attempt):
        """Of a rank out here: the one Python with its variables."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            has = environment(pid)
            if (has.get("KILLED_IN"), has.get("RANK", "0")) == (self.folder, str(rank)) and \
                    os.path.basename(os.path.realpath(f"/proc/{pid}/exe")).startswith("python"):
                assert has.get("RANKINIT_ATTEMPT", "0") == str(attempt), repr(self)
                found.append(int(pid))
        assert len(found) == 1, repr(self)
        return found[0]

    def kill(self, attempt, rank, moment):
        """moment: the kind, and how long that is."""
        kind, much = moment
        self.wait_for(lambda: self.has("began", attempt, range(self.ranks)))
        if kind == "s":
            time.sleep(much)
        else:
            self.wait_for(lambda: f"step {much} of" in self.said("out"))
        os.kill(self.pid(rank, attempt), signal.SIGKILL)

    def said(self, kind):
        return self.world.said(kind)

    def end(self):
        left = max(1, self.until - time.monotonic())
        return self.world.finish(self.nodes, left)

    def __repr__(self):
        return f"{[node.poll() for node in self.nodes]}\n{self.said('out')[-2000:]}" \
               f"{self.said('err')[-9000:]}"


def plan(kills, ranks):
    """Who dies when. The same one twice in a row may be the same failure without progress."""
    seed = int(os.environ.get("KILLED_SEED") or random.randrange(1 << 32))
    print(f"KILLED_SEED={seed}")
    draw, last, rows, before = random.Random(seed), None, [], 0
    for far in reach(kills)[:-1]:
        last = draw.choice([rank for rank in range(ranks) if rank != last])
        rows.append((last, ("s", draw.uniform(0, SECONDS)) if draw.random() < 0.5
                     else ("steps", draw.randint(before + 1, far))))
        before = far
    return rows


@pytest.fixture
def start(python_with, hosts, tmp_path):
    jobs = []

    def run(nodes, options, kills=KILLS, ranks=RANKS, key=False):
        python = python_with("torch")
        world = platforms.World(hosts(nodes), str(tmp_path), clean_env())
        rows = [[PROGRAM, *(word.replace("@NODE", str(node)) for word in options), "--", python,
                 os.path.join(TRAIN, "adds_up.py"), str(tmp_path),
                 ",".join(map(str, reach(kills)))]
                for node in range(nodes)]
        jobs.append(Job(world, rows, kills, ranks, **({"RANKINIT_LINK_KEY": KEY} if key else {})))
        return jobs[-1]
    yield run
    for job in jobs:
        for node in job.nodes:
            node.kill()
            node.wait()


TWO = ["--nnodes=2", "--node-rank=@NODE", "--nproc-per-node=2", "--master-addr=10.77.0.1",
       "--master-port=29500", "--link", "--checks=none"]


def check_attempts(job, plan):
    """Every attempt had all its ranks and no others, and its own meeting."""
    attempts, tokens = range(job.kills + 1), set()
    began = {os.path.basename(path) for path in glob.glob(f"{job.folder}/began.*")}
    assert began == {f"began.{attempt}.{rank}" for attempt in attempts for rank in range(job.ranks)}
    for attempt in attempts:
        assert {job.read("began", attempt, rank) for rank in range(job.ranks)} == {str(attempt)}
        met = [job.read("met", attempt, rank) for rank in range(job.ranks)
               if job.has("met", attempt, [rank])]
        assert len(set(met)) <= 1 and not tokens & set(met), (attempt, met)
        tokens |= set(met)
    assert job.has("met", job.kills, range(job.ranks)) and len(plan) == job.kills
    assert len(tokens) >= sum(kind == "steps" for _, (kind, _) in plan) + 1


def check_reports(job, plan, nodes):
    """FILE.1 and on: in each the rank that was killed, on every node; the last one is FILE."""
    for node in range(nodes):
        name = f"{job.folder}/{node}.json"
        assert sorted(glob.glob(name + "*")) == sorted(
            [name, *(f"{name}.{number}" for number in range(1, job.kills + 1))])
        for number, (rank, _) in enumerate(plan, 1):
            with open(f"{name}.{number}", encoding="utf-8") as file:
                report = json.load(file)
            if rank // (job.ranks // nodes) != node:
                assert report["exit_status"] == 122, (number, report)
                continue
            verdict = report["verdict"]
            assert (verdict["cause"], verdict["retry"], verdict["status"], verdict["retries"],
                    verdict["rank"]) == ("killed", "same", 137, number - 1,
                                         rank if job.has_ranks else None), (number, verdict)
        with open(name, encoding="utf-8") as file:
            last = json.load(file)
        assert last["exit_status"] == 0 and last["verdict"] is None


def check_end(job, plan, nodes):
    outcome = job.end()
    assert outcome.codes == [0] * nodes, str(outcome)
    total = sum(index * index + 1 for index in range(reach(job.kills)[-1] * job.ranks))
    assert f"the sum is {total}\n" in outcome.out, str(outcome)
    again = re.findall(r"(?:the ranks start|it starts) again \(restart (\d+) of \d+\)", outcome.err)
    assert sorted(map(int, again)) == sorted([*range(1, job.kills + 1)] * nodes), str(outcome)
    check_attempts(job, plan)
    check_reports(job, plan, nodes)


def test_two_nodes_are_hit_ten_times(start, tmp_path):
    rows = plan(KILLS, RANKS)
    job = start(2, [*TWO, f"--restarts={KILLS}", f"--report={tmp_path}/@NODE.json"], key=True)
    for attempt, (rank, moment) in enumerate(rows):
        job.kill(attempt, rank, moment)
    check_end(job, rows, 2)


def test_without_restarts_the_first_hit_ends_it(start):
    """The control."""
    job = start(2, TWO, key=True)
    job.kill(0, 3, ("steps", 1))
    outcome = job.end()
    assert outcome.codes == [122, 137], str(outcome)
    assert "the sum is" not in outcome.out and "start again" not in outcome.err
    assert glob.glob(f"{job.folder}/began.1.*") == []


@pytest.mark.parametrize("ranks, options", [
    (4, ["--nproc-per-node=4"]), (1, ["--nproc-per-node=1"]), (1, [])])
def test_one_node_without_a_link(start, tmp_path, ranks, options):
    rows = [(rank if ranks > 1 else 0, ("steps", far))
            for rank, far in zip((2, 0, 3), reach(3))]
    job = start(1, [*options, "--checks=none", f"--restarts={len(rows)}",
                    f"--report={tmp_path}/@NODE.json"], kills=len(rows), ranks=ranks)
    for attempt, (rank, moment) in enumerate(rows):
        job.kill(attempt, rank, moment)
    check_end(job, rows, 1)
