# SPDX-License-Identifier: Apache-2.0
"""
Wheels for images, gathered outside of them: a build needs no index then, and
what is downloaded once stays in build/images/wheels.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(os.path.dirname(HERE), "build", "images")
PYTHON = "/usr/bin/python3"
VERSION = "3.11"    # of the Python in the image: Debian 12's


def pip(*words):
    done = subprocess.run([PYTHON, "-m", "pip", "--disable-pip-version-check", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"pip {' '.join(words)}\n{done.stderr[-4000:]}")


def digest(paths):
    text = b"".join(open(path, "rb").read() for path in paths)
    return hashlib.sha256(text).hexdigest()


def gather(image):
    """A folder of wheels of all in requirements.txt, and the archives in sources.txt."""
    lists = [path for path in (os.path.join(HERE, image, "requirements.txt"),
                               os.path.join(HERE, image, "sources.txt")) if os.path.exists(path)]
    folder = os.path.join(OUT, "wheels", image)
    mark = os.path.join(folder, "done")
    if os.path.exists(mark) and open(mark).read() == digest(lists):
        return folder
    here = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          capture_output=True, text=True).stdout.strip()
    if here != VERSION:
        sys.exit(f"{image}: {PYTHON} is version {here}, wheels for {VERSION} are needed")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for path in lists:
        if path.endswith("sources.txt"):
            # without isolation: it would build to learn what it needs
            pip("download", "-q", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
                "-d", folder, "-r", path)
        else:
            pip("wheel", "-q", "--no-deps", "-w", folder, "-r", path)
    with open(mark, "w", encoding="ascii") as file:
        file.write(digest(lists))
    return folder


def context(image):
    """The image's folder with its wheels beside: what the build sees."""
    folder = os.path.join(OUT, "context", image)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, image), folder,
                    ignore=shutil.ignore_patterns("test_*", "README.md"))
    os.mkdir(os.path.join(folder, "wheels"))
    for path in glob.glob(os.path.join(gather(image), "*-*")):
        os.link(path, os.path.join(folder, "wheels", os.path.basename(path)))
    return folder
