# SPDX-License-Identifier: Apache-2.0
"""--link in the jobs of every platform that starts nodes: the right name, and silence."""

import os
import re
import shlex
import subprocess

from box import HERE
from test_link import KEY
from test_simulate import ALONE

SHAPES = [name for name, scope, _ in (line.split("\t") for line in subprocess.run(
    [os.environ.get("RANKINIT", os.path.join(HERE, "../../build/rankinit")),
     "--list=simulations"], capture_output=True, check=True, text=True).stdout.splitlines())
    if scope == "nodes"]
# Nodes and ranks, each of which one shape has.
SIZES = ["2x1", "2x4", "3x2", "4x1", "5x2", "6x1"]
PLAYED = "rankinit: simulated: "


def words(box, shape, how, command):
    return [box.rankinit, f"--simulate={shape}:{how}", "--link", "--log-prefix=no", "--",
            "sh", "-c", command]


def play(box, shape, how, command, beside=":"):
    """beside: what runs there, too, and is waited for; its output is the result's."""
    return box.run(*ALONE, "sh", "-c", f'{beside} & "$@"; status=$?; wait; exit $status', "sh",
                   *words(box, shape, how, command), program="/usr/bin/unshare",
                   env={"RANKINIT_LINK_KEY": KEY})


def names_the_rank(box, shape):
    """And the first stops no rank of another job of its form, on its host and with its secret."""
    well = shlex.join(words(box, shape, "3x2", "exec sleep 3"))
    beside = f"{{ {well} 2>&1; echo it ended with $?; }}" if shape == SHAPES[0] else ":"
    result = play(box, shape, "3x2,kill=4@1", "exec sleep 60", beside)
    # the platform stops the node that failed, too, as soon as another one has ended: then that
    # one may not hear that it is the first of all
    who = re.findall(r"^rankinit: (rank \d+) \(local rank 0, pid \d+ on \S+\) failed first (?:of "
                     r"ranks 4-5 )?(\(node \d of \d\)): killed by SIGKILL \(9\), after \S+ s, "
                     r"at \S+$", result.err, re.M)
    assert who == [("rank 4", "(node 2 of 3)")] * 3, (shape, result.err)
    ends = re.findall(r"simulated: node (\d): exit status (\d+) ", result.err)
    # 143: many platforms stop the other nodes as well, and here that came before the order
    assert re.fullmatch("0(122|143)1(122|143)2137", "".join(map("".join, ends))), result.err
    assert result.status == 137
    other = result.out.decode()
    assert "failed first" not in other, other
    assert other.endswith("it ended with 0\n") == (beside != ":"), other


def test_every_node_names_the_rank(box, at_once):
    at_once(lambda shape: names_the_rank(box, shape), SHAPES)


def is_silent(box, shape, size):
    """Ranks of one node are done before others have begun."""
    result = play(box, shape, size, "exec sleep 0.$((RANK * 7 % 4))")
    assert result.status == 0, result.err
    said = [line for line in result.lines() if not line.startswith(PLAYED)]
    # the cluster of TF_CONFIG has a task for each node, not for each rank
    assert [line for line in said if shape != "tf_config" or "env.differs" not in line] == []
    assert len(re.findall(r"simulated: node \d: exit status 0 ", result.err)) == int(size[0])


def test_a_job_that_is_well_is_silent(box, at_once):
    at_once(lambda one: is_silent(box, *one), zip(SHAPES[::len(SHAPES) // len(SIZES)], SIZES))
