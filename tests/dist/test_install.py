# SPDX-License-Identifier: Apache-2.0
"""The ways to install of docs/install.md, each line as it is printed, in Debian 12 and 13."""

import os
import shutil
import subprocess

import pytest

from conftest import (DIST, HERE, HOST, NAMES, REMOVED, TOP, VERSION, WAYS, debian, printed, run)

SUITES = ["bookworm", "trixie"]
ARCHIVES = os.path.join(TOP, "build", "fresh", "archives")
NAMESPACES = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]

# What rankinit does when it is there, without a GPU or a launcher: its version and help, a
# command's exit status, and the ranks of one node.
USED = f"""
test "$(rankinit --version | cut -d' ' -f2)" = {VERSION}
rankinit --help | grep -q -- --nproc-per-node
rankinit -- sh -c 'exit 7' || test $? = 7
rankinit --nproc-per-node=2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"' >/tmp/said
sort /tmp/said | tr '\\n' ' ' | grep -q '^rank 0 of 2 rank 1 of 2 $'
"""


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    return lambda suite, **more: debian(suite, tmp_path_factory, **more)


def enter(root, tmp_path, script, folder=DIST, namespaces=()):
    os.makedirs(f"{ARCHIVES}/partial", exist_ok=True)
    done = subprocess.run([*NAMESPACES, *namespaces, f"{HERE}/enter.sh", root, str(tmp_path),
                           ARCHIVES, folder, script], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=590,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_page_has_all_ways():
    assert list(WAYS) == ["check", "deb", "tarball", "wheel", "image", "Dockerfile",
                          "source"]
    assert list(REMOVED) == ["deb", "wheel", "tarball"]


@pytest.mark.parametrize("suite", SUITES)
def test_package(root, suite, tmp_path):
    """The man page and the completion are in place, and go with the package."""
    status, said = enter(root(suite), tmp_path, printed("check") + printed("deb") + USED + """
dpkg -L rankinit | grep -q /usr/share/bash-completion/completions/rankinit
test -s /usr/share/bash-completion/completions/rankinit
for page in rankinit rankinit-probe; do gzip -t /usr/share/man/man8/$page.8.gz; done
rankinit-probe verbs | grep -q '^rankinit-probe 2$'
""" + printed("deb", REMOVED) + """
test ! -e /usr/bin/rankinit
""")
    assert status == 0, said


@pytest.mark.parametrize("suite", SUITES)
def test_tarball(root, suite, tmp_path):
    status, said = enter(root(suite), tmp_path, printed("check") + printed("tarball") + USED + """
test -s /usr/local/share/man/man8/rankinit.8
test "$(command -v rankinit)" = /usr/local/bin/rankinit
""" + printed("tarball", REMOVED) + """
test -z "$(find /usr/local -type f)"
""")
    assert status == 0, said


def test_a_file_that_is_not_whole(root, tmp_path):
    """The control: the line that checks fails."""
    folder = tmp_path / "release"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(os.path.join(DIST, name), folder)
    with open(folder / f"rankinit-{VERSION}-linux-{HOST}.tar.gz", "ab") as file:
        file.write(b"x")
    status, said = enter(root("bookworm"), tmp_path / "scratch", printed("check"), str(folder))
    assert status != 0 and f"rankinit-{VERSION}-linux-{HOST}.tar.gz: FAILED" in said


def test_source(root, tmp_path):
    """A clone of HEAD, in a Debian 12 that gets what it needs from its mirror."""
    clone = tmp_path / "clone"
    run("git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", TOP, str(clone))
    status, said = enter(root("bookworm", apt=True), tmp_path / "scratch",
                         printed("source") + USED, str(clone))
    assert status == 0, said[-4000:]
