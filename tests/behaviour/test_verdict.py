# SPDX-License-Identifier: Apache-2.0
"""What is said of several ranks in the end: who failed first, of what, and what the others did."""

import json
import os
import re

import pytest

from peek import wait_until
from verdict import failed_first, names, status_line, stopped_line

RANKS = 4
PYTHON = ["/usr/bin/python3", "-I", "-S", "-c"]
WAIT = "import os, signal, time\nif os.environ['RANK'] != '2': time.sleep(60)\n"
NESTED = WAIT + """
def read(batch):
    raise ValueError(f'bad batch {batch}')
def step():
    read(17)
step()
"""


class Told:
    """The verdict and the report of a job of four ranks."""

    def __init__(self, job):
        self.result = job.wait()
        lines = self.result.err.splitlines()
        first = [at for at, line in enumerate(lines)
                 if re.match(r"rankinit: (rank \d+ \(|cannot tell )", line)]
        assert len(first) == 1, self.result.err
        self.verdict = lines[first[0]:]
        self.before = lines[:first[0]]
        assert len(self.verdict) <= 25
        assert all(line.startswith("rankinit: ") for line in self.verdict), self.result.err
        self.report = json.loads(job.read("report.json"))
        self.first = self.report["first_failure"]
        assert self.report["exit_status"] == self.result.status


@pytest.fixture
def told(box):
    def run(*command, options=(), count=RANKS, **more):
        job = box.start(f"--nproc-per-node={count}", "--grace=10", "--report=report.json",
                        *options, "--", *command, **more)
        return Told(job)
    return run


def others(report, rank):
    return [entry for entry in report["ranks"] if entry["rank"] != rank]


@pytest.mark.parametrize("place", ["init", "below"])
def test_an_exception_in_a_nested_call(box, told, place):
    found = told(*PYTHON, NESTED, place=place)
    assert found.result.status == 1
    assert (found.first["rank"], found.first["local_rank"]) == (2, 2)
    assert (found.first["kind"], found.first["exit_code"]) == ("exit", 1)
    assert "ValueError: bad batch 17" in "\n".join(found.verdict[:5])
    assert re.match(r"rankinit: rank 2 \(local rank 2, pid \d+ on .*\) failed first: "
                    r"exit status 1, after \d+\.\d+ s, at 20", found.verdict[0])
    assert 'raise ValueError' not in found.verdict[1]
    assert found.first["traceback"].rstrip().endswith("ValueError: bad batch 17")
    assert "in step" in found.first["traceback"] and "in read" in found.first["traceback"]
    assert stopped_line("0-1, 3") in found.verdict
    assert [(entry["signal"], entry["told"]) for entry in others(found.report, 2)] == \
        [("SIGTERM", True)] * 3
    # what the rank wrote itself went on unchanged
    assert found.before[0] == "Traceback (most recent call last):"


@pytest.mark.parametrize("end, kind, code, name, status, words", [
    ("os._exit(7)", "exit", 7, None, 7, "exit status 7"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", "signal", None, "SIGSEGV", 139,
     "killed by SIGSEGV (11)"),
    ("import ctypes; ctypes.string_at(0)", "signal", None, "SIGSEGV", 139,
     "killed by SIGSEGV (11)"),
    ("os.abort()", "signal", None, "SIGABRT", 134, "killed by SIGABRT (6)"),
    ("os.kill(os.getpid(), signal.SIGKILL)", "signal", None, "SIGKILL", 137,
     "killed by SIGKILL (9), after"),
], ids=["exit", "segv", "null", "abort", "kill"])
def test_ends_without_a_word(told, end, kind, code, name, status, words):
    found = told(*PYTHON[:3], "-c", WAIT + end)
    assert found.result.status == status
    assert (found.first["rank"], found.first["kind"]) == (2, kind)
    assert (found.first["exit_code"], found.first["signal"]) == (code, name)
    assert failed_first(found.verdict[0], words)
    assert found.first["traceback"] is None
    assert found.verdict[-2:] == [stopped_line("0-1, 3"),
                                  status_line(status)]


def test_out_of_memory(told, cgroup):
    group = cgroup("memory", limit_in_bytes=96 << 20)
    greedy = WAIT + "x = bytearray(128 << 20); x[::4096] = b'x' * len(x[::4096])"
    found = told(*PYTHON, greedy, shell=f"echo $$ >{group}/cgroup.procs")
    assert (found.result.status, found.first["rank"], found.first["kind"]) == (137, 2, "oom")
    assert "killed by SIGKILL (9): out of memory" in found.verdict[0]
    # the others were not taken for victims
    assert [entry["signal"] for entry in others(found.report, 2)] == ["SIGTERM"] * 3


LOADER = WAIT + """
raise RuntimeError('DataLoader worker (pid 17) is killed by signal: Bus error.')
"""


def test_a_bus_error(told):
    """Of a rank, and of a data loader of it, whose end the rank tells in these words."""
    shell = "mount -t tmpfs -o size=1m none /dev/shm || exit 99"
    cause = re.compile(r"rankinit:   /dev/shm is small \(1 MiB\).* \[shm\.size\.small\]")
    killed = told(*PYTHON, WAIT + "os.kill(os.getpid(), signal.SIGBUS)", shell=shell)
    assert (killed.result.status, killed.first["signal"]) == (135, "SIGBUS")
    assert cause.fullmatch(killed.verdict[1])
    assert killed.first["cause"]["code"] == "shm.size.small"
    loader = told(*PYTHON, LOADER, shell=shell)
    assert loader.result.status == 1 and any(map(cause.fullmatch, loader.verdict))
    other = told(*PYTHON, LOADER.replace("Bus error", "Killed"), shell=shell)
    assert other.result.status == 1 and not any(map(cause.fullmatch, other.verdict))


def test_a_missing_command(told):
    found = told("nosuch-command")
    assert (found.result.status, found.first["rank"], found.first["kind"]) == (127, 0, "exec")
    assert found.verdict[0].endswith(" failed first: could not be started")
    assert "[exec.not_found]" in found.before[0]
    assert found.verdict[1] == found.before[0].replace("rankinit: error: ", "rankinit:   ")
    assert found.report["ranks"][0]["state"] == "exec-failed"
    assert found.report["ranks"][0]["pid"] is None


def test_all_is_well(box):
    """The control."""
    job = box.start("--nproc-per-node=4", "--report=report.json", "--", *PYTHON, "pass")
    result = job.wait()
    assert (result.status, result.err) == (0, "")
    report = json.loads(job.read("report.json"))
    assert report["first_failure"] is None
    assert [entry["exit_code"] for entry in report["ranks"]] == [0] * 4


def test_the_rank_that_others_failed_after(told):
    """Its traceback came first, though another one was reaped before it."""
    script = """
import os, sys, time
if os.environ['RANK'] == '1':
    print('Traceback (most recent call last):\\n  File "a.py", line 1, in <module>\\n'
          'RuntimeError: the cause', file=sys.stderr, flush=True)
    open('@FOLDER/said', 'w').close()
    time.sleep(0.5)
    os._exit(1)
while not os.path.exists('@FOLDER/said'): time.sleep(0.01)
time.sleep(0.2)
if os.environ['RANK'] == '3': os._exit(6)
time.sleep(60)
"""
    found = told(*PYTHON, script.replace("'@FOLDER/said'", "os.environ['SAID']"),
                 env={"SAID": f"/dev/shm/rankinit-said-{os.getpid()}"}, shell="rm -f $SAID")
    os.unlink(f"/dev/shm/rankinit-said-{os.getpid()}")
    assert found.first["rank"] == 1
    assert "RuntimeError: the cause" in found.verdict[1]
    # of its own, or where it was stopped on its way out, that of the one we stopped for
    assert found.result.status in (1, 6)


def test_the_first_that_was_slow_to_end(told):
    """Our own stop is faster than its way out; no status of ours is the job's."""
    script = ("import atexit, os, sys, time\n"
              "said = os.environ['SAID']\n"
              "if os.environ['RANK'] == '2':\n"
              "    atexit.register(lambda: (open(said, 'w'), time.sleep(60)))\n"
              "    raise RuntimeError('Timed out')\n"
              "if os.environ['RANK'] != '0': time.sleep(60)\n"
              "while not os.path.exists(said): time.sleep(0.01)\n"
              "time.sleep(0.1)\n"
              "sys.exit(7)\n")
    said = f"/dev/shm/rankinit-slow-{os.getpid()}"
    found = told(*PYTHON, script, env={"SAID": said})
    os.unlink(said)
    assert found.result.status == 7 and found.first["rank"] == 2
    assert re.match(r"rankinit: rank 2 \(.*\) failed first: raised the error below, then was "
                    r"stopped while exiting: killed by SIGTERM \(15\), after", found.verdict[0])
    assert "rankinit:   RuntimeError: Timed out" in found.verdict
    assert "rankinit:   rank 0: exit status 7" in found.verdict


def test_a_traceback_that_was_no_end(told):
    """One that was printed and survived, by a rank that was stopped for another one."""
    script = """
import os, sys, time, traceback
if os.environ['RANK'] == '0':
    try: 1 / 0
    except ZeroDivisionError: traceback.print_exc()
    for step in range(5): print('step', step, file=sys.stderr, flush=True)
    open(os.environ['SAID'], 'w').close()
while not os.path.exists(os.environ['SAID']): time.sleep(0.01)
if os.environ['RANK'] == '1': os._exit(9)
time.sleep(60)
"""
    said = f"/dev/shm/rankinit-survived-{os.getpid()}"
    found = told(*PYTHON, script, env={"SAID": said})
    os.unlink(said)
    assert (found.first["rank"], found.result.status) == (1, 9)


def test_what_torch_wrote(told):
    """In the form of torch.distributed.elastic.multiprocessing.errors."""
    script = """
import json, os, sys, time
rank = int(os.environ['RANK'])
path = os.environ['TORCHELASTIC_ERROR_FILE']
assert path.endswith(f'/{rank}.json')
if rank != 1: time.sleep(60)
json.dump({'message': {'message': 'ValueError: of torch', 'extraInfo': {
    'py_callstack': 'Traceback (most recent call last):\\n  File "t.py", line 3, in main\\n'
                    'ValueError: of torch\\n', 'timestamp': str(int(time.time()))}}},
    open(path, 'w'))
os._exit(1)
"""
    found = told(*PYTHON, script)
    assert found.first["rank"] == 1 and found.result.status == 1
    assert "ValueError: of torch" in found.verdict[1]
    assert found.first["torch_error"]["message"]["message"] == "ValueError: of torch"


FORGED = """
import json, os, sys, time
rank = int(os.environ['RANK'])
path = os.path.dirname(os.environ['TORCHELASTIC_ERROR_FILE']) + '/1.json'
def forge():
    json.dump({'message': {'message': 'ValueError: forged', 'extraInfo': {
        'timestamp': str(int(time.time()))}}}, open(path, 'w'))
"""


@pytest.mark.parametrize("script", [
    # a healthy rank, which is stopped
    "if rank != 0: time.sleep(60)\nforge()\nos._exit(9)",
    # one that has ended already, and whose words tell of a loss
    """
if rank == 1:
    os.write(2, b'[/gloo/transport/tcp/pair.cc:1] Connection closed by peer [::1]:1\\n')
    os._exit(1)
if rank == 0:
    time.sleep(1)
    forge()
    os._exit(9)
time.sleep(60)
""",
    # one that ends later, with words of a loss
    """
if rank == 1:
    os.write(2, b'[/gloo/transport/tcp/pair.cc:1] Connection closed by peer [::1]:1\\n')
    while not os.path.exists(path): time.sleep(0.01)
    time.sleep(0.5)
    os._exit(1)
if rank == 0:
    forge()
    os._exit(9)
time.sleep(60)
""",
], ids=["healthy", "ended", "victim"])
def test_a_file_of_torch_that_another_rank_wrote(told, script):
    found = told(*PYTHON, FORGED + script)
    assert (found.first["rank"], found.result.status) == (0, 9)
    assert "forged" not in "\n".join(found.verdict)
    assert found.first["torch_error"] is None
    # the control: who failed wrote it itself
    found = told(*PYTHON, FORGED + "if rank == 1:\n    forge()\n    os._exit(9)\ntime.sleep(60)")
    assert found.first["rank"] == 1 and "ValueError: forged" in found.verdict[1]


def test_torch_files_are_taken_away(box, tmp_path):
    for script in 'ls -d "$TMPDIR"/*/; exit 0', 'echo x >$TORCHELASTIC_ERROR_FILE; exit 1':
        result = box.run("--nproc-per-node=2", "--", "sh", "-c", script,
                         env={"TMPDIR": str(tmp_path)})
        assert os.listdir(tmp_path) == [], result.err
    result = box.run("--nproc-per-node=2", "--", "sh", "-c", "echo $TORCHELASTIC_ERROR_FILE",
                     env={"TORCHELASTIC_ERROR_FILE": "/mine"})
    assert result.out == b"/mine\n/mine\n"
    # the control: one rank without a report has none
    result = box.run("--nproc-per-node=1", "--", "sh", "-c", "echo ${TORCHELASTIC_ERROR_FILE-no}")
    assert result.out == b"no\n"


SECRETS = ["hunter2-a", "hunter2-b", "hunter2-c", "hunter2-d"]


def test_no_secret_is_shown(box):
    script = """
import os, sys
sys.stderr = open(2, 'w')
if os.environ['RANK'] == '1':
    raise RuntimeError('login failed: AWS_SECRET_ACCESS_KEY=hunter2-a '
                       'https://user:hunter2-b@host/?sig=hunter2-c '
                       'Authorization: Bearer hunter2-d')
import time; time.sleep(60)
"""
    job = box.start("--nproc-per-node=2", "--grace=5", "--report=report.json", "--", *PYTHON,
                    script)
    result = job.wait()
    ours = "\n".join(line for line in result.err.splitlines() if line.startswith("rankinit: "))
    report = job.read("report.json").decode()
    for secret in SECRETS:
        assert secret not in ours and secret not in report
        assert secret in result.err, "the rank's own words go on as they are"
    assert "RuntimeError: login failed" in ours and "***" in ours


@pytest.mark.parametrize("body", [
    "def f(n): return f(n + 1)\nf(0)",
    "raise ValueError('x\\n' * 500)",
    "raise ValueError('\\x1b[2J' + 'y' * 100000)",
    "for i in range(5000): print('line', i, 'z' * 300, file=sys.stderr)\nsys.exit(3)",
    "try:\n  try:\n    1/0\n  except Exception as e:\n    raise KeyError('one') from e\n"
    "except Exception as e:\n  raise OSError('the last one') from e",
    "raise ExceptionGroup('several', [ValueError(n) for n in range(50)])",
], ids=["deep", "lines", "escapes", "flood", "chained", "group"])
def test_never_more_than_25_lines(told, body):
    found = told(*PYTHON, WAIT + "import sys\n" + body)
    assert found.first["rank"] == 2 and len(found.verdict) <= 25
    assert all(len(line) <= 260 and "\x1b" not in line for line in found.verdict)
    if "the last one" in body:
        assert "OSError: the last one" in found.verdict[1]


LONG = {
    "line": "'bad batch 17: ' + 'y' * 200000",
    "lines": "'bad batch 17: tensor([' + '[0.1, 0.2, 0.3],\\n' * 12000 + '])'",
}


@pytest.mark.parametrize("message", LONG)
def test_a_message_longer_than_what_is_kept(told, message):
    """Its rank is named, not the one that lost it and ended first; and so is what it said."""
    found = told(*PYTHON, WAIT.replace("time.sleep(60)", """(
    [time.sleep(0.01) for _ in iter(lambda: os.path.exists(os.environ['SAID']), True)],
    time.sleep(0.3),
    os._exit(3) if os.environ['RANK'] == '0' else time.sleep(60))""") + f"""
import atexit
atexit.register(lambda: (open(os.environ['SAID'], 'w').close(), time.sleep(2)))
raise ValueError({LONG[message]})
""", env={"SAID": f"/dev/shm/rankinit-long-{os.getpid()}"}, shell="rm -f $SAID")
    os.unlink(f"/dev/shm/rankinit-long-{os.getpid()}")
    assert found.first["rank"] == 2 and found.result.status in (1, 3)
    assert found.verdict[1].startswith("rankinit:   ValueError: bad batch 17: ")
    assert "in <module>" in found.first["traceback"]


@pytest.mark.parametrize("after", [0, 60])
def test_an_exception_long_before_a_flood(told, after):
    """The control: what was caught before so much output is no reason of the end."""
    found = told(*PYTHON, WAIT + f"""
import sys, traceback
try: 1 / 0
except ZeroDivisionError: traceback.print_exc()
for i in range(3000): print('step', i, 'z' * 100, file=sys.stderr)
for i in range({after}): print('cannot open the data', file=sys.stderr)
os._exit(3)
""")
    assert found.first["rank"] == 2 and found.first["traceback"] is None
    assert "ZeroDivisionError" not in "\n".join(found.verdict)
    assert found.verdict[1] == "rankinit:   its last lines on stderr:"


def test_as_many_ways_to_end_as_ranks(told):
    """512 ranks, and yet a page."""
    found = told("sh", "-c", "trap 'exit $((RANK % 100 + 1))' TERM; [ $RANK = 9 ] && exit 3; "
                 "while :; do sleep 0.1; done", count=64, options=["--quiet"])
    assert found.first["rank"] == 9 and found.result.status == 3
    assert any("more ways" in line for line in found.verdict)


def test_the_copy_for_kubernetes(box):
    shell = "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && : >/dev/termination-log"
    show = '"$@" 2>/dev/null; cat /dev/termination-log'
    words = ["-c", show, "sh", box.rankinit, "--nproc-per-node=2", "--", "sh", "-c",
             "[ $RANK = 1 ] && exit 3; exec sleep 60"]
    result = box.run(*words, program="/bin/sh", place="below", shell=shell)
    assert names(result.out.decode(), 1, 1)
    assert failed_first(result.out.decode(), "exit status 3")
    *_, before, last = result.out.decode().splitlines()
    assert before == "  the job's exit status is 3"
    assert last.startswith("verdict cause=exit_status ")


def test_the_state_of_ranks(box):
    words = ["--nproc-per-node=3", "--state=state", "--", "sh", "-c",
             "[ $RANK = 1 ] && { until [ -e @FOLDER/go ]; do sleep 0.02; done; exit 3; }; "
             "trap 'sleep 0.5; exit 0' TERM; while :; do sleep 0.02; done"]
    job = box.start(*words)
    path = os.path.join(job.folder, "state")
    wait_until(lambda: os.path.exists(path) and b" running " in job.read("state"), "running")
    assert b"ranks=3" in job.read("state")
    with open(os.path.join(job.folder, "go"), "w", encoding="ascii"):
        pass
    wait_until(lambda: b" stopping " in job.read("state"), "stopping")
    assert job.wait().status == 3
    assert b" failed " in job.read("state") and b" status=3 " in job.read("state")


def test_words_with_blanks(told):
    """Where there is no traceback, the last lines are shown."""
    found = told("sh", "-c", "[ $RANK = 2 ] || exec sleep 60; echo '  no space left' >&2; exit 28")
    assert found.verdict[1:3] == ["rankinit:   its last lines on stderr:",
                                  "rankinit:       no space left"]
    assert found.first["last_lines"] == ["  no space left"]

SPEAKING = ["/bin/sh", "-c", """[ $RANK = 2 ] || exec sleep 60
ulimit -c 0; printf %s "$2" >&2; eval "$1" """, "sh"]
HEADER = "Traceback (most recent call last):\n"
OWN = '  File "/job/train.py", line 8, in step\n    load()\n'
LIBRARY = '  File "/env/lib/python3.11/site-packages/torch/x.py", line 5, in g\n    h()\n'
FRAMES = "frame #0: c10::Error::Error(std::string) + 0x57 (0x7f in /lib/libc10.so)\n" * 30
NOISE = "wandb: Synced 5 files\nn1:7:9 [0] NCCL INFO bye\n" * 40 + "\r 9%|# | 1/9 [0<1, 1it/s]\n"
ABORT = "kill -ABRT $$"
MISMATCH = ("RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running "
            "collective: CollectiveFingerPrint(" + "layout=Strided (default), " * 30 +
            "). Collectives differ in the following aspects:  Tensor shapes: 10vs 20")


@pytest.mark.parametrize("words, end, expected, never", [
    (HEADER + OWN + LIBRARY * 9 + "KeyError: 'img'\n\nDuring handling of the above exception, "
     "another exception occurred:\n\n" + HEADER + OWN + LIBRARY * 9 + "OSError: epoch 3\n",
     "exit 1", ["  OSError: epoch 3", "  caused by: KeyError: 'img'",
                '    File "/job/train.py", line 8, in step'], "frame"),
    (HEADER + LIBRARY + "KeyError: Caught KeyError in DataLoader worker process 0.\nOriginal " +
     HEADER + OWN + LIBRARY * 9 + "KeyError: 'img'\n" + NOISE, "exit 1",
     ["  KeyError: 'img'", "  raised in a worker: KeyError: Caught KeyError in DataLoader worker "
      "process 0.", '      File "/job/train.py", line 8, in step'], "wandb"),
    (HEADER + OWN + "tensorflow.python.framework.errors_impl.InternalError: Graph execution "
     "error:\n\nDetected at node 'a' defined at (most recent call last):\n    File \"/t.py\", line "
     "1, in f\nNode: 'a'\nindices = 20 is not in [0, 3)\n", "exit 1",
     ["  indices = 20 is not in [0, 3)"], "Detected"),
    ("terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: out of "
     "memory\n\n" + FRAMES + NOISE, ABORT, ["  what():  CUDA error: out of memory"], "frame #"),
    ("epoch 3\nFatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call "
     "first):\n  File \"/job/train.py\", line 8 in step\n\n", ABORT,
     ["  Fatal Python error: Segmentation fault", '    File "/job/train.py", line 8 in step'],
     "Current thread"),
    ("no such bucket\n" + NOISE, "exit 4", ["  its last lines on stderr:", "    no such bucket"],
     "NCCL INFO"),
    (NOISE, "exit 4", ["  its last lines on stderr:"], "no such bucket"),
    ("", "exit 4", ["  it wrote nothing to stderr: look at its stdout"], "last lines"),
    (HEADER + OWN + MISMATCH + "\n", "exit 1", ["  RuntimeError: Detected mismatch", "    ... "],
     "it wrote nothing"),
    ("\r 30%|###| 3/10 [0<1, 4.14it/s]" + "".join("[rank2]: " + line + "\n" for line in (
        HEADER + OWN + "ValueError: bad batch").splitlines()), "exit 1",
     ["  ValueError: bad batch", "    Traceback (most recent call last):"], "[rank2]"),
    (HEADER + OWN + "ValueError: bad batch\n\n" + NOISE * 9 + FRAMES, ABORT,
     ["    ValueError: bad batch"], "wandb"),
])
def test_the_lines_below(told, words, end, expected, never):
    """Why it failed, and nothing that libraries write beside it."""
    found = told(*SPEAKING, end, words)
    assert found.first["rank"] == (None if MISMATCH in words else 2)
    text = [line[len("rankinit: "):] for line in found.verdict]
    for line in expected:
        assert any(one.startswith(line) for one in text), found.result.err
    assert not any(never in line for line in text), found.result.err
    if words.endswith("vs 20\n"):
        assert any(line.endswith("Tensor shapes: 10vs 20") for line in text)


ASKING = "import os, time\nif os.environ['RANK'] != '{}': time.sleep(60)\n{}\n"


@pytest.mark.parametrize("rank, stdin", [(2, "is /dev/null for all ranks but the first one"),
                                         (0, "is not a terminal and has ended")])
@pytest.mark.parametrize("call, last", [("breakpoint(); x = 1", "BdbQuit"),
                                        ("input()", "EOFError: EOF when reading a line")])
def test_a_rank_without_a_terminal(told, rank, stdin, call, last):
    found = told(*PYTHON, ASKING.format(rank, call))
    assert found.first["rank"] == rank and found.result.status == 1
    assert any(last in line for line in found.verdict), found.result.err
    line, = [line for line in found.verdict if line.endswith("[input.none]")]
    assert stdin in line
    assert "debug on a terminal, which the first rank here gets: docker run -it" in line
    assert found.first["cause"]["code"] == "input.none"
    assert found.first["cause"]["subject"] == "stdin"


UNSET = ("raise ValueError('Error initializing torch.distributed using env:// rendezvous: "
         "environment variable RANK expected, but not set')")
RANK_OF_TWO = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
               "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


@pytest.mark.parametrize("call", [UNSET, "import os; os.environ['LOCAL_RANK']"])
def test_a_program_for_ranks_that_was_started_as_none(box, call):
    """With a report, for which rankinit reads the stderr of one command as well."""
    def run(*words, **more):
        job = box.start("--report=report.json", *words, **more)
        result = job.wait()
        assert result.status == 1
        lines = [line for line in result.lines() if line.endswith("[rank.absent]")]
        return lines, json.loads(job.read("report.json"))["first_failure"]["cause"]
    lines, cause = run("--", *PYTHON, call)
    assert lines == ["rankinit:   RANK is not set, since the command was started as no rank of a "
                     "job: rankinit --nproc-per-node=gpu -- COMMAND starts one rank for each GPU "
                     "of this node [rank.absent]"]
    assert (cause["code"], cause["subject"]) == ("rank.absent", "RANK")
    # the controls: another error, a rank of a job, ranks that start here
    assert run("--", *PYTHON, "raise ValueError('RANK')") == ([], None)
    loses = f"import os; os.environ.pop('LOCAL_RANK'); {call}"
    assert run("--", *PYTHON, loses, env=RANK_OF_TWO) == ([], None)
    assert run("--nproc-per-node=2", "--", *PYTHON, loses) == ([], None)


def test_other_ends_have_no_such_cause(told):
    """The control: another exception, and one of these that a rank lived through."""
    for call in ("raise EOFError('no more data')", "raise ValueError('BdbQuit')",
                 "try: input()\nexcept EOFError: raise SystemExit(3)"):
        found = told(*PYTHON, ASKING.format(2, call))
        assert found.first["rank"] == 2 and found.first["cause"] is None
        assert "input.none" not in found.result.err
