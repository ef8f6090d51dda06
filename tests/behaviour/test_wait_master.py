# SPDX-License-Identifier: Apache-2.0
"""--wait-master: names that resolve now, later, or never."""

import json
import os
import signal
import sys
import time

import pytest

from box import refused
from peek import wait_until

RANK = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
NAME = "--master-addr=node-0.rankinit-test"
# A file of names that a test can add to, and a server that it can ask.
OWN_FILES = ("echo 127.0.0.1 localhost >@FOLDER/hosts; "
             "echo nameserver 127.0.0.1 >@FOLDER/resolv.conf; "
             "echo options timeout:1 attempts:1 >>@FOLDER/resolv.conf; "
             "mount --bind @FOLDER/hosts /etc/hosts; "
             "touch /etc/resolv.conf; mount --bind @FOLDER/resolv.conf /etc/resolv.conf")
# Takes each question, says so, and answers none, or all from the Nth on; 0: there is no such name.
SERVER = """
import os, socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("127.0.0.1", 53))
if os.fork():
    os._exit(0)
answer_from, asked = int(sys.argv[2]), 0
while True:
    question, who = sock.recvfrom(512)
    asked += 1
    with open(sys.argv[1] + "/log", "a") as log:
        print("asked", file=log)
    if asked < answer_from:
        continue
    if answer_from == 0:
        sock.sendto(question[:2] + b"\\x81\\x83\\0\\1" + b"\\0" * 6 + question[12:], who)
        continue
    kind = question[-4:-2]
    answer = b"\\xc0\\x0c" + kind + b"\\0\\1\\0\\0\\0\\1\\0\\4\\x7f\\0\\0\\1"
    has = kind == b"\\0\\1"
    sock.sendto(question[:2] + b"\\x81\\x80\\0\\1\\0" + bytes([has]) + b"\\0\\0\\0\\0"
                + question[12:] + (answer if has else b""), who)
"""


@pytest.fixture
def isolated(box, tool):
    """Start rankinit in a network of its own; answer_from: ask a server there; first: a
    line for the shell that executes it."""
    unshare, _ = tool("unshare"), tool("ip")

    def start(*words, answer_from=None, first=":", **options):
        script = "ip link set lo up; "
        if answer_from is not None:
            script += f"{sys.executable} -I -S -c '{SERVER}' \"$0\" {answer_from} || exit 99; "
        script += first + '; exec "$@"'
        return box.start("-n", "sh", "-c", script, "@FOLDER", box.rankinit, *words,
                         program=unshare, env={**RANK, **options.pop("env", {})},
                         shell=OWN_FILES, **options)
    return start


def add_name(job):
    with open(os.path.join(job.folder, "hosts"), "a", encoding="ascii") as hosts:
        hosts.write("127.0.0.1 node-0.rankinit-test\n")


def test_a_name_that_comes_later(isolated):
    job = isolated("--wait-master=30", NAME, "--", "sh", "-c", "echo $MASTER_ADDR")
    wait_until(lambda: "waiting for the master's name" in job.error_text(), "it says so")
    assert "node-0.rankinit-test" in job.error_text()
    assert not job.ended()
    add_name(job)
    result = job.wait()
    assert (result.status, result.out) == (0, b"node-0.rankinit-test\n")


def test_the_control_it_does_not_wait_by_itself(isolated):
    assert isolated(NAME, "--", "sh", "-c", "exit 7").wait().status == 7


def test_a_name_that_never_comes(isolated):
    job = isolated("--wait-master=0.5", NAME, "--", "touch", "@FOLDER/ran")
    result = job.wait()
    error = refused(result, 124, "master.unresolved", "node-0.rankinit-test")
    assert "within 0.5 s: " in error
    assert not os.path.exists(os.path.join(job.folder, "ran"))


def test_a_name_that_comes_in_the_last_pause(isolated):
    """The wait is as long as it says, and ends with a look."""
    job = isolated("--wait-master=3", NAME, "--", "sh", "-c", "exit 7", answer_from=0)
    # the attempts of the first 1.5 seconds, the next pause would go beyond the end
    time.sleep(2)
    assert not job.ended(), job.error_text()
    add_name(job)
    assert job.wait().status == 7


def test_a_server_that_knows_no_such_name(isolated):
    """Why is what the last whole answer said, though the wait ended between two."""
    job = isolated("--wait-master=1", NAME, "--", "true", answer_from=0)
    error = refused(job.wait(), 124, "master.unresolved", "node-0.rankinit-test")
    assert "does not answer" not in error, "it had one"


def test_a_server_that_answers_after_a_while(isolated):
    job = isolated("--wait-master=60", NAME, "--", "sh", "-c", "exit 7", answer_from=3)
    assert job.wait().status == 7
    assert job.count("asked") >= 3


@pytest.mark.parametrize("name, status", [("TERM", 143), ("INT", 130), ("HUP", 129)])
def test_a_stop_ends_the_wait(isolated, name, status):
    """While a server is asked that does not answer."""
    job = isolated("--wait-master=600", NAME, "--", "true", answer_from=10 ** 9)
    job.until("asked")
    job.signal(getattr(signal, "SIG" + name))
    assert job.wait().status == status


@pytest.mark.parametrize("options", [[], ["--nproc-per-node=2"]], ids=["one", "two"])
@pytest.mark.parametrize("name, status", [("TERM", 143), ("INT", 130)])
def test_a_stop_that_ends_the_wait_is_in_the_report(isolated, options, name, status):
    job = isolated("--wait-master=600", NAME, *options, "--report=@FOLDER/report", "--", "true",
                   answer_from=10 ** 9)
    job.until("asked")
    job.signal(getattr(signal, "SIG" + name))
    assert job.wait().status == status
    report = json.loads(job.read("report"))
    assert (report["exit_status"], report["stop"]["signal"]) == (status, "SIG" + name)
    assert [rank["state"] for rank in report["ranks"]] == ["not-started"] * max(1, 2 * len(options))
    assert (report["first_failure"], report["refusal"]) == (None, None)


def test_what_is_ignored_is_no_stop(isolated):
    """As nohup(1) has it, and a shell for what is in the background of a script."""
    job = isolated("--wait-master=60", NAME, "--", "sh", "-c", "exit 7",
                   first="trap '' HUP INT QUIT")
    wait_until(lambda: "waiting for the master's name" in job.error_text(), "it waits")
    for name in "HUP", "INT", "QUIT":
        job.signal(getattr(signal, "SIG" + name))
    add_name(job)
    assert job.wait().status == 7


def test_the_exit_map_counts(isolated):
    job = isolated("--wait-master=0.1", "--exit-map=124:9", NAME, "--", "true")
    assert job.wait().status == 9
    job = isolated("--wait-master=600", "--exit-map=143:8", NAME, "--", "true",
                   answer_from=10 ** 9)
    job.until("asked")
    assert job.stop().status == 8


def test_other_signals_wait_for_the_command(isolated):
    """And one that means no stop does not end the wait."""
    job = isolated("--wait-master=60", NAME, "--", "sh", "-c",
                   'trap "echo got >>@FOLDER/log; exit 5" USR1; while :; do sleep 0.05; done')
    wait_until(lambda: "waiting for the master's name" in job.error_text(), "it waits")
    job.signal(signal.SIGUSR1)
    assert not job.ended()
    add_name(job)
    # it comes as soon as the command runs, perhaps before its trap
    assert job.wait().status in (5, 128 + signal.SIGUSR1)


@pytest.mark.parametrize("address", ["10.1.2.3", "fe80::1%eth0", "::1"])
def test_an_address_is_not_waited_for(isolated, address):
    job = isolated("--wait-master=600", f"--master-addr={address}", "--", "sh", "-c", "exit 7",
                   answer_from=10 ** 9)
    assert job.wait().status == 7
    assert job.count("asked") == 0


def test_nobody_to_wait_for(box):
    result = box.run("--wait-master=600", "--", "sh", "-c", "exit 7")
    assert result.status == 7
    assert any("rankinit does not wait for it [master.absent]" in line for line in result.lines())
    assert box.run("-q", "--wait-master=600", "--", "sh", "-c", "exit 7").err == ""


def test_nothing_is_left_of_the_wait(isolated):
    job = isolated("--wait-master=30", NAME, "--", "sleep", "60")
    wait_until(lambda: "waiting for the master's name" in job.error_text(), "it waits")
    add_name(job)
    wait_until(lambda: "sleep" in job.others().values(), "the command")
    assert sorted(job.others().values()) == ["rankinit", "sleep"]
    assert job.stop().status == 143
