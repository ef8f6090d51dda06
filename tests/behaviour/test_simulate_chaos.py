# SPDX-License-Identifier: Apache-2.0
"""--simulate where things are not as they usually are."""

import shutil
import signal
import time

import pytest

from test_simulate import nothing_is_left, simulated

PLACES = ["init", "below"]


@pytest.mark.parametrize("name", ["rankinit", "rankinit-0.1-static"])
@pytest.mark.parametrize("place", PLACES)
def test_one_sigterm_whatever_the_binary_is_called(box, tmp_path, place, name):
    """The nodes' rankinits pass a stop on, and nobody else sends a second one."""
    program = shutil.copy(box.rankinit, tmp_path / name)
    job = box.start("--simulate=skypilot:1x2", "--", *box.payload("env:RANK", "deaf", "after=3"),
                    program=str(program), place=place)
    job.until("rank0 ready", "rank1 ready")
    job.signal(signal.SIGTERM)
    job.until("rank0 SIGTERM", "rank1 SIGTERM")
    time.sleep(0.1)
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert "waiting for processes that still run" in result.err, "the control: all were looked at"
    assert [job.count(f"rank{rank} SIGTERM") for rank in range(2)] == [1, 1], job.log()
    nothing_is_left(job)


def test_nodes_that_cannot_be_started(box):
    """The status is of the refusal, not of those that were stopped because of it."""
    line = 'ulimit -u 5; exec "$0" "$@"'
    result = box.run("--reuid=54321", "--regid=54321", "--clear-groups", "bash", "-c", line,
                     box.rankinit, "--simulate=kubeflow_pytorch:8x1", "--", "sleep", "9",
                     program="/usr/bin/setpriv")
    assert result.status == 125, result.err
    assert "[spawn.refused]" in result.err
    assert "node 7: it could not be started" in simulated(result)
    assert simulated(result)[-1] == "the job's exit status is 125; there it would be Failed"
