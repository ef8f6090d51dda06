# SPDX-License-Identifier: Apache-2.0
"""
Ranks that flood both of their outputs while they end, fail, are killed,
frozen or stopped at random, read by somebody who dawdles. Nothing is left, no
line is lost or torn, and files and terminal tell the same. CHAOS_RUNS: how
many, 40 unless set.
"""

import os
import random
import signal
import threading
import time

import peek
from peek import wait_until

RUNS = int(os.environ.get("CHAOS_RUNS", "40"))
SEED = 20261122
LINES = 3000
# number, rank, stream and a filler whose length follows from both
TALK = """
import os, signal, sys, time
rank, fate, count = int(os.environ['RANK']), sys.argv[1], int(sys.argv[2])
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
def write(fd, data):
    while data:
        data = data[os.write(fd, data):]
for n in range(count):
    size = (n * 37 + rank * 11) % 400 if n % 500 else 70000
    for fd in (1, 2):
        write(fd, b'%d %d %d %s\\n' % (n, rank, fd, b'x' * size))
    if told: break
write(1, b'end %d %d\\n' % (rank, n))
if fate == 'dies': os.kill(os.getpid(), signal.SIGSEGV)
while fate == 'stays' and not told: time.sleep(0.01)
os._exit(int(fate) if fate.isdigit() else 0)
"""


class Round:
    def __init__(self, number):
        dice = random.Random(SEED + number)
        self.place = dice.choice(["init", "below"])
        self.count = dice.randrange(2, 7)
        self.fates = [dice.choice(["0", "0", "0", "7", "dies", "stays"])
                      for _ in range(self.count)]
        self.action = dice.choice(["none", "none", "stop", "kill one", "freeze one"])
        if self.action == "none" and "stays" in self.fates and \
                not {"7", "dies"} & set(self.fates):
            self.action = "stop"
        logs = "--log-file=@FOLDER/logs/%r"
        self.options = dice.choice([["--log-prefix"], ["--log-prefix", logs],
                                    ["--log-prefix", logs, "--report=r.json"]])
        self.lines = dice.choice([10, LINES // 10, LINES])
        self.wait = dice.uniform(0, 0.3)
        self.dawdle = dice.choice([0, 0, 0.002])
        self.victim = dice.random()

    def words(self):
        cases = "; ".join(f"[ $RANK = {rank} ] && exec /usr/bin/python3 -I -S -c \"$TALK\" {fate} "
                          f"{self.lines}" for rank, fate in enumerate(self.fates))
        return [f"--nproc-per-node={self.count}", "--grace=8", *self.options, "--", "sh", "-c",
                cases]


class Reader(threading.Thread):
    """Takes what comes through a pipe, now and then with a pause."""

    def __init__(self, dawdle):
        super().__init__()
        self.dawdle = dawdle
        self.end, self.given = os.pipe()
        self.parts = []

    def run(self):
        while True:
            part = os.read(self.end, 65536)
            if not part:
                break
            self.parts.append(part)
            time.sleep(self.dawdle)
        os.close(self.end)


def act(job, chance):
    time.sleep(chance.wait)
    wait_until(lambda: job.ended() or peek.children(job.pid), "a rank")
    ranks = [pid for pid in peek.children(job.pid)
             if (peek.stat(pid) or ["rankinit"])[0] != "rankinit"]
    victim = ranks[int(chance.victim * len(ranks))] if ranks else None
    if victim and chance.action == "kill one":
        job.signal(signal.SIGKILL, victim)
    if victim and chance.action == "freeze one":
        job.signal(signal.SIGSTOP, victim)
    if chance.action != "none":
        job.signal(signal.SIGTERM)


def check_streams(text, chance, story):
    """Each rank's lines are whole, and none is missing between two of them."""
    seen = {(rank, fd): 0 for rank in range(chance.count) for fd in (1, 2)}
    ends = {}
    for line in text.split(b"\n"):
        if line.startswith(b"rankinit: ") or not line:
            continue
        head, _, said = line.partition(b"] ")
        words = said.split(b" ")
        if words[0] == b"end":
            assert head == b"[" + words[1], (line[:80], story)
            ends[int(words[1])] = int(words[2])
            continue
        if len(words) < 4:
            # the shell's own, or the last words of one that was killed
            continue
        number, rank, fd = (int(word) for word in words[:3])
        assert head == b"[%d" % rank, (line[:80], story)
        size = (number * 37 + rank * 11) % 400 if number % 500 else 70000
        whole = len(words[3]) == size
        # a line past the bound goes on in the next one, and those of the killed end anywhere
        assert whole or size == 70000 or rank not in ends, (line[:80], story)
        assert number == seen[rank, fd], (line[:80], seen[rank, fd], story)
        seen[rank, fd] += 1
    for rank, last in ends.items():
        assert seen[rank, 1] == seen[rank, 2] == last + 1, (rank, seen, ends, story)
    return ends


def live(box, number):
    chance = Round(number)
    reader = Reader(chance.dawdle)
    job = box.start(*chance.words(), place=chance.place, env={"TALK": TALK},
                    stdout=reader.given, stderr=reader.given)
    os.close(reader.given)
    reader.start()
    act(job, chance)
    result = job.wait()
    story = (number, vars(chance), result.status)
    assert job.others() == {}, (story, job.others())
    folder = os.path.join(job.folder, "logs")
    files = [open_bytes(os.path.join(folder, name)) for name in
             (os.listdir(folder) if os.path.isdir(folder) else [])]
    # who made the namespace has the pipe as well
    job.close()
    box.jobs.remove(job)
    reader.join(20)
    assert not reader.is_alive(), story
    check_job(chance, b"".join(reader.parts), files, story)


def check_job(chance, text, files, story):
    ends = check_streams(text, chance, story)
    assert b"lost" not in text, story
    for rank, last in ends.items():
        assert not files or any(b"end %d %d\n" % (rank, last) in file for file in files), story
    if chance.action != "none":
        return
    wanted = {0} if set(chance.fates) <= {"0"} else {7, 139}
    assert story[-1] in wanted, story
    assert wanted != {0} or len(ends) == chance.count, story


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def test_chaos_of_output(box, at_once):
    def one(number):
        live(box, number)
        return True
    assert at_once(one, range(RUNS)) == [True] * RUNS
