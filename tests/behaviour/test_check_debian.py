# SPDX-License-Identifier: Apache-2.0
"""
What is said of Debian's own packages, in roots that `make roots` makes: the
versions are those that its programs and its package manager tell.
"""

import os
import re
import subprocess

import pytest

from box import BASE
from test_check_hosts import FULL, WIDE, grow
from toggle import parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOTS = os.path.join(HERE, "..", "..", "build", "roots")
USUAL = {**BASE, "PATH": "/usr/bin:/bin", "HOME": "/root"}
# $1 changes the root for this one look.
ENTER = """
set -e
mount --make-rprivate /
mount -t proc proc "$ROOT/proc"
mount -t tmpfs none "$ROOT/opt"
eval "$1"
shift
"""
LIVE = ENTER + 'mount --bind "$TOOLS" "$ROOT/media"; exec /usr/sbin/chroot "$ROOT" "$@"'
RECORDED = ENTER + 'umount "$ROOT/proc"; eval "$RECORD"; exec "$@"'
# A prefix as conda makes them, with an mpirun that is MPICH's own launcher.
CONDA = """
mkdir -p "$ROOT/opt/conda/conda-meta" "$ROOT/opt/conda/bin"
touch "$ROOT/opt/conda/conda-meta/history"
ln -s /usr/bin/mpiexec.hydra "$ROOT/opt/conda/bin/mpirun"
"""
CONDA_PATH = {"PATH": "/opt/conda/bin:/usr/bin:/bin"}
NO_MPICH = """
for library in "$ROOT"/usr/lib/*/libmpich.so.12.*; do
    mount --bind /dev/null "$library"
done
"""


class Debian:
    """A root, of which nothing is changed for good."""

    def __init__(self, root, tools):
        self.root, self.tools = root, tools

    def run(self, script, words, change="", env=None):
        return subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", change, *words],
            env={**USUAL, "ROOT": self.root, "TOOLS": self.tools, **(env or {})},
            capture_output=True, timeout=60, check=False)

    def says(self, expression, *words, **options):
        """What a program of it says."""
        done = self.run(LIVE, words, **options)
        return re.search(expression, done.stdout.decode(), re.M)[1]

    def version(self, package):
        """Upstream's, without the epoch and Debian's own part."""
        done = subprocess.run(["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W",
                               "-f", "${Version}", package], capture_output=True, timeout=60,
                              check=True)
        return re.sub(r"^\d+:|^.*really|-[^-]*$", "", done.stdout.decode())


@pytest.fixture(scope="session", name="debian", params=["bookworm", "trixie"])
def debian_fixture(request, rankinit, nsrun):
    assert nsrun
    root = os.path.realpath(f"{ROOTS}/{request.param}/root")
    if not os.path.exists(os.path.dirname(root) + "/done"):
        pytest.skip(f"build/roots/{request.param} is not there: make roots")
    return Debian(root, os.path.dirname(rankinit))


@pytest.fixture(name="look", params=["recorded", "live"])
def look_fixture(request, debian, rankinit):
    """look(words, change, **env): check -> [(status, code, subject, text)]; its files, or in it."""
    def look(words=(), change="", **env):
        options = ["--check=json", *words]
        if request.param == "live":
            done = debian.run(LIVE, ["/media/rankinit", *options], change, env)
        else:
            done = debian.run(RECORDED, [rankinit, f"--root={debian.root}", *options], change,
                              {"RECORD": "", **env})
        said = {}
        document = parse(done)
        said.update(document["facts"])
        for one in document["checks"]:
            said.setdefault(one["id"], []).append(
                (one["status"], one["code"], one["subject"], one["text"]))
        return said
    return look


def shown(version, text):
    """"MPICH 4.2.1", or as much as a library tells: 4.2 by its name from 4.2 on."""
    name, _, told = text.partition(" ")
    return name == "MPICH" and told.count(".") and f"{version}.".startswith(f"{told}.")


def test_versions(debian, look):
    """As ompi_info, mpirun, mpichversion and dpkg say."""
    ompi = debian.says(r"^Open MPI v(\S+)", "ompi_info", "--version")
    mpich = debian.says(r"^MPICH Version:\s*(\S+)", "mpichversion")
    assert debian.says(r"^mpirun \(Open MPI\) (\S+)", "mpirun", "--version") == ompi
    assert (debian.version("openmpi-bin"), debian.version("mpich")) == (ompi, mpich)
    said = look(["--require=mpi"])
    assert [text for _, _, _, text in said["mpi.present"]] == [f"Open MPI {ompi}"]
    first, second = (text.split(" (")[0] for text in said["mpi"].split(", "))
    assert first == f"Open MPI {ompi}" and shown(mpich, second)
    assert said["mpi.launcher"] == [("pass", None, "/usr/bin/mpirun", f"Open MPI {ompi}")]
    assert said["mpi.match"][0][:3] == ("pass", None, "/usr/bin/mpirun")
    assert said["mpi.root"][0][:3] in (("note", "mpi.root.guard", "/usr/bin/mpirun"),
                                       ("unknown", "mpi.root.unknown", "/usr/bin/mpirun"),
                                       ("skip", "check.image", "mpi.root"))


def test_rdma_core(debian, look):
    version = debian.version("libibverbs1")
    names = [name for _, _, names in os.walk(debian.root + "/usr/lib") for name in names]
    numbers = {re.search(r"-rdmav(\d+)\.so", name)[1] for name in names if "-rdmav" in name}
    said = look(["--require=ib"])
    assert len(numbers) == 1 and debian.version("rdma-core") == version
    assert said["ib.libs"][0][:2] == ("pass", None)
    assert said["rdma_libraries"] == (
        f"rdma-core {version.split('.', maxsplit=1)[0]}, private interface {numbers.pop()}")


def test_the_file_against_ucx(look):
    """Debian's package brings it."""
    (status, code, path, text), = look(["--expect=ib"])["mpi.mca"]
    assert (status, code) == ("warn", "mpi.mca.ucx_off")
    assert path == "/etc/openmpi/openmpi-mca-params.conf" and '"^ucx"' in text
    (status, code, path, _), = look(["--expect=ib"], OMPI_MCA_pml="ucx")["mpi.mca"]
    assert (status, code, path) == ("pass", None, "OMPI_MCA_pml")
    assert look(["--expect=ib"])["mpi.ucx"][0][0] == "pass"


def test_conda_first(debian, look):
    """Programs of Open MPI would each be rank 0 of one; those of MPICH run."""
    mpich = debian.says(r"^\s*Version:\s*(\S+)", "mpirun", "--version", change=CONDA,
                        env=CONDA_PATH)
    said = look(["--require=mpi"], CONDA, **CONDA_PATH)
    assert said["mpi.launcher"][0][:3] == ("pass", None, "/opt/conda/bin/mpirun")
    assert said["mpi.match"][0][:3] == ("pass", None, "/opt/conda/bin/mpirun")
    assert said["mpi.match"][0][3].endswith(".so.12")
    assert shown(mpich, re.search(r"MPICH [\d.]+", said["mpi"])[0])
    alone = look(["--require=mpi"], CONDA + NO_MPICH, **CONDA_PATH)
    (status, code, path, text), = alone["mpi.match"]
    assert (status, code, path) == ("fail", "mpi.match.mixed", "/opt/conda/bin/mpirun")
    assert text.startswith("MPICH ") and "Open MPI" in text


def test_on_a_node_with_adapters(debian, rankinit, tmp_path):
    """What the packages bring fits the driver; their MPI would go by TCP."""
    root = str(tmp_path / "root")
    grow(FULL, root)
    record = 'for part in proc sys dev; do mount --bind "$NODE/$part" "$ROOT/$part"; done'
    options = [f"--root={debian.root}", "--check=json", "--checks=ib.*,mpi.*",
               "--require=ib=8,ofed,mpi"]
    done = debian.run(RECORDED, [rankinit, *options], "", {
        "RECORD": record, "NODE": root, **dict(word.split("=") for word in WIDE)})
    bad = {one["id"]: one["status"] for one in parse(done)["checks"]
           if one["status"] not in ("pass", "note", "skip", "unknown")}
    assert (done.returncode, bad) == (0, {"mpi.mca": "warn"})
