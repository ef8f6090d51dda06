# SPDX-License-Identifier: Apache-2.0
"""
--root of an image that runs nowhere: what its files tell is checked, and of the rest, whatever
is required, that it cannot be known there.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from box import BASE
from test_check_hosts import grow

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What an image answers; the others ask the kernel, the devices or the limits of a container.
ANSWERED = {"ib.libs", "mpi.present", "mpi.launcher", "mpi.match",
            "mpi.mca", "mpi.ucx", "mpi.ssh", "fs.tmp"}
BEYOND = ("skip", "check.image", "not to be known from an image")
ALL = "--require=gpu=8,ib=8@400,ofed,shm=16G,lim.nofile,fs.hang,gpu.*,deep"


@pytest.fixture(name="image")
def image_fixture(tmp_path):
    """A recorded machine with Open MPI and rdma-core, without what its kernel says."""
    root = str(tmp_path / "root")
    grow("az-nd96isr-h100", root)
    for folder in ("proc", "sys", "dev"):
        shutil.rmtree(os.path.join(root, folder), ignore_errors=True)
        os.mkdir(os.path.join(root, folder))
    return root


def run(rankinit, root, *words):
    return subprocess.run([rankinit, f"--root={root}", *words], env=BASE, capture_output=True,
                          text=True, timeout=60, check=False)


def look(rankinit, root, *words):
    """Exit status, and of each check (status, code, text)."""
    done = run(rankinit, root, "--check=json", *words)
    document = json.loads(done.stdout)
    assert document["fit"] == (done.returncode == 0)
    return done.returncode, {one["id"]: (one["status"], one["code"], one["text"])
                             for one in document["checks"]}


def remove_mpi(root):
    for folder, _, names in os.walk(root):
        for name in names:
            if name.startswith("libmpi"):
                os.unlink(os.path.join(folder, name))


def test_each_requirement_that_an_image_cannot_answer(rankinit, image):
    status, said = look(rankinit, image, f"{ALL},mpi", "--checks=all")
    assert status == 0
    assert {check for check, one in said.items() if one != BEYOND} == ANSWERED
    assert said["mpi.present"][0] == said["ib.libs"][0] == "pass"


def test_what_it_lacks(rankinit, image):
    """The control of the above: the same list, and no MPI library."""
    remove_mpi(image)
    status, said = look(rankinit, image, f"{ALL},mpi", "--checks=all")
    assert status == 123
    assert said["mpi.present"][:2] == ("fail", "mpi.present.missing")
    assert said["gpu.count"] == said["shm.size"] == BEYOND
    assert look(rankinit, image, ALL)[0] == 0, "the control: MPI is not required"


def test_a_page_for_people(rankinit, image):
    done = run(rankinit, image, "--check", "--require=mpi,gpu=8")
    words = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert words.endswith(": fit, as far as an image tells")
    row = words.split("skip ")[1]
    assert row.startswith("gpu.vendor, ") and ": not to be known from an image" in row
    assert "shm.size, " in row and "mpi.present" not in row
    remove_mpi(image)
    done = run(rankinit, image, "--check", "--require=mpi,gpu=8")
    assert done.returncode == 123 and done.stdout.endswith(": not fit\n")


@pytest.mark.parametrize("file", ["proc/version", "sys/kernel/x"])
def test_a_recorded_machine_is_no_image(rankinit, image, file):
    """One file of a kernel, and what is required and not there is a failure."""
    path = os.path.join(image, file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii"):
        pass
    status, said = look(rankinit, image, "--require=gpu=8")
    assert status == 123 and said["gpu.count"][:2] == ("fail", "gpu.count.few")
    assert BEYOND not in said.values()


def test_an_empty_folder_is_no_image(rankinit, tmp_path):
    """As a path with a mistake in it: nothing passes for an answer."""
    status, said = look(rankinit, str(tmp_path), "--require=gpu=8")
    assert status == 123 and said["gpu.vendor"][0] == "fail"


def test_folders_of_the_kernel_may_be_missing(rankinit, image):
    for folder in ("proc", "sys"):
        os.rmdir(os.path.join(image, folder))
    assert look(rankinit, image, "--require=gpu=8")[0] == 0


def test_the_page_names_them():
    with open(os.path.join(ROOT, "docs", "checks.md"), encoding="utf-8") as file:
        named = file.read().split("The checks that an image answers: ")[1].split("\n\n")[0]
    assert set(re.findall(r"`([^`]+)`", named)) == ANSWERED


def test_the_machine_that_runs_is_no_image(rankinit):
    done = subprocess.run([rankinit, "--check=json"], env=BASE, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and "check.image" not in done.stdout
