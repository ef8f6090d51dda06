# SPDX-License-Identifier: Apache-2.0
"""What "deep" finds with the packages of this machine, whole and broken."""

import json
import os
import re
import shutil
import subprocess

import pytest

from box import BASE
from deep import look, of, brief, probe_fixture
from image import MACHINE
from peek import PATIENCE

__all__ = ["probe_fixture"]     # a fixture, by its own name


def own(pattern):
    """The library that this machine's loader takes."""
    table = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    found = re.search(rf"^\t{pattern} \(.*=> (\S+)$", table.stdout, re.M)
    return found[1] if found else None


def needs(*paths):
    """All files that these load."""
    out = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", out, re.M)) | set(paths)


@pytest.fixture(scope="session", name="image")
def image_fixture(rankinit, probe, tmp_path_factory):
    """Debian's Open MPI and rdma-core with what they need, and nothing else: root, {name: path}."""
    libraries = {"mpi": own(r"libmpi\.so\.40"), "verbs": own(r"libibverbs\.so\.1")}
    if None in libraries.values() or os.geteuid() != 0:
        pytest.skip("there is no Open MPI, no rdma-core, or we are not root")
    root = str(tmp_path_factory.mktemp("image"))
    for path in needs(probe, *libraries.values()):
        target = root + ("/bin/rankinit-probe" if path == probe else path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)
    shutil.copy(rankinit, root + "/bin/rankinit")
    os.makedirs(root + "/dev")
    os.mknod(root + "/dev/null", 0o20666, os.makedev(1, 3))
    os.makedirs(root + "/etc")
    subprocess.run(["/sbin/ldconfig", "-r", root], check=True, capture_output=True)
    return root, libraries


def enter(root):
    return {"preexec_fn": lambda: (os.chroot(root), os.chdir("/"))}


def seen(image, name, *options):
    """What is said of libmpi, or of libibverbs."""
    check = IMAGE[name][0]
    status, checks = look("/bin/rankinit", f"--checks={check}", *options, env={"PATH": "/bin"},
                          **enter(image[0]))
    found, = of(checks, check)
    return status, found


def test_this_machine(rankinit, probe, tool):
    """The versions that the packages' own tools tell."""
    _, checks = look(rankinit, "--require=mpi")
    texts = {os.path.basename(check["subject"]): check["text"]
             for check in of(checks, "mpi.version")}
    said = subprocess.run([tool("ompi_info"), "--version"], capture_output=True, text=True,
                          check=True).stdout
    version = re.search(r"^Open MPI v(\S+)", said, re.M)[1]
    assert texts["libmpi.so.40"] == f"Open MPI {version}, as it reports itself"
    if "libmpich.so.12" in texts:
        said = subprocess.run([tool("mpichversion")], capture_output=True, text=True,
                              check=True).stdout
        version = re.search(r"^MPICH Version:\s*(\S+)", said, re.M)[1]
        assert texts["libmpich.so.12"] == f"MPICH {version}, as it reports itself"


def test_this_machine_s_adapters(rankinit, probe, tool):
    """As many as ibv_devinfo finds; the release is the package's."""
    listed = subprocess.run([tool("ibv_devinfo"), "-l"], capture_output=True, text=True,
                            check=False)
    count = re.search(r"^(\d+) HCA", listed.stdout, re.M)
    path = own(r"libibverbs\.so\.1")
    release = re.search(r"\.so\.\d+\.\d+\.(\d+)\.", os.path.realpath(path))[1]
    found = of(look(rankinit)[1], "ib.verbs")
    if count is None or count[1] == "0":
        assert [(check["status"], check["subject"]) for check in found] == [("pass", path)]
        assert found[0]["text"] == (f"can be loaded (rdma-core {release}); there is no adapter "
                                    "to open")
    else:
        assert len(found) == int(count[1])


IMAGE = {
    "mpi": ["mpi.version", "mpi.version.unloaded", "mpi.version.crashed", "mpi.version.missing"],
    "verbs": ["ib.verbs", "ib.verbs.unloaded", "ib.verbs.crashed", "ib.verbs.missing"],
}


@pytest.mark.parametrize("name", IMAGE)
def test_image(image, name):
    check, unloaded, crashed, missing = IMAGE[name]
    root, libraries = image
    path = root + libraries[name]
    with open(path, "rb") as file:
        whole = file.read()

    def write(data):
        with open(path, "wb") as file:
            file.write(data)
    try:
        assert seen(image, name)[1]["status"] == "pass", "the control"
        # the loader looks at its beginning alone, and then what is mapped is not there
        for size, code, text in ((40, unloaded, ": file too short"),
                                 (len(whole) // 2, crashed, "by SIGBUS, while the library was "
                                  "loaded; the file is truncated or damaged")):
            write(whole[:size])
            status, found = seen(image, name, f"--require={check}")
            assert (status, found["code"]) == (123, code)
            assert found["subject"] == libraries[name] and text in found["text"]
        write(whole[:MACHINE] + b"\xf3" + whole[MACHINE + 1:])    # RISC-V
        status, found = seen(image, name, f"--require={check}")
        assert (status, found["code"]) == (123, missing)
        assert "is for another processor" in found["text"]
        os.remove(path)
        status, found = seen(image, name, f"--require={check}")
        assert (status, found["code"]) == (123, missing)
        assert "is listed in /etc/ld.so.cache, but missing" in found["text"]
        assert seen(image, name)[0] == 0, "a note, where nobody asks"
    finally:
        write(whole)


def test_a_library_that_another_one_needs(image):
    root, libraries = image
    needed = sorted(needs(libraries["mpi"]))
    path = root + next(path for path in needed if "libopen-pal" in path)
    os.rename(path, path + ".away")
    try:
        _, found = seen(image, "mpi")
        assert (found["status"], found["code"]) == ("note", "mpi.version.unloaded")
        assert "libopen-pal.so" in found["text"]
        assert seen(image, "mpi", "--require=mpi")[0] == 123
    finally:
        os.rename(path + ".away", path)


SETUP = """
set -e
mount --make-rprivate /
mount --bind "$ROOT/class" /sys/class
mount -t tmpfs tmpfs /mnt
mkdir /mnt/shm
for node in null zero full random urandom tty; do
    touch "/mnt/$node"
    mount --bind "/dev/$node" "/mnt/$node"
done
if [ -n "$NODE" ]; then
    mkdir /mnt/infiniband
    cp -a "/dev/$NODE" /mnt/infiniband/uverbs0
fi
mount --rbind /mnt /dev
exec "$@"
"""

ADAPTER = {
    "infiniband/mlx5_ib0/node_type": "1: CA",
    "infiniband/mlx5_ib0/node_guid": "0015:5dff:fe33:ff01",
    "infiniband/mlx5_ib0/device/modalias": "pci:v000015B3d0000101Csv*sd*bc*sc*i*",
    "infiniband/mlx5_ib0/ports/1/link_layer": "InfiniBand",
    "infiniband/mlx5_ib0/ports/1/state": "4: ACTIVE",
    "infiniband_verbs/abi_version": "6",
    "infiniband_verbs/uverbs0/ibdev": "mlx5_ib0",
    "infiniband_verbs/uverbs0/abi_version": "1",
}


NUMBERS = {"null": "1:3", "full": "1:7", "": "1:3"}


def with_adapter(tmp_path, tool, node, *words):
    """A command where sysfs has one adapter, whose node is another device, or missing."""
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    if os.path.exists("/sys/class/infiniband"):
        pytest.skip("this machine has adapters of its own")
    files = {**ADAPTER, "infiniband_verbs/uverbs0/dev": NUMBERS[node]}
    for name, content in files.items():
        file = tmp_path / "class" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n")
    done = subprocess.run([tool("unshare"), "-m", "sh", "-c", SETUP, "sh", *words],
                          env={**BASE, "ROOT": str(tmp_path), "NODE": node},
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    if "ermission" in done.stderr:
        pytest.skip("a mount namespace cannot be made here")
    return done


@pytest.mark.parametrize("node, code, subject, text", [
    ("full", "ib.verbs.open", "mlx5_ib0", "seen by libibverbs, but cannot be opened: No space"),
    ("", "ib.verbs.none", None, "finds none of the 1 adapters that sysfs shows (rdma-core"),
])
def test_the_real_library_and_an_adapter(rankinit, probe, tmp_path, tool, node, code, subject,
                                         text):
    """Its node is not there, or answers with errors."""
    path = own(r"libibverbs\.so\.1")
    if path is None:
        pytest.skip("there is no rdma-core")
    done = with_adapter(tmp_path, tool, node, rankinit, "--check=json", "--expect=deep",
                        "--checks=ib.verbs,ib.memory", "--require=ofed")
    assert done.returncode == 123, done.stderr
    checks = json.loads(done.stdout)["checks"]
    found, = of(checks, "ib.verbs")
    assert (found["status"], found["code"], found["subject"]) == ("fail", code, subject or path)
    assert text in found["text"]
    assert brief(checks, "ib.memory") == [("skip", None)]


def test_the_real_library_and_an_adapter_that_opens(rankinit, probe, tmp_path, tool):
    """What /dev/null answers is taken for success; ibv_devinfo sees the same."""
    done = with_adapter(tmp_path, tool, "null", rankinit, "--check=json", "--expect=deep",
                        "--checks=ib.verbs,ib.memory")
    found, = of(json.loads(done.stdout)["checks"], "ib.verbs")
    said = with_adapter(tmp_path, tool, "null", tool("ibv_devinfo")).stdout
    assert found["subject"] == re.search(r"hca_id:\s*(\S+)", said)[1] == "mlx5_ib0"
    assert found["text"].startswith("can be opened")
    firmware = re.search(r"fw_ver:\s*(\S+)", said)[1]
    assert f"firmware {firmware}" in found["text"]
