# SPDX-License-Identifier: Apache-2.0
"""What replays and judges recorded failures can fail, and for the right reason."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import playing  # noqa: E402  pylint: disable=wrong-import-position
import reading  # noqa: E402  pylint: disable=wrong-import-position
import score    # noqa: E402  pylint: disable=wrong-import-position

TOP = reading.HERE.parent.parent
PLAYERS = playing.Players(TOP / "build" / "rankinit", TOP / "build" / "tests" / "python_actor", [])
HEADER = """# A failure of a test.
origin: here
framework: none
ranks: 3
culprit: 2
cause: ValueError: a bad batch
never: RuntimeError: lost
status: 7
retry: never

"""
STEPS = """@2 20 stderr
ValueError: a bad batch
@0-1 5 stderr
RuntimeError: lost
@2 +5 exit 7
"""


def failure_of(text, half="known"):
    failure = reading.Reader("made.failure", text).read()
    failure.half = half
    return failure


def played(text, seed="1", players=PLAYERS):
    failure = failure_of(text)
    verdict = playing.play(failure, seed, players)
    return verdict, playing.judge(failure, verdict)


# The files.

BLOCKS = re.split(r"^%% ", (reading.HERE / "malformed.txt").read_text(), flags=re.M)[1:]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0][:60])
def test_a_mistake_in_a_file(block):
    why, _, text = block.partition("\n")
    with pytest.raises(reading.Malformed) as fault:
        reading.Reader("malformed.failure", text).read()
    assert str(fault.value) == f"malformed.failure:{why}"


def test_a_name_of_a_file():
    with pytest.raises(reading.Malformed) as fault:
        reading.Reader("No Name.failure", HEADER + STEPS).read()
    assert str(fault.value).startswith("No Name.failure:1: the name of the file is not small")


def test_bytes_that_are_no_text_and_a_name_that_stands_twice(tmp_path):
    for name in ("known/a", "aside/a", "known/b"):
        file = tmp_path / f"{name}.failure"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"# \xff" if name.endswith("b") else (HEADER + STEPS).encode())
    failures, faults = reading.load([tmp_path, tmp_path / "nowhere"])
    assert [failure.half for failure in failures] == ["aside", "known"]
    assert faults[0].startswith(f"{tmp_path}/known/b.failure:1: not UTF-8: ")
    assert faults[1] == f"{tmp_path}/nowhere: there is no such file or folder"
    assert faults[2] == (f"{tmp_path}/known/a.failure:1: there is a failure of this name in "
                         f"{tmp_path}/aside/a.failure already")


def test_texts():
    failure = failure_of(HEADER.replace("ranks: 3", "ranks: 3\nnode: 1 of 2").replace(
        "culprit: 2", "culprit: 5") + "@5 10 stderr\nrank{rank}/{local_rank}{cr}{esc}[0m\n@@here\n"
        "\nRuntimeError: lost, ValueError: a bad batch{no newline}\n\n@5 +1 exit 7\n")
    assert failure.said(failure.steps[0], 5) == (
        "rank5/2\r\033[0m\n@here\n\nRuntimeError: lost, ValueError: a bad batch")


# The plan.

def times(failure, seed):
    """When the texts of each rank are said, as far as it is a time."""
    jitter = playing.Jitter(failure, seed)
    return {rank: [int(us) for us in re.findall(
        r"^play at 0 (\d+) ", playing.plan_of(failure, rank, jitter).decode(), re.M)]
        for rank in failure.here}


def test_jitter_keeps_the_order_and_cuts_pauses():
    failure = failure_of(HEADER + "@0 100 stderr\nRuntimeError: lost\n@1 150 exit 1\n"
                         "@2 90000 stderr\nValueError: a bad batch\n@2 +30 exit 7\n")
    seen = set()
    for seed in range(50):
        found = times(failure, seed)
        assert found == times(failure, seed)
        seen.add(found[0][0])
        assert found[0][0] < found[1][0] < found[2][0] < found[2][1]
        assert 50000 <= found[0][0] <= 203000
        assert found[2][0] - found[1][0] <= 3003000
    assert len(seen) > 40


# The judge: a good verdict, and one thing wrong with each of the others.

def test_a_failure_that_is_told_well():
    # when all have spoken
    verdict, faults = played(HEADER + STEPS.replace("+5 exit", "+500 exit"))
    assert faults == []
    assert verdict.lines[0].startswith("rank 2 (local rank 2, ")
    assert "RuntimeError: lost" in verdict.stderr


@pytest.mark.parametrize("old, new, what, why", [
    ("culprit: 2", "culprit: 1", "named wrongly", "it names rank 2"),
    ("culprit: 2", "culprit: unknown", "named wrongly", "it names rank 2"),
    ("status: 7", "status: 6", "status", "exit status 7, not 6"),
    ("cause: ValueError: a bad batch", "cause: RuntimeError: lost", "cause",
     'it does not say "RuntimeError: lost"'),
    ("never: RuntimeError: lost", "never: exit status 7", "never",
     'its first two lines say "exit status 7"'),
])
def test_a_failure_with_a_wrong_label(old, new, what, why):
    _, faults = played((HEADER + STEPS).replace(old, new))
    assert faults == [(what, why)]


def test_other_labels_that_are_right():
    for label in ("1 or 2", "all"):
        _, faults = played((HEADER + STEPS).replace("culprit: 2", f"culprit: {label}"))
        assert faults == []


FAKE = """#!/bin/sh
echo "a word of a rank" >&2
printf 'rankinit: %s\\n' {lines} >&2
for word; do case $word in --report=*) echo '{report}' >"${{word#*=}}"; esac; done
exit {status}
"""
GOOD = ("'warning: x' 'rank 2 (local rank 2, pid 9 on a) failed first: exit status 7' "
        "'  ValueError: a bad batch' '    frame' 'note: done'")
REPORT = '{"first_failure": {"rank": %s}, "exit_status": 7}'


@pytest.mark.parametrize("lines, report, status, faults", [
    (GOOD, REPORT % 2, 7, []),
    (GOOD.replace("rank 2", "rank 1"), REPORT % 1, 7, ["named wrongly"]),
    (GOOD.replace("rank 2 ", "a rank "), REPORT % "null", 7, ["nobody named"]),
    (GOOD.replace("rank 2 ", "a rank "), REPORT % 2, 7, ["nobody named", "report"]),
    ("'cannot tell' '  ValueError: a bad batch; rank 2 did not come'", REPORT % 2, 7, []),
    ("'ranks 0 and 1 did not come' '  ValueError: a bad batch'", REPORT % 1, 7,
     ["named wrongly"]),
    (GOOD.replace("rank 2 ", "ranks 1-2 "), REPORT % 1, 7, ["named wrongly"]),
    (GOOD, REPORT % 1, 7, ["report"]),
    (GOOD, (REPORT % 2).replace("7}", '7, "ranks": [{"signal": "SIGALRM"}]}'),
     7, ["broken"]),
    (GOOD, "{", 7, ["report"]),
    (GOOD, REPORT % 2, 8, ["status", "report"]),
    ("'warning: x'", REPORT % 2, 7, ["broken"]),
])
def test_a_rankinit_that_is_broken(tmp_path, lines, report, status, faults):
    fake = tmp_path / "rankinit"
    fake.write_text(FAKE.format(lines=lines, report=report, status=status))
    fake.chmod(0o755)
    _, found = played(HEADER + STEPS, players=playing.Players(fake, PLAYERS.actor, []))
    assert [what for what, _ in found] == faults


# The actors.

def ends_of(verdict):
    return [(rank["exit_code"], rank["signal"], rank["told"]) for rank in verdict.report["ranks"]]


def test_ends():
    verdict, faults = played("""# Each rank ends in its own way.
origin: here
framework: none
ranks: 5
culprit: 0
status: 139
retry: never

@1 term 5 stderr
told
@1 term +5 exit 3
@2 5 hang
@3 term ignore
@3 after 0 +60 exit 4
@0 40 stdout
nothing
@0 +1 signal SIGSEGV
""")
    assert faults == []
    assert ends_of(verdict) == [(None, "SIGSEGV", False), (3, None, True), (None, "SIGKILL", True),
                                (4, None, True), (None, "SIGTERM", True)]
    assert "told\n" in verdict.stderr


@pytest.mark.parametrize("how, goes_on", [("close", True), ("kill", False)])
def test_the_end_of_a_connection(how, goes_on):
    """It is seen when its owner closes it, and when the owner is gone."""
    verdict, _ = played(f"""# Rank 0 says what it sees, and ends the job.
origin: here
framework: none
ranks: 2
culprit: 0
status: 7
retry: never

@0 after 1 +1 stderr
seen
@0 +200 exit 7
@1 20 {how}
""" + "@1 +30 stderr\nstill here\n" * goes_on)
    assert ("seen\n" in verdict.stderr or not goes_on) and \
        ("still here\n" in verdict.stderr) == goes_on
    assert ends_of(verdict)[1] == (None, "SIGTERM" if goes_on else "SIGKILL", goes_on)


def test_an_error_file_of_torch():
    _, faults = played((HEADER + STEPS).replace("2 20 stderr", "2 20 record"))
    assert faults == []


LEAVING = """# Rank 2 leaves the others before it says why.
origin: here
framework: torch, gloo
ranks: 3
culprit: 2
cause: ValueError: a bad batch
status: 7
retry: never

@2 20 close
@0-1 after 2 +1 stderr
Traceback (most recent call last):
  File "/job/train.py", line 1, in <module>
RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer
@0-1 +5 exit 1
@2 +300 stderr
Traceback (most recent call last):
  File "/job/train.py", line 2, in <module>
ValueError: a bad batch
@2 +5 exit 7
"""


def test_an_actor_that_cannot_play():
    verdict, faults = played(HEADER + STEPS, players=playing.Players(
        PLAYERS.binary, pathlib.Path("/usr/bin/false"), []))
    assert verdict.status == 1 and faults
    failure = failure_of(HEADER + STEPS)
    failure.steps[0].peer, failure.steps[0].wait = 9, "after"
    assert playing.play(failure, "1", PLAYERS).startswith("an actor failed: plan: ")


# The sums.

def result_of(half, *faults, silent=False, name="made", retry="never"):
    failure = failure_of((HEADER + STEPS).replace("status: 7", "status: 7\nsilent: yes" * silent
                                                  or "status: 7"), half)
    failure.name = name
    said = playing.Verdict([], 7, None, "", {"cause": "made", "retry": retry})
    return score.Result(failure, [score.Replay("1", said, []),
                                  score.Replay("2", said, [(what, "") for what in faults])])


def test_scores(capsys):
    good = [result_of(half, silent=True) for half in ("known", "aside") for _ in range(15)]
    assert score.print_table(good, True) == (8, 0)
    assert score.print_table(good[:15], True) == (6, 2)    # nothing was set aside
    for what, missed in (("cause", 0), ("status", 1), ("named wrongly", 1), ("broken", 1)):
        assert score.print_table(good + [result_of("aside", what)], True) == (8 - missed, missed)
    assert score.print_table(good + [result_of("known", "cause", silent=True)], True) == (8, 0)
    capsys.readouterr()
    assert score.print_table(good + 2 * [result_of("aside", "cause", silent=True)], True) == (6, 2)
    table = capsys.readouterr().out
    assert "torchrun" not in table
    assert "  what is wrong of aside: 2 cause\n" in table and "made" not in table
    score.print_table([result_of("known", "cause", "named wrongly")], False)
    assert "made: seed 2: named wrongly: \n" in capsys.readouterr().out
    assert re.search(r"^set aside: right +15 of 17 \(88.2 %\)   required: 90.0 %   MISSED$", table,
                     re.M)


@pytest.mark.parametrize("retry, count, missed", [
    ("never", 5, 0), ("same", 1, 0), ("same", 2, 1), ("other_node", 1, 1), ("other_node", 2, 2),
    (None, 2, 1)])
def test_scores_of_what_to_do_next(capsys, retry, count, missed):
    """One of ten may be wrong, and no node be taken away; a failure is right all the same."""
    good = [result_of(half) for half in ("known", "aside") for _ in range(9)]
    worse = [result_of("known", retry=retry) for _ in range(count)]
    assert score.print_table(good + worse, False) == (8 - missed, missed)
    said = f"made: seed 1: retry: cause made, {retry}, not never\n"
    assert capsys.readouterr().out.count(said) == count * (retry != "never")


def test_the_line_for_programs_is_no_part_of_the_block():
    said = ("rankinit: rank 2 failed\nrankinit:   it said so\n"
            "rankinit: verdict cause=exception class=own retry=never host=\"a b\"\n")
    assert playing.verdict_lines(said) == ["rank 2 failed", "  it said so"]
    assert playing.machine_line(said) == {"cause": "exception", "class": "own", "retry": "never",
                                          "host": "a b"}
    assert playing.machine_line("rankinit: rank 2 failed\n") == {}


def test_a_report_that_says_another_word():
    failure = failure_of(HEADER + STEPS)
    report = {"first_failure": None, "exit_status": 7, "verdict": {"cause": "timeout"}, "ranks": []}
    verdict = playing.Verdict(["well"], 7, report, "", {"cause": "exception"})
    assert ("report", "the report's cause is timeout, not exception") in playing.judge(
        failure, verdict)


def test_scores_of_torchrun(capsys):
    """By the rank alone, where torchrun was asked."""
    results = [result_of("known", "cause") for _ in range(3)] + [result_of("known", "nobody named")]
    for result, named in zip(results, ("2", "0", "none")):
        result.failure.fields["torchrun"] = [(1, named)]
    results[0].failure.fields["torchrun-record"] = [(1, "2")]
    score.print_table(results, False)
    table = re.sub(" +", " ", capsys.readouterr().out)
    assert """live, torchrun: who failed 1 of 3 (33.3 %)
 the same, rankinit 3 of 3 (100.0 %)
live, torchrun with @record: who failed 1 of 1 (100.0 %)
 the same, rankinit 1 of 1 (100.0 %)
""" in table


@pytest.mark.parametrize("listed, faults, failed", [
    ("", (), 0), ("", ("cause",), 1), ("made: a reason", ("cause",), 0),
    ("made: a reason", (), 1), ("made: sometimes", (), 0),
    ("made: a reason", ("cause", "named wrongly"), 1),
    ("other: a reason", (), 1), ("# other: a reason", (), 0),
])
def test_unsolved(tmp_path, monkeypatch, listed, faults, failed):
    monkeypatch.setattr(score, "UNSOLVED", tmp_path / "unsolved")
    score.UNSOLVED.write_text(listed + "\n")
    assert score.print_tests([result_of("known", *faults)], True)[1] == failed


def test_the_program(tmp_path):
    """Its last line, and its exit status."""
    (tmp_path / "made.failure").write_text(HEADER + STEPS)
    words = [sys.executable, str(reading.HERE / "replay.py"), "--seeds=2"]
    done = subprocess.run(words + ["-v", str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert done.stdout.count(": right\n") == 2
    for text, last in ((HEADER + STEPS.replace("exit 7", "exit 6"), "0 passed, 1 failed"),
                       (HEADER, "0 passed, 1 failed")):
        (tmp_path / "made.failure").write_text(text)
        done = subprocess.run(words + [str(tmp_path)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.splitlines()[-1] == f"{last}, 0 skipped"
