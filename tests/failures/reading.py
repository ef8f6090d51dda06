# SPDX-License-Identifier: Apache-2.0
"""Read recorded failures, as README.md says they are written."""
import pathlib
import re
import signal
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
HALVES = ("known", "aside")
MAX_RANKS = 64

# The fields of the header: whether it must be there, whether it may stand twice.
FIELDS = {
    "origin": (True, True), "framework": (True, False), "ranks": (True, False),
    "node": (False, False), "culprit": (True, False), "cause": (False, True),
    "never": (False, True), "status": (True, False), "retry": (True, False),
    "silent": (False, False), "torchrun": (False, False), "torchrun-record": (False, False),
}
RETRIES = ("never", "same", "other_node")   # what to do next, as lib/report/causes.def has it
ENDS = ("exit", "signal", "kill", "hang")
STREAMS = ("stdout", "stderr")
TEXTS = STREAMS + ("record",)   # what has lines below it
ACTIONS = TEXTS + ENDS + ("close", "ending")
STEP = re.compile(r"@(?P<ranks>\S+) +(?:term +(?P<term>ignore|\+?\d+)|"
                  r"after +(?P<peer>\S+)(?: +\+?(?P<late>\d+))?|(?P<when>\+?\d+))"
                  r"(?: +(?P<what>\S+)(?: +(?P<number>\S+))?)?")
# Where a silent death has no words of its own, its cause is rankinit's.
OWN_WORDS = re.compile(r"killed by|exit status|out of memory|exited|SIG[A-Z]+|ranks? \d|node \d")


class Malformed(Exception):
    """A file that cannot be read: its name, the line and why."""


@dataclass
class Step:
    line: int
    ranks: list
    wait: str           # "at", "delay", "after", "term"
    ms: int
    what: str           # one of ACTIONS, or "ignore"
    number: int = 0     # of an exit or a signal
    peer: int = 0       # whose end is waited for
    fresh: bool = True  # of "term": counted from the signal, not from the step before
    text: str = ""


@dataclass
class Failure:
    name: str
    path: str
    half: str           # known, aside, or the name of its folder
    title: str = ""
    fields: dict = field(default_factory=dict)  # name: list of (line, value)
    ranks: int = 0      # of this node
    node: int = 0
    nodes: int = 1
    culprits: list = field(default_factory=list)    # ranks; empty: none may be named
    steps: list = field(default_factory=list)

    def values(self, name):
        return [value for _, value in self.fields.get(name, [])]

    def value(self, name):
        return self.values(name)[0] if name in self.fields else None

    @property
    def first(self):
        """The first rank of this node, in the job."""
        return self.node * self.ranks

    @property
    def here(self):
        return range(self.first, self.first + self.ranks)

    @property
    def status(self):
        return int(self.value("status"))

    @property
    def is_silent(self):
        return self.value("silent") == "yes"

    @property
    def is_live(self):
        return any(origin.startswith("live") for origin in self.values("origin"))

    def steps_of(self, rank):
        return [step for step in self.steps if rank in step.ranks]

    def text_of(self, rank):
        """All that this rank may say."""
        return "\n".join(self.said(step, rank) for step in self.steps_of(rank))

    def said(self, step, rank):
        """The text of a step, as this rank says it."""
        names = {"{rank}": str(rank), "{local_rank}": str(rank - self.first),
                 "{cr}": "\r", "{esc}": "\033"}
        text = re.sub("|".join(map(re.escape, names)), lambda at: names[at[0]], step.text)
        return text.replace("{no newline}\n", "")


class Reader:
    """One file, line by line."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.number = 0
        path = pathlib.Path(path)
        self.failure = Failure(path.stem, str(path), path.parent.name)

    def fault(self, why, number=None):
        return Malformed(f"{self.path}:{number or self.number}: {why}")

    def read(self):
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*\.failure", pathlib.Path(self.path).name):
            raise self.fault("the name of the file is not small letters, digits, hyphens and "
                             "then .failure", 1)
        rest = iter(self.lines)
        self.header(rest)
        self.facts()
        self.body(rest)
        self.whole()
        return self.failure

    # The header.

    def header(self, rest):
        fields = self.failure.fields
        for line in rest:
            self.number += 1
            if line.startswith("#"):
                self.failure.title = self.failure.title or line.lstrip("# ")
            elif line == "":
                if fields:
                    break
            else:
                self.header_line(line, fields)
        if not self.failure.title:
            raise self.fault("no line \"# ...\" says in one sentence what happened", 1)
        for name, (needed, _) in FIELDS.items():
            if needed and name not in fields:
                raise self.fault(f"the header has no line \"{name}: ...\"", 1)

    def header_line(self, line, fields):
        name, colon, value = line.partition(":")
        if line.startswith("@"):
            raise self.fault("no empty line stands between the header and the first step")
        if not colon or name not in FIELDS:
            raise self.fault(f"\"{name[:40]}\" is no name of the header; there are "
                             f"{', '.join(FIELDS)}")
        if name in fields and not FIELDS[name][1]:
            raise self.fault(f"\"{name}\" stands twice, first in line {fields[name][0][0]}")
        if not value.strip():
            raise self.fault(f"\"{name}\" has no value")
        fields.setdefault(name, []).append((self.number, value.strip()))

    def match(self, name, pattern, looks):
        """The groups of a field's value; None where it is not there."""
        if name not in self.failure.fields:
            return None
        line, value = self.failure.fields[name][0]
        found = re.fullmatch(pattern, value)
        if not found:
            raise self.fault(f"\"{name}: {value}\" is not {looks}", line)
        return found.groups()

    def line_of(self, name):
        return self.failure.fields[name][0][0]

    def facts(self):
        failure = self.failure
        failure.ranks = int(self.match("ranks", r"(\d{1,3})", "a number of ranks")[0])
        if not 1 <= failure.ranks <= MAX_RANKS:
            raise self.fault(f"not 1 to {MAX_RANKS} ranks", self.line_of("ranks"))
        node = self.match("node", r"(\d{1,4}) of (\d{1,4})", "like \"0 of 2\"")
        if node:
            failure.node, failure.nodes = map(int, node)
            if failure.node >= failure.nodes:
                raise self.fault(f"node {failure.node} is none of {failure.nodes}, which are "
                                 f"counted from 0", self.line_of("node"))
        (status,) = self.match("status", r"(\d{1,3})", "a number of 0 to 255")
        if int(status) > 255:
            raise self.fault("not 0 to 255", self.line_of("status"))
        self.match("silent", "(yes|no)", "yes or no")
        self.match("retry", f"({'|'.join(RETRIES)})", "never, same or other_node")
        for name in ("torchrun", "torchrun-record"):
            self.match(name, r"(\d+|none)", "a rank or none")
        self.culprits()

    def culprits(self):
        failure = self.failure
        line, value = failure.fields["culprit"][0]
        if value == "all":
            failure.culprits = list(failure.here)
        elif re.fullmatch(r"\d+( or \d+)*", value):
            failure.culprits = [int(word) for word in value.split(" or ")]
        elif value not in ("elsewhere", "unknown"):
            raise self.fault(f"\"culprit: {value}\" is not a rank, \"2 or 3\", all, elsewhere or "
                             f"unknown", line)
        for rank in failure.culprits:
            self.check_rank(rank, line, "if the culprit ran on another node, say elsewhere")
        if value == "elsewhere" and failure.nodes == 1:
            raise self.fault("elsewhere is on another node, but no \"node: 0 of 2\" says that "
                             "there is one", line)
        if failure.is_silent and not failure.culprits:
            raise self.fault("silent is the death of a rank, but no rank is the culprit",
                             self.line_of("silent"))

    def check_rank(self, rank, line, hint=""):
        here = self.failure.here
        if rank not in here:
            raise self.fault(f"rank {rank} is not on this node, which has ranks {here[0]}-"
                             f"{here[-1]}" + (f"; {hint}" if hint else ""), line)

    # The steps.

    def body(self, rest):
        step = None
        for line in rest:
            self.number += 1
            if line.startswith("@") and not line.startswith("@@"):
                step = self.step(line)
                self.failure.steps.append(step)
            elif step is not None and step.what in TEXTS:
                step.text += line.removeprefix("@" if line.startswith("@@") else "") + "\n"
            elif line and not line.startswith("#"):
                raise self.fault("a text without a step; one begins with a line such as "
                                 "\"@0-3 100 stderr\"" if step is None else
                                 f"a text after \"{step.what}\", which has none")
        for step in self.failure.steps:
            step.text = step.text.rstrip("\n") + "\n" * (step.text.strip("\n") != "")
            if step.what in TEXTS and not step.text:
                raise self.fault(f"{step.what} without a text", step.line)

    def step(self, line):
        found = STEP.fullmatch(line.rstrip())
        if not found:
            raise self.fault("a step is not \"@RANKS WHEN WHAT\": RANKS such as 0-3,5, WHEN such "
                             "as 100, +30, \"after 2 +1\" or \"term 50\", WHAT one of "
                             f"{', '.join(ACTIONS)}")
        step = Step(self.number, self.ranks(found["ranks"]), "at", 0, found["what"])
        if found["term"]:
            step.wait, step.fresh = "term", not found["term"].startswith("+")
            if found["term"] == "ignore":
                if found["what"]:
                    raise self.fault("nothing stands after \"term ignore\"")
                step.what = "ignore"
                return step
            step.ms = int(found["term"])
        elif found["peer"]:
            step.wait, step.ms = "after", int(found["late"] or 0)
            step.peer = self.peer(found["peer"], step.ranks)
        else:
            step.wait = "delay" if found["when"].startswith("+") else "at"
            step.ms = int(found["when"])
        step.number = self.what(found["what"], found["number"])
        return step

    def ranks(self, words):
        ranks = []
        for word in words.split(","):
            ends = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
            if not ends:
                raise self.fault(f"\"@{words}\" is no list of ranks, such as @2, @0-3 or @0-1,3; "
                                 f"a line of a text that begins with @ is written @@")
            first, last = int(ends[1]), int(ends[2] or ends[1])
            if last < first:
                raise self.fault(f"\"{word}\" goes from {first} down to {last}")
            for rank in (first, last):
                self.check_rank(rank, self.number)
            ranks += range(first, last + 1)
        if len(set(ranks)) < len(ranks):
            raise self.fault(f"\"@{words}\" names a rank twice")
        return ranks

    def peer(self, word, ranks):
        if not re.fullmatch(r"\d+", word):
            raise self.fault(f"\"after {word}\" does not name one rank")
        self.check_rank(int(word), self.number,
                        "what another node's ranks do has no step, write a time")
        if int(word) in ranks:
            raise self.fault(f"rank {word} waits for its own end")
        return int(word)

    def what(self, word, number):
        if word not in ACTIONS:
            raise self.fault(f"\"{word or ''}\" is none of {', '.join(ACTIONS)}")
        if word == "exit":
            if not re.fullmatch(r"\d{1,3}", number or "") or int(number) > 255:
                raise self.fault("exit needs a status of 0 to 255")
            return int(number)
        if word == "signal":
            known = getattr(signal.Signals, "__members__")
            if number not in known:
                raise self.fault(f"signal needs a name such as SIGSEGV, not \"{number or ''}\"")
            return int(known[number])
        if number is not None:
            raise self.fault(f"\"{number}\" stands after {word}; a text begins in the next line")
        return 0

    # What only a whole file can lack.

    def whole(self):
        if not self.failure.steps:
            raise self.fault("no steps", 1)
        for rank in self.failure.here:
            self.one_rank(rank)
        if not any(step.what in ENDS and step.what != "hang" and step.wait != "term"
                   for step in self.failure.steps):
            raise self.fault("no rank ends of its own, so nothing would ever happen", 1)
        for step in self.failure.steps:
            if step.wait == "after" and not self.ends(step.peer):
                raise self.fault(f"rank {step.peer} never ends and never closes: no step of it is "
                                 f"an exit, a signal, a kill or a close", step.line)
        for line, cause in self.failure.fields.get("cause", []):
            self.check_cause(cause, line)

    def ends(self, rank):
        return any(step.what in ("exit", "signal", "kill", "close")
                   for step in self.failure.steps_of(rank))

    def one_rank(self, rank):
        ended, clock, told = None, 0, False
        for step in self.failure.steps_of(rank):
            if step.wait == "term":
                if step.what != "ignore" and not step.fresh and not told:
                    raise self.fault(f"\"term +{step.ms}\" counts from a step before it, but this "
                                     f"is the first \"term\" of rank {rank}", step.line)
                told = True
                continue
            if ended:
                raise self.fault(f"rank {rank} ended in line {ended} already", step.line)
            if step.what in ENDS:
                ended = step.line
            if step.wait == "at":
                if step.ms < clock:
                    raise self.fault(f"{step.ms} ms lies before the step of rank {rank} before "
                                     f"it, at {clock} ms (a time after that step is written "
                                     f"+{step.ms})", step.line)
                clock = step.ms
            elif step.wait == "delay":
                clock += step.ms

    def check_cause(self, cause, line):
        """It is somebody's word, or rankinit's own."""
        failure = self.failure
        if not OWN_WORDS.search(cause) and not any(
                flat(cause) in flat(failure.text_of(rank)) for rank in failure.here):
            raise self.fault(f"no rank says the cause \"{cause}\"", line)


def flat(text):
    """How a text is compared: blanks do not count."""
    return " ".join(text.split())


def read(path):
    """The failure in this file."""
    try:
        text = pathlib.Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"{path}:1: not UTF-8: {error}") from error
    return Reader(path, text).read()


def load(paths=None):
    """All failures in these files and folders, by default those beside this file; and what is
    wrong with the files that are none."""
    failures, faults = [], []
    for path in map(pathlib.Path, paths or [HERE / half for half in HALVES]):
        if not path.exists():
            faults.append(f"{path}: there is no such file or folder")
        alone = [path] if path.exists() else []
        for file in sorted(path.rglob("*.failure")) if path.is_dir() else alone:
            try:
                failures.append(read(file))
            except Malformed as fault:
                faults.append(str(fault))
    seen = {}
    for failure in failures:
        if failure.name in seen:
            faults.append(f"{failure.path}:1: there is a failure of this name in "
                          f"{seen[failure.name]} already")
        seen[failure.name] = failure.path
    return failures, faults
