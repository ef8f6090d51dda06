# SPDX-License-Identifier: Apache-2.0
"""--report: what happened, as JSON; and the last words for Kubernetes."""

import json
import os
import re
import subprocess
import sys

import pytest

import schema
from box import refused, warned
from deadmount import mounted
from peek import wait_until

SH = ["sh", "-c"]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
MPI = {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8",
       "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
       "MASTER_ADDR": "m", "MASTER_PORT": "1"}


@pytest.fixture
def report(box):
    """Run a command with a report: its result, and the document."""
    def run(*command, options=(), name="report.json", **more):
        job = box.start(f"--report={name}", *options, "--", *command, **more)
        result = job.wait()
        document = json.loads(job.read("report.json"))
        assert not [file for file in os.listdir(job.folder) if file.endswith(".new")]
        job.close()
        box.jobs.remove(job)
        schema.check(document, "report")
        assert document["exit_status"] == result.status
        assert re.fullmatch(TIME, document["started"]) and re.fullmatch(TIME, document["ended"])
        assert document["started"] <= document["ended"]
        return result, document
    return run


@pytest.mark.parametrize("command, kind, code, name, status", [
    ([*SH, "exit 7"], "exit", 7, None, 7),
    ([*SH, "kill -SEGV $$"], "signal", None, "SIGSEGV", 139),
    ([*SH, "kill -KILL $$"], "signal", None, "SIGKILL", 137),
    (["nosuch-command"], "exec", None, None, 127),
    (["/etc/passwd"], "exec", None, None, 126),
])
def test_each_way_to_fail(report, command, kind, code, name, status):
    result, document = report(*command)
    first, rank = document["first_failure"], document["ranks"][0]
    assert result.status == status
    assert (first["kind"], first["exit_code"], first["signal"]) == (kind, code, name)
    assert first["traceback"] is None and first["torch_error"] is None
    assert (first["cause"] is None) == (kind != "exec"), "there is room and memory"
    assert rank["state"] == {"exit": "exited", "signal": "signaled", "exec": "exec-failed"}[kind]
    assert rank["rank"] is None and rank["local_rank"] is None
    assert (rank["pid"] is None) == (kind == "exec")


@pytest.mark.parametrize("command, code, text, hint", [
    ("nosuch-command", "exec.not_found", "there is no such command", "searched in PATH="),
    ("/etc/passwd", "exec.denied", "cannot be executed: Permission denied",
     "it must be a file with execute permission"),
    ("/etc", "exec.denied", "/etc is a directory", ""),
])
def test_why_a_start_failed(report, command, code, text, hint):
    """As the error line says it, which stands there once."""
    for options in ([], ["--nproc-per-node=2"]):
        result, document = report(command, options=options)
        cause = document["first_failure"]["cause"]
        assert (cause["code"], cause["subject"], cause["text"]) == (code, command, text)
        assert cause["hint"].startswith(hint) and bool(cause["hint"]) == bool(hint)
        error = [line for line in result.lines() if line.startswith("rankinit: error: ")]
        assert len(error) == 1 and text in error[0] and cause["hint"] in error[0]
        assert result.err.count(text) == 1 + len(options)


def test_a_script_from_windows(report, tmp_path):
    script = tmp_path / "script"
    for end, status in ("\r\n", 126), ("\n", 0):
        script.write_text(f"#!/bin/true{end}", newline="")
        script.chmod(0o755)
        result, document = report(script, options=["--nproc-per-node=2"])
        assert result.status == status
        if status:
            cause = document["first_failure"]["cause"]
            assert "names /bin/true with a carriage return at its end" in cause["text"]
            assert result.err.count("carriage return") == 2 and "No such file" not in result.err
    # the control is the second of them
    assert document["first_failure"] is None


def test_success_has_no_failure(report):
    result, document = report("true")
    assert result.status == 0 and result.err == ""
    assert document["first_failure"] is None and document["check"] is None
    assert document["ranks"][0]["exit_code"] == 0 and document["topology"] == {}


def test_out_of_memory(box, cgroup):
    group = cgroup("memory", limit_in_bytes=32 << 20)
    shell = f"echo $$ >{group}/cgroup.procs"
    greedy = "x = bytearray(64 << 20); x[::4096] = b'x' * len(x[::4096])"
    job = box.start("--report=report.json", "--", "python3", "-c", greedy, shell=shell)
    job.wait()
    first = json.loads(job.read("report.json"))["first_failure"]
    assert first["kind"] == "oom"
    assert (first["cause"]["code"], first["cause"]["subject"]) == ("cg.oom.kills", "oom_kill")
    assert "docker run --memory" in first["cause"]["hint"]


def test_what_explains_a_bus_error(box):
    shm = "mount -t tmpfs -o size=1m none /dev/shm || exit 99"
    causes = []
    for how in ("kill -BUS $$", "kill -SEGV $$"):
        job = box.start("--report=report.json", "--", *SH, how, shell=shm)
        said = job.wait().err
        causes.append(json.loads(job.read("report.json"))["first_failure"]["cause"])
        assert ("[shm.size.small]" in said) == (causes[-1] is not None)
    cause, none = causes
    assert none is None
    assert (cause["code"], cause["subject"]) == ("shm.size.small", "/dev/shm")
    assert cause["text"].startswith("is small (1 MiB): ") and "--shm-size" in cause["hint"]


def test_the_topology_is_that_of_the_explanation(box, report):
    _, document = report("true", env=MPI)
    explained = json.loads(box.run("--explain=json", "--", "true", env=MPI).out)
    assert document["topology"] == explained["topology"] != {}
    assert document["launch"] == explained["launch"] == "process"
    assert (document["ranks"][0]["rank"], document["ranks"][0]["local_rank"]) == (5, 1)


def test_names_of_files(box):
    job = box.start("--report=@FOLDER/%n-%r-%l-%%.json", "--node-rank=1", "--", "true", env=MPI)
    assert job.wait().status == 0
    assert json.loads(job.read("1-5-1-%.json"))["exit_status"] == 0
    job = box.start("--report=@FOLDER/%h", "--", "true")
    assert job.wait().status == 0
    assert json.loads(job.read(os.uname().nodename))["exit_status"] == 0
    result = box.run("--report=@FOLDER/%n", "--", "true")
    assert "--node-rank" in refused(result, 125, "report.refused", "--report")


def test_the_exit_map_counts(report):
    result, document = report(*SH, "exit 3", options=["--exit-map=3:9"])
    assert result.status == 9 and document["ranks"][0]["exit_code"] == 3


def test_a_stop_from_outside_is_no_failure(box):
    job = box.start("--report=report.json", "--", "sleep", "60")
    job.main()
    assert job.stop().status == 143
    document = json.loads(job.read("report.json"))
    assert document["first_failure"] is None
    assert document["ranks"][0]["signal"] == "SIGTERM" and document["ranks"][0]["told"] is True


def test_an_older_file_is_set_aside_and_the_new_one_comes_at_once(box):
    job = box.start("--report=report.json", "--", *SH, "cat report.json.before; ls",
                    shell="echo old >@FOLDER/report.json")
    said = job.wait().out.split()
    assert b"old" in said and b"report.json" not in said
    assert json.loads(job.read("report.json"))["exit_status"] == 0


def test_a_link_stays_one(box):
    job = box.start("--report=link", "--", "true",
                    shell="cd @FOLDER && echo old >target && ln -s target link")
    job.wait()
    assert os.path.islink(os.path.join(job.folder, "link"))
    assert json.loads(job.read("target"))["exit_status"] == 0


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "@FOLDER/link", "link"])
def test_names_of_what_is_open(box, name):
    """Written as they are, whether a file or a pipe stands behind them."""
    link = "ln -s /dev/stdout @FOLDER/link"
    plain = box.run(f"--report={name}", "--", *SH, "echo said; exit 3", shell=link)
    piped = box.run(*SH, '"$@" | cat', "sh", box.rankinit, f"--report={name}", "--", *SH,
                    "echo said; exit 3", program="/usr/bin/env", shell=link)
    for result in (plain, piped):
        said, _, document = result.out.partition(b"\n")
        assert said == b"said" and json.loads(document)["exit_status"] == 3


def test_descriptors(box):
    read_end, write_end = os.pipe()
    job = box.start(f"--report=fd:{write_end}", "--", *SH, "ls /proc/self/fd | tr '\\n' ' '",
                    pass_fds=(write_end,))
    os.close(write_end)
    result = job.wait()
    with os.fdopen(read_end, "rb") as file:
        assert json.load(file)["exit_status"] == 0
    assert str(write_end) not in result.out.decode().split(), "the command does not have it"
    result = box.run("--report=fd:2", "--", "true")
    assert json.loads(result.err)["exit_status"] == 0


def test_what_a_shell_names(box, tool):
    """bash's >(COMMAND) is /dev/fd/63: it must be there at the end, and for us alone."""
    words = f"{box.rankinit} --report=>(cat >@FOLDER/copy) -- ls /proc/self/fd; wait $!"
    job = box.start("-c", words, program=tool("bash"))
    result = job.wait()
    assert (result.status, result.err) == (0, "") and b"63" not in result.out.split()
    wait_until(lambda: job.read("copy").endswith(b"}\n"), "cat has it")
    assert json.loads(job.read("copy"))["exit_status"] == 0


def test_descriptors_that_cannot_be_used(box):
    refused(box.run("--report=fd:77", "--", "true"), 125, "option.value", "--report")
    with open("/dev/null", "rb") as file:
        result = box.run(f"--report=fd:{file.fileno()}", "--", "true", pass_fds=(file.fileno(),))
    refused(result, 125, "option.value", "--report")


PLACES = ["/nonexistent/report", "/etc", "/proc/report", "/etc/passwd/report", "gone/report",
          "own/report", "/mnt/report", "%n.json"]
# A link that leads nowhere, a folder of somebody else's, a file system that nobody may write to.
TRAP = ("ln -s nowhere @FOLDER/gone && mkdir @FOLDER/own && chmod 500 @FOLDER/own && "
        "mount -t tmpfs -o ro none /mnt && chmod 777 @FOLDER")
NOT_ROOT = ["--reuid=1500", "--regid=1500", "--clear-groups"]


@pytest.mark.parametrize("name", PLACES)
def test_places_that_cannot_be_written(box, name):
    job = box.start(*NOT_ROOT, box.rankinit, f"--report={name}", "--", "touch", "ran",
                    program="/usr/bin/setpriv", shell=TRAP)
    refused(job.wait(), 125, "report.refused", "--report")
    assert not os.path.exists(os.path.join(job.folder, "ran"))


@pytest.mark.parametrize("options, name", [
    *(([], name) for name in PLACES), (["--nproc-per-node=2"], "/nonexistent/report"),
])
def test_places_of_a_variable_that_cannot_be_written(box, name, options):
    """One for a whole fleet, whose share is gone: the jobs run, and say so."""
    job = box.start(*NOT_ROOT, box.rankinit, *options, "--", *SH, "touch ran; exit 7",
                    env={"RANKINIT_REPORT": name}, program="/usr/bin/setpriv", shell=TRAP)
    result = job.wait()
    warning = warned(result, "report.refused", "RANKINIT_REPORT")
    assert result.status == 7 and "the job runs without a report" in warning
    assert name in warning or name == "%n.json" and "%n is the rank of this node" in warning
    assert os.path.exists(os.path.join(job.folder, "ran"))


def test_control_a_place_of_a_variable(box):
    job = box.start("--", "true", env={"RANKINIT_REPORT": "report.json"})
    result = job.wait()
    assert (result.status, result.err) == (0, "")
    assert json.loads(job.read("report.json"))["exit_status"] == 0


def test_a_variable_with_a_value_that_is_none(box):
    """That is no place which has gone, but a mistake for which there is one reading: none."""
    for value in "fd:x", "fd:77", "%q":
        result = box.run("--", "true", env={"RANKINIT_REPORT": value})
        refused(result, 125, "option.value", "RANKINIT_REPORT")


@pytest.mark.parametrize("given", [["--report=/dev/full"], []])
def test_a_disk_that_is_full_at_the_end(box, given):
    env = {} if given else {"RANKINIT_REPORT": "/dev/full"}
    result = box.run(*given, "--", *SH, "exit 7", env=env)
    subject = "--report" if given else "RANKINIT_REPORT"
    assert result.status == 7
    assert f"warning: {subject}: the report cannot be written: No space left" in result.err


@pytest.mark.parametrize("shell, name, why", [
    ("mkdir @FOLDER/d", "@FOLDER/d/r", "rm -r d"),
    ("mount -t tmpfs -o size=4096 none /mnt; dd if=/dev/zero of=/mnt/full bs=4096 count=1 2>&-",
     "/mnt/r", ":"),
])
def test_a_report_that_cannot_be_written_changes_nothing(box, shell, name, why):
    result = box.run(f"--report={name}", "--", *SH, f"{why}; exit 7", shell=shell)
    assert result.status == 7
    assert any("the report cannot be written" in line for line in result.lines()), result.err


@pytest.mark.parametrize("full", [False, True])
def test_a_reader_that_does_not_read(box, full):
    """A pipe that is full, and one whose reader has gone."""
    read_end, write_end = os.pipe()
    if full:
        os.set_blocking(write_end, False)
        while True:
            try:
                os.write(write_end, b"x" * 65536)
            except BlockingIOError:
                break
        os.set_blocking(write_end, True)
    else:
        os.close(read_end)
    result = box.run(f"--report=fd:{write_end}", "--", *SH, "exit 7", pass_fds=(write_end,))
    assert result.status == 7
    assert any("the report cannot be written" in line for line in result.lines()), result.err
    os.close(write_end)
    if full:
        os.close(read_end)


def test_one_that_becomes_its_command_writes_none(box):
    result = box.run("--supervise=never", "--report=report.json", "--", "true")
    refused(result, 125, "option.conflict", "--report")
    result = box.run("--supervise=never", "--state=@FOLDER/state", "--", "true")
    refused(result, 125, "option.conflict", "--state")


# torch's error file.

TORCH = ('echo "{\\"message\\": {\\"message\\": \\"OSError: PASS=hunter2\\", \\"extraInfo\\": '
         '{\\"timestamp\\": \\"$(date +%s)\\"}}}" >$TORCHELASTIC_ERROR_FILE; exit 1')


def test_what_torch_says(report):
    result, document = report(*SH, TORCH)
    assert document["first_failure"]["torch_error"]["message"]["message"] == "OSError: PASS=***"
    assert "rankinit:   OSError: PASS=***" in result.lines()


def test_the_file_is_private_and_goes_away(report):
    result, _ = report(*SH, 'ls -ld "${TORCHELASTIC_ERROR_FILE%/*}"; echo $TORCHELASTIC_ERROR_FILE')
    mode, path = result.out.decode().split(None, 1)[0], result.out.decode().split()[-1]
    assert mode == "drwx------" and path.startswith("/dev/shm/rankinit-")
    assert not os.path.exists(os.path.dirname(path))
    # where that is not there
    result, _ = report(*SH, "echo $TORCHELASTIC_ERROR_FILE", shell="mount -t tmpfs none /dev; "
                       "mknod -m 666 /dev/null c 1 3")
    assert result.out.startswith(b"/tmp/rankinit-")


def test_the_file_of_another_user(report):
    result, document = report(*SH, TORCH.replace("hunter2", "x"), options=["--user=daemon"],
                              shell="chmod 755 @FOLDER")
    assert result.status == 1 and document["first_failure"]["torch_error"] is not None


def test_the_user_s_own_file_stays(box):
    env = {"TORCHELASTIC_ERROR_FILE": "/own"}
    for options in (["--report=/dev/null"], []):
        result = box.run(*options, "--", *SH, "echo $TORCHELASTIC_ERROR_FILE", env=env)
        assert result.out == b"/own\n"
    # the control: without a report nothing is set
    assert box.run("--", *SH, "echo ${TORCHELASTIC_ERROR_FILE-unset}").out == b"unset\n"


def test_nowhere_to_put_the_file(report):
    result, document = report(*SH, "echo ${TORCHELASTIC_ERROR_FILE-unset}; exit 3",
                              env={"TMPDIR": "/nonexistent"})
    assert result.out == b"unset\n" and result.status == 3
    assert document["first_failure"]["torch_error"] is None


# The last words.

WORDS = ("mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; : >@FOLDER/words; "
         ": >/dev/termination-log; mount --bind @FOLDER/words /dev/termination-log")


def last_words(box, command):
    job = box.start("--", *SH, command, shell=WORDS)
    result = job.wait()
    return result, job.read("words").decode()


def test_last_words_for_kubernetes(box):
    result, words = last_words(box, "exit 7")
    assert re.match(r"sh \(pid \d+ on \S+\) failed: exit status 7, after \d", words), words
    assert result.err == ""
    _, words = last_words(box, "kill -9 $$")
    assert "killed by SIGKILL (9)" in words


def test_last_words_are_not_written_over_and_not_without_need(box):
    assert last_words(box, "exit 0")[1] == ""
    assert last_words(box, "echo own >/dev/termination-log; exit 7")[1] == "own\n"


def test_last_words_of_a_refused_container(box):
    """The platform looks there when process 1 has ended; one that is no process 1 leaves it."""
    for words, status, subject, code in (
            (["--", "no-such"], 127, "no-such", "exec.not_found"),
            (["--nnodes=two", "--", "true"], 125, "--nnodes", "option.value"),
            (["--no-such", "--", "true"], 125, "--no-such", "option.unknown")):
        job = box.start(*words, shell=WORDS)
        assert job.wait().status == status
        *_, why, last = job.read("words").decode().splitlines()
        assert re.match(f" *{subject}: .* \\[{code}\\]$", why), why
        assert last.startswith("verdict cause=") and f" status={status} " in last
    probe = box.start("-c", '"$0" --no-such; exit 0', box.rankinit, program="/bin/sh", shell=WORDS,
                      place="below")
    assert probe.wait().status == 0 and probe.read("words") == b""


# /opt/ml as SageMaker leaves it, and what DescribeTrainingJob shows of it.
SERVICE = ("mkdir -p @FOLDER/output @FOLDER/input/config /opt; mount -t tmpfs none /opt; "
           "mkdir /opt/ml; mount --bind @FOLDER /opt/ml; ")
IS_JOB = "echo '{}' >@FOLDER/input/config/resourceconfig.json"


def failure(box, *words, shell=SERVICE + IS_JOB, **more):
    job = box.start(*words, shell=shell, **more)
    result = job.wait()
    path = os.path.join(job.folder, "output", "failure")
    if not os.path.exists(path):
        return result, None
    with open(path, encoding="utf-8") as file:
        return result, file.read()


def test_the_failure_reason_of_sagemaker(box):
    words = ["--nproc-per-node=2", "--", "python3", "-c", "import os, time\n"
             "os.environ['RANK'] == '0' and time.sleep(60)\n"
             "raise ValueError('MY_KEY=hunter2 ' + '\u4e16' * 2000)"]
    result, text = failure(box, *words)
    who, why, *_, last = text.splitlines()
    assert result.status == 1 and re.match(r"rank 1 \(.*\) failed first: exit status 1", who)
    assert why.startswith("  ValueError: MY_KEY=*** \u4e16") and "hunter2" not in text
    assert last.startswith("verdict cause=exception class=own retry=never rank=1 ")
    assert last.endswith(" retries=0") and text[-1] == "\n" and len(text.encode()) <= 1024
    # the control: no such service
    assert failure(box, *words, shell=SERVICE)[1] is None


def test_sagemaker_s_failure_is_written_once_and_not_without_need(box):
    assert failure(box, "--", "true")[1] is None
    assert failure(box, "--", *SH, "echo own >/opt/ml/output/failure; exit 7")[1] == "own\n"
    _, text = failure(box, "--", "no-such")
    assert "no such command" in text and " status=127 " in text
    _, text = failure(box, "--nnodes=two", "--", "true")
    assert text.startswith("--nnodes: ") and " status=125 " in text
    # a folder that is not there, or cannot be written, is no reason to fail
    result, text = failure(box, "--", *SH, "rmdir /opt/ml/output; exit 7")
    assert (result.status, text) == (7, None)
    elsewhere = "rmdir /opt/ml/output; mkdir /opt/ml/other; ln -s other /opt/ml/output; " \
        "chown -h daemon /opt/ml/output; exit 7"
    result, text = failure(box, "--", *SH, elsewhere)
    assert (result.status, text) == (7, None)


def test_a_termination_log_that_is_no_file(box):
    shell = "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mkfifo /dev/termination-log"
    job = box.start("--", *SH, "exit 7", shell=shell)
    wait_until(job.ended, "it does not wait for a reader")
    assert job.wait().status == 7


# With a report its stderr is kept, and passes through unchanged.

RAISES = ('import sys\ndef step(token):\n    raise ValueError("bad batch")\n'
          'print("epoch 1", "MY_KEY=hunter2", file=sys.stderr)\nstep(token="hunter2")\n')


def test_a_traceback(report):
    result, document = report("python3", "-c", RAISES)
    first, lines = document["first_failure"], result.lines()
    assert result.status == 1 and "hunter2" in result.err
    assert first["traceback"].startswith("Traceback (most recent call last):\n")
    assert first["traceback"].endswith("\nValueError: bad batch")
    assert first["last_lines"][0] == "epoch 1 MY_KEY=***"
    assert "hunter2" not in json.dumps(document) + "".join(lines)
    assert lines.index("rankinit:   ValueError: bad batch") < 5 and len(lines) <= 25


def test_last_lines(report):
    result, document = report(*SH, "for n in $(seq 100); do echo line $n >&2; done; exit 3")
    assert document["first_failure"]["last_lines"] == [f"line {n}" for n in range(81, 101)]
    assert document["first_failure"]["traceback"] is None
    assert "rankinit:     line 100" in result.lines()


def test_the_log_is_named(report):
    _, document = report("true", options=["--log-file=logs/rank_%r.log"])
    assert document["ranks"][0]["log"].endswith("logs/rank_0.log")


FIRST = {**MPI, "OMPI_COMM_WORLD_RANK": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}


@pytest.mark.parametrize("option, twin", [("--report", "RANKINIT_REPORT"),
                                          ("--state", "RANKINIT_STATE")])
def test_ranks_that_overwrite_each_other(box, option, twin):
    """Each has a rankinit of its own. The first of a node says so, for all of them."""
    for name in ("one.json", "node-%n.json", "%h.json", "100%%.json"):
        line = warned(box.run(f"{option}={name}", "--", "true", env=FIRST), "report.shared", option)
        assert "each of the 4 ranks" in line and "put %r, which is the rank, into its name" in line
    warned(box.run("true", env={**FIRST, twin: "one.json"}), "report.shared", twin)
    for name in ("one.json", "/dev/shm/one.json"):
        explained = json.loads(box.run("--explain=json", f"{option}={name}", "--", "true",
                                       env=FIRST).out)
        assert [one["code"] for one in explained["findings"]].count("report.shared") == 1, name


@pytest.mark.parametrize("option", ["--report", "--state"])
def test_ranks_with_a_file_each(box, option):
    """The control: nobody overwrites anything, or what it does is meant to be seen by all."""
    silent = [([f"{option}={name}"], FIRST) for name in ("%r.json", "%l.json", "/dev/null")]
    silent += [([f"{option}=one.json"], MPI), ([f"{option}=one.json"], {}),
               ([f"{option}=one.json", "--nproc-per-node=2"], {}),
               ([f"{option}=one.json"], {**FIRST, "OMPI_COMM_WORLD_LOCAL_SIZE": "1"})]
    if option == "--report":
        silent.append(([f"{option}=fd:2"], FIRST))
    for options, env in silent:
        result = box.run(*options, "--", "true", env=env)
        assert result.status == 0 and "[report.shared]" not in result.err, (options, result.err)


def test_facts_of_the_node(report):
    env = {"NCCL_DEBUG": "INFO", "NCCL_API_KEY": "hunter2hunter2", "NCCL_EMPTY": "",
           "NVIDIA_BUILD_ID": "7", "APPTAINER_CONTAINER": "/images/train.sif", "OTHER": "1"}
    _, document = report("true", env=env)
    facts = document["facts"]
    assert facts["kernel"] == os.uname().release
    assert (facts["NCCL_DEBUG"], facts["NCCL_API_KEY"]) == ("INFO", "***")
    assert facts["image"] == "/images/train.sif"
    assert not {"NCCL_EMPTY", "OTHER"} & set(facts)
    _, document = report("true", env={"NCCL_DEBUG": "WARN"})
    assert document["facts"]["NCCL_DEBUG"] == "WARN"
    assert document["facts"].get("image") != "/images/train.sif"
    assert facts["stack_limit"] and "mpi" not in facts, "no library is looked at for a report"


@pytest.mark.parametrize("name, value, secret", [
    ("APPTAINER_CONTAINER", "docker://user:s3cretpw@reg.io/img", "s3cretpw"),
    ("SLURM_CONTAINER", "https://reg.io/img?sig=c2lnbmVkc2lnbmVk", "c2lnbmVkc2lnbmVk"),
    ("NCCL_SOCKET_IFNAME", "https://user:s3cretpw@reg.io", "s3cretpw"),
    ("NCCL_API_KEY", "hunter2hunter2", "hunter2hunter2"),
])
def test_facts_without_secrets(report, name, value, secret):
    _, document = report("true", env={name: value})
    found = document["facts"]["image" if "CONTAINER" in name else name]
    assert "***" in found and secret not in json.dumps(document)


WITH_BOTH = """
import ctypes, sys
def listed(words):
    return (ctypes.c_char_p * (len(words) + 1))(*[word.encode() for word in words], None)
ctypes.CDLL(None).execve(sys.argv[1].encode(), listed(sys.argv[1:-2]), listed(sys.argv[-2:]))
"""


@pytest.mark.parametrize("first, second", [("WARN", "INFO"), ("INFO", "WARN")])
def test_fact_of_a_variable_that_is_there_twice(rankinit, first, second):
    """It is the one that NCCL finds: getenv(3) takes the first."""
    done = subprocess.run([sys.executable, "-c", WITH_BOTH, rankinit, "--report=fd:1", "--",
                           "/bin/true", f"NCCL_DEBUG={first}", f"NCCL_DEBUG={second}"],
                          capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["facts"]["NCCL_DEBUG"] == first


def test_facts_that_a_driver_does_not_tell(box, tmp_path):
    """The start goes on, and the report is without them."""
    with mounted(tmp_path):
        job = box.start("--mount", "sh", "-c", f"mount --bind {tmp_path} /sys/class/net && "
                        'exec "$@"', "sh", box.rankinit, "-v", "--report=report.json", "--",
                        "true", program="/usr/bin/unshare")
        result = job.wait()
    assert result.status == 0, result.err
    assert "the report is without facts of this node" in result.err
    assert json.loads(job.read("report.json"))["facts"] == {}


def test_the_mtu_of_each_interface(box):
    for mtu in ("1400", "9000"):
        job = box.start("--net", "--mount", "sh", "-c", "ip link add tst0 type veth peer tst1 && "
                        f"ip link set tst0 mtu {mtu} && mount -t sysfs none /sys && "
                        'exec "$@"', "sh", box.rankinit, "--report=report.json", "--", "true",
                        program="/usr/bin/unshare")
        result = job.wait()
        assert result.status == 0, result.err
        facts = json.loads(job.read("report.json"))["facts"]
        assert facts["mtu_tst0"] == mtu and "mtu_lo" not in facts


def test_a_stop_is_in_it(box):
    job = box.start("--report=report.json", "--", "sleep", "60")
    job.main()
    job.stop()
    document = json.loads(job.read("report.json"))
    schema.check(document, "report")
    assert document["stop"]["signal"] == "SIGTERM"
    assert document["started"] <= document["stop"]["at"] <= document["ended"]
    job = box.start("--report=report.json", "--", "true")
    assert job.wait().status == 0 and json.loads(job.read("report.json"))["stop"] is None


def test_why_nothing_was_started(box):
    for size, refusal in (("1k", False), ("900G", True)):
        job = box.start("--report=report.json", f"--require=shm={size}", "--", "true", env=MPI)
        assert job.wait().status == (123 if refusal else 0)
        document = json.loads(job.read("report.json"))
        schema.check(document, "report")
        lines = document["refusal"] or []
        assert bool(lines) == refusal
        assert [line for line in lines if "/dev/shm" in line] or not refusal


def test_an_option_that_took_the_command(box):
    took = '--report took "true" as its value'
    assert took in refused(box.run("--report", "true"), 125, "command.missing", "COMMAND")
    # the controls: the command is not what is missing, or nobody took it
    assert " took " not in box.run("--report=true").err
    assert " took " not in box.run("--report", "true", "--").err
