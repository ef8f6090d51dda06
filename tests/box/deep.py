# SPDX-License-Identifier: Apache-2.0
"""What the tests of "deep" share: libraries of their own, and how to ask about them."""

import json
import os
import shutil
import subprocess

import pytest

from box import BASE
from peek import PATIENCE

FAKES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fakes")
DEEP = "--checks=ib.verbs,ib.memory,mpi.version"


@pytest.fixture(scope="session", name="probe")
def probe_fixture(rankinit):
    path = os.path.join(os.path.dirname(rankinit), "rankinit-probe")
    if not os.path.exists(path):
        pytest.skip("there is no rankinit-probe beside rankinit: make probe")
    return path


@pytest.fixture(scope="session", name="fake")
def fake_fixture(tmp_path_factory):
    """fake("mpi", IN_VERSION="abort()"): a folder for LD_LIBRARY_PATH with such a library."""
    names = {"mpi": "libmpi.so.40", "verbs": "libibverbs.so.1", "nvml": "libnvidia-ml.so.1"}

    def make(kind, **macros):
        folder = str(tmp_path_factory.mktemp(kind))
        if kind == "verbs" and not os.path.exists("/usr/include/infiniband/verbs.h"):
            pytest.skip("there are no headers of libibverbs")
        subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-w",
                        f"-Wl,-soname,{names[kind]}", "-Wl,--hash-style=gnu",
                        *(f"-D{name}={value}" for name, value in macros.items()),
                        "-o", os.path.join(folder, names[kind]),
                        os.path.join(FAKES, f"{kind}.c")], check=True)
        return folder
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to make libraries")
    return make


def look(rankinit, *options, env=None, **more):
    """What is said: the exit status, and every result as {id, status, code, ...}."""
    done = subprocess.run([rankinit, "--check=json", DEEP, "--expect=deep", *options],
                          env={**BASE, **(env or {})}, capture_output=True, timeout=PATIENCE,
                          check=False, **more)
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["fit"] == (done.returncode == 0)
    return done.returncode, document["checks"]


def of(checks, name, folder=None):
    """The results of a check; those about a library of this folder."""
    return [check for check in checks if check["id"] == name
            and (folder is None or check["subject"].startswith(folder))]


def brief(checks, name, folder=None):
    return [(check["status"], check["code"]) for check in of(checks, name, folder)]


def mpi(rankinit, folder, *options, **more):
    """The one result about the library of a folder."""
    status, checks = look(rankinit, "--checks=mpi.version", *options,
                          env={"LD_LIBRARY_PATH": folder}, **more)
    found = of(checks, "mpi.version", folder)
    if not found:
        found = [check for check in checks if check["code"] in ("probe.garbled", "probe.refused")]
    assert len(found) == 1, checks
    return status, found[0]


def verbs(rankinit, folder, *options, env=None, **more):
    return look(rankinit, "--checks=ib.verbs,ib.memory", *options,
                env={"LD_LIBRARY_PATH": folder, **(env or {})}, **more)
