# SPDX-License-Identifier: Apache-2.0
"""
The verdict's last line where somebody wants it to say something else: names of hosts and jobs, what
a rank prints, and a stderr that takes nothing. It is one line, logfmt, and the last of all.
"""

import itertools
import json
import os
import re

import pytest

from peek import wait_until
from deadmount import is_held, mounted

KEYS = ["cause", "class", "retry", "rank", "node", "host", "status", "failed_before", "retries",
        "job"]
FORGED = "rankinit: verdict cause=preempted class=stopped retry=same status=143 retries=0"
# One value as go-logfmt reads it: bare without blank, quote and =, or a string of JSON.
PAIR = re.compile(r'([a-z_]+)=(?:([^ "=]+)|("(?:[^"\\\x00-\x1f]|\\["\\]|\\u[0-9a-f]{4})*"))(?: |$)')
OF_JOB = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
          "MASTER_PORT": "1"}
FAILS = ["--nproc-per-node=2", "--", "sh", "-c", "[ $RANK = 1 ] && exit 4; sleep 60"]


def parsed(line):
    """All pairs of the line, each of them once and in the order of docs."""
    prefix = "rankinit: verdict "
    assert line.startswith(prefix) and len(line.encode()) < 400, line
    rest, pairs = line[len(prefix):], {}
    while rest:
        found = PAIR.match(rest)
        assert found and found[1] not in pairs, (rest, line)
        pairs[found[1]] = json.loads(found[3]) if found[3] else found[2]
        rest = rest[found.end():]
    assert list(pairs) == [key for key in KEYS if key in pairs], line
    return pairs


def last_of(job):
    """Of all that was printed, whatever it is: without its end of a line it would be cut."""
    text = job.read("err").decode("utf-8")
    assert text.endswith("\n")
    return parsed(text.split("\n")[-2])


# The kernel keeps 64 bytes of any kind.
HOSTS = [
    b'n"1', b"n 1", b"a=b", b"back\\slash", b"n\\", b'"', b"=", b"a\nrankinit: verdict cause=ecc",
    b"n\r\x1b[2K", b"\x9b31m\x85", b"\xc2\x85\xe2\x80\xa8n", b"\xff" * 64, b'"' * 64, b"\x01" * 64,
    "\u96ea\U0001f600".encode(), b"ghp_" + b"a1B2" * 9, b"x" * 64,
]


@pytest.mark.parametrize("host", HOSTS)
def test_hosts(box, tool, host):
    script = "printf '%s' \"$1\" >/proc/sys/kernel/hostname; shift; exec \"$@\""
    job = box.start("--uts", "sh", "-c", script, "sh", os.fsdecode(host), box.rankinit, *FAILS,
                    program=tool("unshare"))
    assert job.wait().status == 4
    pairs = last_of(job)
    assert pairs["rank"] == "1" and pairs["retry"] == "never" and pairs["status"] == "4"
    assert b"a1B2" not in job.read("err").splitlines()[-1]
    if host in (b'n"1', b"n 1", b"a=b", b"back\\slash", b'"' * 64, b"x" * 64):
        assert pairs["host"] == host.decode()
    # where it would be too long it is left out as a whole
    assert ("host" in pairs) == (host not in (b"\xff" * 64, b"\x01" * 64))


JOBS = ['x" retry=never', "x\n" + FORGED, "a b=c", "\\", '"', "\x1b]0;x\x07", "\u202e\u0085j",
        "j" * 200, "j" * 10000, '"' * 300, "\x01" * 100, "\ud83d" * 50, "hf_" + "Ab1" * 12,
        "https://me:secret@host/run"]


# Each value once, in the variable of one platform or another.
NAMES = itertools.cycle(["JOBSET_NAME", "SLURM_JOB_ID", "AWS_BATCH_JOB_ID", "SKYPILOT_TASK_ID",
                         "DSTACK_RUN_ID"])


@pytest.mark.parametrize("job_id, name", zip(JOBS, NAMES), ids=map(str, range(len(JOBS))))
def test_jobs(box, job_id, name):
    value = job_id.encode("utf-8", "surrogatepass").replace(b"\0", b"")
    env = {**OF_JOB, name: os.fsdecode(value)}
    job = box.start("--source=env", *FAILS, env=env)
    status = job.wait().status
    assert status in (4, 125), job.error_text()
    pairs = last_of(job)
    assert pairs["status"] == str(status)
    text = job.read("err").decode()
    assert "Ab1Ab1Ab1" not in text.split("\n")[-2] and "secret" not in text.split("\n")[-2]


def test_a_job_that_is_not_hostile(box):
    """The control."""
    for name in "a-1", "\u96ea 1", "j" * 100:
        job = box.start(*FAILS, env={"JOBSET_NAME": name, "JOB_COMPLETION_INDEX": "0"})
        assert job.wait().status in (4, 125)
        assert last_of(job)["cause"] in ("exit_status", "refused")


SPEAKERS = {
    "lines": f"echo '{FORGED}' >&2",
    "no end of a line": f"printf '{FORGED}' >&2",
    "a carriage return": f"printf '{FORGED}\\r' >&2",
    "on both": f"echo '{FORGED}'; echo '{FORGED}' >&2",
}


@pytest.mark.parametrize("speaker", SPEAKERS)
@pytest.mark.parametrize("options", [
    ["--nproc-per-node=2"], [], ["--report=@FOLDER/report"], ["--log-prefix"],
    ["--nproc-per-node=2", "--log-file=@FOLDER/%r.log"]], ids=str)
def test_a_rank_that_speaks_for_us(box, speaker, options):
    """Whatever it prints comes before our line, which begins a line of its own."""
    job = box.start(*options, "--", "sh", "-c", SPEAKERS[speaker] + "; [ $RANK = 0 ] && sleep 60; "
                    "exit 3", env={} if "--nproc-per-node=2" in options
                    else {**OF_JOB, "RANK": "1", "LOCAL_RANK": "1"})
    assert job.wait().status == 3
    pairs = last_of(job)
    # of one rank alone nobody reads what it says, without a reason
    assert (pairs["cause"], pairs["rank"], pairs["status"]) == (
        "exit_status" if options else "unknown", "1", "3")


def test_one_that_is_stopped_in_a_line(box):
    """Of a stop there may be no other line of ours before it."""
    for options, env in (([], OF_JOB), (["--nproc-per-node=2"], {}),
                         (["--nproc-per-node=2", "--restarts=1"], {})):
        job = box.start(*options, "--", "sh", "-c", f"trap 'exit 5' TERM; printf '{FORGED}' >&2; "
                        ": >>@FOLDER/$RANK; while :; do sleep 0.01; done", env=env)
        wait_until(lambda: job.ended() or all(os.path.exists(f"{job.folder}/{rank}")
                                              for rank in range(2 if options else 1)), "they run")
        wait_until(lambda: FORGED in job.error_text(), "it has spoken")
        result = job.stop()
        assert result.status == 5, result.err
        assert last_of(job)["cause"] == "preempted"
        assert "\n\n" not in job.error_text(), "a line of ours is followed by the next"


def test_an_exception_with_secrets_and_a_verdict(box):
    words = f"HF_TOKEN=hf_{'Ab1' * 12} password=hunter2\\n{FORGED}"
    job = box.start("--nproc-per-node=2", "--", "python3", "-c",
                    f"raise TimeoutError('{words}')")
    assert job.wait().status == 1
    line = job.read("err").decode().split("\n")[-2]
    assert parsed(line)["class"] == "own" and "hf_" not in line and "hunter2" not in line


@pytest.mark.parametrize("options, env, status", [
    (FAILS, {}, 4), (["--", "no-such-command"], {}, 127), (["--nonsense"], {}, 125),
    (["--require=gpu", "--", "true"], OF_JOB, 123)], ids=str)
@pytest.mark.parametrize("how", ["closed", "full", "gone", "dev-full"])
def test_a_stderr_that_takes_nothing(box, options, env, status, how):
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while how == "full":
            os.write(write_end, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write_end, True)
    if how == "gone":
        os.close(read_end)
    shell = {"closed": "exec 2>&-", "dev-full": "exec 2>/dev/full"}.get(how, ":")
    assert box.run(*options, env=env, shell=shell, stderr=write_end).status == status
    os.close(write_end)
    if how != "gone":
        assert b"rankinit" not in os.read(read_end, 1 << 20)
        os.close(read_end)


def test_a_report_whose_mount_does_not_answer(box, tmp_path):
    """A stop ends the wait, and the line comes without a report."""
    with mounted(tmp_path / "dead"):
        job = box.start(f"--report={tmp_path}/dead/report", *FAILS)
        wait_until(lambda: any(map(is_held, job.members())), "somebody waits in the kernel")
        result = job.stop()
        assert result.status == 143 and last_of(job)["cause"] == "preempted"
