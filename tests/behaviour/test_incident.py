# SPDX-License-Identifier: Apache-2.0
"""docs/incident.md, from top to bottom: each of its commands is run, and says what stands there."""

import os
import re
import signal
import subprocess
import time

import pytest

import peek
from peek import wait_until
from test_autopsy import COLLECTIVES
from test_documents import PROGRAM, ROOT, blocks, plain

ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
# All ranks meet and work; one of them looks for a file that its node does not have.
HEALTHY = """\
import member

def load(shard):
    # there is no such folder
    return open(f"/data/shard-{{shard:04d}}.tar", "rb")

peers = member.meet()
if member.RANK == {culprit}:
    load(417)
member.work(peers)
"""
# One rank waits for that file, and the others for the rank, in what is named as torch's own is.
WAITING = """\
import os, sys, time
sys.path.append("site-packages")
from torch.distributed import distributed_c10d as dist

def fetch(shard):
    while not os.path.exists(f"/data/shard-{shard:04d}.tar"):
        time.sleep(600)

def step():
    if os.environ["RANK"] == "6":
        fetch(417)
    dist.all_reduce()

step()
"""

# Behind what member.py has, and the collectives: their lines stay what they are.
MET = """
work_alone = work

def work(peers):
    open(f"met-{RANK}", "w").close()
    work_alone(peers)
"""
IS_THERE = "\nimport os\nopen('there-' + os.environ['RANK'], 'w').close()\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("job")
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    (where / "bin").mkdir()
    (where / "bin" / "rankinit").symlink_to(PROGRAM)
    for name in ("job", "hung", "silent"):
        (where / name).mkdir()
    with open(os.path.join(ROOT, "tests", "failures", "member.py"), encoding="utf-8") as member:
        (where / "member.py").write_text(member.read() + MET)
    (where / "wait.py").write_text(WAITING)
    torch = where / "site-packages" / "torch" / "distributed"
    torch.mkdir(parents=True)
    (torch / "distributed_c10d.py").write_text(COLLECTIVES + IS_THERE)
    for name, culprit in (("train.py", 3), ("healthy.py", -1)):
        (where / name).write_text(HEALTHY.format(culprit=culprit))
    return where


def steps():
    """Commands with what they print; and what a log has, after the command that made it."""
    for lines in blocks("docs/incident.md"):
        output = []
        for line in lines:
            if line.startswith("$ "):
                if output:
                    yield output
                output = [line[2:]]
            else:
                output.append(line)
        yield output


def anywhere(text):
    """
    A rank is stopped wherever it is in its program just then, and one that is late to notice that
    it lost another is told to stop.
    """
    text = re.sub(r"(\d+) lost a peer or waited in vain, (\d+) told to stop", lambda found:
                  f"{int(found[1]) + int(found[2])} lost a peer or waited in vain", text)
    text = re.sub(r"member\.py:\d+ in \w+", "member.py:N", text)
    return re.sub(r"(\n +/job/member\.py:N)+", r"\1", text)


def find_rankinit(pid):
    """The process itself, or the first one below it of that name."""
    while (peek.stat(pid) or ("",))[0] != "rankinit":
        pid = wait_until(lambda: peek.children(pid), "the shell's child")[0]
    return pid


def stop_waiting(pid, folder, seconds):
    """When all ranks have waited for longer than --autopsy-after, however busy the machine is."""
    wait_until(lambda: len(list(folder.glob("there-*"))) == 8, "eight ranks")
    time.sleep(seconds)
    os.kill(find_rankinit(pid), signal.SIGTERM)
    for path in folder.glob("there-*"):
        path.unlink()


def hang(folder, rank, ranks):
    """When all ranks have met, as --simulate does it: they may need longer than five seconds."""
    wait_until(lambda: len(list(folder.glob("met-*"))) == ranks, "ranks that have met")
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if f"RANK={rank}".encode() in peek.read(pid, "environ").split(b"\0") \
                and peek.read(pid, "cmdline").endswith(b"healthy.py\0") \
                and os.path.realpath(f"/proc/{pid}/cwd") == os.path.realpath(folder):
            os.kill(pid, signal.SIGSTOP)


def run(command, folder, seconds=2):
    """What --simulate would do after some seconds the test does when all ranks are so far."""
    waits, hangs = "stop=8 " in command, ",hang=3@5," in command
    command = command.replace("stop=8 ", "stop=90 ").replace(",hang=3@5,stop=30", ",stop=90")
    for path in folder.glob("met-*"):
        path.unlink()
    with subprocess.Popen([*ALONE, "sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL,
                          env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if waits:
            stop_waiting(process.pid, folder, seconds)
        if hangs:
            hang(folder, 3, 4)
        out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def says(log, lines, folder):
    return all(plain(line) in plain(log, str(folder)).splitlines() for line in lines)


def run_again(command, lines, folder, log):
    """
    Ranks of a busy machine may still be on their way to where they wait when they are looked at,
    and a node may be late with its look: then once more, and later.
    """
    for seconds in 5, 15:
        if not says(log, lines, folder):
            log = run(command, folder, seconds)[2]
    return log


def test_the_story(folder):
    log, command, commands = "", "", 0
    for first, *lines in steps():
        wanted = plain("\n".join(lines), str(folder))
        if first.startswith("rankinit: "):
            log = run_again(command, (first, *lines), folder, log)
            assert says(log, (first, *lines), folder), log
            continue
        status, out, err = run(first, folder)
        commands += 1
        if "--simulate=" in first:
            log, command = err, first
            assert status != 0 and "simulated: the job's exit status is" in err, err
        elif "--capture=" in first:
            assert status == 0 and re.sub(r"\d+", "N", out + err).strip() == \
                re.sub(r"\d+", "N", wanted)
        else:
            assert (status, err) == (0, "")
            assert anywhere(plain(out.rstrip("\n"), str(folder))) == anywhere(wanted)
    assert commands == 10
