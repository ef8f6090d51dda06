# SPDX-License-Identifier: Apache-2.0
"""
rankinit is root and its command is not: what the command, or one before it,
does to names never decides where rankinit writes.
"""

import json
import os

import pytest

from box import refused, warned

SH = ["sh", "-c"]
USER = "--user=1234:1234"
# A folder of the command's, and one of root's beside it, with a file in it.
FOLDERS = """cd @FOLDER && chmod 755 . && mkdir own own/d root && chown -R 1234:1234 own &&
    echo secret >root/file && umask 022"""


@pytest.fixture
def attack(box):
    """The job after its end: the option's file is in own/d, the command is the attacker."""
    def run(option, script, *options, shell="true", user=USER, ranks=()):
        job = box.start(option, user, *ranks, *options, "--", *SH, script,
                        shell=f"{FOLDERS} && {shell.replace(chr(10), ' ')}")
        job.result = job.wait()
        return job
    return run


def untouched(job, *also):
    """Nothing in root's folder but what was there."""
    folder = os.path.join(job.folder, "root")
    assert sorted(os.listdir(folder)) == sorted(["file", *also])
    assert job.read("root/file") == b"secret\n"
    return True


SWAP = "cd own && mv d moved && ln -s ../root d; exit 7"


@pytest.mark.parametrize("option, name", [("--report=own/d/report", "report"),
                                          ("--state=own/d/state", "state")])
def test_a_folder_that_becomes_a_link(attack, option, name):
    """What was opened at the start is written to, wherever it is now."""
    job = attack(option, SWAP)
    assert job.result.status == 7 and untouched(job)
    assert b"rankinit-" in job.read(f"own/moved/{name}")
    # the control: a link of root's that is there at the start
    job = attack(option, "exit 7", shell="rm -r own/d && ln -s ../root own/d")
    assert job.result.status == 7 and b"rankinit-" in job.read(f"root/{name}")


@pytest.mark.parametrize("option, name", [("--report=own/a/d/report", "report"),
                                          ("--state=own/a/d/state", "state")])
def test_a_folder_further_up_that_becomes_a_link(attack, option, name):
    script = "cd own && mv a moved && ln -s ../root a; exit 7"
    job = attack(option, script, shell="mkdir -p own/a/d root/d && chown -R 1234 own")
    assert job.result.status == 7 and untouched(job, "d")
    assert os.listdir(os.path.join(job.folder, "root/d")) == []
    assert b"rankinit-" in job.read(f"own/moved/d/{name}")


@pytest.mark.parametrize("option, name", [("--report=own/d/report", "report"),
                                          ("--state=own/d/state", "state")])
def test_a_file_that_becomes_a_link(attack, option, name):
    """It is replaced, as a file would be."""
    job = attack(option, f"ln -sf ../../root/file own/d/{name}; exit 7")
    assert job.result.status == 7 and untouched(job)
    path = os.path.join(job.folder, "own/d", name)
    assert not os.path.islink(path) and os.stat(path).st_uid == 0


@pytest.mark.parametrize("option, name", [("--report=own/d/report", "report"),
                                          ("--state=own/d/state", "state")])
def test_a_file_that_was_a_link(attack, option, name):
    """Of another user's, perhaps of a container before this one: it is replaced too."""
    plant = f"ln -s ../../root/file own/d/{name} && chown -h 1234 own/d/{name}"
    job = attack(option, "exit 7", shell=plant)
    assert job.result.status == 7 and untouched(job)
    assert not os.path.islink(os.path.join(job.folder, "own/d", name))
    # the control: the operator's own is followed
    job = attack(option, "exit 7", shell=f"ln -s ../../root/file own/d/{name}")
    assert job.result.status == 7 and b"rankinit-" in job.read("root/file")
    assert os.path.islink(os.path.join(job.folder, "own/d", name))


def test_a_folder_that_was_a_link(attack):
    plant = "rm -r own/d && ln -s ../root own/d && chown -h 1234 own/d"
    job = attack("--report=own/d/report", "touch own/ran", shell=plant)
    error = refused(job.result, 125, "report.refused", "--report")
    assert "another user owns, or may have made, a symbolic link in the path" in error
    assert untouched(job)
    assert not os.path.exists(os.path.join(job.folder, "own/ran"))


def test_a_folder_of_the_state_that_was_a_link(attack):
    """That is not refused, as no other place for the state is."""
    plant = "rm -r own/d && ln -s ../root own/d && chown -h 1234 own/d"
    job = attack("--state=own/d/state", "exit 7", shell=plant)
    assert job.result.status == 7 and untouched(job)
    warned(job.result, "report.refused", "--state")


def test_a_link_where_everybody_may_write(box):
    """Of a rankinit that is not root: as the kernel's fs.protected_symlinks has it."""
    shell = """cd @FOLDER && chmod 755 . && mkdir all mine && chmod 1777 all && chown 1500 mine &&
        ln -s ../mine all/d && chown -h 1501 all/d""".replace("\n", " ")
    us = ["--reuid=1500", "--regid=1500", "--clear-groups", box.rankinit]
    report = ["--report=@FOLDER/all/d/report", "--", "true"]

    def run(more):
        job = box.start(*us, *report, program="/usr/bin/setpriv", shell=f"{shell} && {more}")
        return job, job.wait()

    refused(run("true")[1], 125, "report.refused", "--report")
    # the controls: a folder that is not open to all, our own link, root's
    for allowed in ("chmod 755 all", "chown -h 1500 all/d", "chown -h 0 all/d"):
        job, result = run(allowed)
        assert (result.status, result.err) == (0, "")
        assert json.loads(job.read("mine/report"))["exit_status"] == 0


def test_what_is_written_before_it_is_renamed(attack):
    """Nobody can wait for it: the command fills the folder with links of its usual names."""
    job = attack("--report=own/d/report",
                 "cd own/d && for n in 1 2 3; do ln -s ../../root/file report.$n.new; "
                 "ln -s ../../root/file .report.$n.new; done; exit 7")
    assert job.result.status == 7 and untouched(job)
    names = [name for name in os.listdir(os.path.join(job.folder, "own/d"))
             if not name.endswith(".new")]
    assert names == ["report"] and json.loads(job.read("own/d/report"))["exit_status"] == 7


def test_a_folder_that_is_made_again(attack, box):
    """As programs do with the folder of their output; but only where nobody else can."""
    anew = "rm -r {0}; mkdir {0}; exit 7"
    # a state that is to be written in between finds no folder
    runs = "until grep -q ' running ' @FOLDER/d/state; do sleep 0.02; done; "
    for us in [], ["--reuid=1234", "--regid=1234", "--clear-groups"]:
        job = box.start(*us, box.rankinit, "--report=@FOLDER/d/report", "--state=@FOLDER/d/state",
                        "--", *SH, runs + anew.format("@FOLDER/d"), program="/usr/bin/setpriv",
                        shell="mkdir @FOLDER/d" + ("; chown -R 1234 @FOLDER" if us else ""))
        assert job.wait().err == ""
        assert sorted(os.listdir(os.path.join(job.folder, "d"))) == ["report", "state"]
        assert json.loads(job.read("d/report"))["exit_status"] == 7
    job = attack("--report=own/d/report", anew.format("own/d"))
    assert job.result.status == 7 and untouched(job)
    assert os.listdir(os.path.join(job.folder, "own/d")) == []
    assert "the report cannot be written" in job.result.err
    job = attack("--report=own/d/report", "rm -r own/d; ln -s ../root own/d; exit 7")
    assert job.result.status == 7 and untouched(job)
    # a folder of root's, which has the place of the one that was there
    job = attack("--report=own/d/report", "rm -r own/d; mv own/conf own/d; exit 7",
                 shell="mkdir own/conf; echo keep >own/conf/report")
    assert job.result.status == 7 and job.read("own/d/report") == b"keep\n"


def test_a_folder_that_is_made_again_at_once(box, tool):
    """Before rankinit lets go of what is not its own: the new folder is."""
    trace = ["-D", "-o", "/dev/null", "-e", "trace=ppoll", "-e", "inject=ppoll:delay_exit=1000000"]
    job = box.start(*trace, box.rankinit, "--state=@FOLDER/d/state", "--report=@FOLDER/d/report",
                    "--", *SH, "rm -r @FOLDER/d; mkdir @FOLDER/d; exit 7", program=tool("strace"),
                    shell="mkdir @FOLDER/d", place="below")
    result = job.wait()
    assert (result.status, result.err) == (7, "")
    assert job.read("d/state").split()[1] == b"failed"
    assert json.loads(job.read("d/report"))["exit_status"] == 7


RACE = """cd own; (while :; do mv d e; ln -s ../root d; rm d; mv e d; done) 2>/dev/null & p=$!
    for i in $(seq 300); do for n in 1 2; do ln -sf ../../root/file e/state.$n.new; done; done \
        2>/dev/null; kill $p; wait $p; exit 7"""


def test_a_race(attack):
    """The command swaps all the time, and ends as it does so."""
    for _ in range(5):
        job = attack("--state=own/d/state", RACE, "--report=own/d/report")
        assert job.result.status == 7 and untouched(job)


@pytest.mark.parametrize("plant, written", [("ln -sf ../root/file fifo", False),
                                            ("mv -f hard fifo", False),
                                            ("touch other; mv other fifo", False), ("", True)])
def test_a_fifo_that_becomes_something_else(box, tmp_path, plant, written):
    for name in ("own", "root"):
        os.mkdir(tmp_path / name)
    (tmp_path / "root/file").write_text("secret\n")
    os.link(tmp_path / "root/file", tmp_path / "own/hard")
    os.mkfifo(tmp_path / "own/fifo")
    for path in (tmp_path, tmp_path / "own"):
        os.chmod(path, 0o755)
        os.chown(path, 1234, 1234)
    reader = os.open(tmp_path / "own/fifo", os.O_RDWR | os.O_NONBLOCK)
    try:
        result = box.run("--report=fifo", USER, "--", *SH, f"{plant}\nexit 7",
                         cwd=tmp_path / "own")
        assert result.status == 7
        assert ("the report cannot be written" in result.err) == (not written)
        if written:
            assert json.loads(os.read(reader, 65536))["exit_status"] == 7
        assert (tmp_path / "root/file").read_text() == "secret\n"
    finally:
        os.close(reader)


@pytest.mark.parametrize("options", [["--log-file=own/d/%h"],
                                     ["--log-file=own/d/rank_%r.log"]])
def test_a_log_that_was_a_link(attack, options):
    name = os.uname().nodename if "%h" in options[0] else "rank_0.log"
    plant = f"ln -s ../../root/file own/d/{name} && chown -h 1234 own/d/{name}"
    job = attack(options[0], "echo said", *options[1:], shell=plant)
    error = refused(job.result, 125, "log.refused", options[0].partition("=")[0])
    assert f'"own/d/{name}" cannot be opened: another user owns' in error and untouched(job)
    # the control: the operator's own link, to a file that need not be there
    job = attack(options[0], "echo said", *options[1:],
                 shell=f"ln -s ../../root/log own/d/{name}")
    assert job.result.status == 0 and job.read("root/log") == b"said\n"


@pytest.mark.parametrize("shm", ["/dev/shm", "/dev//shm", "/dev/./shm", "/dev/pts/../shm"])
def test_a_log_in_shm_that_was_a_link(attack, shm):
    """What is in /dev is the container's own, but for what everybody may make there."""
    mount = "mount -t tmpfs -o mode=1777 shm /dev/shm && mkdir -m 777 /dev/shm/d && "
    plant = "ln -s $PWD/root/file /dev/shm/d/rank_0.log && chown -h {} /dev/shm/d/rank_0.log"
    job = attack(f"--log-file={shm}/d/rank_%r.log", "echo said", shell=mount + plant.format(1234))
    error = refused(job.result, 125, "log.refused", "--log-file")
    assert f'"{shm}/d/rank_0.log" cannot be opened' in error and untouched(job)
    # the control
    job = attack(f"--log-file={shm}/d/rank_%r.log", "echo said", shell=mount + plant.format(0))
    assert job.result.status == 0 and job.read("root/file") == b"secret\nsaid\n"


def test_a_log_with_another_name(attack):
    """A hard link, where the kernel lets users make these."""
    opened = "chown 0 own/d && chmod {} own/d &&"
    # the command's own folder, and an emptyDir of Kubernetes', /tmp, one of a group's
    for before in ("", *(opened.format(mode) for mode in ("777", "1777", "775"))):
        job = attack("--log-file=own/d/rank_%r.log", "echo said",
                     shell=f"{before} ln root/file own/d/rank_0.log")
        error = refused(job.result, 125, "log.refused", "--log-file")
        assert "a second name (a hard link)" in error and untouched(job)
    # the controls: a folder of root's, and a file with one name
    job = attack("--log-file=root/rank_%r.log", "echo said", shell="ln root/file root/rank_0.log")
    assert job.result.status == 0 and job.read("root/file") == b"secret\nsaid\n"
    job = attack("--log-file=own/d/rank_%r.log", "echo said", shell="echo old >own/d/rank_0.log")
    assert job.result.status == 0 and job.read("own/d/rank_0.log") == b"old\nsaid\n"


@pytest.mark.parametrize("kind", ["hard", "symbolic"])
def test_a_link_of_root_s_with_another_name(attack, kind):
    """ln makes a hard link of a link, too: it is root's still, but not where it stands."""
    plant = "ln -P root/link" if kind == "hard" else "cp -P root/link"
    job = attack("--log-file=own/d/rank_%r.log", "echo said",
                 shell=f"ln -s $PWD/root/file root/link && {plant} own/d/rank_0.log")
    if kind == "hard":
        error = refused(job.result, 125, "log.refused", "--log-file")
        assert "may have made, a symbolic link" in error and untouched(job, "link")
    else:       # the control: one that root made for it
        assert job.result.status == 0 and job.read("root/file") == b"secret\nsaid\n"


def test_a_folder_for_logs_that_was_a_link(attack):
    plant = "rm -r own/d && ln -s ../root own/d && chown -h 1234 own/d"
    job = attack("--log-file=own/d/rank_%r.log", "echo said", shell=plant)
    refused(job.result, 125, "log.refused", "--log-file")
    job = attack("--log-file=own/d/logs/rank_%r.log", "echo said", shell=plant)
    error = refused(job.result, 125, "log.refused", "--log-file")
    assert '"own/d/logs/rank_0.log" cannot be opened: another user owns' in error and untouched(job)
    # the control
    job = attack("--log-file=own/d/logs/rank_%r.log", "echo said",
                 shell="rm -r own/d && ln -s ../root own/d")
    assert job.result.status == 0 and job.read("root/logs/rank_0.log") == b"said\n"


def test_the_folder_of_torch_s_files(attack):
    """It is moved away, and another one stands there with files that are root's."""
    secret = '{"message": "secret", "timestamp": 1}'
    script = """d=${TORCHELASTIC_ERROR_FILE%/*}; mv $d own/moved; ln -s $PWD/root $d; exit 7"""
    job = attack("--report=own/d/report", script, shell=f"echo '{secret}' >root/0.json && "
                 "export TMPDIR=$PWD/own")
    first = json.loads(job.read("own/d/report"))["first_failure"]
    assert first["torch_error"] is None and untouched(job, "0.json")
    # another name of a file that only root may read
    script = "mv -f own/hard $TORCHELASTIC_ERROR_FILE; exit 7"
    job = attack("--report=own/d/report", script, shell=f"echo '{secret}' >root/0.json && "
                 "ln root/0.json own/hard && export TMPDIR=$PWD/own")
    first = json.loads(job.read("own/d/report"))["first_failure"]
    assert first["torch_error"] is None and untouched(job, "0.json")
    assert not os.path.exists(os.path.join(job.folder, "own/hard")), "it was moved there"
    # the control
    script = f"echo '{secret}' >$TORCHELASTIC_ERROR_FILE; exit 7"
    job = attack("--report=own/d/report", script, shell="export TMPDIR=$PWD/own")
    assert json.loads(job.read("own/d/report"))["first_failure"]["torch_error"] is not None
    assert sorted(os.listdir(os.path.join(job.folder, "own"))) == ["d"]


def test_a_folder_for_torch_s_files_that_was_a_link(attack):
    plant = "rm -r own/d && ln -s ../root own/d && chown -h 1234 own/d && export TMPDIR=$PWD/own/d"
    job = attack("--nproc-per-node=2", "echo x$TORCHELASTIC_ERROR_FILE; true", "-v", shell=plant)
    assert job.result.status == 0 and job.result.out == b"x\nx\n" and untouched(job)
    assert "no folder for torch's error files" in job.result.err
    job = attack("--nproc-per-node=2", "echo x$TORCHELASTIC_ERROR_FILE; true", "-v",
                 shell="export TMPDIR=$PWD/own/d")
    assert job.result.out.count(b"/own/d/rankinit-") == 2, "the control"


def test_a_termination_log_that_is_a_link(box):
    def run(how):
        shell = ("chmod 755 @FOLDER; echo -n >@FOLDER/words; chmod 666 @FOLDER/words; "
                 "mkdir @FOLDER/dev; mount --rbind /dev @FOLDER/dev; mount -t tmpfs none /dev; "
                 "for n in null zero full tty; do touch /dev/$n; mount --bind @FOLDER/dev/$n "
                 f"/dev/$n; done; umount -l @FOLDER/dev; {how}")
        job = box.start("--", *SH, "kill -9 $$", shell=shell)
        assert job.wait().status == 137
        return job.read("words")
    assert run("ln -s @FOLDER/words /dev/termination-log") == b""
    assert b"SIGKILL" in run("touch /dev/termination-log; "
                             "mount --bind @FOLDER/words /dev/termination-log")


# What is held open is nobody else's.

def test_the_command_gets_no_folder(box):
    options = ["--report=report", "--state=state", "--nproc-per-node=2"]
    for more in ([], ["--log-file=logs/rank_%r.log"]):
        result = box.run(*options, *more, "--", *SH, "ls -l /proc/self/fd | sed 's/.* -> //'",
                         env={"TMPDIR": "/tmp"})
        lines = result.out.decode().splitlines()
        assert any(line.startswith("/proc/") for line in lines), "the control: ls's own"
        held = [line for line in lines
                if line.startswith("/") and not line.startswith(("/dev/", "/proc/"))
                and not line.endswith(("/out", "/err"))]
        assert result.status == 0 and held == []


@pytest.mark.parametrize("closed", ["", "<&-", "<&- >&-"])
def test_it_is_held_through_the_job(box, closed):
    """Also where the lowest descriptors were free at the start."""
    job = box.start(*SH, f'cd @FOLDER; mkdir d; exec "$@" {closed}', "sh", box.rankinit,
                    "--report=@FOLDER/d/report", "--state=@FOLDER/d/state", "--", *SH,
                    "mv @FOLDER/d @FOLDER/e; exit 3", program="/usr/bin/env")
    assert job.wait().status == 3
    assert json.loads(job.read("e/report"))["exit_status"] == 3
    assert job.read("e/state").split()[1] == b"failed"
    assert sorted(os.listdir(os.path.join(job.folder, "e"))) == ["report", "state"]


def test_many_of_us_in_one_folder(box, at_once):
    """Each is process 1, and all write to the same file."""
    shared = box.start("--", "true")
    shared.wait()
    path = os.path.join(shared.folder, "state")

    def one(number):
        job = box.start(f"--state={path}", f"--report={shared.folder}/report", "--", *SH,
                        f"exit {number}")
        assert job.wait().status == number
        assert "cannot be written" not in job.error_text()

    at_once(one, range(1, 13))
    # who starts when another one has ended sets its report aside
    assert set(os.listdir(shared.folder)) - {"report.before"} == {"err", "out", "report", "state"}
    assert 1 <= json.loads(shared.read("report"))["exit_status"] <= 12
    assert shared.read("state").count(b"\n") == 1


@pytest.mark.parametrize("option, code", [
    ("--report=ring/report", "report.refused"), ("--report=a", "report.refused"),
    ("--log-file=ring/a", "log.refused"), ("--log-file=a", "log.refused"),
    ("--report=/dev/ring", "report.refused"), ("--log-file=/dev/ring", "log.refused"),
])
def test_links_that_lead_in_a_circle(box, option, code):
    """They are the operator's own mistake, and nobody else's."""
    ring = ("ln -s gnir @FOLDER/ring && ln -s ring @FOLDER/gnir && ln -s a @FOLDER/a && "
            "mount -t tmpfs dev /dev && ln -s ring /dev/ring")
    job = box.start(option, "--", "touch", "@FOLDER/ran", shell=ring)
    error = refused(job.wait(), 125, code, option.partition("=")[0])
    assert "its symbolic links lead back to each other" in error and "user" not in error
    assert not os.path.exists(os.path.join(job.folder, "ran"))


def test_control_a_chain_of_links_is_none(box):
    job = box.start("--report=a", "--", "true", shell="ln -s b @FOLDER/a && ln -s c @FOLDER/b")
    assert job.wait().status == 0 and b"rankinit-" in job.read("c")
