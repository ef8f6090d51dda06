# SPDX-License-Identifier: Apache-2.0
"""The environment and the arguments reach the command byte for byte."""

import json
import os

import pytest

PLAIN = b"PATH=/usr/bin:/bin"
STRANGE = [
    PLAIN, b"com.nvidia.cuda.version=12.2", b"A=1", b"B=2", b"A=3", b"A=1",
    b"LINES=one\ntwo\n", b"no equals sign", b"=", b"=x", b"==", b"", b"EMPTY=",
    b"BASH_FUNC_f%%=() { :; }", b"\xff\xfe=\x80\x81", b"SPACE IN NAME= v ", b"TAB=\t\x1b[31m",
    b"A", b"1DIGIT=x", b"LONG=" + b"x" * 100000, b"RANK=0", b"WORLD_SIZE=",
    b"RANKINIT_VERSION=9",
]


@pytest.fixture
def through(box, actor, tmp_path):
    """What /proc/self/environ of the command is, from exactly these strings."""
    def run(strings, *options):
        file = tmp_path / "strings"
        file.write_bytes(b"".join(string + b"\0" for string in strings))
        result = box.run(file, box.rankinit, *options, "--", "/bin/cat", "/proc/self/environ",
                         program=actor("rawenv"))
        assert result.status == 0, result.err
        return result.out.split(b"\0")[:-1], result
    return run


def test_byte_for_byte(through):
    strings, result = through(STRANGE)
    assert strings == STRANGE
    assert result.err == ""


def test_nothing_at_all(through):
    assert through([])[0] == []


def test_many(through):
    many = [b"V%d=%d" % (number, number * number) for number in range(50000)]
    assert through(many)[0] == many


def test_an_addition_leaves_the_rest_alone(through):
    """The control for the tests above: a difference would be seen."""
    strings, _ = through(STRANGE, "--grace=10")
    assert strings == STRANGE + [b"OMPI_MCA_odls_base_sigkill_timeout=4"]


def test_twins_are_taken_out(through):
    twins = [b"RANKINIT_GRACE=0", b"RANKINIT_GRACE=nonsense", b"RANKINIT_QUIET=", b"RANKINIT_LINK"]
    mixed = [twins[0], *STRANGE[:8], twins[1], *STRANGE[8:], *twins[2:]]
    strings, _ = through(mixed)
    assert [string for string in strings if string not in mixed] == []
    assert twins[0] not in strings and twins[1] not in strings and twins[2] not in strings
    assert [string for string in strings if string in STRANGE] == STRANGE


def test_disabled_everything_passes(through):
    strings = [b"RANKINIT_DISABLE=1", b"RANKINIT_GRACE=x", b"RANKINIT_GRACE=y", *STRANGE]
    assert through(strings)[0] == strings


def test_the_first_of_two_twins_counts(through):
    strings, _ = through([PLAIN, b"RANKINIT_GRACE=10", b"RANKINIT_GRACE=20"])
    assert strings == [PLAIN, b"OMPI_MCA_odls_base_sigkill_timeout=4"]


@pytest.mark.parametrize("grace, seconds", [
    ("0", None), ("0.9", None), ("1", "1"), ("3.9", "1"), ("4", "1"), ("5", "1"), ("6", "2"),
    ("30", "14"), ("86400", "43199"),
])
def test_open_mpi_is_told_the_deadline(through, grace, seconds):
    expected = [] if seconds is None else [f"OMPI_MCA_odls_base_sigkill_timeout={seconds}".encode()]
    assert through([PLAIN], f"--grace={grace}")[0] == [PLAIN, *expected]
    # what the user set stays
    own = [PLAIN, b"OMPI_MCA_odls_base_sigkill_timeout=77"]
    assert through(own, f"--grace={grace}")[0] == own


@pytest.mark.parametrize("options, name, value", [
    (["--grace=90"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "88"),
    (["--grace=3"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "1"),
    (["--grace=0"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", None),
    (["--link", "--link-grace=100"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "98"),
    (["--link", "--link-grace=100", "--grace=200"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "198"),
    (["--link=tell", "--link-grace=100"], "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", None),
    (["--signal-map=TERM:USR1,USR2:USR1"], "PET_SIGNALS_TO_HANDLE",
     "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1"),
    (["--signal-map=TERM:INT,USR1:0"], "PET_SIGNALS_TO_HANDLE", None),
    ([], "PET_SIGNALS_TO_HANDLE", None),
])
def test_torchrun_is_told_of_a_stop(box, options, name, value):
    def told(*command, **env):
        result = box.run(*options, "--print-env=json", "--", *command, env=env)
        assert result.status == 0, result.err
        return json.loads(result.out).get(name)

    assert told("torchrun", "t.py") == value
    assert told("accelerate", "launch", "t.py") == value
    # what the user set stays, and no other command is told
    assert told("torchrun", "t.py", **{name: "7"}) is None
    assert told("python3", "t.py") is None


SEVERAL = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
ONE = {**SEVERAL, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
RECORDER = {"TORCH_FR_DUMP_TEMP_FILE": "/tmp/r.json.flight_", "TORCH_FR_BUFFER_SIZE": "2000"}


@pytest.mark.parametrize("option, env, command, expected", [
    ("--report=/tmp/r.json", SEVERAL, ["t"], RECORDER),
    ("--report=/tmp/r.json", {}, ["torchrun", "t.py"], RECORDER),
    ("--report=/tmp/%r.json", SEVERAL, ["t"],
     {**RECORDER, "TORCH_FR_DUMP_TEMP_FILE": "/tmp/1.json.flight_"}),
    # no report, or one that is no file; no job of several ranks
    ("--grace=0", SEVERAL, ["t"], {}), ("--report=/dev/stderr", SEVERAL, ["t"], {}),
    ("--report=fd:2", SEVERAL, ["t"], {}), ("--report=/dev/fd/2", SEVERAL, ["t"], {}),
    ("--report=/tmp/r.json", ONE, ["t"], {}), ("--report=/tmp/r.json", {}, ["t"], {}),
])
def test_flight_recorder_is_told_where_the_report_is(box, option, env, command, expected):
    def told(**more):
        result = box.run(option, "--print-env=json", "--", *command, env={**env, **more})
        assert result.status == 0, result.err
        return {name: value for name, value in json.loads(result.out).items()
                if name.startswith(("TORCH_FR", "TORCH_NCCL"))}

    assert told() == expected
    # what the user set stays, by an older name, too
    for own in (*RECORDER, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_TRACE_BUFFER_SIZE"):
        now = {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "TORCH_FR_DUMP_TEMP_FILE",
               "TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE"}.get(own, own)
        assert told(**{own: "7"}) == {name: value for name, value in expected.items()
                                      if name != now}


def test_arguments(box):
    words = ["", " ", "a\nb", "--", "-x", "$HOME", "*", b"\xff\x80", "x" * 100000, "--grace=1"]
    result = box.run("--", "sh", "-c", 'cat "/proc/$$/cmdline"; :', *map(os.fsdecode, words))
    expected = [b"sh", b"-c", b'cat "/proc/$$/cmdline"; :', *map(os.fsencode, words)]
    assert result.out.split(b"\0")[:-1] == expected


def test_print_env_says_what_would_change(box):
    assert box.run("--print-env").out == b""
    env = {"RANKINIT_GRACE": "10", "RANKINIT_QUIET": "no"}
    name = "OMPI_MCA_odls_base_sigkill_timeout"
    for form, expected in {
            "shell": f"unset RANKINIT_GRACE\nunset RANKINIT_QUIET\nexport {name}='4'\n",
            "dotenv": f"{name}=4\n",
            "null": f"{name}=4\0",
            "json": f'{{\n  "{name}": "4",\n'
                    '  "RANKINIT_GRACE": null,\n  "RANKINIT_QUIET": null\n}\n',
    }.items():
        result = box.run(f"--print-env={form}", env=env)
        assert (result.status, result.out.decode(), result.err) == (0, expected, "")
