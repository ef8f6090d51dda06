# SPDX-License-Identifier: Apache-2.0
"""
--restarts and the same failure time and again: it goes on as long as rank 0 prints more lines than
in the attempt before, on whichever stream, and whether or not rankinit has another use for them.
"""

import re
import subprocess

import pytest

from test_terminal import terminal  # noqa: F401  a fixture

# The last rank is killed behind what rank 0 has to say, which waits to be stopped.
STEPS = """
if [ $RANK = 0 ]; then
    seq %s {to}
    : >said.$RANKINIT_ATTEMPT
    [ $LAST = 0 ] || exec sleep 60
fi
until [ -e said.$RANKINIT_ATTEMPT ]; do sleep 0.01; done
kill -9 $$
"""
MORE, SAME = "$((RANKINIT_ATTEMPT + 2))", "2"
# The options, and the file that has what rank 0 prints; None: it is printed.
WAYS = {
    "plain": ([], None), "prefix": (["--log-prefix"], None),
    "file": (["--log-file=@FOLDER/of%r"], None),
}


def run(box, options, much, ranks=2, to="", **more):
    """How often the ranks started again, of three times; the result of box."""
    script = (STEPS % much).replace("{to}", to).replace("$LAST", str(ranks - 1))
    if not ranks:
        script = "RANK=0\n" + script.replace("$LAST", "0").replace("-1 = 0", "0 = 0")
    options = [f"--nproc-per-node={ranks}", *options] if ranks else options
    job = box.start("--restarts=3", *options, "--", "sh", "-c", script, **more)
    result = job.wait()
    assert result.status == 137, result.err
    again = re.findall(r"(?:the ranks start|it starts) again \(restart \d of 3\)", result.err)
    return len(again), result, job


@pytest.mark.parametrize("ranks", [3, 2, 1, 0])
@pytest.mark.parametrize("way", WAYS)
def test_lines_of_stdout_are_progress(box, way, ranks):
    options, file = WAYS[way]
    times, result, job = run(box, options, MORE, ranks)
    assert times == 3 and "used up" in result.lines()[-1], result.err
    printed = job.read(file) if file else result.out
    said = re.findall(r"^(?:\[0\] )?(\d+)$", printed.decode(), re.M)
    assert list(map(int, said)) == [number for attempt in range(4)
                                    for number in range(1, attempt + 3)]


@pytest.mark.parametrize("ranks", [2, 0])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_lines_are_none(box, way, ranks):
    """The control."""
    times, result, _ = run(box, WAYS[way][0], SAME, ranks)
    assert times == 1 and "the same failure came twice" in result.lines()[-1], result.err


@pytest.mark.parametrize("ranks", [2, 0])
def test_lines_of_stderr_are_progress(box, ranks):
    times, result, _ = run(box, [], MORE, ranks, to=">&2")
    assert times == 3, result.err


def test_stdout_and_stderr_in_their_order(box, tmp_path):
    """Of one command with one place for both, as without --restarts."""
    said = 'for i in 1 2 3 4 5 6 7 8; do echo "out $i"; echo "err $i" >&2; done'
    orders = []
    for options in ([], ["--restarts=1"]):
        with open(tmp_path / "both", "w+b") as file:
            job = box.start(*options, "--", "sh", "-c", said, stdout=file, stderr=subprocess.STDOUT)
            assert job.wait().status == 0
            file.seek(0)
            orders.append(file.read())
    assert orders[0] == orders[1] and orders[0].count(b"\n") == 16


def test_a_terminal_stays_one(box, terminal):  # noqa: F811
    job = box.start("--restarts=1", "--nproc-per-node=2", "--", "sh", "-c",
                    "test -t 1 && echo it is one", tty=terminal.path)
    assert job.wait().status == 0
    terminal.until("it is one")
