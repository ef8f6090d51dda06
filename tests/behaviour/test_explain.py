# SPDX-License-Identifier: Apache-2.0
"""--explain, --root, and facts by hand: what the program itself adds."""

import json
import os
import pty
import re
import socket
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build/rankinit")))

RANK = {"OMPI_COMM_WORLD_RANK": "13", "OMPI_COMM_WORLD_SIZE": "16",
        "OMPI_COMM_WORLD_LOCAL_RANK": "5", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"}
AZURE = {"AZ_BATCH_MASTER_NODE": "10.0.0.4:6000", "AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5"}


def run(*words, env=None, **more):
    return subprocess.run([PROGRAM, *words], env=env or {}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=20, check=False, **more)


def text(*words, env=None, status=0):
    result = run("--explain", *words, env=env)
    assert (result.returncode, result.stderr) == (status, b""), result
    assert max(len(line) for line in result.stdout.decode().split("\n")) < 80
    return result.stdout.decode()


def document(*words, env=None, status=0):
    result = run("--explain=json", *words, env=env)
    assert (result.returncode, result.stderr) == (status, b""), result
    return json.loads(result.stdout)


def printed(*words, env=None):
    result = run("--print-env=json", *words, env=env)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def refused(result, code, subject):
    line = result.stderr.decode()
    assert result.returncode == 125 and result.stdout == b"", result
    assert line.startswith(f"rankinit: error: {subject}: ") and f"[{code}]" in line, line
    return line


def test_runs_nothing(tmp_path):
    made = tmp_path / "made"
    text("--", "/bin/touch", str(made))
    assert not made.exists()
    assert run("--", "/bin/touch", str(made)).returncode == 0 and made.exists()


def test_a_command_is_not_needed():
    assert "no command was given" in text(env=RANK)
    assert document(env=RANK)["ranks"][0]["argv"] == []


def test_document_is_what_a_launch_does():
    env = {**RANK, **AZURE, "RANKINIT_QUIET": "yes", "MASTER_PORT": "6105"}
    told = document("--", "prog", "a b", env=env)
    assert told["schema"] == "rankinit-explain-1" and told["launch"] == "process"
    assert told["identity"] == "openmpi"
    assert told["topology"]["rank"] == {
        "value": 13, "source": "openmpi", "variable": "OMPI_COMM_WORLD_RANK", "raw": "13"}
    rank = told["ranks"][0]
    assert (rank["rank"], rank["local_rank"], rank["argv"]) == (13, 5, ["prog", "a b"])
    assert rank["unset"] == ["RANKINIT_QUIET"]
    edits = printed("--", "prog", env=env)
    assert rank["set"] == {name: value for name, value in edits.items() if value is not None}
    child = run("--", "/usr/bin/env", env=env).stdout.decode()
    for name, value in rank["set"].items():
        assert f"{name}={value}\n" in child
    assert "RANKINIT_QUIET" not in child


@pytest.mark.parametrize("form", ["--explain", "--explain=text"])
def test_other_spellings(form):
    assert run(form, "--", "x", env=RANK).stdout.decode() == text("--", "x", env=RANK)


def test_unknown_form():
    refused(run("--explain=yaml"), "option.value", "--explain")


def test_a_refused_launch_is_explained():
    env = {**RANK, "MASTER_ADDR": "a b"}
    assert run("--", "true", env=env).returncode == 125
    said = text("--", "true", env=env, status=125)
    assert "\n             a b\n              ^\n" in said
    error = document("--", "true", env=env, status=125)["findings"][0]
    assert (error["severity"], error["code"], error["subject"]) == (
        "error", "env.value", "MASTER_ADDR")


def test_a_launch_that_the_command_makes_impossible_is_explained():
    """Who we are does not depend on the refusal, and who could not be made a node is nobody."""
    said = document("--", "torchrun", "t.py", env=RANK, status=125)
    assert said["findings"][0]["code"] == "launch.ranks"
    facts = said["topology"]
    assert {name: facts[name]["value"] for name in ("rank", "node_rank", "nnodes")} == {
        "rank": 13, "node_rank": 1, "nnodes": 2}
    alone = document("--nproc-per-node=2", "--", "true", env={"NNODES": "2"}, status=125)
    assert alone["findings"][0]["code"] == "launch.incomplete"
    assert (alone["identity"], alone["sources"]) == (None, [])


def test_broken_options_are_explained():
    said = document("--grace=1", "x", env={"RANKINIT_EXIT_MAP": "x"}, status=125)
    assert said["findings"][0]["subject"] == "RANKINIT_EXIT_MAP"
    assert "options are wrong" in text("--grace=x", status=125)
    assert document("--user=nobody-of-that-name", "x", env=RANK, status=125)[
        "findings"][0]["code"] == "account.unknown"


def test_status_goes_through_the_exit_map():
    assert run("--exit-map=125:3", "--explain", "--rank=x").returncode == 3


def test_nobody_and_switched_off():
    assert "no orchestrator was found" in text("x")
    assert "RANKINIT_DISABLE is set" in text("x", env={**RANK, "RANKINIT_DISABLE": "1"})
    assert "--source=none" in text("--source=none", "x", env=RANK)


def test_bytes_that_are_not_utf8_are_escaped():
    result = run(b"--explain=json", b"--", b"a\xff\\", env=RANK)
    told = json.loads(result.stdout)
    assert told["ranks"][0]["argv"] == ["a\\xff\\\\"]
    assert told["findings"][-1]["code"] == "output.escaped"


def test_no_control_character_reaches_the_terminal():
    env = {**RANK, "MASTER_ADDR": "\033]0;x\007", "RANK": "\033[2J"}
    assert re.search("[\0-\x09\x0b-\x1f\x7f]", text("--", "\033c", env=env, status=125)) is None


def on_terminal(*words, env):
    """What is written to a terminal that stdout alone is."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reader:
        child = subprocess.Popen([PROGRAM, *words], env=env, stdin=subprocess.DEVNULL,
                                 stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        output = b""
        try:
            while block := reader.read(4096):
                output += block
        except OSError:     # how a terminal ends on Linux
            pass
        child.wait(timeout=20)
    return output


def test_colour_is_for_terminals():
    plain = run("--explain", env=RANK).stdout
    assert b"\033[" not in plain
    assert b"\033[1m" in on_terminal("--explain", env=RANK)
    assert b"\033[" not in on_terminal("--explain", env={**RANK, "NO_COLOR": "1"})
    force = {**RANK, "CLICOLOR_FORCE": "1"}
    assert b"\033[1m" in run("--explain", env=force).stdout
    assert b"\033[" not in run("--explain", env={**force, "NO_COLOR": "1"}).stdout
    assert b"\033[" not in run("--explain", env={**RANK, "CLICOLOR_FORCE": "0"}).stdout
    assert b"\033[" not in run("--explain=json", env=force).stdout


def test_a_full_stdout_is_an_error():
    with open("/dev/full", "wb") as full:
        result = subprocess.run([PROGRAM, "--explain"], env={}, stdout=full, check=False,
                                stderr=subprocess.PIPE)
    assert result.returncode == 125 and b"[output]" in result.stderr


FACTS = {"rank": ("3", "RANK"), "world-size": ("32", "WORLD_SIZE"),
         "local-rank": ("3", "LOCAL_RANK"), "local-world-size": ("6", "LOCAL_WORLD_SIZE"),
         "node-rank": ("0", "NODE_RANK"), "master-addr": ("there", "MASTER_ADDR"),
         "master-port": ("7777", "MASTER_PORT")}


@pytest.mark.parametrize("name", FACTS)
def test_facts_by_hand(name):
    value, variable = FACTS[name]
    twin = "RANKINIT_" + name.upper().replace("-", "_")
    env = {**RANK, "MASTER_ADDR": "m"}
    assert printed("x", env=env).get(variable) != value
    assert printed(f"--{name}={value}", "x", env=env)[variable] == value
    by_twin = printed("x", env={**env, twin: value})
    assert by_twin[variable] == value and by_twin[twin] is None
    assert printed(f"--{name}={value}", "x", env={**env, twin: "1"})[variable] == value
    fact = document("x", env={**env, twin: value})["topology"][name.replace("-", "_")]
    assert (fact["source"], fact["variable"], fact["raw"]) == ("manual", twin, value)
    line = refused(run("--", "true", env={**env, twin: "a b!"}), "option.value", twin)
    assert '"a b!"' in line and "expected" in line


def test_nnodes_by_hand():
    topology = document("--nnodes=3", "x", env=RANK)["topology"]
    assert topology["nnodes"]["value"] == 3 and topology["nnodes"]["variable"] == "--nnodes"


def test_hosts_give_this_node_its_place():
    name = socket.gethostname()
    topology = document(f"--hosts=first.invalid,{name}", "x", env=RANK)["topology"]
    assert topology["node_rank"]["value"] == 1
    assert topology["node_rank"]["variable"] == "--hosts"
    assert topology["master_addr"]["value"] == "first.invalid"


def test_hostfile(tmp_path):
    path = tmp_path / "hosts"
    path.write_text(f"# two\nfirst.invalid slots=8\n{socket.gethostname()} slots=8\n")
    topology = document(f"--hostfile={path}", "x", env=RANK)["topology"]
    assert topology["hosts"]["value"] == ["first.invalid", socket.gethostname()]
    assert topology["node_rank"]["value"] == 1
    # relative to where the user stands
    result = run("--print-env=json", "--hostfile=hosts", "x", env=RANK, cwd=tmp_path)
    assert json.loads(result.stdout)["MASTER_ADDR"] == "first.invalid"


def test_hostfile_that_cannot_be_used(tmp_path):
    path = tmp_path / "hosts"
    refused(run(f"--hostfile={path}", "--", "true", env=RANK), "file.unreadable", path)
    path.write_text("good\nbad!\n")
    line = refused(run(f"--hostfile={path}", "--", "true", env=RANK), "file.syntax", path)
    assert "line 2" in line
    refused(run(f"--hostfile={path}", "--hosts=a", "--", "true", env=RANK),
            "option.conflict", "--hostfile")


@pytest.mark.parametrize("option, wrong, right", [
    ("source", "openmp", "openmpi"), ("source", "azure_bach", "azure_batch"),
    ("source", "non", "none"), ("frameworks", "toch", "torch"),
    ("frameworks", "torch,trch", "torch")])
def test_unknown_names(option, wrong, right):
    line = refused(run(f"--{option}={wrong}", "--", "true"), "option.value", f"--{option}")
    assert f"did you mean {right}?" in line


def test_source_that_is_not_there():
    refused(run("--source=openmpi", "--", "true"), "source.absent", "--source")
    refused(run("--", "true", env={"RANKINIT_SOURCE": "openmpi"}), "source.absent",
            "RANKINIT_SOURCE")


def test_source_none_is_a_plain_init():
    env = {**RANK, "MASTER_ADDR": "a b"}
    assert run("--", "true", env=env).returncode == 125
    assert printed("--source=none", "x", env=env) == {}


def recorded(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("recorded-2\n")
    (tmp_path / "etc/passwd").write_text("trainer:x:7:7::/:/bin/sh\n")
    (tmp_path / "etc/group").write_text("trainer:x:7:\n")
    (tmp_path / "hosts").write_text("recorded-1\nrecorded-2\n")
    return f"--root={tmp_path}"


def test_root_is_where_files_are_read(tmp_path):
    root = recorded(tmp_path)
    topology = document(root, "--hostfile=/hosts", "--user=trainer", "x", env=RANK)["topology"]
    assert topology["node_rank"]["value"] == 1
    assert printed(root, "--hostfile=hosts", "x", env=RANK)["MASTER_ADDR"] == "recorded-1"
    # not those of this machine
    assert document(root, "--user=daemon", "x", env=RANK, status=125)[
        "findings"][0]["code"] == "account.unknown"
    assert document("--user=daemon", "x", env=RANK)["findings"] != []


def test_root_has_no_launch(tmp_path):
    refused(run(recorded(tmp_path), "--", "true"), "option.conflict", "--root")
    refused(run("--", "true", env={"RANKINIT_ROOT": str(tmp_path)}), "option.conflict",
            "RANKINIT_ROOT")
    missing = str(tmp_path / "missing")
    assert document(f"--root={missing}", "x", status=125)["findings"][0]["subject"] == missing


# Secrets of the command.

SECRET = "hf_abcSECRET123"
COMMANDS = [
    ["python", f"--hf-token={SECRET}", "--lr=0.1"],
    ["python", "--hf-token", SECRET, "--lr=0.1"],
    ["env", f"HF_TOKEN={SECRET} x{SECRET}", "python", "--lr=0.1"],
    ["mpirun", "-x", f"MY_SAS={SECRET}", "python", "--lr=0.1"],
    ["sh", "-c", f"export DB_PASSWORD={SECRET}; python --lr=0.1"],
    ["curl", "-H", f"Authorization: Bearer {SECRET}", f"https://me:{SECRET}@host/", "--lr=0.1"],
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", [[], ["--nproc-per-node=2"]])
def test_secrets_of_the_command(box, command, options):
    """What is pasted into a bug report; the command itself gets its words as they are."""
    for how in ("--explain", "--explain=json"):
        result = box.run(how, *options, "--", *command)
        assert SECRET not in result.out.decode() + result.err
        assert b"***" in result.out
        assert b"--lr=0.1" in result.out or command[0] == "sh", "the control"
    words = ["python3", "-c", "import sys; print(sys.argv[1:])", *command]
    result = box.run(*options, "--", *words)
    assert str(command) in result.out.decode()


@pytest.mark.parametrize("options", [
    ["--nnodes=2", "--node-rank=1", "--master-addr=n0"], ["--simulate=sagemaker:2x1"]])
def test_the_secret_of_the_link(box, options):
    for how in ("--explain", "--explain=json", "--print-env"):
        result = box.run(*options, how, "--link", "--", "python3", "t.py",
                         env={"RANKINIT_LINK_KEY": SECRET + "d08fbc5a150028b59a73c7852451d26f"})
        assert SECRET not in result.out.decode() + result.err
        if how == "--explain":
            assert re.search(rb"- RANKINIT_LINK_KEY +\*\*\*", result.out), result.out


@pytest.mark.parametrize("index, end", [(0, "}"), (9, "}"), (0, "")])
def test_secrets_in_a_variable_that_is_read(box, tmp_path, index, end):
    """Where it says who we are, where it is wrong, and where it is not used."""
    value = json.dumps({"cluster": {"worker": ["w-0:1", "w-1:1"]}, "token": SECRET,
                        "task": {"type": "worker", "index": index}, "api_key": SECRET})[:-1] + end
    env = {"TF_CONFIG": value, "MASTER_ADDR": f"https://me:{SECRET}@w-0"}
    report, state = tmp_path / "report.json", tmp_path / "state.json"
    said = ""
    for words in (["--explain"], ["--explain=json"], [f"--report={report}", f"--state={state}"]):
        result = box.run(*words, "--", "sh", "-c", f"cat {state}", env=env)
        said += result.out.decode() + result.err
    said += report.read_text() if report.exists() else ""
    assert SECRET not in said
    assert "TF_CONFIG" in said and "*" * len(SECRET) in said
    # the command itself gets it as it is
    assert SECRET in box.run("--source=none", "--", "env", env=env).out.decode()


def test_secrets_of_a_variable_that_is_changed(box):
    rank = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "RANK":
            f"token={SECRET}", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    for how in ("--explain", "--explain=json"):
        result = box.run(how, "--", "python3", "t.py", env=rank)
        assert SECRET not in result.out.decode() + result.err and b"RANK" in result.out


TOKEN = "hf_" + "aB3dE5gH7jK9" * 3


@pytest.mark.parametrize("secret", [TOKEN, f"token={SECRET}", f"https://me:{SECRET}@x"])
def test_secrets_where_a_number_was_expected(box, secret):
    ranks = {"WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    for words, env in ((["--explain"], {"RANK": secret}), (["--explain=json"], {"RANK": secret}),
                       ([], {"RANK": secret}), ([], {"RANKINIT_GRACE": secret}),
                       ([f"--grace={secret}"], {})):
        result = box.run(*words, "--", "python3", "t.py", env=ranks | env)
        said = result.out.decode() + result.err
        assert "expected" in said and SECRET not in said and TOKEN not in said, said


def test_words_that_only_look_like_secrets(box):
    words = ["python", "--tokenizer", "gpt2", "--max-tokens=4096", "--token", "None",
             "--tokenizer-path=a/b", "--sort-key", "name"]
    for more, shown in ([], []), (["--token", SECRET], ["--token", "***"]):
        result = box.run("--explain=json", "--", *words, *more)
        assert json.loads(result.out)["ranks"][0]["argv"] == [*words, *shown]


def test_secrets_in_what_is_said_about_words(box):
    word, ranks = f"HF_TOKEN={SECRET}", {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    for words, env in ((["--status", word, "python"], {}),
                       (["--explain", "--", word, "python", "--nproc-per-node=2"], {}),
                       (["-v", "--", "sh", word], ranks)):
        result = box.run(*words, env=env)
        said = result.out.decode() + "".join(result.lines())
        assert said and SECRET not in said, said
    # the controls
    assert "write --status=HF_HOME=a" in box.run("--status", "HF_HOME=a").err
    result = box.run("--explain", "--", "a", "python", "--nproc-per-node=2")
    assert b"N|gpu|cpu|auto -- a" in b" ".join(result.out.split()), result.out


def test_secrets_where_a_command_cannot_be_started(box):
    """No shell is there that would take the assignment."""
    for word in (f"HF_TOKEN={SECRET}", f"HF_TOKEN=a/{SECRET}"):
        for options in ([], ["--supervise=never"], ["--report=/dev/stdout"],
                        ["--nproc-per-node=2", "--report=/dev/stdout"]):
            result = box.run(*options, "--", word, "python")
            assert result.status == 127 and SECRET not in result.out.decode() + result.err
            assert "error: HF_TOKEN=***: there is no such command" in result.err
    result = box.run(f"--hf-token={SECRET}", "--", "true")
    assert result.status == 125 and SECRET not in result.err and "--hf-token=***" in result.err
    for word in (f"HF_TOKEN={SECRET} python", f"--hf-token={SECRET} x", f"a --hf-token {SECRET}",
                 f"HF_TOKEN={SECRET}; python"):
        result = box.run("--", word)
        assert result.status == 127 and SECRET not in result.err, result.err
        assert "-- " + word.replace(SECRET, "***") in result.err or "sh -c" in result.err
    # the control
    assert "-- HF_HOME=a python; in a list" in box.run("--", "HF_HOME=a python").err
    assert "HF_HOME=a: there is no" in box.run("--", "HF_HOME=a").err
