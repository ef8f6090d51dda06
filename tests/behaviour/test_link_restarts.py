# SPDX-License-Identifier: Apache-2.0
"""--restarts over several nodes: all of them start their ranks again together, or none does."""

import contextlib
import json
import os
import re
import signal

import pytest

import peek
import schema
from box import refused
from peek import wait_until
from test_link import KEY, OTHER_KEY, WAITS, Nodes, go

AGAIN = re.compile(r"rankinit: .*failed first .*; the ranks start again \(restart (\d+) of (\d+)\)")
OFF = "rankinit:   the ranks do not start again: "
NOT = "rankinit: the ranks do not start again: "


def up(nodes, ranks=1):
    """A rank says which attempt it is of, and waits until all of that attempt are there."""
    last = nodes * ranks - 1
    return (f"A=${{RANKINIT_ATTEMPT:-0}}; : > @FOLDER/up.$A.$RANK; for r in $(seq 0 {last}); do "
            "until [ -e @FOLDER/up.$A.$r ]; do sleep 0.02; done; done; ")


def kills(rank, attempts, then="exit 0"):
    """
    Of the first so many attempts one rank is killed, in each second one the next lower, so that it
    is not the same failure; the others wait.
    """
    return (f"[ $A -lt {attempts} ] && {{ [ $RANK = $(({rank} - A % 2)) ] && kill -9 $$; "
            f"exec sleep 60; }}; {then}")


def job(box, nodes, command, *options, ranks=1, **more):
    return Nodes(box, nodes, ranks, up(nodes, ranks) + command, *options, **more)


def restarts(node):
    return [match[1] for match in map(AGAIN.fullmatch, node.lines) if match]


def attempts(of, nodes):
    """How often the ranks of each attempt were started."""
    names = [name for name in os.listdir(of.job.folder) if name.startswith("up.")]
    return sorted((int(a), int(r)) for _, a, r in (name.split(".") for name in names))


def all_of(count, nodes):
    return [(a, r) for a in range(count) for r in range(nodes)]


@pytest.mark.parametrize("nodes, ranks, times", [(2, 2, 2), (4, 1, 1)])
def test_all_start_again(box, nodes, ranks, times):
    its = job(box, nodes, kills(1, times, "echo $RANK $A $TORCHELASTIC_RESTART_COUNT $MASTER_PORT "
              "${RANKINIT_LINK_KEY-none} ${RANKINIT_CARRIED-none}; exit 0"),
              f"--restarts={times}", ranks=ranks)
    ended = its.wait()
    for number, node in ended.items():
        assert node.status == 0, node.lines
        assert restarts(node) == [str(n + 1) for n in range(times)], node.lines
        assert node.lines.count("rankinit:   the ranks start again in 1 s at the earliest: the "
                                "last 2 attempts each ended within a minute") == times - 1
        expected = {f"{number * ranks + r} {times} {times} 29500 none none" for r in range(ranks)}
        assert set(node.out.splitlines()) == expected
    assert attempts(its, nodes) == all_of(times + 1, nodes * ranks)


def test_what_dies_is_waited_for(box):
    """
    What the ranks had started, or what has looked at them, dies behind them: it is no process that
    they left. Five times, as it may be dead already.
    """
    lost = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.8.0.1]:42"
    for _ in range(5):
        its = job(box, 4, "[ $A = 1 ] && exit 0; "
                  "[ $RANK = 0 ] && { : > @FOLDER/dead; kill -9 $$; }; "
                  f"until [ -e @FOLDER/dead ]; do sleep 0.01; done; echo '{lost}' >&2; exit 1",
                  "--restarts=1", ranks=2)
        for node in its.wait().values():
            assert node.status == 0, node.lines
            assert restarts(node) == ["1"], node.lines


def test_the_restarts_are_used_up(box):
    its = job(box, 2, kills(1, 9), "--restarts=2")
    ended = its.wait()
    assert (ended[0].status, ended[1].status) == (122, 137), ended
    assert [restarts(node) for node in ended.values()] == [["1", "2"], ["1", "2"]]
    assert attempts(its, 2) == all_of(3, 2)


def test_the_same_failure_twice(box):
    its = job(box, 2, "[ $RANK = 1 ] && kill -9 $$; exec sleep 60", "--restarts=5")
    ended = its.wait()
    for node in ended.values():
        assert restarts(node) == ["1"], node.lines
        assert OFF + "they failed in the same way before, and came no further" in node.lines
    assert (ended[0].status, ended[1].status) == (122, 137)


@pytest.mark.parametrize("nodes", [2, 3])
def test_a_victim_is_not_why_they_started_again(box, nodes):
    """Rank 1 is killed, the others end of that without a word: every node says rank 1 of it."""
    loses = "while kill -0 $(cat @FOLDER/pid) 2>/dev/null; do sleep 0.02; done; exit 1"
    its = job(box, nodes, "[ $RANK = 1 ] && echo $$ >@FOLDER/pid~ && mv @FOLDER/pid~ @FOLDER/pid; "
              "[ $A = 1 ] && { [ $RANK = 0 ] && exit 7; exec sleep 60; }; "
              "until [ -e @FOLDER/pid ]; do sleep 0.02; done; "
              f"[ $RANK = 1 ] && kill -9 $$; {loses}", "--restarts=1",
              of={node: [f"--report=@FOLDER/report{node}.json"] for node in range(nodes)})
    ended = its.wait()
    assert ended[0].status == 7, ended
    reports = [os.path.join(its.job.folder, f"report{node}.json") for node in range(nodes)]
    for node, path in enumerate(reports):
        first = next(match for match in map(AGAIN.fullmatch, ended[node].lines) if match)
        why = first[0].removeprefix("rankinit: ").partition("; the ranks start again")[0]
        assert why.startswith("rank 1 (") and "(node 1 of " in why and "SIGKILL (9)" in why
        assert f"rankinit:   rankinit had started the ranks again once: {why}" in ended[node].lines
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        schema.check(report, "report")
        (restart,) = report["restarts"]
        assert (restart["job_verdict"], restart["rank"], restart["exception"]) == (why, None, None)
        verdict = restart["verdict"]
        assert (verdict["rank"], verdict["node"], verdict["cause"]) == (1, 1, "killed"), verdict
        # the order may come before it loses rank 1
        assert verdict["status"] in ((137,) if node == 1 else (1, 122)), verdict
    page = box.run("--blame", *reports).out.decode()
    assert f"before it: the ranks had been started again 1 time, at first: {why}" in page, page


def test_what_would_fail_again(box):
    its = job(box, 2, "[ $RANK = 1 ] && exec python3 -c 'raise ValueError(17)'; exec sleep 60",
              "--restarts=5")
    ended = its.wait()
    assert (ended[0].status, ended[1].status) == (122, 1)
    for node in ended.values():
        assert OFF + "they would fail in the same way" in node.lines, node.lines
    assert attempts(its, 2) == all_of(1, 2)


def test_one_node_has_no_restarts(box):
    its = job(box, 3, kills(1, 1), of={0: ["--restarts=1"], 1: ["--restarts=1"]},
              env={"RANKINIT_ATTEMPT": "0"})
    ended = its.wait()
    assert [ended[n].status for n in range(3)] == [122, 137, 122], ended
    # before the verdict, or if node 2 came behind that
    assert [line for line in ended[0].lines
            if re.fullmatch(r"rankinit: (?:  )?the ranks do not start again: node 2 \(\S+\) may "
                            r"not restart them any more \(--restarts\)", line)], ended[0].lines


@pytest.mark.parametrize("options, env", [
    ([], {"RANKINIT_LINK_KEY": ""}), (["--link=tell"], {}), (["--link=no"], {}),
])
def test_refused_without_a_link_that_may(box, options, env):
    env = {name: value for name, value in {"RANKINIT_LINK_KEY": KEY, **env}.items() if value}
    result = box.run("--restarts=1", "--nnodes=2", "--node-rank=0", "--nproc-per-node=1",
                     "--master-addr=127.0.0.1", "--link", *options, "--", "true", env=env)
    line = refused(result, 125, "restarts.refused", "--restarts")
    assert "the job has 2 nodes, which start their ranks again together, by --link with a " \
        "--link-key" in line


def another_secret(box):
    """The nodes do not meet: each ends as it does alone, and none starts again."""
    command = up(2) + f"[ $RANK = 1 ] && kill -9 $$; {WAITS}"
    its = Nodes(box, 2, 1, command, "--restarts=1", "--restart-wait=0.5",
                before={1: f"export RANKINIT_LINK_KEY={OTHER_KEY}; :"})
    ended = go(its, lambda: os.path.exists(os.path.join(its.job.folder, "status1")),
               "the end of node 1")
    assert ended[1].status == 137 and not restarts(ended[1]) and not restarts(ended[0])
    assert attempts(its, 2) == all_of(1, 2)


def a_node_is_not_fit_the_second_time(box):
    """Its rank lowers the limit of the rankinit above it."""
    its = job(box, 3, "[ $RANK = 2 ] && prlimit --pid $PPID --nofile=64:64 && : > @FOLDER/low; "
              "until [ -e @FOLDER/low ]; do sleep 0.02; done; " + kills(1, 1),
              "--restarts=2", "--require=lim.nofile", "--restart-wait=10")
    ended = its.wait()
    assert [ended[n].status for n in range(3)] == [122, 137, 123], ended
    for n in (0, 1):
        assert [line for line in ended[n].lines
                if re.match(NOT + r"node 2 \(\S+\) is not fit", line)], ended[n].lines
        # the verdict on the failure that was the last one
        assert len([line for line in ended[n].lines if line.startswith("rankinit: rank 1 (")
                    and "killed by SIGKILL" in line and "start again" not in line]) == 2
    assert attempts(its, 3) == all_of(1, 3)


def pids_of(its, node):
    """The rankinit of a node: (pid, ...), without the helpers, which have its words."""
    found = [pid for pid in its.job.others()
             if f"--node-rank={node}".encode() in peek.read(pid, "cmdline").split(b"\0")]
    return [pid for pid in found if (peek.stat(pid) or ("", "", found[0]))[2] not in found]


def gather(box, *options, nodes=2):
    """A job that is to start again, and whose rank 1 takes its time to end."""
    its = job(box, nodes, "[ $RANK = 1 ] && trap ': > @FOLDER/asked' TERM && : > @FOLDER/deaf; "
              "until [ -e @FOLDER/deaf ]; do sleep 0.02; done; "
              "[ $RANK = 0 ] && { [ $A = 0 ] && kill -9 $$; }; [ $A = 0 ] || exit 0; "
              "until [ -e @FOLDER/asked ]; do sleep 0.02; done; "
              "until [ -e @FOLDER/go ]; do sleep 0.02; done; kill -9 $$", "--restarts=1", *options)
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "asked")), "an order")
    return its


def test_a_stop_before_all_have_left(box):
    """From outside, as node 1 waits for the end of its rank."""
    its = gather(box)
    (node,) = pids_of(its, 1)
    os.kill(node, signal.SIGTERM)
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "status0")), "the end of node 0")
    with open(os.path.join(its.job.folder, "go"), "w", encoding="ascii"):
        pass
    ended = its.wait()
    assert ended[0].status == 137, ended[0].lines
    assert [line for line in ended[0].lines if re.fullmatch(
        NOT + r"node 1 \(\S+\) was stopped from outside", line)], ended[0].lines
    assert attempts(its, 2) == all_of(1, 2)


def test_a_node_is_gone_before_all_have_left(box):
    its = gather(box, "--restart-wait=1")
    (node,) = pids_of(its, 1)
    os.kill(node, signal.SIGKILL)
    for pid in its.job.others():
        if (peek.stat(pid) or ("",))[0] == "rankinit-link" and \
                b"--node-rank=1" in peek.read(pid, "cmdline").split(b"\0"):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "status0")), "the end of node 0")
    with open(os.path.join(its.job.folder, "go"), "w", encoding="ascii"):
        pass
    its.job.wait()
    assert its.job.read("status0").strip() == b"137"
    assert [line for line in its.lines(0) if re.fullmatch(
        NOT + r"node 1 \(\S+\) has not come within 1 s", line)], its.lines(0)
    assert attempts(its, 2) == all_of(1, 2)


# Node 2 does not come to the second attempt: rankinit there cannot write what it leaves for itself.
ABSENT = "[ $RANK = 2 ] && [ $A = 0 ] && prlimit --pid $PPID --fsize=0 && : > @FOLDER/low; " \
    "until [ -e @FOLDER/low ]; do sleep 0.02; done; "


def is_in_second(its, node):
    """Its helper, of the attempt that has begun, is there."""
    return [pid for pid in pids_of(its, node)
            if b"\0RANKINIT_CARRIED=" in peek.read(pid, "environ")
            and [child for child in peek.children(pid)
                 if (peek.stat(child) or ("",))[0] == "rankinit-link"]]


def gathers(box, of=None):
    """A job of three nodes, two of which wait for the third one to start their ranks again."""
    its = job(box, 3, ABSENT + kills(1, 1), "--restarts=1", of=of or {
        node: ["--restart-wait=600"] for node in range(3)})
    wait_until(lambda: is_in_second(its, 0) and is_in_second(its, 1), "two nodes that wait")
    wait_until(lambda: os.path.exists(os.path.join(its.job.folder, "status2")), "the third one")
    return its


def a_node_does_not_come(box):
    its = job(box, 3, ABSENT + kills(1, 1), "--restarts=1", "--restart-wait=0.3")
    ended = its.wait()
    assert [ended[n].status for n in (0, 1)] == [122, 137], ended
    for n in (0, 1):
        assert [line for line in ended[n].lines if re.fullmatch(
            NOT + r"(node 2( \(\S+\))? has not come within \d s|node 0 has not said .*)", line)
            ], ended[n].lines
        assert restarts(ended[n]) == [], "they do not start"
    assert attempts(its, 3) == all_of(1, 3)


def a_stop_before_all_have_come(box):
    its = gathers(box)
    (node,) = pids_of(its, 1)
    os.kill(node, signal.SIGTERM)
    ended = its.wait()
    assert [ended[n].status for n in (0, 1)] == [122, 143], ended
    assert [line for line in ended[0].lines if re.fullmatch(
        NOT + r"node 1 \(\S+\) was stopped from outside", line)], ended[0].lines
    assert attempts(its, 3) == all_of(1, 3)


def node_0_dies_before_all_have_come(box):
    """Nobody says that all nodes have come, so no rank starts."""
    its = gathers(box, {0: ["--restart-wait=600"], 1: ["--restart-wait=0.3"],
                        2: ["--restart-wait=0.3"]})
    (node,) = is_in_second(its, 0)
    for pid in [node, *peek.children(node)]:
        with contextlib.suppress(ProcessLookupError):    # a check's, that has ended meanwhile
            os.kill(pid, signal.SIGKILL)
    ended = its.wait()
    assert ended[1].status == 137, ended[1]
    assert NOT + "node 0 has not said that all nodes can" in ended[1].lines, ended[1].lines
    assert attempts(its, 3) == all_of(1, 3)


def test_where_not_all_come(box, at_once):
    """Node 0 waits for those that do not; in that time others do."""
    at_once(lambda function: function(box), [
        another_secret, a_node_is_not_fit_the_second_time, a_node_does_not_come,
        a_stop_before_all_have_come, node_0_dies_before_all_have_come])


def test_the_master_is_waited_for_when_all_have_come(box):
    """Rank 0 listens when its node may start it: who waited for it before would wait in vain."""
    serves = ("[ $RANK = 0 ] && exec python3 -c \"import os, socket, time; "
              "socket.create_server(('10.9.0.1', 29500)); "
              "f = '@FOLDER/up.%s.0' % os.environ['RANKINIT_ATTEMPT']; open(f, 'w').close(); "
              "[time.sleep(.02) for _ in iter(lambda: os.path.exists(f[:-1] + '1'), True)]; "
              "os.environ['RANKINIT_ATTEMPT'] == '0' and (os.kill(os.getpid(), 9))\"; ")
    its = Nodes(box, 2, 1, serves + ": > @FOLDER/up.$RANKINIT_ATTEMPT.1; "
                "[ $RANKINIT_ATTEMPT = 1 ] || exec sleep 60", "--restarts=1",
                of={1: ["--wait-master=50"]})
    ended = its.wait()
    assert [ended[n].status for n in (0, 1)] == [0, 0], ended
    assert attempts(its, 2) == all_of(2, 2)
