# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow image: workers that find each other by the TF_CONFIG of rankinit."""

SUM = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
def one():
    rank = strategy.extended._task_id
    return tf.distribute.get_replica_context().all_reduce("sum", tf.constant(10 ** rank))
print(os.environ["RANK"], int(strategy.run(one)), flush=True)
"""
HOSTS = ("node-a", "node-b")


def test_tensorflow_is_the_one_asked_for(engine):
    done = engine.run("tensorflow", "python", "-c",
                      "import tensorflow, sys; print(tensorflow.__version__, sys.prefix)")
    assert done.stdout.split() == ["2.21.0", "/opt/venv"]


def test_two_workers(engine):
    """What says who is who are the platform's variables and one option."""
    network = engine.name("network")
    engine.docker("network", "create", network)
    names = [engine.start(
        "tensorflow", "--frameworks=tensorflow,torch", "--nproc-per-node=1", "--",
        "python", "-c", SUM, options=[
            "--network", network, "--hostname", host, "--network-alias", host,
            "--env", "AZ_BATCH_HOST_LIST=node-a,node-b",
            "--env", "AZ_BATCH_MASTER_NODE=node-a:6000",
            "--env", f"AZ_BATCH_IS_CURRENT_NODE_MASTER={'true' if host == HOSTS[0] else 'false'}"])
             for host in HOSTS]
    assert [engine.wait(name) for name in names] == [0, 0], engine.docker("logs", names[0]).stderr
    assert [engine.docker("logs", name).stdout for name in names] == ["0 11\n", "1 11\n"]
