# SPDX-License-Identifier: Apache-2.0
"""--link names the rank that failed first, though what it made others end of is told before."""

import json
import os
import re
import shlex
import signal
import time

from link_node import BLAME, NAME, Node, answer, centre_hello, net  # noqa: F401  a fixture
from link_peer import SECRET, job_name, listen, needs_sodium, verdict
from test_link import Nodes
from verdict import names_none

# Two ranks with a connection. FIRST is what rank 1 does, THEN what rank 0 does of it.
PAIR = """
import atexit, os, socket, struct, sys, time, traceback

def after(seconds):
    "Once the traceback is printed: the peer loses it, and the end comes later."
    def leave():
        peer.close()
        time.sleep(seconds)
        print("uploaded", flush=True)
    atexit.register(leave)

if os.environ["RANK"] == "1":
    listener = socket.create_server(("10.9.0.1", 5555))
    peer, _ = listener.accept()
    time.sleep(1)
    @FIRST@
else:
    while True:
        try:
            peer = socket.create_connection(("10.9.0.1", 5555))
            break
        except OSError:
            time.sleep(.05)
    gone = not peer.recv(1)
    time.sleep(.2)
    @THEN@
"""
LATER = {
    "EOFError": "raise EOFError('the socket ended')",
    "assert": "assert not gone, 'no header'",
}


def play(box, first, then):
    """How both nodes ended, and what their reports say."""
    text = PAIR.replace("@FIRST@", first).replace("@THEN@", then)
    nodes = Nodes(box, 2, 1, f"exec python3 -c {shlex.quote(text)}", "--report=@FOLDER/report%n")
    folder, ended = nodes.job.folder, nodes.wait()
    reports = []
    for node in range(2):
        with open(os.path.join(folder, f"report{node}"), encoding="utf-8") as file:
            reports.append(json.load(file))
    assert len({report["job_verdict"] for report in reports}) == 1
    return ended, reports


def names(report, node, what):
    """That node's rank, or both of them where the clocks do not tell."""
    lines = report["job_verdict"].splitlines()
    assert report["job_verdict_node"] == node, lines
    assert any(what in line for line in lines), lines
    at = 1 if lines[0].startswith("two nodes failed within ") else 0
    assert re.match(rf" *rank {node} \(local rank 0, .*\) failed first", lines[at]), lines


def who_ends_without_a_word(box):
    ended, reports = play(box, "after(1); raise ValueError('bad batch 17')", "os._exit(3)")
    names(reports[0], 1, "ValueError: bad batch 17")
    assert "  before that, and without a word:" not in reports[0]["job_verdict"]
    assert [ended[node].status for node in range(2)] == [3, 1]


def nobody_says_more(box):
    """The control: an end without a word is named where there is no better one."""
    ended, reports = play(box, "os._exit(3)", "time.sleep(60)")
    names(reports[0], 1, "exit status 3")
    assert [ended[node].status for node in range(2)] == [122, 3]


def an_exception_of_the_loss(box, what="EOFError"):
    """It is in no table, and comes before the end of the rank that was first."""
    ended, reports = play(box, "after(.4); raise ValueError('bad batch 17')", LATER[what])
    names(reports[0], 1, "ValueError: bad batch 17")
    assert [ended[node].status for node in range(2)] == [1, 1]


def the_first_exception(box):
    """The control: the same exception is named where it is the first."""
    ended, reports = play(box, "peer.shutdown(1); time.sleep(60)", LATER["EOFError"])
    names(reports[0], 0, "EOFError: the socket ended")
    assert [ended[node].status for node in range(2)] == [1, 122]


# In a finally the connection is closed before the exception leaves the program.
UPLOADS = "after(4)\n    try:\n        raise ValueError('bad batch 17')\n    finally:\n" \
          "        peer.close()"
LOSES = "raise RuntimeError('Connection closed by peer [10.9.0.1]:5555')"


def who_takes_long_to_end(box):
    """It has raised, closed its connection and uploads: it is named, and keeps its time."""
    ended, reports = play(box, UPLOADS, LOSES)
    names(reports[0], 1, "ValueError: bad batch 17")
    assert ": raised the error below, and has not ended yet" in reports[0]["job_verdict"]
    assert [ended[node].status for node in range(2)] == [122, 1]
    assert reports[1]["ranks"][0]["signal"] is None
    assert ended[1].out == "uploaded\n"


def an_exception_that_was_caught(box):
    """The control: its rank goes on, and is stopped as any that is healthy."""
    caught = "traceback.print_exception(ValueError('bad sample'))\n    time.sleep(1)\n    " \
             "peer.close()\n    time.sleep(60)"
    ended, reports = play(box, caught, LOSES)
    assert names_none(reports[0]["job_verdict"])
    assert "bad sample" not in reports[0]["job_verdict"]
    assert [ended[node].status for node in range(2)] == [1, 122]


def test_who_is_named(box, at_once):
    """Each needs some seconds, which it waits for ranks."""
    at_once(lambda function: function(box), [
        who_takes_long_to_end, an_exception_that_was_caught, nobody_says_more,
        who_ends_without_a_word, the_first_exception, an_exception_of_the_loss,
        lambda box: an_exception_of_the_loss(box, "assert")])


@needs_sodium
def test_a_stop_of_who_was_spared(box, net):
    """It keeps the time of a stop, not that of an order."""
    raises = ("import atexit, signal, time; signal.signal(15, signal.SIG_IGN); "
              "atexit.register(time.sleep, 100); open('@FOLDER/log', 'w').write('ready\\n'); "
              "raise ValueError('bad batch 17')")
    with listen() as listener:
        node = Node(box, 1, options=["--grace=1", "--link-grace=100"],
                    command=["python3", "-c", raises])
        peer = answer(listener, NAME)
        peer.say(centre_hello())
        peer.hear("phase")
        node.says("bad batch 17")
        peer.say(verdict(2, BLAME, order=True))
        node.says(BLAME.splitlines()[0])
        begun = time.monotonic()
        node.job.signal(signal.SIGTERM)
        node.job.wait()
        assert time.monotonic() - begun < 10
        peer.close()


@needs_sodium
def test_the_last_line_names_whom_all_name(box, net):
    """Where this node finds another rank of its own first, later; its status stays."""
    ends = ("echo ready >>@FOLDER/log; [ $RANK = 2 ] && exec sleep 60; "
            "until [ -e @FOLDER/go ]; do sleep .02; done; kill -9 $$")
    for rank in 2, 3:
        with listen() as listener:
            job = box.start("--nnodes=2", "--node-rank=1", "--nproc-per-node=2", "--link",
                            "--master-addr=127.0.0.1", "--master-port=29500",
                            "--", "sh", "-c", ends,
                            env={"RANKINIT_LINK_KEY": SECRET.decode()})
            peer = answer(listener, job_name(2))
            peer.say(centre_hello(nodes=2))
            peer.hear("phase")
            with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
                pass
            assert peer.hear("end")["rank"] == 3
            peer.say({"say": "heard"},
                     {**verdict(1, "it was one of host1\n"), "cause": "signal", "rank": rank})
            result = job.wait()
            peer.close()
        assert result.status == 137, result.err
        assert [result.brief[key] for key in ("cause", "rank", "node", "status")] == [
            "killed" if rank == 3 else "signal", str(rank), "1", "137"]
        # who is named is told of above, and who is not is told of here
        assert (" rank 3 (local rank 1, " in result.err) == (rank == 2), result.err
