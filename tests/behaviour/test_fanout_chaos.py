# SPDX-License-Identifier: Apache-2.0
"""
Short jobs of several ranks, a few at a time, that end, fail, hang, are stopped
and killed at random. Each ends, with a status that somebody gave it, and
leaves nothing behind. CHAOS_RUNS: how many, 60 unless set.
"""

import os
import random
import signal
import time

import peek
from peek import wait_until

RUNS = int(os.environ.get("CHAOS_RUNS", "60"))
SEED = 20261121


class Round:
    """What one job consists of, decided by its number alone."""

    def __init__(self, number):
        dice = random.Random(SEED + number)
        self.place = dice.choice(["init", "below", "below"])
        self.count = dice.randrange(1, 9)
        self.options = dice.choice([[], ["--grace=20"], ["--grace=1"], ["-v"], ["--signal-group"]])
        self.kinds = [dice.choice(["serves", "serves", "ends", "fails", "dies"])
                      for _ in range(self.count)]
        self.codes = [dice.randrange(1, 120) for _ in range(self.count)]
        self.members = [f"member={dice.choice(['same', 'group', 'session', 'orphan'])}:m{count}"
                        for count in range(dice.randrange(3))]
        self.action = dice.choice(["none", "stop", "stop", "twice", "kill one", "freeze one",
                                   "kill us"])
        self.wait = dice.choice([0, 0.005, dice.uniform(0, 0.1)])
        self.victim = dice.random()
        if self.action == "none" and set(self.kinds) <= {"serves", "ends"} and \
                "serves" in self.kinds:
            self.action = "stop"    # nobody else would end it
        if self.action == "freeze one":
            self.options = ["--grace=1"]    # one that is frozen after it was told

    def steps(self, rank):
        kind = self.kinds[rank]
        last = {"serves": ["serve=15", f"exit={self.codes[rank]}"], "ends": ["exit=0"],
                "fails": [f"exit={self.codes[rank]}"], "dies": ["raise=6"]}[kind]
        return " ".join([*self.members, *last])

    def script(self, probe):
        cases = "; ".join(f"[ $RANK = {rank} ] && exec {probe} /dev/null {self.steps(rank)}"
                          for rank in range(self.count))
        return cases + "; exit 99"

    def statuses(self):
        """Those that may come out."""
        own = {"serves": None, "ends": 0, "dies": 134}
        good = {own.get(kind, code) for kind, code in zip(self.kinds, self.codes)} - {None}
        if good - {0} and self.action == "none":
            return good - {0}
        # a shell that is told before it has become the probe dies of it
        good |= {code for kind, code in zip(self.kinds, self.codes) if kind == "serves"} | {143}
        good |= {"kill one": {137}, "freeze one": {137}, "kill us": {-9}}.get(self.action, set())
        return good | ({137} if "--grace=1" in self.options else set())


def act(job, chance):
    time.sleep(chance.wait)
    wait_until(lambda: job.ended() or peek.children(job.pid), "a rank")
    ranks = peek.children(job.pid)
    victim = ranks[int(chance.victim * len(ranks))] if ranks else None
    if chance.action == "kill us":
        job.signal(signal.SIGKILL)
    elif chance.action == "kill one" and victim:
        job.signal(signal.SIGKILL, victim)
    # one that has not become its command yet would keep us from all else
    elif chance.action == "freeze one" and \
            victim and (peek.stat(victim) or ["rankinit"])[0] != "rankinit":
        job.signal(signal.SIGSTOP, victim)
    if chance.action in ("stop", "twice", "freeze one", "kill one"):
        job.signal(signal.SIGTERM)
    if chance.action == "twice":
        time.sleep(0.06)
        job.signal(signal.SIGTERM)


def test_chaos(box, actor, at_once):
    probe = actor("probe")

    def live(number):
        chance = Round(number)
        job = box.start(f"--nproc-per-node={chance.count}", *chance.options, "--", "sh", "-c",
                        chance.script(probe), place=chance.place)
        act(job, chance)
        result = job.wait()
        story = (number, vars(chance), result.status, result.err)
        assert result.status in chance.statuses(), story
        assert "error:" not in result.err, story
        # what ranks left behind when we were killed is nobody's
        assert chance.action == "kill us" or job.others() == {}, (story, job.others())
        job.close()
        box.jobs.remove(job)
        return result.status

    ended = at_once(live, range(RUNS))
    assert len(ended) == RUNS
