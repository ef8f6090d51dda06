# SPDX-License-Identifier: Apache-2.0
"""
--link where node 0 is started again, and node 1 is left of the attempt before: its link never
reached that one's node 0, but its ranks did. It is no node of the new attempt.
"""

import socket

import link_peer
from link_node import Node, net  # noqa: F401  a fixture
from link_peer import listen

MEETING = 29500
OLD = "node 0 was started again; the job goes on without the link of this node"
# It meets rank 0 where that listens, and ends as it is told.
RANK = ["python3", "-c", """
import os, socket, time
print("ready", file=open("@FOLDER/log", "a"), flush=True)
rank0 = None
while not os.path.exists("@FOLDER/go"):
    try:
        rank0 = rank0 or socket.create_connection(("127.0.0.1", 29500), 1)
    except OSError:
        pass
    time.sleep(0.05)
status = int(open("@FOLDER/go").read())
status == 137 and os.kill(os.getpid(), 9)
os._exit(status)
"""]


def calls(listener, count):
    """So many of node 1's, which are not answered: it looks at its ranks between them."""
    for _ in range(count):
        listener.accept()[0].close()


def left(box, meets):
    """Node 1, and what becomes of its ranks before node 0 is there."""
    with listen() as door, socket.socket() as rank0:
        rank0.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        rank0.bind(("127.0.0.1", MEETING))
        if meets:
            rank0.listen()
        node = Node(box, 1, 2, command=RANK)
        met = rank0.accept()[0] if meets else None
        calls(door, 3)
        if meets:
            met.close()
    return node


@link_peer.needs_sodium
def test_what_is_left_of_an_attempt_stops_nobody(box, net):
    old = left(box, meets=True)
    new = Node(box, 0, 2)
    old.says(OLD)
    assert old.ends(137).status == 137
    assert "failed first" not in new.said()
    assert "failed first" not in new.ends(0).err


@link_peer.needs_sodium
def test_a_node_that_waited_for_node_0_is_of_its_attempt(box, net):
    """The control: it has met nobody."""
    waits = left(box, meets=False)
    late = Node(box, 0, 2)
    assert waits.ends(137).status == 137
    assert OLD not in waits.said()
    late.is_stopped("failed first (node 1 of 2): killed by SIGKILL (9)")
