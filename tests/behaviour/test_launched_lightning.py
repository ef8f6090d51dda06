# SPDX-License-Identifier: Apache-2.0
"""
Ranks that Lightning's own launcher starts: the program that rankinit starts is the first of them.
That is a stand-in (lightning/fabric/strategies/launchers/subprocess_script.py, 2.6);
tests/frameworks has the real one.
"""

import json
import pathlib

import pytest

import schema
from peek import wait_until
from test_launched import helper_of, launch, pids_held, verdict  # noqa: F401  a fixture
from verdict import failed_first, names, stopped_line

# Each rank does what its argument says. What Lightning does every five seconds is done at once.
TRAIN = """#!/usr/bin/python3 -IS
import os, signal, subprocess, sys, threading, time
nodes, node = int(os.environ.get("NODES", "1")), int(os.environ.get("NODE", "0"))
rank = int(os.environ.get("LOCAL_RANK", "0"))
def observe(child):
    code = child.wait()
    if code and "SILENT" not in os.environ:
        sys.stderr.write(f"[rank: 1] Child process with PID {child.pid} terminated with code "
                         f"{code}. Forcefully terminating all other processes to avoid zombies\\n")
    if code:
        time.sleep(float(os.environ.get("AFTER", "0.1")))
        os.kill(os.getpid(), signal.SIGKILL)
if "LOCAL_RANK" not in os.environ:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", NODE_RANK=str(node),
                      LOCAL_RANK="0", WORLD_SIZE=str(2 * nodes))
    if nodes > 1:
        os.environ["NNODES"] = str(nodes)
    words = [sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]]
    child = subprocess.Popen(words + os.environ.get("MORE", "").split(),
                             env={**os.environ, "LOCAL_RANK": "1"})
    threading.Thread(target=observe, args=[child], daemon=True).start()
if "QUIET" not in os.environ:
    print(f"Initializing distributed: GLOBAL_RANK: {2 * node + rank}, MEMBER: "
          f"{2 * node + rank + 1}/{2 * nodes}", file=sys.stderr, flush=True)
while not os.path.exists(f"go{rank}"):
    time.sleep(0.02)
exec(sys.argv[1 + rank])
"""
RAISE = 'raise ValueError("bad batch 17")'
WAIT = "time.sleep(99)"


@pytest.fixture
def train(launch):  # noqa: F811
    """Start it, and let go rank `first` once both ranks are watched, or at once."""
    def start(*ranks, first=1, watched=2, command=("python3", "train.py"), **more):
        job = launch(*ranks, command=list(command), **more,
                     shell=f"cat >train.py <<'D'\n{TRAIN}D\nchmod +x train.py")
        wait_until(lambda: len(pids_held(helper_of(job) or 0)) == watched or not watched,
                   "a helper that watches both ranks")
        pathlib.Path(job.folder, f"go{first}").touch()
        return job
    return start


def says(result, rank, local, reason):
    first, second, *_ = result.lines()
    assert names(first, rank, local) and reason in second, verdict(result)


@pytest.mark.parametrize("options", [[], ["--launch=node"], ["--report=r.json"]])
@pytest.mark.parametrize("command", [("python3", "train.py"), ("./train.py",)])
def test_an_exception(train, options, command):
    job = train(WAIT, RAISE, options=options, command=command)
    result = job.wait()
    assert result.status == 137, "Lightning ends itself with SIGKILL"
    says(result, 1, 1, "  ValueError: bad batch 17")
    assert failed_first(result.lines()[0], "exit status 1")
    assert stopped_line(0, "killed by SIGKILL (9)") in verdict(result)
    brief = result.brief
    assert (brief["cause"], brief["class"], brief["retry"]) == ("exception", "own", "never")
    assert brief["rank"] == "1"
    if "--report=r.json" in options:
        document = json.loads(job.read("r.json"))
        schema.check(document, "report")
        assert [rank["rank"] for rank in document["ranks"]] == [0, 1]
        assert [rank["class"] for rank in document["ranks"]] == ["stopped", "own"]


@pytest.mark.parametrize("end, said", [
    ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL (9)"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV (11)"),
    ("os._exit(3)", "exit status 3"),
])
def test_the_kernel_tells_how_a_rank_ended(train, end, said):
    result = train(WAIT, end, env={"SILENT": "1"}).wait()
    says(result, 1, 1, stopped_line(0, "killed by SIGKILL (9)"))
    assert failed_first(result.lines()[0], said)


def test_the_first_rank_fails(train):
    result = train(RAISE, WAIT, first=0).wait()
    assert result.status == 1
    says(result, 0, 0, "  ValueError: bad batch 17")
    assert failed_first(result.lines()[0], "exit status 1")
    assert stopped_line(1) in verdict(result)


def test_the_first_rank_does_not_end(train):
    """It is told once, as the rank that it is."""
    code = f"threading.Thread(target=time.sleep, args=(99,)).start(); {RAISE}"
    result = train(code, WAIT, first=0, options=["--linger=1", "--grace=2"]).wait()
    raised = [line for line in result.lines() if " raised ValueError: bad batch 17 and has" in line]
    assert len(raised) == 1 and names(raised[0], 0, 0), \
        verdict(result)
    assert any(names(line, 0, 0) and "raised the error below" in line
               for line in result.lines()), verdict(result)


def test_a_later_node(train):
    """Its ranks follow those of the nodes before it."""
    result = train(WAIT, RAISE, env={"NODES": "2", "NODE": "1"}).wait()
    says(result, 3, 1, "  ValueError: bad batch 17")
    assert stopped_line(2, "killed by SIGKILL (9)") in verdict(result)


def test_words_of_hydra_are_left_out(train):
    result = train(WAIT, RAISE, env={"MORE": "hydra.run.dir=x hydra.job.name=train_ddp_process_1"})
    says(result.wait(), 1, 1, "  ValueError: bad batch 17")


def test_by_its_word(train):
    """Where it does not say that it begins no rank is looked for."""
    result = train(WAIT, "os._exit(3)", watched=0, env={"QUIET": "1"}).wait()
    says(result, 1, 1, stopped_line(0, "killed by SIGKILL (9)"))
    assert failed_first(result.lines()[0], "exit status 3 (by lightning's word)")


@pytest.mark.parametrize("env", [
    {"MORE": "another"},                # it starts something else than itself
    {"RANK": "1"},                      # as every other launcher tells its ranks
])
def test_who_is_no_rank(train, env):
    """Then there is no rank: the program was killed by a signal, and no more is known."""
    result = train(WAIT, "os._exit(3)", watched=0, env={**env, "SILENT": "1"},
                   options=["--launch=auto"]).wait()
    assert result.status == 137
    assert "rank 1 (" not in verdict(result) and "(by " not in verdict(result)
