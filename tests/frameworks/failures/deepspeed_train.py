# SPDX-License-Identifier: Apache-2.0
"""Training with DeepSpeed's engine on CPUs."""

import os

import faults

wanted = faults.options()
rank = int(os.environ["RANK"])
faults.strike("import", wanted, rank)

import deepspeed  # noqa: E402
import torch  # noqa: E402


def main():
    deepspeed.init_distributed("gloo")
    model = torch.nn.Linear(8, 1)
    engine, *_ = deepspeed.initialize(
        model=model, optimizer=torch.optim.SGD(model.parameters(), lr=1e-4),
        config={"train_micro_batch_size_per_gpu": wanted.batch_size})
    for number in range(5):
        if number == 3:
            faults.strike("step", wanted, rank)
        loss = engine(torch.rand(wanted.batch_size, 8)).square().mean()
        engine.backward(loss)
        engine.step()
    deepspeed.comm.barrier()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    if wanted.record:
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
