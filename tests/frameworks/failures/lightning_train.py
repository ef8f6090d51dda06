# SPDX-License-Identifier: Apache-2.0
"""Training with Lightning's Trainer on CPUs."""

import os
import sys

import faults

wanted = faults.options("--workers")
sys.argv[1:] = []   # Lightning looks at them
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import lightning  # noqa: E402
import torch  # noqa: E402
from lightning.pytorch.plugins.environments import TorchElasticEnvironment  # noqa: E402
from lightning.pytorch.strategies import DDPStrategy  # noqa: E402


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 20 * wanted.batch_size

    def __getitem__(self, index):
        if index >= 8 * wanted.batch_size:
            faults.strike("worker", wanted, rank)
        return torch.full((8,), float(index))


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, number):
        if number == 3:
            faults.strike("step", wanted, rank)
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-4)


def main():
    loader = torch.utils.data.DataLoader(Data(), batch_size=wanted.batch_size,
                                         num_workers=1 if wanted.workers else 0)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1, logger=False,
        strategy=DDPStrategy(process_group_backend="gloo",
                             cluster_environment=TorchElasticEnvironment()),
        enable_checkpointing=False, enable_model_summary=False, enable_progress_bar=rank == 0)
    trainer.fit(Module(), loader)


if __name__ == "__main__":
    if wanted.record:
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
