# SPDX-License-Identifier: Apache-2.0
"""
What torch answers with a bare timeout is refused before the start, with the
variable's name, or put right. What one rank cannot see is not claimed.
"""

import pytest

from box import refused, warned

# Rank 1 of 2, the second of its node or of two nodes.
HERE = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "10.0.0.4", "MASTER_PORT": "29825"}
THERE = {**HERE, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "NODE_RANK": "1"}
MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
       "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
SHOW = ["sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK "
                    "$MASTER_ADDR $MASTER_PORT"]
GOOD = "1 2 1 2 0 10.0.0.4 29825"

REFUSED = {
    "rank past the size": ({"RANK": "2"}, "rank.range", "RANK"),
    "ranks that count from 1": ({"RANK": "2", "LOCAL_RANK": "2"}, "rank.range", "RANK"),
    "local rank past the size": ({"LOCAL_RANK": "2"}, "local_rank.range", "LOCAL_RANK"),
    "rank -1": ({"RANK": "-1"}, "env.value", "RANK"),
    "rank +1": ({"RANK": "+1"}, "env.value", "RANK"),
    "rank in words": ({"RANK": "one"}, "env.value", "RANK"),
    "size 0": ({"WORLD_SIZE": "0"}, "env.value", "WORLD_SIZE"),
    "size -1": ({"WORLD_SIZE": "-1"}, "env.value", "WORLD_SIZE"),
    "local rank -1": ({"LOCAL_RANK": "-1"}, "env.value", "LOCAL_RANK"),
    "empty rank": ({"RANK": ""}, "env.value", "RANK"),
    "empty size": ({"WORLD_SIZE": ""}, "env.value", "WORLD_SIZE"),
}

# Without it ranks on another node have nowhere to go; on one node there is a default.
MASTER = {
    "master as an address of the web": ({"MASTER_ADDR": "http://a"}, "env.value", "MASTER_ADDR"),
    "two masters": ({"MASTER_ADDR": "a b"}, "env.value", "MASTER_ADDR"),
}

REPAIRED = {
    "blank after the rank": ({"RANK": "1 "}, GOOD),
    "blank before the port": ({"MASTER_PORT": " 29825"}, GOOD),
    "blank after the master": ({"MASTER_ADDR": "10.0.0.4 "}, GOOD),
    "port left in the master": ({"MASTER_ADDR": "10.0.0.4:6000"}, GOOD),
    "address of IPv6": ({"MASTER_ADDR": "::1"}, "1 2 1 2 0 ::1 29825"),
    "brackets": ({"MASTER_ADDR": "[fd00::1]"}, "1 2 1 2 0 fd00::1 29825"),
    "brackets and port": ({"MASTER_ADDR": "[fd00::1]:6000"}, "1 2 1 2 0 fd00::1 29825"),
    "empty local size": ({"LOCAL_WORLD_SIZE": "", "NODE_RANK": "0"}, "1 2 1 0 10.0.0.4 29825"),
    "empty node": ({"NODE_RANK": ""}, GOOD),
    "empty port": ({"MASTER_PORT": ""}, "1 2 1 2 0 10.0.0.4 29500"),
    "link to a service named master": ({"MASTER_PORT": "tcp://10.96.0.1:80"},
                                       "1 2 1 2 0 10.0.0.4 29500"),
}


def test_control(box):
    result = box.run("--", *SHOW, env=HERE)
    assert (result.status, result.out.decode().strip()) == (0, GOOD)
    assert result.err == ""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(box, name):
    change, code, subject = REFUSED[name]
    refused(box.run("--", *SHOW, env={**HERE, **change}), 125, code, subject)


@pytest.mark.parametrize("name", MASTER)
def test_master_refused(box, name):
    change, code, subject = MASTER[name]
    env = {**MPI, "MASTER_ADDR": "10.0.0.4", "MASTER_PORT": "29825", **change}
    refused(box.run("--", *SHOW, env=env), 125, code, subject)
    warned(box.run("--", *SHOW, env={**HERE, **change}), "env.ignored", subject)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_a_port_that_is_none_gives_way_to_the_default(box, port):
    result = box.run("--", *SHOW, env={**HERE, "MASTER_PORT": port})
    warned(result, "env.ignored", "MASTER_PORT")
    assert result.out.decode().strip() == GOOD.replace("29825", "29500")


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired(box, name):
    change, shown = REPAIRED[name]
    result = box.run("--", *SHOW, env={**HERE, **change})
    assert (result.status, result.out.decode().split()) == (0, shown.split()), result.err


@pytest.mark.parametrize("name", [name for name in REPAIRED if "MASTER_ADDR" in REPAIRED[name][0]
                                  and name != "address of IPv6"])
def test_a_repair_is_said(box, name):
    warned(box.run("--", *SHOW, env={**HERE, **REPAIRED[name][0]}), "env.repaired", "MASTER_ADDR")


@pytest.mark.parametrize("master", ["localhost", "127.0.0.1", "127.0.1.1", "::1", "0.0.0.0",
                                    "ip6-localhost", "LocalHost"])
def test_master_is_this_machine_and_rank_0_is_not(box, master):
    env = {**THERE, "MASTER_ADDR": master}
    refused(box.run("--", *SHOW, env=env), 125, "master.loopback", "MASTER_ADDR")
    refused(box.run("--", *SHOW, env={**MPI, "MASTER_ADDR": master}), 125, "master.loopback",
            "MASTER_ADDR")


def test_ranks_by_hand_may_share_this_machine(box):
    """CUDA_VISIBLE_DEVICES=1 LOCAL_RANK=0 RANK=1: what each sees is a node of its own."""
    env = {**THERE, "MASTER_ADDR": "localhost"}
    del env["NODE_RANK"]
    result = box.run("--", *SHOW, env=env)
    warned(result, "master.loopback", "MASTER_ADDR")
    assert result.status == 0


@pytest.mark.parametrize("command", [["sh", "-c", "echo ran"], ["torchrun", "t.py"]])
def test_who_says_so_by_hand_may_have_all_nodes_on_one_machine(box, command):
    """Containers that share a network, or a tunnel."""
    options = ["--rank=1", "--world-size=2", "--local-rank=0", "--local-world-size=1",
               "--node-rank=1"]
    action = ["--print-env"] if command[0] == "torchrun" else []
    result = box.run(*action, *options, "--master-addr=localhost", "--", *command)
    warned(result, "master.loopback", "--master-addr")
    assert result.status == 0
    refused(box.run(*action, *options, "--", *command, env={"MASTER_ADDR": "localhost"}), 125,
            "master.loopback", "MASTER_ADDR")


def test_master_may_call_itself_that(box):
    env = {**THERE, "RANK": "0", "NODE_RANK": "0", "MASTER_ADDR": "localhost"}
    result = box.run("--", *SHOW, env=env)
    warned(result, "master.loopback", "MASTER_ADDR")
    assert result.status == 0
    result = box.run("--", *SHOW, env={**HERE, "MASTER_ADDR": "localhost"})
    assert (result.status, result.err) == (0, ""), "on one node it is right"


@pytest.mark.parametrize("master", ["127.example", "localhost.example", "128.0.0.1",
                                    "fe80::1%eth0"])
def test_names_like_it_are_not(box, master):
    result = box.run("--", *SHOW, env={**THERE, "MASTER_ADDR": master})
    assert (result.status, result.err) == (0, "")


def test_no_master_at_all(box):
    """Left to itself it is a warning, since MPI needs none; by name it is refused."""
    warned(box.run("--", *SHOW, env=MPI), "master.absent", "MASTER_ADDR")
    for name in ("torch", "lightning", "deepspeed", "accelerate", "transformers", "composer"):
        refused(box.run(f"--frameworks={name}", "--", *SHOW, env=MPI), 125,
                "framework.incomplete", "MASTER_ADDR")
