#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes build/frameworks/NAME, a virtual environment for each file NAME.txt of
requirements, unless it is there and made of this very file. One that cannot be
made leaves the reason in build/frameworks/NAME/failed, which its tests skip with.

usage: environments.py [NAME...]    all of them, unless some are named
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, "build", "frameworks")
PYTHON = "/usr/bin/python3"
SECONDS = 1500
# Those that others need come first.
ORDER = ["torch", "horovod", "mpi4py", "jax", "tensorflow", "openmpi", "mpich", "impi",
         "ray"]

# Where nobody answers, that is soon known.
PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "2", "PIP_DEFAULT_TIMEOUT": "60"}

# Horovod is built for the torch that is here, with MPI and for nothing else.
HOROVOD = {
    "HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1", "HOROVOD_WITH_MPI": "1", "HOROVOD_WITHOUT_GLOO": "1",
    "MAKEFLAGS": "-j2",
}


class Failed(Exception):
    pass


def run(words, log, **env):
    """A command whose last words are the reason if it fails."""
    with open(log, "ab") as file:
        try:
            done = subprocess.run(
                words, env={**os.environ, **PIP, **env}, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {SECONDS} s") from None
    if done.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            errors = [line.strip() for line in file if "ERROR" in line or "error:" in line]
        raise Failed((errors or [f"exit status {done.returncode}"])[-1][:200])


def packages_of(folder):
    (found,) = glob.glob(f"{folder}/lib/python3*/site-packages")
    return found


def install(folder, requirements, log):
    run([PYTHON, "-m", "venv", folder], log)
    run([f"{folder}/bin/pip", "install", "-q", "-r", requirements], log)


def install_torch(folder, requirements, log):
    """
    DeepSpeed compiles the way in which ranks of a node share memory when it is
    first used; done by four ranks at a time that takes minutes.
    """
    install(folder, requirements, log)
    text = "from importlib import import_module as m; m('deepspeed.comm.torch').build_shm_op()"
    run([f"{folder}/bin/python", "-c", text], log,
        PATH=f"{folder}/bin:{os.environ['PATH']}", DS_ACCELERATOR="cpu",
        TORCH_EXTENSIONS_DIR=os.path.join(folder, "extensions"))


def install_horovod(folder, requirements, log):
    """
    Its last release says C++14, and the headers of torch from 2.1 on are
    C++17; nothing else is in the way. torch is not installed a second time.
    """
    torch = os.path.join(BUILD, "torch")
    if not os.path.exists(os.path.join(torch, "installed")):
        raise Failed("it needs torch, which is not here")
    run([PYTHON, "-m", "venv", folder], log)
    with open(os.path.join(packages_of(folder), "torch.pth"), "w", encoding="ascii") as file:
        file.write(packages_of(torch) + "\n")
    with open(requirements, encoding="ascii") as file:
        names = [line.strip() for line in file if "==" in line]
    pip = [f"{folder}/bin/pip"]
    run([*pip, "install", "-q", "--no-deps", *(n for n in names if "horovod" not in n)], log)
    (horovod,) = [name for name in names if "horovod" in name]
    run([*pip, "download", "-q", "--no-binary", ":all:", "--no-deps", "--no-build-isolation",
         "-d", folder, horovod], log)
    (archive,) = glob.glob(f"{folder}/horovod-*.tar.gz")
    run(["tar", "-C", folder, "-xzf", archive], log)
    source = archive.removesuffix(".tar.gz")
    run(["sed", "-i", "s/CMAKE_CXX_STANDARD 14/CMAKE_CXX_STANDARD 17/",
         f"{source}/CMakeLists.txt", f"{source}/horovod/torch/CMakeLists.txt"], log)
    run([*pip, "install", "-q", "--no-deps", "--no-build-isolation", source], log,
        PATH=f"{folder}/bin:{os.environ['PATH']}", **HOROVOD)
    shutil.rmtree(source)


INSTALL = {"torch": install_torch, "horovod": install_horovod}


def make(name, requirements):
    """True if it is there."""
    folder = os.path.join(BUILD, name)
    with open(requirements, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    mark = os.path.join(folder, "installed")
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == digest:
                return True
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    log = os.path.join(folder, "log")
    print(f"frameworks: installing {name}", flush=True)
    try:
        INSTALL.get(name, install)(folder, requirements, log)
    except Failed as failed:
        print(f"frameworks: {name} cannot be installed: {failed}", flush=True)
        with open(os.path.join(folder, "failed"), "w", encoding="utf-8") as file:
            file.write(f"{failed}\n")
        return False
    with open(mark, "w", encoding="ascii") as file:
        file.write(digest)
    return True


def main(names):
    files = {os.path.basename(path).removesuffix(".txt"): path
             for path in glob.glob(os.path.join(HERE, "requirements", "*.txt"))}
    assert sorted(files) == sorted(ORDER), "each file of requirements has its place in ORDER"
    wanted = [name for name in ORDER if name in names or not names]
    made = sum(make(name, files[name]) for name in wanted)
    print(f"frameworks: {made} of {len(wanted)} environments are there")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
