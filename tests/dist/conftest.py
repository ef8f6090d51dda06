# SPDX-License-Identifier: Apache-2.0
"""What `make dist` made, as the tests look at it."""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DIST = os.path.join(TOP, "build", "dist")
sys.path.insert(0, os.path.join(TOP, "dist"))

with open(os.path.join(TOP, "Makefile"), encoding="ascii") as makefile:
    VERSION = re.search(r"^VERSION := (\S+)", makefile.read(), re.M).group(1)
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
HOST = os.uname().machine
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[HOST]
NAMES = sorted([f"rankinit-{VERSION}-linux-{arch}.tar.gz" for arch in DEBIAN] +
               [f"rankinit_{VERSION}_{arch}.deb" for arch in DEBIAN.values()] +
               [f"rankinit-{VERSION}-py3-none-manylinux2014_{arch}.musllinux_1_1_{arch}.whl"
                for arch in DEBIAN] +
               [f"rankinit-{VERSION}-oci.tar", f"rankinit-{VERSION}.spdx.json", "SHA256SUMS"])


def ways(page):
    """Of a page of docs: name -> its lines, with their margin."""
    with open(os.path.join(TOP, "docs", page), encoding="ascii") as file:
        return dict(re.findall(r"^<!-- (?:run|file): (\w+) -->\n\n((?:    .*\n|\n(?=    ))+)",
                               file.read(), re.M))


WAYS, REMOVED = ways("install.md"), ways("upgrading.md")


def printed(name, page=None):
    """Without the margin; for this machine's architecture, as the page asks its reader to."""
    text = re.sub(r"^    ", "", (page or WAYS)[name], flags=re.M)
    if HOST == "aarch64":
        text = text.replace("amd64", "arm64").replace("x86_64", "aarch64")
    return text


def run(*words, check=True, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=550,
                          check=False, **more)
    assert done.returncode == 0 or not check, (words, done.stdout, done.stderr)
    return done


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def members(content):
    """name -> TarInfo and bytes (None of a folder) of a tar, packed or not."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {it.name: (it, archive.extractfile(it).read() if it.isfile() else None)
                for it in archive}


def in_tarball(arch):
    return members(read(DIST, f"rankinit-{VERSION}-linux-{arch}.tar.gz"))


def in_package(arch):
    path = os.path.join(DIST, f"rankinit_{VERSION}_{DEBIAN[arch]}.deb")
    return members(run("dpkg-deb", "--fsys-tarfile", path).stdout)


def built(arch):
    """The folder where this architecture is built."""
    return os.path.join(TOP, "build", *([] if arch == HOST else [arch]))


def debian(suite, folders, apt=False, include="", made={}):
    """
    The path of a Debian, as `make roots` has it or made for this; that one has apt, too, and
    the packages of a list with commas.
    """
    path = os.path.join(TOP, "build", "roots", suite, "root")
    if os.path.exists(os.path.join(os.path.dirname(path), "done")) and not (apt or include):
        return path
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("no Debian can be made here: that takes root and mmdebstrap")
    if (suite, include) not in made:
        folder = str(folders.mktemp(suite) / "root")
        run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}", suite, folder)
        made[suite, include] = folder
    return made[suite, include]


def pytest_configure():
    if not os.path.exists(os.path.join(DIST, "SHA256SUMS")):
        pytest.exit("build/dist is not there: run make dist", 1)
