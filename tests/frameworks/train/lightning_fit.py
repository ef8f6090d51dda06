# SPDX-License-Identifier: Apache-2.0
"""Lightning's Trainer on two nodes of two processes."""

import gc
import sys

import lightning
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import DDPStrategy


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)

    def training_step(self, batch):
        del batch
        return self.layer(torch.tensor([float(10 ** self.global_rank)])).sum()

    def on_after_backward(self):
        total = round(self.layer.weight.grad.item() * self.trainer.world_size)
        print(f"rank {self.global_rank} of {self.trainer.world_size}, local {self.local_rank}, "
              f"sum {total}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


nodes = int(sys.argv[sys.argv.index("--num_nodes") + 1])
trainer = lightning.Trainer(
    accelerator="cpu", devices=2, num_nodes=nodes, max_steps=1, logger=False,
    strategy=DDPStrategy(process_group_backend="gloo"),
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.zeros(8, 1), batch_size=1))
# nobody hangs up on those who are still there
trainer.strategy.barrier()
# it holds the group, whose threads must not outlive the interpreter (pytorch/pytorch 179291)
del trainer
gc.collect()
dist.destroy_process_group()
