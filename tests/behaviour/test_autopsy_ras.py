# SPDX-License-Identifier: Apache-2.0
"""
What a look asks NCCL's RAS, with a stand-in that speaks its protocol (NVIDIA/nccl
src/ras/client.cc) and ranks that have a file mapped whose name is NCCL's.
"""

import contextlib
import json
import signal
import socket
import threading
import time

import pytest

import schema
from peek import wait_until
from test_autopsy import (ATTEMPTS, VICTIM, ask, folder, hang,  # noqa: F401  two fixtures
                          look, suspect)

STATUS = """\
NCCL version 2.28.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12080

Communicators... (0.01s)
=============

Errors
======

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 3 -- GPU 3 managed by process 487 on node 10.0.0.2

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 18
  Rank 2 has launched up to operation 17 -- GPU 2 managed by process 483 on node 10.0.0.1

"""
SAID = ["NCCL's RAS: rank 3 of communicator 0xcf264af53edbe986 has not answered",
        "NCCL's RAS: rank 2 of communicator 0x27a079b828ff1a75 has begun 17 operations of "
        "AllReduce, others 18"]
HELLO = b"SERVER PROTOCOL 2\n"
CALM = STATUS.partition("Errors")[0]


class StandIn:
    """Serves each connection by answer(connection) in a thread; counts them, and what they say."""

    def __init__(self, answer):
        self.answer, self.connects, self.heard = answer, 0, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.socket.accept()[0]
                self.connects += 1
                threading.Thread(target=self.talk, args=[connection], daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError), connection:
            self.answer(self, connection)

    def hear(self, connection):
        self.heard.append(connection.makefile("rb").readline().decode())


def status_of(text):
    def answer(self, connection):
        self.hear(connection)
        connection.sendall(HELLO)
        self.hear(connection)
        connection.sendall(text)
    return answer


def stay(self, connection):
    """It takes a connection, and says nothing until the other side ends it."""
    while connection.recv(1024):
        pass


def flood(self, connection):
    while True:
        connection.sendall(b"x" * 65536)


def greet_and_flood(self, connection):
    connection.sendall(HELLO)
    flood(self, connection)


def drip(self, connection):
    """A byte each millisecond, as a status that never ends."""
    connection.sendall(HELLO)
    self.hear(connection)
    for byte in b"NCCL version 2" + b"\nx" * 100000:
        connection.sendall(bytes([byte]))
        time.sleep(0.001)


@pytest.fixture
def stand_in():
    made = []

    def start(answer):
        made.append(StandIn(answer))
        return made[-1]
    yield start
    for one in made:
        with contextlib.suppress(OSError):
            one.socket.shutdown(socket.SHUT_RDWR)
        one.socket.close()


@pytest.fixture
def start(hang, folder):  # noqa: F811  fixtures
    """A job whose rank 2 sleeps, and whose ranks have NCCL."""
    def begin(address, has_nccl=True, **env):
        if has_nccl:
            (folder / "libnccl.so.2").write_bytes(b"x" * 4096)
        return hang("sleep", env={"NCCL_RAS_ADDR": address, **env})
    return begin


def lines(rankinit, job):
    return ask(rankinit, job.pid, "--autopsy").out.decode().splitlines()


def about(said):
    return [line for line in said if "NCCL" in line]


def until_answered(rankinit, job):
    """A look as JSON, and one as text: on a busy machine the stand-in may come too late."""
    found = wait_until(lambda: (lambda seen: seen if seen["ras"] else None)(
        look(rankinit, job.pid)), "an answer in time")
    said = wait_until(lambda: (lambda text: text if about(text) or not found["ras"]["facts"]
                               else None)(lines(rankinit, job)), "an answer in time")
    return found, said


def test_what_nccl_says_stands_below_the_suspect(start, stand_in, rankinit):
    ras = stand_in(status_of(STATUS.encode()))
    job = start(ras.address)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    found, said = until_answered(rankinit, job)
    assert said[0].startswith(f"suspect: rank {VICTIM} ") and said[1:3] == SAID
    assert ras.heard[-2:] == ["CLIENT PROTOCOL 2\n", "VERBOSE STATUS\n"]
    assert [fact["ranks"] for fact in found["ras"]["facts"]] == [[3], [2]]
    assert (found["ras"]["facts"][1]["begun"], found["ras"]["facts"][1]["others"]) == (17, 18)
    assert found["ras"]["address"] == ras.address and found["ras"]["is_nccl"] is True


def test_it_names_no_rank_alone(start, hang, stand_in, folder, rankinit):  # noqa: F811
    """All ranks wait alike: what NCCL says makes no suspect."""
    ras = stand_in(status_of(STATUS.encode()))
    (folder / "libnccl.so.2").write_bytes(b"x" * 4096)
    job = hang("collective", env={"NCCL_RAS_ADDR": ras.address})
    found = wait_until(lambda: (lambda seen: seen if {one["class"] for one in seen["processes"]} ==
                                {"collective"} and seen["ras"] else None)(
                                    look(rankinit, job.pid)), "all wait, and an answer")
    assert found["suspect"] is None and len(found["ras"]["facts"]) == 2


def test_without_nccl_nobody_connects(start, stand_in, rankinit):
    """Nor where RAS is off, or another machine's."""
    ras = stand_in(status_of(STATUS.encode()))
    job = start(ras.address, has_nccl=False)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    assert look(rankinit, job.pid)["ras"] is None and ras.connects == 0


@pytest.mark.parametrize("address, env", [
    (None, {"NCCL_RAS_ENABLE": "0"}),
    ("10.0.0.1", {}), ("localhost.example", {}), ("0.0.0.0", {}), ("[::ffff:127.0.0.1]", {}),
])
def test_whom_it_does_not_ask(start, stand_in, rankinit, address, env):
    ras = stand_in(status_of(STATUS.encode()))
    host, port = ras.address.split(":")
    job = start(f"{address or host}:{port}", **env)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    assert look(rankinit, job.pid)["ras"] is None and ras.connects == 0


@pytest.mark.parametrize("answer", [
    stay, lambda self, connection: None,
    lambda self, connection: (connection.sendall(HELLO), stay(self, connection)),
], ids=["silent", "closes", "greets"])
def test_nobody_answers(start, stand_in, rankinit, answer):
    ras = stand_in(answer)
    job = start(ras.address)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    assert look(rankinit, job.pid)["ras"] is None and ras.connects > 0
    assert not about(lines(rankinit, job))


@pytest.mark.parametrize("answer", [
    flood, greet_and_flood,
    lambda self, connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    lambda self, connection: connection.sendall(HELLO + b"more\n"),
    status_of(b"Hello\n"), status_of(STATUS.encode() + b"\x1b[31mred\n"),
    status_of(STATUS.encode() + b"\xc2\x9b31m\n"),
    status_of(b"NCCL version 2\n" + b"x" * (1 << 24)),
], ids=["flood", "greeted", "http", "more", "other", "escape", "c1", "long"])
def test_another_program_answers(start, stand_in, rankinit, answer):
    """One line says so, and the suspect is the same."""
    ras = stand_in(answer)
    job = start(ras.address)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    said = wait_until(lambda: (lambda text: text if about(text) else None)(lines(rankinit, job)),
                      "an answer in time")
    assert said[0].startswith(f"suspect: rank {VICTIM} ")
    assert about(said) == [
        f"NCCL's RAS was skipped: what answers on {ras.address} is not NCCL's RAS"]
    assert until_answered(rankinit, job)[0]["ras"] == {
        "address": ras.address, "is_nccl": False, "dead": 0, "silent": 0, "facts": [],
        "left_out": 0}


def test_a_status_that_never_ends(start, stand_in, rankinit):
    """It ends by the deadline: 100 seconds of it are more than a look may take."""
    ras = stand_in(drip)
    job = start(ras.address)
    assert suspect(rankinit, job)["rank"] == int(VICTIM)
    assert until_answered(rankinit, job)[0]["ras"]["facts"] == []


def test_a_healthy_status_says_nothing(start, stand_in, rankinit):
    ras = stand_in(status_of(CALM.encode()))
    job = start(ras.address)
    suspect(rankinit, job)
    found, said = until_answered(rankinit, job)
    assert found["ras"]["is_nccl"] is True and not about(said)


def test_the_report_of_a_stall_has_it(hang, stand_in, folder):  # noqa: F811
    ras = stand_in(status_of(STATUS.encode()))
    (folder / "libnccl.so.2").write_bytes(b"x" * 4096)
    for _ in range(ATTEMPTS):
        job = hang("sleep", "--stall=1", "--autopsy-after=0", "--report=report.json",
                   env={"NCCL_RAS_ADDR": ras.address})
        wait_until(lambda: "rank 2 (pid" in job.error_text().partition("ranks 0-1, 3 (3)")[2],
                   job.error_text())
        if all(line in job.error_text() for line in SAID):
            break
    assert all(line in job.error_text() for line in SAID)
    job.signal(signal.SIGTERM)
    job.wait()
    with open(f"{job.folder}/report.json", encoding="utf-8") as file:
        autopsy = json.load(file)["autopsy"]
    schema.check(autopsy, "autopsy")
    assert [f"NCCL's RAS: {fact['text']}" for fact in autopsy["ras"]["facts"]] == SAID
