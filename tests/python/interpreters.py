#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""interpreters.py: make Debian roots with CPythons that this machine lacks, below build/pythons.

`make pythons`, as root: packages are unpacked, not configured, and run by their own loader; those
of aarch64 by qemu-aarch64-static. found() tells tests of all that are here: these, those of pyenv,
and this machine's own.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOTS = os.path.join(TOP, "build/pythons")
MINORS = (9, 10, 11, 12, 13, 14)
# The suites that have them; headers come with them for offsets.py.
WANTED = (("bullseye", 9, "arm64"), ("bookworm", 11, "arm64"), ("trixie", 13, "arm64"),
          ("sid", 14, "arm64"), ("sid", 14, "amd64"))
MACHINES = {"amd64": ("x86_64", "lib64/ld-linux-x86-64.so.2"),
            "arm64": ("aarch64", "lib/ld-linux-aarch64.so.1")}


def of_root(suite_minor_debian):
    """The words that start the one of this root."""
    _, minor, debian = suite_minor_debian
    root = os.path.join(ROOTS, f"3.{minor}-{debian}")
    machine, loader = MACHINES[debian]
    python = f"{root}/usr/bin/python3.{minor}"
    if machine == os.uname().machine:
        return [f"{root}/{loader}", "--library-path", f"{root}/usr/lib/{machine}-linux-gnu", python]
    return [f"qemu-{machine}-static", "-L", root, python]


def as_itself(words):
    """As root, the words that start one of these roots by its own name, without its loader's."""
    root = words[-1].removesuffix(f"/usr/bin/{os.path.basename(words[-1])}")
    if len(words) == 1 or os.geteuid() != 0 or not words[0].startswith(root):
        return words
    return ["chroot", root, words[-1].removeprefix(root)]


def laid_over(words):
    """As root, in a mount namespace: (what a command begins with, what starts it in there).

    The folder /usr of one of these roots lies over this machine's. So it starts without its
    loader's name, and finds itself as sys.executable; any other is as it is.
    """
    root, path = as_itself(words)[1:] if len(as_itself(words)) > 1 else (None, words[-1])
    if root is None:
        return [], words
    mount = 'mount -t overlay -o "lowerdir=$0/usr:/usr" overlay /usr && exec "$@"'
    return ["/bin/sh", "-c", mount, root], [path]


def folders():
    """Where this machine's own interpreters are, of any minor."""
    return ["/usr/bin", "/usr/local/bin",
            *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin")))]


def found():
    """[(name as "3.11-x86_64", words that start it)], sorted; one of each minor and machine."""
    here = os.uname().machine
    names = {}
    for minor in MINORS:
        path = shutil.which(f"python3.{minor}", path=os.pathsep.join(folders()))
        if path:
            names[minor, here] = [path]
    for wanted in WANTED:
        words = of_root(wanted)
        if os.path.exists(words[-1]) and shutil.which(words[0]):
            names.setdefault((wanted[1], MACHINES[wanted[2]][0]), words)
    return [(f"3.{minor}-{machine}", words) for (minor, machine), words in sorted(names.items())]


def native():
    """The words that start each one of this machine's architecture, its own by its own name."""
    return [words for name, words in found() if name.endswith(os.uname().machine) and
            (len(words) == 1 or len(laid_over(words)[1]) == 1)]


def mirror():
    """This machine's own, alone: an old suite has no updates any more."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian"],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def make(suite, minor, debian, keyrings):
    root = os.path.join(ROOTS, f"3.{minor}-{debian}")
    if os.path.exists(os.path.join(root, "done")):
        return
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=extract", f"--architectures={debian}",
         f"--keyring={keyrings}", "--keyring=/usr/share/keyrings",
         '--aptopt=APT::Install-Recommends "false"',
         # an archive that is not written any more is still as it was signed
         '--aptopt=Acquire::Check-Valid-Until "false"',
         f"--include=python3.{minor},libpython3.{minor}-dev", suite, root, mirror()],
        check=True)
    for name in ("bin", "lib", "lib64"):
        if os.path.exists(f"{root}/usr/{name}") and not os.path.exists(f"{root}/{name}"):
            os.symlink(f"usr/{name}", f"{root}/{name}")
    with open(os.path.join(root, "done"), "w", encoding="ascii"):
        pass


def main():
    os.makedirs(ROOTS, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # the keys of suites that are newer than this machine; those of older ones it has
        subprocess.run(["mmdebstrap", "--quiet", "--variant=extract",
                        "--include=debian-archive-keyring", "trixie", f"{folder}/keys"], check=True)
        for wanted in WANTED:
            make(*wanted, f"{folder}/keys/usr/share/keyrings/")
    for name, words in found():
        print(f"{name}\t{' '.join(words)}")


if __name__ == "__main__":
    sys.exit(main())
