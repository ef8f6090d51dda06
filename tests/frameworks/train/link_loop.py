# SPDX-License-Identifier: Apache-2.0
"""
FRAMEWORK MOMENT [STEPS]: collectives without end, or so many. The last rank fails before the
rendezvous, in the middle of collectives, or, with SAVE_S, between them: then each rank that is told
to stop writes a checkpoint in the folder SAVE_IN for so many seconds.
"""

import os
import signal
import sys
import time

FRAMEWORK, MOMENT = sys.argv[1:3]
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 1000000
SAVE_S = float(os.environ.get("SAVE_S", "0"))
sys.argv[1:] = []   # Lightning looks at them


def strike(moment, rank, size):
    if moment == MOMENT and rank == size - 1:
        raise ValueError("bad batch 17")


def say(rank):
    print(f"rank {rank} has met the others", flush=True)


def save(_number, _frame):
    """In small pieces, so that what is missing can be seen."""
    signal.signal(signal.SIGTERM, lambda *_: print("a second SIGTERM", flush=True))
    rank = os.environ["RANK"]
    with open(os.path.join(os.environ["SAVE_IN"], f"rank{rank}"), "w", encoding="ascii") as file:
        end = time.monotonic() + SAVE_S
        while time.monotonic() < end:
            file.write("piece\n")
            file.flush()
            time.sleep(0.1)
        file.write("complete\n")
    print(f"rank {rank} has saved", flush=True)
    os._exit(0)


def torch_loop():
    import torch
    import torch.distributed as dist
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    strike("before", rank, size)
    if SAVE_S:
        signal.signal(signal.SIGTERM, save)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    for step in range(STEPS):
        if step == 5:
            strike("middle", rank, size)
        model(torch.ones(1)).backward()
        if step == 0:
            say(rank)
        if SAVE_S:  # nobody waits for the others just now
            time.sleep(2)
            strike("between", rank, size)
            time.sleep(60)
        time.sleep(0.1)
    dist.barrier()
    # it holds the group, whose threads must not outlive the interpreter (pytorch/pytorch 179291)
    del model
    dist.destroy_process_group()


def lightning_loop():
    import lightning
    import torch
    from lightning.pytorch.strategies import DDPStrategy

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            if number == 5:
                strike("middle", self.global_rank, self.trainer.world_size)
            if number == 1:
                say(self.global_rank)
            time.sleep(0.1)
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    strike("before", int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), num_nodes=2,
        max_steps=STEPS, max_epochs=-1, logger=False,
        strategy=DDPStrategy(process_group_backend="gloo"), enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.zeros(100000, 1), batch_size=1))


def tensorflow_loop():
    import tensorflow as tf
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    rank, size = resolver.task_id, resolver.cluster_spec().num_tasks("worker")
    strike("before", rank, size)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function
    def train():
        def replica():
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1))
        return strategy.run(replica)

    for step in range(STEPS):
        if step == 5:
            strike("middle", rank, size)
        train()
        if step == 0:
            say(rank)
        time.sleep(0.1)


def jax_loop():
    import jax
    from jax.experimental import multihost_utils
    rank, size = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
    strike("before", rank, size)
    # who failed waits for the others at its exit, five minutes by default
    jax.distributed.initialize(num_processes=size, process_id=rank, shutdown_timeout_seconds=10)
    for step in range(STEPS):
        if step == 5:
            strike("middle", rank, size)
        multihost_utils.process_allgather(jax.numpy.ones(1))
        if step == 0:
            say(rank)
        time.sleep(0.1)


{"torch": torch_loop, "lightning": lightning_loop, "tensorflow": tensorflow_loop,
 "jax": jax_loop}[FRAMEWORK]()
