# SPDX-License-Identifier: Apache-2.0
"""--link: one verdict in every node's log, and nobody waits for a job that has failed."""

import json
import os
import re
import shlex
from dataclasses import dataclass

import pytest

import schema
from box import read_brief, refused, warned
from peek import wait_until
from test_wait_master import OWN_FILES
from verdict import names, status_line, stopped_line

KEY = "d08fbc5a150028b59a73c7852451d26f"
OTHER_KEY = "db66ecb306cea2b109290e9e2b5bee16"
# A network of its own, in which every node has the master's address.
ALONE = ["--net", "sh", "-c", 'ip link set lo up && ip addr add 10.9.0.1/32 dev lo && exec "$@"',
         "sh"]
HOW = "; look whether they run, with --link and the same key"
WHO = r"rankinit: rank {rank} \(local rank {local}, pid \d+ on [^)]+\) failed first " \
      r"\(node {node} of {nodes}\): {how}, after \S+ s, at \S+"
SLEEP = "exec sleep 60"
# Node 0 listens on port 9471, or on 7777, of all addresses, and has another node's connection.
JOINED = "until grep -qE ':(24FF|1E61) [0-9A-F]+:[0-9A-F]{4} 01 ' /proc/net/tcp*; " \
         "do sleep .1; done"
LOST = "python3 -c 'raise RuntimeError(\"Connection closed by peer [10.9.0.1]:4242\")'; exit 1"


@dataclass
class Node:
    status: int
    lines: list
    out: str
    brief: dict = None      # of its last line, which is none of the others

    def __post_init__(self):
        self.brief = read_brief(self.lines[-1]) if self.lines else None
        self.lines = self.lines[:-1] if self.brief else self.lines


class Nodes:
    """Rankinits of one job side by side, each with files of its own."""

    def __init__(self, box, count, ranks, command, *options, env=None, of=None, absent=(),
                 before=None, **more):
        self.count, self.absent = count, absent
        script = []
        for node in range(count):
            if node in absent:
                continue
            words = [box.rankinit, f"--node-rank={node}", f"--nnodes={count}", "--link",
                     "--master-addr=10.9.0.1", "--master-port=29500",
                     f"--nproc-per-node={ranks}", *options, *(of or {}).get(node, []), "--",
                     "sh", "-c", command]
            wait = (before or {}).get(node, ":")
            script.append(f"{{ {wait}; {shlex.join(words)} >@FOLDER/out{node} 2>@FOLDER/err{node}; "
                          f"echo $? >@FOLDER/status{node}; }} &")
        script = "\n".join([*script, "wait"])
        self.job = box.start(*ALONE, "sh", "-c", script, program="/usr/bin/unshare",
                             env={"RANKINIT_LINK_KEY": KEY, **(env or {})}, **more)

    def lines(self, node):
        """What rankinit itself has said there."""
        path = os.path.join(self.job.folder, f"err{node}")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line.startswith("rankinit: ")]

    def wait(self):
        result = self.job.wait()
        assert result.status == 0, result.err
        ended = {}
        for node in range(self.count):
            if node not in self.absent:
                ended[node] = Node(int(self.job.read(f"status{node}")), self.lines(node),
                                   self.job.read(f"out{node}").decode())
        return ended


def first(node, expected, text):
    """The first line is that one; what follows until this node's own part."""
    pattern = WHO.format(**expected)
    assert re.fullmatch(pattern, node.lines[0]), (node.lines, pattern)
    assert [line for line in node.lines if text in line], node.lines
    return node.lines[0]


def failing(rank, what, before=""):
    """When all nodes are there."""
    return f"{before}sleep 1; [ $RANK != {rank} ] || {{ {what}; }}; {SLEEP}"


def dying(before=":"):
    """
    Rank 1, which is node 1's, does this and is killed when its node is connected: node 0 waits for
    no better word. The others wait.
    """
    return f"[ $RANK != 1 ] || {{ {before}; {JOINED}; kill -9 $$; }}; {SLEEP}"


WAITS = "until [ -e @FOLDER/go ]; do sleep .05; done"


def go(nodes, ready, what):
    """Once something is so, those that wait for it end."""
    wait_until(ready, what)
    with open(os.path.join(nodes.job.folder, "go"), "w", encoding="ascii"):
        pass
    return nodes.wait()


# One verdict.

@pytest.mark.parametrize("rank, end, how, status, cause", [
    (0, "exit 7", "exit status 7", 7, ("exit_status", "unknown", "never")),
    (3, "kill -9 $$", "killed by SIGKILL \\(9\\)", 137, ("killed", "own", "same"))])
def test_every_log_names_the_rank(box, rank, end, how, status, cause):
    ended = Nodes(box, 2, 2, failing(rank, f"echo no data >&2; {end}")).wait()
    node = rank // 2
    expected = {"rank": rank, "local": rank % 2, "node": node, "nodes": 2, "how": how}
    assert first(ended[0], expected, "no data") == first(ended[1], expected, "no data")
    assert (ended[node].status, ended[1 - node].status) == (status, 122)
    assert {**ended[node].brief, "status": "122"} == ended[1 - node].brief
    assert ended[node].brief == {
        **dict(zip(("cause", "class", "retry"), cause)), "rank": str(rank), "node": str(node),
        "host": os.uname().nodename, "status": str(status), "retries": "0"}
    # what is said of the others here comes once, behind that
    other = f"{2 * (1 - node)}-{2 * (1 - node) + 1}"
    assert ended[1 - node].lines[-2:] == [
        stopped_line(other),
        status_line(122, "this node")]
    assert ended[node].lines[-2:] == [
        stopped_line(rank ^ 1),
        status_line(status, "this node")]


def test_without_it_nobody_is_stopped(box):
    """The control: the same job, and the others run on."""
    nodes = Nodes(box, 2, 2, f"[ $RANK = 0 ] && exit 7; {WAITS}", "--link=no")
    ended = go(nodes, lambda: nodes.lines(0), "the end of node 0")
    assert (ended[0].status, ended[1].status, ended[1].lines) == (7, 0, [])


def test_a_traceback(box):
    raises = "import os, time\nif os.environ['RANK'] == '1':\n" \
             "    raise ValueError('bad batch 17')\ntime.sleep(60)"
    ended = Nodes(box, 2, 1, f"exec python3 -c {shlex.quote(raises)}").wait()
    for node in ended.values():
        assert "rankinit:   ValueError: bad batch 17" in node.lines, node.lines
        assert node.lines.count("rankinit:   ValueError: bad batch 17") == 1
    assert [ended[node].status for node in range(2)] == [122, 1]


def test_the_report_has_it(box):
    """And no secret that the rank wrote passes."""
    ended = Nodes(box, 2, 1, dying("echo HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789 >&2"),
                  "--report=@FOLDER/report%n.json")
    folder, ended = ended.job.folder, ended.wait()
    said = "\n".join(ended[0].lines)
    assert "hf_abcdef" not in said and "HF_TOKEN=***" in said
    for node in range(2):
        with open(os.path.join(folder, f"report{node}.json"), encoding="utf-8") as file:
            text = file.read()
        assert "hf_abcdef" not in text
        document = json.loads(text)
        schema.check(document, "report")
        assert names(document["job_verdict"], 1, 0), text
        assert document["job_verdict_node"] == 1
        # one machine, one clock
        clock = document["clock"]
        assert abs(clock["ahead_s"]) <= clock["error_s"] + 0.000001 and clock["error_s"] < 30
        assert node == 1 or clock == {"ahead_s": 0, "error_s": 0}
    assert ended[0].status == 122


def test_losses_name_no_rank(box):
    ended = Nodes(box, 2, 1, failing(0, LOST)).wait()
    line = "rankinit: cannot tell which rank failed first: ranks of 1 node lost others, and no " \
           "rank failed of itself"
    assert ended[0].lines[0] == ended[1].lines[0] == line, (ended[0].lines, ended[1].lines)
    assert not [line for line in ended[1].lines if "look at that node" in line]
    # the one that failed says so: a job has failed, and not each of its nodes was stopped
    assert [ended[node].status for node in range(2)] == [1, 122]


def test_who_had_left_is_named(box):
    """
    Rank 3 ends with 0, and then rank 0 loses it; no node can say more. As a job ends well when a
    rank does, that may be a teardown, and the other node writes the last checkpoint.
    """
    nodes = Nodes(box, 2, 2, f"[ $RANK = 3 ] && {{ {JOINED}; : >@FOLDER/3; exit; }}; "
                             "until [ -e @FOLDER/3 ]; do sleep .05; done; "
                             f"[ $RANK = 0 ] && {{ sleep .5; {LOST}; }}; {WAITS}")
    ended = go(nodes, lambda: nodes.lines(1), "the verdict")
    assert [ended[node].status for node in range(2)] == [1, 0]
    for node in ended.values():
        assert re.fullmatch(r"rankinit:   a rank of node 1 \(\S+\) had ended with 0",
                            node.lines[1]), node.lines


def test_a_failure_of_ones_own_after_the_verdict(box):
    """What stopped the job is one thing, and why this rank fails another."""
    nodes = Nodes(box, 2, 1, f"[ $RANK = 1 ] && {{ {JOINED}; kill -9 $$; }}; {WAITS}; "
                  "exec python3 -c \"raise KeyError('mine')\"", "--link=tell")
    ended = go(nodes, lambda: nodes.lines(0), "the verdict")
    assert first(ended[0], {"rank": 1, "local": 0, "node": 1, "nodes": 2,
                            "how": r"killed by SIGKILL \(9\)"}, "rank 1")
    assert "rankinit:     KeyError: 'mine'" in ended[0].lines, ended[0].lines
    assert "rankinit:   the ranks of this node run on: with --link=tell rankinit stops none" \
        in ended[0].lines
    assert [ended[node].status for node in range(2)] == [1, 137]


def test_all_nodes_fail_at_once(box):
    """As of an import that is missing everywhere: one is named, or two whose clocks do not tell."""
    ended = Nodes(box, 3, 2, "sleep 1; echo no module >&2; exit 1").wait()
    assert len({node.lines[0] for node in ended.values()}) == 1
    said = "\n".join(ended[0].lines[:2])
    assert said.count("two nodes failed within ") + said.count(" failed first ") in (1, 2)
    named = int(re.search(r" failed first \(node (\d) of 3\)", said)[1])
    assert ended[named].status == 1
    # a node whose ranks were stopped a moment before they would have failed
    assert {node.status for node in ended.values()} <= {1, 122}


# Who is stopped, and how.

DIES_LATER = "{ until [ -e @FOLDER/up ]; do sleep .05; done; kill -9 $$; }"


def test_a_rank_gets_one_sigterm_and_its_time(box):
    """--grace is short, and not for ranks that write a checkpoint."""
    saves = "trap 'echo term >>@FOLDER/log; sleep 1; echo saved >>@FOLDER/log; exit 0' TERM; " \
            "echo up >@FOLDER/up; while :; do sleep .1; done"
    nodes = Nodes(box, 2, 1, f"[ $RANK = 1 ] && {DIES_LATER}; {saves}", "--grace=0.2")
    ended = nodes.wait()
    assert nodes.job.read("log").decode().split() == ["term", "saved"]
    assert [ended[node].status for node in range(2)] == [122, 137]


def test_the_grace_of_the_link(box):
    deaf = "trap '' TERM; echo up >@FOLDER/up; while :; do sleep .1; done"
    ended = Nodes(box, 2, 1, f"[ $RANK = 1 ] && {DIES_LATER}; {deaf}", "--link-grace=0.2").wait()
    assert [ended[node].status for node in range(2)] == [122, 137]
    assert "killed by SIGKILL (9)" in "\n".join(ended[0].lines)


def test_without_a_key_it_is_news(box):
    nodes = Nodes(box, 2, 1, f"[ $RANK = 1 ] && {{ {JOINED}; kill -9 $$; }}; {WAITS}",
                  env={"RANKINIT_LINK_KEY": None})
    ended = go(nodes, lambda: nodes.lines(0), "the news")
    assert [ended[node].status for node in range(2)] == [0, 137]
    assert ended[0].lines[0].startswith(
        "rankinit: without a key, so that anybody may have said it: rank 1 (")


def test_a_stop_from_outside_is_no_failure(box):
    """One node is told to stop, as a preempted one is; the other loses it, and is not blamed."""
    nodes = Nodes(box, 2, 1, "[ $RANK = 1 ] && { trap 'touch @FOLDER/going; exit 0' TERM; "
                  "touch @FOLDER/up; while :; do sleep .1; done; }; "
                  f"until [ -e @FOLDER/going ]; do sleep .1; done; {LOST}")
    folder = nodes.job.folder
    wait_until(lambda: os.path.exists(os.path.join(folder, "up")), "the ranks")
    wait_until(lambda: find_member(nodes.job, "--node-rank=1"), "node 1")
    os.kill(find_member(nodes.job, "--node-rank=1"), 15)
    ended = nodes.wait()
    assert re.fullmatch(r"rankinit: node 1 \(\S+\) was stopped from outside by SIGTERM",
                        ended[0].lines[0]), ended[0].lines
    assert ended[0].status == 1 and ended[1].status == 0


def find_member(job, word):
    """The rankinit of that node, by our number for it."""
    for pid in job.members():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                name = file.read().strip()
        except OSError:
            continue
        if word.encode() in words and name == "rankinit":
            return pid
    return None


def test_an_unfit_node(box):
    """The others run: a node that begins after the verdict would be told, and not stopped."""
    others = "until [ -e @FOLDER/up0 ] && [ -e @FOLDER/up2 ]; do sleep .1; done"
    ended = Nodes(box, 3, 1, "echo >@FOLDER/up$NODE_RANK; " + SLEEP,
                  of={1: ["--require=shm=64T"]}, before={1: others}).wait()
    assert [ended[node].status for node in range(3)] == [122, 123, 122]
    for node in (0, 2):
        assert re.fullmatch(r"rankinit: node 1 \(\S+\) is not fit: shm\S* \(.*expected .*\) "
                            r"\[check.unfit\]", ended[node].lines[0]), ended[node].lines


def test_a_command_that_does_not_exist(box):
    ended = Nodes(box, 2, 1, SLEEP, of={1: ["--user=nobody-of-this-name"]}).wait()
    assert [ended[node].status for node in range(2)] == [122, 125]
    assert re.match(r"rankinit: node 1 \(\S+\) could not start: --user: ", ended[0].lines[0])


# Who has come.

def test_the_roll_call(box):
    nodes = Nodes(box, 3, 1, WAITS, "--roll-call=1", absent=(2,))
    ended = go(nodes, lambda: min(len(nodes.lines(node)) for node in (0, 1)) >= 2, "two calls")
    for node in (0, 1):
        assert ended[node].lines[:2] == [f"rankinit: waiting for 1 of 3 nodes for 1 s: node 2{HOW}",
                                         "rankinit: waiting for 1 of 3 nodes for 2 s: node 2"]
        assert ended[node].status == 0


def test_node_0_does_not_come(box):
    nodes = Nodes(box, 2, 1, WAITS, "--roll-call=0.3", absent=(0,))
    ended = go(nodes, lambda: nodes.lines(1), "the call")
    assert re.fullmatch(r"rankinit: node 0 \(10\.9\.0\.1\), ports 9471 to 9478, has not been "
                        r"reached for \d s: Connection refused", ended[1].lines[0])
    assert ended[1].status == 0


def test_a_name_that_does_not_resolve(box):
    nodes = Nodes(box, 2, 1, WAITS, "--roll-call=0.3", "--master-addr=no-such-host.invalid",
                  absent=(0,), shell=OWN_FILES)
    ended = go(nodes, lambda: [line for line in nodes.lines(1) if "name" in line], "the call")
    assert ended[1].status == 0
    assert ("node 0 (no-such-host.invalid), ports 9471 to 9478, has not been reached for "
            in ended[1].lines[0])


def test_all_is_well(box):
    """Silence, and no wait at the end."""
    ended = Nodes(box, 4, 2, "sleep .5").wait()
    assert [(ended[node].status, ended[node].lines) for node in range(4)] == [(0, [])] * 4


# What it needs.

@pytest.mark.parametrize("options, env", [
    (["--nproc-per-node=2"], {}),
    ([], {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
          "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}),
    ([], {}),
])
def test_where_there_is_no_other_node_nothing_is_done(box, options, env):
    """It stands in the image, and nobody says a word of it."""
    names = "cat /proc/[0-9]*/comm 2>/dev/null | sort -u"
    linked = box.run(*options, "--", "sh", "-c", names,
                     env={"RANKINIT_LINK": "1", "RANKINIT_LINK_KEY": KEY, **env})
    assert (linked.status, linked.err) == (0, "") and b"rankinit-link" not in linked.out


def test_nothing_of_it_reaches_the_ranks(box):
    ended = Nodes(box, 2, 1, "env",
                  env={"RANKINIT_LINK_GRACE": "5", "RANKINIT_ROLL_CALL": "9"}).wait()
    for node in ended.values():
        assert "RANK=" in node.out and "LINK" not in node.out and KEY not in node.out


@pytest.mark.parametrize("key", ["short", "x" * 31, "x" * 31 + "\r\n"])
def test_a_short_key(box, key):
    line = refused(box.run("--link", "--", "true", env={"RANKINIT_LINK_KEY": key}), 125, "link.key",
                   "RANKINIT_LINK_KEY")
    assert f"it has {len(key.rstrip())} bytes; expected 32 or more" in line and key not in line


GUESSABLE = [
    ("changeme" * 4, "repeats"), ("qwertyuiopasdfghjklzxcvbnm123456", "repeats"),
    ("Correct Horse Battery Staple Again", "words"), ("RANKINIT_LINK_KEY=" + KEY, "variable")]
FLAWS = {"repeats": "repeats itself, or goes on as an alphabet or a keyboard does",
         "words": "is made of words", "variable": "has the name of the variable in it"}


def runs_with_key(box, path, key):
    """As the variable and in a file: the result, what it is about and how a message begins."""
    job = ["--link", "--node-rank=0", "--nnodes=2", "--master-addr=127.0.0.1",
           "--nproc-per-node=1", "--", "true"]
    path.write_text(key + "\n")
    yield box.run(*job, env={"RANKINIT_LINK_KEY": key}), "RANKINIT_LINK_KEY", "it"
    yield box.run(f"--link-key={path}", *job), "--link-key", "what is in the file"


@pytest.mark.parametrize("key, flaw", GUESSABLE)
def test_a_key_that_can_be_guessed(box, tmp_path, key, flaw):
    for result, subject, what in runs_with_key(box, tmp_path / "key", key):
        line = refused(result, 125, "link.key", subject)
        assert f"{what} is no random secret: it {FLAWS[flaw]}" in line
        assert "head -c 32 /dev/urandom | base64" in line and key not in result.err


@pytest.mark.parametrize("key", [OTHER_KEY + "\n", "FkwlghzA7S6JwmuQD5ZNnkI6BUl7_eG1"])
def test_a_random_key(box, tmp_path, key):
    for result, _, _ in runs_with_key(box, tmp_path / "key", key):
        assert result.status == 0 and "link.key]" not in result.err, result.err


# With a file as $0, in mounts of their own.
AS_IT_IS = 'exec "$@"'
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
DOCKER = ('mount -t tmpfs none /run && mkdir /run/secrets && cp "$0" /run/secrets/key && '
          'chmod 444 /run/secrets/key && exec "$@"')


def test_a_key_file_that_others_can_read(box, tmp_path):
    """Who could change that is told; not where the platform has put it there so."""
    tmp_path.chmod(0o755)
    path = tmp_path / "key"
    path.write_text(KEY + "\n")

    def run(mode, place=AS_IT_IS, key=path):
        path.chmod(mode)
        result = box.run("--mount", "sh", "-c", place, str(path), box.rankinit,
                         f"--link-key={key}", "--link", "--node-rank=0", "--nnodes=2",
                         "--master-addr=127.0.0.1", "--nproc-per-node=1", "--", "true",
                         program="/usr/bin/unshare")
        assert result.status == 0, result.err
        return result

    for mode in (0o644, 0o640, 0o604, 0o620):
        line = warned(run(mode), "link.open", "--link-key")
        assert line.endswith(f"; run chmod 600 {path} [link.open]"), line
    for result in (run(0o600), run(0o644, READ_ONLY), run(0o600, DOCKER, "/run/secrets/key")):
        assert "link.open" not in result.err, result.err


def test_key_files(box, tmp_path):
    path = tmp_path / "key"
    path.write_text("x" * 31 + "\n")
    job = ["--link", "--node-rank=0", "--nnodes=2", "--master-addr=10.9.0.1",
           "--nproc-per-node=1", f"--link-key={path}", "--", "true"]
    assert "the file has 31 bytes" in refused(box.run(*job), 125, "link.key", "--link-key")
    path.write_text("")
    assert "the file has 0 bytes" in refused(box.run(*job), 125, "link.key", "--link-key")
    path.unlink()
    assert "cannot be read: No such file" in refused(box.run(*job), 125, "link.key", "--link-key")
    path.write_text(KEY + "\n")
    # the same as the variable, each without the end of its line; and a port of one's own
    ended = Nodes(box, 2, 1, dying(), "--link-port=7777", of={0: [f"--link-key={path}"]},
                  env={"RANKINIT_LINK_KEY": KEY + "\r\n"}).wait()
    assert [ended[node].status for node in range(2)] == [122, 137]


@pytest.mark.parametrize("option, subject", [
    ("--link=perhaps", "--link"), ("--link-port=0", "--link-port"),
    ("--link-port=65536", "--link-port"), ("--link-grace=-1", "--link-grace"),
    ("--roll-call=soon", "--roll-call")])
def test_values_that_are_none(box, option, subject):
    refused(box.run(option, "--", "true"), 125, "option.value", subject)


def test_a_port_that_is_the_job_s(box):
    """A warning, no link, and the port is the job's."""
    takes = "import os, socket; socket.create_server(('', 29500)).close()"
    ended = Nodes(box, 2, 1, f"exec python3 -c \"{takes}\"", "--link-port=29500",
                  absent=(1,)).wait()
    assert ended[0].status == 0
    assert ended[0].lines == [
        "rankinit: warning: --link-port: 29500 is the port where the ranks meet; choose another "
        "one; the job goes on without the link [link.port]"]


def test_one_node_has_another_key(box):
    nodes = Nodes(box, 2, 1, WAITS, "--roll-call=0.3",
                  of={1: [f"--link-key={write_key(box, OTHER_KEY)}"]})
    foreign = "; a node that called has another key, or is of another job"
    ended = go(nodes, lambda: nodes.lines(1) and foreign in "\n".join(nodes.lines(0)), "the calls")
    assert re.fullmatch(rf"rankinit: waiting for 1 of 2 nodes for \d+ s: node 1{foreign}",
                        ended[0].lines[-1]), ended[0].lines
    refused = r"rankinit: node 0 \([^)]+\), ports 9471 to 9478, has not let this node in for " \
        r"\d+ s: it has another key, or is of another job"
    assert [line for line in ended[1].lines if re.fullmatch(refused, line)], ended[1].lines
    assert [ended[node].status for node in range(2)] == [0, 0]


def test_one_node_without_the_key(box):
    """Both say so, once, and the job is as it is without."""
    nodes = Nodes(box, 2, 1, WAITS, env={"RANKINIT_LINK_KEY": None},
                  of={0: [f"--link-key={write_key(box)}"]})
    ended = go(nodes, lambda: nodes.lines(0) and nodes.lines(1), "both to say so")
    assert [ended[node].status for node in range(2)] == [0, 0]
    assert ended[0].lines == ["rankinit: warning: link: a node that called has no key; give "
                              "all nodes the same --link-key [link.keys]"]
    assert ended[1].lines == ["rankinit: warning: link: node 0 has a key, and this node has "
                              "none; give all nodes the same --link-key [link.keys]"]


def write_key(box, key=KEY):
    path = os.path.join(box.folder if hasattr(box, "folder") else "/tmp", "link-key-of-tests")
    with open(path, "w", encoding="ascii") as file:
        file.write(key)
    os.chmod(path, 0o600)
    return path


# The link itself goes.

GONE = "rankinit: warning: link: its process has ended before its time; the job goes on without " \
    "it [link.refused]"


def cut(box, spec, command, *lines):
    """Its link is cut, of which these lines are said; then its ranks, which wait, go on."""
    job = box.start("--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", box.rankinit,
                    f"--simulate={spec}", "--link", "--", "sh", "-c", f"{WAITS}; {command}",
                    program="/usr/bin/unshare", env={"RANKINIT_LINK_KEY": KEY})
    wait_until(lambda: set(lines) <= set(job.error_text().splitlines()), lines)
    with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
        pass
    result = job.wait()
    assert result.lines().count(GONE) == 1, result.err
    return result


def test_a_cut_link_ends_nothing(box):
    result = cut(box, "kubeflow_pytorch:2x1,unlink=1@1", ":", GONE)
    assert result.status == 0 and "the connection to node 0 is lost" not in result.err


def test_node_0_is_gone_when_a_rank_fails(box):
    """Each node says what it saw, and that it is alone with that; and does not wait for it."""
    result = cut(box, "kubeflow_pytorch:2x2,unlink=0@2",
                 "[ $RANK = 3 ] && { : >@FOLDER/3; kill -9 $$; }; "
                 "until [ -e @FOLDER/3 ]; do sleep .05; done", GONE,
                 "rankinit: the connection to node 0 is lost; the job goes on")
    lines = result.lines()
    at = lines.index("rankinit: node 0 (127.0.0.2), ports 9471 to 9478, cannot be reached: "
                     "Connection refused; what "
                     "follows is what this node has seen itself")
    assert " failed first of ranks 2-3 (node 1 of 2): killed by SIGKILL" in lines[at + 1], lines
    assert [line for line in lines
            if line.startswith("rankinit: simulated: node 1: exit status 137 after ")], lines


def test_a_link_is_cut_where_there_is_none(box):
    result = box.run("--simulate=kubeflow_pytorch:2x1,unlink=1@0", "--", "sleep", ".5")
    assert result.status == 0
    assert ("rankinit: warning: simulated: node 1 has no link 0 s after the start, so nothing is "
            "cut; it needs --link") in result.lines()
