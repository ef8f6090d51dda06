# SPDX-License-Identifier: Apache-2.0
"""MultiWorkerMirroredStrategy: a sum over all workers, whom TF_CONFIG names."""

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
rank, size = resolver.task_id or 0, strategy.num_replicas_in_sync
workers = resolver.cluster_spec().as_dict().get("worker", [""])
hosts = [address.rpartition(":")[0] for address in workers]
local = hosts[:rank].count(hosts[rank])


@tf.function
def step():
    def replica():
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(10 ** rank))
    return strategy.run(replica)


total = strategy.experimental_local_results(step())[0].numpy()
print(f"rank {rank} of {size}, local {local}, sum {total}", flush=True)
