# SPDX-License-Identifier: Apache-2.0
"""--blame: one page out of the reports of all nodes."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest

import peek
import schema
from box import refused
from peek import wait_until
from reports import (BEGAN, KILLED, LOSS, OWN, STOPPED, UNKNOWN, WAITED, clock, names, page, report,
                     stopped, swollen, write)


# Who failed first.

def test_an_end_of_its_own_before_losses_whatever_the_clocks_say(blame):
    document = blame(report(0, 3, LOSS, LOSS, at=59), report(1, 3, LOSS, STOPPED, ahead=-30),
                     report(2, 3, STOPPED, OWN, ahead=30))
    assert (document["finding"], names(document)) == ("failed-first", [(2, 5)])
    assert document["suspects"][0]["reason"] == ["ValueError: bad batch 17"]
    assert document["suspects"][0]["how"] == "exit status 1"
    assert document["victims"] == {"ranks": 5, "nodes": 3, "lost": 3, "stopped": 2, "failed": 0}


def test_an_end_without_a_word_weighs_more_than_a_loss_and_less_than_its_own(blame, tmp_path):
    silent, lost = report(0, 2, UNKNOWN, STOPPED), report(1, 2, LOSS, LOSS, at=50)
    assert names(blame(silent, lost)) == [(0, 0)]
    own = report(1, 2, LOSS, OWN, at=70)
    assert names(blame(silent, own, folder=tmp_path)) == [(1, 3)]


def test_ends_within_two_seconds_are_a_tie(blame):
    first, near, far = (report(node, 3, KILLED, STOPPED, at=at)
                        for node, at in enumerate((60, 61.9, 62.1)))
    document = blame(first, near, far)
    assert names(document) == [(0, 0), (1, 2)]
    assert document["victims"]["failed"] == 1, "the one of node 2, later"


def test_two_ranks_of_one_node_have_one_clock(blame):
    document = blame(report(0, 2, (KILLED, 60.5), (OWN, 60)), stopped(1, 2))
    # the node itself has judged, and it named rank 0
    assert names(document) == [(0, 0)]


def test_the_link_s_measure_of_the_clocks_orders_them(blame, tmp_path):
    """Node 1 failed first, though its clock goes half a minute before the other one."""
    measured = [{"ahead_s": 0, "error_s": 0.001}, {"ahead_s": 30.0, "error_s": 0.01}]
    early, late = report(0, 2, OWN, STOPPED, at=60, clocks=measured[0]), \
        report(1, 2, OWN, STOPPED, at=59.5, ahead=30, clocks=measured[1])
    document = blame(early, late)
    assert names(document) == [(1, 2)]
    assert document["suspects"][0]["at"] == clock(BEGAN + 59.5)
    measured[1]["error_s"] = 0.6
    late = report(1, 2, OWN, STOPPED, at=59.5, ahead=30, clocks=measured[1])
    assert sorted(names(blame(early, late, folder=tmp_path))) == [(0, 0), (1, 2)]


def test_clocks_drift_since_they_were_compared(blame):
    """100 ppm of an hour are 0.36 s on each side."""
    clocks = {"ahead_s": 0, "error_s": 0.001}
    ends = [report(node, 3, KILLED, STOPPED, at=at, clocks=clocks)
            for node, at in enumerate((3600, 3600.7, 3600.8))]
    assert names(blame(*ends)) == [(0, 0), (1, 2)]


def test_the_verdict_of_the_link_breaks_a_tie(blame, tmp_path):
    verdict = {"job_verdict": "rank 2 (local rank 0) failed first (node 1 of 2)\n",
               "job_verdict_node": 1}
    ends = [report(node, 2, OWN, STOPPED, at=60 + node, **verdict) for node in range(2)]
    document = blame(*ends)
    assert names(document) == [(1, 2)] and document["link"]["node"] == 1
    # not where two were heard
    ends[0]["job_verdict_node"] = 0
    document = blame(*ends, folder=tmp_path)
    assert names(document) == [(0, 0), (1, 2)] and document["link"]["differs"]


def test_a_node_that_the_link_named_and_that_left_no_report(blame, box, tmp_path):
    said = "rank 2 (local rank 0, pid 9 on gpu-0001) failed first (node 1 of 3): killed by SIGKILL"
    verdict = {"job_verdict": said + "\n", "job_verdict_node": 1}
    document = blame(report(0, 3, LOSS, LOSS, **verdict), report(2, 3, LOSS, LOSS, **verdict))
    assert (document["finding"], document["link"]["node"]) == ("named-by-link", 1)
    assert said in page(box, tmp_path)


@pytest.mark.parametrize("said, known, retry", [
    ("ecc", "ecc", "other_node"), ("exception", "exception", "never"),
    ("sunspots", "unknown", "same")])
def test_what_to_do_next(blame, box, tmp_path, said, known, retry):
    """A word of a later version is unknown."""
    ends = [report(0, 2, OWN, STOPPED), report(1, 2, LOSS, LOSS, at=61)]
    document = blame(*ends)
    assert (document["suspects"][0]["cause"], document["suspects"][0]["retry"]) == (None, None)
    assert "    cause: " not in page(box, tmp_path)
    for end, cause in zip(ends, (said, "unknown")):
        end["verdict"] = {"cause": cause}
    document = blame(*ends)
    assert (document["suspects"][0]["cause"], document["suspects"][0]["retry"]) == (known, retry)
    assert f"    cause: {known}, retry: {retry}\n" in page(box, tmp_path)


def test_a_rank_that_had_left(blame):
    document = blame(report(0, 2, ({}, 58), (LOSS, 60)), report(1, 2, LOSS, LOSS, at=61))
    assert (document["finding"], names(document)) == ("left", [(0, 0)])


def test_a_rank_that_failed_when_all_others_were_done(blame):
    document = blame(report(0, 2, {}, {}), report(1, 2, {}, (LOSS, 61)))
    assert (document["finding"], names(document)) == ("failed-first", [(1, 3)])
    assert document["suspects"][0]["class"] == "loss"


def test_a_rank_that_did_not_come(blame):
    hung = {**STOPPED, "signal": "SIGKILL"}
    document = blame(report(0, 2, WAITED, WAITED), report(1, 2, WAITED, (hung, 70)))
    assert (document["finding"], names(document)) == ("held", [(1, 3)])


@pytest.mark.parametrize("ends", [
    [(WAITED, WAITED), (WAITED, WAITED)],
    [(WAITED, STOPPED), (WAITED, STOPPED)],
    [(LOSS, LOSS), (LOSS, LOSS)],
])
def test_losses_alone_name_nobody(blame, ends):
    document = blame(*(report(node, 2, *two) for node, two in enumerate(ends)))
    assert (document["finding"], document["suspects"]) == ("unknown", [])


def test_losses_and_a_node_without_a_report(blame, box, tmp_path):
    document = blame(report(0, 3, LOSS, LOSS), report(2, 3, LOSS, LOSS))
    assert (document["finding"], document["suspects"]) == ("unreported", [])
    assert document["missing"] == {"nodes": [[1, 1]], "ranks": [[2, 3]]}
    assert "node left no report and may have gone first: 1\n" in page(box, tmp_path)


def test_a_job_that_went_well_or_was_stopped(blame, tmp_path):
    document = blame(report(0, 2), report(1, 2))
    assert (document["finding"], document["suspects"]) == ("none-failed", [])
    assert document["victims"]["ranks"] == 0
    stop = {"stop": {"signal": "SIGTERM", "at": clock(BEGAN + 30)}}
    document = blame(stopped(0, 2, **stop), stopped(1, 2, **stop), folder=tmp_path)
    assert (document["finding"], document["suspects"]) == ("stopped", [])


def test_a_node_that_was_not_fit(blame, box, tmp_path):
    refusal = {"state": "not-started", "exit_code": None}
    lacks = ["gpu.count: a program sees none", "--require: this node is not fit"]
    unfit = report(1, 2, refusal, refusal, at=1, exit_status=123, refusal=lacks)
    spared = report(0, 2, refusal, refusal, at=2, exit_status=122)
    document = blame(spared, unfit)
    assert (document["finding"], names(document)) == ("refused", [(1, None)])
    assert document["suspects"][0]["reason"] == lacks
    assert "refused to start: exit status 123" in page(box, tmp_path)
    assert f"    {lacks[0]}\n    {lacks[1]}\n" in page(box, tmp_path)


def test_all_nodes_that_were_not_fit(blame, box, tmp_path):
    refusal = {"state": "not-started", "exit_code": None}
    lacks = ["gpu.count: a program sees none"]
    document = blame(*(report(node, 3, refusal, refusal, at=10 * node, exit_status=123,
                              refusal=lacks) for node in (0, 2)), stopped(1, 3))
    assert (document["finding"], names(document)) == ("refused", [(0, None), (2, None)])
    assert page(box, tmp_path).startswith("2 nodes were not fit:\n")


# Who is missing.

def test_missing_nodes_are_ranges(blame, box, tmp_path):
    there = [0, 1, 4, 9]
    document = blame(report(0, 10, OWN, STOPPED), *(stopped(node, 10) for node in there[1:]))
    assert document["missing"]["nodes"] == [[2, 3], [5, 8]]
    assert "no report from 6 of 10 nodes: 2-3, 5-8\n" in page(box, tmp_path)


def test_reports_of_single_ranks(blame):
    """As below mpirun: each rank has its own."""
    documents = []
    for rank in (0, 1, 3):
        one = report(rank // 2, 2, OWN if rank == 3 else STOPPED, ranks=1)
        one["ranks"][0]["rank"] = one["topology"]["rank"]["value"] = rank
        one["topology"]["world_size"]["value"] = 4
        if one["first_failure"]:
            one["first_failure"]["rank"] = rank
        documents.append(one)
    document = blame(*documents)
    assert names(document) == [(1, 3)] and document["other_attempts"] == []
    assert document["missing"] == {"nodes": [], "ranks": [[2, 2]]}


# Which job.

def test_the_newest_attempt_is_judged_and_others_are_named(blame, box, tmp_path):
    old = [report(node, 2, OWN if node == 0 else STOPPED, STOPPED, attempt=0) for node in range(2)]
    new = [report(node, 2, OWN if node == 1 else STOPPED, STOPPED, attempt=1, began=BEGAN + 90)
           for node in range(2)]
    other = [report(0, 2, KILLED, STOPPED, job="j-0", began=BEGAN - 900)]
    document = blame(*old, *other, *new)
    assert names(document) == [(1, 2)]
    assert (document["job"]["id"], document["job"]["attempt"]) == ("j-1", 1)
    assert [(one["id"], one["attempt"], one["reports"]) for one in document["other_attempts"]] == [
        ("j-1", 0, 2), ("j-0", 0, 1)]
    assert page(box, tmp_path).count("not judged: ") == 2


def test_attempts_that_the_platform_does_not_tell(blame):
    old = [report(node, 3, OWN if node == 0 else STOPPED, STOPPED, attempt=None, job=None)
           for node in range(3)]
    new = [report(node, 3, KILLED if node == 1 else STOPPED, STOPPED, attempt=None, job=None,
                  began=BEGAN + 75) for node in range(2)]
    document = blame(*old, *new)
    assert names(document) == [(1, 2)]
    # node 2 left one of the first attempt alone: it began when those of the others did
    assert document["missing"]["nodes"] == [[2, 2]]
    assert [one["reports"] for one in document["other_attempts"]] == [3]


# What is no report.

HOSTILE = {
    "empty": b"", "nul": b"\0" * 100, "no": b"no report", "deep": b"[" * 100000,
    "number": b"1" * 100000, "array": b"[]", "null": b"null",
    "foreign": b'{"schema": "coverage-1", "ranks": []}',
    "utf8": b'{"schema": "rankinit-report-1", "host": "\xff"}',
    "bare": b'{"schema": "rankinit-report-1"}',
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_foreign_files_are_named_and_skipped(blame, box, tmp_path, name):
    (tmp_path / f"{name}.json").write_bytes(HOSTILE[name])
    document = blame(report(0, 1, OWN, STOPPED))
    assert names(document) == [(0, 0)]
    assert [os.path.basename(one["file"]) for one in document["skipped"]] == [f"{name}.json"]
    assert f"skipped: {tmp_path}/{name}.json: " in page(box, tmp_path)


def test_half_a_report_is_none(blame, box, tmp_path):
    whole = json.dumps(report(1, 2, KILLED, STOPPED))
    for length in range(0, len(whole), 97):
        (tmp_path / "half.json").write_text(whole[:length])
        document = blame(report(0, 2, OWN, STOPPED))
        assert names(document) == [(0, 0)] and len(document["skipped"]) == 1
    # not in a number or a word, which may be none then
    (tmp_path / "half.json").write_text(whole[:whole.index('"ranks"')])
    assert "it breaks off after" in page(box, tmp_path)


@pytest.mark.parametrize("member, value", [
    ("exit_status", -1), ("exit_status", "1"), ("ranks", []), ("ranks", {}), ("ranks", [1]),
    ("ranks", [{}] * 513), ("started", "yesterday"), ("ended", "1999-01-01T00:00:00.000Z"),
    ("topology", {"node_rank": {"value": 7}, "nnodes": {"value": 7}}),
])
def test_a_report_that_cannot_be(blame, tmp_path, member, value):
    broken = report(1, 2, KILLED, STOPPED)
    broken[member] = value
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    document = blame(report(0, 2, OWN, STOPPED))
    assert names(document) == [(0, 0)]
    assert [one["why"] for one in document["skipped"]] == [
        "it is a report, but what it says cannot be"]


def test_what_a_report_says_reaches_no_terminal_as_a_command(box, tmp_path):
    evil = "\x1b]0;x\x07\u009b31m\nrank 9 failed first"
    write(tmp_path, [report(0, 3, OWN, STOPPED, why=evil, host=evil, facts={evil: "1"}, job=evil),
                     *(stopped(node, 3, job=evil) for node in (1, 2))])
    said = page(box, tmp_path)
    assert all(byte >= " " or byte == "\n" for byte in said) and "\u009b" not in said
    assert "\nrank 9" not in said
    out = box.run("--blame=json", str(tmp_path), place="below").out
    assert b"\x1b" not in out and b"\xc2\x9b" not in out
    json.loads(out)


def strings(part, way=()):
    """Where in a document strings stand, the names of its members included."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(value, str):
            yield (*way, key)
        elif isinstance(value, (dict, list)):
            yield from strings(value, (*way, key))


def test_no_string_of_a_report_makes_a_line_of_its_own(box, tmp_path):
    """Each of them in turn, whatever member it is of."""
    evil = "\x1b[2J\nrank 9\r\u202e"
    sample = report(0, 2, KILLED, STOPPED, facts={"nvidia_driver": "550.2"}, job="j",
                    job_verdict="said", job_verdict_node=0)
    write(tmp_path, [sample, stopped(1, 2, job="j")])
    usual = page(box, tmp_path)
    ways = list(strings(sample))
    assert ("first_failure", "signal") in ways and len(ways) > 20
    for way in ways:
        document = json.loads(json.dumps(sample))
        part = document
        for key in way[:-1]:
            part = part[key]
        part[way[-1]] = evil
        (tmp_path / "0.json").write_text(json.dumps(document))
        said = page(box, tmp_path)
        assert all(byte >= " " or byte == "\n" for byte in said) and "\u202e" not in said, way
        assert "\nrank 9" not in said and len(said.splitlines()) <= len(usual.splitlines()) + 4
        json.loads(box.run("--blame=json", str(tmp_path), place="below").out)


def test_the_picture_of_version_0_1_is_the_page_with_a_warning(box, tmp_path):
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    result = box.run("--blame=trace", str(tmp_path), place="below")
    assert (result.status, result.out.decode()) == (0, page(box, tmp_path))
    assert result.err.startswith('rankinit: warning: --blame: "trace" is no longer there; ')


def test_files_that_are_none(box, tmp_path):
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 30)
    said = page(box, tmp_path / "0.json", tmp_path / "pipe", tmp_path / "large",
                tmp_path / "nowhere")
    assert said.startswith("rank 0 of node 0 (gpu-0000) failed first")
    assert f"skipped: {tmp_path}/pipe: it is no file\n" in said
    assert f"skipped: {tmp_path}/large: it is larger than any report\n" in said
    assert f"skipped: {tmp_path}/nowhere: No such file or directory\n" in said


def test_a_stop_ends_it(box, tmp_path):
    """Whoever reads the answer does not read on."""
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    for number in range(1200):
        (tmp_path / f"{'x' * 100}-{number}.json").touch()
    with subprocess.Popen([box.rankinit, "--blame=json", str(tmp_path)],
                          stdout=subprocess.PIPE) as run:
        assert run.stdout.read(1) == b"{"
        wait_until(lambda: peek.state(run.pid) == "S", "it waits for its reader")
        run.terminate()
        assert run.wait() == -signal.SIGTERM


def test_no_report_at_all(box, tmp_path):
    assert "--report" in refused(box.run("--blame", place="below"), 125, "command.missing",
                                 "--blame")
    result = box.run("--blame", str(tmp_path), place="below")
    refused(result, 125, "blame.none", str(tmp_path))
    (tmp_path / "x.json").write_text("x")
    result = box.run("--blame", str(tmp_path), place="below")
    refused(result, 125, "blame.none", str(tmp_path / "x.json"))


MEASURE = """
import os, resource, sys, time
began = time.monotonic()
status = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
      file=sys.stderr)
"""


def measured(*words, most=64):
    """What it prints in less than so many MB, and what it took."""
    # by way of a small process: the memory of whoever starts one counts, up to the exec
    run = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, *words],
                         capture_output=True, check=True)
    status, spent, cpu, kilobytes = map(float, run.stderr.split())
    assert status == 0 and kilobytes < most * 1024
    return run.stdout, f"{spent:.2f} s, {cpu:.2f} s of CPU, {kilobytes / 1024:.1f} MB"


def test_a_thousand_reports(box, tmp_path):
    """Clocks half a minute apart, some missing, cut off, foreign, of an older attempt."""
    chance = random.Random(19)
    nodes, culprit = 1000, 613
    gone = set(chance.sample([node for node in range(nodes) if node != culprit], nodes // 10))
    for node in range(nodes):
        ends = [OWN if node == culprit and local == 5 else
                LOSS if chance.random() < 0.3 else STOPPED for local in range(8)]
        for attempt in (0, 1):
            if attempt == 1 and node in gone or attempt == 0 and chance.random() < 0.9:
                continue
            document = report(node, nodes, *ends, ranks=8, attempt=attempt,
                              ahead=chance.uniform(-15, 15), began=BEGAN + attempt * 100,
                              at=60 if node == culprit else 60 + chance.uniform(-5, 5))
            name = tmp_path / f"{node}-{attempt}.json"
            name.write_text(swollen(document, 20000))
            assert 15000 < name.stat().st_size < 25000
    whole = (tmp_path / "0-1.json").read_bytes()
    for number in range(20):
        (tmp_path / f"cut-{number}.json").write_bytes(whole[:chance.randrange(1, len(whole) - 2)])
        (tmp_path / f"foreign-{number}.json").write_text(json.dumps({"schema": "other"}))
    out, said = measured(box.rankinit, "--blame=json", str(tmp_path))
    print(f"\n{len(list(tmp_path.glob('*.json')))} files: {said}")
    document = json.loads(out)
    schema.check(document, "blame")
    assert names(document) == [(culprit, culprit * 8 + 5)]
    assert document["job"]["reports"] == nodes - len(gone)
    assert {node for first, last in document["missing"]["nodes"]
            for node in range(first, last + 1)} == gone
    assert len(document["skipped"]) == 40 and len(document["other_attempts"]) == 1
    assert document["victims"]["ranks"] == 8 * document["job"]["reports"] - 1
    said = page(box, tmp_path)
    assert len(said.splitlines()) < 30, "one page"


def test_memory_that_a_hostile_report_wants(box, tmp_path):
    """A file of brackets alone takes a hundred times its size."""
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    (tmp_path / "many.json").write_text("[" + "[]," * 2000000 + "[]]")
    many = '{"schema": "rankinit-report-1", "facts": [' + "[]," * 2000000 + "[]]}"
    (tmp_path / "within.json").write_text(many)
    out, _ = measured(box.rankinit, "--blame", str(tmp_path))
    assert out.decode().startswith("rank 0 of node 0")
    assert "within.json: it takes more memory than a report does\n" in out.decode()
