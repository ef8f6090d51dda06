# SPDX-License-Identifier: Apache-2.0
"""
What the end of a failed job tells of the kernel's log: Xid messages of NVIDIA's driver since the
start. A file in a mount namespace stands for the log, and the ranks write it; a folder stands for
the driver.
"""

import json
import os
import re
import subprocess

import pytest

import schema
from box import BASE
from peek import PATIENCE
from reports import page

GPUS = ("0000:1b:00.0", "0000:3b:00.0", "0000:4c:00.0", "0000:5d:00.0", "0000:9b:00.0")
MOUNTS = "mount -t tmpfs driver /proc/driver || exit 99; mkdir @FOLDER/dev; touch @FOLDER/log " \
    "@FOLDER/dev/null @FOLDER/dev/nvidiactl; mount --bind /dev/null @FOLDER/dev/null || exit 99; "
DRIVER = "".join(f"mkdir -p /proc/driver/nvidia/gpus/{gpu}; printf 'Device Minor: \\t {number}\\n' "
                 f">/proc/driver/nvidia/gpus/{gpu}/information; touch @FOLDER/dev/nvidia{number}; "
                 for number, gpu in enumerate(GPUS))
DEV = "mount --rbind @FOLDER/dev /dev || exit 99"
LOG = "touch @FOLDER/dev/kmsg; mount --bind @FOLDER/log @FOLDER/dev/kmsg || exit 99; " + DEV
# xid(): the driver logs one so many seconds ago; of two clocks the kernel's is either.
RANK = """
import os, signal, sys, time
def xid(bus, number, ago=0.0, prefix=4, before=""):
    at = time.clock_gettime(time.CLOCK_MONOTONIC) - ago
    with open("/dev/kmsg", "a") as log:
        log.write(f"6,1,{int(at * 1e6)},-;usb 1-1: new device\\n SUBSYSTEM=usb\\n")
        log.write(f"{prefix},2,{int(at * 1e6)},-;{before}NVRM: Xid (PCI:0000:{bus}:00): "
                  f"{number}, pid=4711, name=python3\\n")
if os.environ.get("RANK", "1") != "1": time.sleep(60)
"""
ECC = "raise RuntimeError('CUDA error: uncorrectable ECC error encountered')\n"
BAD = "raise ValueError('bad batch 17')\n"
OFF = "Xid 79 on GPU 0000:3b:00.0 (the GPU has fallen off the bus)"


class Told:
    def __init__(self, job):
        self.result = job.wait()
        self.report = json.loads(job.read("report.json"))
        schema.check(self.report, "report")
        self.folder = job.folder
        self.errors = self.report["gpu_errors"]
        lines = self.result.lines()
        self.first = self.report["first_failure"]
        self.xids = [line.removeprefix("rankinit:   ") for line in lines if "Xid" in line]
        self.verdict = lines


@pytest.fixture
def told(box):
    if os.geteuid() != 0 or not os.path.isdir("/proc/driver"):
        pytest.skip("mounts need root, and /proc/driver to mount on")

    def run(program, shell=MOUNTS + DRIVER + LOG, count=2, **more):
        words = [f"--nproc-per-node={count}"] if count > 1 else []
        return Told(box.start(*words, "--grace=5", "--report=report.json", "--", "/usr/bin/python3",
                              "-I", "-S", "-c", RANK + program, shell=shell, **more))
    return run


def test_a_gpu_that_is_gone(told, box):
    """In the verdict, in the report, and on the page that blames a node."""
    found = told("xid('3b', 79)\n" + BAD)
    assert found.result.status == 1
    assert found.xids == [f"before it: {OFF}"]
    at = found.verdict.index(f"rankinit:   before it: {OFF}")
    assert "ValueError: bad batch 17" in "\n".join(found.verdict[:at])
    assert found.verdict[at + 1].startswith("rankinit:   rank 0: told to stop")
    assert found.errors == {"more": 0, "listed": [
        {"xid": 79, "gpu": "0000:3b:00.0", "text": "the GPU has fallen off the bus",
         "of": "hardware", "after_end": False}]}
    assert found.first["cause"] is None, "a bad batch is none of its errors"
    assert f"before it: {OFF}" in page(box, os.path.join(found.folder, "report.json"))


@pytest.mark.parametrize("xid", [
    "", "xid('3b', 79, ago=3600)", "xid('3b', 79, prefix=12)", "xid('3b', 79, prefix=28)",
    "xid('3b', 45)", "xid('3b', 999)", "xid('77', 79)",
    "xid('3b', 79, before='oom-kill: task=')",
], ids=["none", "before", "user", "daemon", "cleanup", "unknown", "foreign", "inside"])
def test_what_does_not_count(told, xid):
    """One before the job, of a process, of a kind that says little, of a GPU that is not seen."""
    found = told(xid + "\n" + ECC)
    assert found.xids == [] and found.errors == {"listed": [], "more": 0}
    assert found.first["cause"] is None
    control = told("xid('3b', 79)\n" + ECC)
    assert control.xids[0] == f"before it: {OFF}"


def test_what_explains_an_error_of_cuda(told):
    found = told("xid('3b', 48)\n" + ECC)
    assert found.xids == [
        "before it: Xid 48 on GPU 0000:3b:00.0 (an uncorrectable memory error)",
        "GPU 0000:3b:00.0 had Xid 48, which explains such a CUDA error: start the job on other "
        "nodes; node admin: NVIDIA XID Errors says what to do about it [gpu.xid.logged]"]
    assert (found.first["cause"]["code"], found.first["cause"]["subject"]) == (
        "gpu.xid.logged", "GPU 0000:3b:00.0")


@pytest.mark.parametrize("number, text", [
    (13, "an exception on the GPU, mostly a program's own fault"),
    (31, "a GPU page fault, mostly a program's own fault")])
def test_what_a_program_causes(told, number, text):
    """It is told, and the hardware is not blamed."""
    found = told(f"xid('3b', {number})\n" + ECC)
    assert found.xids == [f"before it: Xid {number} on GPU 0000:3b:00.0 ({text})"]
    assert found.first["cause"] is None
    assert found.errors["listed"][0]["of"] == "program"


def test_many(told):
    """The worst of each GPU, four GPUs, and a number."""
    log = "".join(f"xid('{bus}', {number})\n" for bus, number in (
        ("1b", 31), ("1b", 79), ("3b", 63), ("3b", 63), ("4c", 48), ("4c", 79), ("5d", 74),
        ("9b", 79)))
    found = told(log + BAD)
    assert found.xids == [
        "before it: Xid 79 on GPU 0000:1b:00.0 (the GPU has fallen off the bus)",
        "before it: Xid 63 on GPU 0000:3b:00.0 (a faulty row or page of memory was recorded)",
        "before it: Xid 48 on GPU 0000:4c:00.0 (an uncorrectable memory error)",
        "before it: Xid 74 on GPU 0000:5d:00.0 (an NVLink error)",
        "the kernel's log has 4 more Xid messages since the start"]
    assert [one["xid"] for one in found.errors["listed"]] == [79, 63, 48, 74]
    assert found.errors["more"] == 4


def test_one_that_came_later(told):
    """It is no cause."""
    found = told("xid('3b', 79, ago=-3600)\n" + ECC)
    assert found.xids == [f"after it: {OFF}"] and found.first["cause"] is None
    assert found.errors["listed"][0]["after_end"] is True


def test_of_the_gpus_of_this_job(told):
    program = "xid('1b', 79)\nxid('3b', 79)\n" + BAD
    assert told(program, env={"CUDA_VISIBLE_DEVICES": "1"}).xids == [f"before it: {OFF}"]
    assert len(told(program).xids) == 2


def test_one_command(box, told):
    """It has no verdict, and this line."""
    words = ["--", "/usr/bin/python3", "-I", "-S", "-c", RANK + "xid('3b', 79)\nsys.exit(3)\n"]
    found = box.run(*words, shell=MOUNTS + DRIVER + LOG)
    assert (found.status, found.lines()) == (3, [f"rankinit: before the end: {OFF}"])
    words[-1] = words[-1].replace("sys.exit(3)", "sys.exit(0)")
    found = box.run(*words, shell=MOUNTS + DRIVER + LOG)
    assert (found.status, found.err) == (0, "")


@pytest.mark.parametrize("shell", [
    MOUNTS + LOG, MOUNTS + DRIVER + DEV, MOUNTS + DRIVER + "mkfifo @FOLDER/dev/kmsg; " + DEV,
    MOUNTS + DRIVER + LOG.replace("@FOLDER/log", "/dev/null"),
], ids=["driver", "absent", "fifo", "masked"])
def test_a_log_that_cannot_be_read(told, shell):
    """Without a word about it."""
    found = told(BAD, shell=shell)
    assert found.errors is None and found.xids == [] and found.result.status == 1
    assert "kmsg" not in found.result.err
    assert told(BAD).errors == {"listed": [], "more": 0}


def test_the_log_of_this_machine(told):
    """It has no such GPUs, and ends where no more is there."""
    found = told(BAD, shell=MOUNTS + DRIVER + "true")
    assert found.result.status == 1 and found.xids == []
    if found.errors is None:
        pytest.skip("this machine's log cannot be read")
    assert found.errors == {"listed": [], "more": 0}


def test_a_user_who_may_not_read_it(told):
    shell = MOUNTS + DRIVER + LOG + "; chmod 600 /dev/kmsg; chmod 777 @FOLDER; " \
        "exec setpriv --reuid=65534 --clear-groups \"$@\""
    found = told(BAD, shell=shell)
    assert found.errors is None and "kmsg" not in found.result.err
    assert told(BAD, shell=shell.replace("chmod 600", "chmod 644")).errors is not None


@pytest.fixture
def traced(box, told, tool, tmp_path):
    """traced(strace's options, command): the trace, and what was said."""
    del told

    def run(options, *command):
        trace = tmp_path / "trace"
        words = [tool("unshare"), "--mount", "sh", "-c",
                 (MOUNTS + DRIVER + LOG + '; exec "$@"').replace("@FOLDER", str(tmp_path)), "sh",
                 tool("strace"), "-f", "-o", str(trace), *options, box.rankinit,
                 "--nproc-per-node=2", "--checks=none", "--", *command]
        done = subprocess.run(words, env=BASE, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False)
        if not trace.exists() or "exited with" not in trace.read_text():
            pytest.skip("strace does not work here: " + done.stderr.decode()[:200])
        return trace.read_text(), done.stderr.decode()
    return run


@pytest.mark.parametrize("error, told_of", [("EPIPE", True), ("EINTR", True), ("EIO", False)])
def test_records_that_were_overwritten(traced, error, told_of):
    """The next read goes on; the control is an error that ends it."""
    program = RANK + "xid('3b', 79)\nsys.exit(3)\n"
    trace, said = traced(["-P", "/dev/kmsg", "-e", "trace=read", "-e",
                          f"inject=read:error={error}:when=1"],
                         "/usr/bin/python3", "-I", "-S", "-c", program)
    assert f"{error} (" in trace and "(INJECTED)" in trace
    assert (f"rankinit:   before it: {OFF}\n" in said) == told_of


@pytest.mark.parametrize("end, opens", [("exit 0", 0), ("exit 3", 1)])
def test_a_healthy_job_opens_nothing(traced, end, opens):
    """The control fails, and reads the log once, without waiting for more of it."""
    text, _ = traced([], "sh", "-c", end)
    found = re.findall(r"open\w*\(.*kmsg.*", text)
    assert len(found) == opens, found
    assert all("O_RDONLY|O_NOCTTY|O_NONBLOCK" in line for line in found)
    assert ("driver/nvidia" in text) == bool(opens)
