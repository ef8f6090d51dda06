# SPDX-License-Identifier: Apache-2.0
"""
How a rank ended comes first, then the words that explain exactly that end: what it caught, logged
or quoted before, and what another rank wrote, changes neither cause, class, rank nor retry.
"""

import signal
import subprocess

import pytest

from test_launched import launch, let_go, until_watched  # noqa: F401  a fixture
from verdict import stopped_line

PYTHON = ["/usr/bin/python3", "-ISc"]
BEGIN = """
import faulthandler, logging, os, resource, sys, traceback
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal = int(os.environ.get('KILLED_BY', '0'))
def load(words, kind=ValueError):
    try: raise kind(words)
    except kind: traceback.print_exc()
def log(words):
    try: raise ValueError(words)
    except ValueError: logging.exception('a sample is left out')
"""
LOST = "[/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:3"
ECC = "CUDA error: uncorrectable ECC error encountered"
WORDS = {
    "caught": "load('bad sample 12')",
    "logged": "log('bad sample 12')",
    "a loss": f"load({LOST!r}, RuntimeError)",
    "hardware": f"load({ECC!r}, RuntimeError)",
    "an abort of a child": f"print('terminate called after throwing an instance of E\\n'"
                           f"'  what():  {ECC}', file=sys.stderr)",
}
ENDS = {
    "SIGKILL": ("os.kill(os.getpid(), 9)", "killed", "own", "same"),
    "SIGTERM": ("os.kill(os.getpid(), 15)", "killed", "own", "same"),
    "SIGSEGV": ("os.kill(os.getpid(), 11)", "signal", "own", "never"),
    "another status": ("os._exit(3)", "exit_status", "unknown", "never"),
    "a shell's 137": ("os._exit(137)", "killed", "unknown", "same"),
}


def told(result):
    brief = result.brief
    return brief["cause"], brief["class"], brief["retry"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("words", WORDS)
def test_words_before_an_end_explain_no_other(box, words, end):
    ends, *expected = ENDS[end]
    script = f"{BEGIN}\n{WORDS[words]}\n{ends}\n"
    result = box.run("--report=r.json", "--", *PYTHON, script)
    assert told(result) == tuple(expected), result.err
    # the control: without these words
    assert told(box.run("--report=r.json", "--", *PYTHON, f"{BEGIN}\n{ends}\n")) == told(result)


@pytest.mark.parametrize("end", ENDS)
def test_ranks_of_our_own(box, end):
    """Each had caught an exception; the words stand below, as the last lines."""
    ends, *expected = ENDS[end]
    script = f"""{BEGIN}
load('bad sample 12')
if os.environ['RANK'] == '1': {ends}
import time; time.sleep(3600)
"""
    result = box.run("--nproc-per-node=2", "--", *PYTHON, script)
    assert told(result) == tuple(expected) and result.brief["rank"] == "1", result.err
    first = result.lines()[0]
    assert first.startswith("rankinit: rank 1 (") and " failed first: " in first
    assert "raised the error below" not in result.err
    assert "rankinit:     ValueError: bad sample 12" in result.lines()


def test_a_killed_rank_starts_again_whatever_it_had_caught(box):
    script = f"""{BEGIN}
load('bad sample 12')
if os.environ['RANKINIT_ATTEMPT'] == '0':
    if os.environ['RANK'] == '1': os.kill(os.getpid(), 9)
    import time; time.sleep(3600)
"""
    result = box.run("--restarts=1", "--nproc-per-node=2", "--", *PYTHON, script)
    assert result.status == 0 and result.err.count("the ranks start again") == 1, result.err
    # the control: an exception that ends the program
    ends = script.replace("os.kill(os.getpid(), 9)", "raise ValueError('bad sample 12')")
    result = box.run("--restarts=1", "--nproc-per-node=2", "--", *PYTHON, ends)
    assert result.status == 1 and "retry=never" in result.err, result.err


@pytest.mark.parametrize("end, cause, retry", [
    ("kill -KILL $$", "killed", "same"), ("exit 3", "unknown", "never"),
], ids=["SIGKILL", "another status"])
def test_below_a_launcher_words_explain_no_other_rank(launch, end, cause, retry):  # noqa: F811
    """They bear no label: rank 0 wrote them, and is well."""
    caught = subprocess.list2cmdline(PYTHON) + f' "{BEGIN}\nload(12)"; sleep 99; true'
    job = launch(caught.replace("$", "\\$"),
                 f"until [ -e go$RANK.$ATTEMPT ]; do sleep 0.02; done; {end}")
    until_watched(job, 2)
    let_go(job, 1)
    result = job.wait()
    assert (result.brief["cause"], result.brief["retry"]) == (cause, retry), result.err
    assert result.brief["rank"] == "1" and "ValueError" not in "\n".join(result.lines())


@pytest.mark.parametrize("script, cause, retry", [
    (f"raise RuntimeError({ECC!r})", "ecc", "other_node"),
    (f"raise ValueError('bad sample: {ECC!r}')".replace("'CUDA", "`CUDA"), "exception", "never"),
    (f"print({ECC!r}, file=sys.stderr); sys.exit(1)", "exception", "never"),
    (f"print('RuntimeError: {ECC}', file=sys.stderr); os.abort()", "signal", "never"),
    (f"print('terminate called', '\\n  what():  {ECC}', file=sys.stderr); os.abort()",
     "ecc", "other_node"),
    (f"print('\\n  what():  {ECC}', file=sys.stderr); os._exit(3)", "exit_status", "never"),
    ("print('n1:7:9 [0] transport/net_ib.cc:5 NCCL WARN NET/IB : mlx5_1:1 Got async event : "
     "local catastrophic error', file=sys.stderr); sys.exit(1)", "nic", "other_node"),
    ("print('sample: \"n1:7:9 [0] net_ib.cc:5 NCCL WARN NET/IB : mlx5_1:1 Got async event : "
     "local catastrophic error\"', file=sys.stderr); sys.exit(1)", "exit_status", "never"),
], ids=["raised", "quoted", "printed", "printed, then an abort", "of C++", "of C++, another status",
        "NCCL's", "NCCL's, quoted"])
def test_a_node_is_bad_by_the_words_of_its_own_end_alone(box, script, cause, retry):
    result = box.run("--report=r.json", "--", *PYTHON, f"{BEGIN}\n{script}\n")
    assert (result.brief["cause"], result.brief["retry"]) == (cause, retry), result.err


def test_a_handler_s_words_are_quoted(box):
    script = f"{BEGIN}\nfaulthandler.enable()\nload(12)\nos.kill(os.getpid(), 11)\n"
    result = box.run("--nproc-per-node=2", "--", *PYTHON, script)
    assert told(result) == ("signal", "own", "never"), result.err
    assert "rankinit:   Fatal Python error: Segmentation fault" in result.lines()
    # the control: of another signal they are no more than a line
    result = box.run("--nproc-per-node=2", "--", *PYTHON, script.replace("11)", "9)").replace(
        "load(12)", "print('Fatal Python error: Segmentation fault', file=sys.stderr)"))
    assert told(result) == ("killed", "own", "same"), result.err
    assert "rankinit:     Fatal Python error: Segmentation fault" in result.lines()


def test_a_ctrl_c_for_one_rank(box):
    script = f"{BEGIN}\nif os.environ['RANK'] == '1': os.kill(os.getpid(), 2)\n" \
             "import time; time.sleep(3600)\n"
    result = box.run("--nproc-per-node=2", "--", *PYTHON, script)
    assert result.status == 128 + signal.SIGINT and result.brief["rank"] == "1", result.err
    assert told(result) == ("killed", "own", "same"), result.err
    assert "rankinit:   KeyboardInterrupt" in result.lines()


def test_lines_behind_an_exception_are_no_end_of_it(box):
    """wandb's, a resource tracker's, those of a handler of atexit: however many."""
    script = f"""{BEGIN}
import atexit
atexit.register(lambda: [print('uploading part', part, file=sys.stderr) for part in range(999)])
raise RuntimeError({ECC!r})
"""
    result = box.run("--report=r.json", "--", *PYTHON, script)
    assert told(result) == ("ecc", "own", "other_node"), result.err


# --- what to do next, where the cause has no word -------------------------------------------

NODE = {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "NNODES": "4", "NODE_RANK": "0"}
GONE = """
class DistBackendError(RuntimeError): pass
DistBackendError.__module__ = 'torch.distributed'
raise DistBackendError('NCCL error in: ../ProcessGroupNCCL.cpp:1691, remote process exited or '
                       'there was a network error, NCCL version 2.20.5\\nncclRemoteError: x')
"""


def test_a_node_that_vanished(box):
    """What is left of the job ends with exceptions that nothing caught, and may start again."""
    result = box.run("--exit-class", "--supervise=always", "--", *PYTHON, GONE, env=NODE)
    assert result.status == 220 and told(result) == ("unknown", "loss", "same"), result.err
    # the control: an exception of its own
    result = box.run("--exit-class", "--supervise=always", "--", *PYTHON,
                     GONE.replace("remote process exited", "x").replace("ncclRemoteError", "x")
                     .replace("there was a network error", "x"), env=NODE)
    assert result.status == 120 and result.brief["retry"] == "never", result.err


@pytest.mark.parametrize("end, status", [("exit 3", 120), ("kill -KILL $$", 220),
                                         # Python's, which may be a loss that was not read
                                         ("exit 1", 220)])
def test_a_rank_whose_words_are_elsewhere(launch, end, status):  # noqa: F811
    job = launch("exec 2>/dev/null; sleep 99",
                 f"exec 2>/dev/null; until [ -e go$RANK.$ATTEMPT ]; do sleep 0.02; done; {end}",
                 options=["--exit-class"])
    until_watched(job, 2)
    let_go(job, 1)
    result = job.wait()
    assert result.status == status and result.brief["rank"] == "1", result.err


# Ranks 0 to 2 have caught an exception; they lose rank 3, which is killed, and end with 1.
VICTIMS = BEGIN + """
import socket, time
rank = int(os.environ["RANK"])
if rank < 3:
    load('bad sample 12')
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"rank{rank}")
        door.listen()
        peer, _ = door.accept()
    peer.recv(1)
    os._exit(1)
peers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
for number, peer in enumerate(peers):
    while peer.connect_ex(f"rank{number}"):
        time.sleep(0.02)
os.kill(os.getpid(), 9)
"""


def test_what_lost_a_killed_rank_is_not_named_for_what_it_had_caught(box):
    result = box.run("--nproc-per-node=4", "--", *PYTHON, VICTIMS)
    assert result.brief["rank"] == "3" and told(result) == ("killed", "own", "same"), result.err


# How a rank that is well takes the stop, and ends with 1 of it.
STOPS = {
    "a handler": "signal.signal(15, lambda *_: os._exit(1))\nready()\ntime.sleep(3600)",
    "it waits for it": "signal.pthread_sigmask(signal.SIG_BLOCK, {15})\nready()\n"
                       "signal.sigwait({15})\nos._exit(1)",
    "another program": "ready()\nos.execvp('bash', ['bash', '-c', 'trap \"exit 1\" TERM; "
                       "while :; do sleep 0.05; done'])",
}


@pytest.mark.parametrize("how", STOPS)
def test_a_rank_that_ends_of_the_stop_is_not_named_for_what_it_had_caught(box, how):
    script = BEGIN + "import signal, time\ndef ready(): open('ready', 'w').close()\n" \
        "if os.environ['RANK'] == '1':\n    while not os.path.exists('ready'): time.sleep(0.02)\n" \
        f"    time.sleep(0.5)\n    os.kill(os.getpid(), 9)\nload('bad sample 12')\n{STOPS[how]}\n"
    result = box.run("--nproc-per-node=2", "--", *PYTHON, script)
    assert result.brief["rank"] == "1" and told(result) == ("killed", "own", "same"), result.err
    assert stopped_line(0, "exit status 1") in result.lines(), result.err
