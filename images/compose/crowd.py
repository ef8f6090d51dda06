# SPDX-License-Identifier: Apache-2.0
"""
Tests that wait more than they work: all of a file begin with its first one, beside each other.
"""

import concurrent.futures
import subprocess

import pytest


def crowd_of(make, at_once, limit):
    """
    A decorator for such tests, and the fixture that runs them, whose name is to be `crowd`. So
    many run at once, each with what make() returns, which is closed behind it; a test that has
    not ended after so many seconds has failed.
    """
    tests = {}

    def play(test):
        with_it = make()
        try:
            test(with_it)
        finally:
            with_it.close()

    def beside(test):
        """A test that is awaited where its result is asked for."""
        tests[test.__name__] = test

        def ask(crowd):
            crowd[test.__name__].result(timeout=limit)

        ask.__doc__ = test.__doc__
        return ask

    @pytest.fixture(scope="module")
    def crowd(request):
        if subprocess.run(["docker", "version"], capture_output=True).returncode != 0:
            pytest.skip("no Docker engine answers")
        wanted = {item.name for item in request.session.items}
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            yield {name: pool.submit(play, test) for name, test in tests.items() if name in wanted}

    return beside, crowd
