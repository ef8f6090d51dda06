# SPDX-License-Identifier: Apache-2.0
"""
The CUDA image on a stand-in for NVIDIA's, which only a registry has: what is
proved is the chain of entry points, and that the base's content stands on it.
"""

import json

COMM = "cat /proc/1/comm"


def test_rankinit_is_process_1_behind_the_entry_point_of_the_base(engine):
    done = engine.run("cuda", "sh", "-c", COMM + "; id -u")
    assert done.stdout.split("\n")[0].startswith("stand-in:")
    assert done.stdout.split()[-2:] == ["rankinit", "1000"]


def test_without_rankinit_the_command_is_process_1(engine):
    """The control: what the base alone makes of the same command."""
    done = engine.run("stand-in", "sh", "-c", COMM)
    assert done.stdout.split()[-1] == "sh"


def test_what_was_detected_comes_through_the_chain(engine):
    done = engine.run("cuda", "sh", "-c", "echo $RANK/$WORLD_SIZE $CUDA_VERSION", options=[
        "--env", "RANKINIT_RANK=1", "--env", "RANKINIT_WORLD_SIZE=2",
        "--env", "RANKINIT_LOCAL_RANK=0", "--env", "RANKINIT_LOCAL_WORLD_SIZE=1",
        "--env", "RANKINIT_MASTER_ADDR=node-a"])
    assert done.stdout.splitlines()[-1] == "1/2 12.8.0"


def test_the_stop_goes_through_the_chain(engine):
    name = engine.start("cuda", "sh", "-c", "trap 'exit 7' TERM; echo up; sleep 60 & wait")
    engine.until(lambda: "up" in engine.docker("logs", name).stdout)
    engine.docker("stop", "-t", "30", name)
    assert engine.wait(name) == 7


def test_the_base_keeps_its_variables_and_labels(engine):
    text = engine.docker("inspect", "-f", "{{json .Config}}", engine.tag("cuda")).stdout
    config = json.loads(text)
    assert "NVIDIA_VISIBLE_DEVICES=all" in config["Env"]
    assert config["Labels"]["com.nvidia.cuda.version"] == "12.8.0"
    assert config["Labels"]["org.opencontainers.image.title"] == "rankinit-cuda"
    assert config["StopSignal"] == "SIGTERM"


def test_a_base_that_does_not_exec_is_refused(engine):
    """An entry point that starts a shell instead would take the place of PID 1."""
    words, env = engine.build_command("cuda", {"BASE_IMAGE": engine.tag("root")})
    done = engine.docker(*words[1:], check=False, env=env)
    assert done.returncode != 0 and "/opt/nvidia/nvidia_entrypoint.sh" in done.stdout + done.stderr
