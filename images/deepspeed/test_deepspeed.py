# SPDX-License-Identifier: Apache-2.0
"""The DeepSpeed image: a step of its engine on two ranks that rankinit starts."""

STEP = """
import os, torch, deepspeed
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
    "train_micro_batch_size_per_gpu": 1, "gradient_clipping": 0.0,
    "optimizer": {"type": "SGD", "params": {"lr": 1.0}}})
loss = -engine(torch.tensor([[float(10 ** engine.global_rank)]])).sum()
engine.backward(loss)
engine.step()
print("rank", os.environ["RANK"], "mean", model.weight.item(), flush=True)
"""


def ranks(done):
    """DeepSpeed's own log is on stdout too."""
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


def test_rankinit_starts_the_ranks(engine):
    done = engine.run("deepspeed", "--nproc-per-node=2", "--", "python", "-c", STEP,
                      options=["--shm-size", "256m", "--env", "DS_ACCELERATOR=cpu"])
    assert ranks(done) == ["rank 0 mean 5.5", "rank 1 mean 5.5"]


def test_it_stands_on_the_pytorch_image(engine):
    """One layer more, with no torch of its own in it."""
    layers = [engine.docker("inspect", "-f", "{{join .RootFS.Layers \" \"}}",
                            engine.tag(image)).stdout.split()
              for image in ("pytorch", "deepspeed")]
    assert layers[1][:-1] == layers[0]
    done = engine.run("deepspeed", "python", "-c",
                      "import torch, deepspeed; print(torch.__version__, deepspeed.__version__)")
    torch, own = done.stdout.split()[-2:]
    assert torch.split("+")[0] == "2.13.0" and own == "0.19.8"
