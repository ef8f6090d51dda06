# SPDX-License-Identifier: Apache-2.0
"""What fails.py does, in a step of Lightning's Trainer, which starts rank 1 itself."""

import datetime
import os
import time

import fails

if fails.FAULT == "import" and "LOCAL_RANK" in os.environ:
    fails.fail()

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)

    def training_step(self, batch):
        if self.global_rank == 1 and fails.FAULT == "gloo":
            raise ValueError("bad batch 17")
        if self.global_rank == 1 and fails.FAULT == "timeout":
            time.sleep(600)
        if self.global_rank == 1:
            fails.fail()
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


trainer = lightning.Trainer(
    accelerator="cpu", devices=2, max_steps=1, logger=False,
    strategy=DDPStrategy(process_group_backend="gloo", timeout=datetime.timedelta(
        seconds=10 if fails.FAULT == "timeout" else 600)),
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.zeros(8, 1), batch_size=1))
