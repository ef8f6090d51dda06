# SPDX-License-Identifier: Apache-2.0
"""The Trainer of Transformers with a model that is made here."""

import torch
from transformers import HfArgumentParser, Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1, bias=False)

    def forward(self, x):
        loss = self.layer(x).sum()
        return {"loss": loss}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"x": torch.tensor([float(10 ** index)])}


(options,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
options.set_dataloader(train_batch_size=1)
options.max_steps, options.report_to, options.disable_tqdm = 1, [], True
options.save_strategy, options.logging_strategy, options.max_grad_norm = "no", "no", 0
trainer = Trainer(model=Model(), args=options, train_dataset=Data())
trainer.train()
share = torch.tensor([10 ** options.process_index])
total = trainer.accelerator.reduce(share).item()
print(f"rank {options.process_index} of {options.world_size}, "
      f"local {options.local_process_index}, sum {total}", flush=True)
# nobody hangs up on those who are still there
accelerator = trainer.accelerator
accelerator.wait_for_everyone()
# it holds the group, whose threads must not outlive the interpreter (pytorch/pytorch 179291)
del trainer
accelerator.free_memory()
accelerator.end_training()
