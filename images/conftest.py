# SPDX-License-Identifier: Apache-2.0
"""
What tests of images use: containers and networks that are gone afterwards.
They are made of the images that build.py made, by the engine that answers.
"""

import os
import subprocess
import sys
import time
import uuid

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build

LIMIT = 120  # seconds for a container's whole life


def docker(*words, check=True, limit=LIMIT, client="docker", **more):
    """Runs docker; its result, with the output as text."""
    done = subprocess.run([client, *words], capture_output=True, text=True, timeout=limit,
                          stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


class Engine:
    """Containers of one test."""

    tag = staticmethod(build.tag)
    docker = staticmethod(docker)

    def __init__(self):
        self.made = []

    def name(self, kind):
        """A name that nobody else has; what has it is removed after the test."""
        name = f"{build.PREFIX}test-{uuid.uuid4().hex[:8]}"
        self.made.append((kind, name))
        return name

    def run(self, image, *words, options=(), **more):
        """A container in the foreground, by the image's own entry point."""
        name = self.name("container")
        return docker("run", "--name", name, *options, self.tag(image), *words, **more)

    def start(self, image, *words, options=()):
        """A container in the background; its name."""
        name = self.name("container")
        docker("run", "-d", "--name", name, *options, self.tag(image), *words)
        return name

    def execute(self, name, *words, **more):
        return docker("exec", name, *words, **more)

    def build_command(self, image, arguments, builder="legacy"):
        """What builds an image with other arguments, under a name of its own."""
        return build.command(image, builder, self.name("image"), arguments)

    def wait(self, name):
        """Until the container ends: its exit status."""
        return int(docker("wait", name).stdout)

    def until(self, true):
        """Waits for what a container does in its own time."""
        end = time.monotonic() + LIMIT
        while not true():
            assert time.monotonic() < end, "it has not come true in time"
            time.sleep(0.05)

    def remove(self):
        for kind, name in reversed(self.made):
            remove = {"container": ["rm", "-f", "-v"], "network": ["network", "rm"],
                      "volume": ["volume", "rm", "-f"], "image": ["rmi", "-f"]}[kind]
            docker(*remove, name, check=False)


@pytest.fixture
def engine():
    if subprocess.run(["docker", "version"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine answers")
    it = Engine()
    yield it
    it.remove()
