# SPDX-License-Identifier: Apache-2.0
"""A driver of Ray with two actors, which know their ranks as those of verl do; one fails."""

import os
import sys

import ray

TRAIN = os.path.dirname(os.path.abspath(__file__))


@ray.remote(num_cpus=0)
class Worker:
    def train(self):
        # in this process, whose environment says its rank
        sys.path.insert(0, TRAIN)
        __import__("fails").main()


ray.init(num_cpus=2, include_dashboard=False)
workers = [Worker.options(runtime_env={"env_vars": {
    "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
    "FAULT": os.environ["FAULT"]}}).remote() for rank in range(2)]
ray.get([worker.train.remote() for worker in workers])
