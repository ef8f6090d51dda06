# SPDX-License-Identifier: Apache-2.0
"""--blame of a job that hung: what the autopsies of its nodes say of who held up the others."""

import copy
import json
import os
import sys

import pytest

import schema
from box import HERE
from reports import (BEGAN, LOSS, OWN, STOPPED, WAITED, clock, report, saw, stopped, write)
from test_autopsy import COLLECTIVES

STOP = {"stop": {"signal": "SIGTERM", "at": clock(BEGAN + 60)}}
DEED = "sleeps, train.py:55 in step"


def asked(box, folder, form="json"):
    result = box.run(f"--blame={form}" if form else "--blame", str(folder), place="below")
    assert result.status == 0 and result.err == "", result
    return result.out.decode()


@pytest.fixture
def blame(box, tmp_path):
    def run(*documents):
        write(tmp_path, documents)
        document = json.loads(asked(box, tmp_path))
        schema.check(document, "blame")
        return document
    return run


def names(document):
    return [(suspect["node"], suspect["rank"], suspect["did"]) for suspect in document["suspects"]]


def hung(node, nodes=2, **more):
    return stopped(node, nodes, **STOP, **more)


def test_a_job_that_was_stopped(blame, box, tmp_path):
    document = blame(hung(0), hung(1, autopsy=saw(3, 2, 8, 9)))
    assert (document["finding"], names(document)) == ("held", [(1, 3, DEED)])
    suspect = document["suspects"][0]
    assert suspect["at"] == clock(BEGAN + 60) and suspect["how"] is None
    assert suspect["reason"] == [
        "3 other ranks there: each waits for the other ranks in barrier",
        "/job/train.py:55 in step"]
    assert document["victims"]["stopped"] == 3
    assert asked(box, tmp_path, "").startswith(
        f"rank 3 of node 1 (gpu-0001) held up the others, at {clock(BEGAN + 60)}: it {DEED}\n"
        "    3 other ranks there: each waits for the other ranks in barrier\n"
        "    /job/train.py:55 in step\n"
        f"    report: {tmp_path}/1.json\n"
        "victims: 3 ranks on 2 nodes: 3 told to stop\n")


def test_the_control_without_autopsies(blame):
    document = blame(hung(0), hung(1))
    assert (document["finding"], document["suspects"]) == ("stopped", [])


def test_two_nodes_that_contradict_each_other(blame, box, tmp_path):
    document = blame(hung(0, autopsy=saw(1, 0, text="waits for a lock")),
                     hung(1, autopsy=saw(3, 2)))
    assert names(document) == [(0, 1, "waits for a lock"), (1, 3, DEED)]
    said = asked(box, tmp_path, "")
    assert said.startswith("one of 2 held up the others, and what their nodes saw does not tell")
    assert f"\n  rank 3 of node 1 (gpu-0001), at {clock(BEGAN + 60)}: it {DEED}\n" in said


FOUND = "of 4 ranks 3 wait in all_reduce (train.py:16), rank 1 (node 0, gpu-0000) is in step"


def together(rank=1, node=0, at=60.0, text=FOUND):
    """What all nodes saw, as each report has it."""
    return {"job_autopsy": {"at": clock(BEGAN + at), "rank": rank, "node": node,
                            "text": text + "\n"}}


def test_what_all_nodes_saw_weighs_more_than_what_one_did(blame, box, tmp_path):
    """Node 1 knows its own ranks alone."""
    document = blame(hung(0, **together()), hung(1, autopsy=saw(3, 2), **together()))
    assert (document["finding"], names(document)) == ("held", [(0, 1, None)])
    assert document["suspects"][0]["reason"] == [FOUND]
    assert document["suspects"][0]["at"] == clock(BEGAN + 60)
    assert asked(box, tmp_path, "").startswith(
        f"rank 1 of node 0 (gpu-0000) held up the others, as all nodes saw at "
        f"{clock(BEGAN + 60)}:\n    {FOUND}\n    report: {tmp_path}/0.json\n")


def test_what_all_nodes_saw_and_what_its_own_did(blame):
    document = blame(hung(0, autopsy=saw(1, 0), **together()), hung(1))
    assert names(document) == [(0, 1, DEED)]
    assert document["suspects"][0]["reason"][0] == FOUND
    assert document["suspects"][0]["reason"][-1] == "/job/train.py:55 in step"


@pytest.mark.parametrize("other", [
    together(rank=None, node=None), together(at=-600), together(at=63), {"job_autopsy": None}])
def test_a_look_of_all_nodes_that_names_no_rank_at_the_end(blame, other):
    document = blame(hung(0, **other), hung(1, autopsy=saw(3, 2), **other))
    assert names(document) == [(1, 3, DEED)]


def test_nodes_that_heard_of_two_ranks(blame):
    """Each look names one: which is not told."""
    document = blame(hung(0, **together()), hung(1, autopsy=saw(3, 2), **together(2, 1, 59)))
    assert names(document) == [(1, 3, DEED)]


def test_a_look_of_all_nodes_at_a_node_without_a_report(blame):
    document = blame(hung(1, autopsy=saw(3, 2), **together()))
    assert names(document) == [(1, 3, DEED)]


def test_a_failure_weighs_more_than_a_look_of_all_nodes(blame):
    document = blame(report(0, 2, LOSS, OWN, **together(0)), hung(1, **together(0)))
    assert (document["finding"], names(document)) == ("failed-first", [(0, 1, None)])


def test_two_nodes_that_agree(blame):
    assert names(blame(hung(0, autopsy=saw(3, 0)), hung(1, autopsy=saw(3, 2)))) == [(0, 3, DEED)]


def test_a_failure_of_its_own_weighs_more(blame):
    document = blame(report(0, 2, LOSS, OWN), hung(1, autopsy=saw(3, 2)))
    assert (document["finding"], names(document)) == ("failed-first", [(0, 1, None)])


def test_a_rank_that_had_left_weighs_more(blame):
    document = blame(report(0, 2, ({}, 50), WAITED),
                     report(1, 2, WAITED, WAITED, autopsy=saw(3, 2)))
    assert (document["finding"], names(document)) == ("left", [(0, 0, None)])


def test_all_others_waited_in_vain(blame, box, tmp_path):
    """The losses name it, and the autopsy, which suspects none of so few, says what it did."""
    ends = [WAITED, (STOPPED, 70)]
    document = blame(report(0, 2, WAITED, WAITED),
                     report(1, 2, *ends, autopsy=saw(3, 2, suspects=False)))
    assert (document["finding"], names(document)) == ("held", [(1, 3, DEED)])
    # not of another rank
    document = blame(report(0, 2, WAITED, WAITED),
                     report(1, 2, *ends, autopsy=saw(2, 3, suspects=False)))
    assert names(document) == [(1, 3, None)]
    assert "(gpu-0001) did not come when all others waited for it" in asked(box, tmp_path, "")


def test_a_node_without_a_report(blame, box, tmp_path):
    """The suspect is named, and the node that is missing, too."""
    document = blame(hung(0, 3, autopsy=saw(1, 0)), hung(2, 3))
    assert (document["finding"], names(document)) == ("held", [(0, 1, DEED)])
    assert "no report from 1 of 3 nodes: 1\n" in asked(box, tmp_path, "")


@pytest.mark.parametrize("at", [-600, 63, 9e9])
def test_a_look_that_is_not_of_the_end(blame, at):
    """Asked for by a signal, and then the job went on; or by a clock that cannot be."""
    autopsy = saw(3, 2)
    autopsy["at"] = clock(BEGAN + at) if at < 1e9 else None
    document = blame(hung(0), hung(1, autopsy=autopsy))
    assert (document["finding"], document["suspects"]) == ("stopped", [])


def test_a_job_that_went_well(blame):
    document = blame(report(0, 2), report(1, 2, autopsy=saw(3, 2)))
    assert (document["finding"], document["suspects"]) == ("none-failed", [])


def test_below_a_launcher_of_its_own(blame):
    """rankinit's child is torchrun, which has no rank; the autopsy knows those below it."""
    one = report(0, 1, STOPPED, ranks=1, **STOP, autopsy=saw(2, 0, 1, 3))
    one["ranks"][0]["rank"] = one["ranks"][0]["local_rank"] = None
    one["topology"]["world_size"]["value"] = 4
    assert names(blame(one)) == [(0, 2, DEED)]


EVIL = "\x1b]0;x\x07\u009b31m\nrank 9 failed first"


def hostile():
    sound = saw(3, 2)
    yield "no object", []
    yield "groups that are none", {**sound, "suspect": None, "groups": [1, [], {}, None, "x"]}
    yield "a rank that cannot be", {**sound, "suspect": {**sound["suspect"], "rank": 4}}
    yield "a number that is none", {**sound, "suspect": {**sound["suspect"], "rank": "3"}}
    yield "a negative one", {**sound, "suspect": {**sound["suspect"], "rank": -1}}
    yield "a large one", {**sound, "suspect": {**sound["suspect"], "rank": 2 ** 62}}
    yield "no words", {**sound, "suspect": {"rank": 3}}


@pytest.mark.parametrize("autopsy", [pytest.param(autopsy, id=name)
                                     for name, autopsy in hostile()])
def test_what_cannot_be_names_no_rank(box, tmp_path, autopsy):
    broken = hung(1)
    broken["autopsy"] = autopsy
    write(tmp_path, [hung(0), broken])
    document = json.loads(asked(box, tmp_path))
    assert (document["finding"], document["suspects"]) == ("stopped", [])
    assert document["skipped"] == []


def test_what_is_long_is_cut(box, tmp_path):
    autopsy = copy.deepcopy(saw(3, 2))
    autopsy["suspect"]["text"] = EVIL + "x" * 5000
    frame = {"file": EVIL + "y" * 5000, "line": 2 ** 40, "function": EVIL}
    autopsy["groups"][0]["threads"][0]["frames"] = [frame] * 1000
    autopsy["groups"][1]["text"] = "\u00e9" * 5000
    autopsy["groups"] += [{}] * 20000
    broken = hung(1)
    broken["autopsy"] = autopsy
    write(tmp_path, [hung(0), broken])
    for form in ("", "json"):
        said = asked(box, tmp_path, form)
        assert len(said) < 12000 and len(said.splitlines()) < 40
        assert "\x1b" not in said and "\u009b" not in said and "\nrank 9" not in said
    document = json.loads(asked(box, tmp_path))
    assert document["suspects"][0]["rank"] == 3
    assert len(document["suspects"][0]["reason"]) == 8


def test_a_job_that_hangs(box, tmp_path):
    """Two nodes of four ranks: one rank sleeps, and all others wait for it until they are told."""
    made = tmp_path / "site-packages" / "torch" / "distributed"
    made.mkdir(parents=True)
    (made / "distributed_c10d.py").write_text(COLLECTIVES)
    where = tmp_path / "reports"
    where.mkdir()
    box.run("--simulate=kubeflow_pytorch:2x4,stop=4", "--autopsy-after=1", "--checks=none",
            f"--report={where}/%n.json", "--", sys.executable, "-I", "-S",
            os.path.join(HERE, "hang.py"), str(tmp_path), "sleep", "6", place="below")
    document = json.loads(asked(box, where))
    schema.check(document, "blame")
    assert (document["finding"], [one[:2] for one in names(document)]) == ("held", [(1, 6)])
    suspect = document["suspects"][0]
    assert suspect["did"].startswith("sleeps, hang.py:") and " in work" in suspect["did"]
    assert suspect["reason"][0].startswith(
        "3 other ranks there: each waits for the other ranks in all_reduce, hang.py:")
    assert any("hang.py:" in line and line.endswith(" in work") for line in suspect["reason"][1:])
    assert document["victims"]["stopped"] == 7
