# SPDX-License-Identifier: Apache-2.0
"""
--link and somebody who looks: another rankinit of the same pod, with its variables (kubectl exec,
a sidecar), is no node of the job, whatever has become of the link of the one that is.
"""

import signal

import peek
from peek import wait_until
from test_link_init import REFUSED, fail, helper, ready, said, side_by_side  # noqa: F401

STAYS_OUT = "--link: another rankinit of this network is node {} of this job, so this one takes " \
    "no part"


def look(nodes, index, *command):
    """Somebody does, and is told with -v that he is no node."""
    result = nodes.run(index, "-v", "--nproc-per-node=2", "--", *(command or ["true"]))
    assert STAYS_OUT.format(index) in said(result), result.err
    return result


def lose_helper(job):
    job.signal(signal.SIGKILL, helper(job))
    wait_until(lambda: REFUSED in job.error_text(), "a word on it")


def stop(jobs):
    """They were well until then."""
    for job in jobs:
        for number in ("0", "1", "2", "3"):
            assert job.count(f"rank{number} SIGTERM") == 0
    for job in reversed(jobs):
        result = job.stop()
        assert result.status == 0, result.err
        assert "failed first" not in result.err and "two machines" not in result.err, result.err


def where_the_helper_is_gone(nodes):
    jobs = ready(nodes)
    for index, job in enumerate(jobs):
        lose_helper(job)
        assert look(nodes, index).status == 0
        assert look(nodes, index, "sh", "-c", "exit 7").status == 7
    stop(jobs)


def without_a_loss(nodes):
    """The node keeps its link: its failure is heard, and stops the others."""
    jobs = ready(nodes)
    for index in range(len(jobs)):
        look(nodes, index)
    fail(jobs[1], "rank3")
    assert [job.wait().status for job in jobs] == [122, 137]


def the_same_node_of_another_job(nodes):
    """The control: it has a link, on the same network."""
    jobs = ready(nodes)
    other = nodes.start(1, "--nproc-per-node=1", "--master-port=29501",
                        *nodes.box.payload("other"))
    other.until("other ready")
    helper(other)
    assert other.stop().status == 0
    stop(jobs)


def the_next_one_of_a_node(nodes):
    """And so has the same node when the one before it is gone, at once."""
    first = nodes.start(1, "--nproc-per-node=2", *nodes.box.payload("env:RANK"))
    first.until("rank2 ready", "rank3 ready")
    first.signal(signal.SIGKILL)
    next_one = nodes.start(1, "--nproc-per-node=2", *nodes.box.payload("env:RANK"))
    next_one.until("rank2 ready", "rank3 ready")
    helper(next_one)
    assert next_one.stop().status == 0


# What of its descriptors is a socket it says; it takes its time to end.
STARTS_AGAIN = 'echo "$RANKINIT_ATTEMPT $(ls -l /proc/$$/fd | grep -c socket:)" >>@FOLDER/log; ' \
    "[ $RANKINIT_ATTEMPT = 1 ] && exec sleep 60; " \
    "trap 'until [ -e @FOLDER/go ]; do sleep 0.02; done; exit 1' TERM; while :; do sleep 0.02; done"


def while_the_ranks_start_again(nodes):
    """From the verdict on, when ranks may still write, to the next attempt, and in that one."""
    jobs = [nodes.start(index, "--nproc-per-node=1", "--restarts=1", "--", "sh", "-c",
                        STARTS_AGAIN) for index in (0, 1)]
    for job in jobs:
        job.until("0 0")
    jobs[1].signal(signal.SIGKILL, [pid for pid in peek.children(jobs[1].pid)
                                    if peek.stat(pid)[0] == "sh"][0])
    wait_until(lambda: "failed first" in jobs[0].error_text(), "the verdict")
    for index in 0, 1:
        look(nodes, index)
    with open(f"{jobs[0].folder}/go", "w", encoding="ascii"):
        pass
    for index, job in enumerate(jobs):
        job.until("1 0")
        look(nodes, index)
    assert [job.stop().status for job in reversed(jobs)] == [143, 143]


def test_somebody_who_looks(side_by_side):
    side_by_side([where_the_helper_is_gone, without_a_loss, the_same_node_of_another_job,
                  the_next_one_of_a_node, while_the_ranks_start_again])
