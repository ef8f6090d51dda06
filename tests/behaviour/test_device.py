# SPDX-License-Identifier: Apache-2.0
"""
tests/device.sh, which is for a machine with GPUs, on stand-ins: a libnvidia-ml and an
nvidia-smi that agree, and that do not; a torch that only adds.
"""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from box import BASE
from deep import fake_fixture, probe_fixture
from peek import PATIENCE

__all__ = ["fake_fixture", "probe_fixture"]     # fixtures, by their own names

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What the healthy GPUs of fakes/nvml.c are to nvidia-smi, of all eight alike.
ANSWERS = {
    "memory.total": "81559", "memory.free": "80959", "memory.reserved": "600",
    "ecc.errors.uncorrected.volatile.total": "0", "mig.mode.current": "Disabled",
    "remapped_rows.correctable": "0", "remapped_rows.uncorrectable": "0",
    "remapped_rows.pending": "0", "remapped_rows.failure": "0", "sram": "No",
}

SMI = """#!{python}
import sys
answers = {answers!r}
option = sys.argv[1]
if sys.argv[1:] == ["-q", "-x"]:
    print("<nvidia_smi_log>" + "".join(
        "<gpu><ecc_errors><aggregate><sram_threshold_exceeded>" + answers.get(f"{{i}}.sram",
        answers["sram"]) + "</sram_threshold_exceeded></aggregate></ecc_errors></gpu>"
        for i in range(8)) + "</nvidia_smi_log>")
    sys.exit(0)
if option == "-q":
    print("a long text")
    sys.exit(0)
name = option.partition("=")[2]
if name == "pci.bus_id":
    print("\\n".join(f"00000000:{{0x1b + i:02X}}:00.0" for i in range(8)))
elif name == "uuid":
    print("\\n".join(f"GPU-00000000-0000-0000-0000-{{i:012d}}" for i in range(8)))
elif name in answers:
    for i in range(8):
        print(answers.get(f"{{i}}.{{name}}", answers[name]))
else:
    print(f'Field "{{name}}" is not a valid field to query.')
    sys.exit(2)
"""

TORCH = '''
class cuda:
    is_available = staticmethod(lambda: True)
    set_device = staticmethod(lambda device: None)
class Tensor(list):
    def __eq__(self, other):
        return self
    def all(self):
        return True
    def sum(self):
        return self
    def item(self):
        return 0
uint8 = None
def full(shape, value, device):
    return Tensor([value] * 4)
def zeros(size, dtype, device):
    return Tensor([0])
'''
DISTRIBUTED = '''
import os
def init_process_group(backend):
    assert backend == "nccl" and os.environ["MASTER_ADDR"] and os.environ["MASTER_PORT"]
def all_reduce(tensor):
    world = int(os.environ["WORLD_SIZE"])
    tensor[:] = [world * (world + 1) // 2] * len(tensor)
def get_backend():
    return "nccl"
def destroy_process_group():
    pass
'''


@pytest.fixture(name="device")
def fixture_device(rankinit, probe, fake, tmp_path):
    """device(answers, ...): the exit status and what was said."""
    library = fake("nvml")

    def look(*options, torch=False, state="", **changed):
        tools = tmp_path / "tools"
        shutil.rmtree(tools, ignore_errors=True)
        tools.mkdir()
        answers = {**ANSWERS, **{name.replace("__", "."): value
                                 for name, value in changed.items()}}
        path = tools / "nvidia-smi"
        path.write_text(SMI.format(python=sys.executable, answers=answers))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        if torch:
            (tools / "torch").mkdir()
            (tools / "torch" / "__init__.py").write_text(TORCH)
            (tools / "torch" / "distributed.py").write_text(DISTRIBUTED)
        shutil.copy(f"{library}/libnvidia-ml.so.1", tools)
        (tools / "state").write_text(state)
        done = subprocess.run(
            ["sh", os.path.join(TOP, "tests", "device.sh"), *(options or ["--ranks=1"])], cwd=TOP,
            env={**BASE, "OUT": str(tmp_path / "out"), "RANKINIT": rankinit,
                 "LD_LIBRARY_PATH": str(tools), "PYTHONPATH": str(tools),
                 "PATH": f"{tools}:{os.environ['PATH']}"},
            capture_output=True, text=True, timeout=10 * PATIENCE, check=False)
        return done.returncode, done.stdout + done.stderr
    return look


def test_all_the_same(device, tmp_path):
    status, text = device()
    assert status == 0, text
    assert "8 GPUs in" in text and "DIFFERS" not in text
    assert "GPU 7 remap 3: 0, nvidia-smi 0" in text
    assert "GPU 0 memory 0: 85520809984, nvidia-smi 85520809984" in text
    assert "nvidia-smi has no such name" in text, "counters of a newer one"
    assert "pass gpu.health - GPUs: 8 answer" in text
    assert "ranks: skipped" in text
    assert "GPU 7 sram 0: 0, nvidia-smi 0" in text
    # few, small, without a folder and without odd names: they travel as they are
    found = sorted(os.listdir(tmp_path / "out"))
    assert found == ["checks.json", "machine.tree", "nvidia-smi.txt", "plain.txt", "probe.txt",
                     "summary.txt"]
    assert (tmp_path / "out" / "summary.txt").read_text() == text
    tree = (tmp_path / "out" / "machine.tree").read_text()
    assert "proc/self/status <<" in tree and os.uname().nodename not in tree


@pytest.mark.parametrize("changed, said", [
    ({"3__remapped_rows__pending": "1"}, "DIFFERS  GPU 3 remap 2: 0, nvidia-smi 1"),
    ({"5__memory__free": "4000"}, "DIFFERS  GPU 5 memory 1: 84891664384, nvidia-smi 4194304000"),
    ({"state": "2.sram.error 999"}, "DIFFERS  GPU 2 sram: NVML error 999"),
    ({"state": "count 7"}, "DIFFERS  7 GPUs, nvidia-smi 8"),
    ({"2__sram": "Yes"}, "DIFFERS  GPU 2 sram 0: 0, nvidia-smi 1"),
    ({"sram": "<"}, "sram 0: 0, nvidia-smi has no such name"),     # no XML
    ({"state": "init.crash 1"}, "DIFFERS  rankinit-probe did not come to its end"),
])
def test_what_differs(device, changed, said):
    status, text = device(**changed)
    assert said in text, text
    assert status == (1 if "DIFFERS" in said else 0), text


def test_a_step_that_fails(device):
    """The others still run."""
    status, text = device(**{"pci__bus_id__lines": "", "memory__total": '"\n' + "x" * 200000})
    assert status == 1 and "compare failed" in text and "machine.tree:" in text, text


@pytest.mark.parametrize("changed", [
    {"memory__free": "80930"},      # it woke up meanwhile
    {"mig__mode__current": "N/A"},
])
def test_what_may_differ(device, changed):
    assert device(**changed)[0] == 0


def test_one_rank_for_each_gpu(device):
    """8 GPUs, and no device file for --nproc-per-node=gpu to count."""
    status, text = device("--ranks=3")
    assert status == 0 and "--nproc-per-node=3: 3 ranks, exit 0" in text, text
    assert "plain rank 2 of 3, local 2" in text


def test_ranks(device, tmp_path):
    status, text = device("--ranks=2", torch=True,
                          state="0.processes.0 1\n0.memory.1 81000000000\n",
                          **{"0__memory__free": "77247"})
    assert status == 0, text
    assert "rank 1 of 2: sum 3 over nccl" in text and "ranks: 2 with nccl, exit 0" in text
    status, text = device("--ranks=2", torch=True)
    assert status == 1 and "3 GiB of another process are not seen" in text, "the control"


def test_no_python(rankinit, probe, device, tmp_path):
    """What the programs say is kept."""
    device()
    tools = tmp_path / "few"
    tools.mkdir()
    for name in ("sh", "cat", "chmod", "dirname", "mkdir", "tee", "timeout"):
        (tools / name).symlink_to(shutil.which(name))
    (tools / "nvidia-smi").write_text("#!/bin/sh\necho a long text\n")
    (tools / "nvidia-smi").chmod(0o755)
    done = subprocess.run(["/bin/sh", os.path.join(TOP, "tests", "device.sh")], cwd=TOP,
                          env={"PATH": str(tools), "OUT": str(tmp_path / "bare"),
                               "RANKINIT": rankinit, "LD_LIBRARY_PATH": str(tmp_path / "tools")},
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "no python3, so nothing was compared" in done.stdout
    found = {path.name: path.read_text() for path in (tmp_path / "bare").iterdir()}
    assert found["probe.txt"].endswith("end\n") and found["nvidia-smi.txt"] == "a long text\n"
    assert '"id": "gpu.health"' in found["checks.json"] and "plain.txt" in found


def test_no_gpu_machine(rankinit, tmp_path):
    done = subprocess.run(["/bin/sh", os.path.join(TOP, "tests", "device.sh")], cwd=tmp_path,
                          env={"PATH": str(tmp_path)}, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 2 and "no nvidia-smi" in done.stderr
