# SPDX-License-Identifier: Apache-2.0
"""rankinit-probe itself: what it needs, what it says by hand, where it is installed."""

import os
import re
import subprocess

import pytest

from deep import probe_fixture
from peek import PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

__all__ = ["probe_fixture"]     # a fixture, by its own name


def test_it_asks_for_no_new_glibc(probe, tool):
    """dlopen has another version since 2.34, and still the old one."""
    said = subprocess.run([tool("objdump"), "-T", probe], capture_output=True, text=True,
                          check=True).stdout
    versions = {tuple(map(int, found.split(".")))
                for found in re.findall(r"GLIBC_([0-9.]+)", said)}
    assert versions and max(versions) <= (2, 17), sorted(versions)


def test_it_is_small(probe):
    """It is carried by every image: the code of three libraries' callers, and no more."""
    assert os.path.getsize(probe) < 40000


def test_by_hand(probe):
    for words in ([], ["other"], ["mpi", "a", "1", "b"]):
        done = subprocess.run([probe, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("usage: rankinit-probe verbs|mpi|nvml")
    done = subprocess.run([probe, "mpi", "/nonexistent"], capture_output=True, text=True,
                          check=True)
    assert done.stdout.splitlines() == [
        "rankinit-probe 2", "try load /nonexistent", "error 0 /nonexistent: cannot open shared "
        "object file: No such file or directory", "end"]


def test_install(probe, tool, tmp_path):
    if "RANKINIT" in os.environ:
        pytest.skip("another program is tested")
    subprocess.run([tool("make"), "-C", TOP, "install", f"DESTDIR={tmp_path}", "PREFIX=/opt/x"],
                   check=True, capture_output=True, timeout=10 * PATIENCE,
                   env={name: value for name, value in os.environ.items()
                        if not name.startswith("MAKE") and name != "MFLAGS"})
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")
                   if path.is_file())
    assert found == ["opt/x/bin/rankinit", "opt/x/bin/rankinit-probe",
                     "opt/x/share/bash-completion/completions/rankinit",
                     "opt/x/share/man/man8/rankinit.8"]
    done = subprocess.run([tmp_path / found[0], "--check", "--expect=deep", "--checks=mpi.version"],
                          capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "rankinit-probe" not in done.stdout, "it is found, beside"
