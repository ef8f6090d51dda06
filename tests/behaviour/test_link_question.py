# SPDX-License-Identifier: Apache-2.0
"""What a node answers where the verdict waits for it: that nothing of it is unheard, or nothing."""

import os
import signal

import pytest

import link_peer
import peek
from link_node import (NAME, NODES, Node, apart, as_member, centre_hello, joins,  # noqa: F401
                       with_listener)
from link_peer import Closed, answer
from test_link import Nodes
from verdict import names

pytestmark = link_peer.needs_sodium
ANSWER = {"say": "answer"}
# It waits for a file, whatever has become of its exception.
LEAVES = """
import atexit, os, sys, time, traceback

def wait():
    open("@FOLDER/log", "a").write("ready\\n")
    while not os.path.exists("@FOLDER/go"):
        time.sleep(.01)

@HOW@
"""
RAISES = "atexit.register(wait)\nraise ValueError('bad batch 17')"
BEGINS = "print('Traceback (most recent call last):', file=sys.stderr)\nwait()\nos._exit(1)"
# A process that a silent rank leaves says why later, if it still can.
LEFT = """
trap '' TERM
(@STDERR@
echo ready >>@FOLDER/log
until [ -e @FOLDER/go ]; do sleep .02; done
printf 'Traceback (most recent call last):\\n  File "a.py", line 3, in <module>\\n' >&2
echo 'ValueError: bad batch 17' >&2) &
until [ -e @FOLDER/log ]; do sleep .01; done
exit 1
"""
CATCHES = "traceback.print_exception(ValueError('bad batch 17'))\nwait()"


def ask(waits=True):
    return {"say": "ask", "waits": waits}


def centre_of(listener):
    peer = answer(listener, NAME)
    peer.say(centre_hello())
    peer.hear("phase")
    return peer


def raises(how):
    return ["python3", "-c", LEAVES.replace("@HOW@", how)]


def a_rank_that_is_well(node, listener):
    """Each question that the verdict waits for has one answer; one that it does not has none."""
    peer = centre_of(listener)
    peer.say(ask())
    assert peer.hear() == ANSWER
    peer.say(ask(False), ask())
    assert peer.hear() == ANSWER
    node.ends(0)
    assert peer.hear()["say"] == "phase"
    peer.close()


def an_exception_that_leaves(box, listener):
    """It is told of as one that is on its way, and no answer says that there is nothing."""
    node = Node(box, node=1, command=raises(RAISES))
    peer = centre_of(listener)
    node.says("bad batch 17")
    peer.say(ask())
    said = peer.hear()
    assert (said["say"], said["lives"], said["class"]) == ("end", True, "own"), said
    peer.say({"say": "heard"}, ask())
    node.ends(0, seen=1)
    rest = []
    with pytest.raises(Closed):
        while True:
            rest.append(peer.hear()["say"])
    # PID 1 says nothing more, and the helper that the end is known
    assert "answer" not in rest[:-1], rest


def an_exception_that_was_caught(box, listener):
    """The control: its rank goes on, which a look and a moment prove, and the answer comes then."""
    node = Node(box, node=1, command=raises(CATCHES))
    peer = centre_of(listener)
    node.says("bad batch 17")
    while True:
        peer.say(ask())
        try:
            assert peer.hear(None, .4) == ANSWER
            break
        except AssertionError:
            assert not node.job.ended(), node.said()
    peer.close()


def the_last_rank_ends_while_it_is_asked(box, listener):
    """What it had begun to say is why it ended: that is told, and no answer comes before it."""
    node = Node(box, node=1, command=raises(BEGINS))
    peer = centre_of(listener)
    node.says("Traceback")
    peer.say(ask())
    node.tell(1)
    assert peer.hear()["say"] == "end"
    peer.close()
    assert node.job.wait().status == 1


def silent(box, listener, stderr, is_open):
    """A node whose rank has ended so, and which is asked."""
    node = Node(box, node=1, command=["sh", "-c", LEFT.replace("@STDERR@", stderr)],
                options=["--grace=100"])
    peer = centre_of(listener)
    said = peer.hear()
    assert (said["say"], said["class"]) == ("end", "unknown"), said
    assert said.get("open", False) == is_open
    peer.say({"say": "heard"}, ask())
    return node, peer


def words_behind_the_end(box, listener):
    node, peer = silent(box, listener, ":", True)
    node.tell(0)
    said = peer.hear()
    assert (said["say"], said["class"]) == ("end", "own"), said
    assert "ValueError: bad batch 17" in said["text"]
    peer.close()
    assert node.job.wait().status == 1


def no_words_can_come(box, listener):
    """The control: what the rank left has closed its stderr."""
    node, peer = silent(box, listener, "exec 2>/dev/null", False)
    assert peer.hear() == ANSWER
    node.tell(0)
    peer.close()
    assert node.job.wait().status == 1


def test_words_behind_the_end(apart):
    apart([with_listener(words_behind_the_end), with_listener(no_words_can_come)])


def test_what_a_node_answers(apart):
    apart([as_member(a_rank_that_is_well), with_listener(an_exception_that_leaves),
           with_listener(an_exception_that_was_caught),
           with_listener(the_last_rank_ends_while_it_is_asked)])


def who_is_asked(box):
    """A rank of node 0 is killed: all that are there are asked, and hear the verdict."""
    node = Node(box, node=0)
    peers = [joins(node, index) for index in range(1, NODES)]
    path = os.path.join(node.job.folder, "go")
    with open(path + "~", "w", encoding="ascii") as file:
        file.write("137\n")
    os.rename(path + "~", path)
    for peer in peers:
        assert peer.hear() == ask()
    # one that is heard to have failed first, and then answers, is named
    peers[0].say(ANSWER)
    peers[1].say(ANSWER, ANSWER)
    for peer in peers:
        said = peer.hear("verdict")
        assert (said["node"], said["class"], said["cause"]) == (0, "own", "killed"), said
        peer.close()
    assert node.job.wait().status == 137


def a_node_that_is_frozen(box):
    """It cannot answer: the others do not wait for it longer than before."""
    nodes = Nodes(box, 3, 1, "echo $RANK >>@FOLDER/log; until [ -e @FOLDER/go ]; do sleep .02; "
                  "done; [ $RANK = 1 ] && kill -9 $$; exec sleep 60")
    job = nodes.job
    peek.wait_until(lambda: len(job.log()) == 3, "three ranks")
    (frozen,) = [pid for pid in job.others()
                 if b"--node-rank=2" in peek.read(pid, "cmdline").split(b"\0")
                 and (peek.stat(pid) or ("",))[0] == "rankinit"]
    os.kill(frozen, signal.SIGSTOP)
    with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
        pass
    peek.wait_until(lambda: os.path.exists(os.path.join(job.folder, "status0")), "node 0")
    os.kill(frozen, signal.SIGCONT)
    ended = nodes.wait()
    assert [ended[node].status for node in range(3)] == [122, 137, 122], ended
    for node in range(3):
        assert names(ended[node].lines[0], 1, 0), ended[node]


def test_who_is_asked(apart):
    apart([who_is_asked, a_node_that_is_frozen])
