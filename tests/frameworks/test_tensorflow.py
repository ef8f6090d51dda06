# SPDX-License-Identifier: Apache-2.0
"""TF_CONFIG as tf.distribute's own resolver reads it."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import PROGRAM, SECONDS, clean_env

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import cases  # noqa: E402  pylint: disable=wrong-import-position

# One process for all of them, since it takes seconds to import TensorFlow.
READER = """
import json, os, sys
import tensorflow as tf
from tensorflow.python.distribute import multi_worker_util as util

def read(config):
    os.environ["TF_CONFIG"] = config
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    spec, kind, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    if spec.as_dict():
        util._validate_cluster_spec(spec, kind, index)
        if kind != "evaluator":
            spec.task_address(kind, index)
    return {"cluster": spec.as_dict(), "type": kind, "index": index,
            "address": spec.task_address(kind, index) if kind in spec.jobs else None,
            "chief": kind in ("chief", "worker") and util.is_chief(spec, kind, index)}

def answer(config):
    try:
        return read(config)
    except Exception as error:
        return {"error": str(error)}

json.dump([answer(config) for config in json.load(sys.stdin)], sys.stdout)
"""


def as_tensorflow_reads(python, configs):
    done = subprocess.run([python, "-c", READER], input=json.dumps(configs), text=True,
                          env=clean_env(TF_CPP_MIN_LOG_LEVEL="3"), capture_output=True,
                          timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def config_of(*options, **env):
    done = subprocess.run([PROGRAM, "--print-env=json", *options], env=clean_env(**env),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["TF_CONFIG"]


def ranks(nodes, local, *options):
    """TF_CONFIG of every rank, as its own rankinit makes it."""
    hosts = ",".join(f"host{node}" for node in range(nodes))
    return [config_of(f"--rank={rank}", f"--world-size={nodes * local}",
                      f"--local-rank={rank % local}", f"--local-world-size={local}",
                      f"--node-rank={rank // local}", f"--hosts={hosts}", *options)
            for rank in range(nodes * local)]


def check(answers, nodes, local, jobs):
    """All see one cluster, and each a task of its own at its own address."""
    addresses = [f"host{node}:{2222 + place}" for node in range(nodes) for place in range(local)]
    assert [answer.get("error") for answer in answers] == [None] * len(answers)
    assert all(answer["cluster"] == answers[0]["cluster"] for answer in answers)
    assert [answer["address"] for answer in answers] == addresses
    assert [answer["type"] for answer in answers] == jobs
    assert [answer["index"] for answer in answers] == [
        jobs[:place].count(job) for place, job in enumerate(jobs)]
    assert [answer["chief"] for answer in answers] == [True] + [False] * (len(answers) - 1)


def test_four_nodes_of_eight(python_with):
    python = python_with("tensorflow")
    answers = as_tensorflow_reads(python, ranks(4, 8, "--frameworks=tensorflow"))
    check(answers, 4, 8, ["worker"] * 32)


def test_chief_and_parameter_servers(python_with):
    python = python_with("tensorflow")
    answers = as_tensorflow_reads(python, ranks(4, 2, "--tf-ps=1"))
    check(answers, 4, 2, ["chief"] + ["worker"] * 5 + ["ps"] * 2)


def test_one_task_on_each_node(python_with):
    python = python_with("tensorflow")
    configs = [config_of(f"--node-rank={node}", "--hosts=host0,host1,host2",
                         "--frameworks=tensorflow") for node in range(3)]
    check(as_tensorflow_reads(python, configs), 3, 1, ["worker"] * 3)


def golden_configs(prefix):
    for case in cases.load("tensorflow"):
        for line in case.env:
            if case.name.startswith(f"tensorflow/{prefix}-") and line.startswith("TF_CONFIG="):
                yield case.name, line.partition("=")[2]


@pytest.mark.parametrize("prefix, refused", [("hostile", True), ("given", False)])
def test_what_is_refused_is_what_tensorflow_refuses(python_with, prefix, refused):
    python = python_with("tensorflow")
    names, configs = zip(*golden_configs(prefix))
    answers = as_tensorflow_reads(python, configs)
    wrong = [(name, answer) for name, answer in zip(names, answers)
             if ("error" in answer) != refused]
    assert not wrong


# The chief lets the worker add on a variable of the parameter server; the others serve until then.
TRAIN = """
import json, os, sys, time
config = json.loads(os.environ["TF_CONFIG"])
jobs, port = config["cluster"], int(sys.argv[2])
for job in "chief", "worker", "ps":
    (address,) = jobs[job]
    jobs[job] = ["127.0.0.1:%d" % (port + int(address.partition(":")[0][-1]))]
os.environ["TF_CONFIG"] = json.dumps(config)
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
done = sys.argv[1]
if resolver.task_type != "chief":
    tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                         task_index=resolver.task_id, protocol="grpc", start=True)
    while not os.path.exists(done):
        time.sleep(0.2)
    print(resolver.task_type, flush=True)
    os._exit(0)
strategy = tf.distribute.ParameterServerStrategy(resolver)
with strategy.scope():
    total = tf.Variable(1.0)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

@tf.function
def step():
    return total.assign_add(41.0)

coordinator.schedule(step)
coordinator.join()
print("chief", total.device, total.numpy(), flush=True)
open(done, "w").close()
os._exit(0)
"""


def test_parameter_server_strategy(python_with, run_ranks, free_port, tmp_path):
    """Three hosts, which become three ports of this machine."""
    rows = [[f"--node-rank={node}", "--hosts=host0,host1,host2", "--tf-ps=1"]
            for node in range(3)]
    command = [python_with("tensorflow"), "-c", TRAIN, str(tmp_path / "done"), str(free_port)]
    outputs = run_ranks(rows, command, TF_CPP_MIN_LOG_LEVEL="3", GRPC_FAIL_FAST="use_caller")
    chief, worker, server = (output.split() for output in outputs)
    assert chief == ["chief", "/job:ps/replica:0/task:0/device:CPU:0", "42.0"]
    assert (worker, server) == (["worker"], ["ps"])
