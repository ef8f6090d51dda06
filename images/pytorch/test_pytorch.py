# SPDX-License-Identifier: Apache-2.0
"""The PyTorch image: ranks that rankinit or torchrun starts add up over gloo."""

import json

SUM = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.tensor([10 ** dist.get_rank()])
dist.all_reduce(one)
# in one write: ranks may share a pipe
os.write(1, f"{os.environ['RANK']} {os.environ['LOCAL_RANK']} {int(one)}\\n".encode())
dist.destroy_process_group()
"""
SHM = ["--shm-size", "256m"]


def with_script(command):
    return f"cat >/tmp/sum.py <<'END'\n{SUM}\nEND\nexec {command}"


def lines(done):
    return sorted(done.stdout.splitlines())


def test_torch_is_the_one_asked_for(engine):
    done = engine.run("pytorch", "python", "-c",
                      "import torch, sys; print(torch.__version__, sys.prefix)")
    version, prefix = done.stdout.split()
    assert version.split("+")[0] == "2.13.0" and prefix == "/opt/venv"


def test_rankinit_starts_the_ranks(engine):
    done = engine.run("pytorch", "--nproc-per-node=2", "--", "python", "-c", SUM, options=SHM)
    assert lines(done) == ["0 0 11", "1 1 11"]


def test_torchrun_starts_the_ranks(engine):
    done = engine.run("pytorch", "bash", "-c", with_script(
        "rankinit -- torchrun --standalone --nproc-per-node=2 /tmp/sum.py"), options=SHM)
    assert lines(done) == ["0 0 11", "1 1 11"]


def test_two_containers_one_job(engine):
    """Per node: neither rank nor address stands in the command."""
    network = engine.name("network")
    engine.docker("network", "create", network)
    script = with_script("rankinit torchrun --nproc-per-node=1 /tmp/sum.py")
    names = [engine.start("pytorch", "--launch=none", "bash", "-c", script, options=[
        "--network", network, "--hostname", host, "--network-alias", host, *SHM,
        "--env", "AZ_BATCH_HOST_LIST=node-a,node-b", "--env", "AZ_BATCH_MASTER_NODE=node-a:6000",
        "--env", f"AZ_BATCH_IS_CURRENT_NODE_MASTER={'true' if host == 'node-a' else 'false'}"])
             for host in ("node-a", "node-b")]
    assert [engine.wait(name) for name in names] == [0, 0]
    assert [engine.docker("logs", name).stdout for name in names] == ["0 0 11\n", "1 0 11\n"]


def test_the_whole_image_is_owned_by_root(engine):
    """Who trains cannot change what the next container of this image runs."""
    done = engine.run("pytorch", "sh", "-c", "find /opt/venv -writable ! -type l | head -3")
    assert done.stdout == ""


def test_labels(engine):
    labels = json.loads(engine.docker(
        "inspect", "-f", "{{json .Config.Labels}}", engine.tag("pytorch")).stdout)
    assert labels["org.opencontainers.image.title"] == "rankinit-pytorch"
    assert labels["org.opencontainers.image.base.name"] == engine.tag("base")
