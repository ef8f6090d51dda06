# SPDX-License-Identifier: Apache-2.0
"""
Actors of Ray: which of them the last exception of their driver names. The driver is a stand-in;
tests/frameworks has the real one.
"""

import json
import os
import pathlib
import signal

import pytest

import peek
import schema
from peek import wait_until
from test_launched import (WAIT, helper_of, launch, let_go,  # noqa: F401  a fixture
                           rankinit_sleeps_on, ranks_of, until_watched, verdict)
from test_terminal import terminal  # noqa: F401  a fixture
from verdict import failed_first, names, status_line, stopped_line

# A stand-in for a driver of Ray, with one of Ray's daemons: it ends as its words say, and its
# actors end because it does.
DRIVER = """#!/usr/bin/python3
import os, subprocess, sys, time
daemon = subprocess.Popen(["./raylet", "99"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("INFO worker.py:2041 -- Started a local Ray instance.", file=sys.stderr, flush=True)
actors = []
for rank, command in enumerate(sys.argv[1:]):
    pid = os.fork()
    if pid == 0:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", ATTEMPT="0")
        os.execv("/bin/sh", ["sh", "-c", "trap 'exit 1' TERM; " + command])
    actors.append(pid)
while not os.path.exists("words"):
    time.sleep(0.02)
with open("words", encoding="utf-8") as file:
    sys.stderr.write(file.read() % {"zero": actors[0], "one": actors[1]})
for pid in actors:
    try:
        os.kill(pid, 15)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
sys.exit(1)
"""
ACTOR = "while :; do sleep 0.05; done"
FRAMES = """Traceback (most recent call last):
  File "/job/driver.py", line 24, in <module>
    ray.get([worker.train.remote() for worker in workers])
"""
TASK = FRAMES + """ray.exceptions.RayTaskError(ValueError): \x1b[36mray::Worker.train()\x1b[39m \
(pid=%(one)d, ip=127.0.0.1, actor_id=4db7, repr=<driver.Worker object at 0x7fd68eb87150>)
  File "/job/driver.py", line 17, in train
    step(17)
ValueError: bad batch 17
"""
DIED = FRAMES + """ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing \
this task.
\tclass_name: Worker
\tactor_id: 6c97
\tpid: %(one)d
\tip: 127.0.0.1
"""


@pytest.fixture
def drive(launch):  # noqa: F811
    """Start a driver of Ray in front of two actors. It waits for its words."""
    def start(*actors, command=("python3", "driver.py"), driver=DRIVER, **more):
        return launch(*actors, command=list(command), **more, shell=(
            f"cp /bin/sleep raylet\ncp raylet other\n"
            f"cat >driver.py <<'D'\n{driver}D\nchmod +x driver.py"))
    return start


def say(job, words):
    pathlib.Path(job.folder, "said").write_text(words, encoding="utf-8")
    pathlib.Path(job.folder, "said").rename(pathlib.Path(job.folder, "words"))


@pytest.mark.parametrize("command, options", [
    (["python3", "driver.py"], []),
    (["./driver.py"], []),
    (["python3", "-m", "driver"], []),
    (["python3", "driver.py"], ["--launch=node"]),
])
def test_an_actor_of_ray_that_raised(drive, command, options):
    """It lives on, and ends as the other one does, because the driver ends."""
    job = drive(ACTOR, ACTOR, command=command, options=[*options, "--report=r.json"])
    pid = job.inner(until_watched(job, 2)[1])
    say(job, TASK)
    result = job.wait()
    said = verdict(result).splitlines()
    assert result.status == 1
    assert said[0].startswith(f"rankinit: rank 1 (local rank 1, pid {pid} on "), said
    assert said[0].endswith(" failed first: raised the error below (by ray's word)"), said
    assert said[1] == "rankinit:   ValueError: bad batch 17", said
    assert stopped_line(0, "exit status 1") in said
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert [rank["class"] for rank in document["ranks"]] == ["stopped", "own"]
    assert document["first_failure"]["rank"] == 1


def test_an_actor_of_ray_that_died(drive):
    job = drive(ACTOR, WAIT + "kill -SEGV $$")
    pid = until_watched(job, 2)[1]
    let_go(job, 1)
    wait_until(lambda: peek.state(pid) in (None, "Z"), "the end of the actor")
    say(job, DIED)
    said = verdict(job.wait()).splitlines()
    assert names(said[0], 1, 1), said
    assert failed_first(said[0], "killed by SIGSEGV (11)"), said
    assert said[1:] == [stopped_line(0, "exit status 1"),
                        status_line(1)]


def test_an_actor_of_ray_on_another_node(drive):
    """Its pid is here another one's, which is not named."""
    job = drive(ACTOR, ACTOR, options=["--report=r.json"])
    pid = job.inner(until_watched(job, 2)[1])
    say(job, TASK.replace("127.0.0.1", "203.0.113.7"))
    said = verdict(job.wait()).splitlines()
    assert said[0] == (f"rankinit: the actor Worker (pid {pid} on 203.0.113.7) failed: raised the "
                       "error below (by ray's word)"), said
    assert said[1] == "rankinit:   ValueError: bad batch 17", said
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert document["first_failure"]["rank"] is None
    assert [rank["rank"] for rank in document["ranks"]] == [None]


@pytest.mark.parametrize("options", [[], ["--launch=node"]])
def test_a_driver_of_ray_that_fails_itself(drive, options):
    """All actors end of that, and none is named."""
    job = drive(ACTOR, ACTOR, options=options)
    until_watched(job, 2)
    say(job, FRAMES + "KeyError: 'loss'\n")
    said = verdict(job.wait()).splitlines()
    assert said[0].startswith("rankinit: python3 (pid "), said
    assert " failed: exit status 1, after " in said[0] and "rank 0" not in "".join(said), said
    assert said[1] == "rankinit:   KeyError: 'loss'", said


def test_a_driver_of_ray_on_a_terminal(drive, terminal):  # noqa: F811
    """Its stderr is not read there, and so no actor is named."""
    job = drive(ACTOR, ACTOR, tty=terminal.path)
    wait_until(lambda: len(ranks_of(job)) == 2, "two processes")
    assert helper_of(job) is None
    say(job, TASK)
    assert job.wait().status == 1
    terminal.look(0.1)
    assert "ValueError: bad batch 17" in terminal.text, terminal.text
    assert "rank " not in terminal.text.replace("RANK", ""), terminal.text


def test_a_stop_of_a_driver_of_ray_is_no_failure(drive):
    """An actor that ends of it may be what its last exception names."""
    job = drive(ACTOR, ACTOR, driver=DRIVER.replace("actors = []", (
        "import signal; signal.signal(signal.SIGTERM, lambda *_: open('told', 'w')); actors = []")))
    until_watched(job, 2)
    job.signal(signal.SIGTERM)
    wait_until(lambda: os.path.exists(f"{job.folder}/told"), "the stop at the driver")
    say(job, TASK)
    said = verdict(job.wait()).splitlines()
    assert said[0].startswith("rankinit: stopped by SIGTERM from "), said


def test_looks_at_actors_wake_the_helper_alone(drive):
    rankinit_sleeps_on(drive(WAIT + "echo step 1 >&2; sleep 99", "sleep 99"))


def test_an_actor_of_a_silent_ray_that_raised(drive):
    """Without Ray's first words it is looked for when the last exception comes, and lives then."""
    job = drive(ACTOR, ACTOR, driver=DRIVER.replace("Started", "Has").replace(
        "for pid in actors:", "time.sleep(1)\nfor pid in actors:", 1))
    wait_until(lambda: len(ranks_of(job)) == 2, "two processes")
    assert helper_of(job) is None
    say(job, TASK)
    assert names(verdict(job.wait()), 1, 1)


def test_a_program_of_python_without_ray(drive):
    """The control: what seems to be a rank below it is none, and its failure has no verdict."""
    job = drive(ACTOR, ACTOR, driver=DRIVER.replace("./raylet", "./other").replace(
        "for pid in actors:", "time.sleep(1)\nfor pid in actors:", 1))
    wait_until(lambda: len(ranks_of(job)) == 2, "two processes")
    say(job, FRAMES + "KeyError: 'loss'\n")
    assert verdict(job.wait()) == ""
