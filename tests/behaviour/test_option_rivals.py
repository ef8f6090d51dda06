# SPDX-License-Identifier: Apache-2.0
"""Options that exclude each other: on the command line, as twins, and the one against the other."""

import json

import pytest

from box import refused
from test_options import long

# an option, the twin that gives way to it, and whether both on the command line are refused
RIVALS = [
    ("--hostfile=/hosts", "RANKINIT_HOSTS=a,b", True),
    ("--hosts=a", "RANKINIT_HOSTFILE=/hosts", True),
    ("--source=none", "RANKINIT_NPROC_PER_NODE=2", True),
    ("--nproc-per-node=2", "RANKINIT_SOURCE=none", True),
    ("--supervise=never", "RANKINIT_LOG_PREFIX=yes", True),
    ("--supervise=never", "RANKINIT_LOG_FILE=x", True),
    ("--supervise=never", "RANKINIT_REPORT=/x", True),
    ("--supervise=never", "RANKINIT_STATE=/x", True),
    ("--nproc-per-node=2", "RANKINIT_SUPERVISE=never", True),
    ("--log-prefix", "RANKINIT_SUPERVISE=never", True),
    ("--log-file=x", "RANKINIT_SUPERVISE=never", True),
    ("--report=/x", "RANKINIT_SUPERVISE=never", True),
    ("--state=/x", "RANKINIT_SUPERVISE=never", True),
    ("--frameworks=torch", "RANKINIT_TF_PS=1", True),
    ("--tf-ps=0", "RANKINIT_FRAMEWORKS=torch", True),
    ("--supervise=never", "RANKINIT_RESTARTS=1", True),
    ("--restarts=1", "RANKINIT_SUPERVISE=never", True),
    ("--supervise=never", "RANKINIT_EXIT_CLASS=yes", True),
    ("--exit-class", "RANKINIT_SUPERVISE=never", True),
    ("--exit-map=1:2", "RANKINIT_EXIT_CLASS=yes", True),
    ("--exit-class", "RANKINIT_EXIT_MAP=1:2", True),
    ("--quiet", "RANKINIT_VERBOSE=yes", False),
    ("--verbose", "RANKINIT_QUIET=yes", False),
]


def yields(result):
    found = json.loads(result.out)["findings"]
    return [(one["severity"], one["subject"]) for one in found if one["code"] == "option.yields"]


@pytest.mark.parametrize("option, twin_, refused_", RIVALS)
def test_a_twin_gives_way_to_a_rival(box, option, twin_, refused_, tmp_path):
    (tmp_path / "hosts").write_text("a\n")
    name, _, value = twin_.partition("=")
    words = ["--explain=json", f"--root={tmp_path}", "--nnodes=1", "--node-rank=0"]
    result = box.run(*words, option, "--", "true", env={name: value})
    assert result.status == 0, result
    assert yields(result) == [("note", name)]
    stays = box.run(*words, "--", "true", env={name: value})
    assert yields(stays) == [], "the control: nothing on the command line is against it"
    both = box.run(*words, option, f"{long(name[9:].lower())}={value}", "--", "true")
    assert both.status == (125 if refused_ else 0) and yields(both) == []
    if refused_:
        conflict = [f"{one['subject']}: {one['text']}; {one['hint']}"
                    for one in json.loads(both.out)["findings"]
                    if one["code"] == "option.conflict"]
        assert len(conflict) == 1
        for one in option.partition("=")[0], long(name[9:].lower()):
            assert one in conflict[0], "both are named"


@pytest.mark.parametrize("one, other", [
    ("RANKINIT_SUPERVISE=never", "RANKINIT_LOG_PREFIX=yes"),
    ("RANKINIT_STATE=/x", "RANKINIT_SUPERVISE=never"),
    ("RANKINIT_HOSTFILE=/hosts", "RANKINIT_HOSTS=a,b"),
])
def test_two_twins_that_exclude_each_other(box, one, other):
    """Neither is younger: none gives way, and both are named as they were given."""
    env = dict(word.split("=") for word in (one, other))
    error = refused(box.run("true", env=env), 125, "option.conflict", one.partition("=")[0])
    assert other.partition("=")[0] in error
    off = box.run("--explain=json", "true", env={**env, other.partition("=")[0]: ""})
    assert "option.conflict" not in off.out.decode(), "the control: an empty twin is unset"


@pytest.mark.parametrize("option, twin_", [
    ("--supervise=auto", "RANKINIT_REPORT=/x"),
    ("--supervise=never", "RANKINIT_NPROC_PER_NODE=2"),
    ("--log-prefix=no", "RANKINIT_SUPERVISE=never"),
    ("--source=env", "RANKINIT_NPROC_PER_NODE=2"),
    ("--nproc-per-node=2", "RANKINIT_SOURCE=manual"),
    ("--frameworks=tensorflow,torch", "RANKINIT_TF_PS=0"),
    ("--tf-ps=0", "RANKINIT_FRAMEWORKS=tensorflow"),
    ("--require=shm=1K", "RANKINIT_CHECKS=none"),
    ("--quiet=no", "RANKINIT_VERBOSE=yes"),
    ("--nproc-per-node=2", "RANKINIT_RANK=0"),
])
def test_a_twin_that_is_no_rival_stays(box, option, twin_, tmp_path):
    name, _, value = twin_.partition("=")
    words = ["--explain=json", f"--root={tmp_path}"]
    assert yields(box.run(*words, option, "--", "true", env={name: value})) == []


@pytest.mark.parametrize("option, twin_, command", [
    ("--nproc-per-node=1", "RANKINIT_SUPERVISE=never", "true"),
    ("--nproc-per-node=2", "RANKINIT_SUPERVISE=never", "torchrun"),
    ("--nproc-per-node=2", "RANKINIT_SOURCE=none", "torchrun"),
    ("--source=none", "RANKINIT_NPROC_PER_NODE=2", "torchrun"),
])
def test_a_twin_stays_where_no_several_ranks_start_here(box, option, twin_, command):
    """One rank needs no parent, and a launcher is only told how many."""
    name, _, value = twin_.partition("=")
    words = ["--explain=json", option]
    both = box.run(*words, f"{long(name[9:].lower())}={value}", "--", command)
    assert both.status == 0, "together they are no contradiction"
    assert yields(box.run(*words, "--", command, env={name: value})) == []


def test_what_a_rival_makes_of_a_launch(box):
    """A plain start, a report all the same, silence."""
    plain = box.run("--source=none", "--", "sh", "-c", "echo ${RANK-none}",
                    env={"RANKINIT_NPROC_PER_NODE": "2"})
    assert plain.out == b"none\n"
    job = box.start("--report=@FOLDER/report", "--", "true",
                    env={"RANKINIT_SUPERVISE": "never"})
    assert job.wait().status == 0 and b"rankinit-report-1" in job.read("report")
    loud = box.run("-q", "--", "sh", "-c", "exit 0", env={"RANKINIT_VERBOSE": "yes"})
    assert loud.err == ""
    broken = box.run("--log-file=%", "--", "true", env={"RANKINIT_LOG_FILE": "/x"})
    refused(broken, 125, "option.value", "--log-file")
