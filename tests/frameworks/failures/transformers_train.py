# SPDX-License-Identifier: Apache-2.0
"""Training with the Trainer of Transformers on CPUs."""

import os

import faults

wanted = faults.options()
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import torch  # noqa: E402
from transformers import Trainer, TrainerCallback, TrainingArguments  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x):
        return {"loss": self.layer(x).square().mean()}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        if index >= 60:
            faults.strike("worker", wanted, rank)
        return {"x": torch.full((8,), float(index))}


class Strike(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        del args, control, kwargs
        if state.global_step == 3:
            faults.strike("step", wanted, rank)


def main():
    options = TrainingArguments(
        output_dir="/tmp/none", max_steps=6, report_to=[], use_cpu=True, ddp_backend="gloo",
        save_strategy="no", logging_steps=1, learning_rate=1e-4,
        per_device_train_batch_size=wanted.batch_size)
    Trainer(model=Model(), args=options, train_dataset=Data(), callbacks=[Strike()]).train()


if __name__ == "__main__":
    if wanted.record:
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
