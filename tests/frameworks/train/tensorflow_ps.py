# SPDX-License-Identifier: Apache-2.0
"""ParameterServerStrategy: every worker adds to a variable of the parameter server."""

import os

import tensorflow as tf

os.environ["GRPC_FAIL_FAST"] = "use_caller"
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
spec = resolver.cluster_spec()
if not spec.jobs:
    raise SystemExit("TF_CONFIG names no cluster")
workers = spec.num_tasks("worker")

if resolver.task_type != "chief":
    tf.distribute.Server(spec, job_name=resolver.task_type, task_index=resolver.task_id,
                         protocol="grpc", start=True).join()

strategy = tf.distribute.ParameterServerStrategy(resolver)
with strategy.scope():
    total = tf.Variable(0)
for number in range(workers):
    with tf.device(f"/job:worker/task:{number}"):
        share = tf.math.pow(10, number)
    assert f"/job:worker/replica:0/task:{number}/" in share.device
    total.assign_add(share)
assert "/job:ps/" in total.device
print(f"rank 0 of {workers}, local 0, sum {total.numpy()}", flush=True)
os._exit(0)
