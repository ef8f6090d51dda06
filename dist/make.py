#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the artefacts of a release of what was built: for each architecture a tar.gz, a
Debian package and a Python wheel, an image of one file for both, an SBOM and checksums.

usage: make.py VERSION BUILD...    BUILD: the folder with rankinit and rankinit-probe of
                                   one architecture

They are in build/dist. The same commit gives the same bytes in any folder, at any time:
whatever has a date has the commit's (SOURCE_DATE_EPOCH wins), owners are 0, names sorted.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import debian
import elf
import oci
import sbom
import tree
import wheel

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, "build", "dist")


def git(*words):
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, *words],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def date():
    """Seconds since 1970 of the commit; without git, of the news."""
    said = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    return int(said or os.path.getmtime(os.path.join(TOP, "docs", "NEWS.md")))


def revision():
    """With -dirty where the commit is not all there is."""
    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "HEAD") or "unknown") + ("-dirty" if changed else "")


def tarball(name, files, when):
    """name.tar.gz, with all files in a folder of that name."""
    packed = gzip.compress(tree.tar(files, when, name), 9, mtime=0)
    with open(os.path.join(OUT, f"{name}.tar.gz"), "wb") as file:
        file.write(packed)


def checksums():
    lines = []
    for name in sorted(os.listdir(OUT)):
        with open(os.path.join(OUT, name), "rb") as file:
            lines.append(f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n")
    with open(os.path.join(OUT, "SHA256SUMS"), "w", encoding="ascii") as file:
        file.writelines(lines)


def main(version, folders):
    when = date()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    libraries = sbom.libraries(os.path.join(TOP, "build", "deps"))
    programs, found = {}, {}
    for folder in folders:
        arch = elf.architecture(os.path.join(folder, "rankinit"))
        files = found[arch] = tree.files(TOP, folder, libraries)
        programs[arch] = files["bin/rankinit"].content
        tarball(f"rankinit-{version}-linux-{arch}", files, when)
        debian.package(OUT, version, arch, files, when)
    oci.archive(os.path.join(OUT, f"rankinit-{version}-oci.tar"), version, revision(), programs,
                when)
    materials = os.path.join(OUT, f"rankinit-{version}.spdx.json")
    sbom.write(materials, version, revision(), programs, libraries, when)
    for arch, files in found.items():
        wheel.package(OUT, version, arch, files, tree.read(materials), when)
    checksums()
    for name in sorted(os.listdir(OUT)):
        print(f"{os.path.getsize(os.path.join(OUT, name)):>9} build/dist/{name}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
