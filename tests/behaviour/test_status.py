# SPDX-License-Identifier: Apache-2.0
"""Exit statuses: the command's own, and the four that rankinit has."""

import os
import signal
import sys

import pytest

from box import refused, warned
from peek import wait_until

SH = ["--", "/bin/sh", "-c"]
# What a process does not die of by default (signal(7)).
HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH,
            signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
FATAL = [number for number in range(1, 65) if number not in HARMLESS]


@pytest.mark.parametrize("place, step", [("init", 1), ("below", 15)])
def test_every_exit_code(box, at_once, place, step):
    """As process 1; below another process some of them."""
    codes = range(0, 256, step)
    results = at_once(lambda code: box.run(*SH, f"exit {code}", place=place), codes)
    assert [result.status for result in results] == list(codes)
    assert {result.err for result in results} == {""}, "an exit code gets no line"


@pytest.mark.parametrize("place", ["init", "below"])
def test_every_fatal_signal(box, actor, at_once, place):
    def die(number):
        return box.run("--", actor("probe"), "/dev/null", f"raise={number}", place=place)
    results = at_once(die, FATAL)
    assert [result.status for result in results] == [128 + number for number in FATAL]
    for number, result in zip(FATAL, results):
        assert len(result.lines()) == 1, result.err
        assert f"({number})" in result.err and "probe (pid " in result.err


def test_a_child_of_the_command_does_not_count(box):
    assert box.run(*SH, "sh -c 'kill -9 $$'; exit 6").status == 6
    assert box.run(*SH, "(exit 9) & exit 5").status == 5


def test_supervise_never_becomes_the_command(box):
    assert box.run("--supervise=never", *SH, "exit 44").status == 44
    job = box.start("--supervise=never", *SH, "kill -9 $$", place="below")
    assert job.wait().status == -9, "its wait status is the command's"
    # the control
    assert box.run("--supervise=always", *SH, "kill -9 $$", place="below").status == 137


# 127 and 126

@pytest.fixture
def files(tmp_path):
    def make(name, text=b"#!/bin/sh\necho ran\n", mode=0o755):
        path = tmp_path / name
        path.write_bytes(text)
        path.chmod(mode)
        return path
    return make


@pytest.mark.parametrize("supervise", ["always", "never"])
def test_not_found(box, tmp_path, supervise):
    option = f"--supervise={supervise}"
    error = refused(box.run(option, "--", "no-such-thing"), 127, "exec.not_found", "no-such-thing")
    assert "searched in PATH=" in error
    missing = tmp_path / "missing"
    refused(box.run(option, "--", missing), 127, "exec.not_found", str(missing))
    below = f"{tmp_path}/missing/also"
    refused(box.run(option, "--", below), 127, "exec.not_found", below)
    through = "/etc/passwd/file"
    refused(box.run(option, "--", through), 127, "exec.not_found", through)
    refused(box.run(option, "--", ""), 127, "exec.not_found", "COMMAND")
    dash = refused(box.run(option, "--", "-np", "2"), 127, "exec.not_found", "-np")
    assert "go before --" in dash
    colored = box.run(option, "--", "\033[31m")
    refused(colored, 127, "exec.not_found", "?[31m")
    refused(box.run(option, "--", "\u009b31m"), 127, "exec.not_found", "??31m")


@pytest.mark.parametrize("supervise", ["always", "never"])
def test_not_executable(box, files, tmp_path, supervise):
    option = f"--supervise={supervise}"
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        files("plain", mode=0o644): "execute permission",
        tmp_path: "is a directory",
        files("garbage", b"\x7fELF" + bytes(200)): "for this processor",
        files("empty", b""): "for this processor",
        files("text", b"echo hello\n"): "#!/bin/sh",
        files("orphan", b"#!/no/such/interpreter\n"):
            "orphan exists, but /no/such/interpreter, named in its #! line, cannot be executed",
        files("windows", b"#!/bin/sh\r\necho hello\r\n"):
            "Windows line endings; remove them with dos2unix, or sed -i 's/\\r$//' ",
        files("loaderless", open("/bin/true", "rb").read().replace(b"/ld-linux", b"/no-linux")):
            "check the dynamic loader",
        tmp_path / "loop": "Symbolic link loop",
    }
    for path, hint in cases.items():
        error = refused(box.run(option, "--", path), 126, "exec.denied", str(path))
        assert hint in error
    # the control
    assert box.run(option, "--", files("good")).out == b"ran\n"


@pytest.mark.parametrize("line, hint", [
    ("python3 train.py",
     "each word separately, without quotes around them: rankinit -- python3 train."),
    ("python3\ttrain.py", "rankinit -- python3\\ttrain.py"),
    ("cd / && python3 train.py", "rankinit -- sh -c 'cd / && python3 train.py'"),
    ("python3 train.py\n", "rankinit -- sh -c 'python3 train.py\\n'"),
    ("./no such/file", "rankinit -- ./no such/file"),
])
def test_a_line_in_one_word(box, line, hint):
    for options in ([], ["--supervise=never"], ["--nproc-per-node=2"]):
        subject = line.replace("\n", "?").replace("\t", "?")
        result = box.run(*options, "--", line)
        error = [each for each in result.lines() if "rankinit: error: " in each]
        assert result.status == 127 and len(error) == 1 and result.out == b""
        assert error[0].startswith(f"rankinit: error: {subject}: it is one word that contains")
        assert hint in error[0] and error[0].endswith(" [exec.not_found]")


def test_a_space_in_a_name(box, files, tmp_path):
    """The controls: what is there runs, whatever it is called, and a word is not a line."""
    files("a good name")
    assert box.run("--", f"{tmp_path}/a good name").out == b"ran\n"
    assert box.run("--", "a good name", env={"PATH": str(tmp_path)}).out == b"ran\n"
    assert "one word" not in refused(box.run("--", "train.py"), 127, "exec.not_found", "train.py")


def test_a_file_that_is_here_and_not_in_path(box, files, tmp_path):
    files("train.py")
    error = refused(box.run("--", "train.py", cwd=str(tmp_path)), 127, "exec.not_found",
                    "train.py")
    assert "write ./train.py, or the program that runs it before it: python3 train.py" in error
    # the control: elsewhere there is none
    away = refused(box.run("--", "train.py"), 127, "exec.not_found", "train.py")
    assert "this folder" not in away and "searched in PATH=" in away


def test_what_was_meant(box, files, tmp_path):
    path = {"PATH": f"/no-such-folder:{tmp_path}"}
    files("python3"), files("torchrun")
    for word, meant in (("pyhton3", "python3"), ("torchrnu", "torchrun"), ("check", "--check"),
                        ("help", "--help"), ("print_env", "--print-env")):
        error = refused(box.run("--", word, env=path), 127, "exec.not_found", word)
        assert f"there is no such command; did you mean {meant}? [" in error
    # the controls: what is not there was not meant, and what is there runs
    error = refused(box.run("--", "acelerate", env=path), 127, "exec.not_found", "acelerate")
    assert "did you mean" not in error and "searched in PATH=" in error
    files("check")
    assert box.run("--", "check", env=path).out == b"ran\n"


def test_a_script_that_is_not_executable(box, files):
    for name, hint in (("train.py", "write python3 {}, or make it executable: chmod +x ["),
                       ("train.sh", "with execute permission (chmod +x)")):
        path = files(name)
        path.chmod(0o644)
        error = refused(box.run("--", path), 126, "exec.denied", str(path))
        assert hint.format(path) in error


def test_busy_and_noexec(box, files):
    good = files("good", open("/bin/true", "rb").read())
    with open(good, "r+b"):
        error = refused(box.run("--", good), 126, "exec.denied", str(good))
        assert "busy" in error
    assert box.run("--", good).status == 0
    shell = "mount -t tmpfs -o noexec none /mnt && cp /bin/true /mnt/tool"
    refused(box.run("--", "/mnt/tool", shell=shell), 126, "exec.denied", "/mnt/tool")


def test_the_search(box, files, tmp_path):
    for folder in ("first", "second", "third"):
        (tmp_path / folder).mkdir()
    files("first/tool", mode=0o644)
    files("second/tool")
    first, second, third = (f"{tmp_path}/{name}" for name in ("first", "second", "third"))

    def search(path, command="tool", **options):
        return box.run("--", command, env={"PATH": path}, **options)

    assert search(f"{third}:/etc/passwd:{first}:{second}").out == b"ran\n", "it goes on"
    refused(search(f"{first}:{third}"), 126, "exec.denied", "tool")
    refused(search(third), 127, "exec.not_found", "tool")
    # an empty element is the current directory
    for path in (f":{third}", f"{third}:", f"{third}::{first}", ""):
        assert search(path, cwd=second).out == b"ran\n", path
        refused(search(path, cwd=third), 126 if first in path else 127,
                "exec.denied" if first in path else "exec.not_found", "tool")
    # no search for a command with a slash
    refused(search(tmp_path, "second/tool", cwd="/"), 127, "exec.not_found", "second/tool")
    assert search("/nowhere", "second/tool", cwd=str(tmp_path)).out == b"ran\n"


def test_no_path_at_all(box):
    assert box.run("--", "true", env={"PATH": None}).status == 0
    error = refused(box.run("--", "no-such", env={"PATH": None}), 127, "exec.not_found", "no-such")
    assert "/usr/local/sbin:" in error
    # the control: with one, it counts
    refused(box.run("--", "true", env={"PATH": "/etc"}), 127, "exec.not_found", "true")


# 125

def test_too_big_names_the_largest(box, actor, tmp_path):
    """
    The most that still fits when rankinit is executed no longer does with the
    long path of the command, which is then there twice.
    """
    strings, command = tmp_path / "strings", "/" + "./" * 1000 + "bin/true"

    def run(size):
        strings.write_bytes(b"BIGGEST=" + b"b" * 100000 + b"\0OTHER=" + b"o" * 99000 +
                            b"\0FILLER=" + b"f" * size + b"\0")
        return box.run(strings, box.rankinit, "--", command, program=actor("rawenv"),
                       shell="ulimit -s 1024")

    assert run(1000).status == 0, "the control: less of it"
    fits, fails = 1000, 99000
    while fits + 1 < fails:
        middle = (fits + fails) // 2
        started = not run(middle).err.startswith(f"{box.rankinit}: Argument list too long")
        fits, fails = (middle, fails) if started else (fits, middle)
    result = run(fits)
    assert result.status == 125 and result.err.endswith(" [exec.too_big]\n"), result.err
    assert "the largest string has 100009 bytes: BIGGEST;" in result.err


def test_no_new_process(box, cgroup):
    group = cgroup("pids", max=1)
    enter = f"echo 0 > {group}/cgroup.procs"
    error = refused(box.run("--", "/bin/true", shell=enter), 125, "spawn.refused", "/bin/true")
    assert "--pids-limit" in error
    with open(f"{group}/pids.max", "w", encoding="ascii") as file:
        file.write("2")
    assert box.run("--", "/bin/true", shell=enter).status == 0, "the control: one more"


def test_no_new_process_by_rlimit(box):
    """RLIMIT_NPROC counts for others than root; this user id has no process yet."""
    words = ["--reuid=54321", "--regid=54321", "--clear-groups", "prlimit", "--nproc=1",
             box.rankinit, "--", "/bin/true"]
    refused(box.run(*words, program="/usr/bin/setpriv"), 125, "spawn.refused", "/bin/true")
    words[4] = "--nproc=2"
    assert box.run(*words, program="/usr/bin/setpriv").status == 0, "the control"


# --exit-map

@pytest.mark.parametrize("mapping, command, status", [
    ("3:9", "exit 3", 9), ("3:9", "exit 9", 9), ("3:9", "exit 4", 4),
    ("0:1,1:0", "exit 0", 1), ("0:1,1:0", "exit 1", 0),
    ("143:0", "kill -15 $$", 0), ("143:0,137:255", "kill -9 $$", 255),
    ("3:9,3:8", "exit 3", 8), (" 3 : 9 ", "exit 3", 9),
])
def test_exit_map(box, mapping, command, status):
    assert box.run(f"--exit-map={mapping}", *SH, command).status == status


def test_exit_map_of_our_own(box, tmp_path):
    mapping = "--exit-map=127:70,126:71,125:72"
    refused(box.run(mapping, "--", "no-such"), 70, "exec.not_found", "no-such")
    refused(box.run(mapping, "--", tmp_path), 71, "exec.denied", str(tmp_path))
    refused(box.run(mapping), 72, "command.missing", "COMMAND")
    refused(box.run(mapping, "--nonsense", "true"), 72, "option.unknown", "--nonsense")
    refused(box.run(mapping, "--grace=x", "true"), 72, "option.value", "--grace")
    refused(box.run(mapping, "--user=no-such", "--", "true"), 72, "account.unknown", "--user")
    twin = {"RANKINIT_EXIT_MAP": mapping[11:]}
    refused(box.run("--nonsense", "true", env=twin), 72, "option.unknown", "--nonsense")
    # the control: another mapping
    refused(box.run("--exit-map=1:2", "--", "no-such"), 127, "exec.not_found", "no-such")


def test_all_statuses_can_be_mapped(box, at_once):
    mapping = ",".join(f"{code}:{255 - code}" for code in range(256))
    codes = list(range(0, 256, 5))
    results = at_once(lambda code: box.run(f"--exit-map={mapping}", *SH, f"exit {code}"), codes)
    assert [result.status for result in results] == [255 - code for code in codes]


def test_killed_rankinit_is_a_crash_to_the_outside(box):
    """The control for all of the above: a status of our own is no signal."""
    job = box.start("--", "sleep", "60", place="below")
    child = job.main()
    job.signal(signal.SIGKILL)
    assert job.wait().status == -9
    wait_until(lambda: not os.path.exists(f"/proc/{child}"), "the command outlives it")


# A program of a job's ranks, where no job is; torch's words are those of 2.13.
ASKS = 'import os; print(os.environ["RANK"])'
TORCH = ("raise ValueError('Error initializing torch.distributed using env:// rendezvous: '\n"
         "'environment variable RANK expected, but not set')")


def python(box, script, *options, name="train.py", **more):
    write = "printf '%s' \"$SCRIPT\" >@FOLDER/" + name + "; cd @FOLDER"
    more["env"] = {"SCRIPT": script, **more.get("env", {})}
    return box.run(*options, "--", sys.executable, "-u", name, shell=write, **more)


@pytest.mark.parametrize("script", [ASKS, TORCH, ASKS.replace("RANK", "MASTER_ADDR")])
def test_a_program_that_asks_for_a_rank_is_told_how_it_gets_one(box, script):
    """By the words of its failure, which stand behind its own and are all that is said."""
    result = python(box, script)
    assert result.status == 1 and result.out == b""
    said, = result.lines()
    assert said == result.err.splitlines()[-1] and said.endswith(" [rank.absent]")
    assert said.startswith("rankinit: RANK is not set") and "rankinit --nproc-per-node=gpu" in said


@pytest.mark.parametrize("script, options, more", [
    (f"try:\n    {ASKS}\nexcept KeyError:\n    import traceback; traceback.print_exc()\n"
     "raise ValueError(17)", (), {}),
    (f"import sys; sys.stderr.write({TORCH[16:]} + '\\n'); sys.exit(1)", (), {}),
    ("raise ValueError(17)", (), {}),
    (ASKS.replace("RANK", "MASTER_ADDR"), (), {"env": {"RANK": "0"}}),
    (ASKS.replace("RANK", "HOME2"), (), {}),
    (ASKS.replace("RANK", "NONE"), ("--nproc-per-node=1", "--checks=none"), {}),
    (ASKS, ("--launch=process",), {}),
], ids=["caught", "logged", "other", "set", "another", "a job", "stated"])
def test_a_program_that_needs_no_such_word(box, script, options, more):
    result = python(box, script, *options, **more)
    assert result.status == 1
    assert "rank.absent" not in result.err
