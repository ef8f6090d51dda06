# SPDX-License-Identifier: Apache-2.0
"""How long lists of hosts take to read: the whole of a --print-env, and without the list."""

import os
import statistics
import subprocess
import tempfile
import time

COUNTS = (10_000, 100_000)


def timed(command):
    begin = time.perf_counter_ns()
    done = subprocess.run(command, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    end = time.perf_counter_ns()
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return end - begin


def lists(folder, count):
    """The same hosts as a file of lines and as Slurm writes them."""
    path = os.path.join(folder, f"hosts-{count}")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"n{number:06}\n" for number in range(count))
    step = [f"{name}={value}" for name, value in (
        ("SLURM_JOB_ID", 1), ("SLURM_STEP_ID", 0), ("SLURM_PROCID", 0), ("SLURM_LOCALID", 0),
        ("SLURM_NODEID", 0), ("SLURM_STEP_NUM_TASKS", count), ("SLURM_STEP_NUM_NODES", count),
        ("SLURM_STEP_TASKS_PER_NODE", f"1(x{count})"),
        ("SLURM_STEP_NODELIST", f"n[000000-{count - 1:06}]"))]
    return {"hostfile": ([], ["--node-rank=0", f"--hostfile={path}"]), "slurm": (step, [])}


def measure(program, rounds):
    """{(kind, count): median ns that the list adds}, in one interleaved run."""
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            base = timed(["env", "-i", program, "--print-env", "--", "true"])
            for count in COUNTS:
                for kind, (env, options) in lists(folder, count).items():
                    now = timed(["env", "-i", *env, program, "--print-env", *options, "--",
                                 "true"])
                    took.setdefault((kind, count), []).append(now - base)
    return {key: statistics.median(values) for key, values in took.items()}
