# SPDX-License-Identifier: Apache-2.0
"""
Real launchers, each in front of ranks of which one fails: rankinit in front of the launcher names
that rank and says why. docs/launchers.md has the table, which is CELLS.
"""

import os
import re
import shutil
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TOP, TRAIN, clean_env
from verdict import came_late, failed_first, names

FAILS = os.path.join(TRAIN, "fails.py")
DRIVER = os.path.join(TRAIN, "ray_driver.py")
TRAINER = os.path.join(TRAIN, "lightning_fails.py")
OPENMPI = ["--oversubscribe", "--allow-run-as-root", "-np", "2"]

# Each: what has to be installed for it, and the words before the program.
TORCH = {
    "torchrun": ("torch", ["-m", "torch.distributed.run", "--nproc-per-node=2"]),
    "torch.distributed.launch": ("torch", ["-m", "torch.distributed.launch",
                                           "--nproc-per-node=2"]),
    "accelerate": ("accelerate", ["-m", "accelerate.commands.launch", "--multi_gpu",
                                  "--num_processes=2"]),
    "deepspeed": ("deepspeed", ["-m", "deepspeed.launcher.runner", "--num_gpus=2"]),
}
DEBIAN = {
    "mpirun (Open MPI 4)": ["mpirun.openmpi", *OPENMPI],
    "mpiexec.hydra (MPICH 4)": ["mpiexec.hydra", "-np", "2"],
}
# PyPI's, each in an environment of its own.
PYPI = {
    "mpirun (Open MPI 5)": ("openmpi", OPENMPI),
    "mpirun (MPICH 5)": ("mpich", ["-np", "2"]),
    "mpirun (Intel MPI)": ("impi", ["-np", "2"]),
}
SHELLS = {"bash -c torchrun": "torchrun", "bash -c mpirun": "mpirun (Open MPI 4)"}
SRUN = ["srun", "-N1", "-n2", "--overcommit", "--kill-on-bad-exit=1"]
LAUNCHERS = [*TORCH, "Lightning", *DEBIAN, *PYPI, *SHELLS, "srun", "Ray"]

# What rank 1 does, what the first line of the verdict says of its end, and the words of its reason.
FAULTS = {
    "exception": ("failed first: exit status 1", "ValueError: bad batch 17"),
    "import": ("failed first: exit status 1",
               "ModuleNotFoundError: No module named 'no_such_module'"),
    "kill": ("failed first: killed by SIGKILL (9)", None),
    "segv": ("failed first: killed by SIGSEGV (11)", None),
    "exit": ("failed first: exit status 3", None),
    "memory": ("failed first: killed by SIGKILL (9)", "memory"),
    "abort": ("failed first: killed by SIGABRT (6)", "CUDA error: device-side assert triggered"),
    "gloo": ("failed first: exit status 1", "ValueError: bad batch 17"),
    "timeout": ("did not come when all others waited for it", None),
    "linger": ("raised ValueError: bad batch 17 and has not ended", None),
}
OPTIONS = {"linger": ["--linger=2"]}

# What a verdict says: the rank and the cause, the same by the launcher's word, one of the two,
# nothing, or what it must never say.
ALL, WORD, RANK, REASON, NOTHING, WRONG = "yes", "word", "rank", "cause", "no", "a wrong rank"
# It cannot be: no process group without torch, Slurm's ranks elsewhere, Ray's outlive exceptions.
NEITHER = ""

# Where a verdict says less than ALL. srun's ranks are no descendants of it; an actor of Ray's
# outlives an exception, of which its driver's last words tell.
CELLS = {
    **{("srun", fault): WORD for fault in FAULTS},
    ("Ray", "exception"): WORD, ("Ray", "import"): WORD,
}
OUTLIVED = "failed first: raised the error below (by ray's word)"

# The others take long, and are run by LAUNCHED=all.
SOME = {("torchrun", "exception"), ("torchrun", "gloo"), ("torchrun", "kill"),
        ("accelerate", "abort"), ("torch.distributed.launch", "exit"),
        ("bash -c torchrun", "import"), ("mpirun (Open MPI 4)", "exception"),
        ("mpirun (Open MPI 5)", "segv"), ("mpirun (Intel MPI)", "abort"),
        ("mpiexec.hydra (MPICH 4)", "kill"), ("mpirun (MPICH 5)", "linger"),
        ("Lightning", "exception"), ("deepspeed", "kill"), ("srun", "exit"),
        ("Ray", "exception"), ("Ray", "segv")}
LIMIT = 1 << 30     # of a cgroup in which a rank eats all there is


def cell_of(launcher, fault):
    if fault in ("gloo", "timeout") and launcher not in (*TORCH, "Lightning", "bash -c torchrun"):
        return NEITHER
    if (launcher, fault) in (("srun", "memory"), ("srun", "linger"), ("Ray", "linger")):
        return NEITHER
    return CELLS.get((launcher, fault), ALL)


def judge(lines, launcher, fault):
    """What the verdict says: a word of the table."""
    how, why = FAULTS[fault]
    if cell_of(launcher, fault) == WORD and launcher == "Ray":
        how = OUTLIVED
    if not lines:
        return NOTHING
    reason = why is None or any(why in line for line in lines[:4])
    rank = re.match(r"rankinit: ranks? (\d+)", lines[0])
    if rank is None:
        return REASON if why is not None and reason else NOTHING
    if rank[1] != "1":
        return WRONG
    if how not in lines[0] or not reason:
        return RANK
    return WORD if "'s word)" in lines[0] else ALL


def command_of(launcher, python_with, installed):
    """The words of a launcher and its program; skips where it is not here."""
    if launcher in TORCH:
        package, words = TORCH[launcher]
        return [python_with(package), *words, FAILS]
    if launcher == "Lightning":
        return [python_with("lightning"), TRAINER]
    if launcher in DEBIAN:
        words = DEBIAN[launcher]
        if shutil.which(words[0]) is None:
            pytest.skip(f"NOT TESTED: there is no {words[0]} here")
        return [*words, shutil.which("python3"), FAILS]
    if launcher in PYPI:
        name, words = PYPI[launcher]
        installed(name)
        return [f"{TOP}/build/frameworks/{name}/bin/mpirun", *words, shutil.which("python3"), FAILS]
    if launcher in SHELLS:
        words = command_of(SHELLS[launcher], python_with, installed)
        return ["bash", "-c", " ".join(words) + "; exit $?"]
    if launcher == "srun":
        return [*SRUN, shutil.which("python3"), FAILS]
    installed("ray")
    return [f"{TOP}/build/frameworks/ray/bin/python", DRIVER]


@pytest.fixture
def memory_group():
    """A small memory cgroup of either version, or a skip."""
    made = []

    def make():
        for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                              ("/sys/fs/cgroup", "memory.max")):
            folder = f"{parent}/rankinit-launched-{os.getpid()}"
            try:
                os.mkdir(folder)
                made.append(folder)
                with open(f"{folder}/{limit}", "w", encoding="ascii") as file:
                    file.write(str(LIMIT))
                return folder
            except OSError as error:
                why = error
        pytest.skip(f"NOT TESTED: no memory cgroup can be made here: {why}")

    yield make
    for folder in made:
        os.rmdir(folder)


def environment(fault):
    return clean_env(
        FAULT=fault, ACCELERATE_USE_CPU="true", DS_ACCELERATOR="cpu", GLOO_SOCKET_IFNAME="lo",
        OMPI_MCA_btl_vader_single_copy_mechanism="none", RAY_AUTH_MODE="disabled",
        RAY_DEDUP_LOGS="0", PYTHONDONTWRITEBYTECODE="1")


def verdict(words, fault, start):
    job = start(words, environment(fault))
    out, err = job.communicate(timeout=SECONDS)
    assert job.returncode != 0, (words, out, err)
    return [line for line in err.splitlines() if line.startswith("rankinit: ")], err


def start(words, env):
    return subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_rank_below_a_launcher(request, python_with, installed, memory_group, launcher, fault):
    expected = cell_of(launcher, fault)
    if expected == NEITHER:
        pytest.skip("this launcher tells no rank where to meet")
    if (launcher, fault) not in SOME and os.environ.get("LAUNCHED") != "all":
        pytest.skip("it takes long: LAUNCHED=all runs it")
    words = [PROGRAM, *OPTIONS.get(fault, []), "--",
             *command_of(launcher, python_with, installed)]
    if fault == "memory":
        words = ["sh", "-c", f'echo 0 >{memory_group()}/cgroup.procs && exec "$@"', "sh", *words]
    how = start
    if launcher == "srun":
        cluster = request.getfixturevalue("cluster")

        def how(words, env):
            return cluster.start(*words, **{name: env[name] for name in ("FAULT",)})
    lines, whole = verdict(words, fault, how)
    said = judge(lines, launcher, fault)
    if os.environ.get("LAUNCHED_SAID"):     # a file for what was found
        with open(os.environ["LAUNCHED_SAID"], "a", encoding="utf-8") as file:
            file.write(f"{launcher}\t{fault}\t{said}\t{lines[0] if lines else ''}\n")
    # a rank that ended before there was a look is known by the launcher's word
    assert said == expected or (said, expected) == (WORD, ALL), whole


def test_the_page_has_the_table():
    """Of docs/launchers.md: each cell, and how many are right."""
    rows = [f"| {launcher} | " + " | ".join(cell_of(launcher, fault) for fault in FAULTS) + " |"
            for launcher in LAUNCHERS]
    with open(f"{TOP}/docs/launchers.md", encoding="utf-8") as file:
        page = file.read()
    assert "\n".join(" ".join(row.split()) for row in rows) in "\n".join(
        " ".join(line.split()) for line in page.splitlines())
    cells = [cell_of(launcher, fault) for launcher in LAUNCHERS for fault in FAULTS]
    real = [cell for cell in cells if cell != NEITHER]
    assert WRONG not in real
    right = sum(cell in (ALL, WORD) for cell in real)
    assert f"{right} of {len(real)}" in page


@pytest.mark.parametrize("label", [["-l"], []])
def test_srun_in_front_of_torchrun(cluster, python_with, label):
    """Its tasks are nodes: the rank is named by torchrun's word."""
    words = [PROGRAM, "--", "srun", *label, "-N2", "-n2", "--overcommit", "--kill-on-bad-exit=1",
             python_with("torch"), "-m", "torch.distributed.run", "--nnodes=2",
             "--nproc-per-node=2", "--rdzv-backend=c10d", "--rdzv-endpoint=n0:29400", FAILS]
    lines, whole = verdict(words, "exception", lambda words, env: cluster.start(
        *words, FAULT=env["FAULT"]))
    assert lines[0].startswith("rankinit: rank 1 (local rank "), whole
    assert failed_first(lines[0], "exit status 1 (by torchrun's word)"), whole
    assert lines[1] == "rankinit:   ValueError: bad batch 17", whole


@pytest.mark.parametrize("hook", [{}, {"HOOK": "1"}])
def test_a_rank_of_torchrun_that_does_not_get_to_its_end(python_with, hook):
    """With torch's hook its lines bear its number; without it, each rank is looked at."""
    words = [PROGRAM, "--linger=3", "--grace=10", "--", python_with("torch"), *TORCH["torchrun"][1],
             os.path.join(TRAIN, "held.py")]
    lines, whole = verdict(words, "held", lambda words, env: start(words, {**env, **hook}))
    assert ("[rank1]: ValueError" in whole) == ("HOOK" in hook)
    held = "it waits in threading._shutdown for a thread in prefetch ("
    assert names(lines[0], 1, 1), whole
    assert " raised ValueError: bad batch 17 and has not ended for " in lines[0], whole
    assert held in lines[0] and lines[0].endswith("; --linger stops it now"), whole
    assert lines[1].startswith("rankinit: rank 1 ("), whole
    assert failed_first(lines[1], "raised the error below, and had not ended"), whole
    assert lines[3] == "rankinit:   ValueError: bad batch 17", whole


@pytest.mark.parametrize("launcher", [None, "torchrun"])
def test_a_rank_whose_teardown_waits(python_with, launcher):
    """It is told while it waits with its exception in hand, and named when the others time out."""
    command = TORCH[launcher][1] if launcher else []
    words = [PROGRAM, "--linger=3", "--grace=10", *([] if launcher else ["--nproc-per-node=3"]),
             "--", python_with("torch"), *command, os.path.join(TRAIN, "teardown.py")]
    lines, whole = verdict(words, "teardown",
                           lambda words, env: start(words, {**env, "SECONDS": "15"}))
    assert lines[0].startswith("rankinit: rank 1 ("), whole
    assert " raised ValueError: bad batch 17 and has not ended for " in lines[0], whole
    assert " s: it is in main (" in lines[0] and ", and there in barrier (" in lines[0], whole
    assert lines[1].startswith("rankinit: rank 1 ("), whole
    assert came_late(lines[1]) or \
        failed_first(lines[1], "exit status 1"), whole
    assert " cause=exception " in whole and " retry=never rank=1 " in whole, whole
