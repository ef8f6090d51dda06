# SPDX-License-Identifier: Apache-2.0
"""Words that look like rankinit's own where they are the command's."""

import json
import os

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
    (["--explain", "text", "python3", "t.py"], "write --explain=text"),
    (["--print-env", "dotenv"], "write --print-env=dotenv"),
    (["--status", "/run/job.state"], "write --status=/run/job.state"),
])
def test_the_value_of_an_action_stands_apart(box, words, hint):
    result = box.run(*words)
    assert result.status in (0, 1)
    if words[0] != "--explain":
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


# Any of them may have an option of that name, too.
SHAPES = {
    "python": ["python3", "-u", "train.py"], "module": ["python3", "-m", "pkg.train"],
    "launcher": ["torchrun", "train.py"], "shell": ["sh", "run.sh"],
    "a line of a shell": ["sh", "-c", 'torchrun "$@" train.py', "sh"], "program": ["true"],
}


@pytest.mark.parametrize("option", ["--nproc-per-node=2", "--nproc_per_node", "--log-prefix",
                                    "--gpu-bind=single", "--link-key=f"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_option_behind_the_command(box, option, shape):
    """What its program makes of it is unknown: it is said with -v."""
    words, name = SHAPES[shape], option.partition("=")[0].replace("_", "-")
    found = findings(box, *words, option, "2")
    assert list(found) == [("option.behind", name)]
    one = found["option.behind", name]
    assert one["severity"] == "note" and f"before the command: rankinit {name}" in one["hint"]
    assert one["hint"].endswith(f" -- {words[0]}")


def test_a_note_changes_nothing(box, tmp_path):
    (tmp_path / "run.sh").write_text('for word; do echo "$word"; done; exit 7\n')
    words = ["sh", "run.sh", "--nproc-per-node=2", "--", "--log-prefix"]
    result = box.run("-v", *words, cwd=str(tmp_path))
    assert (result.status, result.out.decode().split()) == (7, words[2:])
    assert result.err.count("[option.behind]") == 1
    assert "option.behind" not in box.run(*words, cwd=str(tmp_path)).err
    # of several ranks the first one says it
    rank = {f"OMPI_COMM_WORLD_{name}": "1" for name in ("RANK", "LOCAL_RANK")}
    size = {f"OMPI_COMM_WORLD_{name}": "2" for name in ("SIZE", "LOCAL_SIZE")}
    for local_rank in "01":
        env = {**rank, **size, "OMPI_COMM_WORLD_LOCAL_RANK": local_rank, "MASTER_ADDR": "a"}
        said = box.run("-v", "--", *words, cwd=str(tmp_path), env=env).err
        assert said.count("[option.behind]") == (local_rank == "0")


@pytest.mark.parametrize("words, warns", [
    (["sh", "run.sh", "--nproc-per-node=2"], True), (["sh", "run.sh", "--epochs=2"], False),
    (["-q", "sh", "run.sh", "--nproc-per-node=2"], False)])
def test_who_types_an_option_behind_the_command_is_warned(box, tmp_path, words, warns):
    (tmp_path / "run.sh").write_text("exit 0\n")
    master, slave = os.openpty()
    try:
        result = box.run(*words, cwd=str(tmp_path), stderr=slave)
        os.write(slave, b"end")
        said = os.read(master, 4096).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert result.status == 0
    assert ("--nproc-per-node: stands after the command" in said) == warns, said
    assert ("put it before the command: rankinit --nproc-per-node=" in said) == warns, said


@pytest.mark.parametrize("words, name, variable", [
    (["--local_rank="], "--local_rank", "LOCAL_RANK"), (["--rank", ""], "--rank", "RANK"),
    (["--epochs=", "--node-rank="], "--node-rank", "NODE_RANK"),
    (["--master_addr", "", "--master_port", ""], "--master_addr", "MASTER_ADDR"),
])
@pytest.mark.parametrize("command", [["python3", "train.py"], ["torchrun"], ["true"]])
def test_a_variable_that_the_shell_has_not(box, words, name, variable, command):
    one = findings(box, *command, *words)["command.empty", name]
    assert one["severity"] == "warning"
    assert one["hint"].endswith(f"write '{name}=${variable}', in single quotes")
    result = box.run("--nproc-per-node=1", "--", "sh", "-c", 'echo "$@"', "sh",
                     f"{name}=${variable}")
    assert "command.empty" not in result.err, "the control: the hint is true"
    assert b"$" not in result.out


@pytest.mark.parametrize("words", [
    ["python3", "t.py", "--local_rank=0"], ["python3", "t.py", "--local_rank"],
    ["python3", "t.py", "--ranks="], ["python3", "t.py", "--rank", "--x="],
    ["mpirun", "t.py", "--rank="], ["rankinit", "--rank="], ["python3", "t.py", "--name", ""],
])
def test_an_argument_that_is_not_empty_or_none_of_the_job(box, words):
    """The control."""
    assert [code for code, _ in findings(box, *words) if code == "command.empty"] == []


@pytest.mark.parametrize("words", [
    ["torchrun", "--nproc-per-node=2", "train.py"],
    ["python3", "-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py"],
    ["--nproc-per-node=2", "--", "python3", "train.py"],
    ["rankinit", "--nproc-per-node=2", "train.py"],
    ["/usr/bin/rankinit", "--log-prefix", "train.py"],
    ["mpirun", "-np", "2", "--bind-to", "core", "train.py"],
    # what scripts call so, too
    ["python3", "train.py", "--rank=1", "--local_rank=0", "--log-file=out", "--user", "me"],
    ["python3", "train.py", "--nproc-per-nodes=2", "nproc-per-node=2"],
])
def test_an_option_that_is_the_command_s(box, words):
    """The control."""
    assert [code for code, _ in findings(box, *words) if code.startswith("option.")] == []


def test_check_and_status_say_what_is_wrong_with_the_environment(box):
    for words in (["--check"], ["--status"]):
        warned(box.run(*words, env={"RANKINIT_GRACEE": "1"}), "option.twin", "RANKINIT_GRACEE")
        assert box.run(*words).err.count("warning: RANKINIT") == 0


# What was meant by a word that is none of ours, or by a value.

@pytest.mark.parametrize("words", [["-n", "2"], ["-np", "2"], ["--nprocs", "2"]])
def test_a_count_in_a_word_of_its_own(box, words):
    error = refused(box.run(*words, "true"), 125, "option.unknown", words[0])
    assert "to start 2 ranks on this node: --nproc-per-node=2; " in error
    # the control: the hint is true
    assert box.run("--nproc-per-node=2", "echo", "ran").out == b"ran\n" * 2


@pytest.mark.parametrize("option", ["--grace", "--wait-master", "--stall", "RANKINIT_GRACE"])
@pytest.mark.parametrize("value, seconds", [
    ("5m", "300"), ("5min", "300"), ("2h", "7200"), ("1d", "86400"), ("30s", "30"),
    ("10sec", "10"), ("0m", "0"),
])
def test_seconds_with_a_unit(box, option, value, seconds):
    words, env = ([f"{option}={value}"], {}) if option[0] == "-" else ([], {option: value})
    error = refused(box.run(*words, "--", "true", env=env), 125, "option.value", option)
    assert f"; write {seconds}: seconds stand without a unit [" in error
    # the control: so it is accepted
    words, env = ([f"{option}={seconds}"], {}) if option[0] == "-" else ([], {option: seconds})
    assert box.run(*words, "--", "true", env=env).status == 0


@pytest.mark.parametrize("value", ["5x", "m", "25h", "2d", "5m5s", "5 m", "m5", "-5m",
                                   "99999999999999999999m"])
def test_seconds_with_no_unit_that_is_one(box, value):
    error = refused(box.run(f"--grace={value}", "--", "true"), 125, "option.value", "--grace")
    assert "expected seconds from 0 to 86400, like 25 or 2.5 [" in error


@pytest.mark.parametrize("words", [["--node-rank="], ["--node-rank", ""]])
def test_a_value_that_was_a_variable_that_is_not_set(box, words):
    error = refused(box.run(*words, "--", "true"), 125, "option.missing", "--node-rank")
    assert ("its value is empty; if a variable stood there, as in --node-rank=$NAME, it is not "
            "set; set it, write --node-rank=N, or leave the option out [") in error
    # the control: there is no value
    error = refused(box.run("--node-rank"), 125, "option.missing", "--node-rank")
    assert "needs a value; write --node-rank=N [" in error


@pytest.mark.parametrize("value, mode", [("torchrun", "node"), ("mpirun", "none")])
def test_a_launcher_is_no_launch_mode(box, value, mode):
    error = refused(box.run(f"--launch={value}", "--", "true"), 125, "option.value", "--launch")
    assert f"rankinit knows {value} by its name; for a script that starts it, " \
        f"--launch={mode} [" in error
    # the control: no launcher has this name
    other = refused(box.run("--launch=trainer", "--", "true"), 125, "option.value", "--launch")
    assert "by its name" not in other


NODES = ["--nnodes=2", "--node-rank=0", "--master-addr=node0"]
KEY = {"RANKINIT_LINK_KEY": "Vq3xT9zLr8Wn2bKc7Jd5Hf1Gs6Ym4Pa0"}


@pytest.mark.parametrize("words, env, subject", [
    (NODES, KEY, "RANKINIT_LINK_KEY"), (["--link-key=/no-key"], {}, "--link-key")])
def test_a_key_without_a_link(box, words, env, subject):
    result = box.run(*words, "--", "true", env=env)
    assert result.status == 0
    assert "add --link, or set RANKINIT_LINK=1, on every node" in \
        warned(result, "link.off", subject)
    # somebody wants it so
    assert "link.off" not in box.run(*words, "--link=no", "--", "true", env=env).err


def test_a_key_of_a_fleet(box):
    """The control: one node has no others, and says so to who asks alone."""
    assert box.run("--", "true", env=KEY).err == ""
    assert "[link.off]" in box.run("-v", "--", "true", env=KEY).err


# What rankinit had, a value of it, and what says the same.
GONE = [
    ("dry_run", "json", "--explain does it"),
    ("deep", "yes", "--expect=deep does it, --require=deep also refuses a node with a problem"),
    ("azure_size", "Standard_ND40rs_v2", "--expect=azure=SIZE does it, --require=azure=SIZE "
     "refuses a node that has less"),
    ("check_level", "gpu.count=off", "ID=off is --checks=default,^ID, ID=warn is --expect=ID, "
     "ID=fail is --require=ID"),
    ("log_dir", "/x", "--log-file=DIR/rank_%r.log does it"),
]


@pytest.mark.parametrize("symbol, value, hint", GONE)
def test_an_option_that_has_gone_names_its_successor(box, symbol, value, hint):
    name, twin = "--" + symbol.replace("_", "-"), "RANKINIT_" + symbol.upper()
    for word in name, f"{name}={value}", f"--{symbol}={value}":
        error = refused(box.run(word, "--", "true"), 125, "option.unknown", word.partition("=")[0])
        assert error.endswith(f"is not an option of rankinit; {hint} [option.unknown]")
    result = box.run("--", "sh", "-c", "echo ran", env={twin: value})
    assert (result.status, result.out) == (0, b"ran\n")
    assert hint in warned(result, "option.twin", twin)
