# SPDX-License-Identifier: Apache-2.0
"""--simulate where things are not as they usually are."""

import array
import fcntl
import json
import os
import re
import shutil
import signal
import termios
import time

import pytest

import everybody
from box import refused
from peek import wait_until
from test_dead_mount import dead, waits  # noqa: F401  a fixture
from test_simulate import nothing_is_left, simulated
from test_terminal import Terminal
from verdict import was_killed_late

PLACES = ["init", "below"]


@pytest.mark.parametrize("name", ["rankinit", "rankinit-0.1-static"])
@pytest.mark.parametrize("place", PLACES)
def test_one_sigterm_whatever_the_binary_is_called(box, tmp_path, place, name):
    """The nodes' rankinits pass a stop on, and nobody else sends a second one."""
    program = shutil.copy(box.rankinit, tmp_path / name)
    job = box.start("--simulate=openmpi:1x2", "--", *box.payload("env:RANK", "deaf"),
                    program=str(program), place=place)
    job.until("rank0 ready", "rank1 ready")
    result = job.stop()
    assert was_killed_late(result.err), "the control: all were told"
    assert [job.count(f"rank{rank} SIGTERM") for rank in range(2)] == [1, 1], job.log()
    nothing_is_left(job)


def test_nodes_that_cannot_be_started(box):
    """The status is of the refusal, not of those that were stopped because of it."""
    line = 'ulimit -u 5; exec "$0" "$@"'
    result = box.run("--reuid=54321", "--regid=54321", "--clear-groups", "bash", "-c", line,
                     box.rankinit, "--simulate=kubeflow_pytorch:8x1", "--", "sleep", "9",
                     program="/usr/bin/setpriv")
    assert result.status == 125, result.err
    assert "[spawn.refused]" in result.err
    assert "node 7: it could not be started" in simulated(result)
    assert simulated(result)[-1] == "the job's exit status is 125; there it would be Failed"


AS_USER = ["--reuid=1000", "--regid=1000", "--clear-groups", "--bounding-set=-all",
           "--inh-caps=-all"]


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker"])
def test_the_rank_of_a_binary_that_nobody_may_read(box, kind):
    """The kernel then hides what a process runs: the rank is hit, and not its rankinit."""
    program = os.path.join(everybody.FOLDER, "rankinit-111")
    shutil.copy(box.rankinit, program)
    os.chmod(program, 0o111)
    result = box.run(*AS_USER, program, f"--simulate={kind}:1x2,kill=1@2", "--supervise=always",
                     "--", "sh", "-c", 'echo "$RANK=$$"; exec sleep 5', program="/usr/bin/setpriv")
    os.remove(program)
    assert result.status == 137, result.err
    pid = re.search(r" 1=(\d+)$", result.out.decode(), re.M).group(1)
    assert f"SIGKILL for rank 1 (pid {pid}), 2 s after the start" in simulated(result)


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker"])
@pytest.mark.parametrize("fault", ["kill", "hang"])
def test_a_proc_of_another_namespace(box, kind, fault):
    """Its numbers are those of others, so nobody gets a signal."""
    result = box.run("--fork", "--pid", box.rankinit, f"--simulate={kind}:1x2,{fault}=1@2",
                     "--supervise=always", "--", "sleep", "3", program="/usr/bin/unshare")
    assert result.status == 0, result.err
    name = "SIGKILL" if fault == "kill" else "SIGSTOP"
    assert f"warning: simulated: /proc does not show rank 1, so {name} is not sent" in result.err


def test_a_rank_that_took_its_environment_away(box):
    result = box.run("--simulate=sagemaker:1x2,kill=1@2", "--", "env", "-i", "sleep", "3")
    assert result.status == 0, result.err
    assert ("warning: simulated: rank 1 does not run 2 s after the start, so SIGKILL is not "
            "sent; its RANK=1 and LOCAL_RANK=1 are looked for\n") in result.err
    result = box.run("--simulate=openmpi:1x2,kill=1@2", "--", "env", "-i", "sleep", "9")
    assert result.status == 137, result.err


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker"])
def test_a_fault_that_the_job_does_not_live_to_see(box, kind):
    result = box.run(f"--simulate={kind}:1x2,kill=1@60,hang=0@60.5,stop=61", "--", "true")
    assert result.status == 0, result.err
    said = [line for line in result.lines() if "warning" in line]
    assert [line.partition("simulated: ")[2] for line in said] == [
        f"the job ended before {fault}, so this did not happen"
        for fault in ("kill=1@60", "hang=0@60.5")]
    result = box.run(f"--simulate={kind}:1x2,kill=1@2", "--", "sleep", "5")
    assert "did not happen" not in result.err, "the control"


# Options.

@pytest.mark.parametrize("kind, option, why", [
    ("sagemaker", "--supervise=never", "the rankinit of a node is the parent of its ranks"),
    ("sagemaker", "--launch=none", "it says that COMMAND starts the whole job"),
    ("openmpi", "--launch=none", "it says that COMMAND starts the whole job"),
])
def test_an_option_that_no_member_could_take(box, kind, option, why):
    """One sentence, and not one of each member about an option that nobody gave."""
    result = box.run(f"--simulate={kind}:2x2", option, "--", "true")
    assert why in refused(result, 125, "option.conflict", option.partition("=")[0])
    good = box.run("--simulate=openmpi:2x1", "--supervise=never", "--", "true")
    assert good.status == 0, good.err


def test_reports_behind_each_other(box, tmp_path):
    """A descriptor is no file that the next node replaces."""
    with open(tmp_path / "reports", "ab") as file:
        result = box.run("--simulate=sagemaker:2x1", f"--report=fd:{file.fileno()}", "--", "true",
                         pass_fds=[file.fileno()])
    assert result.status == 0 and "warning" not in result.err, result.err
    text, nodes = (tmp_path / "reports").read_text(), []
    while text:
        report, end = json.JSONDecoder().raw_decode(text)
        nodes.append(report["topology"]["node_rank"]["value"])
        text = text[end:].lstrip()
    assert sorted(nodes) == [0, 1]


def test_a_plain_init_plays_no_machine(box):
    result = box.run("-q", "--", "true", env={"RANKINIT_DISABLE": "1", "RANKINIT_SIMULATED": "{"})
    assert (result.status, result.err) == (0, "")


# The account.

def test_nodes_that_end_at_the_same_time(box):
    """What each says of its end is read, though all of them write it at once."""
    script = """echo >>@FOLDER/log; read -r line <@FOLDER/go; exit $((RANK / 64 + 3))"""
    job = box.start("--simulate=kubeflow_pytorch:4x64", "-q", "--", "sh", "-c", script,
                    shell="mkfifo @FOLDER/go")
    wait_until(lambda: len(job.log()) == 256, "all ranks")
    with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
        pass
    result = job.wait()
    for node in range(4):
        assert re.search(rf"^node {node}: exit status {node + 3} after \S+ s; rank \d+ failed "
                         rf"first, exit status {node + 3}$", "\n".join(simulated(result)), re.M), (
                             simulated(result))


def test_a_report_is_written_at_once(box, tool):
    """To a file, where what several append at the same time would mix otherwise."""
    line = [tool("strace"), "-ff", "-o", "@FOLDER/trace", "-s", "40", "-e",
            "trace=write,writev,pwritev2"]
    job = box.start(*line[1:], box.rankinit, "--simulate=sagemaker:2x2", "--", "true",
                    program=line[0])
    result = job.wait()
    if result.status != 0:
        pytest.skip("strace does not work here: " + result.err[:200])
    reports = []
    for name in os.listdir(job.folder):  # a file for each process: no line stands in pieces
        if name.startswith("trace."):
            writes = re.findall(r"^p?writev?2?\((\d+), .* = (\d+)$", job.read(name).decode(), re.M)
            reports += [int(length) for to, length in writes if int(to) > 2 and int(length) > 1000]
    assert len(reports) == 2 and min(reports) > 4096, reports


# A stop.

@pytest.mark.parametrize("fault, status", [("stop=2", 143), ("kill=1@2", 137)])
def test_faults_where_a_profile_denies_kill(box, actor, fault, status):
    """By a descriptor, as rankinit's own signals then are."""
    result = box.run("kill=EPERM", "--", box.rankinit, f"--simulate=openmpi:1x2,{fault}", "--",
                     "sleep", "9", program=actor("deny"))
    assert result.status == status, result.err


@pytest.mark.parametrize("kind", ["openmpi", "sagemaker"])
def test_a_stop_where_a_mount_does_not_answer(box, dead, kind):  # noqa: F811
    job = box.start(f"--simulate={kind}:2x2", "--", dead / "train")
    waits(job)
    result = job.stop()
    assert result.status == 128 + signal.SIGTERM, result.err
    nothing_is_left(job)


def unread(reader):
    count = array.array("i", [0])
    fcntl.ioctl(reader, termios.FIONREAD, count)
    return count[0]


def test_a_stop_ends_all_explanations(box):
    """Also that of a member which cannot go on."""
    reader, writer = os.pipe()
    job = box.start("--simulate=openmpi:256x1", "--explain", "--", "true", stdout=writer)
    wait_until(lambda: unread(reader) > 30000, "what fills a pipe")
    result = job.stop()
    os.close(reader)
    os.close(writer)
    assert result.status == 128 + signal.SIGTERM, result.err


@pytest.mark.parametrize("options", [["--simulate=openmpi:1x2"], ["--simulate=sagemaker:1x2"],
                                     ["--nproc-per-node=2"]])
def test_a_terminal_that_goes_away(box, options):
    """The kernel tells the leader of the session, and nobody else."""
    made = Terminal()
    job = box.start(*options, "--", *box.payload("env:RANK"), tty=made.path)
    job.until("rank0 ready", "rank1 ready")
    made.close()
    job.until("rank0 SIGHUP", "rank1 SIGHUP")
    time.sleep(0.1)
    assert [job.count(f"rank{rank} SIGHUP") for rank in range(2)] == [1, 1]
    job.stop()
