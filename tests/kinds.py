# SPDX-License-Identifier: Apache-2.0
"""
Tests that differ in their parameters alone are of one kind. With CHECK_SAMPLE one of each
kind is run, the first: that all of them can run somewhere takes no more. pytest counts the
others as deselected.
"""

import collections
import os


def kind(item):
    return item.nodeid.partition("[")[0]


def one_of_each_first(items):
    """The first of each kind, then the second of each, and so on."""
    seen = collections.Counter()
    turn = {}
    for item in items:
        turn[item] = seen[kind(item)]
        seen[kind(item)] += 1
    return sorted(items, key=turn.get)


def pytest_collection_modifyitems(config, items):
    if not os.environ.get("CHECK_SAMPLE"):
        return
    first = {}
    for item in items:
        first.setdefault(kind(item), item)
    config.hook.pytest_deselected(items=[item for item in items if first[kind(item)] is not item])
    items[:] = first.values()
