# SPDX-License-Identifier: Apache-2.0
"""Ranks of a launcher, the stand-in launcher.py, whose words are in files or on a terminal."""

import pytest

from peek import wait_until
from test_launched import (ERROR, LOSE, OWN, RAISE, WAIT, launch, let_go,  # noqa: F401
                           run_attempts, until_watched, verdict)
from test_terminal import terminal  # noqa: F401  a fixture
from verdict import failed_first, names, names_none

OLD = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'old'\n"
HOOKED = OWN.replace("exit 1", "exec sleep 99").replace("rank0", "rank1")
ABORT = LOSE.replace("exit 1", "ulimit -c 0; kill -ABRT $$").replace("[rank1]", "[rank0]")


@pytest.mark.parametrize("to", ["err.$RANK", "all"])
def test_files_that_ranks_have_as_stderr(launch, to):  # noqa: F811
    """Their own, or one of all; what stood in them before is another job's."""
    shell = f"""for name in err.0 err.1 all; do printf '{OLD.replace("'", "")}' >$name; done"""
    job = launch(f"exec 2>>{to}; " + OWN, f"exec 2>>{to}; " + LOSE, env={"STOP": "0"}, shell=shell)
    until_watched(job, 2)
    let_go(job, 1)
    let_go(job, 0)
    said = verdict(job.wait())
    assert names(said.splitlines()[0], 0, 0), said
    assert said.splitlines()[1] == "rankinit:   ValueError: bad batch 17", said
    assert "rank 1: lost a peer, exit status 1" in said, said
    assert "KeyError" not in said, said


@pytest.mark.parametrize("change, why", [
    ("", None),
    ("rm said; ", "the file that was its stderr"),
    ("mv said e; mkfifo said; ", "the file that was its stderr"),
    ("mv said e; ln -s e said; ", "the file that was its stderr"),
    ("cp said e; mv e said; ", "the file that was its stderr"),
    ("exec 2>/dev/null; ", None),
])
def test_what_is_such_a_file(launch, change, why):  # noqa: F811
    """Another one under its name is none of it, and is not waited for."""
    rank = "exec 2>>said; " + WAIT + change + "echo 'ValueError: bad batch 17' >&2; exit 3"
    job = launch("exec 2>/dev/null; sleep 99", rank)
    run_attempts(job, 1)
    result = job.wait()
    assert failed_first(verdict(result), "exit status 3"), result.err
    assert ("bad batch 17" in verdict(result)) == (change == ""), result.err
    assert ("why is not known" in verdict(result)) == (why is not None), result.err
    assert why is None or why in verdict(result), result.err


def test_what_was_there_before_explains_nothing(launch):  # noqa: F811
    shell = f"""cat >said <<'T'\n{OLD}T"""
    job = launch("sleep 99", "exec 2>>said; " + WAIT + "exit 1", shell=shell)
    run_attempts(job, 1)
    result = job.wait()
    assert failed_first(verdict(result), "exit status 1"), result.err
    assert "KeyError" not in result.err, result.err
    assert result.brief["cause"] == "unknown" and result.brief["retry"] == "same", result.brief


def test_what_was_there_before_the_rank_was_seen(launch):  # noqa: F811
    """It is the rank's own where that has not opened the file to append to it."""
    job = launch("sleep 99", "exec 2>said; " + RAISE.replace(WAIT, "").replace("exec ", "")
                 + "; " + WAIT + "exit 1")
    run_attempts(job, 1)
    result = job.wait()
    assert "  ValueError: bad batch 17" in verdict(result), result.err
    assert result.brief["cause"] == "exception", result.brief


@pytest.mark.parametrize("words", [True, False])
def test_a_victim_that_aborts_first(launch, words):  # noqa: F811
    """Both have files. The control: it may have caught what has no label of torch's hook."""
    culprit = HOOKED if words else HOOKED.replace("[rank1]: ", "")
    job = launch("exec 2>err.0; " + ABORT, "exec 2>err.1; " + culprit)
    until_watched(job, 2)
    let_go(job, 1)
    wait_until(lambda: job.read("err.1").endswith(b"17\n"), "its exception")
    let_go(job, 0)
    result = job.wait()
    if words:
        assert names(verdict(result), 1, 1), result.err
        assert result.brief["cause"] == "exception" and result.brief["rank"] == "1", result.brief
    else:
        assert names_none(result.err, "rank 0 lost a peer"), result.err
        assert "rank" not in result.brief and result.brief["retry"] == "same", result.brief


@pytest.mark.parametrize("ends", ["ulimit -c 0; kill -ABRT $$", "kill -SEGV $$", "exit 1"])
def test_on_a_terminal(launch, terminal, ends):  # noqa: F811
    """An abort alone names no rank; another signal does; a status does, and why is said of it."""
    job = launch(WAIT + ends, "sleep 99", tty=terminal.path)
    until_watched(job, 2)
    let_go(job, 0)
    job.wait()
    terminal.look(0.1)
    assert names_none(terminal.text) == ("ABRT" in ends)
    assert names(terminal.text, 0, 0) == ("ABRT" not in ends), terminal.text
    assert ("stderr is a terminal, which rankinit does not read" in terminal.text) == (
        "SEGV" not in ends), terminal.text
    # the control: where rankinit reads it the abort is that rank's own
    job = launch(WAIT + ends, "sleep 99")
    until_watched(job, 2)
    let_go(job, 0)
    result = job.wait()
    assert names(verdict(result), 0, 0), result.err
    assert "terminal" not in result.err, result.err


def test_a_relative_error_file(launch, terminal):  # noqa: F811
    """It counts from the folder of the launcher, wherever the rank may be by now."""
    job = launch("sleep 99", WAIT + "cd /proc; F=$OLDPWD/$TORCHELASTIC_ERROR_FILE; "
                 + ERROR.replace("$TORCHELASTIC_ERROR_FILE", "$F") + "exit 3",
                 tty=terminal.path, env={"RELATIVE": "1", "ERRORS": "error-%d-%d.json"})
    run_attempts(job, 1)
    job.wait()
    terminal.look(0.1)
    assert "ValueError: bad batch 17" in terminal.text, terminal.text
