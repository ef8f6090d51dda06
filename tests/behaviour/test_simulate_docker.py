# SPDX-License-Identifier: Apache-2.0
"""
A simulated job in a real container: as a user without any right, below Docker's own
seccomp filter, without a network, from a root that nobody can write to.
"""

import io
import os
import re
import shutil
import subprocess
import tarfile

import pytest

NAME = f"rankinit-simulate-{os.getpid()}"
AS_NOBODY = ["--user=1000:1000", "--cap-drop=ALL", "--network=none", "--read-only",
             "--security-opt=no-new-privileges"]


@pytest.fixture(scope="module", name="play")
def play_fixture(rankinit, actor):
    """A container's exit status, and what came out of it."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, timeout=60,
                                        check=False).returncode != 0:
        pytest.skip("no Docker engine answers")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in (rankinit, actor("probe")):
            archive.add(path, arcname=os.path.basename(path))
    made = subprocess.run([docker, "import", "-", NAME], input=packed.getvalue(),
                          capture_output=True, timeout=120, check=False)
    if made.returncode != 0:
        pytest.skip("the Docker engine takes no image: " + made.stderr.decode().strip()[:200])

    def play(spec, *command):
        done = subprocess.run([docker, "run", "--rm", *AS_NOBODY, NAME, "/rankinit",
                               f"--simulate={spec}", "--", *command],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr
    yield play
    subprocess.run([docker, "rmi", "-f", NAME], capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker", "kubeflow_pytorch"])
def test_each_rank_has_its_place(play, kind):
    status, out, err = play(f"{kind}:2x2", "/rankinit", "--explain", "--", "/probe")
    assert status == 0, err
    assert sorted(re.findall(r"^\[(\d:\d)\] +who +rank (\d) of 4", out, re.M)) == [
        ("0:0", "0"), ("0:1", "1"), ("1:2", "2"), ("1:3", "3")], out
    assert "simulated: 2 nodes" in err and "below process 1" in err
    # there is no MPI in this image, which a rank of mpirun is told
    assert "warning" not in re.sub(r".* \[mpi.present.missing\]", "", err)


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker", "kubeflow_pytorch"])
def test_faults(play, kind):
    """It ends of a SIGTERM, with 0."""
    status, _, err = play(f"{kind}:2x2,kill=3@1,stop=2", "/probe", "/dev/null", "serve=15")
    assert status == 137, err
    assert re.search(r"simulated: SIGKILL for rank 3 \(pid \d+\)", err), err
    status, _, err = play(f"{kind}:2x2,stop=1", "/probe", "/dev/null", "serve=15")
    assert status == 0, err
    assert "simulated: SIGTERM for the whole job" in err
