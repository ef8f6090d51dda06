# SPDX-License-Identifier: Apache-2.0
"""MultiWorkerMirroredStrategy: a sum over all workers, whom TF_CONFIG names."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
rank, size = resolver.task_id or 0, strategy.num_replicas_in_sync


@tf.function
def step():
    def replica():
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(10 ** rank))
    return strategy.run(replica)


total = strategy.experimental_local_results(step())[0].numpy()
print(f"rank {rank} of {size}, local 0, sum {total}", flush=True)
