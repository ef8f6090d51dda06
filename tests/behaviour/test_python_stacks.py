# SPDX-License-Identifier: Apache-2.0
"""
What lib/python reads of real interpreters, by build/release/tests/pystack: compared with what
faulthandler says inside of them, with py-spy's answer from outside, and with their own line tables.
"""

import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from peek import PATIENCE, field, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/python"))
import interpreters  # noqa: E402  pylint: disable=wrong-import-position
import raises  # noqa: E402  pylint: disable=wrong-import-position

with open(os.path.join(TOP, "tests/python/program.py"), encoding="utf-8") as source:
    PROGRAM = source.read()
FOUND = interpreters.found()
# With faulthandler, as a file that no machine has.
START = """import faulthandler, signal
faulthandler.register(signal.SIGUSR1, all_threads=True)
exec(compile({!r}, "/job/train.py", "exec"))
"""
EVERY = pytest.mark.parametrize("words", [words for _, words in FOUND],
                                ids=[name for name, _ in FOUND])
NATIVE = [pytest.param(words, id=name) for name, words in FOUND if os.uname().machine in name]
OWN = pytest.mark.parametrize("words", NATIVE)


@pytest.fixture(name="pystack", scope="session")
def pystack_fixture():
    path = os.environ.get("PYSTACK", os.path.join(TOP, "build/release/tests/pystack"))
    assert os.access(path, os.X_OK), f"{path} is not there: make actors"
    return path


@contextlib.contextmanager
def started(words, text, **options):
    """A Python that runs this, and has printed its first line: (process, that line)."""
    with subprocess.Popen([*words, "-I", "-c", text], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **options) as python:
        try:
            yield python, python.stdout.readline().decode().strip()
        finally:
            python.kill()


def look(pystack, pid, **options):
    """What pystack says: {answer, release, reads, threads: [{tid, depth, ..., frames}]}."""
    done = subprocess.run([pystack, str(pid)], capture_output=True, timeout=PATIENCE, check=False,
                          **options)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.decode("utf-8", "surrogateescape").split("\n")[:-1]
    found = re.fullmatch(r"answer (\w+) release (.*) reads (\d+)", first)
    seen = {"answer": found[1], "release": found[2], "reads": int(found[3]), "threads": []}
    for line in lines:
        head = re.fullmatch(r"thread (\d+) depth (\d+) hash (\w+) answer (\w+) reads (\d+)", line)
        if head:
            seen["threads"].append({"tid": int(head[1]), "depth": int(head[2]), "hash": head[3],
                                    "answer": head[4], "reads": int(head[5]), "frames": []})
        elif line.startswith("raised "):
            seen["threads"][-1]["raised"] = line.removeprefix("raised ").split("\t")
        elif line.startswith("left "):
            seen["left"] = line
        elif line.startswith("threads "):
            seen["torn"] = line  # it begins or ends one just now
        else:
            file, number, function, _ = line.split("\t")
            seen["threads"][-1]["frames"].append((file, int(number), function))
    return seen


def settled(pystack, pid):
    """Two looks that are equal, the innermost frame of all threads in their wait."""
    def twice():
        first, second = look(pystack, pid), look(pystack, pid)
        threads = first["threads"]
        return first if first == second and threads and all(
            thread["frames"] and thread["frames"][0][2] == "wait" for thread in threads) else None
    return wait_until(twice, "two equal looks")


def shown(frame):
    """A frame as all who show it agree: no qualified name, no more than fits, no odd characters."""
    file, line, function = frame
    file = file.encode("ascii", "backslashreplace").decode()
    # faulthandler's \xff is a character, ours a byte
    return (file[-100:].replace("\\udcff", "?"), line,
            function.rpartition(".")[2][:200] if "..." not in function else function[:200])


def of_faulthandler(text):
    """Its dump: a list of threads, each a list of frames."""
    threads = []
    for line in text.splitlines():
        frame = re.fullmatch(r'  File "(.*)", line (\d+) in (.*)', line)
        if re.match(r"(Current t|T)hread 0x", line):
            threads.append([])
        elif frame and threads:
            threads[-1].append((frame[1], int(frame[2]), frame[3]))
    return threads


def faulthandler_of(python):
    """What it prints on a signal, up to the last frame of the main thread."""
    python.send_signal(signal.SIGUSR1)
    text = b""
    while not re.search(rb'line \d+ in <module>\n  File "<string>", line \d+ in <module>\n', text):
        text += os.read(python.stderr.fileno(), 65536)
    return text.decode("ascii")


@EVERY
def test_stacks_are_those_of_faulthandler(pystack, words):
    with started(words, START.format(PROGRAM)) as (python, _):
        seen = settled(pystack, python.pid)
        dumped = of_faulthandler(faulthandler_of(python))
    assert seen["answer"] == "ok"
    assert len(dumped) == len(seen["threads"]) == 5
    for thread, frames in zip(seen["threads"], dumped):
        assert thread["answer"] == "ok"
        # it prints a hundred, we keep 64
        assert [shown(frame) for frame in thread["frames"]] == \
            [shown(frame) for frame in frames[:64]]
        assert len(thread["frames"]) == min(thread["depth"], 64)
        assert thread["depth"] == len(frames) or thread["depth"] > 100
        # the frame, its code, two names, a table; more where one crosses a page
        assert thread["reads"] <= 6 * min(thread["depth"], 64) + thread["depth"] + 10
    assert max(thread["depth"] for thread in seen["threads"]) == 103


def in_hand(pystack, words, name):
    """What the main thread has in hand that runs this function of raises.py; None: nothing."""
    def seen():
        """Once it sleeps in that function, which it does once only."""
        before = look(pystack, python.pid)["threads"]
        sleeps = field(python.pid, "State") == "S (sleeping)"
        after = look(pystack, python.pid)["threads"]
        functions = [frame[2] for thread in before[-1:] for frame in thread["frames"]]
        return after[-1] if sleeps and name in functions else None
    with subprocess.Popen([*words, "-W", "ignore", "-I", raises.__file__], env={"THREADS": name},
                          stdout=subprocess.DEVNULL) as python:
        try:
            return wait_until(seen, name).get("raised")
        finally:
            python.kill()


@EVERY
def test_exceptions_in_hand(pystack, words):
    """Of each function: what it has in hand, and whether that leaves the program."""
    functions = raises.LEAVES + raises.STAYS + raises.NOTHING
    minor = int(re.search(r"3\.(\d+)", os.path.basename(words[-1]))[1])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        seen = dict(zip(functions, pool.map(
            lambda function: in_hand(pystack, words, function.__name__), functions)))
    line = raises.step.__code__.co_firstlineno + 2
    for function in raises.LEAVES + raises.STAYS:
        head, place, kind, message = seen[function]
        # before 3.11 there is no exception table
        leaves = int(function in raises.LEAVES and minor >= 11)
        assert head.startswith(f"ok leaves {leaves} by "), (function, head)
        assert (place, kind, message) == (f"{raises.__file__}:{line} step", "ValueError",
                                          "bad batch 17"), function
    assert [seen[function] for function in raises.NOTHING] == [None] * len(raises.NOTHING)


@OWN
def test_threads_have_the_ids_of_the_kernel(pystack, words):
    with started(words, START.format(PROGRAM)) as (python, _):
        seen = settled(pystack, python.pid)
        tasks = sorted(int(task) for task in os.listdir(f"/proc/{python.pid}/task"))
    assert sorted(thread["tid"] for thread in seen["threads"]) == tasks
    assert seen["threads"][-1]["tid"] == python.pid


with open(os.path.join(TOP, "tests/python/crowd.py"), encoding="utf-8") as source:
    CROWD = source.read()


@OWN
def test_the_main_thread_of_a_crowd(pystack, words):
    """CPython has the newest first, so it stands behind all others."""
    with started(words, CROWD) as (python, line):
        assert line == "there"
        seen = settled(pystack, python.pid)
        assert len(os.listdir(f"/proc/{python.pid}/task")) == 5001
    assert seen["answer"] == "ok"
    assert seen["threads"][-1]["tid"] == python.pid
    assert [frame[2] for frame in seen["threads"][-1]["frames"]] == ["wait", "main", "<module>"]


def spy():
    found = [os.environ.get("PY_SPY", ""), shutil.which("py-spy") or "",
             os.path.join(TOP, "build/frameworks/torch/bin/py-spy")]
    return next((path for path in found if os.access(path, os.X_OK)), None)


@OWN
def test_stacks_are_those_of_py_spy(pystack, words):
    if spy() is None:
        pytest.skip("py-spy is not installed")
    # it asks /proc/PID/exe, which is a loader if that was started
    with started(interpreters.as_itself(words), START.format(PROGRAM)) as (python, _):
        seen = settled(pystack, python.pid)
        done = subprocess.run([spy(), "dump", "--nonblocking", "--json", "--pid", str(python.pid)],
                              capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("py-spy cannot read this one: " + done.stderr.decode()[-200:])
    theirs = [[shown((frame["filename"], frame["line"], frame["name"]))
               for frame in thread["frames"]][:64] for thread in json.loads(done.stdout)]
    # it leaves out a frame whose file's name is no UTF-8
    ours = [[shown(frame) for frame in thread["frames"] if "\udcff" not in frame[0]]
            for thread in seen["threads"]]
    assert len(ours) == 5
    assert sorted(theirs) == sorted(ours)


@OWN
def test_a_forked_child_has_its_own_ids(pystack, words):
    text = "import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\ntime.sleep(1000)"
    with started(words, text) as (python, child):
        seen = wait_until(lambda: [thread for thread in look(pystack, child)["threads"]
                                   if thread["frames"][0][1] == 4],
                          "the child sleeps")
        os.kill(int(child), signal.SIGKILL)
        assert python.poll() is None
    assert [thread["tid"] for thread in seen] == [int(child)]


@OWN
def test_interpreters_in_an_interpreter(pystack, words):
    text = """import sys, threading, time
if sys.version_info >= (3, 13):
    from _interpreters import create, exec as run
else:
    from _xxsubinterpreters import create, run_string as run
inner = "import time\\ndef inside():\\n    print(1, flush=True)\\n    time.sleep(1000)\\ninside()"
threading.Thread(target=run, args=(create(), inner), daemon=True).start()
time.sleep(1000)"""
    with started(words, text) as (python, _):
        def functions():
            return [[frame[2].rpartition(".")[2] for frame in thread["frames"]]
                    for thread in look(pystack, python.pid)["threads"]]
        wait_until(lambda: functions() == [
            ["inside", "<module>"], ["run", "_bootstrap_inner", "_bootstrap"], ["<module>"]],
            "all of them sleep")
        assert look(pystack, python.pid)["threads"][-1]["tid"] == python.pid


@OWN
def test_a_stopped_process_answers(pystack, words):
    with started(words, START.format(PROGRAM)) as (python, _):
        before = settled(pystack, python.pid)
        python.send_signal(signal.SIGSTOP)
        assert look(pystack, python.pid) == before


@OWN
def test_a_running_process_may_be_torn_but_is_never_wrong(pystack, words):
    """It always is in one of these functions, or what was read says that it changed."""
    text = ("import os\ndef a(n):\n    return n + 1\ndef b(n):\n    return a(n) + a(n)\n"
            "print(1, flush=True)\nwhile True: b(1)")
    allowed = {("a", "b", "<module>"), ("b", "<module>"), ("<module>",)}
    with started(words, text) as (python, _):
        stacks = []

        def has_seen():
            threads = look(pystack, python.pid)["threads"]
            if threads and threads[0]["answer"] == "ok":
                stacks.append(tuple(frame[2] for frame in threads[0]["frames"]))
            return len(stacks) > 50
        wait_until(has_seen, "whole stacks")
    assert len([stack for stack in stacks if stack in allowed]) >= 0.9 * len(stacks)
    assert ("<module>",) in stacks or ("b", "<module>") in stacks


@OWN
def test_another_user_without_capabilities(pystack, words):
    if os.geteuid() != 0:
        pytest.skip("to become somebody else needs root")
    own = {"cwd": "/", "user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run([*words, "-c", ""], capture_output=True, check=True, **own)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"another user may not run this interpreter: {error}")
    copy = shutil.copy(pystack, "/dev/shm/pystack-test")
    try:
        os.chmod(copy, 0o755)
        with started(words, "import time\nprint(1, flush=True)\ntime.sleep(1000)", **own) \
                as (python, _):
            wait_until(lambda: [thread["frames"] for thread in
                                look(copy, python.pid, **own)["threads"]] ==
                       [[("<string>", 3, "<module>")]], "it sleeps, and can be read")
    finally:
        os.unlink(copy)


def test_a_process_without_python_is_none(pystack):
    with subprocess.Popen(["/bin/sleep", "1000"]) as sleep:
        try:
            assert look(pystack, sleep.pid)["answer"] == "none"
        finally:
            sleep.kill()


@pytest.mark.parametrize("minor, release", [(8, "3.8 or older"), (7, "3.8 or older"), (6, "")])
def test_an_older_python_is_named(pystack, minor, release):
    path = shutil.which(f"python3.{minor}", path=os.pathsep.join(
        interpreters.folders()))
    if path is None:
        pytest.skip(f"there is no Python 3.{minor} here")
    text = "import time\nprint(1, flush=True)\ntime.sleep(1000)"
    with started([path], text) as (python, _):
        seen = look(pystack, python.pid)
    assert (seen["answer"], seen["release"]) == ("unknown" if release else "none", release)
    assert not seen["threads"]


# All of the library takes a minute each: LINES=. for that
@OWN
def test_lines_are_those_of_the_library(pystack, words):
    packages = os.environ.get("LINES", "asyncio json typing dataclasses").split()
    done = subprocess.run([*words, "-W", "ignore", os.path.join(TOP, "tests/python/tables.py"),
                           pystack, *packages], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 1000


@pytest.mark.parametrize("compiler", ["gcc", "aarch64-linux-gnu-gcc"])
def test_offsets_are_those_of_the_headers(compiler):
    done = subprocess.run([sys.executable, os.path.join(TOP, "tests/python/offsets.py"),
                           f"--cc={compiler}"], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout.rpartition("skip: ")[2].strip())
    assert done.returncode == 0, done.stdout + done.stderr
