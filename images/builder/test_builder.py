# SPDX-License-Identifier: Apache-2.0
"""The builder: two static files and nothing else, by both builders of Docker."""

import hashlib
import io
import os
import re
import subprocess
import tarfile

import build
import pytest


def files_of(engine, image):
    """name -> bytes of all files in an image that nothing can run in but its own."""
    name = engine.name("container")
    engine.docker("create", "--name", name, image)
    done = subprocess.run(["docker", "export", name], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return {it.name: archive.extractfile(it).read() for it in archive
                if it.isfile() and it.size}


def test_two_files_and_no_more(engine):
    files = files_of(engine, engine.tag("builder"))
    assert sorted(files) == ["rankinit", "rankinit-probe"]
    assert engine.run("builder", "--version").stdout.startswith("rankinit ")


def compiler(version):
    return re.search(r"\((.*)\)", version).group(1)


def test_the_binary_is_the_one_that_is_built_outside(engine):
    """Byte by byte, where the compiler and the libraries are the same."""
    outside = os.path.join(build.TOP, "build", "rankinit")
    version = subprocess.run([outside, "--version"], capture_output=True, text=True).stdout
    inside = engine.run("builder", "--version").stdout
    if compiler(version) != compiler(inside):
        pytest.skip(f"build/rankinit is made by others: {compiler(version)}")
    with open(outside, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    assert hashlib.sha256(files_of(engine, engine.tag("builder"))["rankinit"]).hexdigest() == wanted


def test_the_probe_runs_where_glibc_is_older(engine):
    """Ubuntu 22.04, below many CUDA images, has glibc 2.35."""
    probe = files_of(engine, engine.tag("builder"))["rankinit-probe"]
    versions = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", probe)]
    assert versions and max(versions) <= 35


def packages(path):
    with tarfile.open(path) as archive:
        return archive.extractfile("./var/lib/dpkg/status").read()


def test_the_root_is_reproducible(tmp_path):
    """The root below all of this, made a second time."""
    first = os.path.join(build.OUT, f"root-{build.SUITE}.tar")
    second = tmp_path / "root.tar"
    subprocess.run([os.path.join(build.HERE, "root.sh"), build.SUITE, str(second)], check=True)
    if packages(first) != packages(second):
        pytest.skip("the mirror has other packages now")
    with open(first, "rb") as one, open(second, "rb") as two:
        assert hashlib.file_digest(one, "sha256").digest() == \
            hashlib.file_digest(two, "sha256").digest()


@pytest.mark.parametrize("builder", ["legacy", "buildkit"])
def test_both_builders(engine, builder):
    """The same Dockerfile: a stage by its alias, arguments before FROM."""
    if builder not in build.builders():
        pytest.skip(f"no client here can use {builder}")
    words, env = engine.build_command("base", {}, builder)
    engine.docker(*words[1:], client=words[0], env=env, limit=600)
    name = words[words.index("-t") + 1]
    config = engine.docker("inspect", "-f", "{{json .Config.Entrypoint}}", name).stdout
    assert config == '["rankinit"]\n'
