# SPDX-License-Identifier: Apache-2.0
"""--launch and --expand as options: what each mode makes of one environment."""

import json
import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKINIT = os.environ.get("RANKINIT", os.path.join(TOP, "build", "rankinit"))

# Rank 1 of 2, one on each node.
NODE = {"PATH": os.environ["PATH"], "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000",
        "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
DUMP = ["sh", "-c", "env; echo PARENT=$PPID"]


def run(*words, **env):
    return subprocess.run([RANKINIT, *words], env={**NODE, **env}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=20, check=False)


def environment(*options, **env):
    result = run(*options, "--", *DUMP, **env)
    assert result.returncode == 0, result.stderr
    return dict(line.split("=", 1) for line in result.stdout.splitlines())


def mark(found):
    return found.get("RANKINIT", ":nothing").split(":")[1]


@pytest.mark.parametrize("mode, has, lacks", [
    ("auto", {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK"}, {"PET_NNODES", "NNODES"}),
    ("process", {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK"}, {"PET_NNODES", "NNODES"}),
    ("node", {"NODE_RANK", "NNODES", "PET_NNODES"},
     {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK"}),
    ("none", {"OMPI_COMM_WORLD_RANK"}, {"RANK", "NODE_RANK", "MASTER_ADDR", "PET_NNODES"}),
])
def test_a_mode_writes_what_it_should(mode, has, lacks):
    found = environment(f"--launch={mode}")
    assert has <= set(found) and not lacks & set(found), found
    assert mark(found) == {"auto": "process", "none": "nothing"}.get(mode, mode)


def test_twin_is_read_and_taken_out():
    found = environment(RANKINIT_LAUNCH="node", RANKINIT_EXPAND="off")
    assert mark(found) == "node"
    assert not {"RANKINIT_LAUNCH", "RANKINIT_EXPAND"} & set(found)
    assert not {"RANKINIT_LAUNCH"} & set(environment(RANKINIT_LAUNCH="none"))


def test_command_line_wins_over_twin():
    assert mark(environment("--launch=process", RANKINIT_LAUNCH="node")) == "process"


@pytest.mark.parametrize("words, subject", [
    (["--launch=torchrun"], "--launch"),
    (["--launch=nodes"], "--launch"), (["--launch="], "--launch"), (["--launch"], "--launch"),
    (["--expand=yes"], "--expand"), (["--expand=AUTO"], "--expand"),
])
def test_bad_values_are_refused(words, subject):
    result = run(*words, "--", "true")
    assert result.returncode == 125 and subject in result.stderr
    assert "[option." in result.stderr


def test_broken_metadata_is_none_of_a_whole_jobs_business():
    assert run("--", "true", OMPI_COMM_WORLD_RANK="x").returncode == 125
    result = run("--launch=none", "--", "true", OMPI_COMM_WORLD_RANK="x")
    assert (result.returncode, result.stderr) == (0, "")


def test_disabled_is_no_mode_at_all():
    found = environment("--launch=node", RANKINIT_DISABLE="1")
    assert set(NODE) <= set(found) and "PET_NNODES" not in found and "RANKINIT" not in found
    assert run("--", "echo", "$OMPI_COMM_WORLD_RANK", "$RANK", RANKINIT_DISABLE="1").stdout == \
        "$OMPI_COMM_WORLD_RANK $RANK\n"


def test_only_a_whole_job_is_watched_over_here():
    """mpirun owns a rank and a node's launcher; who starts the job has nobody."""
    me = str(os.getpid())
    assert environment("--launch=process")["PARENT"] == me
    assert environment("--launch=node")["PARENT"] == me
    assert environment("--launch=none")["PARENT"] != me


@pytest.mark.parametrize("options, said", [
    ([], "1 --rank=1 x$RANK $NNODES $HOME"),
    (["--expand=auto"], "1 --rank=1 x$RANK $NNODES $HOME"),
    (["--expand=all"], "1 --rank=1 x1 $NNODES $HOME"),
    (["--expand=off"], "$RANK --rank=${RANK} x$RANK $NNODES $HOME"),
    (["--launch=node"], "$RANK --rank=${RANK} x$RANK 2 $HOME"),
    (["--launch=none"], "$RANK --rank=${RANK} x$RANK $NNODES $HOME"),
])
def test_expansion(options, said):
    result = run(*options, "--", "echo", "$RANK", "--rank=${RANK}", "x$RANK", "$NNODES", "$HOME",
                 HOME="/root")
    assert result.stdout == said + "\n", result.stderr


@pytest.mark.parametrize("name, words", [("vllm", ["serve", "m"]), ("sglang", ["serve"])])
def test_a_server_of_several_nodes_gets_its_place(tmp_path, name, words):
    """The pod of a LeaderWorkerSet; vllm and sglang read no variables for it."""
    server = tmp_path / name
    server.write_text("#!/bin/sh\necho \"$@\"\n")
    server.chmod(0o755)
    pod = {"PATH": os.environ["PATH"], "LWS_LEADER_ADDRESS": "v-0.v", "LWS_GROUP_SIZE": "2",
           "LWS_WORKER_INDEX": "1"}
    asked = ["--nnodes", "$NNODES", "--node-rank", "$NODE_RANK", "--dist-init-addr=$MASTER_ADDR"]
    result = subprocess.run([RANKINIT, "--", str(server), *words, *asked], env=pod,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                            check=False)
    assert result.stdout.split() == [*words, "--nnodes", "2", "--node-rank", "1",
                                     "--dist-init-addr=v-0.v"], result.stderr


def test_a_value_that_was_there_already_is_expanded_too():
    assert run("--", "echo", "$RANK", "$MASTER_PORT", RANK="1", MASTER_PORT="7").stdout == "1 7\n"


def test_print_env_shows_what_goes():
    found = json.loads(run("--print-env=json", "--", "torchrun", LOCAL_RANK="0").stdout)
    assert found["LOCAL_RANK"] is None and found["PET_NODE_RANK"] == "1"
    assert json.loads(run("--print-env=json", "--", "mpirun", LOCAL_RANK="0").stdout) == {}
    assert "LOCAL_RANK" not in json.loads(run("--print-env=json", LOCAL_RANK="0").stdout)
