# SPDX-License-Identifier: Apache-2.0
"""
What README.md and the pages of docs show: each command that stands there with its output
is run and prints that, the others are recipes or targets of make; and the links lead somewhere.
"""

import glob
import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build/rankinit")))
HAND = {"PATH": os.defpath}    # the whole environment of an example
CONTAINER = "docker run --gpus all --device=/dev/infiniband IMAGE "
PAGES = ["README.md", "docs/sources.md", "docs/verdict.md"]
# One of two ranks or the third of four fails: the words of the verdict.
TRAIN = """\
import os, time
def step(batch):
    raise ValueError(f"bad batch {batch}")

if int(os.environ["RANK"]) != int(os.environ["WORLD_SIZE"]) // 2:
    time.sleep(60)

step(17)
"""
# In torch's place: two ranks, which begin when a helper of rankinit holds a pidfd of each.
TORCHRUN = f"""#!{sys.executable} -IS
import os, signal, sys
BEGIN = r'''until for one in $(grep -ls '^rankinit-ranks$' /proc/[0-9]*/comm); do
    cat "${{one%comm}}fdinfo/"* 2>/dev/null; done | grep -q "^Pid:[[:blank:]]*$$\\$"
do sleep 0.05; done; exec python3 "$0"'''
ranks = set()
for rank in "01":
    env = dict(os.environ, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    pid = os.fork()
    if pid == 0:
        os.execve("/bin/sh", ["sh", "-c", BEGIN, sys.argv[-1]], env)
    ranks.add(pid)
pid, status = os.wait()
for other in ranks - {{pid}}:
    os.kill(other, signal.SIGTERM)
    os.wait()
sys.exit(1)
"""


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(page):
    """The indented blocks, each as its lines."""
    for block in re.findall(r"(?:^    .*\n)+", read(page), re.M):
        yield [line[4:] for line in block.splitlines()]


def examples():
    """(page, command, lines of its output) of each `$ ...`."""
    for page in PAGES:
        for lines in blocks(page):
            if lines[0].startswith("$ "):
                end = next(at for at, line in enumerate(lines) if not line.endswith("\\"))
                yield page, "\n".join(lines[:end + 1])[2:], lines[end + 1:]


def executable(path, flags):
    return os.open(path, flags, 0o755)


def of_kind(start):
    found = [example for example in examples() if example[1].startswith(start)]
    return pytest.mark.parametrize("example", found, ids=lambda one: f"{one[0]}: {one[2][0]}")


EXPLAINED, RUN = of_kind("env -i "), of_kind(("rankinit ", "env RANK="))


def test_every_example_is_of_a_kind_that_is_run():
    counts = {page: len([example for example in examples() if example[0] == page])
              for page in PAGES}
    assert counts == {"README.md": 2, "docs/sources.md": 7, "docs/verdict.md": 3}
    for _, command, output in examples():
        assert command.startswith(("env -i ", "rankinit ", "env RANK=", CONTAINER)) and output


def shell(command, cwd, env):
    return subprocess.run(["sh", "-c", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=50, check=False)


@EXPLAINED
def test_what_is_explained(example):
    """The summary, whole, and nothing else in it."""
    _, command, lines = example
    assert " build/rankinit " in command.replace("\n", " ")
    done = shell(command.replace("build/rankinit", PROGRAM), ROOT, HAND)
    assert (done.returncode, done.stderr) == (0, "")
    # what was searched is a list of all sources
    summary = done.stdout.partition("\n\n")[0].partition("\n  searched ")[0]
    assert summary.splitlines()[1:] == lines


@pytest.fixture
def job(tmp_path):
    """A folder with rankinit and train.py: (run a command, with names as in the documents)."""
    os.mkdir(tmp_path / "bin")
    os.symlink(PROGRAM, tmp_path / "bin" / "rankinit")
    (tmp_path / "train.py").write_text(TRAIN)
    with open(tmp_path / "bin" / "torchrun", "w", encoding="ascii", opener=executable) as file:
        file.write(TORCHRUN)
    env = {"PATH": f"{tmp_path}/bin:{os.defpath}"}
    return lambda command, more=(): shell(command, tmp_path, {**env, **dict(more)}), str(tmp_path)


def plain(text, folder="/job"):
    """Without what differs from run to run."""
    for pattern, word in ((re.escape(folder), "/job"), (r"pid \d+", "pid N"),
                          (r"(pid N) on [^)]+", r"\1 on HOST"), (r"after [\d.]+ s", "after S"),
                          (r"20\d\d-[\d-]+T[\d:.]+Z", "TIME"), (r"memory \d+", "memory M")):
        text = re.sub(pattern, word, text)
    return text


@RUN
def test_what_is_run(job, example):
    """Standard error but for the traceback that a rank writes itself."""
    run, folder = job
    _, command, lines = example
    done = run(command)
    said = re.sub(r"^Traceback.*\n(?: .*\n)+\w+Error: .*\n", "", done.stderr, flags=re.M)
    assert plain(said, folder) == plain("\n".join(lines) + "\n")
    assert done.stdout == "" and done.returncode not in (0, 127)
    told = re.search(r"the job's exit status is (\d+)", said)
    assert told is None or int(told[1]) == done.returncode


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """One port of eight is down there."""
    name, into = "az-nd96asr-v4-1down", str(tmp_path_factory.mktemp("machines"))
    grow = os.path.join(ROOT, "tests", "hosts", "grow.py")
    subprocess.run([sys.executable, "-B", grow, into, name], check=True, timeout=60)
    return os.path.join(into, name)


def test_a_node_that_is_checked(machine):
    ((_, command, lines),) = [one for one in examples() if one[1].startswith(CONTAINER)]
    done = shell(command.replace(CONTAINER, f"{PROGRAM} --root={machine} "), ROOT, HAND)
    assert (done.returncode, done.stderr) == (123, "")
    assert "\n".join(lines) + "\n" in done.stdout


def test_before_and_after_are_recipes():
    """They have an epoch more there, and rankinit in front of the first one, too."""
    before, after = [" ".join(line.rstrip("\\").strip() for line in lines)
                     for lines in blocks("README.md")
                     if lines[0].startswith(("python", "rankinit"))]
    for command in f"rankinit -- {before}", after:
        assert f"\ncommand: {command} --epochs 50\n" in read("docs/recipes.md")


@pytest.fixture
def torchrun(job):
    """One that prints its environment, and the rest of `job`."""
    run, folder = job
    with open(f"{folder}/bin/torchrun", "w", encoding="ascii", opener=executable) as file:
        file.write("#!/bin/sh\nenv\n")
    return run


AZUREML = {"AZUREML_RUN_ID": "experiment_1635982131", "MASTER_PORT": "6105"}
MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
       "OMPI_COMM_WORLD_LOCAL_SIZE": "1", "AZ_BATCH_MASTER_NODE": "node0:6000"}
SLURM = {"SLURM_JOB_ID": "1234", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_LOCALID": "0",
         "SLURM_NODEID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "2",
         "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_STEP_NODELIST": "node[0-1]"}
KUBEFLOW = {"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_MASTER_ADDR": "node0",
            "PET_MASTER_PORT": "23456", "MASTER_ADDR": "node0", "MASTER_PORT": "23456",
            "WORLD_SIZE": "2", "RANK": "1"}


@pytest.mark.parametrize("env", [
    {**AZUREML, "MASTER_ADDR": "node0", "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0",
     "NODE_RANK": "1"}, {**AZUREML, **MPI}, SLURM, KUBEFLOW, {}],
    ids=["PyTorch job", "MPI job", "Slurm", "Kubeflow", "nowhere"])
def test_the_one_line_has_what_the_four_flags_said(torchrun, env):
    """torchrun reads them there. The last one is the control: nowhere it gets none."""
    ((line,),) = [lines for lines in blocks("README.md") if lines[0].startswith("rankinit")]
    done = torchrun(line, env)
    told = dict(re.findall("^PET_(.*)=(.*)$", done.stdout, re.M))
    assert (done.returncode, bool(told.pop("MASTER_PORT", ""))) == (0, bool(env)), done.stderr
    assert told == ({"NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "node0"} if env else {})


@pytest.mark.parametrize("env, status", [(AZUREML, 123), ({}, 0)], ids=["in a job", "elsewhere"])
def test_an_unfit_node_starts_nothing(torchrun, env, status):
    """More than any node has; the control is a command that is no job's."""
    (line,) = re.findall(r"`(rankinit --require=[^`]*)`", read("README.md"))
    done = torchrun(line.replace("=8", "=640"), env)
    assert (done.returncode, bool(done.stdout)) == (status, not status), done.stderr


def test_the_lines_of_the_dockerfile_fit_together():
    (lines,) = [lines for lines in blocks("README.md") if lines[0].startswith("COPY")]
    words = [word for line in lines[1:] for word in json.loads(line.split(None, 1)[1])]
    assert words[0] == "rankinit"
    done = subprocess.run([PROGRAM, "--explain", *words[1:]], env=HAND, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.endswith(f"Command (launch mode node)\n  {' '.join(words[1:])}\n")


def test_the_commands_of_make_are_there():
    targets = re.findall(r"^([a-z]+):", read("Makefile"), re.M)
    for page in ["README.md", *glob.glob("docs/*.md", root_dir=ROOT)]:
        named = re.findall(r"^    make ([a-z]+)|`make ([a-z]+)", read(page), re.M)
        assert {one or other for one, other in named} <= set(targets), page


def test_the_files_that_are_named_are_there():
    """But NAME, which is the reader's own."""
    for page in ["README.md", *glob.glob("docs/*.md", root_dir=ROOT)]:
        for path in re.findall(r"`((?:lib|shim|tests|images)/[\w./-]+)", read(page)):
            assert "NAME" in path or os.path.exists(os.path.join(ROOT, path)), (page, path)


def test_the_readme_is_short():
    assert read("README.md").count("\n") <= 120


def test_the_index_has_every_page():
    pages = set(os.listdir(os.path.join(ROOT, "docs"))) - {"README.md"}
    linked = set(re.findall(r"\]\(([^)/]+)\)", read("docs/README.md")))
    assert linked == {page for page in pages if page.endswith((".md", ".8"))}


def test_what_is_promised_has_its_tests():
    named = set(re.findall(r"`(test_\w+)`", read("docs/SECURITY.md")))
    files = glob.glob(f"{ROOT}/tests/behaviour/test_*.py") + glob.glob(f"{ROOT}/tests/fault/*.py")
    defined = {name for path in files for name in re.findall(r"^def (test_\w+)", read(path), re.M)}
    assert named and named <= defined


def headings(page):
    """As a forge makes anchors of them."""
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")
            for line in re.findall(r"^#+ (.*)$", read(page), re.M)}


@pytest.mark.parametrize("page", ["README.md", *sorted(
    glob.glob("docs/*.md", root_dir=ROOT) + glob.glob("images/**/*.md", root_dir=ROOT))])
def test_links(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        assert os.path.exists(os.path.join(ROOT, target)), link
        if anchor:
            assert anchor in headings(target), link
