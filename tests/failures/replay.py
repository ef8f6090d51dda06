#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Play recorded failures again, below rankinit, and judge its verdicts; see README.md.

usage: replay.py [OPTION]... [PATH | PART-OF-A-NAME]...

    PATH             a folder with NAME.failure files below it, or one such file;
                     without one: known and aside beside this program
    --score          print the table of scores, and fail where less is reached than is
                     required; without it each failure is a test, but those of "unsolved"
    --parse          read the files only
    -v               print each replay's verdict beside what was expected
    --seeds=N        replays of each failure (default: 3)
    --seed=S         one replay, with this seed
    --binary=FILE    a rankinit (default: build/rankinit)
    --actor=FILE     a rank (default: build/tests/python_actor)
    --option=WORD    one more option for rankinit, such as --option=--grace=1
    --jobs=N         replays side by side; most of their time they wait
    --json=FILE      write the results there too
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True

import playing  # noqa: E402  pylint: disable=wrong-import-position
import reading  # noqa: E402  pylint: disable=wrong-import-position
import score    # noqa: E402  pylint: disable=wrong-import-position

TOP = reading.HERE.parent.parent


def arguments_of(words):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    for name in ("--score", "--parse", "-v", "--help"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed")
    parser.add_argument("--binary", type=pathlib.Path, default=TOP / "build" / "rankinit")
    parser.add_argument("--actor", type=pathlib.Path,
                        default=TOP / "build" / "tests" / "python_actor")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=12 * (os.cpu_count() or 1))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args(words)
    if given.help:
        sys.exit(print(__doc__))
    return given


def choose(words):
    """The failures meant, and what is wrong with files."""
    paths = [word for word in words if os.path.exists(word) or "/" in word]
    failures, faults = reading.load(paths)
    parts = [word for word in words if word not in paths]
    return [failure for failure in failures
            if not parts or any(part in failure.name for part in parts)], faults


def play_all(failures, seeds, players, jobs):
    """Pairs of a failure and its replays; those of one stand side by side."""
    def one(pair):
        failure, seed = pair
        verdict = playing.play(failure, seed, players)
        return score.Replay(seed, verdict, playing.judge(failure, verdict))

    pairs = [(failure, seed) for failure in failures for seed in seeds]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        replays = list(pool.map(one, pairs))
    size = len(seeds)
    return [score.Result(failure, replays[at * size:(at + 1) * size])
            for at, failure in enumerate(failures)]


def show(result):
    """A replay's verdict beside the expectation."""
    failure = result.failure
    print(f"{failure.path}: {failure.title}")
    print(f"    expected: culprit {failure.value('culprit')}, status {failure.status}, "
          f"retry {failure.value('retry')}"
          + "".join(f", \"{cause}\"" for cause in failure.values("cause")))
    for replay in result.replays:
        print(f"    seed {replay.seed}: {'right' if not replay.faults else ''}"
              + "; ".join(f"{what}: {why}" for what, why in replay.faults))
        if not isinstance(replay.verdict, str):
            for line in replay.verdict.lines or replay.verdict.stderr.splitlines()[-10:]:
                print(f"        {line}")
            print("        " + " ".join(map("=".join, replay.verdict.machine.items())))


def check_files(given):
    for path, how in ((given.binary, "make"), (given.actor, "make build/tests/python_actor")):
        if not given.parse and not os.access(path, os.X_OK):
            sys.exit(f"failures: {path} is not there: {how}")


def main(words):
    given = arguments_of(words)
    check_files(given)
    failures, faults = choose(given.words)
    for fault in faults:
        print(f"failures: {fault}")
    if not failures and not faults:
        print("failures: there is none of this name")
        faults = ["none"]
    if given.parse:
        print(f"{len(failures)} passed, {len(faults)} failed, 0 skipped")
        return 1 if faults else 0
    seeds = [given.seed] if given.seed else [str(seed + 1) for seed in range(given.seeds)]
    players = playing.Players(given.binary.resolve(), given.actor.resolve(), given.option)
    results = play_all(failures, seeds, players, given.jobs)
    if given.v:
        for result in results:
            show(result)
    if given.json:
        given.json.write_text(json.dumps(score.as_json(results), indent=1) + "\n")
    whole = not given.words
    say = score.print_table if given.score else score.print_tests
    passed, failed = say(results, whole)
    failed += len(faults)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
