# SPDX-License-Identifier: Apache-2.0
"""
--simulate with real frameworks: the ranks of every platform's job meet, and a
job that loses a rank, is stopped or hangs says so. Each rank imports its
framework, which takes seconds; so PyTorch runs in every shape with one rank on
each of two nodes, launchers in those of OFTEN, and with SIMULATIONS=all there
are two ranks, and all shapes.
"""

import os
import re
import subprocess

import pytest

import recipes
from conftest import PROGRAM, SECONDS, TOP, TRAIN, clean_env, said

ALL = os.environ.get("SIMULATIONS") == "all"
OFTEN = {"kubeflow_pytorch", "sagemaker", "indexed_job"}
RECIPES = recipes.read()
# Seconds until a fault: they are tried until the ranks had met by then.
MOMENTS = (10, 30, 90)

# Ranks that add for ever, until somebody does not answer for ten seconds.
LOOP = """
import datetime, os, time, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
rank, share = dist.get_rank(), torch.tensor([10 ** dist.get_rank()])
dist.all_reduce(share)
print(f"rank {rank} of {dist.get_world_size()}, local {os.environ['LOCAL_RANK']}, "
      f"sum {share.item()}", flush=True)
while True:
    time.sleep(0.1)
    dist.all_reduce(torch.zeros(1))
"""
# The local rank is named by a platform, or for JAX alone.
JAX = """
import os, jax
local = os.environ.get("LOCAL_RANK") or os.environ["JAX_LOCAL_DEVICE_IDS"]
from jax.experimental import multihost_utils
jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                           process_id=int(os.environ["JAX_PROCESS_ID"]))
shares = multihost_utils.process_allgather(jax.numpy.array([10 ** jax.process_index()]))
print(f"rank {jax.process_index()} of {jax.process_count()}, "
      f"local {local}, sum {int(shares.sum())}", flush=True)
"""


def listed(who):
    """Names of the simulations in which such are started: processes, or nodes."""
    done = subprocess.run([PROGRAM, "--list=simulations"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [name for name, started, _ in rows if started in who]


def simulate(job, command, options=(), **env):
    return subprocess.run([PROGRAM, f"--simulate={job}", *options, "--", *command],
                          env=clean_env(**env), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=SECONDS, check=False)


def rows_of(nodes, ranks):
    """What they all say: rank, size, local rank, sum."""
    size = nodes * ranks
    return [(rank, size, rank % ranks, int("1" * size)) for rank in range(size)]


def lines_of(done):
    """Of rankinit, without the warnings of the frameworks."""
    return [line.removeprefix("rankinit: ") for line in done.stderr.splitlines()
            if line.startswith("rankinit: ")]


def check(done, nodes, ranks):
    """All took part, and there was nothing to complain of."""
    told = done.stdout + done.stderr
    assert (done.returncode, said(done.stdout)) == (0, rows_of(nodes, ranks)), told
    assert not re.search("rankinit: (warning|error)", done.stderr), done.stderr


@pytest.mark.parametrize("name", listed(("processes", "nodes")))
def test_torch(python_with, name):
    ranks = 2 if ALL else 1
    done = simulate(f"{name}:2x{ranks}", [python_with("torch"), f"{TRAIN}/torch_add.py"])
    if name == "tf_config" and ranks > 1:    # two ranks are no task of TensorFlow
        done.stderr = re.sub("rankinit: warning: TF_CONFIG: .*", "", done.stderr)
    check(done, 2, ranks)


@pytest.mark.parametrize("name", listed("nodes"))
def test_torchrun(python_with, name):
    """One on each node, which starts its ranks."""
    if not ALL and name not in OFTEN:
        pytest.skip("it takes long: SIMULATIONS=all runs it")
    check(simulate(f"{name}:2x2", [python_with("torch"), "-m", "torch.distributed.run",
                                   f"{TRAIN}/torch_add.py"]), 2, 2)


@pytest.mark.parametrize("name", ["openmpi", "slurm", "azureml_pytorch", "kubeflow_pytorch"])
def test_lightning(python_with, name):
    check(simulate(f"{name}:2x2", [python_with("lightning"), f"{TRAIN}/lightning_fit.py",
                                   "--devices", "2", "--num_nodes", "2"]), 2, 2)


def test_tensorflow(python_with):
    """Each node has a port of its own there: all of them are this machine."""
    check(simulate("tf_config:2x1", [python_with("tensorflow"), f"{TRAIN}/tensorflow_mwms.py"],
                   TF_CPP_MIN_LOG_LEVEL="3"), 2, 1)


@pytest.mark.parametrize("job, options", [
    ("jax_job:2x1", []), ("jax_job_trainjob:2x2", []), ("openmpi:2x2", ["--frameworks=jax"])])
def test_jax(python_with, job, options):
    done = simulate(job, [python_with("jax"), "-c", JAX], options, JAX_PLATFORMS="cpu",
                    JAX_CPU_COLLECTIVES_IMPLEMENTATION="gloo")
    check(done, 2, int(job[-1]))


def lose(python, job, fault):
    """The job with this fault at the first moment by which all of its ranks had met."""
    for moment in MOMENTS:
        done = simulate(f"{job},{fault}@{moment}", [python, "-c", LOOP])
        if said(done.stdout) == rows_of(2, int(job[-1])):
            return lines_of(done), done
    pytest.skip(f"NOT TESTED: the ranks have not met after {MOMENTS[-1]} seconds")


def test_a_rank_is_killed_below_mpirun(python_with):
    lines, done = lose(python_with("torch"), "openmpi:2x2", "kill=3")
    assert done.returncode == 137, done.stderr
    assert re.match(r"simulated: SIGKILL for rank 3 \(pid \d+\), ", lines[1])
    assert re.match(r"rank 3 \(.*\) failed first: killed by SIGKILL", lines[2])
    assert lines[-1] == "simulated: the job's exit status is 137"


@pytest.mark.parametrize("name, goes_on", [("sagemaker", False), ("kubeflow_pytorch", True)])
def test_a_rank_of_a_node_is_killed(python_with, name, goes_on):
    """Where the platform lets the other node go on, its ranks notice, and are not blamed."""
    lines, done = lose(python_with("torch"), f"{name}:2x2", "kill=3")
    assert done.returncode == 137, done.stderr
    named = [line for line in lines if re.match(r"rank \d+ .* failed first", line)]
    assert len(named) == 1 and named[0].startswith("rank 3 (")
    assert lines[-1] == "simulated: the job's exit status is 137; there it would be Failed"
    first, second = lines[-3:-1]
    assert first.startswith("simulated: node 0: exit status ")
    # the platform's stop and their own notice race each other
    assert "its ranks lost a rank of another node" in first or not goes_on, first
    assert "exit status 137" in second and "rank 3 failed first, killed by SIGKILL" in second


def test_a_rank_hangs(python_with):
    """
    The three others give up, and the one that never answered is named; nobody is, if the
    end of the first of them came before the clock of the others.
    """
    lines, done = lose(python_with("torch"), "openmpi:2x2", "hang=1")
    assert done.returncode == 1, done.stderr
    assert re.match(r"simulated: SIGSTOP for rank 1 \(pid \d+\), ", lines[1])
    assert re.match(r"rank 1 \(.*\) did not come when all others waited for it|"
                    "cannot tell which rank failed first: ", lines[2])
    assert lines[-1] == "simulated: the job's exit status is 1"


@pytest.fixture
def shell(python_with, tmp_path):
    """Run a line of a recipe in a folder with train.py, where rankinit and torch are."""
    python = python_with("torch")
    os.mkdir(tmp_path / "bin")
    os.symlink(PROGRAM, tmp_path / "bin" / "rankinit")
    path = f"{tmp_path}/bin:{os.path.dirname(python)}:{os.environ['PATH']}"

    def run(line, program):
        (tmp_path / "train.py").write_text(program, encoding="utf-8")
        return subprocess.run(["sh", "-c", line], env=clean_env(PATH=path), cwd=tmp_path,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=SECONDS, check=False)
    return run


def test_a_checkpoint_survives_a_stop(shell):
    """The recipe, as it stands, twice; the control is the same program without its handler."""
    line, program = " ".join(RECIPES["simulate-stop"].words), RECIPES["simulate-stop-train"].text
    done = shell(line, program)
    (saved,) = re.findall(r"saved after step (\d+)", done.stdout)
    assert "goes on" not in done.stdout
    assert "simulated: SIGTERM for the whole job, 20 s after the start" in done.stderr
    again = shell(line, program)
    assert sorted(re.findall(r"rank (\d) goes on from step (\d+)", again.stdout)) == [
        (str(rank), saved) for rank in range(4)], again.stdout + again.stderr
    (later,) = re.findall(r"saved after step (\d+)", again.stdout)
    assert int(later) > int(saved)
    deaf = shell(line, program.replace("signal.signal(signal.SIGTERM, note)", ""))
    assert "saved" not in deaf.stdout and deaf.returncode == 143, deaf.stderr


@pytest.mark.parametrize("line", RECIPES["simulate-ci"].lines)
def test_the_job_of_github_actions(shell, line):
    with open(f"{TRAIN}/torch_add.py", encoding="utf-8") as file:
        check(shell(line, file.read()), 2, 2)
