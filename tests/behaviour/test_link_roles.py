# SPDX-License-Identifier: Apache-2.0
"""--link where nodes have roles: workers are ranks, unless there are parameter servers."""

import json
import pathlib
import re
import shlex

import pytest

from box import BASE
from peek import wait_until
from test_link import JOINED, WAITS
from test_simulate import ALONE

KEY = {"RANKINIT_LINK_KEY": "d08fbc5a150028b59a73c7852451d26f"}
# Rank 1 fails when all nodes are there: one that may stop no other does not stay to tell it.
FAILS = f"test $RANK = 1 && {{ {JOINED}; sleep 1; kill -9 $$; }}; {WAITS}"


def nodes(box, envs, options=(), stopped=True):
    """
    One rankinit for each environment, at once; the log and the exit status of each. Ranks that are
    not stopped for the failure go on until their nodes have heard of it.
    """
    words = shlex.join([box.rankinit, "--link", "--nproc-per-node=1", "--master-addr=127.0.0.1",
                        "--master-port=5000", *options, "--", "sh", "-c", FAILS])
    script = "".join(
        f"{{ env {shlex.join(f'{name}={value}' for name, value in env.items())} {words} "
        f"2>@FOLDER/{node}; echo $? >@FOLDER/{node}.status; }} & "
        for node, env in enumerate(envs)) + "wait; cd @FOLDER; "
    script += "; ".join(f"cat {node} {node}.status; echo ====" for node in range(len(envs)))
    job = box.start(*ALONE, "sh", "-c", script, program="/usr/bin/unshare", env={**BASE, **KEY})
    if not stopped:
        logs = [pathlib.Path(job.folder, str(node)) for node in range(len(envs))]
        wait_until(lambda: all(log.exists() and "failed first" in log.read_text() for log in logs),
                   "all nodes to hear of it")
        pathlib.Path(job.folder, "go").touch()
    result = job.wait()
    logs = [part.splitlines() for part in result.out.decode().split("====\n")[:-1]]
    return [("\n".join(log[:-1]), int(log[-1])) for log in logs]


def tf_config(node, **more):
    cluster = {"worker": ["127.0.0.1:6000", "127.0.0.2:6000"], **more}
    return {"TF_CONFIG": json.dumps({"cluster": cluster,
                                     "task": {"type": "worker", "index": node}})}


def vertex(node, **more):
    cluster = {"workerpool0": ["127.0.0.1:6000"], "workerpool1": ["127.0.0.2:6000"], **more}
    return {"CLUSTER_SPEC": json.dumps({"cluster": cluster,
                                        "task": {"type": f"workerpool{node}", "index": 0}})}


@pytest.mark.parametrize("told, servers", [
    (tf_config, {"ps": ["127.0.0.3:6000"]}), (vertex, {"workerpool2": ["127.0.0.3:6000"]})])
def test_workers_are_stopped_unless_there_are_parameter_servers(box, told, servers):
    (first, status), (second, other) = nodes(box, [told(0), told(1)])
    assert (status, other) == (122, 137), first
    for said in (first, second):
        assert len(re.findall(r"^rankinit: rank 1 \(.*\) failed first \(node 1 of 2\): killed by "
                              "SIGKILL", said, re.M)) == 1, said
    (first, status), (second, other) = nodes(box, [told(0, **servers), told(1, **servers)],
                                             stopped=False)
    assert (status, other) == (0, 137), first
    assert re.search(r"^rankinit: node 1 \(.*\): rank 1 \(.*\) failed first \(node 1 of 2\): ",
                     first, re.M), first


def test_servers_that_the_user_asks_for(box):
    """--tf-ps: the last host of the list."""
    hosts = "127.0.0.1,127.0.0.2,127.0.0.3"
    told = [{"RANKINIT_HOSTS": hosts, "RANKINIT_NODE_RANK": str(node)} for node in range(3)]
    ends = [status for _, status in nodes(box, told, ["--frameworks=tensorflow", "--tf-ps=1"],
                                          stopped=False)]
    assert ends == [0, 137, 0]
    ends = [status for _, status in nodes(box, told, ["--frameworks=tensorflow"])]
    assert ends == [122, 137, 122]
