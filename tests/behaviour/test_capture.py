# SPDX-License-Identifier: Apache-2.0
"""--capture: a folder with what was read, by which the same is explained elsewhere."""

import os
import pathlib
import subprocess
import sys

import pytest

from box import BASE, refused, Result
from peek import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))
sys.path.insert(0, str(ROOT / "tests" / "hosts"))
import cases  # noqa: E402  pylint: disable=wrong-import-position
import grow  # noqa: E402  pylint: disable=wrong-import-position
import run as golden  # noqa: E402  pylint: disable=wrong-import-position


def run(words, env, **more):
    return subprocess.run(list(map(str, words)), env=env, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, errors="surrogateescape", timeout=PATIENCE,
                          check=False, **more)


def as_result(done):
    return Result(done.returncode, done.stdout.encode(), done.stderr)


def explained_and_captured(program, machine, folder, env, words):
    """What --explain prints, and the capture of it."""
    explained = run([program, f"--root={machine}", "--explain", *words], env)
    done = run([program, f"--root={machine}", f"--capture={folder}", *words], env)
    assert (done.returncode, done.stderr) == (0, ""), done
    return explained, cases.Capture.read(folder)


@pytest.mark.parametrize("source", sorted({case.name.partition("/")[0] for case in cases.load()}))
def test_every_golden_case_can_be_replayed(rankinit, tmp_path, at_once, source):
    def look(number_and_case):
        number, case = number_and_case
        case.put_machine(tmp_path / f"machine{number}")
        words = [*(case.options or []), "--", *(case.command or ["true"])]
        explained, capture = explained_and_captured(
            rankinit, tmp_path / f"machine{number}", tmp_path / str(number),
            dict(line.split("=", 1) for line in case.env), words)
        assert list(golden.faults_of_capture(rankinit, capture.folder)) == [], case.name
        assert explained.stdout == capture.explain, case.name
        replayed = run(capture.command(rankinit), capture.env)
        assert replayed.returncode == explained.returncode, case.name
        # variables that were not asked for are not there
        assert set(capture.env) <= {line.partition("=")[0] for line in case.env}
    assert at_once(look, enumerate(cases.load(source)))


@pytest.mark.parametrize("name", sorted(path.stem for path in (
    ROOT / "tests" / "hosts").glob("*.checks")))
def test_what_checks_read_can_be_replayed(rankinit, tmp_path, name):
    """All of them, on each recorded machine; on some the launch is refused."""
    env = {"LD_LIBRARY_PATH": "/usr/local/lib", "NVIDIA_REQUIRE_CUDA": "cuda>=9.0",
           "NCCL_IB_HCA": "mlx5", "PATH": BASE["PATH"]}
    words = ["--nproc-per-node=1", "--expect=gpu,ib,mpi", "--checks=all", "--",
             "python3", "train.py", "--data=/mnt/data"]
    grow.grow(name, str(tmp_path / "machine"))
    explained, capture = explained_and_captured(
        rankinit, tmp_path / "machine", tmp_path / "folder", env, words)
    assert explained.stdout == capture.explain
    assert list(golden.faults_of_capture(rankinit, capture.folder)) == []
    # which is for --user alone
    assert os.listdir(f"{capture.folder}/root") or name == "accounts"


def test_the_replay_needs_the_folder(rankinit, tmp_path):
    """The control: without one of its files, or with another value, it is explained otherwise."""
    (case,) = [case for case in cases.load("pid1") if case.name == "pid1/azure-batch"]
    case.put_machine(tmp_path / "machine")
    env = dict(line.split("=", 1) for line in case.env)
    words = ["--", "true"]
    _, capture = explained_and_captured(
        rankinit, tmp_path / "machine", tmp_path / "one", env, words)
    program = [ROOT / "tests/golden/run.py", rankinit]
    done = run([sys.executable, "-B", *program, capture.folder], BASE)
    assert (done.returncode, done.stdout) == (0, "1 passed, 0 failed, 0 skipped\n")
    environ = tmp_path / "one" / "root" / "proc" / "1" / "environ"
    whole = environ.read_bytes()
    environ.unlink()
    done = run([sys.executable, "-B", *program, capture.folder], BASE)
    assert done.returncode == 1 and "10.0.0.4" in done.stdout
    environ.write_bytes(whole)
    listed = tmp_path / "one" / "environ"
    listed.write_bytes(listed.read_bytes().replace(b"WORLD_RANK=13", b"WORLD_RANK=12"))
    assert list(golden.faults_of_capture(rankinit, capture.folder))


HOSTILE = {"HF_TOKEN": "tkn-1", "DATA_PATH": "/data?sig=tkn-2",
           "TF_CONFIG": '{"cluster":{"worker":["a:1"]},"task":{"index":0},"api_key":"tkn-3"}',
           "NOTE": "what nothing reads", "RANKINIT_GRACE": "5", "RANKINIT_TOKEN": "tkn-4",
           "NCCL_SOCKET_IFNAME": "https://me:tkn-5@host/"}


def bytes_of(folder):
    """Every file, and every name."""
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            yield os.fsencode(os.path.relpath(path, folder))
            if os.path.islink(path):
                yield os.fsencode(os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    yield file.read()


def test_secrets_stay_where_they_are(rankinit, tmp_path):
    machine = tmp_path / "machine"
    (machine / "proc" / "1").mkdir(parents=True)
    (machine / "proc" / "1" / "environ").write_bytes(
        b"MASTER_ADDR=10.0.0.4\0DB_PASSWORD=tkn-6\0URL=https://me:tkn-7@host/\0")
    (machine / "hosts").write_text("# --api-key=tkn-8\nnode0 slots=1\nnode1\n")
    rank = dict(line.split("=", 1) for line in cases.load("pid1")[0].env)
    words = ["--hostfile=/hosts", "--", "python3", "train.py", "--hf-token", "tkn-9",
             "WANDB_API_KEY=tkn-10"]
    _, capture = explained_and_captured(
        rankinit, machine, tmp_path / "one", {**HOSTILE, **rank}, words)
    _, other = explained_and_captured(rankinit, machine, tmp_path / "two", {**HOSTILE, **rank},
                                      words[1:])
    everything = b"\n".join([*bytes_of(capture.folder), *bytes_of(other.folder)])
    assert b"tkn-" not in everything
    # the control: it is there, without what is secret in it
    assert b"DB_PASSWORD=***" in everything and b"10.0.0.4" in everything
    assert b"node0 slots=1" in everything and b"WANDB_API_KEY=***" in everything
    assert capture.env["RANKINIT_TOKEN"] == "***" and capture.env["RANKINIT_GRACE"] == "5"
    assert {"HF_TOKEN", "NOTE"} & {*capture.env, *other.env} == set()


def test_a_stray_nul_hides_no_secret(rankinit, tmp_path):
    (tmp_path / "hosts").write_bytes(b"node0 slots=1 # password=tkn-11\n\0api_key=tkn-12x\n" +
                                     b"# nothing else\n" * 9)
    done = run([rankinit, f"--hostfile={tmp_path}/hosts", f"--capture={tmp_path}/one", "--",
                "true"], BASE)
    assert done.returncode == 0
    everything = b"\n".join(bytes_of(tmp_path / "one"))
    assert b"tkn-" not in everything and b"# nothing else" in everything


def test_the_folder_is_ours_alone(rankinit, tmp_path):
    folder = tmp_path / "new"
    done = run([rankinit, f"--capture={folder}", "--", "true"], {**BASE, "RANK": "0"})
    assert done.returncode == 0
    assert done.stdout.startswith(f'"{folder}": ') and done.stdout.count("\n") == 1
    assert sorted(os.listdir(folder)) == ["command", "environ", "explain", "root"]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "command").read_bytes() == b"--\0true\0"


def test_an_empty_folder_will_do(rankinit, tmp_path):
    (tmp_path / "one").mkdir()
    assert run([rankinit, f"--capture={tmp_path}/one"], BASE).returncode == 0
    assert (tmp_path / "one" / "command").read_bytes() == b""


@pytest.mark.parametrize("what", ["full", "file", "link", "nowhere"])
def test_where_it_cannot_be(rankinit, tmp_path, what):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("kept")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    path = tmp_path / ("no/folder" if what == "nowhere" else what)
    done = run([rankinit, f"--capture={path}", "--", "sh", "-c", "echo ran"], BASE)
    line = refused(as_result(done), 125, "capture.refused", "--capture")
    assert str(path) in line
    assert (tmp_path / "full" / "kept").read_text() == "kept"
    assert (tmp_path / "file").read_text() == "kept"
    assert os.listdir(tmp_path / "full") == ["kept"] and not os.listdir(tmp_path / "empty")


def test_a_launch_that_would_be_refused(rankinit, tmp_path):
    """It is captured all the same, and so are wrong options: that is what reports are about."""
    env = {"OMPI_COMM_WORLD_RANK": "9", "OMPI_COMM_WORLD_SIZE": "4",
           "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    for number, (words, code) in enumerate([([], "rank.range"), (["--grace=x"], "option.value")]):
        folder = tmp_path / str(number)
        done = run([rankinit, f"--capture={folder}", *words, "--", "true"], env)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"[{code}]" in (folder / "explain").read_text()
        assert list(golden.faults_of_capture(rankinit, folder)) == []


def test_it_runs_nothing_and_excludes_other_answers(rankinit, tmp_path):
    done = run([rankinit, f"--capture={tmp_path}/a", "--explain", "--", "true"], BASE)
    refused(as_result(done), 125, "option.conflict", "--explain")
    assert not (tmp_path / "a").exists()
    done = run([rankinit, "--capture"], BASE)
    refused(as_result(done), 125, "option.missing", "--capture")
    done = run([rankinit, f"--capture={tmp_path}/b", "--", "touch", f"{tmp_path}/ran"], BASE)
    assert done.returncode == 0 and not (tmp_path / "ran").exists()


def test_what_is_too_much_is_left_out(rankinit, tmp_path):
    """A large file, a FIFO and a folder that is too full; the rest is there."""
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "hosts").write_text("node0\nnode1\n" + "# a remark\n" * 100000)
    os.truncate(machine / "hosts", 1048577)
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/one", "--hostfile=/hosts",
                "--", "true"], BASE)
    assert done.returncode == 0 and "without 1 that left-out names" in done.stdout
    left = (tmp_path / "one" / "left-out").read_text()
    assert left == "hosts: larger than 1 MiB\n"
    assert (tmp_path / "one" / "root" / "hosts").stat().st_size == 0
    os.truncate(machine / "hosts", 1048576)
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/two", "--hostfile=/hosts",
                "--", "true"], BASE)
    assert not (tmp_path / "two" / "left-out").exists()
    (machine / "hosts").unlink()
    os.mkfifo(machine / "hosts")
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/three", "--hostfile=/hosts",
                "--", "true"], BASE)
    assert done.returncode == 0
    assert (tmp_path / "three" / "root" / "hosts").is_file()


def test_links_are_links_and_lead_nowhere_else(rankinit, tmp_path):
    machine = tmp_path / "machine"
    (machine / "real").mkdir(parents=True)
    (machine / "real" / "hosts").write_text("node0\nnode1\n")
    (machine / "a").symlink_to("/real")
    (machine / "b").symlink_to("../../a/hosts")
    (machine / "out").symlink_to("../../../etc/passwd")
    for number, (name, links) in enumerate([("b", ["a", "b"]), ("a/hosts", ["a"])]):
        folder = tmp_path / str(number)
        done = run([rankinit, f"--root={machine}", f"--capture={folder}", f"--hostfile=/{name}",
                    "--", "true"], BASE)
        assert done.returncode == 0
        copy = folder / "root"
        assert sorted(path.name for path in copy.iterdir() if path.is_symlink()) == links
        assert (copy / "real" / "hosts").read_text() == "node0\nnode1\n"
        assert list(golden.faults_of_capture(rankinit, folder)) == []
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/x", "--hostfile=/out",
                "--", "true"], BASE)
    assert done.returncode == 0
    assert not any(b"root:" in data for data in bytes_of(tmp_path / "x"))


def test_this_machine(rankinit, tmp_path):
    """What a recorded one cannot have is no part of it: a busy port, say."""
    (tmp_path / "hosts").write_text("node0\nnode1\n")
    done = run([rankinit, f"--capture={tmp_path}/one", "--hostfile=hosts", "--node-rank=1",
                "--checks=none", "--", "python3", "x.py"], BASE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "node1" in (tmp_path / "one" / "explain").read_text()
    assert list(golden.faults_of_capture(rankinit, tmp_path / "one")) == []
