#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Builds images with no registry, each after those that it stands on, from a
root file system of Debian packages (root.sh) and from wheels (wheels.py).

usage: build.py [--builder buildkit|legacy] [--test] IMAGE...

They are named rankinit-IMAGE:VERSION; IMAGE_PREFIX is another prefix than
"rankinit-". With --test the tests of the given images run afterwards.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import wheels

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
OUT = os.path.join(TOP, "build", "images")
PREFIX = os.environ.get("IMAGE_PREFIX", "rankinit-")
SUITE = "bookworm"


def version():
    with open(os.path.join(TOP, "Makefile"), encoding="ascii") as file:
        return re.search(r"^VERSION := (\S+)", file.read(), re.M).group(1)


def tag(image):
    """The name of an image that is built here."""
    return f"{PREFIX}root:{SUITE}" if image == "root" else f"{PREFIX}{image}:{version()}"


class Image:
    """
    How one image is built: what stands below it, other images whose files it
    takes (build argument -> image), and the folder that the build sees. None
    is the folder of its Dockerfile, with wheels.
    """

    def __init__(self, base, takes=None, context=None, folder=None, target=None):
        self.base = base
        self.takes = takes or {}
        self.context = context
        self.folder = folder    # of the Dockerfile, if it is not the image's name
        self.target = target    # a stage of it, if it is not the last one


RANKINIT = {"RANKINIT_IMAGE": "builder"}
SYSTEM = {"BUILD_IMAGE": "system"}
IMAGES = {
    "builder": Image("root", context="."),
    "base": Image("root", RANKINIT, "images/base"),
    "cuda": Image("stand-in", RANKINIT, "images/base"),
    # base without rankinit, so that what is built on it is not built again
    "system": Image("root", RANKINIT, "images/base", folder="base", target="system"),
    "pytorch": Image("base", SYSTEM),
    "tensorflow": Image("base", SYSTEM),
    "horovod": Image("pytorch", SYSTEM),
    "deepspeed": Image("pytorch", SYSTEM),
    # in the place of NVIDIA's image, which only a registry has
    "stand-in": Image("root", context="images/cuda/stand-in",
                      folder="cuda/stand-in"),
}


def needs(image, found):
    """This image after all that it needs."""
    if image in found or image == "root":
        return
    for other in (IMAGES[image].base, *IMAGES[image].takes.values()):
        needs(other, found)
    found.append(image)


# --- builders ------------------------------------------------------------------


def can_buildkit(client):
    """Engines have BuildKit, clients of 23 and later only with a plugin."""
    text = subprocess.run([client, "version", "-f", "{{.Client.Version}}"],
                          capture_output=True, text=True).stdout
    if int(text.split(".")[0] or 0) < 23:
        return True
    return subprocess.run([client, "buildx", "version"], capture_output=True).returncode == 0


def builders():
    """The builders that can be used here: name -> client."""
    found = {"legacy": shutil.which("docker")}
    for client in (shutil.which("docker"), "/usr/bin/docker"):
        if client and os.access(client, os.X_OK) and can_buildkit(client):
            found["buildkit"] = client
            break
    return found


def revision():
    done = subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def command(image, builder, name=None, arguments=()):
    """The words that build an image, and their environment."""
    it = IMAGES[image]
    given = {"BASE_IMAGE": tag(it.base), "VERSION": version(), "REVISION": revision()}
    given.update({arg: tag(other) for arg, other in it.takes.items()})
    given.update(arguments)
    if it.context is None:
        given["PIP_NO_INDEX"] = "1"
        context = wheels.context(image)
    else:
        context = os.path.join(TOP, it.context)
    file = os.path.join(HERE, it.folder or image, "Dockerfile")
    words = [builders()[builder], "build", "-q", "-t", name or tag(image), "-f", file]
    words += ["--target", it.target] if it.target else []
    for arg, value in given.items():
        words += ["--build-arg", f"{arg}={value}"]
    env = {**os.environ, "DOCKER_BUILDKIT": "1" if builder == "buildkit" else "0"}
    return words + [context], env


def build(image, builder, name=None):
    """Ends the program with the builder's words if the image cannot be built."""
    words, env = command(image, builder, name)
    begin = time.monotonic()
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-60:]))
        sys.exit(f"{image}: not built: {' '.join(words)}")
    size = subprocess.run(["docker", "inspect", "-f", "{{.Size}}", name or tag(image)],
                          capture_output=True, text=True).stdout
    print(f"{name or tag(image)}: {int(size) / 1e6:.1f} MB, {builder}, "
          f"{time.monotonic() - begin:.0f} s", flush=True)


def main(argv):
    parser = argparse.ArgumentParser(description="Build images with no registry.")
    parser.add_argument("images", nargs="+", choices=IMAGES, metavar="IMAGE")
    parser.add_argument("--builder", choices=("buildkit", "legacy"))
    parser.add_argument("--test", action="store_true")
    options = parser.parse_args(argv)
    builder = options.builder or ("buildkit" if "buildkit" in builders() else "legacy")
    os.makedirs(OUT, exist_ok=True)
    wanted = []
    for image in options.images:
        needs(image, wanted)
    subprocess.run([os.path.join(HERE, "root.sh"), SUITE], check=True)
    for image in wanted:
        build(image, builder)
    if not options.test:
        return 0
    check = [sys.executable, os.path.join(TOP, "tests", "check.py"), "images"]
    return subprocess.run(check, env={**os.environ, "IMAGES": " ".join(options.images)}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
