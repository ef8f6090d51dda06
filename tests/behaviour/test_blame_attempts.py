# SPDX-License-Identifier: Apache-2.0
"""--blame: which reports are of the attempt that it judges."""

import itertools
import json

import pytest

from reports import BEGAN, LOSS, OWN, STOPPED, UNKNOWN, names, page, report, stopped
from test_blame import measured

UNTOLD = {"job": None, "attempt": None}


def lost(node, nodes, **more):
    return report(node, nodes, (LOSS, 61), (LOSS, 61), **{**UNTOLD, **more})


# Clocks and starts.

def test_a_clock_minutes_ahead_is_no_other_attempt(blame, box, tmp_path):
    document = blame(report(0, 4, OWN, STOPPED, **UNTOLD), *(
        lost(node, 4, ahead=360 if node == 2 else 0) for node in (1, 2, 3)))
    assert names(document) == [(0, 0)] and document["other_attempts"] == []
    assert document["missing"] == {"nodes": [], "ranks": []}
    assert "\nnode 2 (gpu-0002) began 360 s after most others: " in page(box, tmp_path)


def test_a_day_is_another_attempt(blame, box, tmp_path):
    document = blame(report(1, 2, OWN, STOPPED, began=BEGAN - 86400, **UNTOLD), lost(0, 2))
    assert (document["finding"], document["missing"]["nodes"]) == ("unreported", [[1, 1]])
    said = "    but by its clock there is an older report of node 1 (gpu-0001): "
    assert f"{said}{tmp_path}/0.json" in page(box, tmp_path)


def test_who_began_after_the_others_had_lost_it_may_have_lived_before(blame, box, tmp_path):
    again = report(1, 2, UNKNOWN, STOPPED, began=BEGAN + 62, at=3, **UNTOLD)
    document = blame(lost(0, 2), again)
    assert names(document) == [(1, 2)] and document["suspects"][0]["life"] == "later"
    assert "    but it began after others had lost a peer: " in page(box, tmp_path)
    document = blame(lost(0, 2), report(1, 2, UNKNOWN, STOPPED, **UNTOLD), folder=tmp_path)
    assert document["suspects"][0]["life"] is None
    assert "    but " not in page(box, tmp_path)


def test_who_ended_before_the_others_began_may_be_of_the_attempt_before(blame, box, tmp_path):
    document = blame(report(1, 3, OWN, STOPPED, **UNTOLD),
                     *(lost(node, 3, began=BEGAN + 80) for node in (0, 2)))
    assert names(document) == [(1, 2)] and document["suspects"][0]["life"] == "earlier"
    assert "    but this report ended before any other began: " in page(box, tmp_path)


def test_the_report_of_an_earlier_start_is_set_aside(box, tmp_path):
    path, before = tmp_path / "0.json", tmp_path / "0.json.before"
    for status in (3, 0):
        result = box.run(f"--report={path}", "--", "sh", "-c",
                         f"ls {tmp_path} >&2; exit {status}")
        assert result.status == status
        assert ("0.json.before" in result.err) == (status == 0)
        assert "0.json\n" not in result.err
    assert [json.loads(one.read_text())["exit_status"] for one in (before, path)] == [3, 0]


# Jobs and copies.

@pytest.mark.parametrize("order", itertools.permutations("abc"))
def test_the_job_that_ended_last_and_of_that_the_last_attempt(blame, order):
    ends = {"a": ("j", 1, 100), "b": ("k", 0, 50), "c": ("j", 2, 10)}
    document = blame(*(report(0, 1, OWN, STOPPED, job=ends[key][0], attempt=ends[key][1],
                              at=ends[key][2]) for key in order))
    assert (document["job"]["id"], document["job"]["attempt"]) == ("j", 2)
    assert [(one["id"], one["attempt"]) for one in document["other_attempts"]] == [
        ("j", 1), ("k", 0)]


def test_a_job_that_ended_later_is_judged_whatever_its_attempt(blame):
    document = blame(report(0, 1, OWN, STOPPED, job="j", attempt=2, at=10),
                     report(0, 1, OWN, STOPPED, job="k", attempt=0, at=50))
    assert document["job"]["id"] == "k"


@pytest.mark.parametrize("told", [{}, UNTOLD])
def test_copies_of_a_report_are_one(blame, box, tmp_path, told):
    pair = [report(0, 2, OWN, STOPPED, **told), report(1, 2, LOSS, LOSS, **told)]
    document = blame(*pair, *pair, stopped(0, 2, began=BEGAN - 900, **told))
    assert names(document) == [(0, 0)] and document["job"]["reports"] == 2
    assert [one["reports"] for one in document["other_attempts"]] == [1]
    assert [one["why"] for one in document["skipped"]] == ["another file has the same report"] * 2
    # a file that is named twice is no copy
    twice = box.run("--blame=json", str(tmp_path), str(tmp_path / "0.json"), place="below")
    assert len(json.loads(twice.out)["skipped"]) == 2


def test_memory_that_many_reports_want(box, tmp_path):
    document = report(0, 2500, OWN, STOPPED)
    document["first_failure"]["reason"] = ["x" * 1024] * 20
    text = json.dumps(document).replace('"node_rank": {"value": 0', '"node_rank": {"value": %d')
    for node in range(2500):
        (tmp_path / f"{node:04d}.json").write_text(text % node)
    out, _ = measured(box.rankinit, "--blame", str(tmp_path))
    assert b"there is no room left for more reports\n" in out
