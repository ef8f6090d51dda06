# SPDX-License-Identifier: Apache-2.0
"""Accelerate: prepare() makes the model a distributed one."""

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = accelerator.prepare(torch.nn.Linear(1, 1, bias=False))
accelerator.backward(model(torch.tensor([float(10 ** accelerator.process_index)])).sum())
weight = next(model.parameters())
total = round(weight.grad.item() * accelerator.num_processes)
print(f"rank {accelerator.process_index} of {accelerator.num_processes}, "
      f"local {accelerator.local_process_index}, sum {total}", flush=True)
# nobody hangs up on those who are still there
accelerator.wait_for_everyone()
# they hold the group, whose threads must not outlive the interpreter (pytorch/pytorch 179291)
del model, weight
accelerator.free_memory()
accelerator.end_training()
