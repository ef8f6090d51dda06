# SPDX-License-Identifier: Apache-2.0
"""
--exit-class: 120, 220 or 230 in the place of every other status but 0. The control of each row is
the same job without the option.
"""

import re
import shlex
import signal
import sys

import pytest

from box import refused, warned
from peek import wait_until
from test_check import ONE, UNMET
from test_link import Nodes, failing
from test_obituary import GREEDY, memory_group
from test_wait_master import NAME, isolated  # noqa: F401  a fixture

NEVER, SAME, OTHER_NODE = 120, 220, 230
SH = ["--", "sh", "-c"]
RAISE = ["--", sys.executable, "-ISc", "raise ValueError('bad batch 17')"]
TWO = "--nproc-per-node=2"
LOST = "import time; time.sleep(0.1); raise RuntimeError('{}')"
STORE = ("The client socket has timed out after 1000ms while trying to connect to "
         "(node-0, 29500)")

# the words behind rankinit, the status as ever, the class
ENDS = {
    "an exception": (RAISE, 1, NEVER),
    "an exception of one of two": ([TWO, *RAISE], 1, NEVER),
    "a status alone": ([*SH, "exit 3"], 3, NEVER),
    "a status of several": ([TWO, *SH, "exit 3"], 3, NEVER),
    "a crash": ([*SH, "ulimit -c 0; kill -SEGV $$"], 139, NEVER),
    "a kill from somewhere": ([*SH, "kill -KILL $$"], 137, SAME),
    "a store that is not there": ([TWO, "--", sys.executable, "-ISc", LOST.format(STORE)], 1, SAME),
    "no such command": (["--", "no-such"], 127, NEVER),
    "no such command for two": ([TWO, "--", "no-such"], 127, NEVER),
    "no program": (["--", "/etc"], 126, NEVER),
    "no command": ([], 125, NEVER),
    "no such option": (["--nonsense", "--", "true"], 125, NEVER),
    "a wrong value": (["--grace=x", "--", "true"], 125, NEVER),
    "what looks like a class": ([*SH, "exit 230"], 230, NEVER),
    "a clean end": ([*SH, "exit 0"], 0, 0),
    "a clean end of two": ([TWO, *SH, "exit 0"], 0, 0),
}


@pytest.mark.parametrize("name", ENDS)
def test_each_end_has_a_class(box, name):
    words, ever, now = ENDS[name]
    assert box.run(*words).status == ever, "the control: without the option"
    assert box.run("--exit-class=no", *words).status == ever
    assert box.run("--exit-class", *words).status == now
    assert box.run(*words, env={"RANKINIT_EXIT_CLASS": "yes"}).status == now


def test_memory_that_ran_out(box, cgroup):
    words = ["--", sys.executable, "-ISc", GREEDY]
    enter = f"echo 0 > {memory_group(cgroup)}/cgroup.procs"
    assert box.run(*words, shell=enter).status == 137
    assert box.run("--exit-class", *words, shell=enter).status == NEVER


def test_an_unfit_node(box):
    for words, env in (([UNMET, "--", "true"], ONE), (["--check", UNMET], {})):
        assert box.run(*words, env=env).status == 123
        assert box.run("--exit-class", *words, env=env).status == OTHER_NODE


def test_an_explanation_ends_as_the_launch_would(box):
    env = {**ONE, "OMPI_COMM_WORLD_RANK": "5"}
    assert box.run("--explain", "true", env=env).status == 125
    assert box.run("--exit-class", "--explain", "true", env=env).status == NEVER
    assert box.run("--exit-class", "--explain", "true").status == 0


def test_a_master_without_a_name(isolated):  # noqa: F811
    assert isolated("--wait-master=0.1", NAME, "--", "true").wait().status == 124
    job = isolated("--exit-class", "--wait-master=0.1", NAME, "--", "true")
    assert job.wait().status == SAME


def test_a_stop_before_the_command(isolated):  # noqa: F811
    for options, status in ([], 143), (["--exit-class"], SAME):
        job = isolated(*options, "--wait-master=600", NAME, "--", "true", answer_from=10 ** 9)
        job.until("asked")
        assert job.stop().status == status


@pytest.mark.parametrize("ending, ever", [("exit 1", 1), ("exit 0", 0), ("", 143)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_stop_from_outside(box, ranks, ending, ever):
    """Whatever the program makes of it, but a clean end."""
    trap = f"trap '{ending}' TERM; " if ending else ""
    script = f"{trap}echo ready >>@FOLDER/log; while :; do sleep 0.05; done"
    for options, status in ([], ever), (["--exit-class"], SAME if ever else 0):
        job = box.start(*options, f"--nproc-per-node={ranks}", *SH, script)
        wait_until(lambda: job.count("ready") == ranks, "all are ready")  # pylint: disable=W0640
        job.signal(signal.SIGTERM)
        assert job.wait().status == status


def test_the_class_is_that_of_the_last_attempt(box):
    script = "[ $RANKINIT_ATTEMPT = 1 ] && exec python3 -c 'raise ValueError'; kill -KILL $$"
    words = [TWO, "--restarts=1", *SH, script]
    assert box.run(*words).status == 1
    result = box.run("--exit-class", *words)
    assert result.status == NEVER and result.err.count("the ranks start again") == 1


# --- several nodes, with the link -----------------------------------------------------

@pytest.mark.parametrize("what, ever, here, there", [
    (f"exec {shlex.join(RAISE[1:])}", 1, NEVER, NEVER),
    ("kill -KILL $$", 137, SAME, SAME),
], ids=["never", "same"])
def test_the_nodes_that_the_link_stopped(box, what, ever, here, there):
    job = failing(1, what)
    ended = Nodes(box, 2, 1, job).wait()
    assert (ended[1].status, ended[0].status) == (ever, 122)
    ended = Nodes(box, 2, 1, job, "--exit-class").wait()
    assert (ended[1].status, ended[0].status) == (here, there)


def test_a_node_of_others_that_is_not_fit(box):
    """It is the one to leave out; the other is as good as ever."""
    of = {1: [UNMET]}
    late = {1: "sleep 1"}
    ended = Nodes(box, 2, 1, "exec sleep 60", of=of, before=late).wait()
    assert (ended[0].status, ended[1].status) == (122, 123)
    ended = Nodes(box, 2, 1, "exec sleep 60", "--exit-class", of=of, before=late).wait()
    assert (ended[0].status, ended[1].status) == (SAME, OTHER_NODE)


# --- with other options ---------------------------------------------------------------

@pytest.mark.parametrize("other", ["--exit-map=1:2", "--supervise=never"])
def test_what_excludes_it(box, other):
    name = other.partition("=")[0]
    error = refused(box.run("--exit-class", other, "true"), 125, "option.conflict", name)
    assert "--exit-class" in error
    assert box.run("--exit-class=no", other, "true").status == 0, "the control"


def test_it_keeps_rankinit_where_a_manager_starts_the_rank(box):
    words = [*SH, "[ $$ = 1 ] || echo child"]
    env = {**ONE, "PMI_RANK": "0"}
    assert box.run("--exit-class", *words, env=env).out == b"child\n"


# One of two ranks: of mpirun's, and of whoever started it elsewhere, a pod for example.
BY_MPIRUN = {**ONE, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
BY_OTHERS = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
             "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}


@pytest.mark.parametrize("env, status", [(BY_MPIRUN, 137), (BY_OTHERS, SAME)])
def test_one_rank_of_a_launcher_keeps_its_status(box, env, status):
    """What comes of it is the launcher's business: a rankinit in front of that makes a class."""
    result = box.run("--exit-class", *SH, "kill -KILL $$", env=env)
    assert result.status == status
    assert (result.brief["cause"], result.brief["status"]) == ("killed", "137")


@pytest.mark.parametrize("platform, status", [("openmpi:1x2", 139), ("jobset:1x2", NEVER)])
def test_each_member_of_a_simulated_job_has_its_class(box, platform, status):
    """And the job has that of the first failure: SIGSEGV is not what its rankinit ended of."""
    words = [f"--simulate={platform}", *SH, "ulimit -c 0; [ $RANK = 1 ] && kill -SEGV $$; sleep 60"]
    assert box.run(*words).status == 139
    result = box.run("--exit-class", *words)
    assert result.status == status
    assert "verdict cause=signal " in result.err and "exit_status" not in result.err, result.err


@pytest.mark.parametrize("name", ["tini", "dumb-init"])
def test_another_init_ends_as_ever(box, tmp_path, name):
    link = tmp_path / name
    link.symlink_to(box.rankinit)
    env = {"RANKINIT_EXIT_CLASS": "yes", "RANKINIT_VERBOSE": "yes"}
    result = box.run(*SH, "exit 3", program=str(link), env=env)
    assert result.status == 3
    assert re.search(rf"^rankinit: RANKINIT_EXIT_CLASS: is not used: under the name {name} "
                     r".*\[option\.yields\]$", result.err, re.M), result.err
    assert box.run(*SH, "exit 3", env=env).status == NEVER, "the control: its own name"


def test_a_disabled_rankinit_ends_as_ever(box):
    env = {"RANKINIT_EXIT_CLASS": "yes", "RANKINIT_DISABLE": "yes"}
    result = box.run(*SH, "exit 3", env=env)
    warned(result, "option.disabled", "RANKINIT_DISABLE")
    assert result.status == 3
