# SPDX-License-Identifier: Apache-2.0
"""
Bytes that a terminal obeys, in whatever rankinit repeats of others: C0, DEL, C1
as UTF-8 has it, and the byte 0x9b, which is CSI to an 8-bit terminal. None of
them comes out; what people write does.
"""

import json
import os
import subprocess

import pytest

from box import BASE

SH = ["sh", "-c"]
EVIL = os.fsdecode(b"\x9b31m\x85\x7f\x1b[31m\x07\xc2\x9b31m\xff\xed\xa0\x80")
GOOD = "\ud55c\uae00-gr\u00f6\u00dfe"
HOSTILE = GOOD + EVIL
MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
       "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MASTER_PORT": "1"}


def plain(data):
    """The text, if it can go to a terminal."""
    text = data.decode("utf-8")
    bad = {c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"}
    assert not bad, text
    return text


def run(box, *words, **options):
    """The status, and what it said on both; all of that is plain."""
    job = box.start(*words, **options)
    try:
        result = job.wait()
        said = plain(job.read("out")), plain(job.read("err"))
    finally:
        box.jobs.remove(job)
        job.close()
    assert result.status >= 0, "it crashed"
    return result.status, *said


def test_what_is_looked_for(box):
    """The control: it notices each of them."""
    for evil in (b"\x1b", b"\x07", b"\x7f", b"\xc2\x9b", b"\x9b", b"\xff"):
        with pytest.raises((AssertionError, UnicodeDecodeError)):
            plain(b"a" + evil)
    assert plain(GOOD.encode()) == GOOD
    with pytest.raises((AssertionError, UnicodeDecodeError)):
        run(box, "--", "printf", EVIL)


def test_commands(box, tmp_path):
    status, _, err = run(box, "--", HOSTILE)
    assert status == 127 and GOOD in err and "[exec.not_found]" in err
    status, _, err = run(box, "--", "nosuch", env={"PATH": "/" + HOSTILE})
    assert status == 127 and GOOD in err
    for number, content in enumerate(("#!/" + HOSTILE, "#!/bin/" + HOSTILE + "\r\n", "")):
        script = tmp_path / f"{number}{HOSTILE}"
        script.write_bytes(os.fsencode(content))
        for mode in (0o644, 0o755):
            script.chmod(mode)
            status, _, err = run(box, "--", script)
            # without a #! line a shell is not asked
            assert status == 126 and GOOD in err and "[exec.denied]" in err
    os.mkdir(tmp_path / HOSTILE)
    assert run(box, "--", tmp_path / HOSTILE)[0] == 126


@pytest.mark.parametrize("options", [[], ["--nproc-per-node=2"], ["--report=report"]])
def test_how_it_ended(box, tmp_path, options):
    shell = tmp_path / HOSTILE
    shell.symlink_to("/bin/sh")
    status, _, err = run(box, "-v", *options, "--", shell, "-c", "kill -9 $$")
    assert status == 137 and (GOOD in err or options)


def test_options(box):
    """Each of them, by its name and by its twin."""
    listed = subprocess.run([box.rankinit, "--list=options"], env=BASE, capture_output=True,
                            check=True).stdout.decode()
    names = [line.split("\t")[0] for line in listed.splitlines()]
    names = [name.lstrip("-") for name in names if name.startswith("--")]
    assert len(names) > 30 and "grace" in names
    refused = 0
    for name in names:
        value = "--" + name + "=" + HOSTILE
        twin = {"RANKINIT_" + name.upper().replace("-", "_"): HOSTILE}
        for words, env in ([value, "--", "true"], {}), (["--", "true"], twin), \
                (["--explain", value, "--", "true"], {}):
            status, _, _ = run(box, *words, env=env)
            refused += status == 125
    assert refused > 60
    for word in (f"--{HOSTILE}", f"--{HOSTILE}=1", f"-{EVIL}", f"--grac{EVIL}"):
        assert run(box, word, "--", "true")[0] == 125
    assert GOOD in run(box, "--", "true", env={f"RANKINIT_{HOSTILE}": "1"})[2]


VARIABLES = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
             "WORLD_SIZE", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
             "AZ_BATCH_MASTER_NODE", "AZ_BATCH_HOST_LIST", "AZ_BATCH_NODE_LIST", "TF_CONFIG",
             "OMP_NUM_THREADS", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "PET_NNODES", "TMPDIR"]


@pytest.mark.parametrize("variable", VARIABLES)
def test_variables(box, variable):
    for value in HOSTILE, "1" + EVIL, '{"cluster": {"worker": ["' + HOSTILE + '"]}}':
        env = {**MPI, variable: value}
        for words in (["-v", "--", "true"], ["--explain", "--", "true"],
                      ["-v", "--nproc-per-node=2", "--", "true"]):
            run(box, *words, env=env)
        _, out, _ = run(box, "--explain=json", "--", "true", env=env)
        json.loads(out)
        _, out, _ = run(box, "--print-env=json", env=env)
        assert out == "" or isinstance(json.loads(out), dict)


def test_explanations(box, tmp_path):
    words = [f"--hosts={GOOD}1", "--", "python", HOSTILE, "--" + HOSTILE]
    env = {**MPI, "RANKINIT_EXPAND": "all", HOSTILE: HOSTILE, "MASTER_ADDR": HOSTILE}
    _, out, _ = run(box, "--explain", *words, env=env)
    assert GOOD in out
    _, out, _ = run(box, "--explain=json", *words, env=env)
    argv = json.loads(out)["ranks"][0]["argv"]
    assert argv[0] == "python" and argv[1].startswith(GOOD + "\\x9b31m\\x85\x7f\x1b[31m\x07\x9b")
    hosts = tmp_path / "hosts"
    hosts.write_bytes(os.fsencode(f"{HOSTILE} slots=1\n"))
    for path in hosts, tmp_path / HOSTILE:
        assert run(box, f"--hostfile={path}", "--", "true", env=MPI)[0] == 125


def test_json_means_the_same(box):
    """What is UTF-8 stays what it is, though it is spelled another way."""
    value = "a\x7fb\u0080c\u009bd\u00a0" + GOOD
    job = box.run("--explain=json", "--", value)
    assert json.loads(job.out)["ranks"][0]["argv"] == [value]
    assert b"a\\u007fb\\u0080c\\u009bd\xc2\xa0" in job.out and GOOD.encode() in job.out


def test_checks(box, tmp_path):
    env = {**MPI, "CUDA_VISIBLE_DEVICES": HOSTILE, "TMPDIR": "/" + HOSTILE,
           "LD_LIBRARY_PATH": "/" + HOSTILE, "NCCL_CONF_FILE": "/" + HOSTILE}
    run(box, "-v", "--check", env=env)
    _, out, _ = run(box, "--check=json", env=env)
    assert json.loads(out)["schema"] == "rankinit-check-1"
    run(box, "--check", "--require=" + HOSTILE, env=env)
    for word in (tmp_path / HOSTILE, "/" + HOSTILE):
        run(box, "--check", f"--root={word}", env=env)


def test_processes_that_were_left(box):
    """A name that a process gave itself."""
    script = ("(trap '' TERM; printf '%s' \"$0\" >/proc/$(sh -c 'echo $PPID')/comm; "
              "touch @FOLDER/ready; while :; do sleep 60; done) & "
              "while [ ! -e @FOLDER/ready ]; do sleep 0.02; done")
    name = os.fsdecode(b"K\xc3\xa4se\x9b31m\x1b[3\x7f")
    _, _, err = run(box, "-v", "--grace=1", "--", *SH, script, name)
    assert "K\u00e4se?31m" in err


def test_paths(box):
    for option in ("report", "state", "log-file"):
        status, _, err = run(box, f"--{option}=/nonexistent/{HOSTILE}/x", "--", *SH, "exit 3")
        assert status == (3 if option == "state" else 125) and GOOD in err
    _, out, _ = run(box, f"--status=/nonexistent/{HOSTILE}")
    assert GOOD in out


SAYS = "printf '%s\\nValueError: %s\\n' \"$0\" \"$0\" >&2; exit 3"


def test_a_report(box):
    script = ("import os, sys\nw = os.fsencode(sys.argv[1])\n"
              "open(os.environ['TORCHELASTIC_ERROR_FILE'], 'wb').write(b'{\"message\": \"' + "
              "w.replace(b'\\x1b', b'').replace(b'\\x07', b'') + b'\", \"timestamp\": 1}')\n"
              "os.write(2, b'Traceback (most recent call last):\\n  File \"' + w + b'\", line 1\\n"
              "ValueError: ' + w + b'\\n'); sys.exit(3)")
    for command in ([*SH, SAYS, HOSTILE], ["python3", "-c", script, HOSTILE],
                    [HOSTILE]):
        shell = "touch @FOLDER/words; mkdir -p @FOLDER/d"
        job = box.start("--report=d/report", "--nproc-per-node=2", f"--log-file=d/{HOSTILE}/%r",
                        "--", *command, shell=shell)
        job.wait()
        # the ranks' own bytes go to the terminal as they are
        plain(b"\n".join(line for line in job.read("err").split(b"\n")
                         if line.startswith(b"rankinit: ")))
        text = plain(job.read("d/report"))
        assert json.loads(text)["first_failure"] is not None and GOOD in text


def test_a_host(box, tool):
    """Its name may be any bytes too."""
    script = ("printf '%s' \"$1\" >/proc/sys/kernel/hostname; shift; exec \"$@\"")
    words = ["--uts", "sh", "-c", script, "sh", os.fsdecode(b"n\xc3\xb6de\x9b31m\x1b[31m\x7f"),
             box.rankinit]
    job = box.start(*words, "--report=report", "--nproc-per-node=2", "--", *SH, "exit 3",
                    program=tool("unshare"))
    job.wait()
    err = plain(job.read("err"))
    assert "on n\u00f6de\\x9b31m" in err
    assert "n\u00f6de" in json.loads(plain(job.read("report")))["host"]


WORDS = ("mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; : >@FOLDER/words; "
         ": >/dev/termination-log; mount --bind @FOLDER/words /dev/termination-log")


def test_last_words(box):
    """What Kubernetes shows of them."""
    for options in ([], ["--nproc-per-node=2"]):
        job = box.start(*options, "--", HOSTILE, shell=WORDS)
        assert job.wait().status == 127
        assert GOOD in plain(job.read("words"))
