# SPDX-License-Identifier: Apache-2.0
"""A rank whose exception has left its program, and that does not get to its end; --linger."""

import json
import pathlib
import shlex
import signal
import sys

import pytest

import peek
import schema
from peek import wait_until
from test_launched import LAUNCHER, SCRIPT, until_watched
from verdict import failed_first, names, status_line, stopped_line

# What holds it, and what is said of that.
HANGS = {
    "a thread": (
        "threading.Thread(target=work).start()",
        "it waits in threading._shutdown for a thread in work (<string>:4)"),
    "a handler of atexit": (
        "atexit.register(work)", "it is in work (<string>:4)"),
    "one of C": (
        "atexit.register(time.sleep, 600)",
        "its interpreter is behind the last line of Python"),
    "an excepthook": (
        "sys.excepthook = lambda *a: (sys.__excepthook__(*a), work())",
        "it is in <lambda> (<string>:7), and there in work (<string>:4)"),
    "an object in a circle": (
        "class Held:\n    def __del__(self): work()\nheld = Held(); held.self = held; del held",
        "it is in Held.__del__ (<string>:8), and there in work (<string>:4)"),
    "what ignores SIGTERM": (
        "signal.signal(15, signal.SIG_IGN); atexit.register(work)", "it is in work (<string>:4)"),
    "what ends well of SIGTERM": (
        "signal.signal(15, lambda *a: os._exit(0)); atexit.register(work)",
        "it is in work (<string>:4)"),
}
# Rank 1 raises, and what it has set up holds it; rank 0 waits for it in vain.
RAISES = """
import atexit, os, signal, sys, threading, time, traceback
def work():
    while True: time.sleep(600)
if os.environ.get("RANK") == "0":
    work()
{hang}
raise {exception}
"""
BAD = 'ValueError("bad batch 17")'
LOST = "RuntimeError('[../third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by " \
    "peer [10.0.0.4]:3021')"
# It goes on after each exception that it prints, and says in the end that it has.
CATCHES = """
import atexit, logging, os, queue, sys, threading, time, traceback
def catch():
    try:
        raise ValueError("bad batch 17")
    except ValueError:
        logging.exception("once more")
{then}
print("done", flush=True)
"""


def program(hang="a thread", exception=BAD):
    return RAISES.format(hang=HANGS[hang][0], exception=exception)


def start(box, text, *options, ranks=2, **more):
    return box.start(*([f"--nproc-per-node={ranks}"] if ranks > 1 else []), *options, "--",
                     sys.executable, "-ISc", text, **more)


def said_at_once(result):
    return [line for line in result.lines() if "; --linger stops it now" in line]


def told(text):
    """Of a log: the lines about ranks that have raised, and go on."""
    return [line for line in text.splitlines()
            if " and has not ended for " in line and "; --linger stops it now" not in line]


@pytest.mark.parametrize("hang", HANGS)
def test_a_rank_that_does_not_get_to_its_end(box, hang):
    job = start(box, program(hang), "--linger=0.3", "--grace=3", "--report=r.json")
    result = job.wait()
    assert result.status == 1, result.err
    lines = [line for line in result.lines() if not line.startswith("rankinit: warning: ")]
    assert lines[0].startswith("rankinit: rank 1 (pid ")
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    assert lines[0].endswith(f" s: {HANGS[hang][1]}; --linger stops it now"), lines[0]
    assert names(lines[1], 1, 1)
    assert failed_first(lines[1], "raised the error below, and had not ended")
    assert ("SIGKILL (9)" in lines[1]) == (hang == "what ignores SIGTERM")
    assert ("exit status 0" in lines[1]) == (hang == "what ends well of SIGTERM")
    assert lines[2] == f"rankinit:   seen before the stop: {HANGS[hang][1]}"
    assert lines[3] == "rankinit:   ValueError: bad batch 17"
    assert stopped_line(0) in lines
    assert lines[-1] == status_line(1)
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert document["first_failure"]["rank"] == 1 and document["first_failure"]["class"] == "own"
    assert document["exit_status"] == 1


def test_a_loss(box):
    """It lost another node's rank, whose node need not tell; it ends as after any other."""
    result = start(box, program(exception=LOST), "--linger=0.3").wait()
    assert result.status == 1 and len(said_at_once(result)) == 1, result.err
    assert "rank 1 lost a peer" in result.err


def test_all_ranks_do(box):
    """A line for four of them."""
    text = RAISES.replace('if os.environ.get("RANK") == "0":\n    work()\n', "")
    result = start(box, text.format(hang=HANGS["a thread"][0], exception=BAD), "--linger=1.5",
                   ranks=6).wait()
    assert result.status == 1, result.err
    # those that were slower than the first ones by more than that may be missing
    assert 1 <= len(said_at_once(result)) <= 4
    assert "had not ended of an exception, told to stop, killed by SIGTERM (15)" in result.err or \
        len(said_at_once(result)) == 1


def test_a_rank_beside_one_that_prints_tracebacks(box):
    """Each has a time of its own."""
    text = CATCHES.format(then="while True:\n    catch()\n    time.sleep(0.05)")
    job = box.start("--nproc-per-node=2", "--linger=0.6", "--", "sh", "-c",
                    'if [ $RANK = 0 ]; then exec "$@"; fi; shift 4; exec "$@"', "sh",
                    sys.executable, "-ISc", text, "--", sys.executable, "-ISc", program())
    result = job.wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1 and said_at_once(result)[0].startswith(
        "rankinit: rank 1 (pid ")


@pytest.mark.parametrize("report", [True, False])
def test_a_single_command(box, report):
    """Where its standard error is read; else its exception is not known."""
    job = start(box, program(), "--linger=0.2", *(["--report=r.json"] if report else []), ranks=1)
    if report:
        result = job.wait()
        assert result.status == 1
        assert said_at_once(result)[0].startswith("rankinit: python3 (pid ") or \
            said_at_once(result)[0].startswith("rankinit: python")
        return
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(1.0)
    result = job.stop()
    assert result.status == 143 and "--linger" not in result.err


@pytest.mark.parametrize("then", [
    # a loop that tries again
    "for _ in range(20):\n    catch()\n    time.sleep(0.1)",
    # its program is over, and what it had caught did not end it
    "catch()\natexit.register(time.sleep, 2)",
    # it computes, waits, sleeps
    "catch()\nend = time.monotonic() + 2\nwhile time.monotonic() < end:\n    pass",
    "catch()\ntime.sleep(2)",
    "catch()\ntry:\n    queue.Queue().get(timeout=2)\nexcept queue.Empty:\n    pass",
    # the same, caught by the module itself
    "try:\n    raise ValueError('x')\nexcept ValueError:\n    traceback.print_exc()\ntime.sleep(2)",
    # it ends on purpose, and a thread works on
    "catch()\nthreading.Thread(target=time.sleep, args=(2,)).start()\nprint('done', flush=True)\n"
    "sys.exit(0)",
])
def test_who_is_left_alone(box, then):
    job = start(box, CATCHES.format(then=then), "--linger=0.5")
    result = job.wait()
    assert (result.status, result.out) == (0, b"done\ndone\n"), result.err
    assert not result.lines()


def test_by_default_it_is_told_and_goes_on(box):
    """Half a minute after the exception, once a rank; what it saves at its exit is saved."""
    saves = "import atexit, os, time\ndef save():\n    while not os.path.exists('told'):\n" \
        "        time.sleep(0.05)\n    open('saved', 'w').close()\n" \
        f"if os.environ['RANK'] == '1':\n    atexit.register(save)\n    raise {BAD}\n" \
        "time.sleep(3600)"
    job = start(box, saves)
    wait_until(lambda: told(job.error_text()), "the line", seconds=90)
    pathlib.Path(job.folder, "told").touch()
    result = job.wait()
    assert result.status == 1 and job.read("saved") == b"", result.err
    lines = told(result.err)
    assert len(lines) == 1 and lines[0].startswith("rankinit: rank 1 (pid "), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for 3" in lines[0]
    assert lines[0].endswith(" s: it is in save (<string>:4)"), lines[0]
    assert failed_first(result.err, "exit status 1") and "--linger" not in result.err


def test_one_whose_memory_may_not_be_read(box, actor):
    """What it does is not known: it goes on until it is stopped."""
    job = box.start("process_vm_readv=EPERM", "--", box.rankinit, "--nproc-per-node=2",
                    "--linger=0.2", "--", sys.executable, "-ISc", program(),
                    program=actor("deny"))
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(1.5)
    result = job.stop()
    assert "--linger" not in result.err and "had raised" not in result.err
    assert "rankinit:   rank 1 had printed: ValueError: bad batch 17" in result.lines()


@pytest.mark.parametrize("hang", ["a thread", "one of C"])
def test_without_it_the_job_waits(box, hang):
    """The control: a stop from outside ends it, and tells of the exception."""
    job = start(box, program(hang), "--autopsy-after=0")
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(1.0)
    result = job.stop()
    assert result.status == 143 and "--linger" not in result.err
    said = result.lines()[-1]
    assert said.startswith("rankinit:   rank 1 had raised ValueError: bad batch 17, ")
    assert said.endswith(" s before this stop, and had not ended")


def test_a_stop_of_ranks_that_caught_theirs(box):
    """The control: they run on, each with an exception that left nothing."""
    then = "try:\n    raise ValueError('bad batch 17')\nexcept ValueError:\n" \
        "    sys.excepthook(*sys.exc_info())\nwhile True:\n    time.sleep(600)"
    job = start(box, CATCHES.format(then=then), "--linger=0.2")
    wait_until(lambda: job.error_text().count("ValueError: bad batch 17") == 2, "two tracebacks")
    assert not job.ended(1.0)
    result = job.stop()
    assert result.status == 143 and "had raised" not in result.err
    assert "rankinit:   rank 1 had printed: ValueError: bad batch 17" in result.lines()


def test_a_stop_while_it_is_stopped(box):
    """The failure was there before it, and the stop reaches the ranks."""
    job = start(box, program("what ignores SIGTERM"), "--linger=0.3", "--grace=4")
    wait_until(lambda: "; --linger stops it now" in job.error_text(), "the line")
    job.signal(signal.SIGTERM)
    result = job.wait()
    assert result.status == 1, result.err
    assert failed_first(result.err, "raised the error below, and had not ended")


def test_a_program_that_is_no_python(box):
    """It prints what looks like a traceback, and its memory says that it has no program."""
    job = box.start("--nproc-per-node=2", "--linger=0.2", "--", "sh", "-c",
                    'printf "Traceback (most recent call last):\\n  File \\"a\\", line 1, in '
                    '<module>\\nValueError: bad\\n" >&2; sleep 1.5; echo done')
    result = job.wait()
    assert (result.status, result.out) == (0, b"done\ndone\n"), result.err
    assert not result.lines()


# --- ranks that a launcher starts -------------------------------------------

# What each rank of a stand-in for torchrun does, as a line of a shell.
WORKS = "import time\nwhile True: time.sleep(600)"
# torch's hook, from init_process_group on (torch/distributed/distributed_c10d.py)
LABELS = """sys.excepthook = lambda *a: print(''.join(f'[rank{os.environ["RANK"]}]: {line}\\n'
    for line in ''.join(traceback.format_exception(*a)).splitlines()), end='', file=sys.stderr)"""


def rank(text):
    """It begins when the test has seen that rankinit watches it."""
    return "until [ -e go$RANK.$ATTEMPT ]; do sleep 0.02; done; " \
        f"exec {sys.executable} -ISc {shlex.quote(text)}"


def raises(hang="a thread", exception=BAD, labelled=False):
    held = HANGS[hang][0] + ("\n" + LABELS if labelled else "")
    return RAISES.replace('os.environ.get("RANK") == "0"', "False").format(
        hang=held, exception=exception)


def launch(box, ranks, *options, command=("./torchrun",), **more):
    """Each of them goes when all are watched."""
    job = box.start(*options, "--", *command, *(rank(text) for text in ranks),
                    shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\ncat >run.sh <<'E'\n{SCRIPT}E\n"
                          "chmod +x torchrun run.sh", **more)
    until_watched(job, len(ranks))
    for number in range(len(ranks)):
        pathlib.Path(job.folder, f"go{number}.0").touch()
    return job


@pytest.mark.parametrize("hang, labelled", [
    ("a thread", True), ("one of C", False), ("an excepthook", False)])
def test_a_rank_of_a_launcher(box, hang, labelled):
    job = launch(box, [WORKS, raises(hang, labelled=labelled), WORKS], "--linger=0.6", "--grace=4",
                 "--report=r.json")
    result = job.wait()
    assert result.status == 1, result.err
    lines = [line for line in result.lines() if not line.startswith("rankinit: warning: ")]
    assert names(lines[0], 1, 1), result.err
    assert ") raised ValueError: bad batch 17 and has not ended for " in lines[0]
    place = HANGS[hang][1]
    assert lines[0].endswith(f" s: {place}; --linger stops it now"), lines[0]
    assert names(lines[1], 1, 1)
    assert failed_first(lines[1], "raised the error below, and had not ended")
    assert " s later: killed by SIGTERM (15), after " in lines[1]
    assert lines[2] == f"rankinit:   seen before the stop: {place}"
    assert lines[3] == "rankinit:   ValueError: bad batch 17"
    assert stopped_line("0, 2") in lines
    assert lines[-1] == status_line(1)
    document = json.loads(job.read("r.json"))
    schema.check(document, "report")
    assert document["first_failure"]["rank"] == 1 and document["first_failure"]["class"] == "own"
    assert [rank["class"] for rank in document["ranks"]] == ["stopped", "own", "stopped"]
    assert document["exit_status"] == 1
    page = box.run("--blame", str(pathlib.Path(job.folder, "r.json")))
    assert "rank 1" in page.out.decode().splitlines()[0], page


@pytest.mark.parametrize("command", [
    ("bash", "-c", './torchrun "$@"', "bash"), ("./run.sh",)])
def test_a_shell_in_front_of_the_launcher(box, command):
    result = launch(box, [WORKS, raises()], "--linger=0.6", "--grace=2", command=command).wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1
    assert names(said_at_once(result)[0], 1, 1)


def test_a_rank_of_a_launcher_that_ignores_the_stop(box):
    """SIGKILL comes to what is left by --grace, as at any stop."""
    result = launch(box, [WORKS, raises("what ignores SIGTERM")], "--linger=0.6",
                    "--grace=2").wait()
    assert result.status == 1 and len(said_at_once(result)) == 1, result.err
    assert " s later: killed by SIGKILL (9), after " in result.err, result.err


def test_two_ranks_of_a_launcher(box):
    """Both bear their labels."""
    text = raises(labelled=True)
    result = launch(box, [text, text, WORKS], "--linger=1.5", "--grace=2").wait()
    assert result.status == 1, result.err
    assert 1 <= len(said_at_once(result)) <= 2
    assert "ValueError: bad batch 17" in said_at_once(result)[0]


def test_two_ranks_at_their_exits_of_which_one_has_raised(box):
    """Both programs are over, and the words on stderr bear no label: its memory tells whose."""
    over = "import atexit, time\natexit.register(time.sleep, 600)"
    result = launch(box, [over, raises("one of C"), WORKS], "--linger=0.4", "--grace=2").wait()
    assert result.status == 1 and len(said_at_once(result)) == 1, result.err
    assert names(said_at_once(result)[0], 1, 1)


def test_a_rank_that_has_ended_may_have_raised_it(box):
    """The launcher goes on without it, and another program is over, too."""
    over = "import atexit, time\natexit.register(time.sleep, 600)"
    job = launch(box, [over, f"raise {BAD}", WORKS], "--linger=0.4", env={"STOP": "0"})
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(2.5)
    result = job.stop()
    assert "--linger" not in result.err and "had raised" not in result.err, result.err


def go_twice(job):
    for attempt in (0, 1):
        until_watched(job, 2, attempt)
        for number in (0, 1):
            pathlib.Path(job.folder, f"go{number}.{attempt}").touch()


@pytest.mark.parametrize("labelled", [False, True])
def test_a_rank_of_the_second_attempt(box, labelled):
    held = rank(raises(labelled=labelled))
    job = box.start("--linger=0.5", "--grace=2", "--", "./torchrun", rank(WORKS),
                    f"if [ $ATTEMPT = 0 ]; then {rank('raise SystemExit(1)')}; fi; {held}",
                    shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\nchmod +x torchrun",
                    env={"RESTARTS": "1", "TELLS": "1"})
    go_twice(job)
    result = job.wait()
    assert result.status == 1, result.err
    assert len(said_at_once(result)) == 1
    assert names(said_at_once(result)[0], 1, 1)
    assert failed_first(result.err, "raised the error below, and had not ended")


@pytest.mark.parametrize("labelled, env", [(True, {}), (False, {"TELLS": "1"})])
def test_a_launcher_that_has_started_its_ranks_again(box, labelled, env):
    """What the first attempt printed is not the second one's, which takes its time to end."""
    over = "import atexit, time\natexit.register(time.sleep, 4)"
    failed = rank(raises(labelled=labelled).replace("threading.Thread(target=work).start()", ""))
    job = box.start("--linger=0.5", "--", "./torchrun", rank(WORKS),
                    f"if [ $ATTEMPT = 0 ]; then {failed}; fi; {rank(over)}",
                    shell=f"cat >torchrun <<'E'\n{LAUNCHER}E\nchmod +x torchrun",
                    env={"RESTARTS": "1", **env})
    go_twice(job)
    wait_until(lambda: not [pid for pid in job.members() if {b"RANK=1", b"ATTEMPT=1"} <=
                            set(peek.read(pid, "environ").split(b"\0"))], "the end of rank 1")
    assert not job.ended(0.5)
    result = job.stop()
    assert "--linger" not in result.err and "had raised" not in result.err, result.err


@pytest.mark.parametrize("then, labelled", [
    ("for _ in range(30):\n    catch()\n    time.sleep(0.1)", False),
    ("catch()\ntime.sleep(3)", True),
    # at the outermost frame, as one that leaves the program
    ("try:\n    raise ValueError('x')\nexcept ValueError:\n    sys.excepthook(*sys.exc_info())\n"
     "end = time.monotonic() + 5\nwhile time.monotonic() < end:\n    pass", False),
])
def test_ranks_of_a_launcher_that_are_left_alone(box, then, labelled):
    """They caught theirs; a third one has done its work, and takes its time to end."""
    text = CATCHES.replace("import atexit", "import traceback, atexit").format(then=then)
    if labelled:
        text = text.replace("def catch", LABELS + "\ndef catch")
    over = "import atexit, time\natexit.register(time.sleep, 6)"
    result = launch(box, [text, text, over], "--linger=0.8").wait()
    assert (result.status, result.out) == (0, b"done\ndone\n"), result.err
    assert not result.lines()


@pytest.mark.parametrize("options, labelled", [([], False), (["--linger=3600"], True)])
def test_a_stop_of_a_launcher_tells_of_a_rank_that_had_raised(box, options, labelled):
    """The control: without it, or before its time, the job waits."""
    job = launch(box, [WORKS, raises(labelled=labelled), WORKS], *options, "--autopsy-after=0")
    wait_until(lambda: "ValueError: bad batch 17" in job.error_text(), "its traceback")
    assert not job.ended(1.0)
    result = job.stop()
    assert result.status != 0 and "--linger" not in result.err, result.err
    said = [line for line in result.lines() if "had raised" in line]
    assert len(said) == 1, result.err
    assert said[0].startswith("rankinit:   rank 1 had raised ValueError: bad batch 17, ")
    assert said[0].endswith(" s before this stop, and had not ended")


def test_a_stop_of_a_launcher_whose_ranks_run_on(box):
    """The control: they printed an exception at their outermost frame, and caught it."""
    then = "try:\n    raise ValueError('bad batch 17')\nexcept ValueError:\n" \
        "    sys.excepthook(*sys.exc_info())\nwhile True:\n    time.sleep(600)"
    job = launch(box, [CATCHES.format(then=then)] * 2, "--linger=0.3", "--autopsy-after=0")
    wait_until(lambda: job.error_text().count("ValueError: bad batch 17") == 2, "two tracebacks")
    assert not job.ended(1.5)
    result = job.stop()
    assert result.status != 0, result.err
    assert "had raised" not in result.err and "--linger" not in result.err


def test_a_program_that_is_only_named_like_python(box):
    """What embeds Python may go on after an exception; the control is its own name."""
    for name, ends in (("python-train", False), ("python3.11", True)):
        job = box.start("--nproc-per-node=2", "--linger=0.3", "--grace=2", "--", f"./{name}",
                        "-ISc", program(), shell=f"cp {sys.executable} {name}")
        wait_until(lambda job=job: "ValueError: bad batch 17" in job.error_text(), "its traceback")
        assert job.ended(30 if ends else 3) == ends
        result = job.wait() if ends else job.stop()
        assert len(said_at_once(result)) == ends, result.err
