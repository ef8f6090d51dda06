# SPDX-License-Identifier: Apache-2.0
"""--capture: a file with what was read, by which the same is explained elsewhere."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import schema
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


def explained_and_captured(program, machine, path, env, words):
    """What --explain prints, and the capture of it."""
    explained = run([program, f"--root={machine}", "--explain", *words], env)
    done = run([program, f"--root={machine}", f"--capture={path}", *words], env)
    assert (done.returncode, done.stderr) == (0, ""), done
    schema.check(json.loads(path.read_text(encoding="utf-8")), "capture")
    return explained, cases.Capture.read(path)


def without_times(text):
    return re.sub(r'"ms": [0-9.]+', '"ms": 0', text)


@pytest.mark.parametrize("source", sorted({case.name.partition("/")[0] for case in cases.load()}))
def test_every_golden_case_can_be_replayed(rankinit, tmp_path, at_once, source):
    def look(number_and_case):
        number, case = number_and_case
        case.put_machine(tmp_path / f"machine{number}")
        words = [*(case.options or []), "--", *(case.command or ["true"])]
        explained, capture = explained_and_captured(
            rankinit, tmp_path / f"machine{number}", tmp_path / str(number),
            dict(line.split("=", 1) for line in case.env), words)
        assert list(golden.faults_of_capture(rankinit, capture.path)) == [], case.name
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
        rankinit, tmp_path / "machine", tmp_path / "file", env, words)
    assert explained.stdout == capture.explain
    assert list(golden.faults_of_capture(rankinit, capture.path)) == []
    # which is for --user alone
    assert capture.files or name == "accounts"
    # the same as JSON, and the checks by themselves, from the folder and from the file
    for action in "--explain=json", "--check=json":
        one, other = (run([rankinit, f"--root={root}", action, *words], env)
                      for root in (tmp_path / "machine", tmp_path / "file"))
        assert without_times(one.stdout) == without_times(other.stdout), action
        assert (one.returncode, one.stderr) == (other.returncode, other.stderr), action


def test_the_replay_needs_the_file(rankinit, tmp_path):
    """The control: without one of its files, or with another value, it is explained otherwise."""
    (case,) = [case for case in cases.load("pid1") if case.name == "pid1/azure-batch"]
    case.put_machine(tmp_path / "machine")
    env = dict(line.split("=", 1) for line in case.env)
    words = ["--", "true"]
    path = tmp_path / "one"
    explained_and_captured(rankinit, tmp_path / "machine", path, env, words)
    program = [ROOT / "tests/golden/run.py", rankinit]
    done = run([sys.executable, "-B", *program, path], BASE)
    assert (done.returncode, done.stdout) == (0, "1 passed, 0 failed, 0 skipped\n")
    whole = json.loads(path.read_text(encoding="utf-8"))
    del whole["files"]["proc/1/environ"]
    path.write_text(json.dumps(whole), encoding="utf-8")
    done = run([sys.executable, "-B", *program, path], BASE)
    assert done.returncode == 1 and "10.0.0.4" in done.stdout
    explained_and_captured(rankinit, tmp_path / "machine", path, env, words)
    text = path.read_text(encoding="utf-8")
    assert "WORLD_RANK=13" in text
    path.write_text(text.replace("WORLD_RANK=13", "WORLD_RANK=12"), encoding="utf-8")
    assert list(golden.faults_of_capture(rankinit, path))


HOSTILE = {"HF_TOKEN": "tkn-1", "DATA_PATH": "/data?sig=tkn-2",
           "TF_CONFIG": '{"cluster":{"worker":["a:1"]},"task":{"index":0},"api_key":"tkn-3"}',
           "NOTE": "what nothing reads", "RANKINIT_GRACE": "5", "RANKINIT_TOKEN": "tkn-4",
           "NCCL_SOCKET_IFNAME": "https://me:tkn-5@host/"}


def everything(*captures):
    """Each file as it is, and again with what stands in base64 there."""
    return "\n".join(text for capture in captures for text in (
        pathlib.Path(capture.path).read_text(encoding="utf-8"), *capture.env.values(),
        *capture.words, *(cases.string_of(entry.get("text", entry))
                          for entry in capture.files.values()
                          if {"text", "base64"} & set(entry))))


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
    text = everything(capture, other)
    assert "tkn-" not in text
    # the control: it is there, without what is secret in it
    assert "DB_PASSWORD=***" in text and "10.0.0.4" in text
    assert "node0 slots=1" in text and "WANDB_API_KEY=***" in text
    assert capture.env["RANKINIT_TOKEN"] == "***" and capture.env["RANKINIT_GRACE"] == "5"
    assert {"HF_TOKEN", "NOTE"} & {*capture.env, *other.env} == set()


def test_a_stray_nul_hides_no_secret(rankinit, tmp_path):
    (tmp_path / "hosts").write_bytes(b"node0 slots=1 # password=tkn-11\n\0api_key=tkn-12x\n" +
                                     b"# nothing else\n" * 9)
    done = run([rankinit, f"--hostfile={tmp_path}/hosts", f"--capture={tmp_path}/one", "--",
                "true"], BASE)
    assert done.returncode == 0
    text = everything(cases.Capture.read(tmp_path / "one"))
    assert "tkn-" not in text and "# nothing else" in text


def test_bytes_that_are_no_text(rankinit, tmp_path):
    """A file, a variable and a word that are not UTF-8 come back as they were."""
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "hosts").write_bytes(b"node0\nnode\xff1\n")
    env = {**BASE, "RANKINIT_NOTE": os.fsdecode(b"eth\xfe")}
    words = ["--node-rank=0", "--hostfile=/hosts", "--", "true", os.fsdecode(b"a\xfd")]
    explained, capture = explained_and_captured(rankinit, machine, tmp_path / "one", env, words)
    assert capture.files["hosts"] == {"base64": "bm9kZTAKbm9kZf8xCg=="}
    assert capture.env["RANKINIT_NOTE"] == env["RANKINIT_NOTE"]
    assert capture.words == words and explained.stdout == capture.explain
    assert list(golden.faults_of_capture(rankinit, capture.path)) == []


def test_the_file_is_ours_alone(rankinit, tmp_path):
    """Also in the place of one that others may read; of nothing else a trace stays."""
    path = tmp_path / "new"
    for _ in range(2):
        done = run([rankinit, f"--capture={path}", "--", "true"], {**BASE, "RANK": "0"})
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f'"{path}": ') and done.stdout.count("\n") == 1
        assert os.listdir(tmp_path) == ["new"]
        assert path.stat().st_mode & 0o777 == 0o600
        capture = cases.Capture.read(path)
        assert capture.words == ["--", "true"] and "RANK" in capture.env
        path.write_text("old")
        path.chmod(0o644)


def test_to_a_pipe(rankinit):
    """The document alone; the line about it would be no JSON."""
    done = run([rankinit, "--capture=/dev/stdout"], BASE)
    assert (done.returncode, done.stderr) == (0, "")
    schema.check(json.loads(done.stdout), "capture")


@pytest.mark.parametrize("what", ["full", "link", "nowhere"])
def test_where_it_cannot_be(rankinit, tmp_path, what):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("kept")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    path = tmp_path / ("no/file" if what == "nowhere" else what)
    done = run([rankinit, f"--capture={path}", "--", "sh", "-c", "echo ran"], BASE)
    line = refused(as_result(done), 125, "capture.refused", "--capture")
    assert str(path) in line
    assert (tmp_path / "full" / "kept").read_text() == "kept"
    assert os.listdir(tmp_path / "full") == ["kept"] and not os.listdir(tmp_path / "empty")


def test_a_launch_that_would_be_refused(rankinit, tmp_path):
    """It is captured all the same, and so are wrong options: that is what reports are about."""
    env = {"OMPI_COMM_WORLD_RANK": "9", "OMPI_COMM_WORLD_SIZE": "4",
           "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    for number, (words, code) in enumerate([([], "rank.range"), (["--grace=x"], "option.value")]):
        path = tmp_path / str(number)
        done = run([rankinit, f"--capture={path}", *words, "--", "true"], env)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"[{code}]" in cases.Capture.read(path).explain
        assert list(golden.faults_of_capture(rankinit, path)) == []


def test_it_runs_nothing_and_excludes_other_answers(rankinit, tmp_path):
    done = run([rankinit, f"--capture={tmp_path}/a", "--explain", "--", "true"], BASE)
    refused(as_result(done), 125, "option.conflict", "--explain")
    assert not (tmp_path / "a").exists()
    done = run([rankinit, "--capture"], BASE)
    refused(as_result(done), 125, "option.missing", "--capture")
    done = run([rankinit, f"--capture={tmp_path}/b", "--", "touch", f"{tmp_path}/ran"], BASE)
    assert done.returncode == 0 and not (tmp_path / "ran").exists()


def test_what_is_too_much_is_left_out(rankinit, tmp_path):
    """A large file and a FIFO; the rest is there."""
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "hosts").write_text("node0\nnode1\n" + "# a remark\n" * 100000)
    os.truncate(machine / "hosts", 1048577)
    words = ["--hostfile=/hosts", "--", "true"]
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/one", *words], BASE)
    assert done.returncode == 0 and "without 1 that left_out names" in done.stdout
    capture = cases.Capture.read(tmp_path / "one")
    assert capture.left_out == ["hosts: larger than 1 MiB"]
    assert capture.files["hosts"] == {"file": True}
    os.truncate(machine / "hosts", 1048576)
    _, capture = explained_and_captured(rankinit, machine, tmp_path / "two", BASE, words)
    assert capture.left_out == [] and len(capture.files["hosts"]["text"]) == 1048576
    (machine / "hosts").unlink()
    os.mkfifo(machine / "hosts")
    _, capture = explained_and_captured(rankinit, machine, tmp_path / "three", BASE, words)
    assert capture.files["hosts"] == {"file": True, "mode": 0}


def test_links_are_links_and_lead_nowhere_else(rankinit, tmp_path):
    machine = tmp_path / "machine"
    (machine / "real").mkdir(parents=True)
    (machine / "real" / "hosts").write_text("node0\nnode1\n")
    (machine / "a").symlink_to("/real")
    (machine / "b").symlink_to("../../a/hosts")
    (machine / "out").symlink_to("../../../etc/passwd")
    for number, (name, links) in enumerate([("b", ["a", "b"]), ("a/hosts", ["a"])]):
        done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/{number}",
                    f"--hostfile=/{name}", "--", "true"], BASE)
        assert done.returncode == 0
        capture = cases.Capture.read(tmp_path / str(number))
        assert sorted(path for path, entry in capture.files.items() if "link" in entry) == links
        assert capture.files["real/hosts"] == {"text": "node0\nnode1\n"}
        assert list(golden.faults_of_capture(rankinit, capture.path)) == []
    done = run([rankinit, f"--root={machine}", f"--capture={tmp_path}/x", "--hostfile=/out",
                "--", "true"], BASE)
    assert done.returncode == 0
    assert "root:" not in everything(cases.Capture.read(tmp_path / "x"))


def test_this_machine(rankinit, tmp_path):
    """What a recorded one cannot have is no part of it: a busy port, say."""
    (tmp_path / "hosts").write_text("node0\nnode1\n")
    done = run([rankinit, f"--capture={tmp_path}/one", "--hostfile=hosts", "--node-rank=1",
                "--checks=none", "--", "python3", "x.py"], BASE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "node1" in cases.Capture.read(tmp_path / "one").explain
    assert list(golden.faults_of_capture(rankinit, tmp_path / "one")) == []


def document(**files):
    return json.dumps({"rankinit_capture": 1, "files": files})


@pytest.mark.parametrize("why, text", [
    ("no JSON", ""), ("no JSON", '{"rankinit_capture": 1, "files": {'), ("no JSON", "[" * 100000),
    ("no JSON", '{"rankinit_capture": 1, "files": {"a": {"text": ""}, "a": {"text": ""}}}'),
    ("no capture", "{}"), ("no capture", "[]"), ("no capture", '{"rankinit_capture": "1"}'),
    ("newer rankinit", '{"rankinit_capture": 2, "files": {}}'),
    ("damaged", '{"rankinit_capture": 1}'),
    ("damaged", document(**{str(number): {"dir": True} for number in range(4097)})),
    *(("damaged", document(a=entry)) for entry in (
        {}, [], "text", {"text": 1}, {"text": "", "link": "b"}, {"link": ""}, {"link": "a\0b"},
        {"link": "a" * 4096}, {"base64": "?"}, {"base64": "YQ==", "text": ""}, {"dir": False},
        {"node": [1]}, {"node": [1, -1]}, {"node": [1, "2"]}, {"error": "EWHAT"}, {"error": 13},
        {"file": True, "mode": 8}, {"file": True, "mode": 10000}, {"file": True, "mode": "7"})),
])
def test_a_file_that_is_no_capture(rankinit, tmp_path, why, text):
    """One sentence, with the file in it; a folder, and a capture without files, are machines."""
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    done = run([rankinit, f"--root={path}", "--check", "--", "true"], BASE)
    line = refused(as_result(done), 125, "file.unreadable", str(path))
    assert why in line
    path.write_text(document(), encoding="utf-8")
    for root in tmp_path, path:
        assert run([rankinit, f"--root={root}", "--print-env", "--", "true"],
                   BASE).returncode == 0


def test_a_file_that_cannot_be_read(rankinit, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 134217729)
    for name, why in (("fifo", "neither a folder nor a file"), ("large", "larger"),
                      ("no", "No such")):
        done = run([rankinit, f"--root={tmp_path}/{name}", "--explain=json", "--", "true"], BASE)
        assert why in done.stdout and "file.unreadable" in done.stdout


def test_what_a_document_says_of_files(rankinit, tmp_path):
    """Nodes, errors and modes are as in a folder that has the same."""
    path = tmp_path / "file"
    for entry, why in (({"node": [10, 56]}, None), ({"node": [10, 56], "error": "EPERM"}, "EPERM"),
                       ({"file": True, "mode": 400}, "EPERM"), ({"file": True, "mode": 600}, None),
                       ({"error": "EACCES"}, "EACCES")):
        path.write_text(document(**{
            "hosts": {"text": "node0\nnode1\n"}, "dev": {"dir": True}, "dev/fuse": entry}))
        done = run([rankinit, f"--root={path}", "--explain", "--hostfile=hosts", "--node-rank=1",
                    "--", "true"], BASE)
        assert done.returncode == 0 and "node1" in done.stdout, why
    path.write_text(document(hosts={"error": "EACCES"}))
    done = run([rankinit, f"--root={path}", "--print-env", "--hostfile=hosts", "--", "true"], BASE)
    assert "Permission denied" in refused(as_result(done), 125, "file.unreadable", "hosts")
