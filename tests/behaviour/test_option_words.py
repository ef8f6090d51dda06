# SPDX-License-Identifier: Apache-2.0
"""Words that look like rankinit's own where they are the command's."""

import json

import pytest

from box import refused, warned


def findings(box, *words, **more):
    """What --explain finds of a command line: {(code, subject): finding}."""
    found = json.loads(box.run("--explain=json", *words, **more).out)["findings"]
    return {(one["code"], one["subject"]): one for one in found}


@pytest.mark.parametrize("words, hint", [
    (["--check", "json"], "write --check=json"),
    (["--check", "text", "x"], "write --check=text"),
    (["--check", "gpu"], "to run only those checks: --checks=gpu.* --check"),
    (["--explain", "json"], "write --explain=json"),
    (["--dry-run", "text", "python3", "t.py"], "write --dry-run=text"),
    (["--print-env", "dotenv"], "write --print-env=dotenv"),
    (["--status", "/run/job.state"], "write --status=/run/job.state"),
])
def test_the_value_of_an_action_stands_apart(box, words, hint):
    result = box.run(*words)
    assert result.status in (0, 1)
    if words[0] not in ("--explain", "--dry-run"):
        line = warned(result, "option.apart", words[0])
        assert f'"{words[1]}" after it is taken as the command' in line and hint in line
    else:
        assert f"warning  {words[0]} [option.apart]" in result.out.decode()
        assert hint in result.out.decode()


def test_the_value_of_a_flag_stands_apart(box):
    result = box.run("--log-prefix", "no", "true")
    refused(result, 127, "exec.not_found", "no")
    assert "write --log-prefix=no" in warned(result, "option.apart", "--log-prefix")


@pytest.mark.parametrize("words", [
    ["--check=json", "true"], ["--check", "--", "json"], ["--check", "true"], ["--check"],
    ["--explain", "python3"], ["--explain", "gpu"], ["--print-env", "true"], ["--status"],
    ["--status", "--state=job"], ["--log-prefix", "true"], ["--log-prefix=no", "true"],
    ["--grace", "5", "true"], ["--signal-group", "--log-prefix", "true"],
])
def test_a_word_that_is_no_value(box, words):
    """The control."""
    result = box.run(*words)
    assert result.status in (0, 1), result.err
    assert "option.apart" not in result.err + result.out.decode()


@pytest.mark.parametrize("option", ["--nproc-per-node=2", "--nproc_per_node", "--log-prefix",
                                    "--gpu-bind=single"])
@pytest.mark.parametrize("command", [["python3", "train.py"], ["torchrun", "train.py"],
                                     ["sh", "run.sh"]])
def test_an_option_behind_the_command(box, option, command):
    name = option.partition("=")[0].replace("_", "-")
    found = findings(box, *command, option, "2")
    assert list(found) == [("option.behind", name)]
    one = found["option.behind", name]
    assert one["severity"] == "note" and f"rankinit {name}" in one["hint"]
    assert one["hint"].endswith(f" -- {command[0]}")
    said = box.run("-v", "--", "true", *command, option)
    assert said.status == 0 and said.err.count("[option.behind]") == 1
    assert box.run("--", "true", *command, option).err == "", "a note, no warning"


@pytest.mark.parametrize("words", [
    ["torchrun", "--nproc-per-node=2", "train.py"],
    ["python3", "-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py"],
    ["--nproc-per-node=2", "--", "python3", "train.py"],
    ["rankinit", "--nproc-per-node=2", "train.py"],
    ["/usr/bin/rankinit", "--log-prefix", "train.py"],
    ["mpirun", "-np", "2", "--bind-to", "core", "train.py"],
    # what scripts call so, too
    ["python3", "train.py", "--rank=1", "--local_rank=0", "--log-dir=out", "--user", "me"],
    ["python3", "train.py", "--nproc-per-nodes=2", "nproc-per-node=2"],
])
def test_an_option_that_is_the_command_s(box, words):
    """The control."""
    assert [code for code, _ in findings(box, *words) if code.startswith("option.")] == []


def test_check_and_status_say_what_is_wrong_with_the_environment(box):
    for words in (["--check"], ["--status"]):
        warned(box.run(*words, env={"RANKINIT_GRACEE": "1"}), "option.twin", "RANKINIT_GRACEE")
        assert box.run(*words).err.count("warning: RANKINIT") == 0
