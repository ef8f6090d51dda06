# SPDX-License-Identifier: Apache-2.0
"""--link without a secret: strangers put no node off, and their words are no truth."""

import json
import os

import pytest

import link_peer
from link_node import NODES, Node, joins, net  # noqa: F401  a fixture
from link_peer import SECRET, Peer, connect, end

pytestmark = link_peer.needs_sodium
TWINS = "two machines call themselves node 1"


def hellos(node, secret, count=60):
    """So many strangers that call themselves node 1; what the centre makes of each."""
    places = []
    for number in range(count):
        peer = Peer(connect(node.port()), node.name, secret)
        peer.meet()
        places.append(peer.hello(1, NODES, 5000 + number, age_ms=0)["place"])
        peer.close()
    return places


def test_who_came_first_stays(box, net):
    centre = Node(box, secret=None)
    honest = joins(centre, 1, 11, secret=None, age_ms=5000)
    assert set(hellos(centre, None)) == {"later"}
    honest.say(end("host1 failed first\n"))
    assert honest.hear() == {"say": "heard"}
    # node 0 and this one have not called all: half a second
    assert honest.hear()["text"] == "host1 failed first\n"
    assert TWINS not in centre.said()
    centre.ends(0)


def test_who_proves_itself_later(box, net):
    """The control: with the secret the newer one is told what happens, and the log says so."""
    centre = Node(box)
    older = joins(centre, 1, 11, age_ms=5000)
    assert hellos(centre, SECRET, 1) == ["guest"]
    centre.says(TWINS)
    older.close()
    centre.ends(0)


@pytest.mark.parametrize("secret", [None, SECRET])
def test_the_report_tells_them_apart(box, net, secret):
    centre = Node(box, secret=secret, options=["--report=@FOLDER/report"])
    peer = joins(centre, 1, secret=secret)
    peer.say(end("a stranger's words\n", fatal=False))
    centre.says("a stranger's words")
    centre.ends(0)
    with open(os.path.join(centre.job.folder, "report"), encoding="utf-8") as file:
        report = json.load(file)
    words = "node 1 (host1): a stranger's words"
    assert report["roll_call"] == (None if secret is None else words)
    assert report["roll_call_unproved"] == (words if secret is None else None)
