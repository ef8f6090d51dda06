# SPDX-License-Identifier: Apache-2.0
"""Random programs that are well, in every CPython that is here: see tests/python/harmless.py."""

import os
import sys

import pytest

from conftest import PROGRAM, TOP

sys.path.append(os.path.join(TOP, "tests/python"))
import harmless  # noqa: E402 (found by the line above)
import interpreters  # noqa: E402

EACH = 50
FIRST = 1000


@pytest.mark.parametrize("minor", interpreters.MINORS)
def test_programs_that_are_well_are_left_alone(minor):
    pythons = [words for words in interpreters.native() if words[-1].endswith(f"3.{minor}")]
    if not pythons:
        pytest.skip(f"there is no Python 3.{minor}: make pythons, as root")
    seeds = range(FIRST + EACH * minor, FIRST + EACH * (minor + 1))
    wrong = harmless.run_all(pythons, PROGRAM, seeds, 4 * (os.cpu_count() or 1))
    assert not wrong, f"{len(wrong)} of {EACH}:\n" + "\n".join(
        f"seed {seed}: {why}\n{said}" for seed, _, why, said in wrong)
