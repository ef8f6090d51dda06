# SPDX-License-Identifier: Apache-2.0
"""
No test begins after CHECK_UNTIL (seconds since 1970): a machine that is too slow for all
of them within its time says which it left out, and fails none. Without it all are run.
"""

import os
import time

import pytest

REASON = "NOT TESTED: the time that CHECK_UNTIL leaves was over"


def seconds_left():
    """Until then, at least 0; None where nobody has set it."""
    until = os.environ.get("CHECK_UNTIL")
    return None if until is None else max(0.0, float(until) - time.time())


def is_over():
    return seconds_left() == 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Before fixtures, which may take long."""
    if is_over():
        pytest.skip(REASON)
