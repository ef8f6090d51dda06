# SPDX-License-Identifier: Apache-2.0
"""The list of cases, and what a case hands back."""

from collections import namedtuple

Case = namedtuple("Case", "id title expected function")
Verdict = namedtuple("Verdict", "verdict evidence")

CASES = {}


def case(name, title, expected):
    """Register the function below as a case."""
    def register(function):
        assert name not in CASES, name
        CASES[name] = Case(name, title, expected, function)
        return function
    return register


def judge(good, evidence):
    return Verdict("pass" if good else "fail", evidence)


def info(evidence):
    return Verdict("info", evidence)


def skip(reason):
    return Verdict("skip", reason)


class Skip(Exception):
    """Something that the case needs is not on this machine."""


class Gone(Exception):
    """What the case waited for did not happen in time: a failure."""
