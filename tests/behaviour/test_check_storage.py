# SPDX-License-Identifier: Apache-2.0
"""
Checks of storage and of the clock on this very machine: a FUSE file system
whose process never answers or is gone, a small one that is full, a folder for
temporary files that is not there.
"""

import json
import os
import subprocess
import sys
import tempfile

import pytest

from box import BASE

# argv: what becomes of the file system, where to mount it, the command
STUCK = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x20000)
libc.mount(b"none", b"/", None, 1 << 14 | 1 << 18, None)
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"stuck", sys.argv[2].encode(), b"fuse", 0, options) != 0:
    print("mount:", os.strerror(ctypes.get_errno()), file=sys.stderr)
    sys.exit(77)
if sys.argv[1] == "gone":
    os.close(fd)
sys.exit(subprocess.run(sys.argv[3:], timeout=30, check=False).returncode)
"""


def check(rankinit, checks, *words, before=(), **env):
    done = subprocess.run([*before, rankinit, "--check=json", f"--checks={checks}", *words],
                          env={**BASE, **env}, capture_output=True, timeout=60, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.decode())
    assert done.returncode in (0, 123), done.stderr.decode()
    return json.loads(done.stdout)["checks"]


def short(checks):
    return [(result["status"], result["code"], result["subject"]) for result in checks]


def mounted(rankinit, tmp_path, kind, checks="fs.hang", *words):
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("a FUSE file system needs root and /dev/fuse")
    point = tmp_path / "stuck"
    point.mkdir()
    before = [sys.executable, "-c", STUCK, kind, str(point)]
    return str(point), check(rankinit, checks, *words, before=before)


def test_a_mount_that_never_answers_is_named(rankinit, tmp_path):
    point, checks = mounted(rankinit, tmp_path, "stuck", "fs.hang,fs.tmp")
    assert ("unknown", "check.hung", point[:95]) in short(checks)
    assert [result["id"] for result in checks] == ["fs.tmp", "fs.hang"], "what was said stays"


def test_a_mount_without_its_process(rankinit, tmp_path):
    point, checks = mounted(rankinit, tmp_path, "gone")
    assert short(checks) == [("warn", "fs.hang.dead", point[:95])]


def test_required(rankinit, tmp_path):
    _, checks = mounted(rankinit, tmp_path, "gone", "fs.hang", "--require=fs.hang")
    assert [result["status"] for result in checks] == ["fail"]


def test_mounts_that_answer(rankinit):
    """The control: whatever is mounted here does."""
    assert [result["status"] for result in check(rankinit, "fs.hang")] in (["pass"], ["skip"])


SMALL = 'mount --make-rprivate / && mount -t tmpfs -o "$OPTIONS" tmpfs "$DIR" && exec "$@"'


@pytest.mark.parametrize("options, code", [("size=1m", "fs.space.small"),
                                           ("size=2g,nr_inodes=50", "fs.space.files"),
                                           ("size=2g,nr_inodes=50000", None)])
def test_space(rankinit, tmp_path, options, code):
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    words = ["unshare", "-m", "sh", "-c", SMALL, "sh"]
    checks = check(rankinit, "fs.space", before=words, OPTIONS=options, DIR=str(tmp_path),
                   TMPDIR=str(tmp_path), SM_MODEL_DIR=str(tmp_path / "model" / "new"))
    status = "note" if code else "pass"
    assert short(checks) == [(status, code, "TMPDIR"), (status, code, "SM_MODEL_DIR")]
    assert all(bool(result["hint"]) == bool(code) for result in checks)


def test_no_temporary_folder(rankinit):
    gone = tempfile.mkdtemp(dir="/tmp")     # tmp_path can be too long for sockets
    os.rmdir(gone)
    assert short(check(rankinit, "fs.tmp", TMPDIR=gone)) == [("warn", "fs.tmp.absent", "TMPDIR")]
    os.mkdir(gone)
    try:
        assert short(check(rankinit, "fs.tmp", TMPDIR=gone)) == [("pass", None, "TMPDIR")]
    finally:
        os.rmdir(gone)


READ_ONLY = 'mount --bind "$DIR" "$DIR" && mount -o remount,ro,bind "$DIR" && exec "$@"'


def test_read_only(rankinit, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    words = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh"]
    checks = check(rankinit, "fs.out,fs.tmp", before=words, DIR=str(tmp_path),
                   TMPDIR=str(tmp_path), AZ_BATCHAI_OUTPUT_MODEL=f"{tmp_path}/model")
    assert short(checks) == [("warn", "fs.out.denied", "AZ_BATCHAI_OUTPUT_MODEL"),
                             ("warn", "fs.tmp.denied", "TMPDIR")]


CD = 'cd "$0" && exec "$@"'


@pytest.mark.parametrize("words", [["--data-dir", "stuck"], ["--data-dir=./stuck"], ["./stuck"]])
def test_relative_data(rankinit, tmp_path, words):
    """From the working directory on; the hint says how to be told no more."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("a FUSE file system needs root and /dev/fuse")
    (tmp_path / "stuck").mkdir()
    before = [sys.executable, "-c", STUCK, "stuck", str(tmp_path / "stuck"), "sh", "-c", CD,
              str(tmp_path)]
    found = {}
    for level, nodes in ("warn", 2), ("note", 1):
        found[level], = check(rankinit, "fs.data", f"--nnodes={nodes}", "--node-rank=0", "--",
                              "python3", "train.py", *words, before=before)
        assert (found[level]["status"], found[level]["code"]) == (level, "fs.data.shared")
        assert f'"{tmp_path}/stuck" is on ' in found[level]["text"]
    way = "--checks=default,^fs.data"
    assert way in found["warn"]["hint"] and way not in found["note"]["hint"]
    # the controls: the same word where nothing is called so, and what is no path
    for place, other, status in (("/", words, "skip"),
                                 (tmp_path, ["--data-dir", "s3://stuck/"], "skip"),
                                 (tmp_path, ["--dataset", "imagenet"], "skip"),
                                 (tmp_path, ["--dataset", "stuck"], "pass")):
        result, = check(rankinit, "fs.data", "--", "python3", "train.py", *other,
                        before=["sh", "-c", CD, str(place)])
        assert result["status"] == status, result


def test_relative_output(rankinit, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    command = ["--", "python3", "train.py", "--output-dir", "out/new"]
    for script, expected in ((READ_ONLY.replace('exec "$@"', CD), ("warn", "fs.out.denied")),
                             (CD, ("pass", None))):
        before = ["unshare", "-m", "sh", "-c", script, str(tmp_path)]
        result, = check(rankinit, "fs.out", *command, before=before, DIR=str(tmp_path))
        assert (result["status"], result["code"]) == expected
        assert f'"{tmp_path}/out/new"' in result["text"]


def test_master(rankinit):
    """By name; asked for alone, since a name may come later."""
    for name, expected in (("localhost", ("pass", None)), ("10.0.0.1", ("pass", None)),
                           ("nobody.invalid", ("note", "net.master.unresolved"))):
        made = short(check(rankinit, "net.master", MASTER_ADDR=name))
        # without a name service it may hang, which is said
        assert made[0][:2] == expected or made == [("unknown", "check.hung", name)]
    done = subprocess.run([rankinit, "--check=json"], env={**BASE, "MASTER_ADDR": "localhost"},
                          capture_output=True, timeout=60, check=True)
    assert '"net.master"' not in done.stdout.decode()
