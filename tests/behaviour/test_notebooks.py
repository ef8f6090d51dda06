# SPDX-License-Identifier: Apache-2.0
"""
docs/notebooks.md: its cells, as IPython runs them. `!` is the shell's child on a terminal of its
own (IPython/utils/_process_posix.py), a cell of %%bash is what bash reads from a pipe
(IPython/core/magics/script.py), and another cell is Python's.
"""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from peek import wait_until
from test_documents import blocks, job, read  # noqa: F401  a fixture
from test_terminal import CTRL_C, terminal  # noqa: F401  a fixture

PAGE = "docs/notebooks.md"
REASON = "rankinit:   ValueError: bad batch 17"
UNREAD = "why is not known: stderr is a terminal"
# It saves when it is told to stop, if it gets that far.
SAVES = """\
import os, signal, sys, time
def save(*_):
    if os.path.exists("slow"):
        open(f"begun.{os.environ['RANK']}", "w").close()
        time.sleep(60)
    open(f"saved.{os.environ['RANK']}", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGINT, save)
open(f"ready.{os.environ['RANK']}", "w").close()
time.sleep(60)
"""


def cell(first):
    """The one whose first line begins so."""
    found, = [lines for lines in blocks(PAGE) if lines[0].startswith(first)]
    return found


def shown(start):
    """The `!` line of the table that begins so, without its mark."""
    found, = re.findall(rf"^\| `!({re.escape(start)}[^`]*)` \|", read(PAGE), re.M)
    return found


def on_a_terminal(run, terminal, line):  # noqa: F811
    """The status, which is `_exit_code`, and what appears there."""
    with open(terminal.path, "r+b", buffering=0) as slave:
        done = run(line, slave)
    terminal.look(0.5)
    return done.returncode, terminal.text.replace("\r\n", "\n")


@pytest.fixture
def at(job):  # noqa: F811
    """at(line, slave): run it where the page's files are, on that terminal or with pipes."""
    folder = job[1]
    env = {"PATH": f"{folder}/bin:{os.defpath}", "NO_COLOR": "1"}

    def start(line, slave=None, words=("sh", "-c")):
        streams = {} if slave is None else {"stdin": slave, "stdout": slave, "stderr": slave}
        return subprocess.run([*words, line], cwd=folder, env=env, check=False, timeout=50, **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
            "start_new_session": True, **streams})
    start.folder, start.env = folder, env
    return start


@pytest.mark.parametrize("launcher", [False, True])
def test_a_cell_of_bash(at, launcher):
    mark, command = cell("%%bash")
    assert mark == "%%bash"
    if launcher:
        command, = re.findall(r"^\| `%%bash` \|.*`(rankinit -- torchrun [^`]*)`", read(PAGE), re.M)
    done = subprocess.run(["bash"], input=command, cwd=at.folder, env=at.env, text=True,
                          capture_output=True, timeout=50, check=False)
    assert done.returncode == 1 and REASON in done.stderr, done.stderr


def test_a_cell_of_one_line(at, terminal):  # noqa: F811
    status, text = on_a_terminal(at, terminal, shown("rankinit --nproc"))
    assert status == 1 and REASON in text, text


def test_a_launcher_on_a_terminal(at, terminal):  # noqa: F811
    """The rank, and no reason; the words of the page bring it."""
    status, text = on_a_terminal(at, terminal, shown("rankinit -- torchrun"))
    assert status == 1 and UNREAD in text and REASON not in text, text
    terminal.text = ""
    piped, = re.findall(r"`(2>&1 [^`]*)`", read(PAGE))
    _, text = on_a_terminal(at, terminal, f"{shown('rankinit -- torchrun')} {piped}".replace(
        "\\|", "|"))
    assert UNREAD not in text and REASON in text, text


@pytest.mark.parametrize("port", [[], ["--master-port=29501"]])
def test_the_kernel_as_the_only_rank(at, port):
    assert "`--master-port=29501`" in read(PAGE)
    code = "\n".join(cell("import json")).replace('=json"]', f'=json", *{port}]')
    done = at(code + "\nprint(json.dumps(dict(os.environ)))", words=(sys.executable, "-ISc"))
    got = json.loads(done.stdout)
    assert [got[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")] == [
        "0", "1", "0", "127.0.0.1"]
    assert (got["MASTER_PORT"] == "29501") == bool(port)


def files(folder, word):
    return sorted(name for name in os.listdir(folder) if name.startswith(word))


@pytest.mark.parametrize("number, saved, status", [
    (signal.SIGTERM, ["saved.0", "saved.1"], 0), (signal.SIGKILL, [], -9)], ids=["stop", "kill"])
def test_in_the_background(at, number, saved, status):
    """`job.terminate()` leaves time for a checkpoint; the control is the end that a cell gets."""
    with open(f"{at.folder}/train.py", "w", encoding="ascii") as file:
        file.write(SAVES)
    assert "`job.terminate()`" in read(PAGE) and "start_new_session=True" in cell("import subp")[2]
    code = "\n".join(cell("import subprocess")) + f"""
import os, time
while not (os.path.exists("ready.0") and os.path.exists("ready.1")):
    time.sleep(0.01)
assert os.getsid(job.pid) == job.pid and job.poll() is None
job.send_signal({int(number)})
print(job.wait())"""
    done = at(code, words=(sys.executable, "-ISc"))
    assert done.stdout.decode().splitlines()[-1] == str(status), done.stdout
    assert files(at.folder, "saved.") == saved


def test_the_button(at, box, terminal):  # noqa: F811
    """Ctrl-C, and SIGKILL for what has not ended: no rank is left, and none has saved."""
    with open(f"{at.folder}/train.py", "w", encoding="ascii") as file:
        file.write(SAVES)
    open(f"{at.folder}/slow", "w", encoding="ascii").close()
    words = shown("rankinit --nproc").split()
    its = box.start(*words[1:], tty=terminal.path, place="below", cwd=at.folder)
    wait_until(lambda: len(files(at.folder, "ready.")) == 2, "the ranks")
    terminal.type(CTRL_C)
    wait_until(lambda: files(at.folder, "begun."), "Ctrl-C")
    its.signal(signal.SIGKILL)
    wait_until(lambda: not its.others(), "the end of all ranks")
    assert its.wait().status == -9 and files(at.folder, "saved.") == []


def test_the_server_s_container():
    """Jupyter's tini is replaced as any; the other two lines fit together."""
    line, = re.findall(r"`RUN (ln [^`]*)`", read(PAGE))
    assert f"`{line}`" in " ".join(read("docs/coming-from.md").split())
    words = [json.loads(line.split(None, 1)[1]) for line in cell("ENTRYPOINT")]
    assert words[0] == ["rankinit"] and words[1][0] == "jupyter"
