# SPDX-License-Identifier: Apache-2.0
"""A loop of collectives with TensorFlow's MultiWorkerMirroredStrategy on CPUs."""

import json
import os

import faults

wanted = faults.options("--in-graph")
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"])
os.environ["TF_CONFIG"] = json.dumps({
    "cluster": {"worker": [f"127.0.0.1:{port + number}" for number in range(size)]},
    "task": {"type": "worker", "index": rank}})
faults.strike("import", wanted, rank)

import tensorflow as tf  # noqa: E402


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones((8, 1)))

    @tf.function
    def step(batch):
        def replica(batch):
            if wanted.in_graph and wanted.rank == str(rank):
                tf.debugging.assert_less(batch, 3.0, message="batch has a value of 3 or more")
            share = tf.reduce_mean(tf.square(batch @ weights))
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.MEAN, share)
        return strategy.run(replica, (batch,))

    for number in range(6):
        if number == 3:
            faults.strike("step", wanted, rank)
        loss = strategy.experimental_local_results(step(tf.fill((4, 8), float(number))))[0]
        print(f"rank {rank} step {number} loss {loss.numpy():.4f}", flush=True)


if __name__ == "__main__":
    main()
