# SPDX-License-Identifier: Apache-2.0
"""--simulate: a platform's job on this machine, with its faults."""

import os
import re
import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import everybody
import peek
from box import HERE, refused, warned
from peek import wait_until
from test_terminal import CTRL_C, terminal  # noqa: F401  a fixture
from verdict import was_killed_late

MEET = [sys.executable, "-I", "-S", everybody.copy(os.path.join(HERE, "meet.py"))]
# Each process is started; a node, and the others are stopped with it; a node alone.
KINDS = ["openmpi", "sagemaker", "kubeflow_pytorch"]
# Each of them as process 1 or below another process.
PAIRS = list(zip(KINDS, ["init", "below", "init"]))
SCOPES = dict(line.split("\t")[:2] for line in subprocess.run(
    [os.environ.get("RANKINIT", os.path.join(HERE, "../../build/rankinit")),
     "--list=simulations"], capture_output=True, check=True, text=True).stdout.splitlines())
SHAPES = list(SCOPES)
# A network of its own: other tests have ports, too.
ALONE = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
ENV = 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR"'


def simulated(result):
    """What is said of the simulation, without what precedes it in each line."""
    return [line.partition("simulated: ")[2] for line in result.lines() if "simulated: " in line]


def start(box, spec, *words, options=(), **more):
    """So many ranks of the payload; all of them are ready."""
    nodes, ranks = map(int, re.search(r":(\d+)x(\d+)", spec).groups())
    absent = [int(node) for node in re.findall(r"absent=(\d+)", spec)]
    job = box.start(f"--simulate={spec}", *options, "--", *box.payload("env:RANK", *words), **more)
    job.until(*(f"rank{rank} ready" for rank in range(nodes * ranks)
                if rank // ranks not in absent))
    return job


def nothing_is_left(job):
    assert job.others() == {} if job.place == "below" else job.members() == {}


# The job itself.

@pytest.mark.parametrize("kind, place", PAIRS)
def test_each_rank_has_its_place(box, kind, place):
    result = box.run(f"--simulate={kind}:2x3", "--", "sh", "-c", ENV, place=place)
    assert result.status == 0, result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"[{rank // 3}:{rank}] {rank} 6 {rank % 3} 3 {rank // 3} 127.0.0.2" for rank in range(6)]
    below = "process 1" if place == "init" else "a subreaper"
    assert simulated(result)[0] == (
        f"2 nodes of {kind}, 3 ranks each, below {below}; no GPU, no fabric")
    assert result.lines()[0].endswith(simulated(result)[0])
    assert not [line for line in result.lines() if "warning" in line]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_ranks_of_every_shape_meet(box, shape):
    result = box.run(*ALONE, box.rankinit, f"--simulate={shape}:2x2", "--", *MEET,
                     program="/usr/bin/unshare")
    assert result.status == 0, result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"[{rank // 2}:{rank}] rank {rank} of 4, local {rank % 2} of 2, node {rank // 2}: sum 6"
        for rank in range(4)]
    # the cluster of TF_CONFIG has a task for each node, and here it has two
    expected = "TF_CONFIG" if shape == "tf_config" else None
    assert not [line for line in result.lines() if "warning" in line and
                not (expected and expected in line)], result.err


# Those that start nodes meet in test_restart_platforms.py, and once more after a restart.
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SCOPES[shape] != "nodes"])
def test_the_ranks_of_one_node_meet(box, shape):
    result = box.run(*ALONE, box.rankinit, f"--simulate={shape}:1x2", "--log-prefix=no", "--",
                     *MEET, program="/usr/bin/unshare")
    assert result.status == 0, result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"rank {rank} of 2, local {rank} of 2, node 0: sum 1" for rank in range(2)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_does_not_see_that_it_is_simulated(box, kind):
    result = box.run(f"--simulate={kind}:1x1", "--log-prefix=no", "--", "env", env={"KEPT": "yes"})
    names = {line.partition("=")[0] for line in result.out.decode().splitlines()}
    assert "KEPT" in names and "RANK" in names
    # but for what another rankinit below it has to know
    assert {name for name in names if name.startswith("RANKINIT_")} == {
        "RANKINIT_SIMULATED", "RANKINIT_OUTER"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_rankinit_inside(box, kind):
    """The image has one for its ENTRYPOINT, and the command is another one."""
    result = box.run(f"--simulate={kind}:2x2", "--", box.rankinit, "--", "sh", "-c", ENV)
    assert result.status == 0, result.err
    assert sorted(result.out.decode().splitlines()) == [
        f"[{rank // 2}:{rank}] {rank} 4 {rank % 2} 2 {rank // 2} 127.0.0.2" for rank in range(4)]
    assert "warning" not in result.err


@pytest.mark.parametrize("kind", KINDS)
def test_the_variable_of_the_option(box, kind):
    result = box.run("--", "sh", "-c", ENV, env={"RANKINIT_SIMULATE": f"{kind}:1x2"})
    assert result.status == 0, result.err
    assert [line.split()[:3] for line in sorted(result.out.decode().splitlines())] == [
        [f"[0:{rank}]", str(rank), "2"] for rank in range(2)]


def test_off_a_plain_init(box):
    """The control: without the option nobody starts anything else."""
    result = box.run("--", "sh", "-c", ENV)
    assert result.status == 0 and result.out == b"     \n" and result.err == ""
    result = box.run("--simulate=openmpi:2x2", "--", "sh", "-c", ENV,
                     env={"RANKINIT_DISABLE": "1"})
    assert result.out == b"     \n" and simulated(result) == []


@pytest.mark.parametrize("kind", KINDS)
def test_threads_are_shared_by_all_ranks(box, kind):
    cpus = len(os.sched_getaffinity(0))
    line = b'echo "$OMP_NUM_THREADS"'
    result = box.run(f"--simulate={kind}:2x2", "--log-prefix=no", "--", "sh", "-c", line.decode())
    assert result.out.split() == [b"%d" % max(1, cpus // 4)] * 4, result.err
    result = box.run(f"--simulate={kind}:1x1", "--log-prefix=no", "--", "sh", "-c", line.decode())
    assert result.out.split() == [b"%d" % cpus]
    result = box.run(f"--simulate={kind}:2x2", "--log-prefix=no", "--", "sh", "-c", line.decode(),
                     env={"OMP_NUM_THREADS": "7"})
    assert result.out.split() == [b"7"] * 4


@pytest.mark.parametrize("kind, usual", [("sagemaker", 7777), ("kubeflow_pytorch", 23456),
                                         ("openmpi", 29500)])
def test_a_port_that_somebody_has(box, kind, usual):
    line = [f"--simulate={kind}:2x2", "--log-prefix=no", "--", "sh", "-c", 'echo "$MASTER_PORT"']
    free = box.run(*ALONE, box.rankinit, *line, program="/usr/bin/unshare")
    assert free.out.split() == [b"%d" % usual] * 4, free.err
    taken = (f"import socket, subprocess, sys; s = socket.create_server(('', {usual})); "
             "sys.exit(subprocess.call(sys.argv[1:]))")
    other = box.run(*ALONE, sys.executable, "-c", taken, box.rankinit, *line,
                    program="/usr/bin/unshare").out.split()
    assert len(other) == 4 and len(set(other)) == 1 and int(other[0]) not in (usual, 0)


def test_two_jobs_at_once(box):
    """Neither has listened yet when the other one looks for its ports."""
    ports = 'echo "$MASTER_PORT"; until [ -e "$0" ]; do sleep 0.05; done'
    script = """for job in 1 2; do
        "$0" --simulate=openmpi:2x1 --log-prefix=no -- sh -c "$1" "$2/both" >"$2/$job" &
        until [ "$(wc -l <"$2/$job")" = 2 ]; do sleep 0.05; done
        done
        touch "$2/both"; wait; cat "$2/1" "$2/2" """
    result = box.run(*ALONE, "sh", "-c", script, box.rankinit, ports, "@FOLDER",
                     program="/usr/bin/unshare")
    one, same, other, also = result.out.split()
    assert one == same == b"29500" and other == also and one != other


def test_whole_lines(box):
    """Of several nodes as well, and longer than what a pipe takes at once."""
    script = 'i=0; while [ $i -lt 40 ]; do printf "%05000d\\n" "$RANK"; i=$((i + 1)); done'
    result = box.run("--simulate=sagemaker:3x2", "--", "sh", "-c", script, stdout=None)
    assert result.status == 0
    result = box.run("--simulate=sagemaker:3x2", "--", "sh", "-c", script)
    lines = result.out.decode().splitlines()
    assert sorted(lines) == sorted(
        f"[{rank // 2}:{rank}] {rank:05000d}" for rank in range(6) for _ in range(40))


def test_many_ranks(box):
    result = box.run("--simulate=openmpi:16x16", "--", "sh", "-c", 'echo "$RANK"')
    assert result.status == 0, result.err
    assert sorted(int(line.split()[1]) for line in result.out.splitlines()) == list(range(256))


def test_quiet_when_all_is_well(box):
    good = box.run("-q", "--simulate=sagemaker:2x1", "--", "true")
    assert (good.status, good.err) == (0, "")
    bad = box.run("-q", "--simulate=sagemaker:2x1", "--", "sh", "-c", "exit 4")
    assert bad.status == 4 and simulated(bad)


# What is printed instead.

@pytest.mark.parametrize("kind", KINDS)
def test_variables_of_one_rank(box, kind):
    spec = f"--simulate={kind}:2x2"
    result = box.run(spec, "--print-env=dotenv", "--node-rank=1", "--local-rank=1", "--", "true")
    assert result.status == 0, result.err
    for line in ("RANK=3", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "NODE_RANK=1"):
        assert line in result.out.decode().splitlines()
    first = box.run(spec, "--print-env=dotenv", "--", "true").out.decode().splitlines()
    assert "LOCAL_RANK=0" in first and "RANK=3" not in first
    for option in ("--node-rank=2", "--local-rank=2"):
        name = option.partition("=")[0]
        refused(box.run(spec, "--print-env", option, "--", "true"), 125, "option.value", name)


@pytest.mark.parametrize("kind, heads", [
    ("openmpi", ["== node 0, rank 0, 127.0.0.2", "== node 1, rank 1, 127.0.0.3"]),
    ("sagemaker", ["== node 0, 127.0.0.2", "== node 1, 127.0.0.3"])])
def test_explanations_of_all(box, kind, heads):
    result = box.run(f"--simulate={kind}:2x1", "--explain", "--", "python3", "train.py")
    assert result.status == 0, result.err
    text = result.out.decode()
    assert [line for line in text.splitlines() if line.startswith("== ")] == heads
    assert text.count(f"{kind} gives the identity") == 2
    assert re.search(r"who +rank 1 of 2", text) and "train.py" in text
    both = box.run(f"--simulate={kind}:2x1,absent=1", "--explain=json", "--", "true")
    assert both.out.count(b'"schema"') >= 2 and b"== node" not in both.out


# Faults.

@pytest.mark.parametrize("kind, place", PAIRS)
def test_kill(box, kind, place):
    job = start(box, f"{kind}:2x2,kill=3@2.5", "after=4", place=place)
    result = job.wait()
    assert result.status == 137, result.err
    assert re.search(r"rank 3 \(local rank 1, pid \d+ on \S+\) failed first\b.*: killed by SIGKILL",
                     result.err), result.err
    assert [line for line in simulated(result)
            if re.fullmatch(r"SIGKILL for rank 3 \(pid \d+\), 2.5 s after the start", line)]
    stopped = kind != "kubeflow_pytorch"
    assert job.count("rank0 SIGTERM") == (1 if stopped else 0), job.log()
    assert job.count("rank2 SIGTERM") == 1
    nothing_is_left(job)


def test_the_control_of_kill(box):
    result = start(box, "sagemaker:2x2,kill=3@60", "after=0.2").wait()
    assert result.status == 0 and "SIGKILL" not in result.err


@pytest.mark.parametrize("kind", KINDS)
def test_kill_of_a_rank_that_has_ended(box, kind):
    spec = f"{kind}:2x1,kill=1@2"
    result = box.run(f"--simulate={spec}", "--", "sh", "-c", "[ $RANK = 1 ] || sleep 2.5")
    assert result.status == 0, result.err
    assert "rank 1 does not run 2 s after the start, so SIGKILL is not sent" in result.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_below_a_shell_and_its_children(box, kind):
    """The rank is what rankinit started, not what this started in turn."""
    job = box.start(f"--simulate={kind}:1x2,hang=1@2", "--", "sh", "-c",
                    "python3 -c 'import time; time.sleep(9)' & echo ready$RANK; wait")
    wait_until(lambda: "SIGSTOP" in job.error_text(), "the hang")
    pid = int(re.search(r"SIGSTOP for rank 1 \(pid (\d+)\)", job.error_text()).group(1))
    shells = [member for member, facts in job.members().items() if job.inner(member) == str(pid)]
    wait_until(lambda: peek.state(shells[0]) == "T", "a stopped shell")
    assert peek.stat(shells[0])[0] == "sh"
    job.signal(signal.SIGTERM)
    job.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_hang(box, kind):
    job = start(box, f"{kind}:2x2,hang=1@2.5", "deaf", "after=100")
    wait_until(lambda: "SIGSTOP for rank 1" in job.error_text(), "the hang")
    wait_until(lambda: peek.state(job.named("rank1")) == "T", "a stopped rank")
    assert peek.state(job.named("rank0")) != "T"


@pytest.mark.parametrize("kind, place", PAIRS)
def test_stop(box, kind, place):
    """Each rank gets one SIGTERM and the time for its checkpoint."""
    job = start(box, f"{kind}:2x2,stop=2.5", place=place)
    result = job.wait()
    assert result.status == 0, result.err
    for rank in range(4):
        assert job.count(f"rank{rank} SIGTERM") == 1, job.log()
        assert job.count(f"rank{rank} done") == 1
    assert [line for line in simulated(result) if line.startswith(
        "SIGTERM for the whole job, 2.5 s after the start; SIGKILL follows after ")]
    nothing_is_left(job)


def test_stop_of_ranks_that_do_not_listen(box):
    """openmpi's mpirun waits five seconds."""
    job = start(box, "openmpi:1x2,stop=2.5", "deaf")
    result = job.wait()
    assert result.status == 137, result.err
    assert was_killed_late(result.err)
    assert job.count("rank0 SIGTERM") == 1
    nothing_is_left(job)


@pytest.mark.parametrize("kind", KINDS)
def test_late(box, kind):
    job = start(box, f"{kind}:2x1,late=1:3", "after=4")
    assert job.wait().status == 0
    ready = [line for line in job.log() if line.endswith(" ready")]
    assert ready == ["rank0 ready", "rank1 ready"]
    asleep = box.start(f"--simulate={kind}:2x1,late=1:60", "--", *box.payload("env:RANK"))
    asleep.until("rank0 ready")
    asleep.signal(signal.SIGTERM)
    result = asleep.wait()
    assert result.status == 143 and "rank1 ready" not in asleep.log(), result.err
    nothing_is_left(asleep)


@pytest.mark.parametrize("kind", KINDS)
def test_absent(box, kind):
    job = start(box, f"{kind}:3x1,absent=1", "after=0.2")
    result = job.wait()
    assert result.status == 0, result.err
    assert sorted(line for line in job.log() if line.endswith(" ready")) == [
        "rank0 ready", "rank2 ready"]
    assert "node 1: it never came" in simulated(result)
    # of a job that is not whole nobody can say what it would be
    assert simulated(result)[-1] == "the job's exit status is 0"


# Its end.

def test_what_each_node_and_the_platform_says(box):
    result = box.run("--simulate=sagemaker:2x2", "--", "sh", "-c",
                     "[ $RANK != 2 ] || exit 9; sleep 100")
    assert result.status == 9, result.err
    said = simulated(result)
    assert any(re.fullmatch(r"node 1: exit status 9 after \d+\.\d s; rank 2 failed first, "
                            "exit status 9", line) for line in said), said
    assert any(re.fullmatch(r"node 0: exit status 143 after .*", line) for line in said), said
    assert said[-1] == "the job's exit status is 9; there it would be Failed"
    good = box.run("--simulate=sagemaker:2x2", "--", "true")
    assert simulated(good)[-1] == "the job's exit status is 0; there it would be Completed"


CAUGHT = """import os, time, traceback
if os.environ["RANK"] == "1":
    time.sleep(.5)
    raise ValueError("bad batch 17")
try:
    raise OSError("once")
except OSError:
    traceback.print_exc()
time.sleep(600)
"""


def test_a_failure_beside_a_traceback_that_was_caught(box):
    """A helper looks whether that rank is on its way out; its end wakes the simulation, too."""
    result = box.run("--simulate=tf_config:2x1", "--grace=1", "--", sys.executable, "-c", CAUGHT)
    assert result.status == 1, result.err
    assert [line.partition(":")[0] for line in simulated(result) if line.startswith("node ")] == [
        "node 0", "node 1"], result.err


def test_the_status_is_of_who_failed_by_itself(box):
    """Not of who ended first: node 0 only lost a rank of node 1, which ends later."""
    lost = ("Traceback (most recent call last):\n  File \"/job/train.py\", line 7, in <module>\n"
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection "
            "closed by peer [127.0.0.3]:7. This is typically caused by a remote worker crashing.")
    script = f"""case $RANK in
        0) echo '{lost}' >&2; exit 1;;
        2) sleep 1; exit 9;;
        *) sleep 100;;
        esac"""
    result = box.run("--simulate=kubeflow_pytorch:2x2", "--", "sh", "-c", script)
    assert result.status == 9, result.err
    assert simulated(result)[-1] == "the job's exit status is 9; there it would be Failed"


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c(box, terminal, kind):
    job = start(box, f"{kind}:2x2", place="below", tty=terminal.path)
    terminal.type(CTRL_C)
    result = job.wait()
    for rank in range(4):
        assert job.count(f"rank{rank} SIGINT") == 1, job.log()
    assert result.status == 0, terminal.text
    nothing_is_left(job)


@pytest.mark.parametrize("kind, place", PAIRS)
def test_nothing_is_left(box, kind, place):
    """Sessions of their own, orphans, and what listens to SIGKILL alone: mpirun waits 5 s."""
    deaf = "!" if kind == "openmpi" else ""
    job = start(box, f"{kind}:2x2", f"session:s{deaf}", "orphan:o", "same:t", place=place)
    job.signal(signal.SIGTERM)
    job.wait()
    nothing_is_left(job)


def test_it_ends_with_its_own_end(box):
    """SIGKILL for the outer one: no node stays without it."""
    job = start(box, "sagemaker:2x2", place="below")
    job.signal(signal.SIGKILL)
    assert job.wait().status == -9
    wait_until(lambda: job.others() == {}, "all of them have gone")


# The tables of docs/simulate.md.

def rows():
    """(SPEC, COMMAND, what is printed, exit status) of each line."""
    with open(os.path.join(HERE, "../../docs/simulate.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if len(cells) == 5 and re.match(r"`\w+:\d+x\d+", cells[0]):
                yield cells[0].strip("`"), cells[1].strip("`"), cells[3].strip("`"), int(cells[4])


def test_the_tables_are_read():
    assert len(list(rows())) >= 20 and {kind.partition(":")[0] for kind, *_ in rows()} == set(KINDS)


def test_the_tables_of_the_page(box):
    """All they do is wait, so several at a time."""
    def play(row):
        spec, command, said, status = row
        result = box.run(f"--simulate={spec}", "--", *shlex.split(command))
        good = result.status == status and said in result.err
        return None if good else (row, result)

    with ThreadPoolExecutor(6) as pool:
        assert [one for one in pool.map(play, rows()) if one] == []


# What is refused.

@pytest.mark.parametrize("value, said", [
    ("openmpi", "expected NAME:NODESxRANKS, as openmpi:2x4, and faults behind commas; did you "
                "mean openmpi:2x4?"),
    ("azureml", "did you mean azureml_mpi:2x4 or azureml_pytorch:2x4 or azureml_nodes:2x4?"),
    ("azureml:3x8", "did you mean azureml_mpi:3x8 or azureml_pytorch:3x8 or azureml_nodes:3x8?"),
    ("azureml:8", "did you mean azureml_mpi:2x4 or"),
    ("2x4", "--list=simulations"),
    ("a", "--list=simulations"),
    ("openmp:2x2", "did you mean openmpi:2x2?"),
    ("opnempi:2x2", "did you mean openmpi:2x2?"),
    ("xyzzy:2x2", "--list=simulations"),
    ("openmpi:2", "expected NODESxRANKS"),
    ("openmpi:0x2", "expected NODESxRANKS"),
    ("openmpi:2x-2", "expected NODESxRANKS"),
    ("openmpi:99999999999999999999x1", "expected NODESxRANKS"),
    ("openmpi:18446744073709551615x18446744073709551615", "at most 256 ranks"),
    ("openmpi:16x17", "at most 256 ranks"),
    ("openmpi:2x4,kill=99@5", "the job's ranks are 0 to 7"),
    ("openmpi:2x4,hang=8@5", "the job's ranks are 0 to 7"),
    ("openmpi:2x4,absent=2", "the job's nodes are 0 to 1"),
    ("openmpi:2x4,late=2:5", "the job's nodes are 0 to 1"),
    ("openmpi:2x4,late=1", "as in late=1:20"),
    ("openmpi:2x4,kill=1", "as in kill=3@10"),
    ("openmpi:2x4,kill=1@x", "as in kill=3@10"),
    ("openmpi:2x4,unfit=1", "as in unfit=1@1"),
    ("openmpi:2x4,unfit=1@0.5", "as in unfit=1@1"),
    ("openmpi:2x4,unfit=2@1", "the job's nodes are 0 to 1"),
    ("openmpi:2x4,stop", "expected a fault"),
    ("openmpi:2x4,stop=", "as in stop=30"),
    ("openmpi:2x4,stop=99999999", "as in stop=30"),
    ("openmpi:2x4,explode=1", "expected a fault"),
    ("openmpi:2x4,", "expected a fault"),
    ("openmpi:2x4,kill=1@2,kill=1@3", "twice"),
    ("openmpi:2x4,stop=2,stop=3", "twice"),
    ("openmpi:2x4,absent=0,absent=1", "one node at least"),
    ("openmpi:2x4,absent=1,kill=5@3", "its node is absent"),
    ("openmpi:2x4,late=1:3,absent=1", "its node is absent"),
    ("openmpi:2x4,unfit=1@1,absent=1", "its node is absent"),
    ("openmpi:2x4," + ",".join(f"kill={rank % 8}@{rank}" for rank in range(40)), "32 faults"),
    ("openmpi:2x4," + "x" * 5000, "expected NAME:NODESxRANKS"),
])
def test_values_that_make_no_sense(box, value, said):
    result = box.run(f"--simulate={value}", "--", "true")
    if "twice" not in said and "32" not in said:
        assert said in refused(result, 125, "option.value", "--simulate")
    else:
        refused(result, 125, "option.value", "--simulate")
    twin = box.run("--", "true", env={"RANKINIT_SIMULATE": value})
    refused(twin, 125, "option.value", "RANKINIT_SIMULATE")


@pytest.mark.parametrize("option", [
    "--rank=0", "--world-size=2", "--local-world-size=2", "--nnodes=2", "--master-addr=a",
    "--hosts=a,b", "--hostfile=/dev/null", "--source=openmpi", "--nproc-per-node=2",
    "--root=/tmp", "--check", "--node-rank=0", "--local-rank=0"])
def test_options_that_say_it_again(box, option):
    result = box.run("--simulate=sagemaker:2x2", option, "--", "true")
    line = refused(result, 125, "option.conflict", option.partition("=")[0])
    assert f"leave {option.partition('=')[0]} out" in line


@pytest.mark.parametrize("env, source", [
    ({"SLURM_JOB_ID": "7"}, "slurm"),
    ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, "openmpi"),
    ({"AZUREML_RUN_ID": "x"}, "azureml"),
    ({"RANKINIT": "0.1.0:process", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"},
     "rankinit"),
    ({"MASTER_ADDR": "10.0.0.1"}, "env"),
])
def test_inside_a_real_job(box, env, source):
    line = refused(box.run("--simulate=sagemaker:2x2", "--", "true", env=env),
                   125, "option.conflict", "--simulate")
    assert f"shows one of {source}" in line


def test_inside_a_simulated_job(box):
    result = box.run("--simulate=sagemaker:1x1", "--", "sh", "-c",
                     'exec "$0" --simulate=openmpi:1x1 -- true', box.rankinit)
    assert result.status == 125
    assert "a simulated job cannot simulate another one" in result.err
    refused(box.run("--simulate=openmpi:1x1", "--", "true", env={"RANKINIT_SIMULATED": "{}"}),
            125, "option.conflict", "--simulate")


@pytest.mark.parametrize("command", [["mpirun", "-np", "2", "true"], ["srun", "true"],
                                     ["horovodrun", "-np", "2", "true"]])
def test_launchers_of_whole_jobs(box, command):
    refused(box.run("--simulate=sagemaker:1x2", "--", *command), 125, "option.conflict",
            command[0])


def test_without_a_command(box):
    refused(box.run("--simulate=sagemaker:1x2"), 125, "command.missing", "COMMAND")


def test_by_another_name(box, tmp_path):
    link = tmp_path / "tini"
    link.symlink_to(box.rankinit)
    result = box.run("--", "true", program=str(link),
                     env={"RANKINIT_SIMULATE": "sagemaker:1x2"})
    assert result.status == 1 and "call it by the name rankinit" in result.err


@pytest.mark.parametrize("value", ["", "{", "[]", '{"name":"a"}', '{"name":1,"files":{}}',
                                   '{"name":"a","files":{"x":"y"}}', '{"name":"a","files":[]}',
                                   '{"name":"a","files":{"/x":1}}',
                                   '{"name":"a","files":{},"from":-1}',
                                   '{"name":"a","files":{},"unfit":"1"}',
                                   '{"name":"' + "a" * 300 + '","files":{}}'])
def test_an_overlay_that_is_none(box, value):
    refused(box.run("--", "true", env={"RANKINIT_SIMULATED": value}),
            125, "option.value", "RANKINIT_SIMULATED")


def test_files_that_all_nodes_replace(box, tmp_path):
    words = ["--", "true"]
    result = box.run("--simulate=sagemaker:2x1", f"--report={tmp_path}/all.json", *words)
    assert "%n" in warned(result, "report.shared", "--report")
    result = box.run("--simulate=sagemaker:2x1", f"--report={tmp_path}/of%n.json", *words)
    assert result.status == 0 and "report.shared" not in result.err
    assert sorted(path.name for path in tmp_path.glob("of*")) == ["of0.json", "of1.json"]


def test_a_command_that_is_not_there(box):
    for kind in KINDS:
        result = box.run(f"--simulate={kind}:2x1", "--", "/no/such/program")
        assert result.status == 127, result.err
        assert "exec.not_found" in result.err or "[exec." in result.err


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variable, code", [("RANKINIT_REPORT", "report.refused"),
                                            ("RANKINIT_LOG_FILE", "log.refused")])
def test_a_place_of_a_variable_that_has_gone(box, kind, variable, code):
    """Each member says so, and runs."""
    result = box.run(f"--simulate={kind}:2x1", "--", "sh", "-c", "echo ran",
                     env={variable: "/nonexistent/a/%n"})
    assert result.status == 0 and result.out.count(b"ran\n") == 2, result.err
    assert result.err.count(f"warning: {variable}: ") == 2
    assert result.err.count(f"[{code}]") == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given, subject", [
    (["--require=gpu=1000"], "--require"), ([], "RANKINIT_REQUIRE"),
    (["--require=gpu.count", "--expect=gpu=1000"], "--require"),
])
def test_nothing_is_required_of_this_machine(box, kind, given, subject):
    """A laptop has none of the GPUs of the job that it plays."""
    env = {"RANKINIT_REQUIRE": "gpu=1000"} if subject == "RANKINIT_REQUIRE" else {}
    for action in ([], ["--explain"]):
        result = box.run(f"--simulate={kind}:2x1", *action, *given, "--", "echo", "ran", env=env)
        assert result.status == 0 and (action or result.out.count(b"ran\n") == 2)
        line = warned(result, "check.unasked", subject)
        assert "requirements not checked: this machine only plays the nodes of the job" in line
        assert "check.unfit" not in result.err
    # the control: a job that is none of these
    rank = {f"OMPI_COMM_WORLD_{name}": number for name, number in
            (("RANK", "0"), ("SIZE", "1"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "1"))}
    assert box.run(*given, "--", "true", env={**env, **rank}).status == 123
