# SPDX-License-Identifier: Apache-2.0
"""The image's way of docs/install.md, each line as it is printed, with the engine that answers."""

import os
import shutil
import subprocess

import pytest

from conftest import DIST, VERSION, debian, printed, run


def test_image(tmp_path, tmp_path_factory):
    """With Debian as the image below it, which needs no registry."""
    if shutil.which("docker") is None or run("docker", "version", check=False).returncode != 0:
        pytest.skip("no Docker engine answers")
    below = debian("bookworm", tmp_path_factory)
    with open(tmp_path / "root.tar", "wb") as file:
        subprocess.run(["tar", "-C", below, "--numeric-owner", "--one-file-system",
                        "-c", "bin", "lib", "lib64", "usr/bin", "usr/lib", "usr/lib64", "etc"],
                       stdout=file, check=True)
    shutil.copy(os.path.join(DIST, f"rankinit-{VERSION}-oci.tar"), tmp_path)
    (tmp_path / "Dockerfile").write_text(printed("Dockerfile"))
    (tmp_path / ".dockerignore").write_text("*\n")
    name = f"rankinit-test-{os.getpid()}"
    run("docker", "import", str(tmp_path / "root.tar"), f"{name}:below")
    try:
        script = printed("image").replace("with-rankinit", f"{name}:above").replace(
            "docker build", f"docker build --build-arg BASE_IMAGE={name}:below")
        run("sh", "-euc", script, cwd=tmp_path)
        done = run("docker", "run", "--rm", "--network=none", f"{name}:above", "sh", "-c",
                   "cat /proc/1/comm; exit 7", check=False)
        assert (done.returncode, done.stdout) == (7, b"rankinit\n"), done.stderr
    finally:
        for image in (f"{name}:above", f"{name}:below", f"rankinit:{VERSION}-amd64",
                      f"rankinit:{VERSION}-arm64"):
            run("docker", "rmi", "-f", image, check=False)
