# SPDX-License-Identifier: Apache-2.0
"""
Images and environments that nobody should have made: checks say what they can
see, and neither crash nor hang. The readers alone meet the same in tests/unit
and tests/fuzz; here it is the release binary.
"""

import json
import os
import stat
import subprocess

import pytest

from box import BASE
from test_check_hosts import FULL, grow

TABLE = "etc/ld.so.cache"
LIBRARY = "usr/lib/libmpi.so.40.30.4"
SOFTWARE = "--checks=mpi.*,ib.libs,ib.provider"
SANE = {"pass", "note", "warn", "skip", "unknown"}


def look(rankinit, root, *options, env=None):
    """check -> [(status, code)]; none of them went wrong itself."""
    done = subprocess.run([rankinit, f"--root={root}", "--check=json", *options],
                          env={**BASE, **(env or {})}, capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 0 and done.stderr == b"", (done.returncode, done.stderr)
    said = {}
    for one in json.loads(done.stdout)["checks"]:
        assert one["status"] in SANE
        assert not (one["code"] or "").startswith("check."), one
        said.setdefault(one["id"], []).append((one["status"], one["code"]))
    return said


@pytest.fixture(name="root")
def root_fixture(tmp_path):
    root = str(tmp_path / "root")
    grow(FULL, root)
    return root


def cut(path, look_now):
    """What look_now says of the file cut to each size, from all of it on."""
    said = {}
    for size in range(os.path.getsize(path), -1, -1):
        os.truncate(path, size)
        said[size] = look_now()
    return said


def test_library_cut_at_every_byte(rankinit, root):
    said = cut(f"{root}/{LIBRARY}", lambda: look(rankinit, root, SOFTWARE)["mpi.present"])
    assert said[len(said) - 1] == [("pass", None)], "whole"
    assert {tuple(said[size]) for size in range(len(said) - 1)} == {
        (("note", "mpi.present.broken"),)}


def test_library_with_every_byte_changed(rankinit, root):
    """It says what it likes, or nothing."""
    path = f"{root}/{LIBRARY}"
    with open(path, "r+b", buffering=0) as file:
        whole = file.read()
        for at in range(len(whole)):
            os.pwrite(file.fileno(), bytes([whole[at] ^ 0xff]), at)
            look(rankinit, root, "--checks=mpi.present,mpi.match,mpi.ucx")
            os.pwrite(file.fileno(), whole[at:at + 1], at)
    assert look(rankinit, root, SOFTWARE)["mpi.present"] == [("pass", None)]


def test_table_cut_at_every_byte(rankinit, root):
    """ldconfig's own; what it does not tell any more is in the usual folders."""
    with open(f"{root}/etc/ld.so.conf", "w", encoding="ascii") as file:
        file.write("/usr/lib\n")
    made = subprocess.run(["/sbin/ldconfig", "-r", root, "-X"], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("no ldconfig: " + made.stderr.decode().strip())
    said = cut(f"{root}/{TABLE}", lambda: look(rankinit, root, SOFTWARE))
    assert len(said) > 100
    assert {tuple(one["mpi.present"] + one["ib.libs"]) for one in said.values()} == {
        (("pass", None), ("pass", None))}


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def filled(path):
    with open(path, "wb") as file:
        file.write(b"9" * (1 << 20))


KINDS = {
    "empty": lambda path: open(path, "wb").close(),
    "digits": filled,
    "sparse": sparse,
    "folder": os.mkdir,
    "loop": lambda path: os.symlink(os.path.basename(path), path),
    "outside": lambda path: os.symlink("/" + "../" * 20 + "etc/passwd", path),
    "fifo": os.mkfifo,
    "zeroes": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
    "tty": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(5, 0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_something_else(rankinit, root, kind):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            os.unlink(path)
            try:
                KINDS[kind](path)
            except PermissionError as error:
                pytest.skip(f"no device node can be made here: {error}")
    said = look(rankinit, root, "--checks=all")
    assert said["lim.nofile"] == [("unknown", "lim.nofile.unknown")]


def test_a_hundred_thousand_mounts(rankinit, root):
    """More than is read is not known; of fewer each is, those with a blank as well."""
    line = "9 8 0:1 / /mnt/m\\040{} rw - fuse blobfuse2 rw\n"
    path = f"{root}/proc/self/mountinfo"
    with open(path, encoding="ascii") as file:
        before = file.read()
    data = {"AZ_BATCHAI_INPUT_A": "/mnt/m 7/x"}
    for count, shm, slow in ((100, ("pass", None), ("note", "fs.data.slow")),
                             (100000, ("unknown", "shm.size.unknown"),
                              ("unknown", "fs.data.unknown"))):
        with open(path, "w", encoding="ascii") as file:
            file.writelines([before, *(line.format(number) for number in range(count))])
        said = look(rankinit, root, "--checks=all", env=data)
        assert (said["shm.size"], said["fs.data"]) == ([shm], [slow])


@pytest.mark.parametrize("value", ["9," * 60000, "G" * 120000, "GPU-" * 30000, "," * 120000,
                                   "MIG-\n" * 20000, "\xff\xfe" * 30000])
def test_a_long_list_of_gpus(rankinit, root, value):
    look(rankinit, root, "--checks=all", env={"CUDA_VISIBLE_DEVICES": value})


@pytest.mark.parametrize("name", ["LD_LIBRARY_PATH", "PATH", "OMPI_MCA_pml", "HOME", "I_MPI_ROOT",
                                  "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
                                  "UCX_IB_PKEY", "NVIDIA_DRIVER_CAPABILITIES",
                                  "AZ_BATCHAI_INPUT_A"])
def test_a_long_variable(rankinit, root, name):
    # each folder is looked into, as programs and loaders do
    folders = 1000 if name.endswith("PATH") else 40000
    for value in ("/x:" * folders, "=" * 120000, "^," * 60000, "../" * 40000):
        look(rankinit, root, "--checks=all", env={name: value})
