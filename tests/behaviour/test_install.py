# SPDX-License-Identifier: Apache-2.0
"""--install: a copy of the program, for containers whose image has neither it nor a cp."""

import os
import signal
import stat

import pytest

from box import refused, warned


def content(path):
    with open(path, "rb") as file:
        return file.read()


def check_copy(folder, program):
    """It is there, whole, and all that is there."""
    assert os.listdir(folder) == ["rankinit"]
    info = os.lstat(f"{folder}/rankinit")
    assert stat.S_ISREG(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o755
    assert content(f"{folder}/rankinit") == content(program)


@pytest.mark.parametrize("umask", ["000", "077"])
def test_a_copy_that_runs(box, tmp_path, umask):
    result = box.run(f"--install={tmp_path}", shell=f"umask {umask}")
    assert (result.status, result.out, result.err) == (0, b"", "")
    check_copy(tmp_path, box.rankinit)
    copied = box.run("--version", program=f"{tmp_path}/rankinit")
    assert copied.status == 0
    assert copied.out == box.run("--version").out


def test_the_control_copies_nothing(box, tmp_path):
    assert box.run("--", "true", cwd=tmp_path).status == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("folder", [".", "below/", "./below/../below"])
def test_a_folder_by_another_name(box, tmp_path, folder):
    (tmp_path / "below").mkdir()
    assert box.run("--install", folder, cwd=tmp_path).status == 0
    assert "rankinit" in os.listdir(tmp_path / folder)


@pytest.mark.parametrize("proc", ["", "mkdir root/proc && mount -t proc none root/proc &&"])
def test_a_root_that_has_the_program_alone(box, proc):
    """As an initContainer of the image of one file has it; without /proc besides."""
    shell = ("mount --make-rprivate / && mkdir root kept && mount -t tmpfs none root && "
             f"cp {box.rankinit} root/rankinit && mkdir root/shared && {proc} "
             "mount --bind kept root/shared && set -- chroot root \"$@\"")
    job = box.start("--install=/shared", program="/rankinit", shell=shell)
    result = job.wait()
    assert (result.status, result.out, result.err) == (0, b"", "")
    check_copy(os.path.join(job.folder, "kept"), box.rankinit)


def test_a_program_that_runs_is_replaced(box, tmp_path):
    """The one that runs goes on with what it was, and a reader of the old one, too."""
    old = tmp_path / "rankinit"
    old.write_bytes(content(box.rankinit) + b"old")
    old.chmod(0o700)
    job = box.start("--", "sh", "-c", "echo ready >>@FOLDER/log; exec sleep 60", program=str(old))
    job.until("ready")
    with open(old, "rb") as reader:
        assert box.run(f"--install={tmp_path}").status == 0
        check_copy(tmp_path, box.rankinit)
        assert reader.read().endswith(b"old")
    assert os.stat(f"/proc/{job.pid}/exe").st_ino != os.stat(old).st_ino
    job.signal(signal.SIGTERM)
    assert job.wait().status == 143


def test_a_copy_of_a_copy_in_its_own_place(box, tmp_path):
    for program in (box.rankinit, f"{tmp_path}/rankinit"):
        assert box.run(f"--install={tmp_path}", program=program).status == 0
        check_copy(tmp_path, box.rankinit)


MOUNT = "mount --make-rprivate / && mkdir shared && mount -t tmpfs {} none shared"
NOT_THERE = "its folder must exist and be writable"


@pytest.mark.parametrize("shell, why", [
    (":", f"No such file or directory; {NOT_THERE}"),
    ("touch shared", f"Not a directory; {NOT_THERE}"),
    ("mkdir -p shared/rankinit", "Is a directory; give the path of a file"),
    ("ln -s shared shared", "its symbolic links lead back to each other, or are more than 40"),
    (MOUNT.format("-o ro"), f"Read-only file system; {NOT_THERE}"),
    (MOUNT.format("-o size=64k"), "No space left on device"),
    (MOUNT.format("-o nr_inodes=1"), "No space left on device"),
])
def test_a_folder_that_takes_none(box, shell, why):
    job = box.start("--install=@FOLDER/shared", shell=f"{shell}; umask 022")
    error = refused(job.wait(), 125, "install.refused", "--install")
    assert f'"{job.folder}/shared/rankinit" cannot be written: {why}' in error


def test_what_does_not_fit_leaves_what_was_there(box):
    shell = MOUNT.format("-o size=64k") + "; echo old >shared/rankinit"
    after = '; "$@"; echo $? $(ls -A shared) $(cat shared/rankinit); exit'
    result = box.run("--install=shared", shell=shell + after)
    assert "No space left on device [install.refused]" in result.err
    assert result.out == b"125 rankinit old\n"


def test_a_folder_of_another_user(box, tmp_path):
    """Without root's rights; the control is the same folder, opened to the user."""
    tmp_path.chmod(0o755)
    words = ["-c", 'exec setpriv --reuid=1000 --regid=1000 --clear-groups "$@"', "sh",
             box.rankinit, f"--install={tmp_path}"]
    error = refused(box.run(*words, program="/bin/sh"), 125, "install.refused", "--install")
    assert f"Permission denied; {NOT_THERE}" in error
    assert os.listdir(tmp_path) == []
    tmp_path.chmod(0o777)
    assert box.run(*words, program="/bin/sh").status == 0
    check_copy(tmp_path, box.rankinit)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_no_regular_file_is_written_to(box, tmp_path, kind):
    path = tmp_path / "rankinit"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    error = refused(box.run(f"--install={tmp_path}"), 125, "install.refused", "--install")
    assert "is there and is no regular file" in error
    assert os.listdir(tmp_path) == ["rankinit"] and not path.is_file()


def test_words_that_do_not_fit(box, tmp_path):
    error = refused(box.run(f"--install={tmp_path}", "--", "true"), 125, "option.conflict",
                    "--install")
    assert "leave the command out" in error
    refused(box.run("--install"), 125, "option.missing", "--install")
    refused(box.run("--install="), 125, "option.missing", "--install")
    refused(box.run(f"--install={tmp_path}", "--explain"), 125, "option.conflict", "--explain")
    result = box.run("--", "true", env={"RANKINIT_INSTALL": str(tmp_path)})
    assert result.status == 0
    warned(result, "option.twin", "RANKINIT_INSTALL")
    assert os.listdir(tmp_path) == []


def test_variables_of_a_job_change_nothing(box, tmp_path):
    """The pod's containers may have one environment."""
    env = {"RANKINIT_SIMULATE": "azureml_mpi:2x2", "RANKINIT_REQUIRE": "gpu=64",
           "RANKINIT_DISABLE": "1", "OMPI_COMM_WORLD_RANK": "x"}
    for left_out in (None, "RANKINIT_DISABLE"):
        result = box.run(f"--install={tmp_path}", env={**env, left_out: None} if left_out else env)
        assert (result.status, result.err) == (0, "")
        check_copy(tmp_path, box.rankinit)
