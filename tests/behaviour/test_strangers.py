# SPDX-License-Identifier: Apache-2.0
"""
Whom a signal of rankinit reaches: its own descendants, each once, though numbers
are used again and there are thousands of them.
"""

import os
import signal
import time

import pytest

import peek
from peek import wait_until

USR1, TERM = signal.SIGUSR1, signal.SIGTERM
# The next process gets the number of rank 0, which has gone: NEXT RUNS WITH IT.
REUSE = """for name in rank0 rank1; do
    until grep -q "^$name ready" @FOLDER/log 2>/dev/null; do sleep 0.02; done
done
n=$(sed -n 's/^rank0 pid //p' @FOLDER/log)
while kill -0 $n 2>/dev/null; do sleep 0.02; done
while ! grep -q '^stranger pid ' @FOLDER/log; do
    echo $((n - 1)) >/proc/sys/kernel/ns_last_pid
    @START &
    wait_for=$!
    [ $wait_for = $n ] && break
    kill -9 $wait_for; wait $wait_for
done"""


def quoted(words):
    return " ".join(f"'{word}'" for word in words)


def reused(box, how, *words):
    """A script that starts a stranger by the number of rank 0 once that has ended."""
    return REUSE.replace("@START", f"{how} {quoted(box.payload('stranger', *words))}")


# A process becomes the leader of a group in a session of its own, or in ours.
LEADS = {"session": "setsid",
         "group": "python3 -ISc 'import os, sys; os.setpgid(0, 0); "
                  "os.execvp(sys.argv[1], sys.argv[1:])'"}


def outer(job, name):
    """Of a process that wrote "NAME pid N": its number out here."""
    return wait_until(lambda: job.named(name), name)


def ours(job):
    """rankinit, where something else was started."""
    return wait_until(lambda: [pid for pid, facts in job.members().items()
                               if facts[0] == "rankinit"], "rankinit")[0]


def is_reused(job):
    """The stranger is there, and has the number of rank 0."""
    wait_until(lambda: job.ended() or job.count("stranger ready"), "a stranger", 10)
    assert job.count("stranger ready"), (job.log(), job.error_text())
    log = job.log()
    first = next(line.split()[2] for line in log if line.startswith("rank0 pid "))
    assert f"stranger pid {first}" in log, log


def ranks(box, first, second):
    """rankinit with two ranks of this node: rank 0 runs one script, rank 1 the other."""
    first, second = quoted(first), quoted(second)
    return [box.rankinit, "--signal-group", "--grace=20", "--nproc-per-node=2", "--checks=none",
            "--", "sh", "-c", f'[ "$RANK" = 0 ] && exec {first}; exec {second}']


def start_beside(box, words, script):
    """In one PID namespace, and none the other's parent: rankinit, and this script."""
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return box.start("-c", f"{line} & {script}; wait; wait", program="/bin/sh", place="below")


@pytest.mark.parametrize("options", [(), ("--signal-group",)])
def test_a_number_that_is_free_again(box, tool, options):
    """A SIGINT comes when the command was reaped and its end is not written down yet."""
    words = ["-o", "@FOLDER/trace", "-e", "trace=wait4,kill,rt_sigtimedwait", "-e", "signal=none",
             "-e", "inject=wait4:delay_enter=300000", box.rankinit, *options]
    late = ["sh", "-c", "(sleep 0.1; kill -INT $PPID) & exit 1"]
    job = box.start(*words, "--", *late, program=tool("strace"), place="below")
    result, lines = job.wait(), job.read("trace").decode().splitlines()
    if not any("DELAYED" in line for line in lines):
        pytest.skip("strace cannot delay calls here")
    assert result.status == 1, result.err
    assert [line for line in lines if line.endswith("= 2 (SIGINT)")], lines
    assert not [line for line in lines if line.startswith("kill(") and "SIGINT" in line], lines


@pytest.mark.parametrize("kind", LEADS)
def test_a_group_that_is_a_strangers_by_now(box, kind):
    """Rank 0 ended, and its number leads a group of somebody else's."""
    words = ranks(box, box.payload("rank0", "after=0.3"), box.payload("rank1"))
    job = start_beside(box, words, reused(box, LEADS[kind], "deaf"))
    is_reused(job)
    group = os.getpgid(outer(job, "stranger"))
    assert group == outer(job, "stranger"), "it leads one"
    job.signal(USR1, ours(job))
    job.until("rank1 SIGUSR1")
    job.signal(TERM, ours(job))
    job.until("rank1 done")
    wait_until(lambda: not [1 for facts in job.members().values() if facts[0] == "rankinit"],
               "the end of the job")
    assert job.count("stranger SIGUSR1") == job.count("stranger SIGTERM") == 0, job.log()
    assert peek.state(outer(job, "stranger")) == "S"


@pytest.mark.parametrize("kind", LEADS)
def test_a_descendant_by_a_number_of_a_rank(box, kind):
    """What rank 1 starts is no member of rank 0's group, and has its SIGTERM all the same."""
    stranger = reused(box, LEADS[kind])
    second = f"{quoted(box.payload('rank1'))} & {stranger}; wait; wait; wait"
    first = f"exec {quoted(box.payload('rank0', 'after=0.3'))}"
    shell = f"cat >@FOLDER/0.sh <<'END'\n{first}\nEND\n" \
            f"cat >@FOLDER/1.sh <<'END'\n{second}\nEND\n:"
    job = box.start("--signal-group", "--nproc-per-node=2", "--checks=none", "--", "sh", "-c",
                    "trap : USR1 TERM; . @FOLDER/$RANK.sh", shell=shell)
    is_reused(job)
    job.signal(USR1)
    job.until("rank1 SIGUSR1")
    assert job.count("stranger SIGUSR1") == 0, job.log()
    job.signal(TERM)
    job.until("rank1 done")
    time.sleep(0.1)
    assert job.count("stranger SIGTERM") == 0, "it has its turn with what else is left"

    def ends():
        job.signal(TERM)
        return job.ended(0.5)

    wait_until(ends, "the shell, of which each signal that it notices ends a wait")
    job.wait()
    assert job.count("rank1 SIGTERM") == job.count("stranger SIGTERM") == 1, job.log()


@pytest.mark.parametrize("place", ["init", "below"])
def test_the_group_that_a_rank_left_behind(box, place):
    """The control: its leader has gone, and its members are ours."""
    words = ranks(box, box.payload("rank0", "after=0.3", "same:near"), box.payload("rank1"))
    job = box.start(*words[1:], place=place)
    job.until("rank0 done", "near ready", "rank1 ready")
    wait_until(lambda: len(peek.children(job.pid)) == 2 and
               job.named("near") in peek.children(job.pid), "rank 0 is reaped")
    job.signal(USR1)
    job.until("rank1 SIGUSR1", "near SIGUSR1")
    job.signal(TERM)
    job.until("rank1 SIGTERM", "near SIGTERM")
    assert job.wait().status == 0
    for name in "rank1", "near":
        assert job.count(f"{name} SIGUSR1") == job.count(f"{name} SIGTERM") == 1, job.log()


CROWD = 5000


@pytest.mark.parametrize("place", ["init", "below"])
def test_thousands_are_told_once(box, actor, place):
    """However many are left behind, each gets one SIGTERM."""
    job = box.start("--grace=60", "--", actor("crowd"), "@FOLDER/counts", CROWD, place=place)
    result = job.wait(180)
    assert result.status == 7 and "SIGKILL" not in result.err, result.err
    assert job.read("counts")[:CROWD] == b"\1" * CROWD


def test_thousands_beside_a_launcher(box, actor):
    """Looked for one by one by process 1 too: whom a launcher tells is left out."""
    relay = quoted(box.payload("main", "title=mpirun", "after=0.5", "save=0.1"))
    job = box.start("--grace=60", "--", "sh", "-c",
                    f"setsid {relay} & exec \"$@\"", "sh", actor("crowd"), "@FOLDER/counts", CROWD)
    result = job.wait(180)
    assert result.status == 7 and "SIGKILL" not in result.err, result.err
    assert job.read("counts")[:CROWD] == b"\1" * CROWD
