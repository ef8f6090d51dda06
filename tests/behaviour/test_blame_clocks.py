# SPDX-License-Identifier: Apache-2.0
"""--blame: what came before what, as far as clocks tell, and whom that names."""

import pytest

from reports import (BEGAN, KILLED, LOSS, OWN, STOPPED, UNKNOWN, WAITED, clock, names, page, report,
                     stopped)

MEASURED = {"ahead_s": 0.0, "error_s": 0.001}
STOP = {"stop": {"signal": "SIGTERM", "at": clock(BEGAN + 60)}}
NOT_STARTED = {"state": "not-started", "exit_code": None}


def verdict(node):
    return {"job_verdict": f"rank 4 failed first (node {node} of 3): exit status 1\n",
            "job_verdict_node": node}


# The verdict of the link.

def test_a_node_without_a_report_that_the_link_named_before_a_later_end(blame):
    document = blame(report(0, 3, LOSS, LOSS, **verdict(2)),
                     report(1, 3, (OWN, 75), STOPPED, **verdict(2)))
    assert (document["finding"], document["suspects"]) == ("named-by-link", [])
    assert document["victims"]["failed"] == 1


def test_what_failed_when_it_was_told_to_stop_is_not_what_the_link_named(blame):
    told = {**OWN, "told": True}
    document = blame(report(0, 3, LOSS, LOSS, **verdict(2)),
                     report(1, 3, (told, 63), STOPPED, **verdict(2)),
                     report(2, 3, UNKNOWN, STOPPED, **verdict(2)))
    assert names(document) == [(2, 4)]


# Ends with 0 and losses.

@pytest.mark.parametrize("ends, clocks, named", [
    # what it left is what it had lost itself, on a machine that says so
    ([((LOSS, 60), (LOSS, 60)), ((LOSS, 60.1), ({}, 60.9))], None, []),
    ([((LOSS, 60), (LOSS, 60)), ((LOSS, 60.9), ({}, 60.1))], None, [(1, 3)]),
    ([((LOSS, 60), (LOSS, 60)), ((LOSS, 66), ({}, 62.1))], None, []),
    # by clocks that were not compared it takes two seconds
    ([((LOSS, 60), (LOSS, 60)), (({}, 59), ({}, 59))], None, []),
    ([((LOSS, 60), (LOSS, 60)), (({}, 58), ({}, 58))], None, [(1, 2), (1, 3)][:1]),
    # by those that were, what they leave open: 60 s drift by 6 ms, and 2 ms, on each side
    ([((LOSS, 60), (LOSS, 60)), (({}, 59.9), ({}, 60))], MEASURED, [(1, 2)]),
    ([((LOSS, 60), (LOSS, 60)), (({}, 59.99), ({}, 60))], MEASURED, []),
])
def test_a_rank_that_had_left_before_all_losses(blame, ends, clocks, named):
    document = blame(*(report(node, 2, *two, clocks=clocks) for node, two in enumerate(ends)))
    assert names(document) == named
    assert document["finding"] == ("left" if named else "unknown")


def test_nodes_on_one_machine_have_one_clock(blame, tmp_path):
    ends = [((LOSS, 60),), (({}, 59.99),)]
    for boot, named in (("a", [(1, 1)]), ("b", [])):
        documents = [report(node, 2, *one, ranks=1, facts={"boot": ("a", boot)[node]})
                     for node, one in enumerate(ends)]
        assert names(blame(*documents, folder=tmp_path)) == named


def test_a_rank_that_failed_last_of_all_is_alone_only_if_the_others_ended_together(blame, tmp_path):
    document = blame(report(0, 2, ({}, 10), ({}, 60)), report(1, 2, (WAITED, 90), ({}, 60)))
    assert (document["finding"], names(document)) == ("left", [(0, 0)])
    document = blame(report(0, 2, ({}, 60), ({}, 61)), report(1, 2, (WAITED, 90), ({}, 60)),
                     folder=tmp_path)
    assert (document["finding"], names(document)) == ("failed-first", [(1, 2)])


def test_a_time_that_is_unknown_orders_nothing(blame, tmp_path):
    unknown = report(0, 2, OWN, STOPPED)
    unknown["first_failure"]["at"] = None
    document = blame(unknown, report(1, 2, (OWN, 30), STOPPED))
    assert names(document) == [(1, 2), (0, 0)]
    left = report(0, 2, {}, LOSS)
    left["ranks"][0]["ended"] = None
    document = blame(left, report(1, 2, LOSS, LOSS), folder=tmp_path)
    assert (document["finding"], names(document)) == ("unknown", [])


# Who waited.

@pytest.mark.parametrize("boot, waiting, end, named", [
    # on another machine, whose clock is another one
    (1, [WAITED], (STOPPED, 62.9), []),
    (1, [WAITED], (STOPPED, 63), [(1, 1)]),
    (1, [WAITED, WAITED], (STOPPED, 62.4), []),
    (1, [WAITED, WAITED], (STOPPED, 62.5), [(1, 2)]),
    (1, [WAITED, WAITED], ({"state": "running", "exit_code": None}, 60), [(1, 2)]),
    # on the same one
    (0, [WAITED], (STOPPED, 60.6), []),
    (0, [WAITED], (STOPPED, 61), [(1, 1)]),
    (0, [WAITED, WAITED], (STOPPED, 60.4), []),
    (0, [WAITED, WAITED], (STOPPED, 60.6), [(1, 2)]),
])
def test_who_is_waited_for_lives_longer_than_who_waits(blame, boot, waiting, end, named):
    waits = report(0, 2, *waiting, ranks=len(waiting), facts={"boot": "0"})
    held = report(1, 2, end, ranks=1, facts={"boot": str(boot)})
    held["ranks"][0]["rank"] = held["topology"]["rank"]["value"] = len(waiting)
    for document in (waits, held):
        document["topology"]["world_size"]["value"] = len(waiting) + 1
    document = blame(waits, held)
    assert (document["finding"], names(document)) == ("held" if named else "unknown", named)


# Nodes that left no report.

@pytest.mark.parametrize("end, clocks", [((KILLED, 85), None), ((UNKNOWN, 100), None),
                                         ((OWN, 63), MEASURED)])
def test_an_end_long_after_losses_is_not_the_first_one_if_reports_are_missing(
        blame, box, tmp_path, end, clocks):
    there = [report(0, 3, LOSS, LOSS, clocks=clocks), report(1, 3, end, LOSS, clocks=clocks)]
    document = blame(*there)
    assert (document["finding"], document["suspects"]) == ("unreported", [])
    assert document["missing"]["nodes"] == [[2, 2]]
    assert "\nlater rank 2 of node 1 (gpu-0001) failed: " in page(box, tmp_path)
    # but of all that there are it is
    assert names(blame(*there, stopped(2, 3, clocks=clocks), folder=tmp_path)) == [(1, 2)]


def test_a_master_that_nobody_found_is_no_failure_of_who_looked_for_it(blame):
    document = blame(*(report(node, 3, NOT_STARTED, NOT_STARTED, exit_status=124)
                       for node in (1, 2)))
    assert (document["finding"], document["suspects"]) == ("unreported", [])
    assert document["missing"]["nodes"] == [[0, 0]]


# Stops.

def test_a_node_that_was_stopped_before_the_others_lost_it(blame, box, tmp_path):
    lost = [report(node, 3, (LOSS, 62.5), (LOSS, 62.5)) for node in (0, 1)]
    document = blame(*lost, stopped(2, 3, **STOP))
    assert (document["finding"], names(document)) == ("stopped-first", [(2, None)])
    assert document["suspects"][0]["at"] == STOP["stop"]["at"]
    assert page(box, tmp_path).startswith("node 2 (gpu-0002) was stopped from outside, at ")
    # nobody knows who of these was before
    near = [report(node, 3, (LOSS, 61.5), (LOSS, 61.5)) for node in (0, 1)]
    assert blame(*near, stopped(2, 3, **STOP), folder=tmp_path)["finding"] == "unknown"


def test_a_job_that_was_stopped_and_lost_peers_by_that(blame):
    document = blame(*(report(node, 2, (LOSS, 63), (STOPPED, 61), **STOP) for node in range(2)))
    assert (document["finding"], document["suspects"]) == ("stopped", [])


def test_an_exit_status_is_no_stop(blame, box, tmp_path):
    document = blame(report(0, 2), report(1, 2, exit_status=7))
    assert (document["finding"], document["suspects"]) == ("none-failed", [])
    assert page(box, tmp_path).startswith(
        "no rank failed\n    but of node 1 (gpu-0001) the exit status is 7\n")


# Victims.

def test_victims_of_one_node_with_reports_of_its_ranks(blame):
    documents = []
    for rank, end in enumerate((OWN, LOSS, LOSS, LOSS)):
        one = report(rank // 2, 2, end, ranks=1)
        one["ranks"][0]["rank"] = one["topology"]["rank"]["value"] = rank
        one["topology"]["world_size"]["value"] = 4
        if rank == 0:
            one["first_failure"]["rank"] = rank
        documents.append(one)
    document = blame(*documents)
    assert names(document) == [(0, 0)]
    assert document["victims"] == {"ranks": 3, "nodes": 2, "lost": 3, "stopped": 0, "failed": 0}
