# SPDX-License-Identifier: Apache-2.0
"""The sides that link_peer.py plays, with a random secret, as the nodes here have."""

import link_peer

SECRET = b"d08fbc5a150028b59a73c7852451d26f"
OTHER_SECRET = b"db66ecb306cea2b109290e9e2b5bee16"


class Peer(link_peer.Peer):
    def __init__(self, sock, name, secret=SECRET, centre=False):
        super().__init__(sock, name, secret, centre)


def call(name, secret=SECRET, port=link_peer.PORT):
    return link_peer.call(name, secret, port)


def answers(listeners, name, secret=SECRET):
    return link_peer.answers(listeners, name, secret)


def answer(listener, name, secret=SECRET):
    return answers([listener], name, secret)[0]
