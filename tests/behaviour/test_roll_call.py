# SPDX-License-Identifier: Apache-2.0
"""
--roll-call without --link: nodes that do not meet say what they see of it. Each test has
a network of its own, in which 10.9.0.1 to 10.9.0.4 are this machine, so that a connection
may come from another node, and nobody answers for 10.8.0.0/16.
"""

import os
import re
import signal
import sys

import pytest

import peek
from peek import wait_until
from test_simulate import ALONE
from test_wait_master import OWN_FILES, SERVER, add_name

PORT = 29500
NETWORK = ("ip link set lo up; for n in 1 2 3 4; do ip addr add 10.9.0.$n/32 dev lo; done; "
           "ip tuntap add deaf mode tun 2>/dev/null || ip link add deaf type dummy; "
           "ip addr add 10.8.0.1/16 dev deaf; ip link set deaf up; ")
# Rank 0 of a framework: it listens, says who comes, and keeps the connections.
LISTEN = f"""
import socket, sys
server = socket.create_server(("", {PORT}))
kept = []
print("listens", flush=True)
while True:
    kept.append(server.accept()[0])
    print("accepted", kept[-1].getpeername()[0], flush=True)
"""
# Connect from each of these addresses once a file is there, and stay.
CONNECT = f"""
import os, socket, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
kept = []
for source in sys.argv[3:]:
    while True:
        try:
            kept.append(socket.create_connection((sys.argv[2], {PORT}), timeout=60,
                                                 source_address=(source, 0)))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
print("connected", flush=True)
time.sleep(600)
"""
PYTHON = [sys.executable, "-I", "-S", "-c"]
SLEEP = ["sleep", "600"]


def node(number, nodes=2, master="10.9.0.1", every="0.3"):
    return [f"--node-rank={number}", f"--nnodes={nodes}", f"--master-addr={master}",
            f"--master-port={PORT}", "--nproc-per-node=1", f"--roll-call={every}",
            "--checks=none", "--log-prefix=no"]


@pytest.fixture
def network(box, tool):
    """Start rankinit in a network of its own, below a shell that first does something else."""
    unshare, _ = tool("unshare"), tool("ip")

    def start(*words, first="", **options):
        return box.start("-n", "sh", "-c", NETWORK + first + 'exec "$@"', "@FOLDER", box.rankinit,
                         *words, program=unshare, **options)
    return start


def background(program, *words):
    """For the shell: another process of this network, from now on."""
    return (f"{' '.join(PYTHON[:3])} -c '{program}' {' '.join(words)} >@FOLDER/other & "
            .replace("@FOLDER", '"$0"'))


def listening():
    return background(LISTEN) + f"until grep -q ':{PORT:04X} ' /proc/net/tcp; do sleep 0.02; done; "


def connecting(*words):
    """Beside who listens: a process that connects once the file is there."""
    return background(CONNECT, *words).replace("/other", "/else")


def said(job):
    return [line.removeprefix("rankinit: ") for line in job.error_text().splitlines()
            if line.startswith("rankinit: ")]


def until_said(job, *parts):
    wait_until(lambda: job.ended() or any(all(part in line for part in parts)
                                          for line in said(job)), f"{parts} in {said(job)}")
    found = [line for line in said(job) if all(part in line for part in parts)]
    assert found, said(job)
    return found[0]


def until_lines(job, count):
    """So many lines that they have not met. A look is left out while an earlier one is going on."""
    def lines():
        return [line for line in said(job) if "has not connected" in line]

    wait_until(lambda: job.ended() or len(lines()) >= count, f"{count} lines")
    assert len(lines()) >= count, said(job)
    return lines()


def read(job, name):
    try:
        return job.read(name).decode()
    except FileNotFoundError:
        return ""


def touch(job, name):
    with open(os.path.join(job.folder, name), "w", encoding="ascii"):
        pass


# Nodes other than 0.

def test_no_process_listens(network):
    job = network(*node(1), "--", *SLEEP)
    assert until_said(job, "has not connected") == (
        "node 1 has not connected to node 0 (10.9.0.1:29500) in 0.3 s: no process listens there "
        "yet; look at the log of node 0")
    assert job.stop().status == 143


def test_node_0_listens_and_never_hears_of_it(network):
    """One that counts whom accept(2) returns would take a connection for a rank."""
    job = network(*node(1), "--", *SLEEP, first=listening())
    assert until_said(job, "has not connected").endswith(
        ": node 0 listens; look at what the ranks of this node do")
    until_lines(job, 2)
    assert read(job, "other") == "listens\n"
    # the control: it does hear of a connection
    job = network(*node(1), "--", *SLEEP,
                  first=listening() + connecting("/", "10.9.0.1", "10.9.0.2"))
    wait_until(lambda: "accepted 10.9.0.2\n" in read(job, "other"), "a connection")


def test_no_answer(network):
    """And a rank that calls in vain: its own socket shows that. Its file is there at once."""
    jobs = [network(*node(1, master="10.8.0.2"), "--", *words) for words in (
        SLEEP, [*PYTHON, CONNECT, "/", "10.8.0.2", "10.8.0.1"])]
    for job in jobs:
        assert until_said(job, "has not connected").endswith(
            ": no answer from there; does a firewall or a network policy drop the packets, or is "
            "that machine down?")


def test_dropped_by_a_firewall(network, tool):
    iptables = tool("iptables")
    job = network(*node(1), "--", *SLEEP, first=listening() + f"{iptables} -A INPUT -p tcp "
                  f"--dport {PORT} -j DROP || exit 99; ")
    wait_until(lambda: job.ended() or said(job), "a line, or no firewall")
    if job.ended() and job.wait().status == 99:
        pytest.skip("iptables does not work here: " + job.error_text()[:200])
    assert ": no answer from there; " in until_said(job, "has not connected")


def test_no_way_there(network):
    job = network(*node(1, master="192.0.2.1"), "--", *SLEEP)
    line = until_said(job, "has not connected")
    assert re.search(r" in 0.3 s: Network (is )?unreachable; look at the networks of both nodes: "
                     r"ip route$", line), line


def named(network, answer_from, **options):
    server = f"{sys.executable} -I -S -c '{SERVER}' \"$0\" {answer_from} || exit 99; "
    return network(*node(1, master="node-0.rankinit-test"), "--", *SLEEP, first=server,
                   shell=OWN_FILES, **options)


def test_no_such_name(network):
    job = named(network, 0)
    assert until_said(job, "has not connected") == (
        "node 1 has not connected to node 0 (node-0.rankinit-test:29500) in 0.3 s: no such name; "
        "does node 0 run, and is its name known on this node? getent hosts node-0.rankinit-test")
    add_name(job)
    until_said(job, ": no process listens there yet; ")


def test_a_name_service_that_does_not_answer(network):
    job = named(network, 10 ** 9)
    until_said(job, ": the name service does not answer; does node 0 run")
    # while somebody waits for it a stop is not kept waiting, and nobody stays
    job.until("asked")
    assert job.stop().status == 143
    assert job.members() == {}


def test_connected(network):
    """Said only because it was said that it was not. Three lines, and then only good news."""
    job = network(*node(1, every="0.1"), "--", *PYTHON, CONNECT, "@FOLDER/go", "10.9.0.1",
                  "10.9.0.2", first=listening())
    lines = until_lines(job, 3)
    before = peek.switches(job.pid)
    wait_until(lambda: peek.switches(job.pid)[0] >= before[0] + 2, "another look")
    touch(job, "go")
    assert until_said(job, "has connected") == "node 1 has connected to node 0 (10.9.0.1:29500)"
    after = [re.search(r" in ([0-9.]+) s: ", line)[1] for line in lines]
    assert after[0] == "0.1" and len(set(after)) == 3, lines
    assert set(after) < {f"{0.1 * 2 ** look:.1f}" for look in range(9)}, lines
    assert lines == [
        f"node 1 has not connected to node 0 (10.9.0.1:29500) in {seconds} s: node 0 listens; look "
        "at what the ranks of this node do" for seconds in after]
    # nobody who looked is left, dead or alive
    assert len(said(job)) == 4
    wait_until(lambda: sorted(facts[0] for facts in job.members().values()) == [
        "python3", "python3", "rankinit"], "the rank and who listens")


# Node 0.

def test_node_0_does_not_listen(network):
    job = network(*node(0), "--", *SLEEP)
    assert until_said(job, "no process") == (
        "no process of node 0 listens on port 29500 after 0.3 s, so no other node can connect; "
        "look at what rank 0 does")


def test_who_is_missing_by_name(network):
    job = network(*node(0, 4), "--hosts=10.9.0.1,10.9.0.2,10.9.0.3,10.9.0.4", "--",
                  *SLEEP, first=listening() + connecting('"$0/go"', "10.9.0.1", "10.9.0.3"))
    until_said(job, "0 of 3 other nodes have connected; missing: 10.9.0.2 (node 1), 10.9.0.3 "
               "(node 2), 10.9.0.4 (node 3); look at their logs")
    touch(job, "go")
    until_said(job, "1 of 3 other nodes have connected; missing: 10.9.0.2 (node 1), 10.9.0.4 "
               "(node 3); look at their logs")


def test_addresses_that_are_nobody_s_are_counted(network):
    met = 'until grep -q ^connected "$0/else"; do sleep 0.02; done; '
    job = network(*node(0, 4), "--", *SLEEP, first=listening() + connecting(
        "/", "10.9.0.1", "10.9.0.3", "10.9.0.3") + met)
    until_said(job, " processes of 1 other address have connected, but the job has 3 other nodes; "
               "look at the logs of the other nodes")


def test_all_have_come_to_node_0(network):
    job = network(*node(0, 3), "--", *SLEEP, first=listening() + connecting(
        '"$0/go"', "10.9.0.1", "10.9.0.2", "10.9.0.3"))
    until_said(job, "node 0 listens on port 29500")
    touch(job, "go")
    until_said(job, "the other nodes have connected to node 0 (port 29500)")


def test_with_a_link_too(network):
    """Who runs is said by the link, at its time; where the ranks do not meet by this, later."""
    job = network(*node(1, every="0.5"), "--link", "--", *SLEEP)
    assert until_said(job, " in 1.5 s: ").endswith(
        "no process listens there yet; look at the log of node 0")
    assert said(job)[0].startswith("node 0 (10.9.0.1), ports 9471 to 9478, has not been reached")


# Where there is nothing to say.

def test_a_job_that_has_met_is_silent(network):
    """
    And nobody wakes up again, on either node. The control has not met, and began later. Those that
    took longer to meet than the first call, on a busy machine, have said that they met.
    """
    jobs = [network(*node(0), "--", *PYTHON, LISTEN, first=background(
                CONNECT, "/", "10.9.0.1", "10.9.0.2")),
            network(*node(1), "--", *PYTHON, CONNECT, "/", "10.9.0.1", "10.9.0.2",
                    first=listening())]
    wait_until(lambda: "accepted" in read(jobs[0], "out") and "connected" in read(jobs[1], "out"),
               "they have met")
    control = network(*node(1), "--", *SLEEP)
    until_lines(control, 2)
    before = [peek.switches(job.pid) for job in jobs]
    until_lines(control, 3)
    assert [peek.switches(job.pid) for job in jobs] == before
    assert all(not said(job) or re.search("(has|have) connected to node 0", said(job)[-1])
               for job in jobs)


def test_off(network):
    """With 0, quiet, a shell of which nothing is known, another framework."""
    jobs = [network(*options, "--", *SLEEP) for options in (
        [*node(1)[:-3], "--roll-call=0"], [*node(1), "--quiet"],
        [*node(1)[:-4], "--roll-call=0.3", "--launch=process"],
        [*node(1), "--frameworks=tensorflow"])]
    control = network(*node(1), "--", *SLEEP)
    until_lines(control, 2)
    for job in jobs:
        assert not [line for line in said(job) if "node 0 (" in line]


def test_after_the_end_there_is_nothing_to_look_for(network):
    """A rank that ignores the stop for a while."""
    job = network(*node(1), "--", "sh", "-c", "trap '' TERM; echo ready >@FOLDER/log; "
                  "sleep 1.5 & wait; wait")
    job.until("ready")
    job.signal(signal.SIGTERM)
    before = len([line for line in said(job) if "node 0 (" in line])
    job.wait()
    assert len([line for line in said(job) if "node 0 (" in line]) == before


def test_the_signal_that_wakes_us_is_the_command_s_too(network):
    job = network(*node(1), "--", "bash", "-c", "trap 'echo io >>@FOLDER/log' IO; "
                  "echo ready >>@FOLDER/log; while :; do sleep 0.1; done")
    job.until("ready")
    until_said(job, "has not connected")
    job.signal(signal.SIGIO)
    job.until("io")
    assert job.count("io") == 1


# Simulated.

def simulate(box, *words):
    return box.start(*ALONE, box.rankinit, *words, program="/usr/bin/unshare")


def test_a_simulated_job_without_node_0(box):
    job = simulate(box, "--simulate=sagemaker:2x1,absent=0", "--roll-call=0.3", "--", *SLEEP)
    # SageMaker's command starts its ranks itself, and --simulate has it started by rankinit
    line = until_said(job, "node 1 has not connected to node 0 (127.0.0.2:")
    assert line.endswith(" in 0.3 s: no process listens there yet; look at the log of node 0")
