# SPDX-License-Identifier: Apache-2.0
"""
A real Slurm on this machine, in namespaces of its own (cluster.sh): its steps
name their ranks, its signals reach the command once.
"""

import json
import os
import re
import shlex
import shutil
import signal
import sys
import time

import pytest

from cluster import HERE, make_cluster
from hosts import PATH, TOP
from verdict import status_line, stopped_line

RANKINIT = os.environ.get("RANKINIT", os.path.join(TOP, "build", "rankinit"))
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR",
         "MASTER_PORT")
SHOW = "echo $SLURMD_NODENAME " + " ".join(f"${{{name}:--}}" for name in NAMES)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = make_cluster(tmp_path_factory.mktemp("slurm"), 3, "linuxproc")
    yield made
    made.close()


def rows_of(text):
    rows = [dict(zip(("host", *NAMES), line.split())) for line in text.splitlines()]
    return sorted(rows, key=lambda row: int(row["RANK"]))


def places(rows):
    return [(row["host"], row["NODE_RANK"], row["LOCAL_RANK"]) for row in rows]


SHAPES = {
    "block": (["-w", "n[0-1]", "-N2", "-n4", "--ntasks-per-node=2"],
              [("n0", "0", "0"), ("n0", "0", "1"), ("n1", "1", "0"), ("n1", "1", "1")]),
    "cyclic": (["-N3", "-n6", "--ntasks-per-node=2", "--distribution=cyclic"],
               [("n0", "0", "0"), ("n1", "1", "0"), ("n2", "2", "0"),
                ("n0", "0", "1"), ("n1", "1", "1"), ("n2", "2", "1")]),
    "uneven": (["-w", "n[0-1]", "-N2", "-n3", "--distribution=block"],
               [("n0", "0", "0"), ("n0", "0", "1"), ("n1", "1", "0")]),
    "one-node": (["-w", "n0", "-N1", "-n2"], [("n0", "0", "0"), ("n0", "0", "1")]),
    "other-nodes": (["-w", "n[1-2]", "-N2", "-n2"], [("n1", "0", "0"), ("n2", "1", "0")]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_names_its_ranks(cluster, shape):
    options, wanted = SHAPES[shape]
    rows = rows_of(cluster.run("srun", *options, RANKINIT, "--", "sh", "-c", SHOW))
    assert places(rows) == wanted
    assert {row["MASTER_ADDR"] for row in rows} <= {wanted[0][0], "127.0.0.1"}
    assert len({row["MASTER_PORT"] for row in rows}) == 1
    for row in rows:
        assert int(row["WORLD_SIZE"]) == len(wanted)
        assert int(row["LOCAL_WORLD_SIZE"]) == sum(row["host"] == other[0] for other in wanted)


def test_a_subset_of_the_job_has_its_own_master(cluster):
    """The job's first node is no part of the step."""
    script = f"srun -w n1,n2 -N2 -n2 {RANKINIT} -- sh -c '{SHOW}'"
    rows = rows_of(cluster.run("salloc", "-Q", "-N3", "-n3", "sh", "-c", script))
    assert {row["MASTER_ADDR"] for row in rows} == {"n1"}


def test_a_batch_script_is_no_rank(cluster):
    """It runs once, on the first node, with the size of the whole job around it."""
    said = json.loads(cluster.run("salloc", "-Q", "-N2", "-n4", RANKINIT, "--explain=json",
                                  "--", "true"))
    assert said["identity"] is None
    assert said["ranks"][0]["set"] == {}


def test_mpirun_inside_a_job_counts_its_own_ranks(cluster):
    """Its daemons are the step's tasks, so Slurm's numbers are theirs."""
    mpirun = shutil.which("mpirun.openmpi", path=PATH)
    if mpirun is None:
        pytest.skip("Open MPI's mpirun is not installed")
    words = f"{mpirun} --allow-run-as-root --oversubscribe -np 4 --map-by ppr:2:node {RANKINIT}"
    rows = rows_of(cluster.run("salloc", "-Q", "-N2", "-n4", "--ntasks-per-node=2", "sh", "-c",
                               f"{words} -- sh -c '{SHOW}'",
                               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
    assert [row["RANK"] for row in rows] == ["0", "1", "2", "3"]
    assert [row["LOCAL_RANK"] for row in rows] == ["0", "1", "0", "1"]
    assert [row["NODE_RANK"] for row in rows] == ["0", "0", "1", "1"]


# --- --link: a rankinit on each node ------------------------------------------------

KEY = "d08fbc5a150028b59a73c7852451d26f"
# The others may still be busy with what ended before.
TWO = ["srun", "--label", "-N2", "-n2", "--nodelist=n0,n1"]
LINK = [RANKINIT, "--link", "--", sys.executable, "-c"]
FAILS = "import os, time; time.sleep(1); os.environ['RANK'] == '1' and 1 / 0; time.sleep({0})"


def labelled(text):
    """What each task's rankinit said, with "srun --label", and how each task ended."""
    lines, codes = {}, {}
    for line in text.splitlines():
        said = re.match(r"(\d+): rankinit: (.*)", line)
        code = re.match(r"srun: error: n\d: task (\d+): Exited with exit code (\d+)", line)
        if said:
            words = re.sub(r"pid \d+", "pid P", said[2])
            words = re.sub(r"after [\d.]+ s, at 2\S+Z", "after T", words)
            words = re.sub(r"memory \d+ MiB", "memory M", words)
            lines.setdefault(int(said[1]), []).append(words)
        if code:
            codes[int(code[1])] = int(code[2])
    return lines, codes


def run_step(cluster, words, *options, **env):
    """One task on each of two nodes: its status, what each said, how each ended."""
    step = cluster.start(*TWO, *options, *words, **{"RANKINIT_LINK_KEY": KEY, **env})
    out, err = step.communicate(timeout=60)
    print(err)
    return step.returncode, out, *labelled(err)


def own(line):
    """As it stands behind the task's number."""
    return line.removeprefix("rankinit: ")


def test_the_tasks_of_a_step_have_one_verdict(cluster):
    status, _, said, codes = run_step(cluster, [*LINK, FAILS.format(20)])
    assert said[0][:2] == said[1][:2] == [
        "rank 1 (local rank 0, pid P on n1) failed first (node 1 of 2): exit status 1, after T",
        "  ZeroDivisionError: division by zero"]
    assert said[0][-3:-1] == [own(stopped_line(0)),
                              own(status_line(122, "this node"))]
    assert said[1][-2] == own(status_line(1, "this node"))
    why = "verdict cause=exception class=own retry=never rank=1 node=1 host=n1 status="
    assert said[0][-1].startswith(why + "122 ") and said[1][-1].startswith(why + "1 ")
    assert codes == {0: 122, 1: 1} and status == 122


def test_a_task_on_its_way_out_is_the_one_that_failed(cluster):
    """It raised an exception before the other ended, and is not stopped as a healthy one."""
    hangs = "import atexit, os, time; atexit.register(time.sleep, 6); time.sleep(1); " \
        "os.environ['RANK'] == '0' and 1 / 0; time.sleep(1.5); os._exit(7)"
    status, _, said, codes = run_step(cluster, [*LINK, hangs])
    verdict = "rank 0 (local rank 0, pid P on n0) failed first (node 0 of 2): raised the error " \
        "below, and has not ended yet"
    assert said[0][:2] == said[1][:2] == [verdict, "  ZeroDivisionError: division by zero"]
    assert codes == {0: 1, 1: 7} and status == 7


def test_a_task_that_fails_without_node_0_says_so(cluster, tmp_path):
    """To a file: srun drops the last lines of a step that it says to have terminated by force."""
    script = "import os, time; time.sleep(1); os.environ['RANK'] == '0' and " \
        "os.kill(os.getppid(), 9); time.sleep(2); 1 / 0"
    _, _, _, codes = run_step(cluster, [*LINK, script], "--wait=0", "--kill-on-bad-exit=0",
                              f"--error={tmp_path}/%t")
    said, _ = labelled((tmp_path / "1").read_text())
    # unless node 0 had gone before they met
    lost = "the connection to node 0 is lost; the job goes on"
    assert (tmp_path / "0").read_text() == ""
    assert [line for line in said[1] if line != lost][:3] == [
        "node 0 (n0), ports 9471 to 9478, cannot be reached: Connection refused; what follows is "
        "what this node has seen itself",
        "rank 1 (local rank 0, pid P on n1) failed (node 1 of 2): exit status 1, after T",
        "  ZeroDivisionError: division by zero"]
    assert codes == {1: 1}


def test_a_step_that_ends_well_says_nothing(cluster):
    """In whatever order its tasks end."""
    for order in ("$((1 + RANK))", "$((2 - RANK))"):
        words = [*LINK[:3], "sh", "-c", f"sleep {order}; echo $RANK"]
        status, out, said, codes = run_step(cluster, words)
        assert (status, said, codes) == (0, {}, {})
        assert sorted(out.split("\n")) == ["", "0: 0", "1: 1"]


def test_without_a_link_a_task_does_not_hear_of_the_other(cluster):
    words = [RANKINIT, "--supervise=always", *LINK[2:], FAILS.format(1)]
    status, _, said, codes = run_step(cluster, words)
    assert status == 1 and codes == {1: 1}
    assert all("[link.off]" in lines.pop(0) for lines in said.values())     # a key without --link
    assert said[0] == []
    assert re.match(r"rank 1 \(local rank 0, pid P on n\d\) failed \(node 1 of 2\)", said[1][0])


def test_two_tasks_on_a_node_have_no_link(cluster):
    words = [RANKINIT, "--verbose", *LINK[1:], FAILS.format(1)]
    status, _, said, codes = run_step(cluster, words, "-n4", "--ntasks-per-node=2")
    assert status == 1 and codes == {1: 1}
    why = "--link: each rank of this node has a rankinit of its own, so this node has no link"
    assert [why in said[task] for task in range(4)] == [True] * 4
    assert all("failed" not in line for task in (0, 2, 3) for line in said[task])


def test_cancelled_is_no_failure(cluster, tmp_path):
    script = ("import os, signal, sys\ndef stop(*_):\n    print('saved'); sys.exit()\n"
              "signal.signal(15, stop)\nopen(f'{sys.argv[1]}/{os.environ[\"RANK\"]}', 'w')\n"
              "signal.pause()")
    step = cluster.start(*TWO, "--job-name=link", *LINK, script, str(tmp_path),
                         RANKINIT_LINK_KEY=KEY)
    # a connection that is established (01), to port 9471
    sockets = ["ip", "netns", "exec", "n1", "cat", "/proc/net/tcp"]
    until(lambda: sorted(os.listdir(tmp_path)) == ["0", "1"] and
          ":24FF 01 " in cluster.run(*sockets))
    time.sleep(0.3)
    cluster.run("scancel", "--name=link")
    out, err = step.communicate(timeout=60)
    said, codes = labelled(err)
    assert sorted(out.split("\n"))[-2:] == ["0: saved", "1: saved"] and codes == {}
    stopped = [f"node {node} (n{node}) was stopped from outside by SIGTERM" for node in (0, 1)]
    for task in (0, 1):
        assert said[task][0] in stopped and said[task][0] == said[1 - task][0]
        assert said[task][1:] == ["  stopped by SIGTERM from pid P",
                                  own(stopped_line(task, "exit status 0")),
                                  own(status_line(0, "this node"))]


def test_steps_of_one_job_do_not_hear_each_other(cluster):
    """The first task of one and the second of the other are alone, and near each other."""
    mine = [RANKINIT, "--link", "--", "sh", "-c", "sleep 3; echo $RANK is done"]
    late = 'test $SLURM_PROCID = "$0" && sleep 2; exec "$@"'
    srun = ["srun", "--label", "--overlap", "-N2", "-n2", "sh", "-c", late]
    script = shlex.join([*srun, "0", *mine]) + " & " + \
        shlex.join([*srun, "1", *LINK, FAILS.format(20)]) + "; echo it $?; wait $!; echo mine $?"
    step = cluster.start("salloc", "-Q", "-N2", "-n4", "sh", "-c", script, RANKINIT_LINK_KEY=KEY)
    out, err = step.communicate(timeout=60)
    lines, codes = labelled(err)
    assert sorted(out.split("\n")) == ["", "0: 0 is done", "1: 1 is done", "it 122", "mine 0"]
    assert codes == {0: 122, 1: 1}
    assert not [line for line in sum(lines.values(), []) if "two machines" in line]


@pytest.fixture(scope="module", params=["linuxproc", "cgroup", "pgid"])
def tracked(request, tmp_path_factory):
    """A node whose signals go to all processes, to the tasks alone, to their groups."""
    made = make_cluster(tmp_path_factory.mktemp(request.param), 1, request.param)
    yield made
    made.close()


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def start_step(tracked, folder, *options, name, words=()):
    step = tracked.start("srun", "-N1", "-n1", "--job-name", name, RANKINIT, *options, "--",
                         sys.executable, os.path.join(HERE, "payload.py"), str(folder), "rank",
                         *words)
    until(lambda: "rank ready" in read_log(folder) or step.poll() is not None)
    assert step.poll() is None, step.stderr.read()
    return step


def read_log(folder):
    try:
        with open(f"{folder}/log", encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""


SUPERVISED = pytest.mark.parametrize(
    "options", [[], ["--supervise=always"], ["--launch=node"]],
    ids=["in-place", "supervised", "launcher"])


@SUPERVISED
def test_a_signal_of_the_step_is_delivered_once(tracked, tmp_path, options):
    step = start_step(tracked, tmp_path, *options, name="once")
    # the kernel queues this one, so that a second one would be seen
    tracked.run("scancel", f"--signal={int(signal.SIGRTMAX)}", "--name=once")
    until(lambda: "rank SIGRTMAX" in read_log(tmp_path))
    time.sleep(0.3)
    assert read_log(tmp_path).count("rank SIGRTMAX") == 1
    tracked.run("scancel", "--name=once")
    step.communicate(timeout=40)
    assert read_log(tmp_path).count("rank SIGTERM") == 1
    assert os.path.exists(tmp_path / "rank.ckpt")


@SUPERVISED
def test_a_signal_from_elsewhere_is_forwarded(tracked, tmp_path, options):
    """What Slurm did not send is no business of its rules."""
    step = start_step(tracked, tmp_path, *options, name="other")
    pids = tracked.run("pgrep", "-x", "rankinit" if options else "python3").split()
    tracked.run("kill", f"-{int(signal.SIGUSR2)}", pids[0])
    time.sleep(0.5)
    tracked.run("scancel", "--name=other")
    step.communicate(timeout=40)
    assert read_log(tmp_path).count("rank SIGUSR2") == 1


@SUPERVISED
def test_two_stops_of_the_step_are_two(tracked, tmp_path, options):
    """No more, whether Slurm reaches the command as well or not, and no less."""
    step = start_step(tracked, tmp_path, *options, name="twice", words=["save=6"])
    for count in (1, 2):
        tracked.run("scancel", "--signal=TERM", "--name=twice")
        until(lambda: read_log(tmp_path).count("rank SIGTERM") >= count)   # pylint: disable=W0640
    step.communicate(timeout=40)
    assert read_log(tmp_path).count("rank SIGTERM") == 2
    assert os.path.exists(tmp_path / "rank.ckpt")


def test_behind_a_step_each_process_has_a_signal_as_often(tracked, tmp_path):
    """As often as without rankinit: once, or not at all where Slurm reaches the task alone."""
    seen = []
    for option in ("auto", "never"):
        folder = tmp_path / option
        folder.mkdir()
        step = tracked.start(
            "srun", "-N1", "-n2", "--overcommit", "--job-name", option, RANKINIT,
            f"--supervise={option}", "--", sys.executable, os.path.join(HERE, "payload.py"),
            str(folder), "env:RANK", "same:child", "save=0.1")
        # pylint: disable=cell-var-from-loop
        until(lambda: read_log(folder).count(" ready\n") == 4 or step.poll() is not None)
        tracked.run("scancel", f"--signal={int(signal.SIGRTMAX)}", f"--name={option}")
        until(lambda: read_log(folder).count("rank0 SIGRTMAX") and
              read_log(folder).count("rank1 SIGRTMAX"))
        time.sleep(0.3)
        tracked.run("scancel", f"--name={option}")
        _, err = step.communicate(timeout=40)
        assert "rankinit: " not in err
        seen.append({(name, told): read_log(folder).count(f"{name} {told}\n")
                     for name in ("rank0", "rank1", "child") for told in ("SIGRTMAX", "SIGTERM")})
    assert seen[0] == seen[1]
    assert seen[0]["rank0", "SIGRTMAX"] == seen[0]["rank1", "SIGTERM"] == 1
