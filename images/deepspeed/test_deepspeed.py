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
# in one write: ranks may share a pipe
os.write(1, f"rank {os.environ['RANK']} mean {model.weight.item()}\\n".encode())
"""


def ranks(done):
    """DeepSpeed's own log is on stdout too."""
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


def test_rankinit_starts_the_ranks(engine):
    done = engine.run("deepspeed", "--nproc-per-node=2", "--", "python", "-c", STEP,
                      options=["--shm-size", "256m", "--env", "DS_ACCELERATOR=cpu"])
    assert ranks(done) == ["rank 0 mean 5.5", "rank 1 mean 5.5"]


def test_it_stands_on_the_pytorch_image(engine):
    """One layer more, of some ten MB and with no torch of its own in it."""
    field = "{{len .RootFS.Layers}} {{.Size}}"
    below, here = (list(map(int, engine.docker("inspect", "-f", field,
                                               engine.tag(image)).stdout.split()))
                   for image in ("pytorch", "deepspeed"))
    assert here[0] == below[0] + 1 and here[1] - below[1] < 60e6
    done = engine.run("deepspeed", "python", "-c",
                      "import torch, deepspeed; print(torch.__version__, deepspeed.__version__)")
    torch, own = done.stdout.split()[-2:]
    assert torch.split("+")[0] == "2.13.0" and own == "0.19.8"
