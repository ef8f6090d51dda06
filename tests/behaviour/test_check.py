# SPDX-License-Identifier: Apache-2.0
"""Checks of the node: when they run, who speaks, and how."""

import json
import os
import re
import shutil
import subprocess

import pytest

from box import BASE, read_brief, refused, warned
from peek import PATIENCE
from test_check_hosts import HOSTS, PAIRS, change

HUGE = "shm=1000000G"
UNMET = f"--require={HUGE}"


def rank(local_rank=0, size=2):
    return {"OMPI_COMM_WORLD_RANK": str(local_rank), "OMPI_COMM_WORLD_SIZE": str(size),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(local_rank),
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(size)}


ONE = rank(size=1)


def unfit(result, code, subject, asker="--require"):
    """Refused for what is required: the line that says it, and the one that ends it."""
    errors = [line for line in result.lines() if line.startswith("rankinit: error: ")]
    assert result.status == 123, (result.status, result.err)
    assert result.out == b""
    assert errors[-1].startswith(f"rankinit: error: {asker}: ")
    assert errors[-1].endswith(" [check.unfit]")
    named = [line for line in errors if line.endswith(f" [{code}]")
             and line.startswith(f"rankinit: error: {subject}: ")]
    assert len(named) == 1, result.err
    return named[0]


# What is asked for, and by whom.

def test_only_what_is_required_refuses_a_launch(box):
    words = ["--", "sh", "-c", "echo ran"]
    line = unfit(box.run(UNMET, *words, env=ONE), "shm.size.small", "/dev/shm")
    assert "; expected at least 976.6 TiB (--require); " in line
    assert "docker run --shm-size" in line and "Kubernetes" in line and "Azure ML" in line
    expected = box.run(f"--expect={HUGE}", *words, env=ONE)
    assert (expected.status, expected.out) == (0, b"ran\n")
    assert "(--expect)" in warned(expected, "shm.size.small", "/dev/shm")
    met = box.run("--require=shm=4k", *words, env=ONE)
    assert (met.status, met.out, met.err) == (0, b"ran\n", "")


def test_a_twin_is_named(box):
    result = box.run("--", "true", env={**ONE, "RANKINIT_REQUIRE": HUGE})
    assert "(RANKINIT_REQUIRE)" in unfit(result, "shm.size.small", "/dev/shm",
                                         "RANKINIT_REQUIRE")


def test_a_launch_without_an_identity_is_not_refused(box):
    """An image with RANKINIT_REQUIRE is still good for `docker run -it IMAGE bash`."""
    for shell in (["sh"], ["/bin/sh", "-e"]):
        result = box.run("--", *shell, env={"RANKINIT_REQUIRE": HUGE})
        assert (result.status, result.err) == (0, "")
    # what else it runs may be the training, for which that was written
    for words in (["sh", "-c", "exit 7"], ["env", "sh", "-c", "exit 7"],
                  ["sh", "-c", "exit 7", "train", "--out=/data/rankinit-logs"]):
        result = box.run("--", *words, env={"RANKINIT_REQUIRE": HUGE})
        assert result.status == 7
        assert len(result.lines()) == 1
        assert "--nproc-per-node=1" in warned(result, "check.unasked", "RANKINIT_REQUIRE")
    for words in ("exit 7; rankinit x", "exit 7;/bin/rankinit", "exit 7\nrankinit"):
        assert box.run("--", "sh", "-c", words, env={"RANKINIT_REQUIRE": HUGE}).err == ""
    assert box.run("--", "sh", "-c", "exit 7", env={"RANKINIT_EXPECT": HUGE}).err == ""
    assert warned(box.run(UNMET, "--", "true"), "check.unasked", "--require")
    both = box.run("--require=shm.size", "--", "sh", env={"RANKINIT_REQUIRE": HUGE})
    assert warned(both, "check.unasked", "--require and RANKINIT_REQUIRE"), "written for this one"
    task = '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}'
    beside = box.run(UNMET, "--nproc-per-node=1", "--", "true", env={"TF_CONFIG": task})
    line = warned(beside, "check.unasked", "--require")
    assert "not a rank of the job" in line and "--nproc-per-node" not in line
    assert box.run(UNMET, "--", "sh", "-c", "exit 7", env=ONE).status == 123, "the control"


def test_a_plain_init_and_a_launcher_of_the_job_do_not_check(box):
    for env, options in (({**ONE, "RANKINIT_DISABLE": "1", "RANKINIT_REQUIRE": HUGE}, ["-q"]),
                         (ONE, [UNMET, "--source=none"])):
        result = box.run(*options, "--", "true", env=env)
        assert (result.status, result.err) == (0, ""), (options, result.err)
    for env, options in ((ONE, [UNMET]), ({**ONE, "RANKINIT_REQUIRE": HUGE}, [])):
        result = box.run(*options, "--launch=none", "--", "true", env=env)
        assert result.status == 0 and len(result.lines()) == 1
        assert "put rankinit before the program" in result.err
        assert result.err.rstrip().endswith(" [check.unasked]")


SERVICE = ["sh", "-c", 'for i in 1 2 3; do "$0" -- sh -c "exit 7"; done; exit 7']


@pytest.mark.parametrize("place", ["init", "below"])
def test_of_the_services_of_a_container_the_first_one_says_it(box, place):
    env = {"RANKINIT_REQUIRE": HUGE}
    for words in ([*SERVICE, box.rankinit], ["--", *SERVICE, box.rankinit]):
        program = {} if words[0] == "--" else {"program": words[0]}
        words = words if words[0] == "--" else words[1:]
        result = box.run(*words, env=env, place=place, **program)
        assert result.status == 7
        warned(result, "check.unasked", "RANKINIT_REQUIRE")
    # with -v all of them say it, and so does whoever writes it for this launch
    job = box.run(*SERVICE[1:], box.rankinit, env={**env, "RANKINIT_VERBOSE": "1"}, place=place,
                  program="sh")
    assert job.err.count("requirements not checked") == 3
    words = [word.replace('"$0"', f'"$0" {UNMET}') for word in SERVICE[1:]]
    job = box.run(*words, box.rankinit, place=place, program="sh")
    assert job.err.count("warning: --require: requirements not checked") == 3


def test_process_1_leaves_nothing_in_shm(box):
    job = box.start("--", "sh", "-c", "ls /dev/shm; exit 7", env={"RANKINIT_REQUIRE": HUGE},
                    shell="mount -t tmpfs shm /dev/shm; mkdir @FOLDER/x; "
                          "mount --bind /dev/shm @FOLDER/x")
    result = job.wait()
    assert result.status == 7 and result.out.startswith(b"rankinit-")
    # where nothing can be made there, each says it
    for shell in ("mount -t tmpfs -o ro shm /dev/shm", "mount -t tmpfs none /dev"):
        result = box.run(*SERVICE[1:], box.rankinit, env={"RANKINIT_REQUIRE": HUGE},
                         program="/bin/sh", shell=shell)
        assert result.status == 7 and result.err.count("requirements not checked") == 3


# Beside the variable of an image.

@pytest.mark.parametrize("variable, option, asked", [
    ("shm=4k", HUGE, {"--require"}), (HUGE, "shm=4k", set()), (HUGE, "net.loopback", {"variable"}),
    (HUGE, "none", set()), (HUGE, "none,net.loopback", set()), ("none", HUGE, {"--require"}),
    (HUGE, "gpu=1000", {"variable", "--require"}), ("none," + HUGE, "net.loopback", {"variable"}),
    ("gpu=1000", "none," + HUGE, {"--require"}), ("none", "none", set()),
])
def test_an_option_adds_to_the_variable(box, variable, option, asked):
    """What both name the command line decides; none leaves out the variable's."""
    result = box.run(f"--require={option}", "--", "sh", "-c", "echo ran", shell="ulimit -c 0",
                     env={**ONE, "RANKINIT_REQUIRE": variable})
    assert (result.status == 123) == bool(asked), result.err
    lines = [line for line in result.lines() if not line.endswith("[check.unfit]")]
    assert any("(--require)" in line for line in lines) == ("--require" in asked)
    assert any("(RANKINIT_REQUIRE)" in line for line in lines) == ("variable" in asked)


@pytest.mark.parametrize("variable, option, asker", [
    ("gpu=1000", "shm=4k", "--require and RANKINIT_REQUIRE"),
    ("net.loopback", HUGE, "--require and RANKINIT_REQUIRE"),
    ("gpu=1000", "net.loopback", "--require and RANKINIT_REQUIRE"),
    ("net.loopback", "lim.memlock,gpu=1000", "--require and RANKINIT_REQUIRE"),
    ("shm=4k", HUGE, "--require"), ("net.loopback", "none," + HUGE, "--require"),
    ("none", HUGE, "--require"), ("", HUGE, "--require")])
def test_who_asked_refuses(box, variable, option, asker):
    result = box.run(f"--require={option}", "--", "true", shell="ulimit -c 0",
                     env={**ONE, "RANKINIT_REQUIRE": variable})
    line = result.lines()[-1]
    assert result.status == 123 and line.endswith("[check.unfit]"), result.err
    assert line.startswith(f"rankinit: error: {asker}: this node "), line


def test_ids_of_both_places(box):
    env = {**ONE, "RANKINIT_REQUIRE": "lim.memlock"}

    def run(option):
        return box.run(f"--require={option}", "--", "true", env=env, shell="ulimit -n 1000")
    result = run("lim.nofile")
    assert result.status == 123 and "[lim.nofile.small]" in result.err
    line, = [line for line in result.lines() if line.endswith("[check.skipped]")]
    assert "memlock" in line and "(--require and RANKINIT_REQUIRE)" in line
    # the controls: one of them alone, and none
    alone = run("none,lim.nofile")
    assert alone.status == 123 and "memlock" not in alone.err
    assert run("shm=4k").status == 123 and "(RANKINIT_REQUIRE)" in run("shm=4k").err
    assert (run("none").status, run("none").err) == (0, "")


def test_a_variable_alone_may_say_none(box):
    for value in ("none", "none,shm=4k"):
        assert box.run("--", "true", env={**ONE, "RANKINIT_REQUIRE": value}).err == ""
    assert box.run("--require=none", "--", "true", env=ONE).err == ""
    assert box.run("--require=none", "--", "true", env={"RANKINIT_REQUIRE": HUGE}).err == ""
    for value in ("nonee", "shm=4k,none", "none,", ",none", "none=1"):
        result = box.run("--", "true", env={**ONE, "RANKINIT_REQUIRE": value})
        refused(result, 125, "option.value", "RANKINIT_REQUIRE")
        refused(box.run(f"--require={value}", "--", "true", env=ONE), 125, "option.value",
                "--require")


def test_expectations_add_as_well(box):
    env = {**ONE, "RANKINIT_EXPECT": HUGE}
    assert "shm.size.small" in box.run("--expect=net.loopback", "--", "true", env=env).err
    assert box.run("--expect=none", "--", "true", env=env).err == ""
    assert box.run("--expect=shm=4k", "--", "true", env=env).err == ""


def test_both_go_on_where_nothing_is_checked(box):
    env = {"RANKINIT_REQUIRE": "gpu=8,shm=4k,net.loopback"}
    assert seen(box, "--require=shm=8k,ib", env=env) == \
        {"RANKINIT_REQUIRE": "gpu=8,net.loopback,shm=8k,ib"}
    assert seen(box, "--require=none", env={"RANKINIT_REQUIRE": "gpu=8"}) == \
        {"RANKINIT_REQUIRE": "none"}
    assert seen(box, "--require=none,ib", env={"RANKINIT_REQUIRE": "gpu=8"}) == \
        {"RANKINIT_REQUIRE": "none,ib"}
    assert seen(box, "--require=ib", env={"RANKINIT_REQUIRE": ""}) == {"RANKINIT_REQUIRE": "ib"}


# A policy that was not applied goes on.

POLICY = {"RANKINIT_REQUIRE": "shm=4k", "RANKINIT_EXPECT": "shm=4k", "RANKINIT_CHECKS": "shm.*"}


def seen(box, *options, env=None):
    """What the command finds of rankinit's own variables, but for where one inside tells it."""
    result = box.run(*options, "--", "sh", "-c", "env; : rankinit", env=env)
    assert result.status == 0, result.err
    pairs = (line.split("=", 1) for line in result.out.decode().splitlines())
    return {name: value for name, value in pairs
            if name.startswith("RANKINIT_") and name != "RANKINIT_OUTER"}


def test_what_was_not_applied_goes_on(box):
    """Nothing else does: a grace period, or a colour, is one rankinit's own."""
    own = {"RANKINIT_GRACE": "5", "RANKINIT_QUIET": "no", "RANKINIT_NPROC_PER_NODE": "1"}
    assert seen(box, env=POLICY) == POLICY
    assert seen(box, "--launch=none", env={**POLICY, **own}) == POLICY
    assert seen(box, "--source=none", env=POLICY) == POLICY
    # whoever looked has them removed: nobody below looks again
    assert seen(box, env={**POLICY, **own}) == {}
    assert seen(box, env={**POLICY, **ONE}) == {}
    assert seen(box, "--node-rank=0", "--nnodes=1", "--launch=node", env=POLICY) == {}
    assert seen(box, "--checks=none", env={**POLICY, **ONE}) == {}, "none is an answer as well"
    assert seen(box, env={**POLICY, "AZUREML_RUN_ID": "a"}) == {}, "a job without a rank"


def test_the_command_line_goes_on_as_its_twin(box):
    assert seen(box, "--require=shm=8k,deep", env=POLICY) == \
        {**POLICY, "RANKINIT_REQUIRE": "shm=8k,deep"}
    assert seen(box, "--require=shm=8k", "--grace=5") == {"RANKINIT_REQUIRE": "shm=8k"}
    assert seen(box, "--require=shm=8k", env=ONE) == {}, "the control: it was looked at"


def test_a_rankinit_below_refuses(box):
    """docker run -e RANKINIT_REQUIRE=... IMAGE rankinit ..., where the ENTRYPOINT is rankinit."""
    inner = [box.rankinit, "--nproc-per-node=2", "--", "echo", "ran"]
    env = {"RANKINIT_REQUIRE": HUGE}
    for words in (inner, ["sh", "-c", " ".join(inner)], [box.rankinit, *inner]):
        unfit(box.run("--", *words, env=env), "shm.size.small", "/dev/shm", "RANKINIT_REQUIRE")
    unfit(box.run(UNMET, "--launch=none", "--", *inner), "shm.size.small", "/dev/shm",
          "RANKINIT_REQUIRE")
    met = box.run("--", *inner, env={"RANKINIT_REQUIRE": "shm=4k"})
    assert (met.status, met.out, met.err) == (0, b"ran\n" * 2, ""), "the control"


def test_ranks_that_start_rankinit_again_do_not_look_again(box):
    result = box.run("--nproc-per-node=2", f"--expect={HUGE}", "--", box.rankinit, "--", "echo",
                     "ran", env={"RANKINIT_EXPECT": HUGE})
    assert result.out == b"ran\n" * 2
    warned(result, "shm.size.small", "/dev/shm")
    assert len(result.lines()) == 1


def test_a_firm_demand_and_a_mild_one(box):
    """What is required is there; that more is expected refuses nothing."""
    result = box.run("--require=shm=4k", f"--expect={HUGE}", "--", "true", env=ONE)
    assert result.status == 0
    assert "(--expect)" in warned(result, "shm.size.small", "/dev/shm")


def test_what_silences_and_what_refuses(box):
    options = {"--checks=default,^shm.size": (0, ""), "--checks=^shm.*": (0, ""),
               "--require=shm.size": (123, "error"), "--require=shm.*": (123, "error"),
               "--expect=shm.size": (0, "warning")}
    for option, (status, word) in options.items():
        result = box.run(option, f"--expect={HUGE}" if word != "warning" else "-v", "--", "true",
                         env={**ONE, "RANKINIT_EXPECT": HUGE})
        assert result.status == status, (option, result.err)
        assert (f"rankinit: {word}: /dev/shm" in result.err) == (word != ""), result.err
        assert word or result.err == ""


# Several ranks of a node.

def test_the_first_rank_of_a_node_speaks_for_all(box):
    results = [box.run(UNMET, "--", "true", env=rank(number, 4)) for number in range(4)]
    unfit(results[0], "shm.size.small", "/dev/shm")
    for result in results[1:]:
        line = refused(result, 123, "check.unfit", "--require")
        assert ": shm.size (/dev/shm: has " in line and "; local rank 0 says what to do" in line
    mild = [box.run(f"--expect={HUGE}", "--", "true", env=rank(number, 4)) for number in range(2)]
    assert "shm.size.small" in mild[0].err and mild[1].err == ""


@pytest.mark.parametrize("number", [0, 1, 3])
def test_check_answers_each_rank(box, number):
    """--check was asked for: what it finds does not depend on who asks."""
    lone = {"LOCAL_RANK": str(number)}
    for env in (rank(number, 4), lone):
        shown = box.run("--check", UNMET, env=env)
        assert shown.status == 123 and b"shm.size" in shown.out, env
        fit = box.run("--check", "--checks=shm.size", env=env)
        assert fit.status == 0 and b"shm.size" in fit.out, env
    warned(box.run("--check", UNMET, "--checks=none", env=rank(number, 4)), "check.unasked",
           "--require")


def test_ranks_that_start_here_are_checked_for_once(box):
    result = box.run("--nproc-per-node=3", f"--expect={HUGE}", "--", "sh", "-c", "echo ran")
    assert result.out == b"ran\n" * 3
    warned(result, "shm.size.small", "/dev/shm")
    refused_ = box.run("--nproc-per-node=3", UNMET, "--", "sh", "-c", "echo ran")
    unfit(refused_, "shm.size.small", "/dev/shm")


def test_the_exit_map_and_the_state_know(box):
    assert box.run(UNMET, "--exit-map=123:9", "--", "true", env=ONE).status == 9
    assert box.run("--check", UNMET, "--exit-map=123:9").status == 9
    result = box.run(UNMET, "--state=/tmp/check-state", "--", "true", env=ONE)
    assert result.status == 123
    assert box.run("--status=/tmp/check-state").status == 1
    os.remove("/tmp/check-state")


@pytest.mark.parametrize("place", ["init", "below"])
def test_a_refusal_is_reported(box, place):
    """The report and the container's last words say what is not fit, and that nothing ran."""
    job = box.start(UNMET, "--report=@FOLDER/report", "--nproc-per-node=2", "--", "sh", "-c",
                    "echo ran", place=place,
                    shell="touch @FOLDER/words; mount -t tmpfs none /dev && mkdir /dev/shm && "
                          "touch /dev/termination-log && mount --bind @FOLDER/words "
                          "/dev/termination-log || exit 99")
    result = job.wait()
    if result.status == 99:
        pytest.skip("nothing can be mounted here")
    assert (result.status, result.out) == (123, b"")
    report = json.loads(job.read("report"))
    assert (report["exit_status"], report["first_failure"]) == (123, None)
    assert [one["state"] for one in report["ranks"]] == ["not-started"] * 2
    assert report["check"]["fit"] is False
    failed, = [one for one in report["check"]["checks"] if one["status"] == "fail"]
    assert failed["id"] == "shm.size"
    *words, last = job.read("words").decode().splitlines()
    assert read_brief("rankinit: " + last)["cause"] == "unfit" == report["verdict"]["cause"]
    assert len(words) == 2 and words[0].startswith("/dev/shm: ") and "(--require)" in words[0]
    assert words[1].startswith(f"--require: this node ({os.uname().nodename}) is not fit")
    assert "[check.unfit]" in words[1]
    # as on stderr, and no second time
    assert [line.removeprefix("rankinit: error: ") for line in result.lines()] == words


# What is printed.

def machine(tmp_path, pair=None, name="limits-fit"):
    root = str(tmp_path / "root")
    shutil.copytree(os.path.join(HOSTS, name), root, symlinks=True)
    for path, new in (pair.files.items() if pair else ()):
        change(root, path, new)
    return root


def test_the_table_for_people(box, tmp_path):
    root = machine(tmp_path, PAIRS["shm_docker"])
    result = box.run("--check", f"--root={root}", "--require=shm=16G,lim.memlock")
    lines = result.out.decode().splitlines()
    assert (result.status, result.err) == (123, "")
    assert all(len(line) < 80 for line in lines)
    at = next(number for number, line in enumerate(lines) if " shm.size " in line)
    assert lines[at].startswith("fail     shm.size           /dev/shm: has 64 MiB")
    text = " ".join(line.strip() for line in lines[at:])
    assert "expected at least 16 GiB (--require)" in text
    assert "outside the image: docker run --shm-size=16g " in text
    assert re.fullmatch(r"(\d+ (pass|note|warn|fail|unknown|skip),? )+in [0-9.]+ ms: not fit",
                        lines[-1])
    skips = [line for line in lines if line.startswith("skip ")]
    assert len(skips) == 1 and "gpu.count, " in skips[0] and "-v" in " ".join(lines)
    each = box.run("--check", "-v", f"--root={root}").out.decode().splitlines()
    assert any(re.fullmatch(r"skip     gpu\.count +GPUs: .*", line)
               for line in each)
    colored = box.run("--check", f"--root={root}", env={"CLICOLOR_FORCE": "1"})
    assert b"\033[" in colored.out and colored.status == 0


def test_notes_of_a_launch_concern_its_job(box, tool):
    """-v tells of MPI in an MPI job, and of mpirun nowhere where ranks start."""
    own = ["--rank=0", "--world-size=1", "--local-rank=0", "--local-world-size=1"]
    plain = box.run("-v", *own, "--", "true")
    assert plain.status == 0 and "[mpi." not in plain.err and "unknown]" not in plain.err
    tool("mpirun")      # then --check has something to say of it, as root
    asked = box.run("-v", *own, "--checks=mpi.*", "--", "true")
    shown = box.run("-v", "--checks=default", "--", "true", env=ONE)
    assert "[mpi.root.guard]" in asked.err, "the control"
    assert "[mpi.root.guard]" not in shown.err


def test_json(box, tmp_path):
    root = machine(tmp_path, PAIRS["shm_docker"])
    result = box.run("--check=json", f"--root={root}", "--require=shm=16G")
    document = json.loads(result.out)
    assert list(document) == ["schema", "fit", "checks", "facts"]
    assert (document["schema"], document["fit"]) == ("rankinit-check-1", False)
    assert all(list(one) == ["id", "status", "code", "subject", "text", "expected", "hint",
                             "because_of", "ms"] for one in document["checks"])
    assert not re.search(rb'"ms": \d+\.\d{4}', result.out)
    shm = next(one for one in document["checks"] if one["id"] == "shm.size")
    assert (shm["status"], shm["code"]) == ("fail", "shm.size.small")
    assert shm["text"].endswith("; expected at least 16 GiB (--require)")
    assert (shm["expected"], shm["because_of"]) == ("at least 16 GiB (--require)", None)
    assert 0 <= shm["ms"] < 10000
    passed = [one for one in document["checks"] if one["status"] == "pass"]
    assert passed and all(one[key] is None for one in passed for key in ("code", "hint"))


def test_the_list(box):
    lines = box.run("--list=checks").out.decode().splitlines()
    rows = [line.split("\t") for line in lines]
    assert all(len(row) == 8 and all(row) for row in rows)
    ids = [row[0] for row in rows]
    assert {"shm.size", "lim.memlock"} <= set(ids) and len(set(ids)) == len(ids)
    shown = json.loads(box.run("--check=json", "--checks=all").out)["checks"]
    assert list(dict.fromkeys(one["id"] for one in shown)) == ids, "the order is the table's"


def test_a_broken_environment_is_an_error(box):
    refused(box.run("--check", env={**ONE, "OMPI_COMM_WORLD_RANK": "x"}), 125, "env.value",
            "OMPI_COMM_WORLD_RANK")
    refused(box.run("--check", "--root=/nonexistent"), 125, "file.unreadable", "/nonexistent")


def test_an_explanation_says_what_a_launch_would_do(box):
    result = box.run("--explain=json", UNMET, "--", "true", env=ONE)
    document = json.loads(result.out)
    found = [(one["severity"], one["code"], one["subject"]) for one in document["findings"]]
    assert result.status == 123
    assert found[0] == ("error", "check.unfit", "--require")
    assert b" for the reasons in the other findings" in result.out
    assert ("error", "shm.size.small", "/dev/shm") in found
    mild = box.run("--explain=json", f"--expect={HUGE}", "--", "true", env=ONE)
    found = [(one["severity"], one["code"]) for one in json.loads(mild.out)["findings"]]
    assert mild.status == 0 and ("warning", "shm.size.small") in found
    none = box.run("--explain", UNMET, "--", "true")
    assert none.status == 0 and b"shm.size" not in none.out, "no identity, no check"


def test_the_report_holds_what_was_found(box):
    def report(*options, env=ONE):
        job = box.start(*options, "--report=@FOLDER/report", "--", "true", env=env)
        assert job.wait().status == 0
        return json.loads(job.read("report"))["check"]

    check = report(f"--expect={HUGE}", "--checks=shm.*")
    assert (check["schema"], check["fit"]) == ("rankinit-check-1", True)
    assert [one["status"] for one in check["checks"] if one["id"] == "shm.size"] == ["warn"]
    fit = report("--expect=shm=1k", "--checks=shm.*")
    assert [one["status"] for one in fit["checks"] if one["id"] == "shm.size"] == ["pass"]
    assert report("--checks=none") is None
    assert report(f"--expect={HUGE}", env={}) is None


# The live machine: what a container may be given, and not.

def live(box, tool, script, *options, env=None):
    """The checks of a process in a mount namespace of its own, as {id: result}."""
    words = [tool("unshare"), "--mount", "--propagation", "private", "sh", "-c",
             script + '; exec "$@"', "sh", box.rankinit, "--check=json", "--checks=all", *options]
    done = subprocess.run(words, env={**BASE, **(env or {})}, capture_output=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode in (0, 123), done.stderr.decode()
    return {one["id"]: one for one in json.loads(done.stdout)["checks"]}


def shm(options):
    return f"mount -t tmpfs -o {options} none /dev/shm"


@pytest.mark.parametrize("script, name, status, code", [
    (shm("size=64m"), "shm.size", "note", "shm.size.small"),
    (shm("size=2g"), "shm.size", "pass", None),
    (shm("size=64m") + "; dd if=/dev/zero of=/dev/shm/x bs=1M count=40 2>/dev/null", "shm.free",
     "note", "shm.free.small"),
    (shm("size=64m"), "shm.free", "pass", None),
    (shm("size=64m,ro"), "shm.write", "warn", "shm.write.denied"),
    (shm("size=64m"), "shm.write", "pass", None),
    ("ulimit -n 1024", "lim.nofile", "note", "lim.nofile.small"),
    ("ulimit -n 5000", "lim.nofile", "pass", None),
])
def test_live(box, tool, script, name, status, code):
    result = live(box, tool, script)[name]
    assert (result["status"], result["code"]) == (status, code), result


@pytest.mark.parametrize("word, use", [
    ("lim.core", "use the fact core_limit of rankinit --check"),
    ("gpu.nvlink", "use nvidia-smi nvlink -s, or dcgmi diag"), ("time.*", "use chronyc tracking"),
])
@pytest.mark.parametrize("option", ["--require", "--expect", "--checks"])
def test_a_check_that_is_gone(box, option, word, use):
    """It is a warning, and the job runs; so is it in an image's variable."""
    twin = "RANKINIT_" + option[2:].upper()
    for words, env, subject in (([f"{option}={word}"], {}, option), ([], {twin: word}, twin)):
        result = box.run(*words, "--", "echo", "ran", env={**ONE, **env})
        assert (result.status, result.out) == (0, b"ran\n"), result.err
        line = warned(result, "check.gone", subject)
        assert "is no check any more, and nothing is checked for it" in line and use in line
    said = box.run(f"{option}=shm.sizes", "--", "true", env=ONE).err
    assert "did you mean shm.size?" in said, "the control"


def test_a_list_of_checks_that_are_gone_is_not_all(box):
    """Nothing runs by --checks of them alone; the others of a list do, and a family has no word."""
    assert box.run("--check", "--checks=gpu.xid,time.sync").out == b"no checks were run\n"
    listed = json.loads(box.run("--check=json", "--checks=gpu.xid,shm.size").out)["checks"]
    assert {one["id"] for one in listed} == {"shm.size"}
    whole, without = (box.run("--check=json", *words) for words in ([], ["--checks=^gpu.xid"]))
    assert "[check.gone]" in without.err and "[check.gone]" not in whole.err
    assert ([one["id"] for one in json.loads(whole.out)["checks"]]
            == [one["id"] for one in json.loads(without.out)["checks"]])
    assert "check.gone" not in box.run("--check", "--checks=gpu.*").err


def test_live_64_mib(box, tool):
    result = live(box, tool, shm("size=64m"), "--require=shm=16G")["shm.size"]
    assert (result["status"], result["text"].split(",")[0]) == ("fail", "has 64 MiB")
