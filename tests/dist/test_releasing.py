# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/releasing.md that change files, in a copy of the tree."""

import os
import re

import pytest

from conftest import TOP, VERSION, read, run

PAGE = read(TOP, "docs", "releasing.md").decode()
BLOCKS = re.findall(r"((?:^    .*\n)+)", PAGE, re.M)
WRITES = ("V=", "N=", "sed ", "tests/lint/version.py")


def changing(block):
    lines = [line.strip() for line in BLOCKS[block].splitlines()]
    return "\n".join(line for line in lines if line.startswith(WRITES))


@pytest.fixture
def copy(tmp_path):
    names = run("git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "--cached", "--others",
                "--exclude-standard").stdout.decode().splitlines()
    (tmp_path / "list").write_text("\n".join(
        name for name in names if os.path.isfile(os.path.join(TOP, name))))
    (tmp_path / "tree").mkdir()
    run("sh", "-c", f'tar -C "$1" -cf - -T "$2/list" | tar -C "$2/tree" -xf -', "sh", TOP,
        str(tmp_path))
    return tmp_path / "tree"


def test_a_release_and_the_next_one(copy):
    run("sh", "-euc", changing(0), cwd=copy)
    news = (copy / "docs" / "NEWS.md").read_text()
    assert re.search(r"\A.*\n# News\n\n## 0\.2\.0, \d{4}-\d\d-\d\d\n", news)
    assert "VERSION := 0.2.0\n" in (copy / "Makefile").read_text()
    for name in ("README.md", "docs/install.md", "images/base/Dockerfile"):
        text = (copy / name).read_text()
        assert "0.2.0" in text and VERSION not in text, name
    run("sh", "-euc", changing(2), cwd=copy)
    news = (copy / "docs" / "NEWS.md").read_text()
    assert re.search(r"\n## 0\.3\.0, not released\n\n## 0\.2\.0, \d{4}-", news)
    run("tests/lint/version.py", str(copy), cwd=TOP)


def test_a_release_without_its_news(copy):
    """The control: the lint says what is left."""
    lines = [line for line in changing(0).splitlines() if "NEWS" not in line]
    done = run("sh", "-uc", "\n".join(lines), cwd=copy, check=False)
    assert done.returncode == 1
    assert b"the first news are of" in done.stdout


def test_the_workflow_does_what_the_page_says():
    text = read(TOP, ".github", "workflows", "release.yml").decode()
    for words in ("make check", "make dist", "make dist-check", "SHA256SUMS", "--draft"):
        assert words in text
    assert len(re.findall(r"contents: write", text)) == 1
    assert not re.search(r"secrets\.", text)
