# SPDX-License-Identifier: Apache-2.0
"""
docs/upgrading.md: two versions of rankinit in one job, and a file that is replaced. The other
version is this one with other words where the link, a report and the word to an outer rankinit
say of which version they are.
"""

import os
import re
import shlex
import types

import pytest

from box import refused
from test_install import content
from test_link import JOINED, WAITS, Nodes, go
from test_two_rankinits import INNER, run_fixture, said  # noqa: F401  a fixture

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The greeting of the link, the form of a report, and the word to an outer one: each has a number.
VERSIONED = (rb"(RKL)\d", rb"(rankinit-report-)\d", rb"(rankinit-inner )\d")
LET_IN = "it speaks another version of the link"
CALLS = "has not let this node in"


@pytest.fixture(scope="module")
def page():
    with open(os.path.join(ROOT, "docs", "upgrading.md"), encoding="utf-8") as file:
        return " ".join(file.read().split())


@pytest.fixture(scope="module")
def newer(rankinit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("newer")
    folder.chmod(0o755)
    data = content(rankinit)
    for pattern in VERSIONED:
        data, found = re.subn(pattern, rb"\g<1>9", data)
        assert found, pattern
    (folder / "rankinit").write_bytes(data)
    (folder / "rankinit").chmod(0o755)
    return str(folder / "rankinit")


def of_two(box, folder, first):
    """A box whose node 0 is that program, and whose other nodes are the usual one."""
    pick = folder / "pick"
    pick.write_text(f'#!/bin/sh\n[ "$1" = --node-rank=0 ] && exec {shlex.quote(first)} "$@"\n'
                    f'exec {shlex.quote(box.rankinit)} "$@"\n')
    pick.chmod(0o755)
    return types.SimpleNamespace(rankinit=str(pick), start=box.start)


def fails(when):
    """Rank 1 is killed then, in the first attempt; rank 0 runs on until node 1 has ended."""
    return (f"[ ${{RANKINIT_ATTEMPT:-0}} = 1 ] && exit 0; "
            f"[ $RANK = 1 ] && {{ {when}; kill -9 $$; }}; "
            "until [ -e @FOLDER/status1 ]; do sleep .05; done")


RESTARTS = pytest.mark.parametrize("options", [[], ["--restarts=1"]], ids=["once", "restarts"])


@RESTARTS
def test_nodes_of_two_versions(box, newer, page, tmp_path, options):
    """Each is for itself, and node 1 says why it was not let in."""
    nodes = Nodes(of_two(box, tmp_path, newer), 2, 1, fails(WAITS), "--roll-call=0.3", *options)
    ended = go(nodes, lambda: LET_IN in "\n".join(nodes.lines(1)), "its call")
    assert f"`{LET_IN}`" in page and f"`{CALLS}`" in page
    why = rf"rankinit: node 0 \(10\.9\.0\.1\), ports 9471 to 9478, {CALLS} for \d+ s: {LET_IN}"
    assert [line for line in ended[1].lines if re.fullmatch(why, line)], ended[1].lines
    assert (ended[0].status, ended[0].brief, ended[1].status) == (0, None, 137)
    assert (ended[1].brief["rank"], ended[1].brief["retries"]) == ("1", "0")


@RESTARTS
def test_nodes_of_one_version(box, tmp_path, options):
    """The control: node 0 is stopped, or both start again."""
    one = of_two(box, tmp_path, box.rankinit)
    ended = Nodes(one, 2, 1, fails(JOINED), "--roll-call=0.3", *options).wait()
    assert [ended[node].status for node in range(2)] == ([0, 0] if options else [122, 137])
    assert not [line for line in ended[1].lines if LET_IN in line], ended[1].lines


def test_an_entrypoint_of_another_version(run, box, newer, page):
    """Two verdicts, of which the first has the rank; of one version, the control, there is one."""
    assert "each prints a verdict; the first one is of the rankinit that is nearer" in page
    both = run(["--report=outer.json"], [newer, *INNER[1:]])
    assert both.status == 1 and len(said(both)) == 2, both.err
    assert "rank=0" in said(both)[0] and "rank=0" not in said(both)[1], both.err
    one = run(["--report=outer.json"], INNER)
    assert (one.status, len(said(one))) == (1, 1), one.err
    assert box.run("--version", program=newer).status == 0


def test_a_report_of_another_version(box, newer, page, tmp_path):
    words = ["--nproc-per-node=2", f"--report={tmp_path}/new.json", "--", "sh", "-c", "exit 3"]
    assert box.run(*words, program=newer, place="below").status == 3
    skipped = "it is a report of another version of rankinit"
    assert f"`{skipped}`" in page
    ask = ["--blame", f"{tmp_path}/new.json"]
    error = refused(box.run(*ask, place="below"), 125, "blame.none", f"{tmp_path}/new.json")
    assert skipped in error
    assert box.run(*ask, program=newer, place="below").status == 0, "the control"


def test_a_file_that_is_replaced(box, page, tmp_path):
    """The ranks start again below the program that began, and the file is another one by then."""
    assert '("Text file busy")' in page
    old, log = tmp_path / "rankinit", tmp_path / "log"
    old.write_bytes(content(box.rankinit))
    old.chmod(0o755)
    job = box.start("--nproc-per-node=1", "--restarts=1", "--", "sh", "-c",
                    f"echo $RANKINIT_ATTEMPT >>{log}; [ $RANKINIT_ATTEMPT = 1 ] && exit 0; "
                    f"cp /bin/true {old} 2>{log}.cp; echo ready >>@FOLDER/log; "
                    f"until [ -e {log}.new ]; do sleep .05; done; kill -9 $$", program=str(old))
    job.until("ready")
    with open(f"{log}.cp", encoding="utf-8") as file:
        assert "Text file busy" in file.read()
    os.rename(str(old), f"{old}.old")
    old.write_text("#!/bin/sh\nexit 99\n")
    old.chmod(0o755)
    (tmp_path / "log.new").touch()
    assert (job.wait().status, log.read_text()) == (0, "0\n1\n")
    assert box.run(program=str(old)).status == 99, "the control"
