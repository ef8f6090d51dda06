# SPDX-License-Identifier: Apache-2.0
"""
Has an uncaught exception left a Python program, or is one in hand that does for certain? What
build/release/tests/pystack says of the programs of leaving.py and in_hand.py, both in tests/python,
in every interpreter.
"""

import concurrent.futures
import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import pytest

from peek import PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/python"))
import in_hand  # noqa: E402  pylint: disable=wrong-import-position
import interpreters  # noqa: E402  pylint: disable=wrong-import-position
import leaving  # noqa: E402  pylint: disable=wrong-import-position

TERMINAL = "a terminal"     # as stdin
NATIVE = [pytest.param(name, words, id=name) for name, words in interpreters.found()
          if os.uname().machine in name]
AT_ONCE = 12
# Looks of which all must say the same, and what lies between them.
LOOKS, PAUSE = 4, 0.05


# Bound early: when __del__ of a global runs, the other globals are None.
PRELUDE = """import atexit, os, sys, threading, time
def tell(text=b"hangs\\n", write=os.write,
         file=os.open(os.environ["READY"], os.O_WRONLY | os.O_APPEND)):
    write(file, text)
def hang(*_, tell=tell, sleep=time.sleep):
    tell()
    while True:
        sleep(1000)
def look_at(pid):
    tell(b"look %d\\n" % pid)
def fail(*_):
    raise ValueError("bad batch 17")
def waits():
    threading.Thread(target=hang).start()
def keep(error):
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.last_exc = error
"""

@pytest.fixture(name="pystack", scope="session")
def pystack_fixture():
    path = os.environ.get("PYSTACK", os.path.join(TOP, "build/release/tests/pystack"))
    assert os.access(path, os.X_OK), f"{path} is not there: make actors"
    return path


def write(folder, text, how):
    """Writes the program's files: the words behind the interpreter, and its stdin or None."""
    path, job = os.path.join(folder, "train.py"), os.path.join(folder, "job")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PRELUDE + text)
    if how in ("folder", "package", "zip"):
        os.mkdir(job)
        os.replace(path, os.path.join(job, "__main__.py"))
    if how == "zip":
        shutil.make_archive(job, "zip", job)
    if how == "prompt":
        os.replace(path, os.path.join(folder, "prelude.py"))
        with open(os.path.join(folder, "prelude.py"), "w", encoding="utf-8") as file:
            file.write(PRELUDE)
    return {
        "-m": (["-m", "train"], None), "-c": (["-c", PRELUDE + text], None),
        "stdin": (["-"], PRELUDE + text), "folder": ([job], None), "package": (["-m", "job"], None),
        "zip": ([job + ".zip"], None), "-u -X dev": (["-u", "-X", "dev", path], None),
        "prompt": (["-i", "-c", ""], "from prelude import *\nimport os, sys\n" + text + "\n"),
        "-i": (["-i", path], TERMINAL), "inspect": ([path], TERMINAL), "open": ([path], TERMINAL),
    }.get(how, ([path], None))


def look(pystack, pid):
    """What a process shows, and all that was read of it; an exception where it has ended."""
    done = subprocess.run([pystack, str(pid)], capture_output=True, timeout=PATIENCE, check=True)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if not lines or not lines[0].startswith("answer ok"):
        return "torn", lines
    left = [line for line in lines if line.startswith("left ")]
    # the main thread's is the last
    own = lines[max([0, *(i for i, line in enumerate(lines) if line.startswith("thread "))]):]
    if left:
        return ("left" if left[0].startswith("left ok\t") else "torn"), lines
    in_hand = any(line.startswith("raised ok leaves 1 ") for line in own)
    return ("hand" if in_hand else "none"), lines


def looked_at(path, pid):
    """Which process to look at, None while it does not hang yet."""
    with open(path, encoding="ascii") as file:
        said = file.read().splitlines()
    named = [int(line.split()[1]) for line in said if line.startswith("look ")]
    return named[-1] if named else pid if "hangs" in said else None


def ends_with(pystack, path, python, shows, prompts):
    """
    Waits until it shows this in several looks one after the other; says what it showed else. One
    that comes to a prompt may show for a moment that it has left its program.
    """
    until, seen, lines = time.monotonic() + PATIENCE, [], []
    while time.monotonic() < until:
        time.sleep(PAUSE)
        if python.poll() is not None:
            return f"has ended with {python.returncode}"
        pid = looked_at(path, python.pid)
        if pid is None:
            continue
        shown, lines = look(pystack, pid)
        seen.append((shown, lines))
        if shown not in (shows, leaving.NONE, "torn") and not prompts:
            break
        if len(seen) >= LOOKS and all(one == seen[-1] and one[0] == shows
                                      for one in seen[-LOOKS:]):
            return None
    return f"showed {[one[0] for one in seen]}\n" + "\n".join(lines)


def run_row(pystack, words, folder, row):
    name, shows, text, how, _ = row
    path = os.path.join(folder, "ready")
    with open(path, "w", encoding="ascii"):
        pass
    more, stdin = write(folder, text, how)
    env = {"READY": path, "PATH": os.environ["PATH"], "PYTHONPATH": folder, "TERM": "dumb",
           **({"PYTHONINSPECT": "1"} if how == "inspect" else {})}
    terminal = pty.openpty() if stdin == TERMINAL else ()
    with subprocess.Popen([*words, *more], cwd=folder, env=env, start_new_session=True,
                          stdin=terminal[1] if terminal else subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as python:
        try:
            if not terminal:
                python.stdin.write((stdin or "").encode())
                python.stdin.flush()
            if how == "stdin":
                python.stdin.close()
            wrong = ends_with(pystack, path, python, shows, terminal or how == "prompt")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(python.pid, signal.SIGKILL)
            for end in terminal:
                os.close(end)
    return f"{name}: {wrong}" if wrong else None


@pytest.mark.parametrize("name, words", NATIVE)
def test_what_programs_show(pystack, name, words, tmp_path):
    minor = int(name.split("-")[0].split(".")[1])
    # one that its own loader has started finds that as its executable
    rows = [(row[0], leaving.NONE if row[1] == leaving.HAND and minor < 11 else row[1], *row[2:])
            for row in in_hand.ROWS if minor in row[4] and (len(words) == 1 or row[3] != "image")]
    folders = [tmp_path / str(i) for i in range(len(rows))]
    for folder in folders:
        folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        said = pool.map(lambda folder, row: run_row(pystack, words, str(folder), row),
                        folders, rows)
        wrong = [one for one in said if one]
    assert not wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong)
    assert {row[1] for row in rows} >= {leaving.LEFT, leaving.NONE}
