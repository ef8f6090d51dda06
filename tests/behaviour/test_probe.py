# SPDX-License-Identifier: Apache-2.0
"""rankinit-probe: what it says of this machine's own libraries, and of broken ones."""

import os
import re
import shutil
import subprocess

import pytest

from image import Elf, make_kit

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(scope="module", name="probe")
def probe_fixture(tmp_path_factory):
    if not os.path.exists("/usr/include/infiniband/verbs.h") or shutil.which("gcc") is None:
        pytest.skip("there are no headers of libibverbs, or no gcc")
    path = str(tmp_path_factory.mktemp("probe") / "rankinit-probe")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o",
                    path, os.path.join(TOP, "shim/probe.c"), "-ldl"], check=True)
    return path


def run(probe, *words, **env):
    done = subprocess.run([probe, *words], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", **env}, check=False)
    assert done.returncode == 0
    return done.stdout.splitlines()


def said(lines, beginning):
    return [line[len(beginning):] for line in lines if line.startswith(beginning)]


@pytest.mark.parametrize("library,command,expression", [
    ("libmpi.so.40", ["ompi_info", "--version"], r"^Open MPI v(\S+)"),
    ("libmpich.so.12", ["mpichversion"], r"^MPICH Version:\s*(\S+)"),
])
def test_mpi(probe, library, command, expression):
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = run(probe, "mpi")
    assert said(lines, f"mpi {library} ") == ["ok"]
    assert re.search(expression, text, re.M)[1] in said(lines, f"version {library} ")[0]
    assert not said(lines, "verbs ")


def test_verbs(probe):
    lines = run(probe, "verbs")
    assert len(said(lines, "verbs libibverbs.so.1 ")) == 1 and not said(lines, "mpi ")
    if said(lines, "verbs libibverbs.so.1 ") != ["ok"]:
        pytest.skip("there is no libibverbs here")
    count = int(said(lines, "devices ")[0].split()[0])
    assert len(said(lines, "open ")) == count


def test_broken(probe, tmp_path):
    kit = make_kit(str(tmp_path))
    path = os.path.join(kit, "libmpi.so.40")
    for content, reason in ((Elf("ompi-4.1.4", cut=10), "too short"),
                            (Elf("ompi-4.1.4"), "ok")):
        with open(path, "wb") as file:
            file.write(content.content(kit))
        lines = run(probe, "mpi", LD_LIBRARY_PATH=kit)
        assert said(lines, "mpi libmpi.so.40 ")[0].endswith(reason)
    assert said(lines, "symbol MPI_Get_library_version ") == ["is not in the library"]
