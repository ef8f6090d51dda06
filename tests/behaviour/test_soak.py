# SPDX-License-Identifier: Apache-2.0
"""
A thousand short lives, several at a time: started, stopped and killed at
random moments. Nothing hangs, nothing crashes, nothing stays.
"""

import os
import random
import signal
import time

import peek
from peek import PATIENCE, wait_until

ROUNDS = 1000
SEED = 20240229
MARK = "rankinit-soak"


class Round:
    """What one life consists of, decided by its number alone."""

    def __init__(self, number):
        dice = random.Random(SEED + number)
        self.place = dice.choice(["init", "below"])
        self.kind = dice.choice(["ends", "dies", "stopped", "stopped", "twice", "command killed",
                                 "killed"])
        self.code = dice.randrange(256)
        self.wait = dice.choice([0, 0, dice.uniform(0, 0.02)])
        self.members = [f"member={dice.choice(['same', 'group', 'session'])}:m{count}"
                        for count in range(dice.randrange(4))]
        self.orphans = f"orphans={dice.randrange(1, 12)}"
        self.options = dice.choice([[], ["--grace=20"], ["-v"], ["--signal-group"]])

    def steps(self):
        if self.kind == "ends":
            return [*self.members, self.orphans, f"exit={self.code}"]
        if self.kind == "dies":
            return [*self.members, self.orphans, "raise=6"]
        return [*self.members, self.orphans, "serve=15", f"exit={self.code}"]

    def good(self):
        """The exit statuses that are right; a TERM may come before it is blocked."""
        return {
            "ends": {self.code},
            "dies": {134},
            "stopped": {self.code, 143},
            "twice": {self.code, 143},
            "command killed": {137},
            "killed": {-9},
        }[self.kind]


def listens(job):
    """
    It has its signals blocked; before that the kernel drops them for process 1.
    While it waits for one they look unblocked, but it has a child then.
    """
    blocked = peek.field(job.pid, "SigBlk")
    return blocked is None or blocked.startswith("fffff") or peek.children(job.pid) or job.ended()


def disturb(job, life):
    """Returns when there is nothing left to do but wait."""
    wait_until(lambda: listens(job), "rankinit")
    time.sleep(life.wait)
    if life.kind in ("stopped", "twice"):
        job.signal(signal.SIGTERM)
    if life.kind == "twice":
        job.signal(signal.SIGTERM)
    if life.kind == "killed":
        job.signal(signal.SIGKILL)
    if life.kind == "command killed":
        wait_until(lambda: peek.children(job.pid), "the command")
        job.signal(signal.SIGKILL, job.main())


def live(box, probe, number):
    """One life; returns what was wrong with it, or None."""
    life = Round(number)
    job = box.start(*life.options, "--", probe, "/dev/null", *life.steps(), place=life.place,
                    env={"MARK": MARK})
    try:
        disturb(job, life)
        if not job.ended(PATIENCE):
            return f"round {number}: {vars(life)}: hangs: {job.members()}: {job.error_text()}"
        result = job.wait()
        if result.status not in life.good():
            return f"round {number}: {vars(life)}: status {result.status}: {result.err}"
        # a killed rankinit takes its command with it, the members are told by nobody
        if life.kind != "killed" and job.others():
            return f"round {number}: {vars(life)}: left {job.others()}"
        return None
    finally:
        box.jobs.remove(job)
        job.close()


def marked():
    """Processes anywhere that have our mark in their environment."""
    return [pid for pid in os.listdir("/proc")
            if pid.isdigit() and b"MARK=" + MARK.encode() in peek.read(pid, "environ")]


def test_soak(box, actor, at_once):
    probe = actor("probe")
    # the control: a process of a round is seen by the check at the end
    job = box.start("--", "sleep", "60", env={"MARK": MARK})
    job.main()
    assert len(marked()) >= 2
    box.jobs.remove(job)
    job.close()
    wrong = at_once(lambda number: live(box, probe, number), range(ROUNDS))
    assert [text for text in wrong if text] == []
    wait_until(lambda: marked() == [], "all of them have gone")
    zombies = [pid for pid in peek.children(os.getpid()) if peek.state(pid) == "Z"]
    assert zombies == []
