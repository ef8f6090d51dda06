# SPDX-License-Identifier: Apache-2.0
"""--blame: what it prints of odd reports and files."""

import json
import os
import subprocess

import pytest

import schema
from box import refused
from peek import wait_until
from reports import (BEGAN, LOSS, OWN, STOPPED, clock, names, page, report, stopped, write)

NOT_STARTED = {"state": "not-started", "exit_code": None}


def test_the_name_of_a_file_is_not_always_utf_8(box, tmp_path):
    folder = os.fsencode(tmp_path)
    text = json.dumps(report(0, 1, OWN, STOPPED)).encode()
    for name, content in ((b"a\xff\xc3.json", text), (b"b\xe2\x82.json", b"[]")):
        with open(folder + b"/" + name, "wb") as file:
            file.write(content)
    result = box.run("--blame=json", str(tmp_path), place="below")
    document = json.loads(result.out.decode())
    assert document["suspects"][0]["file"] == f"{tmp_path}/a\\xff\\xc3.json"
    assert document["skipped"][0]["file"] == f"{tmp_path}/b\\xe2\\x82.json"


def test_a_cause_is_cut_between_characters(blame):
    failed = report(0, 1, OWN, STOPPED)
    failed["first_failure"]["cause"] = {
        "code": "x.y", "subject": "x" + "\u00e4" * 200, "text": "\u20ac" * 400, "hint": ""}
    line = blame(failed)["suspects"][0]["reason"][0]
    assert line == "x" + "\u00e4" * 127 + ": " + "\u20ac" * 166


def test_a_time_before_1970(blame, box, tmp_path):
    ahead = {"ahead_s": 31000000.0, "error_s": 0.0}
    document = blame(report(0, 2, OWN, STOPPED, clocks=ahead, began=1000.0),
                     report(1, 2, LOSS, LOSS))
    assert document["suspects"][0]["at"] is None and document["job"]["began"] is None
    assert ", at an unknown time" in page(box, tmp_path)


def test_the_same_reason_is_said_once(blame, box, tmp_path):
    document = blame(*(report(node, 40, OWN, STOPPED, at=60 + node / 100) for node in range(40)))
    assert len(document["suspects"]) == 40
    said = page(box, tmp_path)
    assert said.count("ValueError: bad batch 17") == 1
    assert "  and 32 more, with the same first line\n" in said
    again = report(39, 40, OWN, STOPPED, at=60, why="another one")
    blame(*(report(node, 40, OWN, STOPPED) for node in range(39)), again)
    assert page(box, tmp_path).count("ValueError: bad batch 17") == 8


def test_a_report_that_cannot_be_read_may_be_that_of_a_missing_node(blame, box, tmp_path):
    blame(report(0, 2, LOSS, LOSS))
    assert page(box, tmp_path).startswith("one node left no report and ")
    (tmp_path / "1.json").write_text(json.dumps(report(1, 2, OWN, STOPPED))[:700])
    assert page(box, tmp_path).startswith("one node left no readable report and ")


# Files.

def test_an_option_behind_a_file(box, tmp_path):
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    path = str(tmp_path / "0.json")
    for word in "--blame=json", "--json":
        line = refused(box.run("--blame", path, word, place="below"), 125, "option.value",
                       "--blame")
        assert f'"{word}" stands behind a file' in line
    # the controls: in front, and a file that has such a name
    assert json.loads(box.run("--blame=json", path, place="below").out)["finding"]
    os.rename(path, tmp_path / "--blame=json")
    result = box.run("--blame", "--", "--blame=json", place="below", cwd=tmp_path)
    assert result.status == 0 and b"failed first" in result.out


def test_a_pipe_is_not_opened(box, tmp_path):
    """Whoever waits for a reader of it waits on."""
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    os.mkfifo(tmp_path / "pipe.json")
    with subprocess.Popen(["sh", "-c", "exec echo x > pipe.json"], cwd=tmp_path) as writer:
        wait_until(lambda: os.path.exists(f"/proc/{writer.pid}/wchan"), "it is there")
        for _ in range(20):
            assert f"skipped: {tmp_path}/pipe.json: it is no file\n" in page(box, tmp_path)
        assert writer.poll() is None
        writer.kill()


def test_a_byte_order_mark(blame, tmp_path):
    text = json.dumps(report(1, 2, OWN, STOPPED))
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert names(blame(report(0, 2, LOSS, LOSS))) == [(1, 2)]


def test_a_report_of_another_version(blame, tmp_path):
    other = {**report(1, 2, OWN, STOPPED), "schema": "rankinit-report-2"}
    (tmp_path / "new.json").write_text(json.dumps(other))
    (skipped,) = blame(report(0, 2, LOSS, LOSS))["skipped"]
    assert skipped["why"].startswith("it is a report of another version of rankinit")


def test_a_folder_without_reports(box, tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path, [report(0, 1, OWN, STOPPED)])
    said = page(box, tmp_path, tmp_path / "empty")
    assert f"skipped: {tmp_path}/empty: no file in it has a name that ends in .json\n" in said
    assert "none of these 1 files" not in refused(
        box.run("--blame", str(tmp_path / "empty"), place="below"), 125, "blame.none",
        str(tmp_path / "empty"))


@pytest.mark.parametrize("odd", ["\u202e", "\u200b", "\u2066", "\ufeff"])
def test_what_turns_the_order_of_a_line_is_shown(blame, box, tmp_path, odd):
    document = blame(report(0, 1, OWN, STOPPED, why=f"a{odd}b"))
    schema.check(document, "blame")
    assert odd not in page(box, tmp_path)
