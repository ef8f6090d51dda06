# SPDX-License-Identifier: Apache-2.0
"""
Which rank holds up the others, and in what? Ranks of torch's DDP, stopped in eleven ways; and
below each launcher.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

from conftest import PROGRAM, TOP, clean_env
from deadmount import mounted
from peek import children, wait_until

TRAIN = os.path.join(TOP, "tests", "frameworks", "train", "torch_hang.py")
WAITS = os.path.join(TOP, "tests", "frameworks", "train", "torch_waits.py")
RANKS, VICTIM = 4, 1
START = 120
ENV = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
# The class of the suspect, and words of its sentence.
FAULTS = {
    "sleep": (["sleeps"], "torch_hang.py"),
    "collective": (["collective"], "in barrier, torch_hang.py"),
    "dead-mount": (["blocked", "waits"], "(fuse.dead on "),
    "lock": (["lock"], "in deadlock"),
    "spin": (["runs", "spins"], "in spin"),
    "dead-loader": (["loader"], ") was stopped by a signal"),
    "worker-mount": (["loader"], "(fuse.dead on "),
    "no-data": (["data"], "waits for data in get"),
    "debugger": (["debugged"], "is in a debugger, "),
    "stopped": (["stopped"], "was stopped by a signal"),
    "c-code": (["spins"], "torch_hang.py"),
}


@pytest.fixture
def job(tmp_path, free_port):
    """Start ranks below whatever is named; all of it is gone at the end."""
    started = []

    def start(*words, options=(), env=None):
        said = tmp_path / f"out.{len(started)}"
        with open(said, "wb") as out:
            started.append(subprocess.Popen(
                [PROGRAM, f"--master-port={free_port}", "--checks=none", *options, "--", *words],
                env=clean_env(**ENV, **(env or {})), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True))
        job = started[-1]
        wait_until(lambda: job.poll() is not None or said.read_bytes().count(b"trains") >= RANKS,
                   said.read_text(), START)
        assert job.poll() is None, said.read_text()
        return job

    yield start
    for one in started:
        for pid in below(one.pid):
            with contextlib.suppress(ProcessLookupError):   # the end of one may be another's
                os.kill(pid, signal.SIGKILL)
        one.kill()
        one.wait()


def below(pid):
    """Its descendants, the youngest first."""
    found = []
    for child in children(pid):
        found = [*below(child), child, *found]
    return found


def look(pid):
    done = subprocess.run([PROGRAM, "--autopsy=json", str(pid)], env=clean_env(),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def suspect(pid):
    return wait_until(lambda: look(pid)["suspect"], "a suspect", START)


@pytest.fixture
def dead(tmp_path):
    with mounted(tmp_path / "dead"):
        yield tmp_path / "dead"


@pytest.mark.parametrize("fault", FAULTS)
def test_the_suspect(python_with, job, fault, request):
    """The first that is named is the right one, and it is named for the right thing."""
    path = request.getfixturevalue("dead") / "x" if "mount" in fault else ""
    here = job(python_with("torch"), TRAIN, fault, str(VICTIM), str(path),
               options=[f"--nproc-per-node={RANKS}"])
    found = suspect(here.pid)
    classes, words = FAULTS[fault]
    assert found["rank"] == VICTIM, found
    assert found["class"] in classes, found
    assert words in found["text"], found


# Ways to be parallel, and a function in which the others wait.
KINDS = {
    "ddp": "_pre_forward", "ddp-buffers": "_distributed_broadcast_coalesced",
    "fsdp1": "all_gather", "fsdp2": "all_gather", "fsdp2-prefetch": "foreach_all_gather_copy_out",
    "pipeline": "_wait_batch_p2p", "checkpoint": "gather_object",
}


def groups_of(pid):
    """What each rank does, as (ranks, sentence)."""
    return [(tuple(group["ranks"]), group["text"]) for group in look(pid)["groups"]
            if group["ranks"]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_others_wait_in(python_with, job, kind, tmp_path):
    """Whatever torch has them wait in, it is for the other ranks."""
    here = job(python_with("torch"), WAITS, kind, str(VICTIM), str(tmp_path),
               options=[f"--nproc-per-node={RANKS}"])

    def hangs():
        others = [text for ranks, text in groups_of(here.pid) if VICTIM not in ranks]
        return others and all("waits for the other ranks in " in text for text in others) and \
            any(f"in {KINDS[kind]}" in text for text in others)
    wait_until(hangs, kind, START)
    if kind != "ddp-buffers":  # one of the others may have had its buffers already
        assert suspect(here.pid)["rank"] == VICTIM


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_suspected_of_one_that_moves(python_with, job, kind, tmp_path):
    here = job(python_with("torch"), WAITS, kind, "-1", str(tmp_path),
               options=[f"--nproc-per-node={RANKS}"])
    for _ in range(5):
        assert look(here.pid)["suspect"] is None


def test_nobody_is_suspected_of_a_healthy_job(python_with, job):
    here = job(python_with("torch"), TRAIN, "healthy", "-1", options=[f"--nproc-per-node={RANKS}"])
    for _ in range(20):
        assert look(here.pid)["suspect"] is None


def test_below_torchrun(python_with, job):
    python = python_with("torch")
    here = job(python, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", TRAIN, "sleep",
               str(VICTIM))
    found = suspect(here.pid)
    assert (found["rank"], found["class"]) == (VICTIM, "sleeps")
    agent = [one for one in look(here.pid)["processes"] if one["rank"] is None]
    assert [one["class"] for one in agent] == ["child"]


def test_behind_a_shell(python_with, job):
    here = job("sh", "-c", '"$@"; :', "sh", python_with("torch"), TRAIN, "sleep", str(VICTIM),
               options=[f"--nproc-per-node={RANKS}"])
    found = suspect(here.pid)
    assert (found["rank"], found["class"]) == (VICTIM, "sleeps")


def test_workers_are_no_ranks(python_with, job):
    """Each rank has one; it waits for work, or for its parent to take what it has."""
    here = job(python_with("torch"), TRAIN, "lock", str(VICTIM),
               options=[f"--nproc-per-node={RANKS}"])
    suspect(here.pid)
    processes = look(here.pid)["processes"]
    assert sorted(one["rank"] for one in processes if one["is_rank"]) == list(range(RANKS))
    workers = [one for one in processes if not one["is_rank"]]
    assert sorted({one["rank"] for one in workers}) == list(range(RANKS))
    assert {one["class"] for one in workers} <= {"work", "lock", "data"}


def test_below_mpirun(python_with, job, free_port):
    """Each rank has a rankinit of its own; whoever asks names mpirun."""
    if shutil.which("mpirun") is None:
        pytest.skip("NOT TESTED: there is no mpirun")
    here = job("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(RANKS), PROGRAM,
               "--checks=none", "--", python_with("torch"), TRAIN, "sleep", str(VICTIM),
               env={"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port)})
    found = suspect(here.pid)
    assert (found["rank"], found["class"]) == (VICTIM, "sleeps")
    processes = look(here.pid)["processes"]
    assert sorted(one["rank"] for one in processes if one["is_rank"]) == list(range(RANKS))
    assert not [one for one in processes if one["name"].startswith("rankinit")]


LIGHTNING = f"""
import os, time, torch, lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def training_step(self, batch, index):
        if index == 3:
            print("trains", flush=True)
            if self.global_rank == {VICTIM}:
                time.sleep(600)
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.001)
data = torch.utils.data.DataLoader(torch.ones(100000, 8), batch_size=2)
lightning.Trainer(accelerator="cpu", devices={RANKS}, strategy="ddp", max_epochs=1, logger=False,
                  enable_checkpointing=False, enable_progress_bar=False,
                  enable_model_summary=False).fit(Model(), data)
"""


def test_below_lightning(python_with, job, tmp_path):
    """Ranks that rankinit started; it takes its place from their variables."""
    program = tmp_path / "fit.py"
    program.write_text(LIGHTNING)
    here = job(python_with("lightning"), str(program), options=[f"--nproc-per-node={RANKS}"])
    found = suspect(here.pid)
    assert (found["rank"], found["class"]) == (VICTIM, "sleeps")


TIMES_OUT = f"""
import datetime, time, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
dist.all_reduce(torch.ones(1))
def forget():
    time.sleep(600)
if dist.get_rank() == {VICTIM}:
    forget()
dist.all_reduce(torch.ones(1))
"""


def test_the_verdict_after_a_time_out(python_with, free_port, tmp_path):
    """The ranks that timed out are gone; the one that they waited for says why."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [PROGRAM, f"--nproc-per-node={RANKS}", f"--master-port={free_port}", "--checks=none",
         f"--report={report}", "--", python_with("torch"), "-c", TIMES_OUT],
        env=clean_env(**ENV), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=START, check=False)
    assert done.returncode != 0
    seen = done.stderr.partition("what its processes did when the first rank was lost:")[2]
    assert f"rank {VICTIM} (pid " in seen, done.stderr
    assert "sleeps, <string>:6 in forget" in seen, done.stderr
    ranks = [one for one in json.loads(report.read_text())["autopsy"]["processes"]
             if one["rank"] == VICTIM]
    assert [one["class"] for one in ranks] == ["sleeps"]
