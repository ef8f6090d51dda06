# SPDX-License-Identifier: Apache-2.0
"""The wheels: what is in them, and that pip and uv install and remove them."""

import base64
import hashlib
import io
import os
import shutil
import sys
import zipfile

import pytest

from conftest import (DIST, HOST, NAMES, REMOVED, TOP, VERSION, built, debian, in_tarball,
                      printed, read, run)
from test_install import USED, enter

ARCHES = ("aarch64", "x86_64")
INFO, DATA = f"rankinit-{VERSION}.dist-info", f"rankinit-{VERSION}.data"
PROGRAMS = {"rankinit", "rankinit-probe"}
MATERIALS = f"rankinit-{VERSION}.spdx.json"


def name(arch):
    return f"rankinit-{VERSION}-py3-none-manylinux2014_{arch}.musllinux_1_1_{arch}.whl"


def opened(arch):
    return zipfile.ZipFile(io.BytesIO(read(DIST, name(arch))))


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("arch", ARCHES)
def test_what_is_in_it(arch):
    """All that the tarball has, and the SBOM; regular files, of one date."""
    with opened(arch) as archive:
        assert archive.testzip() is None
        found = {it.filename: it for it in archive.infolist()}
        below = {at.split("/", 1)[1]: it for at, (it, content) in in_tarball(arch).items()
                 if content is not None}
        packed = {at.replace("bin/", f"{DATA}/scripts/") if at.startswith("bin/")
                  else f"{DATA}/data/{at}": it.mode for at, it in below.items()}
        assert set(found) == set(packed) | {f"{INFO}/{it}" for it in (
            "METADATA", "WHEEL", "RECORD", "sboms/rankinit.spdx.json")}
        assert {at: it.external_attr >> 16 for at, it in found.items() if at in packed} == {
            at: 0o100000 | mode for at, mode in packed.items()}
        assert len({it.date_time for it in found.values()}) == 1
        for program in PROGRAMS:
            assert archive.read(f"{DATA}/scripts/{program}") == read(built(arch), program)
        assert archive.read(f"{INFO}/sboms/rankinit.spdx.json") == read(DIST, MATERIALS)


def not_as_recorded(archive):
    """Names whose row has another digest or size."""
    rows = [line.split(",") for line in archive.read(f"{INFO}/RECORD").decode().splitlines()]
    assert [row[0] for row in rows] == archive.namelist()
    assert rows.pop() == [f"{INFO}/RECORD", "", ""]
    for at, digest, size in rows:
        content = archive.read(at)
        made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
        if (digest, size) != ("sha256=" + made.rstrip("="), str(len(content))):
            yield at


@pytest.mark.parametrize("arch", ARCHES)
def test_the_record_is_right(arch, tmp_path):
    """Each file once, with its digest and size; the control is a program with another byte."""
    with opened(arch) as archive:
        assert list(not_as_recorded(archive)) == []
        with zipfile.ZipFile(tmp_path / "other", "w") as other:
            for it in archive.infolist():
                content = archive.read(it)
                if it.filename == f"{DATA}/scripts/rankinit":
                    content = content[:-1] + bytes([content[-1] ^ 1])
                other.writestr(it, content)
    with zipfile.ZipFile(tmp_path / "other") as archive:
        assert list(not_as_recorded(archive)) == [f"{DATA}/scripts/rankinit"]


@pytest.mark.parametrize("arch", ARCHES)
def test_the_tags_are_those_of_its_name(arch):
    with opened(arch) as archive:
        lines = archive.read(f"{INFO}/WHEEL").decode().splitlines()
        about = archive.read(f"{INFO}/METADATA").decode()
    assert [line for line in lines if line.startswith("Tag: ")] == [
        f"Tag: py3-none-manylinux2014_{arch}", f"Tag: py3-none-musllinux_1_1_{arch}"]
    assert "Wheel-Version: 1.0" in lines and "Root-Is-Purelib: false" in lines
    assert f"\nName: rankinit\nVersion: {VERSION}\n" in about


def make(folder, when, **env):
    """As make.py does it, in a program of its own."""
    script = ("import os, sys, time; time.tzset(); sys.path.insert(0, sys.argv[1])\n"
              "import tree, wheel\n"
              "top, built, out, arch, when = sys.argv[2:]\n"
              "wheel.package(out, '1.2', arch, tree.files(top, built, []), b'{}', int(when))")
    os.makedirs(folder)
    run(sys.executable, "-B", "-c", script, os.path.join(TOP, "dist"), TOP, built(HOST),
        str(folder), HOST, str(when), env={**os.environ, **env})
    (made,) = os.listdir(folder)
    return read(str(folder), made)


def test_two_builds_are_the_same_bytes(tmp_path):
    first = make(tmp_path / "a", 1700000000, TZ="UTC")
    second = make(tmp_path / "a" / "folder" / "below", 1700000000, TZ="Asia/Tokyo",
                  PYTHONHASHSEED="7", LC_ALL="C.UTF-8")
    assert first == second
    assert make(tmp_path / "later", 1700086400, TZ="UTC") != first, "the control: another date"


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """A new environment with a pip; its folder."""
    folder = str(tmp_path_factory.mktemp("venv") / "new")
    done = run("/usr/bin/python3", "-m", "venv", folder, check=False)
    if done.returncode != 0:
        pytest.skip("python3-venv is not installed")
    return folder


def on_path(folder):
    return {"PATH": f"{folder}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent",
            "VIRTUAL_ENV": folder, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def check_installed(folder):
    """Programs, not scripts that start one; and what they do."""
    for program in PROGRAMS:
        assert read(folder, "bin", program) == read(built(HOST), program)
        assert os.stat(f"{folder}/bin/{program}").st_mode & 0o777 == 0o755
    assert read(folder, "share/man/man8/rankinit.8") == read(TOP, "docs", "rankinit.8")
    said = run("sh", "-c", "command -v rankinit; rankinit --version; rankinit -- sh -c 'exit 7'",
               env=on_path(folder), check=False)
    assert said.returncode == 7
    where, version = said.stdout.decode().splitlines()
    assert where == f"{folder}/bin/rankinit" and version.startswith(f"rankinit {VERSION} (")


def test_the_lines_of_the_page_in_a_new_venv(venv):
    """What they install goes again, to the last file."""
    before = files_below(venv)
    done = run("sh", "-euc", printed("wheel"), cwd=DIST, env=on_path(venv))
    assert done.stdout.decode().splitlines()[-1].startswith(f"rankinit {VERSION} (")
    check_installed(venv)
    assert run(f"{venv}/bin/pip", "check", env=on_path(venv)).stdout.startswith(b"No broken")
    run(f"{venv}/bin/pip", "uninstall", "-y", "rankinit", env=on_path(venv))
    assert {it for it in files_below(venv) - before if "__pycache__" not in it} == set()
    assert before <= files_below(venv)
    done = run("sh", "-c", "command -v rankinit", env=on_path(venv), check=False)
    assert done.returncode != 0, "the control: without it there is none"


def test_pip_takes_no_wheel_of_another_processor(venv):
    other = [arch for arch in ARCHES if arch != HOST][0]
    done = run(f"{venv}/bin/pip", "install", f"{DIST}/{name(other)}", env=on_path(venv),
               check=False)
    assert done.returncode != 0 and b"is not a supported wheel on this platform" in done.stderr


@pytest.fixture
def conda(tmp_path):
    """
    A prefix as conda makes one: an interpreter of its own in bin, its library below lib, and
    no pyvenv.cfg. The files are Debian's, without what only Debian's do: to look for what is
    installed, and to put it, in places of its own.
    """
    prefix, library = tmp_path / "env", f"lib/python3.{sys.version_info.minor}"
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    if not os.path.exists(f"/usr/{library}/sysconfig.py") or not os.path.exists(python):
        pytest.skip("there is no Python of Debian's")
    (prefix / library / "site-packages").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "history").write_text("")
    (prefix / "bin").mkdir()
    shutil.copy(python, prefix / "bin" / "python3")
    for entry in os.listdir(f"/usr/{library}"):
        if entry not in ("EXTERNALLY-MANAGED", "site-packages", "__pycache__", "sysconfig.py",
                         "sitecustomize.py"):
            (prefix / library / entry).symlink_to(f"/usr/{library}/{entry}")
    text = read("/usr", library, "sysconfig.py").decode()
    assert "prefix_scheme = 'posix_local'" in text
    (prefix / library / "sysconfig.py").write_text(
        text.replace("prefix_scheme = 'posix_local'", "prefix_scheme = 'posix_prefix'"))
    (prefix / library / "sitecustomize.py").write_text(
        f"import site\nsite.addsitedir({str(prefix / library / 'site-packages')!r})\n")
    return str(prefix)


def test_pip_in_a_prefix_of_conda_s(venv, conda):
    words = [f"{venv}/bin/pip", "--python", f"{conda}/bin/python3"]
    env = {**on_path(conda), "PYTHONDONTWRITEBYTECODE": "1"}
    del env["VIRTUAL_ENV"]
    before = files_below(conda)
    run(*words, "install", f"{DIST}/{name(HOST)}", env=env)
    check_installed(conda)
    run(*words, "uninstall", "-y", "rankinit", env=env)
    assert files_below(conda) == before


@pytest.fixture(scope="module")
def uv(tmp_path_factory):
    """uv, as its own wheel of PyPI has it."""
    if shutil.which("uv"):
        return shutil.which("uv")
    folder = str(tmp_path_factory.mktemp("uv"))
    done = run("/usr/bin/python3", "-m", "pip", "--disable-pip-version-check", "--retries=0",
               "--timeout=20", "install", "-q", "--no-deps", "--target", folder, "uv",
               check=False)
    if done.returncode != 0:
        pytest.skip("uv is not here, and pip cannot get it: " +
                    done.stderr.decode().strip().splitlines()[-1][:200])
    return f"{folder}/bin/uv"


def test_uv_pip_install(uv, tmp_path):
    folder = str(tmp_path / "new")
    env = {**on_path(folder), "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_OFFLINE": "1"}
    run(uv, "venv", "--python=/usr/bin/python3", folder, env=env)
    before = files_below(folder)
    run(uv, "pip", "install", f"{DIST}/{name(HOST)}", env=env)
    check_installed(folder)
    run(uv, "pip", "uninstall", "rankinit", env=env)
    assert files_below(folder) - before <= {".lock"}, "uv's own"


@pytest.fixture(scope="module")
def slim(tmp_path_factory):
    """A root as slim images of Python are: (run a script in it, in a folder of these files)."""
    path = debian("bookworm", tmp_path_factory, include="python3-venv")

    def work(script, *files):
        folder = tmp_path_factory.mktemp("release")
        for file in files:
            shutil.copy(file, folder)
        return enter(path, tmp_path_factory.mktemp("scratch"), ALONE + script, str(folder),
                     ["--net"])
    return work


# No compiler, and no network to get one from; then an environment of its own.
ALONE = """
for it in cc gcc g++ c++ clang tcc ld make; do if command -v $it; then exit 91; fi; done
test "$(grep -c : /proc/net/dev)" = 1 || exit 92
export LC_ALL=C.UTF-8 PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 UV_OFFLINE=1 UV_NO_INDEX=1
export VIRTUAL_ENV=/env PATH=/env/bin:$PATH
"""
GONE = "hash -r; if command -v rankinit; then exit 93; fi\n"


def test_pip_where_no_compiler_is(slim):
    """The lines of the page. The control is a package to compile, for which there is nothing."""
    status, said = slim("python3 -m venv /env\n" + printed("wheel") + USED +
                        printed("wheel", REMOVED) + GONE, f"{DIST}/{name(HOST)}")
    assert status == 0, said
    status, said = slim("""
python3 -m venv /env
mkdir /sources
echo 'int x;' >/sources/x.c
echo 'from setuptools import *
setup(name="x", ext_modules=[Extension("x", ["x.c"])])' >/sources/setup.py
pip install --no-build-isolation /sources""")
    assert status == 1 and f"'{HOST}-linux-gnu-gcc' failed: No such file or directory" in said


def test_uv_where_no_compiler_is(uv, slim):
    status, said = slim("./uv venv -q --python=/usr/bin/python3 /env\n"
                        f"./uv pip install {name(HOST)}\n" + USED +
                        "./uv pip uninstall rankinit\n" + GONE, f"{DIST}/{name(HOST)}", uv)
    assert status == 0, said


def test_names():
    """The release has one for each processor."""
    assert {name(arch) for arch in ARCHES} == {it for it in NAMES if it.endswith(".whl")}
