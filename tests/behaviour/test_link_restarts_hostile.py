# SPDX-License-Identifier: Apache-2.0
"""--restarts over several nodes that come late, or hear of a failure when nobody expects it."""

import os
import signal

import pytest

from peek import wait_until
from test_link import Nodes
from test_link_restarts import NOT, attempts, pids_of

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


# A shell lets what it starts with & ignore SIGINT and SIGQUIT.
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_stop_while_the_ranks_end(box, number):
    """One rank takes its time to end of the other's failure, and hears a signal meanwhile."""
    its = Nodes(box, 2, 1, COUNT + "if [ $RANK = 0 ]; then until [ -e @FOLDER/ready ]; do "
                "sleep 0.02; done; kill -9 $$; fi; trap ': > @FOLDER/asked' TERM; "
                "trap 'exit 7' HUP; : > @FOLDER/ready; "
                "until [ -e @FOLDER/go ]; do sleep 0.02; done; exit 7", "--restarts=1")
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "asked")), "an order")
    (node,) = pids_of(its, 1)
    os.kill(node, number)
    if number == signal.SIGTERM:
        with open(os.path.join(its.job.folder, "go"), "w", encoding="ascii"):
            pass
    ended = its.wait()
    assert ended[0].status == 137 and attempts(its, 2) == [(0, 0), (0, 1)], ended
    assert [line for line in ended[0].lines if line.startswith(NOT + "node 1 (")
            and line.endswith(" was stopped from outside")], ended[0].lines
