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

    def sentence(self):
        """One line about the first replay that shows the worst."""
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


# Name, which failures count, what of them counts as reached, and what is required: a share, or a
# share of all but that many. None: only shown.
def rows(results):
    known = [result for result in results if result.failure.half == "known"]
    aside = [result for result in results if result.failure.half == "aside"]
    silent = [result for result in results if result.failure.is_silent]
    yield "known: right", known, lambda result: result.is_right, None
    yield "set aside: right", aside, lambda result: result.is_right, 0.9
    yield "silent deaths: right", silent, lambda result: result.is_right, 29 / 30
    yield "no rank named wrongly", results, lambda result: not result.has("named wrongly"), 1
    yield "exit status exact", results, lambda result: not result.has("status"), 1
    yield "replays that ended", results, lambda result: not result.has("broken"), 1
    for field, words in (("torchrun", "torchrun"), ("torchrun-record", "torchrun with @record")):
        both = [result for result in results if result.failure.value(field)]
        if both:
            yield f"  {words}: rank", both, lambda result, field=field: torchrun_right(
                result.failure, field), None
            yield "  rankinit: rank, of the same", both, lambda result: result.names_right, None


def print_table(results, whole):
    """The scores; how many requirements are met, and how many are not."""
    met = missed = 0
    for result in results:
        if not result.is_right:
            print(result.sentence())
    for name, counted, reached, required in rows(results):
        part = sum(map(reached, counted))
        low = required is not None and part < required * len(counted) - 1e-9
        low = low or (required is not None and whole and not counted)
        missed += low
        met += required is not None and not low
        print(f"{name:<28} {share(part, len(counted)):>22}"
              + (f"   required: {100 * required:.1f} %" if required is not None else "")
              + ("   MISSED" if low else ""))
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
        elif reason is not None and result.is_right:
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
             "replays": [{"seed": replay.seed, "faults": [list(fault) for fault in replay.faults],
                          "lines": getattr(replay.verdict, "lines", [])}
                         for replay in result.replays]}
            for result in results]
