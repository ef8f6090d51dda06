# SPDX-License-Identifier: Apache-2.0
"""
What rankinit adds to an image, and to `docker run` beside Docker's own init.
Only an engine that answers is asked; the images are of one static program, and
gone afterwards.
"""

import gzip
import io
import os
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time

from counts import CannotRun

# Row, options of docker run, words of the container.
ROWS = (
    ("bare", [], ["/payload"]),
    ("docker run --init", ["--init"], ["/payload"]),
    ("rankinit", [], ["/rankinit", "--", "/payload"]),
)


def docker(*words, data=None):
    done = subprocess.run(["docker", *words], input=data, capture_output=True, check=False,
                          timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode().strip()


def archive(files):
    """A tar of name -> path, as bytes."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as tar:
        for name, path in files.items():
            tar.add(path, arcname=name)
    return memory.getvalue()


def make_images(program, payload, tag):
    """An image of the payload, and one with rankinit as a layer more: their names."""
    names = [f"{tag}:plain", f"{tag}:with"]
    docker("import", "-", names[0], data=archive({"payload": payload}))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(program, os.path.join(folder, "rankinit"))
        with open(os.path.join(folder, "Dockerfile"), "w", encoding="ascii") as file:
            file.write(f"FROM {names[0]}\nCOPY rankinit /rankinit\n")
        docker("build", "-q", "-t", names[1], folder)
    return names


def layer(program, names):
    """Bytes that the image grows by, and those that a registry sends for them."""
    plain, more = (int(docker("inspect", "-f", "{{.Size}}", name)) for name in names)
    return {"bytes": more - plain, "compressed": len(gzip.compress(archive({"rankinit": program})))}


def timed(options, image, words):
    begin = time.perf_counter_ns()
    docker("run", "--rm", "--network", "none", *options, image, *words)
    return time.perf_counter_ns() - begin


def run_all(image, rounds):
    """
    Every row once in each round, the first round for nothing. Each round
    begins with another row: an engine that has just cleaned up is slower.
    """
    took = {name: [] for name, _, _ in ROWS}
    for number in range(rounds + 1):
        first = number % len(ROWS)
        for name, options, words in ROWS[first:] + ROWS[:first]:
            now = timed(options, image, words)
            if number:
                took[name].append(now)
    result = {}
    for name, values in took.items():
        added = [now - bare for now, bare in zip(values, took["bare"])]
        q1, _, q3 = statistics.quantiles(values, n=4)
        result[name] = {"total": statistics.median(values), "q1": q1, "q3": q3,
                        "added": statistics.median(added)}
    return result


def measure(program, payload, rounds):
    """({row: numbers}, the layer)"""
    try:
        docker("version")
    except (OSError, RuntimeError, subprocess.TimeoutExpired):
        raise CannotRun("no Docker engine answers") from None
    tag = f"rankinit-bench-{os.getpid()}"
    names = []
    try:
        names = make_images(program, payload, tag)
        return run_all(names[1], rounds), layer(program, names)
    finally:
        for name in reversed(names):
            docker("rmi", "-f", name)
