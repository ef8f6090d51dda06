# SPDX-License-Identifier: Apache-2.0
"""
A real torchrun and a checkpoint that takes a minute: `--grace=90` is enough for it, because
rankinit tells torchrun, which kills its ranks 30 seconds after a stop otherwise. The control is
the same line without that variable; both run at once.
"""

import os
import re
import signal
import subprocess

from conftest import PROGRAM, SECONDS, TRAIN, clean_env
from verdict import stopped_line

WITHOUT = ["env", "-u", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"]
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node=2", os.path.join(TRAIN, "saves.py")]


def start(words, errors):
    """The job, when both ranks are ready for a stop."""
    job = subprocess.Popen([PROGRAM, "--grace=90", "--", *words], env=clean_env(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                           text=True)
    said = {job.stdout.readline() for _ in range(2)}
    assert said == {"ready 0\n", "ready 1\n"}
    return job


def test_a_checkpoint_of_a_minute_survives(python_with, tmp_path):
    python = python_with("torch")
    paths = [tmp_path / "with", tmp_path / "without"]
    jobs = []
    try:
        for path, more in zip(paths, ([], WITHOUT)):
            with open(path, "wb") as errors:
                jobs.append(start([*more, python, *TORCHRUN], errors))
        for job in jobs:
            job.send_signal(signal.SIGTERM)
        outs = [job.communicate(timeout=SECONDS)[0] for job in jobs]
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    saved, killed = [path.read_text(encoding="utf-8") for path in paths]
    assert sorted(outs[0].splitlines()) == ["saved 0", "saved 1"], saved
    assert "SIGKILL" not in saved and "forcefully exiting" not in saved
    assert outs[1] == "" and len(re.findall("forcefully exiting via 9", killed)) == 2, killed
    assert stopped_line("0-1", "killed by SIGKILL (9)") in killed
