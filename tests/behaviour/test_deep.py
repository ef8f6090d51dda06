# SPDX-License-Identifier: Apache-2.0
"""
"deep", by --require and --expect: when libraries are loaded, in which process, and what is said of
libraries of the tests' own that crash, hang, flood and lie.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import pytest

import peek
from box import BASE, refused, warned
from deep import DEEP, brief, fake_fixture, look, mpi, of, probe_fixture, verbs
from peek import PATIENCE, wait_until

__all__ = ["fake_fixture", "probe_fixture"]     # fixtures, by their own names

RANK = {f"OMPI_COMM_WORLD_{name}": value for name, value in
        (("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "2"))}


# When anything is run.

def executed(tool, trace, words, env=None):
    subprocess.run([tool("strace"), "-f", "-e", "trace=execve", "-o", str(trace), *words],
                   env={**BASE, **(env or {})}, timeout=PATIENCE, check=True,
                   capture_output=True)
    return re.findall(r'execve\("([^"]+)"', trace.read_text())


def test_nothing_is_executed_without_it(rankinit, probe, fake, tool, tmp_path):
    env = {"LD_LIBRARY_PATH": fake("mpi")}

    def programs(*options):
        return executed(tool, tmp_path / "trace", [rankinit, *options], env)
    assert programs("--check", "--checks=all") == [rankinit]
    assert programs("--check", DEEP) == [rankinit]
    assert programs("--expect=mpi,ofed", "--", "/bin/true") == [rankinit, "/bin/true"]
    # the control
    assert probe in programs("--check", "--checks=mpi.version", "--expect=deep")
    assert probe in programs("--check", "--require=deep")


def test_nor_of_a_recorded_machine(rankinit, probe, tool, tmp_path):
    words = [rankinit, "--check", "--require=deep", "--root=/"]
    assert executed(tool, tmp_path / "trace", words) == [rankinit]
    status, checks = look(rankinit, "--root=/")
    assert status == 0 and {check["status"] for check in checks} == {"skip"}
    assert "rankinit runs no code of a recorded machine or an image" in checks[0]["text"]
    status, checks = look(rankinit, "--root=/", "--require=mpi.version")
    assert (status, brief(checks, "mpi.version")) == (123, [("unknown", "probe.off")])


def test_asked_for_without_it(box):
    """By its id: no fault of the node's, so no 123; every rank of a job refuses alike."""
    words = ["--", "sh", "-c", "echo ran"]
    for option, subject in (("--require=mpi.version", "--require"),
                            ("--expect=ofed,ib.verbs", "--expect")):
        for env in (RANK, {**RANK, "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                           "OMPI_COMM_WORLD_RANK": "1"}):
            result = box.run(option, *words, env=env)
            assert "needs deep; add deep" in refused(result, 125, "option.value", subject)
        assert "needs deep" in refused(box.run("--check", option), 125, "option.value", subject)
        assert "needs deep" in box.run("--explain", option, *words, env=RANK).out.decode()
    image = {"RANKINIT_REQUIRE": "mpi.version"}
    shell = box.run(*words, env=image)
    assert (shell.status, shell.out) == (0, b"ran\n"), "a shell in such an image"
    warned(shell, "check.unasked", "RANKINIT_REQUIRE")
    refused(box.run(*words, env={**RANK, **image}), 125, "option.value", "RANKINIT_REQUIRE")
    # what names it among others asks for those that run
    family = box.run("--checks=default,^ib.*", "--require=mpi.*,shm=4k", *words, env=RANK)
    assert "needs deep" not in family.err
    off = box.run("--require=ib.verbs", "--checks=default,^ib.verbs", *words, env=RANK)
    assert (off.status, off.out) == (0, b"ran\n"), "nothing is to run"
    assert "ib.verbs is not checked" in warned(off, "check.unasked", "--require")


def test_a_launch(box, probe, fake):
    env = {**RANK, "LD_LIBRARY_PATH": fake("mpi", IN_VERSION="abort()")}
    words = ["--checks=mpi.version", "--", "sh", "-c", "echo ran"]
    result = box.run("--expect=deep", *words, env=env)
    assert (result.status, result.out) == (0, b"ran\n")
    library = f"{env['LD_LIBRARY_PATH']}/libmpi.so.40"
    assert "by SIGABRT" in warned(result, "mpi.version.crashed", library)
    assert "SIGABRT" in box.run(*words, env={**env, "RANKINIT_EXPECT": "deep"}).err
    # the control
    assert box.run(*words, env=env).err == ""
    for asked in ("deep,mpi", "deep"):
        unfit = box.run(f"--require={asked}", *words, env=env)
        assert (unfit.status, unfit.out) == (123, b""), asked
    fit = box.run("--require=deep", *words, env={**RANK, "LD_LIBRARY_PATH": fake("mpi")})
    assert (fit.status, fit.err) == (0, "")


# The program itself.

@pytest.fixture(name="apart")
def apart_fixture(rankinit, probe):
    """A copy of rankinit in a folder of its own that everybody may enter; and of the probe."""
    folder = tempfile.mkdtemp(prefix="apart-")
    os.chmod(folder, 0o755)
    for path in (rankinit, probe):
        shutil.copy(path, folder)
    yield folder
    shutil.rmtree(folder)


def test_no_probe(apart, fake):
    os.remove(f"{apart}/rankinit-probe")
    env = {"LD_LIBRARY_PATH": fake("mpi"), "PATH": "/bin"}
    status, checks = look(f"{apart}/rankinit", env=env)
    assert status == 0
    assert set(brief(checks, "mpi.version")) == {("unknown", "probe.missing")}
    assert of(checks, "mpi.version")[0]["subject"] == "rankinit-probe"
    assert "make install" in of(checks, "mpi.version")[0]["hint"]
    for asked in ("mpi", "mpi.version", "ofed"):
        assert look(f"{apart}/rankinit", f"--require={asked}", env=env)[0] == 123, asked


def test_a_probe_on_the_path(apart, fake):
    os.mkdir(f"{apart}/elsewhere")
    os.rename(f"{apart}/rankinit-probe", f"{apart}/elsewhere/rankinit-probe")
    folder = fake("mpi")
    env = {"LD_LIBRARY_PATH": folder, "PATH": f"/bin:{apart}/elsewhere"}
    _, checks = look(f"{apart}/rankinit", env=env)
    assert brief(checks, "mpi.version", folder) == [("pass", None)]


@pytest.mark.parametrize("content, mode, reason", [
    (None, 0o644, "Permission denied"),
    (b"\x7fELF\x02\x01\x01" + bytes(64), 0o755, "Exec format error"),
    (b"#!/nonexistent/shell\n", 0o755, "No such file or directory"),
    (b"#!/bin/sh\nexit 127\n", 0o755, "ended with status 127 before it tried anything"),
])
def test_a_probe_that_cannot_be_run(apart, fake, content, mode, reason):
    path = f"{apart}/rankinit-probe"
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)
    os.chmod(path, mode)
    env = {"LD_LIBRARY_PATH": fake("mpi")}
    status, checks = look(f"{apart}/rankinit", "--checks=mpi.version", env=env)
    assert status == 0
    assert set(brief(checks, "mpi.version")) == {("unknown", "probe.refused")}
    first = of(checks, "mpi.version")[0]
    assert first["subject"] == path and reason in first["text"]
    assert look(f"{apart}/rankinit", "--require=mpi", env=env)[0] == 123


@pytest.mark.parametrize("script, code", [
    ("echo rankinit-probe 2", "probe.garbled"),
    ("echo rankinit-probe 2; kill -SEGV $$", "probe.garbled"),
    ("yes rankinit-probe", "probe.garbled"),
    ("head -c 100000 /dev/zero", "probe.refused"),
    ("dd if=/dev/zero bs=1 count=1 seek=1G", "probe.refused"),
    ("exec 3<>/proc/self/fd/1; truncate -s 0 /proc/self/fd/1", "probe.refused"),
    (":", "probe.refused"),
])
def test_a_probe_of_somebody_else(apart, fake, script, code):
    with open(f"{apart}/rankinit-probe", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    _, checks = look(f"{apart}/rankinit", "--checks=mpi.version",
                     env={"LD_LIBRARY_PATH": fake("mpi")})
    assert {check["code"] for check in of(checks, "mpi.version")} == {code}


def test_no_process_for_it(apart, fake):
    """One that checks may be made, none in it."""
    if os.geteuid() != 0:
        pytest.skip("another user needs root")

    def become_somebody(most):
        def run():
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            os.setresuid(54321, 54321, 54321)
        return run
    folder = fake("mpi")
    os.chmod(folder, 0o755)
    results = {}
    for most in (2, 3):
        _, checks = look(f"{apart}/rankinit", "--checks=mpi.version",
                         env={"LD_LIBRARY_PATH": apart}, preexec_fn=become_somebody(most))
        results[most] = {check["code"] for check in of(checks, "mpi.version")}
    assert results[2] == {"probe.refused"}
    assert results[3] == {None}, "the control"


def test_what_it_is_given(rankinit, probe, fake, tmp_path):
    told = tmp_path / "told"
    folder = fake("mpi", IN_VERSION=f'tell("{told}")')
    env = {"SECRET_TOKEN": "x", "LD_PRELOAD": "", "OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "0",
           "VERBS_LOG_FILE": str(tmp_path / "log"), "RANKINIT_EXPECT": "deep",
           "IBV_DRIVERS": "mlx5", "HOME": "/nowhere", "LD_LIBRARY_PATH": folder}
    with open(tmp_path / "open", "w", encoding="ascii") as file:
        os.set_inheritable(file.fileno(), True)
        look(rankinit, "--checks=mpi.version", "--source=none", env=env,
             pass_fds=(file.fileno(),), stdin=subprocess.PIPE)
    lines = told.read_text().splitlines()
    assert [line[4:] for line in lines if line.startswith("env ")] == [
        f"PATH={BASE['PATH']}", "HOME=/nowhere", f"LD_LIBRARY_PATH={folder}",
        "IBV_DRIVERS=mlx5", "LC_ALL=C"]
    assert [line for line in lines if line.startswith("fd ")] == [
        "fd 0 /dev/null", "fd 1 /dev/null", "fd 2 /dev/null"]
    status = dict(line[7:].split(":", 1) for line in lines if line.startswith("status "))
    assert int(status["SigBlk"], 16) == 0
    assert lines[-1] == "group own"


def test_closed_descriptors(rankinit, probe, fake, tmp_path):
    """The file of its answers may have a number of theirs."""
    told = tmp_path / "told"
    env = {**BASE, "LD_LIBRARY_PATH": fake("mpi", IN_VERSION=f'tell("{told}")')}
    for closed in ("<&-", "<&- 2>&-", "2>&-"):
        done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", rankinit,
                               "--check=json", "--expect=deep", "--checks=mpi.version"], env=env,
                              capture_output=True, timeout=PATIENCE, check=True)
        assert b"Open MPI 4.1.4" in done.stdout
        lines = told.read_text().splitlines()
        assert [f"fd {fd} /dev/null" in lines for fd in range(3)] == [True] * 3
        told.unlink()


# Libraries of MPI.

MPI = {
    "crash": ({"IN_VERSION": "*(volatile int *)0=0"}, "warn", "mpi.version.crashed",
              "by SIGSEGV, while its version was queried"),
    "abort": ({"IN_LOAD": "abort()"}, "warn", "mpi.version.crashed",
              "by SIGABRT, while the library was loaded"),
    "exit": ({"IN_VERSION": "_exit(0)"}, "warn", "mpi.version.crashed", "with status 0"),
    "hang": ({"IN_VERSION": "for(;;)pause()"}, "warn", "mpi.version.hung",
             "within 2000 ms, while its version was queried"),
    "hang_in_load": ({"IN_LOAD": "for(;;)pause()"}, "warn", "mpi.version.hung",
                     "while the library was loaded"),
    "flood": ({"IN_VERSION": "for(;;)write(1,text,8192)"}, "warn", "mpi.version.hung", ""),
    "liar": ({"IN_VERSION": 'write(9,"ok\\n",3)'}, "pass", None, "Open MPI 4.1.4"),
    "vandal": ({"IN_VERSION": "scribble(0xff)"}, "unknown", "probe.garbled",
               "writes into its memory"),
    "eraser": ({"IN_VERSION": "scribble(0),abort()"}, "unknown", "probe.refused",
               "by SIGABRT before it tried anything"),
    "talker": ({"IN_LOAD": 'printf("hello\\n");fflush(stdout)'}, "pass", None, "Open MPI 4.1.4"),
    "garbage": ({"SAYS": r'"\x1b[31m\xff\xfe\n\n"'}, "unknown", "mpi.version.unknown", "?[31m??"),
    "nothing": ({"SAYS": '""'}, "unknown", "mpi.version.unknown", 'itself as ""'),
    "endless": ({"IN_VERSION": "memset(text,65,8192);return 0"}, "unknown",
                "mpi.version.unknown", "A" * 100),
    "refuses": ({"IN_VERSION": "return 16"}, "unknown", "mpi.version.unknown", "error 16"),
    "other": ({"SAYS": '"MPICH Version:\\t4.2.1\\n"'}, "note", "mpi.version.other",
              "but reports itself as MPICH 4.2.1"),
    "deaf": ({"MPI_Get_library_version": "MPI_Get_version"}, "note", "mpi.version.unloaded",
             "MPI_Get_library_version is not in it"),
}


@pytest.mark.parametrize("name", MPI)
def test_mpi(rankinit, probe, fake, name):
    macros, status, code, text = MPI[name]
    folder = fake("mpi", **macros)
    exit_status, found = mpi(rankinit, folder)
    assert (exit_status, found["status"], found["code"]) == (0, status, code), found
    assert text in found["text"] and "\x1b" not in found["text"]
    required, found = mpi(rankinit, folder, "--require=mpi")
    wanted = {"pass": ("pass", 0), "note": ("note", 0)}.get(status, (
        "fail" if status == "warn" else "unknown", 123))
    if code == "mpi.version.unloaded":
        wanted = ("fail", 123)
    elif code == "mpi.version.unknown":
        wanted = ("unknown", 0)
    assert (found["status"], required) == wanted


def test_one_after_another(rankinit, probe, fake):
    """Two that hang have one time together, and each is named."""
    folders = [fake("mpi", IN_LOAD="for(;;)pause()") for _ in range(2)]
    os.rename(f"{folders[1]}/libmpi.so.40", f"{folders[1]}/libmpich.so.12")
    _, checks = look(rankinit, "--checks=mpi.version",
                     env={"LD_LIBRARY_PATH": ":".join(folders)})
    assert brief(checks, "mpi.version") == [("warn", "mpi.version.hung")] * 2
    assert [os.path.dirname(check["subject"]) for check in checks] == folders


def test_a_process_that_a_library_starts(rankinit, probe, fake, tmp_path):
    """It is gone afterwards."""
    note = tmp_path / "pid"
    folder = fake("mpi", IN_VERSION=f'leave("{note}")')
    _, found = mpi(rankinit, folder)
    assert (found["status"], found["code"]) == ("pass", None)
    pid = note.read_text().strip()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or peek.state(int(pid)) == "Z",
               "its end")


@pytest.mark.parametrize("place", ["init", "below"])
def test_a_stop_in_the_middle(box, probe, fake, place):
    env = {**RANK, "LD_LIBRARY_PATH": fake("mpi", IN_LOAD="for(;;)pause()")}
    job = box.start("--expect=deep", "--checks=mpi.version", "--", "sh", "-c", "echo ran", env=env,
                    place=place)

    def probing():
        return [pid for child in peek.children(job.pid) for pid in peek.children(child)]
    wait_until(probing, "the probe", 10)
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert (result.status, result.out) == (143, b"")
    wait_until(lambda: job.others() == {}, "no process stays")


# Libraries of verbs.

def test_verbs(rankinit, probe, fake):
    status, checks = verbs(rankinit, fake("verbs", COUNT=14, IN_REGISTER="return&region"),
                          "--require=ib.verbs,ib.memory", "--expect=deep,ofed")
    assert status == 0
    found = of(checks, "ib.verbs")
    assert {check["status"] for check in found} == {"pass"}
    assert [check["subject"] for check in found] == [
        *(f"fake{n}" for n in range(12)), "fake12, fake13"]
    assert found[0]["text"] == ("can be opened, firmware 20.31.1014; port 1 ACTIVE, InfiniBand, "
                                "200 Gb/s, LID 291")
    memory, = of(checks, "ib.memory")
    assert (memory["status"], memory["subject"]) == ("pass", "fake0")
    assert memory["text"] == "64 MiB can be registered"


VERBS = {
    "closed": ({"IN_OPEN": "return(errno=EACCES),NULL"}, "ib.verbs", "ib.verbs.open",
               "fake0, fake1", "cannot be opened: Permission denied"),
    "down": ({"STATE": "IBV_PORT_DOWN", "COUNT": 1}, "ib.verbs", "ib.verbs.port", "fake0",
             "port 1 DOWN, InfiniBand, LID 291"),
    "no_port": ({"IN_PORT": "return EINVAL", "COUNT": 1}, "ib.verbs", "ib.verbs.port", "fake0",
                "port 1: Invalid argument"),
    "memory": ({"IN_REGISTER": "if(length>4096)return(errno=ENOMEM),NULL"}, "ib.memory",
               "ib.memory.locked", "fake0", "registering 64 MiB fails"),
    "page": ({"IN_REGISTER": "return(errno=ENOMEM),NULL"}, "ib.memory", "ib.memory.locked",
             "fake0", "registering 4 KiB fails"),
    "memory_forbidden": ({"IN_REGISTER": "return(errno=EPERM),NULL"}, "ib.memory",
                         "ib.memory.refused", "fake0", "Operation not permitted (errno 1)"),
    "crash": ({"IN_OPEN": "CRASH"}, "ib.verbs", "ib.verbs.crashed", "",
              "by SIGABRT, while fake0 was opened"),
    "crash_in_load": ({"IN_LOAD": "CRASH"}, "ib.verbs", "ib.verbs.crashed", "",
                      "by SIGABRT, while the library was loaded"),
    "crash_in_port": ({"IN_PORT": "CRASH"}, "ib.verbs", "ib.verbs.crashed", "",
                      "while a port of fake0 was queried"),
    "crash_in_memory": ({"IN_REGISTER": "CRASH"}, "ib.verbs", "ib.verbs.crashed", "",
                        "while memory was registered with fake0"),
    "crash_in_close": ({"IN_CLOSE": "CRASH"}, "ib.verbs", "ib.verbs.crashed", "",
                       "while fake0 was closed"),
    "hang": ({"IN_LIST": "HANG"}, "ib.verbs", "ib.verbs.hung", "",
             "while the devices were listed"),
    "deaf": ({"ibv_query_device": "ibv_old"}, "ib.verbs", "ib.verbs.unloaded", "",
             "ibv_query_device is not in it"),
}


@pytest.mark.parametrize("name", VERBS)
def test_verbs_that_fail(rankinit, probe, fake, name):
    macros, check, code, subject, text = VERBS[name]
    folder = fake("verbs", **macros)
    subject = subject or f"{folder}/libibverbs.so.1"
    status, checks = verbs(rankinit, folder)
    bad = [one for one in checks if one["code"]]
    assert status == 0
    assert [(one["id"], one["code"], one["subject"]) for one in bad] == [(check, code, subject)]
    assert text in bad[0]["text"] and bad[0]["status"] in ("note", "warn")
    status, checks = verbs(rankinit, folder, f"--require={check}")
    assert (status, of(checks, check)[0]["status"]) == (123, "fail")


def test_memory_that_may_not_be_locked(apart, fake):
    """For real: mlock(2) as the kernel does for an adapter."""
    if os.geteuid() != 0:
        pytest.skip("the limit is raised by root alone")

    def be_limited(limit):
        def run():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
            os.setresuid(65534, 65534, 65534)
        return run
    shutil.copy(f"{fake('verbs')}/libibverbs.so.1", apart)
    for limit, size in ((65536, "64 KiB"), (1 << 20, "1 MiB")):
        status, checks = verbs(f"{apart}/rankinit", apart, "--require=ofed", env=RANK,
                               preexec_fn=be_limited(limit))
        found, = of(checks, "ib.memory")
        assert (status, found["status"], found["code"]) == (123, "fail", "ib.memory.locked")
        assert "Cannot allocate memory (errno 12)" in found["text"]
        assert f"a process may lock {size}" in found["text"]
        assert "--ulimit memlock=-1:-1" in found["hint"]
    if int(peek.field(os.getpid(), "CapEff"), 16) & 1 << 14:    # CAP_IPC_LOCK
        _, checks = verbs(f"{apart}/rankinit", apart)
        assert brief(checks, "ib.memory") == [("pass", None)], "the control"
