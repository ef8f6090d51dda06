# SPDX-License-Identifier: Apache-2.0
"""
The checks of GPUs' health, by a libnvidia-ml of the tests' own (fakes/nvml.c): each state
that they name switches one check alone, and what is normal names nothing.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import pytest

from box import BASE, refused, warned
from deep import brief, fake_fixture, of, probe_fixture
from deep import look as look_deep
from peek import PATIENCE

__all__ = ["fake_fixture", "probe_fixture"]     # fixtures, by their own names

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = ["gpu.health", "gpu.remap", "gpu.ecc", "gpu.busy"]
ALL = "--checks=" + ",".join(CHECKS)
GPU_3 = "GPU 3 (0000:1e:00.0)"
RANK = {f"OMPI_COMM_WORLD_{name}": value for name, value in
        (("RANK", "0"), ("SIZE", "1"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "1"))}


def questions():
    with open(os.path.join(TOP, "lib/node/probe_answer.h"), encoding="ascii") as file:
        return re.findall(r'RI_ASKED\(\w+, "([\w-]+)", \d', file.read())


@pytest.fixture(name="gpus")
def fixture_gpus(fake, tmp_path_factory):
    """gpus("3.remap.2 1", OLD=1): a folder for LD_LIBRARY_PATH with GPUs in that state."""
    made = {}

    def make(*state, **macros):
        key = tuple(macros.items())
        if key not in made:
            made[key] = fake("nvml", **macros)
        folder = tmp_path_factory.mktemp("gpus")
        shutil.copy(f"{made[key]}/libnvidia-ml.so.1", folder)
        (folder / "state").write_text("".join(line + "\n" for line in state))
        return str(folder)
    return make


def look(rankinit, folder, *options, env=None):
    return look_deep(rankinit, ALL, *options, env={"LD_LIBRARY_PATH": folder, **(env or {})})


def said(checks):
    """check -> what it says"""
    return {name: [(one["status"], one["code"], one["subject"]) for one in of(checks, name)]
            for name in CHECKS}


# code -> the state, its severity, what the text has
STATES = {
    "gpu.health.lost": (["3.gpu.error 15"], "warn", "fallen off the bus"),
    "gpu.health.reset": (["3.gpu.error 16"], "warn", "before a reset"),
    "gpu.health.recovery": (["3.recovery.0 1"], "note", "recommends a reset of the GPU"),
    "gpu.health.unknown": (["3.gpu.error 999"], "unknown", "NVML error 999"),
    "gpu.remap.failed": (["3.remap.3 1", "3.remap.1 7"], "warn", "7 were after uncorrectable"),
    "gpu.remap.pending": (["3.remap.2 1"], "note", "waits for the next reset"),
    "gpu.remap.unknown": (["3.remap.error 999"], "unknown", "NVML error 999"),
    "gpu.ecc.sram": (["3.sram.0 1"], "warn", "than NVIDIA accepts"),
    "gpu.ecc.errors": (["3.ecc.0 2"], "note", "2 uncorrectable errors"),
    "gpu.ecc.unknown": (["3.ecc.error 14"], "unknown", "infoROM is corrupted"),
    "gpu.busy.others": (["3.processes.0 1", "3.memory.1 5368709120"], "note",
                        "75839 MiB of memory are taken, 1 process computes there"),
    "gpu.busy.unknown": (["3.memory.error 999"], "unknown", "NVML error 999"),
}
# what is said of all GPUs, or where a library ends everything; see their own tests
ELSEWHERE = ["gpu.health.library", "gpu.health.unlisted", "gpu.health.crashed",
             "gpu.health.hung", "gpu.busy.shared"]
# what may find a node unfit by --require=gpu.health, and nothing else
UNFIT = ["gpu.health.lost", "gpu.health.reset", "gpu.remap.failed", "gpu.remap.pending"]
UNKNOWN = ["gpu.health.unknown", "gpu.remap.unknown"]


def test_every_code_has_a_state():
    with open(os.path.join(TOP, "lib/base/codes.def"), encoding="ascii") as file:
        codes = re.findall(r'^RI_CODE\(\w+, "(gpu\.\w+)(\.\w+)"', file.read(), re.M)
    assert sorted([*STATES, *ELSEWHERE]) == sorted(
        name + end for name, end in codes if name in CHECKS)


@pytest.mark.parametrize("code", STATES)
def test_a_state_switches_one_check(rankinit, probe, gpus, code):
    state, severity, text = STATES[code]
    status, healthy = look(rankinit, gpus())
    assert status == 0 and {one["status"] for one in healthy} <= {"pass", "skip"}
    status, checks = look(rankinit, gpus(*state))
    name = code.rpartition(".")[0]
    assert status == 0
    changed = {one for one in CHECKS if said(checks)[one] != said(healthy)[one]}
    assert changed == {name}
    found, = of(checks, name)
    # one that is not opened has no address
    opened = "3.gpu.error" not in state[0]
    assert (found["status"], found["code"]) == (severity, code)
    assert found["subject"] == (GPU_3 if opened else "GPU 3")
    assert text in found["text"]


@pytest.mark.parametrize("code", STATES)
def test_what_may_fail(rankinit, probe, gpus, code):
    folder = gpus(*STATES[code][0])
    status, checks = look(rankinit, folder, "--require=gpu.health")
    name = code.rpartition(".")[0]
    found, = of(checks, name)
    if code in UNFIT:
        assert (status, found["status"]) == (123, "fail")
    elif code in UNKNOWN:
        assert (status, found["status"]) == (123, "unknown")
    else:
        assert (status, found["status"]) == (0, STATES[code][1])


@pytest.mark.parametrize("state, subject", [
    (["*.remap.2 1"], "GPUs"),
    (["2.remap.2 1", "3.remap.2 1"], "GPU 2 (0000:1d:00.0), GPU 3 (0000:1e:00.0)"),
    (["*.remap.2 1", "7.remap.2 0"], "GPU 0 (0000:1b:00.0), GPU 1 (0000:1c:00.0), "
     "GPU 2 (0000:1d:00.0) and 4 more"),
])
def test_the_same_of_several_is_one_result(rankinit, probe, gpus, state, subject):
    _, checks = look(rankinit, gpus(*state))
    found, = of(checks, "gpu.remap")
    assert (found["code"], found["subject"]) == ("gpu.remap.pending", subject)


@pytest.mark.parametrize("env", [
    {"CUDA_MPS_PIPE_DIRECTORY": "/nowhere"},
    {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
     "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
])
def test_busy_as_it_may_be(rankinit, probe, gpus, env):
    """MPS, and ranks that were started together: never held against the node."""
    folder = gpus("3.processes.0 1")
    status, checks = look(rankinit, folder, "--require=gpu.busy", env=env)
    assert (status, brief(checks, "gpu.busy")) == (0, [("note", "gpu.busy.shared")])
    status, checks = look(rankinit, folder, "--require=gpu.busy")
    assert (status, brief(checks, "gpu.busy")) == (123, [("fail", "gpu.busy.others")]), "control"


# What is normal: nothing but passes and skips, or the notes named, and never unfit.
NORMAL = {
    "idle": [],
    "one": ["count 1"],
    "consumer": [f"*.{name}.error 3" for name in
                 ("ecc", "sram", "remap", "mig", "recovery")],
    "mig": ["*.mig.0 1", "*.processes.0 5", "*.memory.1 1000000", "*.remap.error 3",
            "*.ecc.error 3"],
    "a_slice_for_a_tenant": ["*.mig.0 1", *(
        f"*.{name}.error 4" for name in ("memory", "processes", "ecc", "sram", "remap"))],
    "deprecated": ["*.remap.error 26", "*.ecc.error 26"],
    "vgpu": ["*.ecc.error 22", "*.sram.error 3", "*.remap.error 3"],
    "rows_remapped_long_ago": ["*.remap.0 3", "*.remap.1 2"],
    "a_desktop": ["*.memory.1 84000000000"],
    "others_by_cgroup": ["2.gpu.error 17", "3.gpu.error 4"],
    "no_uuid": ["*.uuid.error 3", "*.address.error 3"],
}


@pytest.mark.parametrize("name", NORMAL)
@pytest.mark.parametrize("old", [False, True])
def test_what_is_normal(rankinit, probe, gpus, name, old):
    """Also by the library of a driver that lacks half of the functions."""
    folder = gpus(*NORMAL[name], **({"OLD": 1} if old else {}))
    status, checks = look(rankinit, folder, "--require=gpu.health")
    assert {one["status"] for one in checks} <= {"pass", "skip"} or (
        old and name in ("mig", "a_slice_for_a_tenant")), checks
    assert status == 0


@pytest.mark.parametrize("action, text", [
    (2, "a reboot of the node"), (5, "to recover the IMEX domain"), (6, "a reset of the bus"),
    (7, "a reboot of the system"), (8, "an action that rankinit does not know"),
])
def test_what_the_driver_recommends(rankinit, probe, gpus, action, text):
    _, checks = look(rankinit, gpus(f"3.recovery.0 {action}"), "--require=gpu.health")
    found, = of(checks, "gpu.health")
    assert (found["status"], found["text"]) == ("note", "the driver recommends " + text)


def test_every_error_of_nvml(rankinit, probe, gpus):
    """To every question: nothing ends, nothing fails, and only two of them accuse the GPU."""
    for error in (*range(1, 30), 999, 70000, -1):
        folder = gpus(*(f"3.{name}.error {error}" for name in questions()))
        status, checks = look(rankinit, folder)
        assert status == 0
        accused = {"gpu.health.lost"} if error == 15 else {"gpu.health.reset"} \
            if error == 16 else set()
        assert {one["code"] for one in checks if one["status"] in ("warn", "fail")} == accused
        assert {one["subject"] for one in checks if one["status"] == "unknown"} <= {GPU_3}
    # and to the steps before them
    for error in (*range(1, 30), 999):
        for step in ("init", "list", "3.gpu"):
            _, checks = look(rankinit, gpus(f"{step}.error {error}"))
            bad = {one["code"] for one in checks} - {None}
            assert len(bad) <= 1 and bad <= {
                "gpu.health.library", "gpu.health.lost", "gpu.health.reset",
                "gpu.health.unknown"}, (step, error)


def test_a_library_that_does_not_start(rankinit, probe, gpus):
    status, checks = look(rankinit, gpus("init.error 18"))
    assert (status, brief(checks, "gpu.health")) == (0, [("unknown", "gpu.health.library")])
    assert "not of the kernel's driver" in of(checks, "gpu.health")[0]["text"]
    assert {one["status"] for one in checks if one["id"] != "gpu.health"} == {"skip"}
    assert look(rankinit, gpus("init.error 18"), "--require=gpu.health")[0] == 123


@pytest.mark.parametrize("error", [9, 12])
def test_a_library_without_a_driver(rankinit, probe, gpus, error):
    """A machine without GPUs, with an image for GPUs: nothing to say, unless it is required."""
    line = f"init.error {error}"
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("there is a driver")
    status, checks = look(rankinit, gpus(line))
    assert (status, {one["status"] for one in checks}) == (0, {"skip"})
    assert look(rankinit, gpus(line), "--require=gpu.health")[0] == 123


@pytest.mark.parametrize("line, code, text", [
    ("3.sram.crash 1", "gpu.health.crashed",
     'by SIGABRT, while GPU 3 (0000:1e:00.0) was asked for "sram"'),
    ("3.gpu.crash 1", "gpu.health.crashed", "by SIGABRT, while GPU 3 was opened"),
    ("load.crash 1", "gpu.health.crashed", "while the library was loaded"),
    ("init.crash 1", "gpu.health.crashed", "while NVML was initialised"),
    ("3.ecc.hang 1", "gpu.health.hung",
     'within 6000 ms, while GPU 3 (0000:1e:00.0) was asked for "ecc"'),
])
def test_one_that_ends_or_hangs(rankinit, probe, gpus, line, code, text):
    """Unknown, and what was known before counts."""
    early = line[0] in "li"
    folder = gpus(line, "0.remap.3 1")
    status, checks = look(rankinit, folder)
    assert (status, brief(checks, "gpu.health")) == (0, [("unknown", code)])
    assert text in of(checks, "gpu.health")[0]["text"]
    assert brief(checks, "gpu.remap") == (
        [("skip", None)] if early else [("warn", "gpu.remap.failed")])
    for asked in ("gpu.health", "gpu.remap"):
        if "hang" not in line:
            assert look(rankinit, folder, f"--require={asked}")[0] == 123, asked


# A library that behaves badly, and what gpu.health makes of it.
MISDEEDS = {
    "prints": ({"IN_LOAD": 'puts("ok");fflush(stdout)'}, "pass", None),
    "prints_for_ever": ({"IN_INIT": 'for(int i=0;i<99999;i++)puts("try ask 0 remap");'
                                    'fflush(stdout)'}, "pass", None),
    "closes_all": ({"IN_INIT": "for(int i=0;i<99;i++)close(i)"}, "pass", None),
    "exits": ({"IN_LOAD": "exit(0)"}, "unknown", "gpu.health.crashed"),
    "exits_by_itself": ({"IN_INIT": "_exit(0)"}, "unknown", "gpu.health.crashed"),
    "at_exit": ({"IN_LOAD": "atexit(abort)"}, "pass", None),
    "forks": ({"IN_INIT": "if(fork()==0)for(;;)pause()"}, "pass", None),
    "is_deaf": ({"IN_LOAD": "sigset_t all;sigfillset(&all);sigprocmask(SIG_BLOCK,&all,0);"
                            "signal(SIGTERM,SIG_IGN)"}, "pass", None),
    "endless_word": ({"IN_UUID": "memset(text,'x',size)"}, "pass", None),
    "no_word": ({"IN_UUID": "memset(text,'\\n',size)"}, "pass", None),
    "too_much": ({"IN_UUID": "memset(text,'x',65536)"}, "unknown", "gpu.health.crashed"),
}


@pytest.mark.parametrize("name", MISDEEDS)
def test_a_library_that_misbehaves(rankinit, probe, gpus, name):
    macros, severity, code = MISDEEDS[name]
    status, checks = look(rankinit, gpus(**macros))
    assert (status, brief(checks, "gpu.health")) == (0, [(severity, code)])
    assert not {one["status"] for one in checks} & {"warn", "fail"}


def test_no_permission_for_a_whole_gpu(rankinit, probe, gpus):
    """Normal with MIG alone."""
    for mig, status in ((1, 0), (0, 123)):
        folder = gpus("*.remap.error 4", f"*.mig.0 {mig}")
        assert look(rankinit, folder, "--require=gpu.health")[0] == status


def test_none_is_opened(rankinit, probe, gpus):
    """Of GPUs that nobody could ask nothing passes."""
    for state in (["*.gpu.error 17"], ["*.gpu.error 4"], ["count 0"]):
        status, checks = look(rankinit, gpus(*state))
        assert (status, {one["status"] for one in checks}) == (0, {"skip"})
        for name in ("gpu.health", "gpu.remap"):
            assert look(rankinit, gpus(*state), f"--require={name}")[0] == 123
    # the control: one is enough
    assert look(rankinit, gpus("*.gpu.error 17", "3.gpu.error 0"), "--require=gpu.health")[0] == 0


def test_no_library(rankinit, probe, fake, tmp_path):
    status, checks = look(rankinit, str(tmp_path))
    assert status == 0 and {one["status"] for one in checks} == {"skip"}
    status, checks = look(rankinit, str(tmp_path), "--require=gpu.health")
    assert status == 123 and brief(checks, "gpu.health")[0][0] == "unknown"


def test_hidden_gpus(rankinit, probe, gpus):
    """None that a program would see: whatever is wrong with them."""
    for value in ("", "-1"):
        status, checks = look(rankinit, gpus("*.gpu.error 15"),
                              env={"CUDA_VISIBLE_DEVICES": value})
        assert status == 0 and {one["status"] for one in checks} == {"skip"}


# In mounts of its own: the driver's folder and eight device files, for GPUs of these addresses.
MACHINE = """
set -e
folder=$1
shift
mkdir "$folder/dev"
touch "$folder/dev/null" "$folder/dev/nvidiactl"
mount --bind /dev/null "$folder/dev/null"
mount -t tmpfs driver /proc/driver
for i in 0 1 2 3 4 5 6 7; do
    touch "$folder/dev/nvidia$i"
    address=$(printf '0000:%02x:00.0' $((27 + i)))
    mkdir -p "/proc/driver/nvidia/gpus/$address"
    printf 'GPU UUID: \t GPU-00000000-0000-0000-0000-%012d\nDevice Minor: \t %d\n' $i $i \
        > "/proc/driver/nvidia/gpus/$address/information"
    printf 'Node:    %d\nStatus:  %s\n' $i "${NUMA:-disabled}" \
        > "/proc/driver/nvidia/gpus/$address/numa_status"
done
mount --rbind "$folder/dev" /dev
exec "$@"
"""


@pytest.fixture(name="machine")
def fixture_machine(rankinit, probe, tool, tmp_path):
    """machine(folder, env): the exit status and what a check says there, required."""
    if os.geteuid() != 0 or not os.path.isdir("/proc/driver"):
        pytest.skip("mounts need root, and /proc/driver to mount on")

    def look_there(folder, env, check="gpu.health"):
        place = tempfile.mkdtemp(dir=tmp_path)
        done = subprocess.run(
            [tool("unshare"), "--mount", "sh", "-c", MACHINE, "sh", place, rankinit,
             "--check=json", f"--checks={check}", f"--require=deep,{check}"],
            env={**BASE, "LD_LIBRARY_PATH": folder, **env}, capture_output=True,
            timeout=PATIENCE, check=False)
        return done.returncode, of(json.loads(done.stdout)["checks"], check)
    return look_there


@pytest.mark.parametrize("visible, accused", [
    (None, {GPU_3 + ", GPU 5 (0000:20:00.0)"}), ("0,1", set()), ("5", {"GPU 5 (0000:20:00.0)"}),
    ("3,4", {GPU_3}),       # the one that is missing among those that answer
    ("GPU-00000000-0000-0000-0000-000000000005", {"GPU 5 (0000:20:00.0)"}),
])
def test_gpus_of_another_job(machine, gpus, visible, accused):
    """Lost ones that CUDA_VISIBLE_DEVICES does not have are nobody's trouble here."""
    env = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    status, checks = machine(gpus("3.gpu.error 15", "5.ecc.error 15"), env)
    assert {one["subject"] for one in checks if one["status"] == "fail"} == accused
    assert status == (123 if accused else 0)


def test_gpus_that_are_not_listed(machine, gpus):
    """Seven of eight: perhaps another container's, so it is a note."""
    status, checks = machine(gpus("count 7"), {})
    assert (status, [(one["status"], one["code"]) for one in checks]) == (
        0, [("note", "gpu.health.unlisted")])
    assert machine(gpus("count 7"), {"CUDA_VISIBLE_DEVICES": "0,1"})[1][0]["status"] == "pass"


@pytest.mark.parametrize("numa, state, status, code", [
    ("online", "3.memory.1 5368709120", 0, "gpu.busy.shared"),
    ("disabled", "3.memory.1 5368709120", 123, "gpu.busy.others"),
    ("online_in_progress", "3.memory.1 5368709120", 123, "gpu.busy.others"),
    ("online", "3.processes.0 1", 123, "gpu.busy.others"),
])
def test_memory_of_the_kernel(machine, gpus, numa, state, status, code):
    """Of a superchip: files may lie there, a process may not."""
    done, (found,) = machine(gpus(state), {"NUMA": numa}, "gpu.busy")
    assert (done, found["code"], found["subject"]) == (status, code, GPU_3)


def test_a_probe_that_asks_less(rankinit, probe, gpus, tmp_path):
    """What was not asked has not passed."""
    shutil.copy(rankinit, tmp_path)
    other = tmp_path / "rankinit-probe"
    other.write_text("#!/bin/sh\nprintf 'rankinit-probe 2\\ntry load x\\nok\\ntry init\\nok\\n"
                     "try list\\nok 1\\ntry gpu 0\\nok - -\\nend\\n'\n")
    other.chmod(0o755)
    status, checks = look(str(tmp_path / os.path.basename(rankinit)), gpus(),
                          "--require=gpu.health")
    assert (status, brief(checks, "gpu.remap")) == (123, [("unknown", "check.skipped")])


def test_busy_before_our_own_ranks(box, probe, gpus):
    """None of them has begun."""
    words = ["--nproc-per-node=2", "--require=deep,gpu.busy", "--", "sh", "-c", "echo ran"]
    unfit = box.run(*words, env={"LD_LIBRARY_PATH": gpus("3.processes.0 1")})
    assert (unfit.status, unfit.out) == (123, b"") and "gpu.busy.others" in unfit.err
    fit = box.run(*words, env={"LD_LIBRARY_PATH": gpus()})
    assert fit.status == 0 and fit.out.count(b"ran") == 2


@pytest.mark.parametrize("options, status", [
    (["--require=gpu.health,gpu.remap"], 123), (["--require=gpu.health"], 123),
    (["--require=gpu.*"], 123), (["--require=deep"], 123),
    (["--expect=deep,gpu.health"], 0), (["--expect=deep,gpu.*"], 0), (["--require=gpu.ecc"], 0),
])
def test_who_asks_for_a_remap(rankinit, probe, gpus, options, status):
    done, checks = look(rankinit, gpus("3.remap.2 1"), *options)
    found = of(checks, "gpu.remap")[0]["status"]
    assert (done, found) == (status, "fail" if status else
                             "warn" if "gpu" in options[0] and "--expect" in options[0] else "note")


def test_a_launch(box, probe, gpus):
    words = ["--", "sh", "-c", "echo ran"]
    env = {**RANK, "LD_LIBRARY_PATH": gpus("3.remap.2 1")}
    asked = box.run("--require=gpu.health", *words, env=env)
    assert "needs deep" in refused(asked, 125, "option.value", "--require")
    unfit = box.run("--require=deep,gpu.health", *words, env=env)
    assert (unfit.status, unfit.out) == (123, b"")
    assert "gpu.remap.pending" in unfit.err
    # the controls: nobody requires it; it is well
    fit = box.run("--expect=deep", "--checks=gpu.remap", *words, env=env)
    assert (fit.status, fit.out, fit.err) == (0, b"ran\n", "")
    well = box.run("--require=deep,gpu.health", *words,
                   env={**RANK, "LD_LIBRARY_PATH": gpus()})
    assert (well.status, well.out, well.err) == (0, b"ran\n", "")
    lost = box.run("--expect=deep", "--checks=gpu.health", *words,
                   env={**RANK, "LD_LIBRARY_PATH": gpus("3.gpu.error 15")})
    assert (lost.status, lost.out) == (0, b"ran\n")
    assert "fallen off the bus" in warned(lost, "gpu.health.lost", "GPU 3")
    off = box.run("--require=deep,gpu.health", "--checks=default,^gpu.remap", *words,
                  env=env)
    assert (off.status, off.out) == (0, b"ran\n")
    assert "gpu.remap is not checked" in warned(off, "check.unasked", "--require")


def test_one_run_for_all(rankinit, probe, gpus, tool, tmp_path):
    """Four checks, one process, which asks each GPU each thing once."""
    trace = tmp_path / "trace"
    subprocess.run([tool("strace"), "-f", "-e", "trace=execve", "-o", str(trace), rankinit,
                    "--check", "--expect=deep", ALL], check=True, capture_output=True,
                   env={**BASE, "LD_LIBRARY_PATH": gpus()}, timeout=PATIENCE)
    assert len(re.findall(r'execve\("[^"]*rankinit-probe"', trace.read_text())) == 1
    done = subprocess.run([probe, "nvml", f"{gpus()}/libnvidia-ml.so.1"], check=True,
                          capture_output=True, text=True)
    asked = [line for line in done.stdout.splitlines() if line.startswith("try ask ")]
    assert len(asked) == len(set(asked)) == 8 * len(questions())
