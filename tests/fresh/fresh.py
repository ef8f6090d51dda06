#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
What the README says to try, on a Debian 12 made anew: `make demo`, and suites of
`make check`, in a clone of HEAD below its /root, which is closed to all others. Where a suite
has the same test with several values, one of them is enough there (tests/kinds.py): that it
can run on such a machine is what is asked, and `make check` has run them all.

usage: fresh.py SUITE...    as root, with mmdebstrap and a Debian mirror

There it has make, ca-certificates and no more. Its libcap2 is behind the mirror,
whose lists still have that one's source. The packages that it fetches stay in
build/fresh/archives and what it prints in build/fresh/log; the root goes. The last
line counts tests, the demo as one of them: N passed, N failed, N skipped.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(TOP, "build", "fresh")
ARCHIVES = os.path.join(OUT, "archives")
CLONE = "root/rankinit"
# --kill-child: with unshare all that runs there is gone, and all that is mounted.
NAMESPACES = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
MINUTES = {"demo": 12, "check": 25}
SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)

STALE = "1:2.66-3"  # Debian 12 was released with 1:2.66-4
STALE_SOURCE = f"""\
Package: libcap2
Format: 3.0 (quilt)
Binary: libcap2
Architecture: any
Version: {STALE}
Directory: .
Files:
 {"0" * 32} 1 libcap2_2.66-3.dsc
Checksums-Sha256:
 {"0" * 64} 1 libcap2_2.66-3.dsc

"""


class CannotRun(Exception):
    pass


def write(path, text, mode="w"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


def run(*words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=600, check=False, **more)
    if done.returncode != 0:
        why = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
        raise CannotRun(f"{words[0]}: {' '.join(why) or done.stderr.strip() or 'it failed'}")
    return done.stdout.strip()


def make_root(root):
    run("mmdebstrap", "--quiet", "--variant=minbase", "--include=make,ca-certificates",
        "--dpkgopt=force-unsafe-io", "bookworm", root)     # nothing there has to last
    run(*NAMESPACES, f"{HERE}/enter.sh", root, ARCHIVES, "/", "true")


def make_outdated(root):
    """
    An older libcap2, whose source is in the lists and not there any more, as after an
    update of the mirror. Of a package that was only rebuilt (+b1) apt knows the source's
    own version, and asks for that.
    """
    path = f"{root}/var/lib/dpkg/status"
    with open(path, encoding="utf-8") as file:
        packages = file.read().split("\n\n")
    for number, text in enumerate(packages):
        if text.startswith("Package: libcap2\n"):
            text = re.sub(r"^Source: .*\n", "", text, flags=re.M)
            packages[number] = re.sub(r"^Version: .*$", f"Version: {STALE}+b1\n"
                                      f"Source: libcap2 ({STALE})", text, flags=re.M)
    text = "\n\n".join(packages)
    assert STALE in text, "libcap2 belongs to every Debian 12"
    write(path, text)
    write(f"{root}/opt/stale/Packages", "")
    write(f"{root}/opt/stale/Sources", STALE_SOURCE)
    write(f"{root}/etc/apt/sources.list", "deb [trusted=yes] file:/opt/stale ./\n", "a")


def clone(root):
    """Whoever owns the tree: a checkout may be another user's than root's."""
    config = os.path.join(OUT, "gitconfig")
    write(config, "[safe]\n\tdirectory = *\n")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": config}
    run("git", "clone", "-q", "--no-hardlinks", TOP, f"{root}/{CLONE}", env=env)
    assert os.stat(f"{root}/root").st_mode & 0o077 == 0, "/root is closed to others"
    return run("git", "-C", f"{root}/{CLONE}", "log", "-1", "--format=%h %s", env=env)


def enter(root, log, minutes, *words):
    """Its exit status, and what it printed."""
    said = []
    with subprocess.Popen([*NAMESPACES, f"{HERE}/enter.sh", root, ARCHIVES, f"/{CLONE}", *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        timer = threading.Timer(60 * minutes, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                log.write(line)
                said.append(line)
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    return process.returncode, "".join(said)


class Stages:
    """What each of them took, as it ends."""

    def __init__(self):
        self.begin = time.monotonic()

    def end(self, text):
        now = time.monotonic()
        print(f"fresh: {text}: {now - self.begin:.0f} s", flush=True)
        self.begin = now


def try_all(root, suites):
    """[passed, failed, skipped]"""
    stages = Stages()
    make_root(root)
    make_outdated(root)
    stages.end(f"a Debian 12 with {clone(root)}")
    with open(os.path.join(OUT, "log"), "w", encoding="utf-8") as log:
        status, _ = enter(root, log, MINUTES["demo"], "make", "demo")
        stages.end(f"make demo, exit status {status}")
        counts = [int(status == 0), int(status != 0), 0]
        words = ["make", "check", f"SUITES={' '.join(suites)}", "CHECK_SAMPLE=1"]
        status, said = enter(root, log, MINUTES["check"], *words)
        stages.end(f"make check, exit status {status}")
        enter(root, log, 1, "apt-get", "-qq", "autoclean")
    found = SUM.findall(said)
    now = [int(word) for word in found[-1]] if found else [0, 0, 0]
    if status != 0 and now[1] == 0:
        now[1] = 1
    return [one + other for one, other in zip(counts, now)]


def end(*_):
    """Once: whoever ends a whole group tells us twice, and then the root has to go."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main(suites):
    signal.signal(signal.SIGTERM, end)
    try:
        if os.geteuid() != 0:
            raise CannotRun("it takes root")
        os.makedirs(f"{ARCHIVES}/partial", exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="root-", dir=OUT) as folder:
            counts = try_all(os.path.join(folder, "debian"), suites)
    except (CannotRun, FileNotFoundError) as error:
        print(f"skip no Debian 12 can be made here: {error}")
        counts = [0, 0, 1]
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
