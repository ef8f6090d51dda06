# SPDX-License-Identifier: Apache-2.0
"""The same commit is the same bytes, in another folder, at another time, for another user."""

import hashlib
import os
import shutil
import subprocess

import pytest

from conftest import DIST, NAMES, TOP, read, run


def git(*words):
    return run("git", "-c", "safe.directory=*", "-C", TOP, *words).stdout.decode().strip()


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """
    build/dist of a clone with a longer path: libraries and programs are compiled anew there,
    121 days later by the clock that they see, in another time zone, with other permissions.
    """
    if git("status", "--porcelain", "--untracked-files=no"):
        pytest.skip("there are changes without a commit")
    if shutil.which("faketime") is None:
        pytest.skip("there is no faketime")
    top = str(tmp_path_factory.mktemp("in-another-folder") / "with-a-longer-name")
    run("git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", TOP, top)
    env = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    for words in (["images/builder/deps.sh", "build", "probe", "cross"],
                  ["faketime", "-f", "+121d", "make", "dist"]):
        subprocess.run(["nice", "-n", "5", "sh", "-c", 'umask 077; exec "$@"', "sh", *words],
                       cwd=top, env=env, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
    return os.path.join(top, "build", "dist")


def test_the_commit_is_what_was_packed():
    """What is compared was made of the commit that is cloned."""
    if git("status", "--porcelain", "--untracked-files=no"):
        pytest.skip("there are changes without a commit")
    name = [name for name in NAMES if name.endswith(".spdx.json")][0]
    assert f"commit {git('rev-parse', 'HEAD')}\"".encode() in read(DIST, name)


@pytest.mark.parametrize("name", NAMES)
def test_same_bytes(second, name):
    first = read(DIST, name)
    assert hashlib.sha256(read(second, name)).hexdigest() == hashlib.sha256(first).hexdigest()


def test_other_bytes_where_something_else_is_packed(second, tmp_path):
    """The control: one letter of the news makes other artefacts."""
    top = os.path.dirname(os.path.dirname(second))
    copy = tmp_path / "copy"
    run("git", "-c", "safe.directory=*", "clone", "-q", top, str(copy))
    for folder in ("deps", "aarch64", "x86_64"):
        if os.path.exists(f"{top}/build/{folder}"):
            shutil.copytree(f"{top}/build/{folder}", copy / "build" / folder, symlinks=True)
    for name in ("rankinit", "rankinit-probe"):
        shutil.copy(f"{top}/build/{name}", copy / "build")
    with open(copy / "docs" / "NEWS.md", "a", encoding="utf-8") as file:
        file.write("x\n")
    other = [name for name in ("aarch64", "x86_64") if (copy / "build" / name).exists()][0]
    version = NAMES[1].split("-")[1]
    run("python3", "-B", str(copy / "dist" / "make.py"), version, str(copy / "build"),
        str(copy / "build" / other))
    for name in NAMES:
        assert read(str(copy / "build" / "dist"), name) != read(DIST, name), name
