# SPDX-License-Identifier: Apache-2.0
"""The verdict's last line, for programs: when there is one, and that the report says the same."""

import json
import os
import re

import pytest

import schema
from box import read_brief, refused

MEMBERS = ("cause", "class", "retry", "rank", "node", "host", "status", "retries",
           "failed_before")
RAISES = 'print("ready"); raise ValueError("bad batch 17")'
OF_JOB = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1"}


def silent(result):
    assert result.brief is None and "rankinit: verdict " not in result.err, result.err
    return result


def fits(brief, **wanted):
    """Has it these values, and its host and no more?"""
    assert brief.pop("host") != ""
    assert brief == {name: str(value) for name, value in wanted.items()}


def test_the_first_of_several_ranks(box):
    result = box.run("--nproc-per-node=3", "--", "sh", "-c",
                     "[ $RANK = 1 ] && exit 4; sleep 60")
    assert result.status == 4
    fits(result.brief, cause="exit_status", **{"class": "unknown"}, retry="never", rank=1, node=0,
         status=4, retries=0)


def test_an_exception(box):
    result = box.run("--nproc-per-node=2", "--", "python3", "-c", RAISES)
    assert result.status == 1
    brief = result.brief
    assert brief.pop("rank") in ("0", "1")
    fits(brief, cause="exception", **{"class": "own"}, retry="never", node=0, status=1,
         retries=0)


def test_one_rank_of_a_job_and_its_name(box):
    result = box.run("--", "sh", "-c", "exit 4", env={**OF_JOB, "SLURM_JOB_ID": "4711"})
    fits(result.brief, cause="unknown", **{"class": "unknown"}, retry="never", rank=1, node=0,
         status=4, retries=0, job=4711)


def test_a_launcher_in_front(box, tmp_path):
    launcher = tmp_path / "torchrun"
    launcher.write_text("#!/bin/sh\necho torch.cuda.OutOfMemoryError >&2\nexit 1\n")
    launcher.chmod(0o755)
    result = box.run("--", str(launcher), "train.py")
    assert result.status == 1 and result.brief["status"] == "1"
    assert "rank" not in result.brief


def test_one_command(box):
    """As silent as it is today, but where a signal killed it, a report is wanted, or restarts."""
    assert silent(box.run("--", "sh", "-c", "exit 3")).status == 3
    assert silent(box.run("--", "true")).err == ""
    result = box.run("--", "sh", "-c", "kill -SEGV $$")
    assert result.status == 139
    fits(result.brief, cause="signal", **{"class": "own"}, retry="never", status=139,
         retries=0)
    result = box.run("--restarts=2", "--", "sh", "-c", "exit 3")
    assert (result.status, result.brief["cause"]) == (3, "exit_status")
    result = box.run("--report=fd:1", "--", "sh", "-c", "exit 3")
    assert result.status == 3 and result.brief["status"] == "3"


@pytest.mark.parametrize("words, status, cause", [
    (["--nproc-per-node=x", "--", "true"], 125, "refused"),
    (["--", "no-such-command"], 127, "exec"),
    (["--", "/etc/passwd"], 126, "exec"),
    (["--nproc-per-node=2", "--", "no-such-command"], 127, "exec"),
])
def test_refusals(box, words, status, cause):
    result = box.run(*words)
    assert result.status == status
    brief = result.brief
    assert (brief["cause"], brief["class"], brief["retry"], brief["status"]) == \
        (cause, "own", "never", str(status))


def test_facts_that_contradict_each_other(box):
    result = box.run("--", "true", env={**OF_JOB, "RANK": "8"})
    refused(result, 125, "rank.range", "RANK")
    fits(result.brief, cause="refused", **{"class": "own"}, retry="never", status=125,
         retries=0)


def test_a_node_that_is_not_fit(box):
    result = box.run("--require=gpu", "--", "true", env=OF_JOB)
    assert result.status == 123
    brief = result.brief
    assert (brief["cause"], brief["retry"], brief["status"]) == ("unfit", "other_node", "123")


def test_a_name_that_does_not_resolve(box):
    result = box.run("--wait-master=1", "--", "true",
                     env={**OF_JOB, "MASTER_ADDR": "no-such-host.invalid"})
    assert result.status == 124
    assert (result.brief["cause"], result.brief["retry"]) == ("dns", "same")


def test_a_stop(box):
    job = box.start("--nproc-per-node=2", "--", *box.payload("env:RANK", "status=5"))
    job.until("rank0 ready", "rank1 ready")
    result = job.stop()
    assert result.status == 5
    fits(result.brief, cause="preempted", **{"class": "stopped"}, retry="same", node=0,
         status=5, failed_before="no", retries=0)


def test_a_stop_that_ends_well(box):
    job = box.start("--nproc-per-node=2", "--", *box.payload("env:RANK"))
    job.until("rank0 ready", "rank1 ready")
    assert silent(job.stop()).status == 0


def test_a_stop_of_a_rank(box):
    """Alone on its node, it tells of nothing else."""
    job = box.start("--", *box.payload("env:RANK", "status=5"), env=OF_JOB)
    job.until("rank1 ready")
    result = job.stop()
    assert result.status == 5 and result.brief["cause"] == "preempted"


@pytest.mark.parametrize("name", ["tini", "dumb-init"])
def test_in_the_place_of_another_init(box, tmp_path, name):
    link = tmp_path / name
    link.symlink_to(box.rankinit)
    assert silent(box.run("--", "sh", "-c", "kill -SEGV $$", program=str(link))).status == 139
    assert silent(box.run("--", "no-such-command", program=str(link))).status != 0
    assert silent(box.run("--wrong", program=str(link))).status != 0


def test_disabled(box):
    result = box.run("--", "sh", "-c", "kill -SEGV $$", env={"RANKINIT_DISABLE": "1"})
    assert silent(result).status == 139


@pytest.mark.parametrize("words", [
    ["--explain", "--", "true"], ["--print-env"], ["--check"]])
def test_what_starts_nothing(box, words):
    assert silent(box.run(*words, env={**OF_JOB, "RANK": "8"})).status == 125


@pytest.mark.parametrize("script, wanted", [
    ("[ $RANK = 1 ] && exit 4; sleep 60", True), ("exit 0", False)])
def test_the_report_says_the_same(box, script, wanted):
    result = box.run("--nproc-per-node=2", "--report=fd:1", "--", "sh", "-c", script + " >&2")
    document = json.loads(result.out)
    schema.check(document, "report")
    if not wanted:
        assert silent(result) and document["verdict"] is None
        return
    brief = result.brief
    assert set(document["verdict"]) == set(MEMBERS)
    assert {name: str(value) for name, value in document["verdict"].items()
            if value is not None} == brief


def test_a_refusal_in_the_report(box):
    result = box.run("--require=gpu", "--report=fd:1", "--", "true", env=OF_JOB)
    document = json.loads(result.out)
    assert document["verdict"]["cause"] == "unfit" and document["verdict"]["status"] == 123


def test_a_hostile_job_name(box):
    """A name cannot make a second line, nor a value of its own; it is quoted, or is not there."""
    env = {**OF_JOB, "JOB_COMPLETION_INDEX": "0",
           "JOBSET_NAME": 'x" retry=never\nrankinit: verdict cause=ecc'}
    result = box.run("--", "sh", "-c", "exit 4", env=env)
    assert result.brief["job"] == env["JOBSET_NAME"] and result.brief["cause"] == "unknown"
    assert "rankinit: verdict " not in result.err


def test_an_exit_map_does_not_change_the_status_in_it(box):
    result = box.run("--exit-map=4:44", "--nproc-per-node=2", "--", "sh", "-c",
                     "[ $RANK = 1 ] && exit 4; sleep 60")
    assert result.status == 44 and result.brief["status"] == "4"


# As in test_report.py.
WORDS = ("mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; : >@FOLDER/words; "
         ": >/dev/termination-log; mount --bind @FOLDER/words /dev/termination-log")


@pytest.mark.parametrize("length", [10, 4000])
def test_the_last_words_of_a_pod_have_it(box, length):
    """Other lines are cut where all of it is too long: four bytes a letter, on many lines."""
    raises = f'raise ValueError("\\n".join(["\u00e9\U0001f600" * 200] * {length}))'
    job = box.start("--nproc-per-node=2", "--", "python3", "-c", raises, shell=WORDS)
    result = job.wait()
    words = job.read("words").decode()
    assert read_brief("rankinit: " + words.splitlines()[-1]) == result.brief
    assert " failed first: " in words.splitlines()[0] and len(words.encode()) <= 4096
    assert result.brief["cause"] == "exception"
    job = box.start("--", "sh", "-c", "exit 3", shell=WORDS)
    assert job.wait().err == "" and "verdict" not in job.read("words").decode()


LOST = (r"printf 'Traceback (most recent call last):\n  File \"/job/train.py\", line 8, in f\n    "
        r"g()\nRuntimeError: Socket Timeout\n' >&2; exit 1")
WATCHDOG = "[rank0]:[E612 10:41:16.9 ProcessGroupNCCL.cpp:1575] preparing to dump debug info"


@pytest.mark.parametrize("words, cause, retry", [
    ("Map:  41%", "late", "never"), ("", "timeout", "same"), (WATCHDOG, "timeout", "same")])
def test_a_rank_that_does_not_come(box, words, cause, retry):
    """It is at work, if it says something; its watchdog does so where it hangs, too."""
    said = f"echo '{words}' >&2; " if words else ""
    result = box.run("--nproc-per-node=2", "--", "sh", "-c",
                     f"[ $RANK = 1 ] || {{ {said}: >@FOLDER/said; exec sleep 60; }}; "
                     f"until [ -e @FOLDER/said ]; do sleep 0.02; done; {LOST}")
    assert result.status == 1 and result.brief["rank"] == "0"
    assert (result.brief["cause"], result.brief["retry"]) == (cause, retry)


def test_the_schema_has_the_causes_of_the_table():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
    with open(os.path.join(root, "lib", "report", "causes.def"), encoding="utf-8") as file:
        table = re.findall(r'^RI_CAUSE\(\w+, "(\w+)"', file.read(), re.M)
    with open(os.path.join(root, "docs", "report.schema.json"), encoding="utf-8") as file:
        brief = json.load(file)["definitions"]["verdict"]
    assert len(table) > 20 and sorted(brief["properties"]["cause"]["enum"]) == sorted(table)
