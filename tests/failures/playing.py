# SPDX-License-Identifier: Apache-2.0
"""Play a recorded failure once more, below a rankinit, and judge what it says."""
import json
import os
import pathlib
import random
import shutil
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass

from reading import STREAMS, flat

LONGEST_MS = 3000       # of any pause
NOISE_MS = 3
SLOWNESS = (0, 0, 2, 6)     # of a culprit's death; see die_slowly() of python_actor.c
GRACE = 8               # rankinit waits a quarter of it, at most, for a culprit to speak
PATIENCE = 45           # seconds; the ranks end of their own after 30
BASE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}

MOST_SLOW = 4           # where all are culprits: instances are few

# Who failed, in the first line: "rank 2 (local rank 2, pid 17 on node-a) failed first: ...".
LIST = r"\branks? (\d[\d, -]*?(?:(?:and|or) (?:rank )?\d+)?),? (?:\([^)]*\),? )?"
FAILED = re.compile(LIST + r"(?:all )?failed\b")
# Where it says so of none, what else the first two lines hold against one: that it had left, or
# did not come.
BLAMED = re.compile(LIST + r"(?:did not|had ended|had exited|ended before|never|hangs|hung)\b")
LEVEL = re.compile(r"rankinit: (?:(?:warning|error|note|info)\b|verdict cause=)")
MACHINE = "rankinit: verdict cause="     # the verdict's last line, for programs


class Jitter:
    """What a seed makes of the times of one failure: their order stays."""

    def __init__(self, failure, seed):
        self.random = random.Random(f"{failure.name} {seed}")
        self.by_lines = self.random.random() < 0.5
        self.slowness = self.random.choice(SLOWNESS)
        self.warped = {0: 0.0}
        now, before = 0.0, 0
        for ms in sorted({ms for rank in failure.here for ms in nominal(failure, rank)}):
            now += self.stretch(ms - before)
            before = ms
            self.warped[ms] = now

    def stretch(self, ms):
        return min(LONGEST_MS, min(LONGEST_MS, ms) * 2 ** self.random.uniform(-1, 1))

    def noise(self):
        return self.random.uniform(0, NOISE_MS)

    def at(self, ms):
        return round(1000 * (self.warped[ms] + self.noise()))

    def delay(self, ms):
        return round(1000 * (self.stretch(ms) + self.noise()))


def timed(failure, rank):
    """Each step of a rank and its time since the start; None after an end of another."""
    clock = 0
    for step in failure.steps_of(rank):
        if step.wait == "at":
            clock = step.ms
        elif step.wait == "after":
            clock = None
        elif step.wait == "delay" and clock is not None:
            clock += step.ms
        yield step, None if step.wait in ("after", "term") else clock


def nominal(failure, rank):
    return [ms for _, ms in timed(failure, rank) if ms is not None]


def torch_file(traceback):
    """
    What ErrorHandler.record_exception() of torch.distributed.elastic writes, up to the digits of
    its time.
    """
    words = [json.dumps(text) for text in (traceback.strip().splitlines()[-1], traceback)]
    return ('{"message": {"message": %s, "extraInfo": {"py_callstack": %s, "timestamp": "'
            % tuple(words))


def last_words(failure, rank):
    """The traceback that a rank exits of: it has left its program when it prints that."""
    steps = [step for step in failure.steps_of(rank) if step.wait != "term"]
    if not steps or steps[-1].what != "exit":
        return None
    return next((step for step in reversed(steps) if step.what == "stderr" and
                 "Traceback (most recent call last)" in step.text), None)


def plan_of(failure, rank, jitter):
    """The steps of a rank for python_actor.c, which explains them."""
    lines, last_term, last = [], 0, last_words(failure, rank)
    for step, clock in timed(failure, rank):
        word, number, text = step.what, step.number, b""
        if word in STREAMS:
            word = "lines" if jitter.by_lines else "text"
            number = 1 + STREAMS.index(step.what)
            text = failure.said(step, rank).encode()
        elif word == "record":
            text = torch_file(failure.said(step, rank)).encode()
        elif word == "kill":
            word, number = "signal", 9
        peer = step.peer - failure.first if step.wait == "after" else 0
        if step.what == "ignore":
            head = "play delay 0 0"
            lines.insert(0, f"{head} ignore 0 0\n".encode())
            continue
        if step.wait == "term":
            ms = step.ms - last_term if step.fresh else step.ms
            last_term = step.ms if step.fresh else last_term + step.ms
            head = f"term delay 0 {jitter.delay(max(0, ms))}"
        elif clock is not None:
            head = f"play at 0 {jitter.at(clock)}"
        else:
            head = f"play {step.wait} {peer} {jitter.delay(step.ms)}"
        if step is last:
            lines.append(f"{head} ending 0 0\n".encode())
            head = "play delay 0 0"
        lines.append(f"{head} {word} {number} {len(text)}\n".encode() + text)
    slowness = jitter.slowness if rank in failure.culprits[:MOST_SLOW] else 0
    return f"{slowness}\n".encode() + b"".join(lines)


@dataclass
class Verdict:
    """What rankinit said of a replay in the end."""
    lines: list         # without "rankinit: "
    status: int         # of rankinit; negative: the signal that ended it
    report: dict        # or None
    stderr: str
    machine: dict       # of the line for programs; empty: there is none

    @property
    def headline(self):
        return self.lines[0] if self.lines else ""

    @property
    def retry(self):
        return self.machine.get("retry")

    @property
    def named(self):
        """The ranks that it holds for the culprit, or one of them."""
        return self.failed or sorted({rank for line in self.lines[:2]
                                      for words in BLAMED.findall(line)
                                      for rank in ranks_of(words)})

    @property
    def failed(self):
        return [rank for words in FAILED.findall(self.headline) for rank in ranks_of(words)]

    @property
    def text(self):
        return flat(" ".join(self.lines))


def ranks_of(words):
    """Of a list such as "0-2, 5 and 7"."""
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", words):
        yield from range(int(first), int(last or first) + 1)


def machine_line(stderr):
    """Keys and words of the line for programs, which is the last one of its kind."""
    lines = [line for line in stderr.splitlines() if line.startswith(MACHINE)]
    return dict(word.split("=", 1) for word in shlex.split(lines[-1])[2:]) if lines else {}


def verdict_lines(stderr):
    """The block at the end: a line that is not indented, and those below it."""
    lines = stderr.splitlines()
    block = []
    while lines and lines[-1].startswith("rankinit: "):
        line = lines.pop()
        if LEVEL.match(line):
            continue
        block.insert(0, line.removeprefix("rankinit: "))
        if not line.startswith("rankinit:  "):
            break
    return block


def command_of(failure, players, folder):
    words = [str(players.binary), f"--nproc-per-node={failure.ranks}", "--checks=none",
             f"--grace={GRACE}", f"--report={folder}/report.json"]
    if failure.nodes > 1:
        words += [f"--nnodes={failure.nodes}", f"--node-rank={failure.node}",
                  "--master-addr=192.0.2.10", "--master-port=29500"]
    # a python by its name, as only what is python itself is believed to have ended of an exception
    actor = shutil.copy(players.actor, os.path.join(folder, "python3"))
    return words + players.options + ["--", actor, folder, str(failure.first)]


@dataclass
class Players:
    binary: pathlib.Path
    actor: pathlib.Path
    options: list       # more words for rankinit


def play(failure, seed, players):
    """One replay. The verdict, or a sentence that says why there is none."""
    jitter = Jitter(failure, seed)
    with tempfile.TemporaryDirectory(prefix="failure-") as folder:
        for rank in failure.here:
            path = pathlib.Path(folder, f"plan-{rank - failure.first}")
            path.write_bytes(plan_of(failure, rank, jitter))
        with open(os.path.join(folder, "out"), "wb") as out, \
                open(os.path.join(folder, "err"), "w+b") as err:
            job = subprocess.Popen(command_of(failure, players, folder), env=BASE, cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=err)
            try:
                status = job.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                job.kill()
                job.wait()
                return f"the replay did not end in {PATIENCE} s"
            err.seek(0)
            stderr = err.read().decode(errors="replace")
        try:
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
        except (OSError, ValueError):
            report = None
    if "\nactor: " in "\n" + stderr:
        return "an actor failed: " + re.search(r"^actor: (.*)", stderr, re.M)[1]
    return Verdict(verdict_lines(stderr), status, report, stderr, machine_line(stderr))


# What is wrong with a replay, the worst first.
WRONG = ("broken", "named wrongly", "nobody named", "status", "cause", "never", "report")


def judge(failure, verdict):
    """(what is wrong, a sentence) for each thing that is; none: the replay is right."""
    if isinstance(verdict, str):
        return [("broken", verdict)]
    faults = []
    if verdict.status < 0 or not verdict.lines:
        return [("broken", f"rankinit ended with {verdict.status} and without a verdict")]
    if any(rank["signal"] == "SIGALRM" for rank in (verdict.report or {}).get("ranks", ())):
        return [("broken", "a rank was still there after 30 s")]
    named = verdict.named
    if any(rank not in failure.culprits for rank in named):
        faults.append(("named wrongly", f"it names rank {' and '.join(map(str, named))}"))
    elif failure.culprits and not named and failure.ranks > 1:
        faults.append(("nobody named", f"it names no rank: {verdict.headline}"))
    if verdict.status != failure.status:
        faults.append(("status", f"exit status {verdict.status}, not {failure.status}"))
    for cause in failure.values("cause"):
        if flat(cause) not in verdict.text:
            faults.append(("cause", f"it does not say \"{cause}\""))
    for never in failure.values("never"):
        if flat(never) in flat(" ".join(verdict.lines[:2])):
            faults.append(("never", f"its first two lines say \"{never}\""))
    return faults + list(judge_report(verdict))


def judge_report(verdict):
    """The report says the same."""
    if verdict.report is None:
        yield "report", "there is no report"
        return
    first = verdict.report["first_failure"]
    rank = first and first["rank"]
    if rank not in (verdict.named or [None]):
        yield "report", f"the report's first failure is rank {rank}"
    if verdict.report["exit_status"] != verdict.status:
        yield "report", f"the report's exit status is {verdict.report['exit_status']}"
    for name in ("cause", "retry"):
        said = (verdict.report.get("verdict") or {}).get(name)
        if said != verdict.machine.get(name):
            yield "report", f"the report's {name} is {said}, not {verdict.machine.get(name)}"
