# SPDX-License-Identifier: Apache-2.0
"""--user, --cap-drop, --cap-keep, --no-new-privs: in the command, never in rankinit."""

import os

import pytest

import peek
from box import refused
from peek import wait_until

PASSWD = """\
root:x:0:0:root:/root:/bin/sh
alice:x:1500:1600::/home/alice:/bin/sh
bob:x:1501:1800::/:/bin/sh
# carol:x:1502:1800::/:/bin/sh
+dave:x:1503:1800::/:/bin/sh
1500:x:1777:1778::/:/bin/sh
broken:x:15x3:1800::/:/bin/sh
short:x
"""
GROUP = "root:x:0:\nown:x:1600:\nalpha:x:1700:alice,bob\nbeta:x:1800:bob\ngamma:x:1900:bo,alice\n"
IDS = "echo $(sed -n 's/^[UG]id:.//p; s/^Groups:.//p' /proc/self/status)"
CAPS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
CHOWN, KILL, NET_BIND = 1 << 0, 1 << 5, 1 << 10


@pytest.fixture
def accounts(box, tmp_path):
    """Run as root of an image with its own accounts."""
    (tmp_path / "passwd").write_text(PASSWD)
    (tmp_path / "group").write_text(GROUP)
    shell = " && ".join(f"mount --bind {tmp_path}/{name} /etc/{name}"
                        for name in ("passwd", "group"))

    def run(*words, **options):
        return box.run(*words, shell=shell, **options)
    run.rankinit = box.rankinit
    return run


def four(uid, gid, *groups):
    """As the kernel shows them: real, effective, saved, of the file system."""
    return " ".join(map(str, [uid] * 4 + [gid] * 4 + list(groups)))


@pytest.mark.parametrize("user, expected", [
    ("alice", four(1500, 1600, 1700, 1900)),
    ("1501", four(1501, 1800, 1700, 1800)),
    ("alice:beta", four(1500, 1800)),
    ("alice:1800", four(1500, 1800)),
    ("alice:77", four(1500, 77)),
    ("4242:4343", four(4242, 4343)),
    ("4242:alpha", four(4242, 1700)),
    ("0:0", four(0, 0)),
    ("root", four(0, 0)),
    ("1500", four(1777, 1778)),
])
def test_user(accounts, user, expected):
    result = accounts(f"--user={user}", "--", "sh", "-c", IDS)
    assert (result.status, result.out.decode().strip(), result.err) == (0, expected, "")


def test_without_the_option(accounts):
    """The control."""
    result = accounts("--", "sh", "-c", IDS)
    assert result.out.decode().split()[:8] == ["0"] * 8


@pytest.mark.parametrize("user, code, subject", [
    ("nosuch", "account.unknown", "--user"),
    ("carol", "account.unknown", "--user"),
    ("dave", "account.unknown", "--user"),
    ("+dave", "account.unknown", "--user"),
    ("4242", "account.unknown", "--user"),
    ("alice:nosuch", "account.unknown", "--user"),
    ("alic", "account.unknown", "--user"),
    ("4294967295:0", "account.unknown", "--user"),
    ("0:4294967295", "account.unknown", "--user"),
    ("-1:0", "account.unknown", "--user"),
    ("broken", "file.syntax", "/etc/passwd"),
    ("short", "file.syntax", "/etc/passwd"),
])
def test_unknown_users(accounts, user, code, subject):
    refused(accounts(f"--user={user}", "--", "touch", "@FOLDER/ran"), 125, code, subject)


def test_an_unknown_user_for_one_who_is_not_root(accounts):
    """Whoever creates that account meets the next refusal."""
    words = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    result = accounts(*words, accounts.rankinit, "--user=4242", "--", "true",
                      program="/usr/bin/setpriv")
    error = refused(result, 125, "account.unknown", "--user")
    assert "only root may change the user, and this is user 65534: start the container as root" \
        in error
    # the control
    error = refused(accounts("--user=4242", "--", "true"), 125, "account.unknown", "--user")
    assert "create it in the image, or give numbers" in error


def test_the_twin_is_blamed_by_its_own_name(box):
    for twin in ("USER", "CAP_DROP"):
        result = box.run("--", "true", env={f"RANKINIT_{twin}": "no such"})
        assert result.status == 125 and f"error: RANKINIT_{twin}: " in result.err


def test_an_image_without_accounts(box):
    shell = "mount -t tmpfs none /etc"
    result = box.run("--user=12:34", "--", "sh", "-c", IDS, shell=shell)
    assert result.out.decode().strip() == four(12, 34)
    refused(box.run("--user=root", "--", "true", shell=shell), 125, "account.unknown", "--user")


def test_the_environment_stays(box):
    result = box.run("--user=65534:65534", "--", "env", env={"HOME": "/root", "USER": "root"})
    assert {b"HOME=/root", b"USER=root"} <= set(result.out.split(b"\n"))


def test_supplementary_groups_of_ours_go(box):
    words = ["--groups=7,8,9", box.rankinit]
    ids = ["--", "sh", "-c", IDS]
    kept = box.run(*words, *ids, program="/usr/bin/setpriv").out.decode().split()
    assert kept[8:] == ["7", "8", "9"], "the control"
    gone = box.run(*words, "--user=65534:65534", *ids, program="/usr/bin/setpriv").out
    assert gone.decode().split()[8:] == []


# Capabilities.

@pytest.fixture
def caps(box):
    """The five sets of the command."""
    def run(*options, **more):
        result = box.run(*options, "--", "cat", "/proc/self/status", **more)
        assert (result.status, result.err) == (0, "")
        lines = dict(line.split(":\t", 1) for line in result.out.decode().splitlines())
        return tuple(int(lines[name], 16) for name in CAPS)
    return run


def test_capabilities_of_root(caps):
    inherited, permitted, effective, bounding, ambient = caps()
    ours = permitted
    assert ours & CHOWN and ours & KILL and ours == effective == bounding, "the control"
    assert inherited == ambient == 0
    assert caps("--cap-drop=all") == (0, 0, 0, 0, 0)
    assert caps("--cap-drop=ALL") == (0, 0, 0, 0, 0)
    rest = ours & ~CHOWN & ~KILL
    assert caps("--cap-drop=chown,CAP_KILL") == (0, rest, rest, rest, 0)
    kept = CHOWN | NET_BIND
    assert caps("--cap-drop=all", "--cap-keep=Net_Bind_Service,cap_chown")[1:] == \
        (kept, kept, kept, 0)


def test_capabilities_of_another_user(caps):
    ours = caps()[3]
    user = "--user=65534:65534"
    assert caps(user) == (0, 0, 0, ours, 0)
    assert caps(user, "--cap-keep=kill") == (KILL, KILL, KILL, ours, KILL)
    assert caps(user, "--cap-drop=all", "--cap-keep=kill") == (KILL, KILL, KILL, KILL, KILL)
    assert caps(user, "--cap-drop=chown") == (0, 0, 0, ours & ~CHOWN, 0)
    # another name of root loses nothing by it
    assert caps("--user=0:0") == (0, ours, ours, ours, 0)


SETUID, SETGID = 1 << 7, 1 << 6
AMBIENT = "+setuid,+setgid,+setpcap,+kill"


@pytest.fixture
def caps_of(box):
    """The sets of a command below a rankinit that setpriv starts with these options."""
    def run(before, *options):
        result = box.run(*before, box.rankinit, *options, "--", "cat", "/proc/self/status",
                         program="/usr/bin/setpriv")
        assert (result.status, result.err) == (0, ""), result.err
        lines = dict(line.split(":\t", 1) for line in result.out.decode().splitlines())
        return lines["Uid"].split()[0], *(int(lines[name], 16) for name in CAPS)
    return run


NOBODY = ["--reuid=1234", "--regid=1234", "--clear-groups", f"--inh-caps={AMBIENT}",
          f"--ambient-caps={AMBIENT}"]


def test_another_user_loses_ambient_capabilities(caps_of):
    """Who was no root before keeps them through setuid(2)."""
    uid, inherited, permitted, effective, bounding, ambient = caps_of(NOBODY)
    assert uid == "1234" and inherited == permitted == effective == ambient, "the control"
    assert ambient & SETUID and ambient & KILL
    assert caps_of(NOBODY, "--user=65534:65534") == ("65534", 0, 0, 0, bounding, 0)
    assert caps_of(NOBODY, "--user=1234:1234") == ("1234", 0, 0, 0, bounding, 0)
    assert caps_of(NOBODY, "--user=65534:65534", "--cap-drop=chown") == \
        ("65534", 0, 0, 0, bounding & ~CHOWN, 0)
    # what is to be kept is
    assert caps_of(NOBODY, "--user=65534:65534", "--cap-keep=kill") == \
        ("65534", KILL, KILL, KILL, bounding, KILL)


def test_ambient_capabilities_without_another_user(caps_of):
    """They were given to be handed on, and only what is named goes."""
    had = caps_of(NOBODY)[1]
    assert caps_of(NOBODY, "--no-new-privs")[1] == had
    uid, inherited, permitted, effective, _, ambient = caps_of(NOBODY, "--cap-drop=kill")
    assert uid == "1234" and inherited == permitted == effective == ambient == had & ~KILL
    assert caps_of(NOBODY, "--cap-drop=all") == ("1234", 0, 0, 0, 0, 0)


def test_another_user_loses_what_setuid_leaves_of_root(caps_of):
    """What is inheritable stays through setuid(2), and all does with these securebits."""
    inheritable = ["--inh-caps=+kill"]
    assert caps_of(inheritable, "--no-new-privs")[1] == KILL, "the control"
    assert caps_of(inheritable, "--user=65534:65534")[1:4] == (0, 0, 0)
    fixed = ["--inh-caps=+kill", "--ambient-caps=+kill", "--securebits=+no_setuid_fixup"]
    assert caps_of(fixed)[5] == KILL, "the control"
    sets = caps_of(fixed, "--user=65534:65534")
    assert (sets[0], *sets[1:4], sets[5]) == ("65534", 0, 0, 0, 0)


def test_a_kept_capability_works(box):
    shell = "touch @FOLDER/file; chmod 755 @FOLDER"
    words = ["--", "chown", "5:5", "@FOLDER/file"]
    user = "--user=65534:65534"
    assert box.run(user, "--cap-keep=chown", *words, shell=shell).status == 0
    assert box.run(user, *words, shell=shell).status == 1, "the control"
    assert box.run("--cap-drop=chown", *words, shell=shell).status == 1


def test_contradictions(box):
    for words in (["--cap-keep=chown"], ["--cap-drop=chown,kill", "--cap-keep=kill"]):
        refused(box.run(*words, "--", "true"), 125, "option.conflict", "--cap-keep")


def test_a_capability_that_we_have_not(box):
    words = ["--bounding-set=-kill", box.rankinit, "--user=65534:65534", "--cap-keep=kill", "--",
             "/bin/true"]
    result = box.run(*words, program="/usr/bin/setpriv")
    refused(result, 125, "privilege.refused", "/bin/true")
    words[0] = "--bounding-set=-chown"
    assert box.run(*words, program="/usr/bin/setpriv").status == 0, "the control"


def test_no_new_privs(box):
    """A set-user-ID program gives nothing then."""
    shell = "cp /usr/bin/id @FOLDER/id && chmod 4755 @FOLDER/id && chmod 755 @FOLDER"
    words = ["--user=65534:65534", "--", "@FOLDER/id", "-u"]
    plain = box.run(*words, shell=shell)
    if plain.out != b"0\n":
        pytest.skip("set-user-ID programs do nothing on this file system")
    assert box.run("--no-new-privs", *words, shell=shell).out == b"65534\n"


def test_not_root(box):
    nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", box.rankinit]
    for option in ("--user=0:0", "--user=65534:65534", "--cap-drop=all", "--cap-drop=chown"):
        result = box.run(*nobody, option, "--", "/bin/true", program="/usr/bin/setpriv")
        error = refused(result, 125, "privilege.refused", "/bin/true")
        assert ("cannot change the user, which only root may do, or who has CAP_SETUID and "
                "CAP_SETGID: " in error) == ("--user" in option), error
        assert "run the container as root, or without --user" in error
    # what needs no privilege
    result = box.run(*nobody, "--no-new-privs", "--", "/bin/true", program="/usr/bin/setpriv")
    assert (result.status, result.err) == (0, "")


@pytest.mark.parametrize("supervise", ["always", "never"])
def test_a_failure_starts_nothing(box, supervise):
    words = ["--reuid=65534", "--regid=65534", "--clear-groups", box.rankinit,
             f"--supervise={supervise}"]
    touch = ["--", "touch", "@FOLDER/ran"]
    job = box.start(*words, "--user=0:0", *touch, program="/usr/bin/setpriv",
                    shell="chmod 777 @FOLDER")
    refused(job.wait(), 125, "privilege.refused", "touch")
    assert not os.path.exists(f"{job.folder}/ran")


# rankinit itself.

@pytest.mark.parametrize("place", ["init", "below"])
def test_rankinit_keeps_what_it_has(box, place):
    plain = box.start("--", "sleep", "60", place=place)
    job = box.start("--user=65534:65534", "--cap-drop=all", "--no-new-privs", "--", "sleep", "60",
                    place=place)
    for name in (*CAPS, "Uid", "Gid", "Groups", "NoNewPrivs"):
        assert peek.field(job.pid, name) == peek.field(plain.pid, name), name
    child = job.main()
    wait_until(lambda: peek.stat(child)[0] == "sleep", "the command")
    assert peek.field(child, "NoNewPrivs") == "1" and peek.field(child, "CapBnd").strip("0") == ""
    # it can still stop a command of another user
    assert job.stop().status == 143


def test_rankinit_stays_readable_for_its_own_user(box, tool):
    """
    A change of user in a child that shares our memory would hand /proc/PID
    over to root: an unprivileged rankinit that may change users.
    """
    words = ["--reuid=1234", "--regid=1234", "--clear-groups", "--inh-caps=+setuid,+setgid",
             "--ambient-caps=+setuid,+setgid"]
    ours = [box.rankinit, "--user=65534:65534", "--", "sleep", "60"]

    def owner(*between):
        job = box.start(*words, *between, *ours, program="/usr/bin/setpriv", place="below",
                        shell="chmod 777 @FOLDER")
        sleep = wait_until(lambda: [pid for pid, name in job.others().items() if name == "sleep"],
                           "the command")[0]
        pid = peek.stat(sleep)[2]
        wait_until(lambda: os.path.samefile(f"/proc/{pid}/cwd", "/"), "it has let go")
        return os.stat(f"/proc/{pid}/environ").st_uid

    assert owner() == 1234
    # the control: the same with PR_SET_DUMPABLE refused
    trace = [tool("strace"), "-o", "@FOLDER/trace", "-e", "trace=prctl", "-e",
             "inject=prctl:error=EPERM:when=2+"]
    assert owner(*trace) == 0
