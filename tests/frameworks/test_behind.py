# SPDX-License-Identifier: Apache-2.0
"""
Real launchers whose ranks have a rankinit each, without an option. The rank that failed says why,
once; one that lost it says that in a line; one that the launcher stopped is silent; the launcher
sees what it sees with --supervise=never, which is the control of each test.
"""

import itertools
import os
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import PROGRAM, SECONDS, TOP, TRAIN, clean_env
from test_launched import DEBIAN, PYPI, memory_group  # noqa: F401 (a fixture) pylint: disable=W0611

RANKS = os.path.join(TRAIN, "behind.py")
SRUN = ["srun", "-N1", "--overcommit", "--kill-on-bad-exit=1"]
OPENMPI = ["mpirun (Open MPI 4)", "mpirun (Open MPI 5)"]
HYDRA = ["mpiexec.hydra (MPICH 4)", "mpirun (MPICH 5)", "mpirun (Intel MPI)"]
LAUNCHERS = [*OPENMPI, *HYDRA, "srun"]
# What ranks are for their launcher: MPI's, whose library is here for Open MPI, or a client of the
# launcher's PMI, which is what Hydra watches.
START = {**dict.fromkeys(OPENMPI, "mpi"), **dict.fromkeys(HYDRA, "pmi")}
# A race of the ranks with each other shows in some of many runs alone.
NODES = itertools.cycle((0, 1))
RUNS = int(os.environ.get("BEHIND_RUNS", "3"))

# What rank 2 does: its end, the words of the reason, and what the verdict has of it.
FAULTS = {
    "exception": ("exit status 1", "ValueError: bad batch 17",
                  "cause=exception class=own retry=never"),
    "import": ("exit status 1", "ModuleNotFoundError: No module named 'no_such_module'",
               "cause=exception class=own retry=never"),
    "kill": ("killed by SIGKILL (9)", None, "cause=killed class=own retry=same"),
    "segv": ("killed by SIGSEGV (11)", None, "cause=signal class=own retry=never"),
    "exit": ("exit status 3", None, "cause=exit_status class=unknown retry=never"),
    "abort": ("killed by SIGABRT (6)", "CUDA error: device-side assert triggered",
              "cause=device_assert class=own retry=never"),
    # its exception is there, and its sockets are closed; the launcher stops it for another one
    "late": ("exit status 1", "ValueError: bad batch 17", "cause=exception class=own retry=never"),
    "memory": ("killed by SIGKILL (9)", "memory", "cause=oom_host class=own retry=never"),
    "mpi_abort": ("exit status 7", None, "cause=exit_status class=unknown retry=never"),
}
STATUS = {"kill": 137, "segv": 139, "exit": 3, "abort": 134, "memory": 137, "mpi_abort": 7}
PLAIN = ["exception", "import", "kill", "segv", "exit", "abort"]
RACY = ["exception", "kill"]
# A rank of MPI that ends by itself meets the others in MPI_Finalize first, where it waits for them.
INITIALISED = {"mpi": ["kill", "segv", "exit", "abort"],
               "pmi": ["exception", "kill", "segv", "exit", "abort"]}


def launcher_words(installed, launcher, ranks):
    """The words before a program; skips where it is not here."""
    if launcher in DEBIAN:
        words = DEBIAN[launcher]
        if shutil.which(words[0]) is None:
            pytest.skip(f"NOT TESTED: there is no {words[0]} here")
    else:
        name, words = PYPI[launcher]
        installed(name)
        words = [f"{TOP}/build/frameworks/{name}/bin/mpirun", *words]
    return [*words[:-1], str(ranks)]


@pytest.fixture
def launch(request, python_with, installed):
    """Runs rankinit behind a launcher; its status, stdout and stderr."""
    def run(launcher, *options, before=(), command=None, ranks=4, **env):
        start = env.get("START")
        if start == "mpi" and launcher in PYPI:
            env["LD_LIBRARY_PATH"] = f"{TOP}/build/frameworks/{PYPI[launcher][0]}/lib"
        python = python_with("mpi4py") if start == "mpi" else shutil.which("python3")
        env = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "PYTHONDONTWRITEBYTECODE": "1", **env}
        command = command or [python, RANKS]
        with tempfile.TemporaryDirectory(prefix="rankinit-", dir="/tmp") as folder:
            env["MEET"] = folder
            if launcher == "srun":
                cluster = request.getfixturevalue("cluster")
                # a node is busy for a while with what ended there
                words = [*SRUN, f"-n{ranks}", f"--nodelist=n{next(NODES)}"]
                job = cluster.start(*words, PROGRAM, *options, "--", *command, **env)
            else:
                words = [*before, *launcher_words(installed, launcher, ranks)]
                job = subprocess.Popen(
                    [*words, PROGRAM, *options, "--", *command], env=clean_env(**env),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
            out, err = job.communicate(timeout=SECONDS)
        print(launcher, env, err)
        # Open MPI 5 ends what MPI_Abort says with one
        err = re.sub(r"(?m)^srun: job \d+ .*\n", "", err.replace("\0", ""))
        return job.returncode, out, err
    return run


def ours(err):
    return [line for line in err.splitlines() if line.startswith("rankinit: ")]


def words(err):
    """
    What the launcher itself says, without the numbers of one run. Hydra's code is that of all ranks
    that it has reaped by then, so its name of the signal differs between runs.
    """
    said = re.sub(r"(?m)^(rankinit: |Traceback|  |\w+Error: |\[\w+:\d+\] ).*\n", "", err)
    said = re.sub(r"EXIT (CODE: \d+|STRING: .*)", "", said)
    for number in (r"PID \d+", r"\[\[\d+,", r"-\d+@", r"StepId=[\d.]+", r"STEP [\d.]+", r"AT 2\S+",
                   r"\bn[01]\b"):
        said = re.sub(number, "N", said)
    return sorted(said.splitlines())


def note(*row):
    if os.environ.get("BEHIND_SAID"):   # a file for what was found
        with open(os.environ["BEHIND_SAID"], "a", encoding="utf-8") as file:
            file.write("\t".join(str(cell) for cell in row) + "\n")


def check_others(lines, victims, err):
    allowed = [f"rankinit: rank {rank} lost a peer: exit status 1" for rank in (0, 1, 3)]
    assert set(lines) <= set(allowed if victims else []), err
    assert len(set(lines)) == len(lines), err


def check(err, fault, victims):
    """Rank 2 says why, once, and each other rank nothing or one line."""
    how, why, what = FAULTS[fault]
    lines = ours(err)
    verdicts = [line for line in lines if line.startswith("rankinit: verdict ")]
    assert len(verdicts) == 1, err
    assert verdicts[0].startswith(f"rankinit: verdict {what} rank=2 "), err
    begin = [lines.index(line) for line in lines if line.startswith("rankinit: rank 2 (")][0]
    end = lines.index(verdicts[0])
    verdict = lines[begin:end]
    # the launcher knows the second one
    assert re.match(r"rankinit: rank 2 \((local rank \d, )?pid \d+ below \d+", verdict[0]), err
    # in one write: nobody else's line is between
    assert all(line.startswith(("rankinit: rank 2 (", "rankinit:   ")) for line in verdict), err
    assert any(how in line for line in verdict[:2]), err
    assert why is None or any(why in line for line in verdict[:4]), err
    check_others(lines[:begin] + lines[end + 1:], victims, err)


def is_certain(launcher, err, start):
    """
    Has rank 2 ended before the launcher stopped it for the end of another one? Open MPI and srun
    stop all then, and Hydra does where a client of PMI has ended.
    """
    if launcher in OPENMPI:
        first = re.search(r"Process name: \[.*,(\d+)\]|that process rank (\d+) ", err)
        return first is not None and "2" in first.groups()
    return launcher in HYDRA and not start


def check_silent(err):
    """What rank 2 may say instead of a verdict: that it was stopped on its way out."""
    lines = [line for line in ours(err) if not re.match(
        r"rankinit: rank 2 was stopped [\d.]+ s after it had printed: ", line)]
    check_others(lines, True, err)


def agree(launcher, fault, status, plain):
    """Hydra's has the bits of the ranks that it killed with 9, as far as it has reaped them."""
    own = STATUS.get(fault, 1) % 128
    return {status, plain} <= {own, 9, own | 9} if launcher in HYDRA else status == plain


def others_of(launcher, fault, start=None):
    """Nobody else ends before the launcher has seen rank 2's end."""
    stops = launcher not in HYDRA or start or fault in ("kill", "segv", "abort")
    return "wait" if stops else "end"


@pytest.mark.parametrize("fault", PLAIN)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_launcher_sees_what_it_sees_without(launch, launcher, fault):
    job = {"FAULT": fault, "OTHERS": others_of(launcher, fault)}
    status, _, err = launch(launcher, **job)
    plain, _, words_alone = launch(launcher, "--supervise=never", **job)
    check(err, fault, victims=False)
    assert ours(words_alone) == [], "the control"
    assert agree(launcher, fault, status, plain) and words(err) == words(words_alone)
    note(launcher, "wait", fault, status, plain)
    assert launcher not in OPENMPI or status == STATUS.get(fault, 1)


@pytest.mark.parametrize("launcher, fault", [
    (launcher, fault) for launcher, start in START.items() for fault in INITIALISED[start]])
def test_after_mpi_init(launch, launcher, fault):
    start = START[launcher]
    job = {"FAULT": fault, "OTHERS": others_of(launcher, fault, start), "START": start}
    status, _, err = launch(launcher, **job)
    plain, _, words_alone = launch(launcher, "--supervise=never", **job)
    check(err, fault, victims=False)
    assert ours(words_alone) == [], "the control"
    assert agree(launcher, fault, status, plain) and words(err) == words(words_alone)
    note(launcher, "wait " + start, fault, status, plain)


def play(launch, launcher, fault, runs, **more):
    """The others notice that they lost rank 2, and one of them may end before it."""
    for _ in range(runs):
        status, _, err = launch(launcher, FAULT=fault, OTHERS="loss", **more)
        note(launcher, more.get("START", ""), fault, status,
             sum(line.startswith("rankinit: verdict ") for line in ours(err)),
             sum(" lost a peer: " in line for line in ours(err)))
        if "rankinit: verdict " in err or is_certain(launcher, err, more.get("START")):
            check(err, fault, victims=True)
        else:
            check_silent(err)
        if launcher in OPENMPI:
            assert status in (STATUS.get(fault, 1), 1), err
        assert status != 0, err


@pytest.mark.parametrize("fault", [*PLAIN, "late"])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_others_lose_it(launch, launcher, fault):
    play(launch, launcher, fault, RUNS if fault in RACY else max(1, RUNS // 3))


@pytest.mark.parametrize("launcher, fault", [
    (launcher, fault) for launcher, start in START.items() for fault in INITIALISED[start]
    if fault in ("kill", "exit", "exception")])
def test_the_others_lose_it_after_mpi_init(launch, launcher, fault):
    play(launch, launcher, fault, RUNS if fault in RACY else max(1, RUNS // 3),
         START=START[launcher])


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_healthy_job_is_silent(launch, launcher):
    job = {"FAULT": "none", "OTHERS": "loss"}
    status, out, err = launch(launcher, **job)
    plain = launch(launcher, "--supervise=never", **job)
    assert (status, sorted(out.splitlines(True)), sorted(err.splitlines(True))) == (
        plain[0], sorted(plain[1].splitlines(True)), sorted(plain[2].splitlines(True)))
    assert status == 0 and sorted(out.splitlines()) == [f"rank {rank} says" for rank in range(4)]


@pytest.mark.parametrize("launcher", [*OPENMPI, *HYDRA])
def test_memory_runs_out(launch, memory_group, launcher):    # noqa: F811 (the fixture)
    group = memory_group()
    status, _, err = launch(launcher, FAULT="memory", OTHERS="wait", before=[
        "sh", "-c", f'echo 0 >{group}/cgroup.procs && exec "$@"', "sh"])
    check(err, "memory", victims=False)
    assert status == (9 if launcher in HYDRA else 137)


@pytest.mark.parametrize("launcher", OPENMPI)
def test_mpi_abort(launch, launcher):
    status, _, err = launch(launcher, FAULT="mpi_abort", OTHERS="loss", START="mpi")
    check(err, "mpi_abort", victims=True)
    assert status == 7


@pytest.mark.parametrize("launcher, abi", [("mpirun (MPICH 5)", "mpich"),
                                           ("mpirun (Intel MPI)", "impi")])
def test_mpi_abort_behind_hydra(launch, launcher, abi):
    """
    The launcher kills all ranks in the call, so that no rankinit can speak, and may lose what MPI
    has said; nobody else is named.
    """
    status, _, err = launch(launcher, FAULT="mpi_abort", OTHERS="loss", START="mpi",
                            MPI4PY_MPIABI=abi)
    assert status in (7, 15)
    assert not [line for line in ours(err) if line.startswith("rankinit: verdict ") and
                " rank=2 " not in line], err


# --- the page --------------------------------------------------------------------------

# What the verdict says: the rank, its end and the cause; nothing; it is not tested there.
ALL, NOTHING, NEITHER = "yes", "no", ""
COLUMNS = [*PLAIN, "memory", "late", "init", "mpi_abort"]


def cell_of(launcher, column):
    if launcher == "srun" and column in ("memory", "init", "mpi_abort"):
        return NEITHER
    if column == "mpi_abort" and launcher in HYDRA:
        return NOTHING if launcher in PYPI else NEITHER
    return ALL


def test_the_page_has_the_table():
    """Of docs/launchers.md."""
    with open(f"{TOP}/docs/launchers.md", encoding="utf-8") as file:
        page = [" ".join(line.split()) for line in file.read().splitlines()]
    for launcher in LAUNCHERS:
        cells = " | ".join(cell_of(launcher, column) for column in COLUMNS)
        assert " ".join(f"| {launcher} | {cells} |".split()) in page
