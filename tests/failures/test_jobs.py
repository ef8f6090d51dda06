# SPDX-License-Identifier: Apache-2.0
"""Some of the jobs of `make failures`: one of each mechanism, and controls."""

import os
import subprocess

import pytest

import jobs

BINARY = jobs.TOP / "build" / "rankinit"


@pytest.fixture(scope="module")
def results():
    if subprocess.run(jobs.ALONE + ["true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    some = jobs.draw(19, len(jobs.MECHANISMS))
    some += jobs.draw(19, 60)[60:61]        # a third control
    return jobs.play_all(some, BINARY, 3 * (os.cpu_count() or 1))


def test_each_mechanism_and_controls(results):
    assert {job.mechanism for job, _ in results} == {*jobs.MECHANISMS, *jobs.CONTROLS}
    wrong = [f"{job}: {outcome}\n{said}" for job, (outcome, _, said) in results
             if outcome != "right"]
    assert not wrong, "\n".join(wrong)


def test_what_would_be_wrong():
    """The judge of the tests itself."""
    job = jobs.Job(0, "sagemaker", 2, 2, "kill", 3, 100)
    control = jobs.Job(1, "sagemaker", 2, 2, "well", -1, 100)
    said = {"finding": "failed-first", "missing": {"nodes": [], "ranks": []}}
    right, other = {"node": 1, "rank": 3}, {"node": 0, "rank": 1}
    for suspects, outcome in (([right], "right"), ([other], "WRONG"), ([right, other], "tie"),
                              ([], "nobody")):
        assert jobs.judge(job, {**said, "suspects": suspects}) == outcome
    assert jobs.judge(control, {**said, "suspects": []}) == "right"
    assert jobs.judge(control, {**said, "suspects": [other]}) == "WRONG"
    assert jobs.judge(job, None) == "WRONG"


def test_the_draw_is_the_same_each_time():
    assert jobs.draw(19, 60) == jobs.draw(19, 60) != jobs.draw(20, 60)
    assert len(jobs.draw(19, 60)) == 72
