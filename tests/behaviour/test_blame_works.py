# SPDX-License-Identifier: Apache-2.0
"""--blame of time-outs: what NCCL's watchdogs of all nodes say of who is out of step."""

import pytest

from reports import BEGAN, OWN, STOPPED, WAITED, clock, names, page, report, saw, stopped

NODES = 4
GATHER = 288686     # the number of the collective in which the ranks wait


def waits(op="_ALLGATHER_BASE", number=GATHER, group="default_pg", size=4):
    """In a collective until its time was over."""
    return {**WAITED, "work": {"group": group, "op": op, "sequence": number, "numel_in": size,
                               "numel_out": 2 * size, "enqueued": number, "completed": number - 1}}


def behind(number=GATHER - 1, group="default_pg", **more):
    """It waited for nothing, and rankinit told it to stop."""
    work = {"group": group, "op": "", "enqueued": number, "completed": number}
    return {**STOPPED, "work": {**work, **more}}


def job(odd=None, **more):
    """Eight ranks on four nodes, of which rank 5, on node 2, is this."""
    ends = [waits() for _ in range(2 * NODES)]
    if odd is not None:
        ends[5] = odd
    return [report(node, NODES, *ends[2 * node:2 * node + 2], **more) for node in range(NODES)]


SENTENCE = f"rank 5 never entered _ALLGATHER_BASE {GATHER} of group default_pg, in which " \
    "ranks 0-4, 6-7 wait"


def test_the_one_that_never_came(blame, box, tmp_path):
    document = blame(*job(behind()))
    assert (document["finding"], names(document)) == ("held", [(2, 5)])
    assert document["out_of_step"] == SENTENCE
    assert page(box, tmp_path).startswith(
        "rank 5 of node 2 (gpu-0002) did not come when all others waited for it: look at what it "
        f"did last\n    report: {tmp_path}/2.json\ncollectives: {SENTENCE}\n")


def test_the_control_without_their_words(blame, box, tmp_path):
    """Nobody knows: rank 5 ended of the stop at the same time as the others lost patience."""
    documents = job(behind())
    for document in documents:
        for rank in document["ranks"]:
            del rank["work"]
    document = blame(*documents)
    assert (document["finding"], document["suspects"], document["out_of_step"]) == \
        ("unknown", [], None)
    assert "collectives:" not in page(box, tmp_path)


def test_the_control_in_which_all_are_together(blame):
    document = blame(*job())
    assert (document["finding"], document["suspects"], document["out_of_step"]) == \
        ("unknown", [], None)


def test_the_one_that_called_another(blame, box, tmp_path):
    document = blame(*job(waits("REDUCE")))
    assert (document["finding"], names(document)) == ("held", [(2, 5)])
    assert document["out_of_step"] == \
        f"in group default_pg rank 5 waits in REDUCE {GATHER} (numel 4 to 8), ranks 0-4, 6-7 in " \
        f"_ALLGATHER_BASE {GATHER} (numel 4 to 8)"
    assert page(box, tmp_path).startswith(
        "rank 5 of node 2 (gpu-0002) called another collective than all others\n")


def test_its_autopsy_says_what_it_did(blame, box, tmp_path):
    documents = job(behind())
    documents[2]["autopsy"] = saw(5, 4)
    document = blame(*documents)
    assert [(one["rank"], one["did"]) for one in document["suspects"]] == \
        [(5, "sleeps, train.py:55 in step")]
    said = page(box, tmp_path)
    assert said.startswith("rank 5 of node 2 (gpu-0002) held up the others, at ")
    assert f"\ncollectives: {SENTENCE}\n" in said


@pytest.mark.parametrize("said, more", [
    (None, "; 1 of 8 ranks do not tell"),
    ({"group": "default_pg", "op": "", "enqueued": GATHER, "completed": GATHER - 1}, ""),
    ({"group": "3(tp)", "op": "", "enqueued": 7, "completed": 7}, "")])
def test_who_does_not_tell_may_be_it(blame, said, more):
    """Rank 6 says nothing, or nothing of this group; or it has entered the collective."""
    documents = job(behind())
    documents[3]["ranks"][0] = {**documents[3]["ranks"][0], "work": said}
    document = blame(*documents)
    assert (document["finding"], document["suspects"]) == ("unknown", [])
    assert document["out_of_step"] == SENTENCE.replace("6-7", "7") + more


@pytest.mark.parametrize("odd", [
    behind(completed=GATHER - 2),               # it waits itself, in another group or for a peer
    behind(GATHER, completed=GATHER - 1),
    waits("REDUCE", GATHER - 1),                # of an earlier one its end is out of step
    waits("SEND"), waits(group=""), behind(group="")])
def test_what_does_not_make_it_guilty(blame, odd):
    document = blame(*job(odd))
    assert (document["finding"], document["suspects"]) == ("unknown", [])


def test_two_are_not_one(blame):
    documents = job(behind())
    documents[0] = report(0, NODES, waits(), behind())
    document = blame(*documents)
    assert (document["finding"], document["suspects"]) == ("unknown", [])
    assert document["out_of_step"].startswith("ranks 1, 5 never entered ")


def test_a_smaller_group_is_told_and_names_nobody(blame):
    """Whose ranks belong to it is not known."""
    ends = [waits(group="3(tp)", number=7), behind(6, "3(tp)")] * 4
    document = blame(*(report(node, NODES, *ends[:2]) for node in range(NODES)))
    assert (document["finding"], document["suspects"]) == ("unknown", [])
    assert document["out_of_step"] == "ranks 1, 3, 5, 7 never entered _ALLGATHER_BASE 7 of group " \
        "3(tp), in which ranks 0, 2, 4, 6 wait"


def test_a_node_without_a_report(blame, box, tmp_path):
    """What the others say stands there; the one that is missing may be it."""
    documents = job(behind())
    document = blame(*documents[:3])
    assert (document["finding"], document["suspects"]) == ("unreported", [])
    sentence = SENTENCE.replace("4, 6-7", "4") + "; 2 of 8 ranks do not tell"
    assert document["out_of_step"] == sentence
    assert f"\ncollectives: {sentence}\n" in page(box, tmp_path)


def test_a_failure_of_its_own_weighs_more(blame):
    document = blame(*job({**OWN, "work": behind()["work"]}))
    assert (document["finding"], names(document), document["out_of_step"]) == \
        ("failed-first", [(2, 5)], None)
    document = blame(*job(({"work": behind()["work"]}, 50)))
    assert (document["finding"], names(document), document["out_of_step"]) == \
        ("left", [(2, 5)], None)


def test_a_stop_from_outside(blame):
    stop = {"stop": {"signal": "SIGTERM", "at": clock(BEGAN + 60)}}
    documents = [stopped(node, NODES, **stop) for node in range(NODES)]
    for document in documents:
        for rank in document["ranks"]:
            rank["work"] = behind()["work"]
    document = blame(*documents)
    assert (document["finding"], document["suspects"], document["out_of_step"]) == \
        ("stopped", [], None)


def test_two_reports_that_claim_one_rank(blame):
    documents = job(behind())
    documents[3]["ranks"][0]["rank"] = 5
    document = blame(*documents)
    assert (document["suspects"], document["out_of_step"]) == ([], None)


EVIL = "\x1b]0;x\x07\nrank 9 failed first"


@pytest.mark.parametrize("work", [
    [], 7, "x", {}, {"group": "default_pg"}, {"group": EVIL, "op": ""},
    {"group": "default_pg", "op": EVIL}, {"group": "default_pg", "op": "A" * 5000},
    {"group": "default_pg" * 5000, "op": "ALLREDUCE"},
    {"group": "default_pg", "op": "", "enqueued": "1", "completed": 1},
    {"group": "default_pg", "op": "", "enqueued": -2, "completed": -2},
    {"group": "default_pg", "op": "", "enqueued": 2 ** 62, "completed": 2 ** 62},
    {"group": "default_pg", "op": "REDUCE", "sequence": -1},
    {"group": "default_pg", "op": "REDUCE", "sequence": 2 ** 62}])
def test_what_cannot_be_names_no_rank(box, tmp_path, blame, work):
    documents = job(behind())
    documents[2]["ranks"][1]["work"] = work
    document = blame(*documents)
    assert (document["finding"], document["suspects"]) == ("unknown", [])
    said = page(box, tmp_path)
    assert "\x1b" not in said and "\nrank 9" not in said and len(said) < 4000
