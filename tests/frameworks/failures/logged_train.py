# SPDX-License-Identifier: Apache-2.0
"""
A healthy rank of three prints an exception and goes on, then another one fails:
logged_train.py --kind=KIND. Recorded by hand, since the healthy one is not to end.
"""
import argparse
import asyncio
import gzip
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
logger = logging.getLogger("train")
logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S")


def read_sample(path):
    with gzip.open(path) as file:
        return file.read()


def bad_sample():
    try:
        read_sample("shard-000017.gz")
    except OSError:
        logger.exception("sample skipped: shard-000017.gz")


def fetch(url):
    return urllib.request.urlopen(url, timeout=1).read()


def download():
    for attempt in range(2):
        try:
            fetch("http://127.0.0.1:9/shard-12.tar")
        except OSError:
            traceback.print_exc()
            print(f"attempt {attempt + 1} of 5 failed, trying again", file=sys.stderr)


class Uploader(threading.Thread):
    def run(self):
        raise ConnectionError("metrics server answered 503")


def upload():
    thread = Uploader(name="uploader")
    thread.start()
    thread.join()


async def never_retrieved():
    async def prefetch(shard):
        raise KeyError(shard)
    task = asyncio.create_task(prefetch("shard-21"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    del task


def bad_format():
    logger.warning("epoch %d of %d", 3)


async def get():
    import aiohttp
    async with aiohttp.ClientSession() as session:
        async with session.get("http://127.0.0.1:9/config.json") as answer:
            return await answer.json()


def http():
    try:
        asyncio.run(get())
    except Exception:
        logger.exception("no remote config, the local one is used")


def save():
    try:
        torch.save({"step": 3, "w": torch.zeros(10000)}, "/dev/full")
    except Exception:
        traceback.print_exc()
        logger.warning("checkpoint not written, the next one is in 500 steps")


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        raise IndexError(f"sample {index} has no label")


def loader():
    try:
        next(iter(torch.utils.data.DataLoader(Broken(), num_workers=1)))
    except Exception as error:
        logger.error("loader restarted", exc_info=error)


def tokenizer():
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoTokenizer
    try:
        AutoTokenizer.from_pretrained("/models/llama-custom")
    except Exception:
        logger.exception("no fast tokenizer, the slow one is used")


class Handle:
    def __del__(self):
        raise ValueError("I/O operation on closed file")


def ignored():
    Handle()


def smi():
    try:
        subprocess.run(["nvidia-smi", "--query-gpu=power.draw"], check=True)
    except Exception:
        logger.exception("no power meter")


KINDS = {  # name: (who logs, how, who fails, how)
    "bad-sample": (0, bad_sample, 2, "raise"), "download": (1, download, 2, "kill"),
    "thread": (0, upload, 1, "exit3"),
    "asyncio": (2, lambda: asyncio.run(never_retrieved()), 0, "raise"),
    "logging-error": (0, bad_format, 1, "raise"), "aiohttp": (1, http, 0, "segv"),
    "save": (0, save, 1, "raise"), "loader": (2, loader, 1, "raise"),
    "tokenizer": (0, tokenizer, 2, "raise"), "ignored": (1, ignored, 0, "kill"),
    "smi": (0, smi, 1, "exit3"),
}
parser = argparse.ArgumentParser()
parser.add_argument("--kind", choices=sorted(KINDS), required=True)
logs, how, fails, end = KINDS[parser.parse_args().kind]


def train_step(step):
    if end == "raise":
        raise ValueError(f"loss is nan in step {step}")
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(3)


def main():
    dist.init_process_group("gloo")
    for step in range(3):
        dist.all_reduce(torch.ones(4))
    if rank == logs:
        how()
        time.sleep(6)       # it validates
    time.sleep(1.2)
    if rank == fails:
        train_step(3)
    dist.all_reduce(torch.ones(4))


main()
