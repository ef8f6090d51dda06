# SPDX-License-Identifier: Apache-2.0
"""Terminals: who has the foreground, and what the keys do."""

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time

import pytest

import peek
from peek import PATIENCE, wait_until
from verdict import names

PLACES = ["init", "below"]
CTRL_C, CTRL_Z = b"\x03", b"\x1a"
BASH = ["--norc", "--noprofile", "-i"]
SHELL_ENV = {"TERM": "dumb", "PS1": "prompt> ", "HISTFILE": ""}


class Terminal:
    """A pseudo-terminal, and all that has appeared on it."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        self.path = os.ttyname(self.slave)
        self.text = ""

    def type(self, keys):
        os.write(self.master, keys if isinstance(keys, bytes) else keys.encode())

    def look(self, seconds=0.0):
        while select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            seconds = 0.0

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            self.look(0.05)

    def foreground(self):
        """The group, as numbered out here."""
        return os.tcgetpgrp(self.master)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self):
        """The line is cut: whoever had it is told."""
        os.close(self.master)
        self.master = None

    def close(self):
        if self.master is not None:
            os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def start(box, terminal, *words, ready=True, **options):
    job = box.start(*words, tty=terminal.path, **options)
    if ready:
        job.until("main ready")
    return job


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_c_once(box, terminal, place):
    job = start(box, terminal, "--", *box.payload("main", "deaf", "same:near", "session:far"),
                place=place)
    # a single command that has the terminal has the keys for itself, however many
    for count in (1, 2, 3, 4):
        terminal.type(CTRL_C)
        wait_until(lambda: job.count("main SIGINT") >= count, "an INT")
        time.sleep(0.1)
        assert job.count("main SIGINT") == count
        job.until("near done")
    assert job.count("near SIGINT") == 1, "it is of the same group, and ended"
    assert job.count("far SIGINT") == 0
    assert not job.ended()


@pytest.mark.parametrize("place", PLACES)
def test_the_command_has_the_foreground(box, terminal, place):
    job = start(box, terminal, "--", *box.payload("main", "after=0.5"), place=place)
    before = os.getpgid(job.pid)
    assert terminal.foreground() == job.main() == os.getpgid(job.main()) != before
    assert job.wait().status == 0
    if place == "below":
        assert terminal.foreground() == before, "and gives it back"


def test_ctrl_z_does_not_wedge_an_orphaned_group(box, terminal):
    """Nobody could continue us there, so the command goes on at once."""
    job = start(box, terminal, "--", *box.payload("main", "status=4"), place="below")
    terminal.type(CTRL_Z)
    job.until("main SIGCONT")
    wait_until(lambda: peek.state(job.main()) == "S", "it goes on")
    wait_until(lambda: terminal.foreground() == job.main(), "in the foreground")
    assert job.stop().status == 4
    assert job.count("main SIGTERM") == 1


def test_ctrl_z_of_process_1(box, terminal):
    """Nobody could continue what it stops, as below docker run -it: the key does nothing."""
    job = start(box, terminal, "--", *box.payload("main", "status=4", "same:near"))
    for count in (1, 2):
        terminal.type(CTRL_Z)
        wait_until(lambda: job.count("main SIGCONT") >= count, "it goes on")
        wait_until(lambda: job.count("near SIGCONT") >= count, "and its group")
    wait_until(lambda: peek.state(job.main()) == "S", "it goes on")
    assert terminal.foreground() == job.main()
    assert job.stop().status == 4
    assert job.count("main SIGTERM") == 1


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_stop_that_is_no_key(box, terminal, number):
    """docker kill -s TSTP, or a SIGSTOP for the command: somebody's own business."""
    job = start(box, terminal, "--", *box.payload("main"))
    job.signal(number, None if number == signal.SIGTSTP else job.main())
    wait_until(lambda: peek.state(job.main()) == "T", "stopped")
    time.sleep(0.3)
    assert peek.state(job.main()) == "T" and job.count("main SIGCONT") == 0
    job.signal(signal.SIGCONT)
    job.until("main SIGCONT")
    # and the key is one again
    terminal.type(CTRL_Z)
    wait_until(lambda: job.count("main SIGCONT") == 2, "it goes on")
    assert job.stop().status == 0


# The terminal goes to a group of its own, which ends, or not, before this one reads.
GIVES_IT_AWAY = """
import os, signal, sys, time
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    time.sleep(60)
while os.getpgid(pid) != pid:
    time.sleep(0.01)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.tcsetpgrp(0, pid)
if sys.argv[1] == "ends":
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
os.write(1, b"re" + b"ady ")
word = os.read(0, 100)
os.write(1, b"got-" + word.strip() + b"-")
os._exit(5)
"""


def test_a_terminal_that_nobody_has(box, terminal):
    """Below process 1 there is no shell that would take it back."""
    def begin(what):
        terminal.text = ""
        job = start(box, terminal, "--", sys.executable, "-ISc", GIVES_IT_AWAY, what,
                    ready=False)
        terminal.until("ready")
        return job

    job = begin("ends")
    terminal.type("word\n")
    terminal.until("got-word-")
    assert job.wait().status == 5
    # the control: somebody has it
    job = begin("stays")
    wait_until(lambda: peek.state(job.main()) == "T", "stopped")
    time.sleep(0.3)
    assert peek.state(job.main()) == "T"


def test_under_a_shell_with_job_control(box, terminal, tool):
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    terminal.type(f"{box.rankinit} -- sleep 100\n")
    ours = wait_until(lambda: [pid for pid, facts in job.members().items()
                               if facts[0] == "rankinit" and peek.children(pid)], "rankinit")[0]
    child = peek.children(ours)[0]
    wait_until(lambda: terminal.foreground() == child, "the command in the foreground")
    wait_until(lambda: peek.stat(child)[0] == "sleep", "the command")
    for _ in range(2):
        terminal.text = ""
        terminal.type(CTRL_Z)
        terminal.until(r"Stopped.*rankinit -- sleep 100")
        assert (peek.state(ours), peek.state(child)) == ("T", "T")
        terminal.text = ""
        terminal.type("jobs\n")
        terminal.until(r"\[1\]\+ +Stopped .*rankinit -- sleep 100")
        terminal.type("fg\n")
        wait_until(lambda: (peek.state(ours), peek.state(child)) == ("S", "S"), "both go on")
        wait_until(lambda: terminal.foreground() == child, "in the foreground again")
    terminal.type(CTRL_C)
    terminal.until(r"sleep \(pid \d+\) was killed by SIGINT \(2\)")
    terminal.type('echo sta""tus=$?\n')
    terminal.until("status=130")
    terminal.type("exit 9\n")
    assert job.wait().status == 9


def test_in_the_background_of_a_shell(box, terminal, tool):
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    shell = terminal.foreground()
    terminal.type(f"{box.rankinit} -- sleep 100 &\n")
    ours = wait_until(lambda: [pid for pid, facts in job.members().items()
                               if facts[0] == "rankinit" and peek.children(pid)], "rankinit")[0]
    terminal.type('echo al""ive\n')
    terminal.until("alive")
    assert terminal.foreground() == shell
    wait_until(lambda: peek.state(ours) == "S", "it sleeps, and is not stopped")
    terminal.type("kill %1; wait %1; echo sta\"\"tus=$?\n")
    terminal.until("status=143")


def test_from_the_background_to_the_front(box, terminal, tool):
    """`rankinit cmd &`, then fg: the command can read what is typed."""
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    terminal.type(f"{box.rankinit} -- sh -c 'read x; echo got-$x-; exit 6' &\n")
    terminal.until(r"\[1\] \d+")
    ours = wait_until(lambda: [pid for pid, facts in job.members().items()
                               if facts[0] == "rankinit" and peek.children(pid)], "rankinit")[0]
    child = peek.children(ours)[0]
    wait_until(lambda: peek.state(child) == "T", "it wants to read, and must not")
    wait_until(lambda: peek.state(ours) == "T", "so do we, for the shell to see")
    terminal.type("fg\n")
    wait_until(lambda: terminal.foreground() == child, "in the foreground")
    terminal.type("word\n")
    terminal.until("got-word-")
    terminal.type('echo sta""tus=$?\n')
    terminal.until("status=6")


def test_the_rest_of_a_pipeline_keeps_the_terminal(box, terminal, tool):
    """As `rankinit -- cmd | less`: a pager must not be stopped by who feeds it."""
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")

    def read_in_a_pipe(words):
        terminal.text = ""
        # late enough for the init to have taken what it wants
        reader = "sh -c 'sleep 0.3; echo re\"\"ady; read x </dev/tty; echo got-$x-'"
        terminal.type(f"{words} sleep 1 | {reader}\n")
        terminal.until("ready")
        terminal.type("word\n")
        terminal.until("got-word-|Stopped|prompt> $")
        return "got-word-" in terminal.text

    assert read_in_a_pipe(f"{box.rankinit} --")
    # Ctrl-C reaches the command by the terminal, once, and Ctrl-Z stops all of it
    payload = " ".join(box.payload("main", "deaf")).replace("@FOLDER", job.folder)
    terminal.type(f"{box.rankinit} -- {payload} | cat\n")
    job.until("main ready")
    terminal.type(CTRL_C)
    job.until("main SIGINT")
    terminal.text = ""
    terminal.type(CTRL_Z)
    terminal.until("Stopped")
    assert job.count("main SIGINT") == 1
    terminal.type("kill -9 %1; wait; echo do\"\"ne\n")
    terminal.until("done")
    # the control
    assert not read_in_a_pipe(f"{tool('tini')} -s --")


def test_a_script_goes_on_reading(box, tool):
    """The foreground comes back: a shell without job control could not fetch it."""
    def run(program, command="true"):
        terminal = Terminal()
        script = f'{program} -- {command}; echo re""ady; read x; echo got-$x-'
        start(box, terminal, "-c", script, program="/bin/sh", place="below", ready=False)
        terminal.until("ready")
        terminal.type("word\n")
        terminal.until("got-.*-")
        terminal.close()
        return "got-word-" in terminal.text

    assert run(box.rankinit)
    assert run(box.rankinit, "/nonexistent"), "nor does a child that came to nothing keep it"
    # the control
    assert not run(tool("tini"))


@pytest.mark.parametrize("place", PLACES)
def test_window_size(box, terminal, place):
    terminal.resize(33, 99)
    script = 'trap "stty size; exit 5" WINCH; stty size; echo re""ady; while :; do sleep 0.02; done'
    job = start(box, terminal, "--", "bash", "-c", script, place=place, ready=False)
    terminal.until("33 99\r\nready")
    terminal.resize(44, 111)
    terminal.until("44 111")
    assert job.wait().status == 5


def test_an_interactive_shell(box, terminal, tool):
    """As docker run -it IMAGE bash: job control is on, nothing is complained of."""
    job = start(box, terminal, "--", tool("bash"), *BASH, env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    terminal.type("sleep 100\n")
    wait_until(lambda: any(facts[0] == "sleep" for facts in job.members().values()), "sleep")
    terminal.type(CTRL_Z)
    terminal.until(r"Stopped +sleep 100")
    # bash refuses the first exit if it has not seen the end of the job yet
    terminal.type("kill -9 %1; exit 7\nexit 7\n")
    wait_until(lambda: terminal.look() or job.ended(), "the end")
    assert job.wait().status == 7
    assert "job control" not in terminal.text and "cannot set terminal" not in terminal.text


def test_the_terminal_goes_away(box):
    """The kernel tells the leader of the session, which process 1 is."""
    made = Terminal()
    job = start(box, made, "--", *box.payload("main"))
    made.close()
    job.until("main SIGHUP")
    assert job.stop().status == 0


def test_a_terminal_that_is_not_ours(box, terminal):
    """stdin is a terminal of another session: left alone."""
    with open(terminal.path, "rb") as file:
        result = box.run("--", "sh", "-c", "tty; exit 3", stdin=file)
    assert (result.status, result.err) == (3, "")
    assert result.out.decode().strip() == terminal.path


# Several ranks.

PDB = [sys.executable, "-ISc", """import os
if os.environ["RANK"] in os.environ["ASKING"]:
    breakpoint(); x = 1
print("went-on-" + os.environ["RANK"], flush=True)
"""]


@pytest.mark.parametrize("place", PLACES)
def test_the_first_rank_can_be_debugged(box, terminal, place):
    job = start(box, terminal, "--nproc-per-node=3", "--", *PDB, place=place, ready=False,
                env={"ASKING": "0", "TERM": "dumb"})
    terminal.until(r"\(Pdb\) ")
    for rank in (1, 2):
        terminal.until(f"went-on-{rank}")
    terminal.type("p 6 * 7\n")
    terminal.until(r"42\r\n\(Pdb\) ")
    terminal.type("c\n")
    terminal.until("went-on-0")
    assert job.wait().status == 0


def test_another_rank_that_asks_is_told_who_has_the_terminal(box, terminal):
    job = start(box, terminal, "--nproc-per-node=2", "--", *PDB, ready=False,
                env={"ASKING": "0 1", "TERM": "dumb"})
    terminal.until(r"\[input.none\]")
    assert job.wait().status == 1
    said = " ".join(terminal.text.split())
    assert names(said, 1, 1) and "bdb.BdbQuit" in said
    assert ("stdin is /dev/null for all ranks but the first one: breakpoint() and input() fail "
            "there: the first rank here has the terminal; write if os.environ[\"LOCAL_RANK\"] == "
            '"0": breakpoint() [input.none]') in said


@pytest.mark.parametrize("options", [[], ["--nproc-per-node=2"]])
@pytest.mark.parametrize("end, echoes", [("kill -9 $$", True), ("exit 3", False)])
def test_who_is_killed_leaves_the_terminal_as_it_was(box, terminal, options, end, echoes):
    """A line editor's own modes echo nothing; who ends by himself may mean them."""
    script = f'[ "$RANK" = 1 ] || {{ stty -echo -icanon; {end}; }}'
    job = start(box, terminal, *options, "--", "sh", "-c", script, ready=False)
    assert job.wait().status in (3, 137)
    wanted = termios.ECHO | termios.ICANON
    assert termios.tcgetattr(terminal.slave)[3] & wanted == (wanted if echoes else 0)


@pytest.mark.parametrize("options", ["", "--nproc-per-node=2"])
def test_who_is_killed_in_the_background_changes_no_modes(box, terminal, tool, options):
    """After Ctrl-Z and bg the terminal is another job's, as an editor's."""
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    terminal.type(f"{box.rankinit} {options} -- sleep 100\n")
    ranks = wait_until(lambda: [pid for pid, facts in job.members().items()
                                if facts[0] == "sleep"], "the ranks")
    terminal.type(CTRL_Z)
    terminal.until("Stopped")
    terminal.type("bg; stty -icanon; echo ed\"\"its; wait; stty -a; exit 9\n")
    terminal.until("edits")
    for pid in ranks:
        with contextlib.suppress(ProcessLookupError):   # rankinit ends the others for the first
            os.kill(pid, signal.SIGKILL)
    terminal.until("isig -?icanon")
    assert "isig -icanon" in terminal.text
    assert job.wait().status == 9


def test_ranks_in_the_background_of_a_shell(box, terminal, tool):
    """Who reads there is stopped: then a job would hang for good."""
    job = start(box, terminal, *BASH, program=tool("bash"), env=SHELL_ENV, ready=False)
    terminal.until("prompt> ")
    script = "sh -c 'echo $RANK-$(readlink /proc/self/fd/0)-$(cat)-'"
    terminal.type(f"{box.rankinit} --nproc-per-node=2 -- {script} & wait %1; echo sta\"\"tus=$?\n")
    terminal.until("status=0")
    assert "0-/dev/null--" in terminal.text and "1-/dev/null--" in terminal.text
    # the control: in the foreground the first one has it
    terminal.text = ""
    terminal.type(f"{box.rankinit} --nproc-per-node=2 -- {script}\n")
    terminal.until("1-/dev/null--")
    terminal.type(b"word\n\x04")
    terminal.until("0-/dev/pts/[0-9]+-word-")
    terminal.type("exit 9\n")
    assert job.wait().status == 9
