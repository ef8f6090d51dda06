# SPDX-License-Identifier: Apache-2.0
"""Random programs that are well (tests/python/harmless.py): rankinit stops and names none."""

import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/python"))
import harmless  # noqa: E402  pylint: disable=wrong-import-position

PYTHON = ["/usr/bin/python3"]
SEEDS = range(1, 41)
# What is left alone, with an end that is not well.
RAISES = harmless.HEAD.format(slow=0, error='ValueError("bad batch 17")') + "done()\nfail()\n"


def test_programs_that_are_well_are_left_alone(rankinit):
    assert {harmless.program(seed)[1] for seed in SEEDS} == set(harmless.MODES)
    wrong = harmless.run_all([PYTHON], rankinit, SEEDS, 4 * (os.cpu_count() or 1))
    assert not wrong, f"{len(wrong)} of {len(SEEDS)}:\n" + "\n".join(
        f"seed {seed}: {why}\n{said}" for seed, _, why, said in wrong)


@pytest.mark.parametrize("mode", harmless.MODES)
def test_one_that_is_not_well_is_named(rankinit, mode):
    """The control: the same program as one above, but for its last line."""
    wrong, said = harmless.run(RAISES, mode, (harmless.LINGER, "--report=r.json"), PYTHON, rankinit,
                               harmless.in_namespace())
    assert wrong == "ended with 1", said
    assert harmless.BLAMES.search(said) and "ValueError: bad batch 17" in said, said


def test_a_program_is_that_of_its_seed():
    assert harmless.program(17) == harmless.program(17)
    assert len({harmless.program(seed)[0] for seed in range(200)}) == 200
    drawn = "\n".join(harmless.program(seed)[0] for seed in range(300))
    names = [*harmless.BLOCKS, *harmless.ENDS]
    missing = [name for name in names if harmless.label(name) not in drawn]
    assert not missing
