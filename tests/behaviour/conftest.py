# SPDX-License-Identifier: Apache-2.0
"""
Behaviour tests: they run the release binary, mostly as process 1 of a PID
namespace, from an environment that holds only what a test puts there.

    RANKINIT   the program under test, build/rankinit unless set
    ACTORS     where the small C programs are built, build/tests unless set
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(__file__)), "box"))
# of that folder
import everybody  # noqa: E402
import schema  # noqa: E402
from box import Boxes, HERE  # noqa: E402
from reports import write  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = {
    "nsrun": os.path.join(ROOT, "tests/conformance/nsrun.c"),
    "deny": os.path.join(ROOT, "tests/fault/deny.c"),
    "probe": os.path.join(ROOT, "tests/conformance/probe.c"),
    "rawenv": os.path.join(HERE, "rawenv.c"),
    "crowd": os.path.join(HERE, "crowd.c"),
}
BUILD = ["-static", "-O2", "-Wall", "-Wextra", "-Werror", "-idirafter", "/usr/include",
         "-idirafter", "/usr/include/x86_64-linux-gnu"]


@pytest.fixture
def tmp_path():
    """A short one: of a long path not everything is shown, and a socket has no room for it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield pathlib.Path(folder)


@pytest.fixture(scope="session")
def rankinit():
    """Its copy, with rankinit-probe beside it."""
    path = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build/rankinit")))
    assert os.access(path, os.X_OK), f"{path} is not there: build it first"
    beside = os.path.join(os.path.dirname(path), "rankinit-probe")
    if os.path.exists(beside):
        everybody.copy(beside)
    return everybody.copy(path)


@pytest.fixture(scope="session")
def actor(tmp_path_factory):
    """The path of a C program; built where it is missing or out of date."""
    folder = os.environ.get("ACTORS", os.path.join(ROOT, "build/tests"))
    made = {}
    one_at_a_time = threading.Lock()

    def find(name):
        source = SOURCES[name]
        path = os.path.join(folder, name)
        if os.path.exists(path) and os.path.getmtime(path) >= os.path.getmtime(source):
            return path
        with one_at_a_time:
            if name not in made:
                made[name] = str(tmp_path_factory.mktemp("actors") / name)
                compiler = shutil.which("musl-gcc") or "cc"
                subprocess.run([compiler, *BUILD, "-o", made[name], source], check=True)
        return made[name]

    return find


@pytest.fixture(scope="session")
def nsrun(actor):
    if os.geteuid() != 0:
        pytest.skip("a PID namespace needs root")
    path = actor("nsrun")
    tried = subprocess.run([path, "-r", "1", "--", "/bin/true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("no PID namespace here: " + tried.stderr.decode().strip())
    return path


@pytest.fixture
def box(nsrun, rankinit):
    boxes = Boxes(nsrun, rankinit)
    yield boxes
    boxes.close()


@pytest.fixture(scope="session")
def at_once():
    """Do the same for many, a few of them at a time: at_once(function, items)."""
    def run(function, items):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(function, items))
    return run


@pytest.fixture(scope="session")
def tool():
    """The path of a program that a test compares with, or a skip."""
    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path
    return find


@pytest.fixture
def cgroup():
    """Make a group of a version 1 hierarchy: cgroup("memory", limit_in_bytes=...)."""
    made = []

    def make(controller, **values):
        folder = f"/sys/fs/cgroup/{controller}/rankinit-test-{os.getpid()}"
        try:
            os.mkdir(folder)
            made.append(folder)
            for name, value in values.items():
                with open(f"{folder}/{controller}.{name}", "w", encoding="ascii") as file:
                    file.write(str(value))
        except OSError as error:
            pytest.skip(f"no {controller} group can be made here: {error}")
        return folder

    yield make
    for folder in made:
        os.rmdir(folder)


@pytest.fixture
def blame(box, tmp_path):
    """The document that --blame=json prints of these reports."""
    def run(*documents, folder=tmp_path):
        write(folder, documents)
        result = box.run("--blame=json", str(folder), place="below")
        assert result.status == 0 and result.err == "", result
        document = json.loads(result.out)
        schema.check(document, "blame")
        return document
    return run
