# SPDX-License-Identifier: Apache-2.0
"""
FOLDER STEPS[,STEPS...]: the ranks add up a data set in its order, with a checkpoint behind each
step. Each attempt gets as far as its number of STEPS, where its ranks wait to be killed; behind the
last number they end.
"""

import os
import sys
import time

FOLDER, STEPS = sys.argv[1], [int(number) for number in sys.argv[2].split(",")]
RANK, SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ATTEMPT = int(os.environ.get("RANKINIT_ATTEMPT", "0"))
CHECKPOINT = os.path.join(FOLDER, "checkpoint")


def note(what, text):
    """A whole file or none."""
    path = os.path.join(FOLDER, f"{what}.{ATTEMPT}.{RANK}")
    with open(path + "~", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(path + "~", path)


def load():
    """The next step, and the sum of those before it."""
    try:
        with open(CHECKPOINT, encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return [0, 0]


def save(step, total):
    with open(CHECKPOINT + "~", "w", encoding="ascii") as file:
        file.write(f"{step} {total}")
        file.flush()
        os.fsync(file.fileno())
    os.rename(CHECKPOINT + "~", CHECKPOINT)


def value(index):
    """Each of the data set is another one: one that is missing or counted twice shows."""
    return index * index + 1


note("began", os.environ.get("TORCHELASTIC_RESTART_COUNT", "none"))
import torch  # noqa: E402 (a rank may be killed before)
import torch.distributed as dist  # noqa: E402


def train():
    """The sum of all; each step tells of which attempt the ranks are that take part."""
    state = torch.tensor(load())
    dist.broadcast(state, 0)
    step, total = state.tolist()
    while step < STEPS[-1]:
        if step >= STEPS[ATTEMPT]:
            time.sleep(3600)
        part = torch.tensor([value(step * SIZE + RANK), 1 << 4 * ATTEMPT])
        dist.all_reduce(part)
        assert part[1] == SIZE << 4 * ATTEMPT, f"a rank of another attempt: {part[1]:x}"
        step, total = step + 1, total + int(part[0])
        if RANK == 0:
            save(step, total)
            print(f"step {step} of attempt {ATTEMPT}", flush=True)
        time.sleep(0.02)
    return total


if SIZE == 1:
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo")
# what rank 0 has drawn: those with the same number have met
token = torch.randint(1 << 62, (1,))
dist.broadcast(token, 0)
note("met", str(token.item()))
result = train()
dist.barrier()
dist.destroy_process_group()
if RANK == 0:
    print(f"the sum is {result}", flush=True)
