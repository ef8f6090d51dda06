# SPDX-License-Identifier: Apache-2.0
"""torchrun stops the culprit, writes to a terminal, or has its ranks write to files."""

import os
import pty
import re
import resource
import subprocess

import pytest

from conftest import PROGRAM, SECONDS, TRAIN, clean_env
from verdict import failed_first, names, names_none

LOSING = os.path.join(TRAIN, "torch_losing.py")
RUN = ["-m", "torch.distributed.run", "--nproc-per-node=2"]
LAST = re.compile(r"rankinit: verdict cause=(\S+) class=(\S+) retry=(\S+)(?: rank=(\d+))? ")


def environment(**more):
    return clean_env(GLOO_SOCKET_IFNAME="lo", PYTHONDONTWRITEBYTECODE="1", **more)


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(words, folder, **variables):
    """What rankinit says before torchrun, and its last line: cause, class, retry, rank."""
    job = subprocess.run([PROGRAM, "--", *words], env=environment(**variables), cwd=folder,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=SECONDS, check=False, preexec_fn=without_core)
    assert job.returncode == 1, job
    lines = [line for line in job.stderr.splitlines() if line.startswith("rankinit: ")]
    return lines, LAST.match(lines[-1]).groups()


@pytest.mark.parametrize("fault", ["late", "caught"])
def test_a_victim_that_aborts_first(python_with, tmp_path, fault):
    """torch's own root cause is the victim; what rank 1 has caught makes it no culprit."""
    lines, last = run([python_with("torch"), *RUN, LOSING], tmp_path, FAULT=fault)
    if fault == "late":
        assert failed_first(lines[0], "raised the error below, then was stopped while exiting")
        assert names(lines[0], 1, 1), lines
        assert lines[1] == "rankinit:   ValueError: bad batch 2", lines
        assert "rankinit:   rank 0: lost a peer, killed by SIGABRT (6)" in lines, lines
        assert last == ("exception", "own", "never", "1"), lines
        return
    assert names_none(lines[0], "rank 0 lost a peer"), lines
    assert last == ("unknown", "loss", "same", None), lines


def on_terminal(words, folder, **variables):
    """The same where torchrun's stderr is a terminal."""
    terminal, inner = pty.openpty()
    job = subprocess.Popen([PROGRAM, "--", *words], env=environment(**variables), cwd=folder,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=inner,
                           preexec_fn=without_core)
    os.close(inner)
    said = b""
    try:
        while part := os.read(terminal, 65536):
            said += part
    except OSError:     # it has no writer any more
        pass
    os.close(terminal)
    assert job.wait(timeout=SECONDS) == 1, said
    lines = [re.sub("\x1b[^m]*m", "", line) for line in said.decode().splitlines()]
    lines = [line for line in lines if line.startswith("rankinit: ")]
    return lines, LAST.match(lines[-1]).groups()


PLACES = {
    "pipe": (run, []),
    "terminal": (on_terminal, []),
    "terminal-record": (on_terminal, ["--log-dir=logs"]),
    "redirects-relative": (run, ["--redirects=3", "--log-dir=logs"]),
    "redirects-absolute": (run, ["--redirects=3", "--log-dir={folder}/logs"]),
    "redirects-terminal": (on_terminal, ["--redirects=3", "--log-dir=logs"]),
    "tee": (run, ["--tee=3", "--log-dir=logs"]),
    "tee-terminal": (on_terminal, ["--tee=3", "--log-dir=logs"]),
}


@pytest.mark.parametrize("place", PLACES)
def test_where_its_words_are(python_with, tmp_path, place):
    """The right rank, with its exception where that can be read, or none. RUNS=20 repeats it."""
    how, options = PLACES[place]
    words = [python_with("torch"), *RUN, *(one.format(folder=tmp_path) for one in options), LOSING]
    found = []
    for _ in range(int(os.environ.get("RUNS", "1"))):
        lines, last = how(words, tmp_path, **({"RECORD": "1"} if "record" in place else {}))
        assert last[3] in ("1", None), lines
        if place != "terminal":
            assert "rankinit:   ValueError: bad batch 2" in lines, lines
            assert last == ("exception", "own", "never", "1"), lines
        elif last[0] != "exception":    # its exception may have been seen from outside
            assert "stderr is a terminal, which rankinit does not read" in str(lines), lines
            assert last[:3] == ("unknown", "unknown", "same"), lines
        found.append(last)
    print(place, len(found), "right", sum(one[3] == "1" for one in found), "none",
          sum(one[3] is None for one in found))
