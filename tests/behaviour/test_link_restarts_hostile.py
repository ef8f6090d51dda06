# SPDX-License-Identifier: Apache-2.0
"""--restarts over several nodes that come late, or hear of a failure when nobody expects it."""

import os
import random
import signal

import pytest

import peek
from peek import wait_until
from test_link import Nodes
from test_link_restarts import AGAIN, NOT, attempts, pids_of

COUNT = ": > @FOLDER/up.${RANKINIT_ATTEMPT:-0}.$RANK; "


@pytest.mark.parametrize("options", [[], ["--restarts=1"]], ids=str)
def test_a_node_that_comes_late(box, options):
    """The failure was decided without it, its ranks are told nothing, and nobody waits for it."""
    its = Nodes(box, 3, 1, COUNT + "[ $RANK = 1 ] && kill -9 $$; [ $RANK = 0 ] && exec sleep 60; "
                "until [ -s @FOLDER/status0 ]; do sleep 0.02; done", "--restart-wait=600",
                of={0: ["--restarts=1"], 1: ["--restarts=1"], 2: options},
                before={2: "until grep -qs 'failed first' @FOLDER/err0; do sleep 0.02; done"})
    ended = its.wait()
    assert [node.status for node in ended.values()] == [122, 137, 0], ended
    for node in 0, 1:
        assert [line for line in ended[node].lines if line.startswith(NOT + "node 2 (")
                and line.endswith(" has come only after the failure")], ended[node].lines
    assert set(attempts(its, 3)) == {(0, 0), (0, 1), (0, 2)}


@pytest.mark.parametrize("seed", range(6))
def test_a_stop_at_any_moment(box, seed):
    """The job fails again and again; one node is stopped meanwhile, and all of them end."""
    dice = random.Random(seed)
    its = Nodes(box, 3, 1, COUNT + "seq 0 $RANKINIT_ATTEMPT >&2; [ $RANK = 1 ] && kill -9 $$; "
                "exec sleep 60", "--restarts=1000", "--restart-wait=5")
    some = dice.randrange(1, 8)
    wait_until(lambda: sum(AGAIN.fullmatch(line) is not None for line in its.lines(0)) >= some,
               "restarts")
    victim = dice.randrange(3)
    for pid in pids_of(its, victim):
        if peek.stat(pid) is not None:
            os.kill(pid, dice.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
    ended = its.wait()
    for number, node in ended.items():
        assert node.status in (122, 123, 129, 130, 137, 143), (number, node)
