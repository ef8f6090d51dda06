# SPDX-License-Identifier: Apache-2.0
"""tests/golden/run.py notices a case that is not so."""

import dataclasses
import os
import sys

import pytest

from test_check_hosts import HOSTS

sys.path.insert(0, os.path.join(os.path.dirname(HOSTS), "golden"))
import cases  # noqa: E402  pylint: disable=wrong-import-position
import run  # noqa: E402  pylint: disable=wrong-import-position

FOUND = "env/stale-identity"       # a warning and a note
REFUSED = "env/split-world-master"


def case_of(name, **changed):
    (case,) = [case for case in cases.load() if case.name == name]
    return dataclasses.replace(case, **changed)


@pytest.mark.parametrize("name", [FOUND, REFUSED])
def test_a_case_that_is_so(rankinit, name):
    assert run.faults(rankinit, case_of(name)) == []


@pytest.mark.parametrize("name, changed", [
    (FOUND, {"findings": None}),
    (FOUND, {"findings": ["warning env.differs RANK"]}),
    (FOUND, {"findings": ["note node_rank.assumed NODE_RANK"]}),
    (FOUND, {"findings": ["note node_rank.assumed NODE_RANK", "warning env.differs RANK"]}),
    (FOUND, {"findings": ["note env.differs RANK", "note node_rank.assumed NODE_RANK"]}),
    (FOUND, {"findings": ["warning env.differs RAN", "note node_rank.assumed NODE_RANK"]}),
    (FOUND, {"findings": ["warning env.differ RANK", "note node_rank.assumed NODE_RANK"]}),
    (FOUND, {"findings": ["warning env.differs RANK", "note node_rank.assumed NODE_RANK",
                          "warning env.differs WORLD_SIZE"]}),
    (FOUND, {"want": ["RANK=13"]}),
    (FOUND, {"want": None, "error": ["launch.split RANK"]}),
    (REFUSED, {"error": ["launch.split RANK"]}),
    (REFUSED, {"error": ["launch.ranks WORLD_SIZE"]}),
    (REFUSED, {"error": None, "want": []}),
])
def test_a_case_that_is_not_so(rankinit, name, changed):
    assert run.faults(rankinit, case_of(name, **changed)) != []
