# SPDX-License-Identifier: Apache-2.0
"""Real frameworks read what rankinit writes. Each is looked for where it may be installed."""

import functools
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("RANKINIT_UNDER_TEST", os.path.join(TOP, "build", "rankinit"))
TRAIN = os.path.join(TOP, "tests", "frameworks", "train")
SECONDS = 240
# What a rank of these tests prints, in one write, since ranks share a pipe. It is not read by
# lines: launchers run `python -u`, which writes the end of a line by itself.
SAID = re.compile(r"rank (\d+) of (\d+), local (\d+), sum (\d+)")

sys.path.append(os.path.join(TOP, "tests", "box"))
from cluster import make_cluster  # noqa: E402 (found by the line above)
from hosts import Hosts  # noqa: E402


def said(text):
    """The rank, size, local rank and sum of each who says them, in order."""
    return sorted(tuple(int(number) for number in row) for row in SAID.findall(text))


@functools.lru_cache
def find_python(module):
    """A Python that can import the module, or None."""
    named = os.environ.get("FRAMEWORKS_PYTHON", "").split(":")
    installed = sorted(glob.glob(os.path.join(TOP, "build", "frameworks", "*", "bin", "python")))
    for python in [*filter(None, named), *installed, shutil.which("python3"), "/usr/bin/python3"]:
        look = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{module}'))"
        done = subprocess.run(
            [python, "-c", look],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        if done.returncode == 0:
            return python
    return None


@pytest.fixture
def python_with():
    def find(module):
        python = find_python(module)
        if python is None:
            pytest.skip(f"NOT TESTED: no Python here can import {module}; name one in "
                        "FRAMEWORKS_PYTHON (several with ':' between), or make a virtual "
                        "environment build/frameworks/NAME")
        return python
    return find


def clean_env(**more):
    """No variable of whoever runs the tests says anything about a job."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), **more}


def a_free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@pytest.fixture
def free_port():
    """A port that nobody listens on just now."""
    return a_free_port()


@pytest.fixture
def free_ports():
    """One for each call."""
    return a_free_port


@pytest.fixture
def run_ranks():
    """Start one rankinit for each list of options, all at once; what each printed."""
    started = []

    def run(rows, command, **env):
        started.extend(
            subprocess.Popen([PROGRAM, *options, "--", *command], env=clean_env(**env),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for options in rows)
        done = []
        for job in started:
            out, err = job.communicate(timeout=SECONDS)
            assert job.returncode == 0, err
            done.append(out)
        return done

    yield run
    for job in started:
        if job.poll() is None:
            job.kill()
            job.wait()


@pytest.fixture(scope="session")
def all_hosts():
    made = Hosts(4)
    yield made
    made.close()


@pytest.fixture
def temporary():
    """A TMPDIR whose name leaves room for that of a socket; tmp_path does not always."""
    with tempfile.TemporaryDirectory(prefix="rankinit-", dir="/tmp",
                                     ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture
def hosts(all_hosts):
    """The first so many of the nodes that this machine pretends to be."""
    return all_hosts.first


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    made = make_cluster(tmp_path_factory.mktemp("slurm"), 2, "linuxproc")
    yield made
    made.close()


@pytest.fixture
def installed():
    """Skip, and say why, unless build/frameworks/NAME is complete."""
    def look(name):
        folder = os.path.join(TOP, "build", "frameworks", name)
        if os.path.exists(os.path.join(folder, "failed")):
            with open(os.path.join(folder, "failed"), encoding="utf-8") as file:
                pytest.skip(f"NOT TESTED: {name} cannot be installed: {file.readline().strip()}")
        if not os.path.exists(os.path.join(folder, "installed")):
            pytest.skip(f"NOT TESTED: {name} is not installed: run make frameworks")
    return look
