# SPDX-License-Identifier: Apache-2.0
"""Ranks that lose one another: who failed first, and how long the others wait for it."""

import json
import re
import signal

import pytest

from peek import free_port, wait_until
from verdict import came_late, failed_first, names, names_none, status_line, stopped_line

PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
# Each rank is connected to each other one, as frameworks are, and waits until one is gone. What it
# says then is gloo's.
CONNECTED = """
import os, signal, socket, struct, sys, time
rank, count = int(os.environ['LOCAL_RANK']), int(os.environ['LOCAL_WORLD_SIZE'])
server = socket.socket(socket.AF_UNIX)
server.bind(f'socket-{rank}')
server.listen(count)
peers = []
for other in range(rank):
    while True:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(f'socket-{other}')
            break
        except OSError:
            time.sleep(0.01)
    peers.append(peer)
while len(peers) < count - 1:
    peers.append(server.accept()[0])
for peer in peers:
    peer.send(b'x')
for peer in peers:
    peer.recv(1)
def close():
    for peer in peers:
        peer.shutdown(socket.SHUT_RDWR)
def lose():
    import select
    select.select(peers, [], [])
    raise RuntimeError('[/gloo/transport/tcp/pair.cc:553] Connection closed by peer '
                       '[10.0.0.5]:4711')
"""
LOSES = CONNECTED + "if rank != 2: lose()\n"
# It closes its connections before it says why, as a finally does.
LATE = LOSES + """
try:
    raise ValueError('bad batch 17')
finally:
    close()
    while [path for path in ('ended-0', 'ended-1', 'ended-3') if not os.path.exists(path)]:
        time.sleep(0.01)
    time.sleep(1)
"""
SAYS_SO = LATE.replace("if rank != 2: lose()", """
def note():
    sys.stderr.flush()
    open(f'ended-{rank}', 'w').close()
if rank != 2:
    import atexit
    atexit.register(note)
    lose()
""")
TWO_NODES = ("--nnodes=2", "--node-rank=0", "--master-addr=10.255.255.1")
REPORT = "--report=report.json"


def run(box, script, *options, count=4, **more):
    """The verdict's lines, the status and the report's first failure."""
    job = box.start(f"--nproc-per-node={count}", f"--master-port={free_port()}", REPORT, *options,
                    "--", *PYTHON, script, **more)
    result = job.wait()
    lines = result.lines()
    return lines, result.status, json.loads(job.read("report.json"))["first_failure"]


@pytest.mark.parametrize("place, end, words, status, kind", [
    ("init", "os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL (9)", 137, "own"),
    ("below", "os._exit(3)", "exit status 3", 3, "unknown"),
])
def test_a_silent_death(box, place, end, words, status, kind):
    lines, got, first = run(box, LOSES + end, place=place)
    assert names(lines[0], 2, 2), lines
    assert failed_first(lines[0], words)
    assert (got, first["rank"], first["class"], first["elsewhere"]) == (status, 2, kind, False)
    assert lines[-1] == status_line(status)


def test_a_silent_death_is_seen_where_there_are_other_nodes(box):
    """Without a word it might be one more victim: the kernel shows that it died before."""
    lines, got, first = run(box, LOSES + "os._exit(3)", *TWO_NODES)
    assert names(lines[0], 2, 2), lines
    assert ") failed first of ranks 0-3 (node 0 of 2): exit status 3, " in lines[0]
    assert (got, first["rank"], first["elsewhere"]) == (3, 2, False)
    assert lines[-1] == status_line(3, "this node")


def test_one_that_closes_before_it_speaks(box):
    lines, status, first = run(box, SAYS_SO)
    assert names(lines[0], 2, 2), lines
    assert lines[1] == "rankinit:   ValueError: bad batch 17"
    assert (status, first["rank"], first["class"]) == (1, 2, "own")
    assert "rankinit:   ranks 0-1, 3: lost a peer, exit status 1" in lines


def test_with_a_short_grace_it_never_speaks(box):
    """The control: it is stopped for its victims, and they alone have a word."""
    lines, status, first = run(box, SAYS_SO, "--grace=0.2")
    assert names_none(lines[0], "rank"), lines
    assert lines[0].endswith("lost a peer")
    assert (status, first["rank"], first["local_rank"]) == (1, None, None)
    assert (first["class"], first["elsewhere"], first["node"]) == ("loss", False, "10.0.0.5")


def test_an_end_of_its_own_ends_the_wait(box):
    script = CONNECTED + """
if rank == 0: lose()
if rank == 2:
    close()
    time.sleep(0.5)
    os.abort()
time.sleep(3600)
"""
    lines, status, first = run(box, script)
    assert lines[0].startswith("rankinit: rank 2 ("), lines
    assert (status, first["signal"]) == (134, "SIGABRT")
    assert stopped_line("1, 3") in lines


def test_the_end_of_all_ends_the_wait(box):
    lines, status, first = run(box, CONNECTED + "if rank == 0: close()\nlose()")
    assert names_none(lines[0], "ranks 0-3 lost a peer")
    assert (status, first["class"]) == (1, "loss")


@pytest.mark.parametrize("place", ["init", "below"])
def test_a_stop_from_outside_ends_the_wait(box, place):
    job = box.start("--nproc-per-node=4", f"--master-port={free_port()}", REPORT,
                    "--state=state", "--", *PYTHON,
                    CONNECTED + "lose() if rank == 0 else close()\ntime.sleep(3600)", place=place)
    wait_until(lambda: "Connection closed by peer" in job.error_text() and
               b" stopping " in job.read("state"), "rank 0 has lost a peer")
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert result.status == 1
    assert stopped_line("1-3") in result.lines()


def test_the_grace_counts_the_wait(box):
    """It is long over before the wait that was asked for."""
    script = CONNECTED + """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if rank == 0: lose()
close()
time.sleep(3600)
"""
    lines, status, first = run(box, script, "--grace=2")
    assert (status, first["class"]) == (1, "loss")
    assert stopped_line("1-3", "killed by SIGKILL (9)") in lines


def test_an_end_of_its_own_does_not_settle(box):
    """The control: nobody waits."""
    lines, status, _ = run(box, CONNECTED + "if rank == 2: raise ValueError('x')\n"
                           "time.sleep(3600)")
    assert lines[0].startswith("rankinit: rank 2 (") and status == 1
    assert stopped_line("0-1, 3") in lines


def test_on_another_node(box):
    lines, status, first = run(box, CONNECTED + "close()\nlose()", *TWO_NODES)
    assert lines[0] == ("rankinit: ranks 0-3 lost a peer on another node (node 0 of 2); a rank "
                        "there went first: look at that node's log")
    assert not any("failed first" in line for line in lines)
    assert lines[-1] == status_line(1, "this node")
    assert (status, first["rank"], first["class"]) == (1, None, "loss")
    assert (first["elsewhere"], first["node"]) == (True, "10.0.0.5")


def test_one_that_left_with_0(box):
    lines, status, first = run(box, LOSES + "sys.exit(0)")
    assert names(lines[0], 2, 2), lines
    assert ") had ended before the others: exit status 0, after " in lines[0]
    assert re.search(r" lost it first, (\S+ s after rank 2 had ended|while rank 2 was ending): "
                     r"exit status 1, after ", lines[1])
    assert (status, first["rank"], first["exit_code"]) == (1, 2, 1)


def test_one_that_did_not_come(box):
    script = CONNECTED + """
if rank == 2: time.sleep(3600)
raise RuntimeError('[/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 30000ms for '
                   'recv operation to complete')
"""
    lines, status, first = run(box, script)
    assert names(lines[0], 2, 2), lines
    assert came_late(lines[0])
    assert (status, first["rank"]) == (1, 2)


def test_a_watchdog_s_victims(box):
    """They are aborted, and the signal is not theirs."""
    script = CONNECTED + """
if rank == 2:
    os._exit(5)
try:
    lose()
except RuntimeError:
    sys.stderr.write(f'''[rank{rank}]:[E1122 06:40:00.5 ProcessGroupNCCL.cpp:629] [Rank {rank}] \
Watchdog caught collective operation timeout: WorkNCCL(SeqNum=122) ran for 600080 milliseconds
terminate called after throwing an instance of 'c10::DistBackendError'
''' + 'frame #0: c10::Error::Error() + 0x96 (0x7f93dc177f86 in libc10.so)\\n' * 40)
    sys.stderr.flush()
    os.abort()
"""
    lines, status, first = run(box, script)
    assert lines[0].startswith("rankinit: rank 2 (") and (status, first["rank"]) == (5, 2), lines


# What looks like an end, and is none.

LOGGED = """
import os, sys, time
if os.environ['RANK'] == '0':
    try:
        raise OSError('a read that is tried again')
    except OSError:
        sys.excepthook(*sys.exc_info())
    time.sleep(3600)
time.sleep({})
os.kill(os.getpid(), 9)
"""


def test_an_exception_that_was_logged_long_ago(box):
    lines, status, first = run(box, LOGGED.format(3), count=2)
    assert lines[0].startswith("rankinit: rank 1 (") and "killed by SIGKILL (9)" in lines[0], lines
    assert (status, first["rank"]) == (137, 1)


def test_a_first_thread_that_has_ended(box):
    """The process goes on, and is one of those that are stopped."""
    script = """
import ctypes, os, signal, threading, time
if os.environ['RANK'] == '0':
    threading.Thread(target=time.sleep, args=(3600,)).start()
    ctypes.CDLL(None).pthread_exit(None)
time.sleep(1)
os.kill(os.getpid(), signal.SIGSEGV)
"""
    job = box.start("--nproc-per-node=2", f"--master-port={free_port()}", "--",
                    "/usr/bin/python3", "-c", script)
    result = job.wait()
    assert result.status == 139, result.err
    assert names(result.lines()[0], 1, 1)
    assert stopped_line(0) in result.lines()


def test_a_long_tail_is_judged_in_time(box):
    """Nine hundred headers behind sixteen thousand lines, once looked at nine hundred times."""
    head = "Traceback (most recent call last):\\n"
    script = f"""
import os, sys, time
if os.environ['RANK'] == '0': time.sleep(3600)
sys.stderr.write({head!r} + '  File "a.py", line 1, in f\\nValueError: x\\n\\n' +
                 'x\\n' * 16000 + {head!r} * 900)
sys.exit(1)
""".replace("\\\\n", "\\n")
    result = box.start("--nproc-per-node=2", f"--master-port={free_port()}", "--", *PYTHON,
                       script).wait()
    assert result.status == 1
    assert [line for line in result.lines() if line.startswith("rankinit: rank 1 (")]


def test_a_hangup_while_it_settles(box):
    """It comes from outside, as it does when nothing settles: nobody failed of it."""
    job = box.start("--nproc-per-node=3", f"--master-port={free_port()}", "--state=state", "--",
                    *PYTHON,
                    CONNECTED + "lose() if rank == 1 else close()\ntime.sleep(3600)")
    wait_until(lambda: "Connection closed by peer" in job.error_text() and
               b" stopping " in job.read("state"), "rank 1 has lost a peer")
    job.signal(signal.SIGHUP)
    result = job.wait()
    assert "rankinit: stopped by SIGHUP" in result.err, result.err
    assert "failed first" not in result.err


# Its first line is heard at once, the others while the kernel is asked who has ended (strace).
UPLOADS = """
import atexit, os, time
def leave():
    if os.environ['LOCAL_RANK'] == '1':
        time.sleep(1.6)     # two looks, a second apart, have seen by then that both leave
        return
    try:
        while True:
            os.kill(int(open('pid').read()), 0)
            time.sleep(0.01)
    except ProcessLookupError:
        time.sleep(0.1)
        print('uploaded', flush=True)
atexit.register(leave)
if os.environ['LOCAL_RANK'] == '1':
    open('new', 'w').write(str(os.getpid()))
    os.rename('new', 'pid')
while not os.path.exists('pid'):
    time.sleep(0.01)
raise ValueError('bad batch 17')
"""


def test_one_that_had_left_its_program_keeps_its_time(box):
    """What was seen before the other one ended may have changed: it is looked at once more."""
    job = box.start("--nproc-per-node=2", "--", *PYTHON, UPLOADS)
    result = job.wait()
    assert result.status == 1 and result.out == b"uploaded\n", result.err
    assert "told to stop" not in result.err


LAST_WORDS = """
[ $RANK = 1 ] && {
    echo 'Traceback (most recent call last):' >&2
    sleep .1
    echo '  File "a.py", line 1, in f
RuntimeError: Connection closed by peer [10.0.0.5]:4711' >&2
    : >lost
    exit 1
}
until [ -e lost ]; do sleep .02; done
sleep .8
echo 'ValueError: bad batch 17' >&2
exit 3
"""


def test_what_was_written_last_is_read_before_the_end_is_judged(box, tool):
    words = ["-D", "-o", "trace", "-e", "trace=wait4", "-e", "signal=none", "-e",
             "inject=wait4:delay_enter=300000", box.rankinit, "--nproc-per-node=2",
             f"--master-port={free_port()}", "--", "sh", "-c", LAST_WORDS]
    job = box.start(*words, program=tool("strace"), place="below")
    result = job.wait()
    assert "DELAYED" in job.read("trace").decode()
    assert names(result.lines()[0], 0, 0), result.err
    assert result.status == 3
    assert "rankinit:   rank 1: lost a peer, exit status 1" in result.lines(), result.err
