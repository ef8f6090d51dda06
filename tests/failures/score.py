# SPDX-License-Identifier: Apache-2.0
"""What results of replays are worth: scores, and what is required of them."""
from dataclasses import dataclass

from playing import WRONG
from reading import HERE

UNSOLVED = HERE / "unsolved"


@dataclass
class Replay:
    seed: str
    verdict: object     # of playing, or a sentence
    faults: list


@dataclass
class Result:
    failure: object
    replays: list

    @property
    def faults(self):
        return [fault for replay in self.replays for fault in replay.faults]

    @property
    def is_right(self):
        return not self.faults

    def has(self, what):
        return any(fault == what for fault, _ in self.faults)

    @property
    def names_right(self):
        return not any(self.has(what) for what in ("broken", "named wrongly", "nobody named"))

    @property
    def worst(self):
        return min((what for what, _ in self.faults), key=WRONG.index, default="right")

    @property
    def retries(self):
        """What to do next, as each replay has it."""
        return [getattr(replay.verdict, "retry", None) for replay in self.replays]

    @property
    def retry_right(self):
        return set(self.retries) == {self.failure.value("retry")}

    @property
    def takes_node(self):
        """It would have a healthy node taken away."""
        return self.failure.value("retry") == "never" and "other_node" in self.retries

    def retry_sentence(self):
        for replay in self.replays:
            said = getattr(replay.verdict, "machine", {})
            if said.get("retry") != self.failure.value("retry"):
                return (f"{self.failure.name}: seed {replay.seed}: retry: cause {said.get('cause')}"
                        f", {said.get('retry')}, not {self.failure.value('retry')}")
        return f"{self.failure.name}: retry: right"

    def sentence(self):
        """One line about the first replay that shows the worst; in none of the words set aside."""
        if self.failure.half == "aside":
            return f"{self.failure.name}: {self.worst}"
        for replay in self.replays:
            for what, why in replay.faults:
                if what == self.worst:
                    return f"{self.failure.name}: seed {replay.seed}: {what}: {why}"
        return f"{self.failure.name}: right"


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def torchrun_right(failure, field):
    named = failure.value(field)
    if not failure.culprits:
        return named == "none"
    return named != "none" and int(named) in failure.culprits


# What is required, as a share, and why.
#
# Of failures for which no rule was written nine of ten must be right, rank and words: that is what
# a reader may expect of his own. Nobody looks into a log that says who it was, so a wrong name is
# worse than none, and there must not be one. A silent death has no words that could mislead: only
# one of thirty may be lost, to a race that the kernel does not let us see. What an orchestrator
# does next depends on the exit status: it is exact. A replay that does not end tells nothing.
#
# Whether to start again may be wrong in one of ten, which costs one more attempt, or a look at it.
# That a failure of the program takes a healthy node away costs the next one as well: none may.
ASIDE, NO_WRONG_NAME, SILENT, STATUS, ENDED = 0.9, 1, 29 / 30, 1, 1
RETRY, NO_NODE_TAKEN = 0.9, 1


def rows(results):
    """Name, which failures count, what of them counts as reached, what is required or None."""
    known = [result for result in results if result.failure.half == "known"]
    aside = [result for result in results if result.failure.half == "aside"]
    silent = [result for result in results if result.failure.is_silent]
    yield "known: right", known, lambda result: result.is_right, None
    yield "  who failed, alone", known, lambda result: result.names_right, None
    yield "set aside: right", aside, lambda result: result.is_right, ASIDE
    yield "  who failed, alone", aside, lambda result: result.names_right, None
    yield "silent deaths: right", silent, lambda result: result.is_right, SILENT
    yield "no rank named wrongly", results, lambda result: not result.has("named wrongly"), \
        NO_WRONG_NAME
    yield "exit status exact", results, lambda result: not result.has("status"), STATUS
    yield "replays that ended", results, lambda result: not result.has("broken"), ENDED
    for name, half in (("known", known), ("set aside", aside)):
        yield f"{name}: what to do next", half, lambda result: result.retry_right, RETRY
    program = [result for result in results if result.failure.value("retry") == "never"]
    yield "the program's: no node taken away", program, lambda result: not result.takes_node, \
        NO_NODE_TAKEN
    for field, words in (("torchrun", "torchrun"), ("torchrun-record", "torchrun with @record")):
        both = [result for result in results if result.failure.value(field)]
        if both:
            yield f"live, {words}: who failed", both, lambda result, field=field: torchrun_right(
                result.failure, field), None
            yield "  the same, rankinit", both, lambda result: result.names_right, None


def print_table(results, whole):
    """The scores; how many requirements are met, and how many are not."""
    met = missed = 0
    for result in results:
        if result.failure.half == "aside":
            continue
        if not result.is_right:
            print(result.sentence())
        if not result.retry_right:
            print(result.retry_sentence())
    for name, counted, reached, required in rows(results):
        part = sum(map(reached, counted))
        low = required is not None and part < required * len(counted) - 1e-9
        low = low or (required is not None and whole and not counted)
        missed += low
        met += required is not None and not low
        print(f"{name:<39} {share(part, len(counted)):>22}"
              + (f"   required: {100 * required:.1f} %" if required is not None else "")
              + ("   MISSED" if low else ""))
    for half in ("known", "aside"):
        worst = [result.worst for result in results if result.failure.half == half]
        found = ", ".join(f"{worst.count(what)} {what}" for what in WRONG if what in worst)
        print(f"  what is wrong of {half}: {found or 'nothing'}")
    return met, missed


def unsolved():
    """name: reason"""
    if not UNSOLVED.exists():
        return {}
    lines = [line for line in UNSOLVED.read_text().splitlines()
             if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in
            (line.partition(":") for line in lines)}


def print_tests(results, whole):
    """Each failure is a test; how many passed, and how many did not."""
    failed = 0
    listed = unsolved()
    for result in results:
        reason = listed.pop(result.failure.name, None)
        if reason is None and not result.is_right:
            print(f"FAILED {result.sentence()}")
        elif reason is not None and (result.has("named wrongly") or result.has("broken")):
            print(f"FAILED {result.sentence()}, though it may be unsolved: {reason}")
        elif reason is not None and result.is_right and not reason.startswith("sometimes"):
            print(f"FAILED {result.failure.name}: it is solved: take its line out of {UNSOLVED}")
        else:
            continue
        failed += 1
    lost = sorted(listed) if whole else []
    for name in lost:
        print(f"FAILED {UNSOLVED}: there is no failure {name}")
    return len(results) - failed, failed + len(lost)


def as_json(results):
    return [{"name": result.failure.name, "half": result.failure.half, "worst": result.worst,
             "retry": result.failure.value("retry"),
             "replays": [{"seed": replay.seed, "faults": [list(fault) for fault in replay.faults],
                          "lines": getattr(replay.verdict, "lines", []),
                          "machine": getattr(replay.verdict, "machine", {})}
                         for replay in result.replays]}
            for result in results]
