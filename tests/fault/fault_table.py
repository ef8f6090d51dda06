# SPDX-License-Identifier: Apache-2.0
"""TABLE: what a failing system call does to rankinit.

A row is (scenario, call, expected[, {errno: expected, ...}]). Every call of
rankinit, and of the child that it makes until that executes the command, has
a row; the errors are those of ERRNOS and those that the row adds. In the
scenario occurrences of the call fail once each: the first, the last and one
between them, one per run.

A call is named as Call.key() in fault_runner.py does: "child setpgid" is made
by the child, "openat2 oom" opens the file that counts out-of-memory kills.
"""

import os
from dataclasses import dataclass

from fault_runner import ACTORS, FOLDER, Scenario

ERRNOS = ["EAGAIN", "EPERM", "ENOSYS", "EMFILE", "EINTR"]


@dataclass
class Expected:
    """How a run ends."""
    status: tuple = ()      # one of these; empty: as without a fault
    says: str = None        # in a line on stderr; None: complaints as without a fault
    text: str = ""          # for people
    slow: bool = False      # somebody waits for a deadline: not with every error


SAME = Expected(text="nothing is to be seen from outside")
ENDS = Expected(says="", text="it ends by itself, whichever way")
NO_ORPHANS = Expected(says="warning: .*cannot be adopted", text="a warning, and it goes on")
NO_CONFIG = Expected(says=r"warning: .*\[source\.incomplete\]", text="a warning, and it goes on")
LEFT_KILLED = Expected((), "SIGKILL for", "what is left is killed when --grace is over", True)
EITHER_KILLED = Expected((7, 137), "SIGKILL for", "whoever was not told is killed", True)
LATE = Expected((), "", "who was not found is killed when --grace is over", True)
LOST = Expected((), "output was lost: ", "what was not written is counted, and it goes on")
LOG_OR_NOT = Expected((7, 125), "", "the output needs one; a smaller pipe will do, and the spawn "
                      "goes on without")
UNCHECKED = Expected(says=r"warning: .*\[(check\.refused|memory|file\.unreadable)\]",
                     text="a warning, and it goes on")
UNJUDGED = Expected(says="no memory is left|no process can be made", text="the kernel's word alone")
OOM_UNKNOWN = Expected((137,), "does not show whether memory ran out", "the obituary says so")
OOM_EITHER = Expected((137,), "not for lack of memory|does not show", "the next file is tried")


def refused(code, status=125):
    return Expected((status,), rf"error: .*\[({code})\]", f"{status} {code}")


NO_SPAWN = refused(r"spawn\.refused")
NO_EXEC = refused(r"exec\.denied", 126)
NO_PRIVILEGE = refused(r"privilege\.refused")
NO_PLACE = refused(r"placement\.refused")
UNBOUND = Expected(says=r"not bound, .*\[placement\.kept\]", text="a warning, and not bound")
NO_FILE = refused(r"file\.unreadable")
NO_MEMORY = refused("memory")
NO_OUTPUT = refused("output")
NO_LOG = refused(r"log\.refused")
NO_REPORT = refused(r"report\.refused")
UNWRITTEN = Expected(says="the report cannot be written", text="a warning, and nothing else")
# of two writes to one descriptor the first is the report's
ONE_UNWRITTEN = Expected(says=r'the report cannot be written|"rankinit-report-1"',
                         text="a warning, or the report without the line that follows it")
UNNAMED = Expected((123,), r"this node (\(\S+\) )?is not fit .*\[check\.unfit\]",
                   "the line goes without the node's name")
UNREAD = Expected((7,), "", "the words of the rank are not read")
UNSTATED = Expected((7,), r"the state cannot be written|report\.refused", text="a warning")

PROBE = os.path.join(ACTORS, "probe")
EXIT = [PROBE, "/dev/null", "exit=7"]
STAY = ["--supervise=always"]
SAYS = ["/bin/sh", "-c", "echo out; echo error >&2; exit 7"]
LOG = ["--log-prefix"]
# What Linux before 5.1 or an old seccomp profile does not have.
OLD = [f"{call}=ENOSYS" for call in
       ("close_range", "openat2", "pidfd_open", "pidfd_send_signal", "pwritev2")]
# By these flags a helper is made (shim/system/apart.c). Without one what it would do is done
# by rankinit itself, which strace watches.
ITSELF = ["clone:0=0x200700=EPERM"]


def stop(pid, *steps):
    """An orphan is left; rankinit (this pid) is sent a SIGTERM, which it forwards."""
    return [PROBE, "/dev/null", *steps, "member=orphan:left", f"kill={pid}:15", "serve=15",
            "exit=7"]


# One of two ranks that another program has started.
ONE_OF_TWO = {f"OMPI_COMM_WORLD_{name}": value for name, value in (
    ("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "2"))}
# The only rank of a job.
ALONE = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1",
         "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}

SCENARIOS = {
    "version": Scenario(["--version"], status=0),
    "become": Scenario(EXIT, ["--supervise=never"]),
    "exit1": Scenario(EXIT, pid1=True),
    "exit": Scenario(EXIT, STAY),
    "search": Scenario(["probe", "/dev/null", "exit=7"], STAY,
                       env={"PATH": f"/nonexistent:{os.path.dirname(PROBE)}"}),
    "wide": Scenario(EXIT, STAY, env={f"A_VARIABLE_{n}": "" for n in range(2000)}),
    # what a list of nodes makes it ask, and a file of the service
    "node": Scenario(EXIT, pid1=True, env={"AZ_BATCH_HOST_LIST": "198.51.100.4,198.51.100.5"}),
    "service": Scenario(EXIT, STAY, env={"TRAINING_JOB_ARN": "arn:aws:sagemaker:"}, deny=ITSELF),
    "user": Scenario(EXIT, [*STAY, "--user=nobody", "--cap-drop=net_raw",
                            "--cap-keep=net_bind_service", "--no-new-privs"]),
    "account": Scenario(EXIT, [*STAY, "--user=nobody"]),
    "accounts": Scenario(EXIT, [*STAY, "--user=nobody"], deny=ITSELF),
    "bind": Scenario(EXIT, [*STAY, "--bind-to=numa"]),
    # of a launcher, which may have bound it, and perhaps with a GPU
    "bound": Scenario(EXIT, [*STAY, "--bind-to=numa", "--checks=none"], env=ONE_OF_TWO),
    # a launcher's name decides whether its signals are known
    "behind": Scenario(SAYS, ["--checks=none"], env=ONE_OF_TWO, parent="orted", nsrun=["-B"]),
    "places": Scenario([PROBE, "/dev/null", "exit=0"],
                       ["--nproc-per-node=1", "--bind-to=numa", "--checks=none"], status=0),
    # what nothing is wrong with
    "checked": Scenario(EXIT, ["--checks=fs.tmp", "--expect=fs.tmp"], pid1=True,
                        env=ALONE),
    "required": Scenario(EXIT, ["--checks=fs.tmp", "--require=fs.tmp"], pid1=True,
                         env=ALONE),
    "unfit": Scenario(EXIT, ["--checks=shm.size", "--require=shm=1000000G",
                             f"--report={FOLDER}/report"], pid1=True,
                      env={**ALONE, "TMPDIR": FOLDER}, status=123, deny=ITSELF),
    # of two, the one that lets the other speak first
    "second": Scenario(EXIT, ["--checks=shm.size", "--require=shm=1000000G"], pid1=True,
                       env={f"OMPI_COMM_WORLD_{name}": value for name, value in (
                           ("RANK", "1"), ("SIZE", "2"), ("LOCAL_RANK", "1"),
                           ("LOCAL_SIZE", "2"))}, status=123, waits=2),
    "tty": Scenario(EXIT, STAY, tty=True),
    "tty1": Scenario(EXIT, tty=True, pid1=True),
    "log1": Scenario(SAYS, [*LOG, "--log-file=/dev/null"], pid1=True, deny=ITSELF),
    "log": Scenario(SAYS, [*STAY, *LOG]),
    "logold": Scenario(SAYS, [*STAY, *LOG], deny=OLD),
    # whose output an orphan holds that rankinit could not adopt
    "logheld": Scenario(["/bin/sh", "-c", "sleep 60 & echo out; exit 7"], [*STAY, *LOG],
                        deny=["prctl:0=36=EPERM"]),
    "logtty": Scenario(SAYS, [*STAY, *LOG], tty=True),
    "stop1": Scenario(stop(1), ["-v", "--grace=1"], pid1=True),
    "stop": Scenario(stop(2), ["-v", "--grace=1", *STAY]),
    "stubborn1": Scenario(stop(1, "linger=60000"), ["--grace=1"], pid1=True, waits=1),
    "stubborn": Scenario(stop(2, "linger=60000"), ["--grace=1", *STAY], waits=1),
    "old": Scenario(stop(2), ["-v", "--grace=1", *STAY], deny=OLD),
    "ranks": Scenario([PROBE, "/dev/null", "exit=0"], ["--nproc-per-node=3"], status=0),
    "killed": Scenario([PROBE, "/dev/null", "raise=9"], STAY, status=137),
    "bus": Scenario([PROBE, "/dev/null", "raise=7"], STAY, status=135),
    "report": Scenario(EXIT, [f"--report={FOLDER}/report"], pid1=True, env={"TMPDIR": FOLDER},
                       deny=ITSELF),
    "torch": Scenario(["/bin/sh", "-c", "echo x >$TORCHELASTIC_ERROR_FILE; exit 7"],
                      [f"--report={FOLDER}/report"], pid1=True, env={"TMPDIR": FOLDER},
                      deny=ITSELF),
    "piped": Scenario(EXIT, ["--report=fd:2"], pid1=True, env={"TMPDIR": FOLDER}, deny=ITSELF),
    "state": Scenario(EXIT, [f"--state={FOLDER}/state"], pid1=True, deny=ITSELF),
    "helped": Scenario(EXIT, [f"--state={FOLDER}/state"], pid1=True),
    "status": Scenario([f"--status={FOLDER}/none"], status=1, deny=ITSELF),
    "waits": Scenario(EXIT, ["--wait-master=20", "--source=openmpi", "--checks=none"], pid1=True,
                      env={**ALONE, "MASTER_ADDR": "localhost"}),
}

TABLE = [
    # answers
    ("version", "write", NO_OUTPUT, {"EINTR": SAME, "ENOSPC": NO_OUTPUT, "EIO": NO_OUTPUT}),
    # before main(), by the C library
    ("exit1", "set_tid_address", SAME),
    ("exit1", "rt_sigprocmask", refused(r"signals\.refused")),
    # before the spawn: whoever fails for good ends rankinit, and says so
    ("exit1", "getpid", NO_SPAWN),
    ("exit1", "rt_sigaction", SAME),
    # the C library knows what time it is without the kernel
    ("exit1", "clock_gettime", SAME),
    ("exit", "prctl PR_SET_CHILD_SUBREAPER", NO_ORPHANS, {"EINVAL": NO_ORPHANS}),
    ("exit1", "ioctl TIOCGPGRP", SAME, {"ENOTTY": SAME}),
    ("wide", "mmap", NO_MEMORY, {"ENOMEM": NO_MEMORY}),
    ("node", "readlink self", SAME),
    ("node", "open directory", SAME, {"EACCES": SAME}),
    ("node", "mmap", NO_MEMORY, {"ENOMEM": NO_MEMORY}),
    ("node", "mmap shared", UNJUDGED, {"ENOMEM": UNJUDGED}),
    ("node", "openat2 fib_trie", SAME, {"ENOENT": SAME}),
    ("node", "read fib_trie", SAME, {"EIO": SAME}),
    ("node", "openat2 if_inet6", SAME, {"ENOENT": SAME}),
    ("node", "read if_inet6", SAME, {"EIO": SAME}),
    ("node", "uname", SAME),
    ("service", "openat2 resourceconfig.json", NO_CONFIG, {"EACCES": NO_CONFIG}),
    ("accounts", "open directory", NO_FILE, {"EACCES": NO_FILE}),
    ("accounts", "fcntl", SAME),
    ("accounts", "mmap", ENDS, {"ENOMEM": ENDS}),
    ("accounts", "openat2 passwd", NO_FILE,
     {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME, "EACCES": NO_FILE}),
    ("accounts", "read passwd", NO_FILE, {"EINTR": SAME, "EIO": NO_FILE}),
    ("accounts", "openat2 group", NO_FILE,
     {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME, "EACCES": NO_FILE}),
    ("accounts", "read group", NO_FILE, {"EINTR": SAME, "EIO": NO_FILE}),
    ("user", "prctl PR_CAPBSET_READ", SAME),
    ("user", "capget", ENDS),
    # without a helper the file is asked for at once; what it has found out is not lost
    ("helped", "mmap", SAME, {"ENOMEM": SAME}),
    ("helped", "clone helper", SAME, {"ENOMEM": SAME, "ENOSPC": SAME}),
    ("helped", "munmap", SAME),
    # what there is for ranks: less is known, and no more is done
    ("bind", "sched_getaffinity", refused(r"cpu\.unknown"), {"EINVAL": refused(r"cpu\.unknown")}),
    ("bind", "openat2 mountinfo", SAME, {"EACCES": SAME}),
    ("bind", "read mountinfo", SAME, {"EIO": SAME}),
    ("bind", "openat2 quota", SAME, {"EACCES": SAME}),
    ("bind", "openat2 online", UNBOUND, {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME}),
    ("bind", "read online", UNBOUND, {"EINTR": SAME}),
    ("bind", "openat2 cpulist", UNBOUND, {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME}),
    ("bind", "read cpulist", UNBOUND, {"EINTR": SAME}),
    ("bound", "getppid", SAME),
    ("bound", "openat2 directory", SAME, {"ENOENT": SAME}),
    ("bound", "openat2 status", SAME, {"EACCES": SAME}),
    ("bound", "read status", SAME, {"EIO": SAME}),
    ("bound", "openat2 gpus", SAME, {"ENOENT": SAME}),
    # facts of the node: the report has those that are to be read
    # without a word of an inner rankinit this one speaks
    ("report", "memfd_create", SAME, {"EINVAL": SAME}),
    ("report", "child fcntl", SAME),
    ("report", "judge pread64", SAME),
    ("bound", "pread64", SAME),
    ("report", "openat2 net", SAME, {"EACCES": SAME}),
    ("report", "getdents64 net", SAME, {"EIO": SAME}),
    ("report", "openat2 type", SAME, {"ENOENT": SAME}),
    ("report", "read type", SAME, {"EIO": SAME}),
    ("report", "openat2 mtu", SAME, {"ENOENT": SAME}),
    ("report", "read mtu", SAME, {"EIO": SAME}),
    ("report", "openat2 uid_map", SAME, {"EACCES": SAME}),
    ("report", "read uid_map", SAME, {"EIO": SAME}),
    ("report", "openat2 os-release", SAME, {"ENOENT": SAME}),
    ("report", "read os-release", SAME, {"EIO": SAME}),
    ("report", "openat2 IMAGE_INFORMATION", SAME),
    ("report", "openat2 version", SAME, {"ENOENT": SAME}),
    ("report", "openat2 boot_id", SAME, {"EACCES": SAME}),
    ("report", "read boot_id", SAME, {"EIO": SAME}),
    # checks that nobody requires: a launch goes on without them
    ("checked", "open directory", UNCHECKED, {"EACCES": UNCHECKED}),
    ("checked", "mmap", UNCHECKED, {"ENOMEM": UNCHECKED}),
    ("checked", "fork", UNCHECKED, {"ENOMEM": UNCHECKED}),
    ("required", "open directory", NO_FILE, {"EACCES": NO_FILE}),
    ("required", "mmap", NO_MEMORY, {"ENOMEM": NO_MEMORY}),
    ("required", "fork", refused(r"check\.refused|check\.unfit", 123)),
    ("unfit", "uname", UNNAMED),
    ("second", "uname", UNNAMED),
    ("unfit", "renameat", UNWRITTEN),
    ("unfit", "open termination-log", SAME, {"EROFS": SAME}),
    ("second", "rt_sigaction", SAME),
    ("second", "rt_sigtimedwait", SAME),
    ("checked", "rt_sigtimedwait", SAME),
    ("checked", "wait4", ENDS, {"EINTR": SAME}),
    ("checked", "munmap", SAME),
    # the output
    ("log1", "openat null", NO_LOG, {"ENOSPC": NO_LOG, "EACCES": NO_LOG}),
    ("log1", "pipe2", LOG_OR_NOT, {"ENFILE": LOG_OR_NOT, "ENOSYS": SAME}),
    ("log1", "fcntl", LOG_OR_NOT),
    ("log1", "mmap", LOG_OR_NOT, {"ENOMEM": LOG_OR_NOT}),
    ("log1", "madvise", SAME, {"EINVAL": SAME}),
    ("log1", "epoll_create1", NO_LOG),
    ("log1", "epoll_ctl", NO_LOG, {"ENOSPC": NO_LOG}),
    ("log1", "fstat", SAME, {"EBADF": SAME}),
    ("log1", "open 1", SAME, {"EACCES": SAME, "ENOENT": SAME}),
    ("log", "open 2", SAME, {"EACCES": SAME}),
    ("log1", "signalfd4", NO_LOG),
    ("log", "child dup2", NO_SPAWN),
    ("log1", "poll", SAME),
    ("log1", "epoll_pwait", SAME),
    ("log1", "read pipe", SAME, {"EIO": SAME}),
    ("log", "write", LOST, {"EAGAIN": SAME, "EINTR": SAME, "ENOSPC": LOST, "EPIPE": LOST,
                            "EIO": LOST, "EDQUOT": LOST}),
    ("logheld", "ioctl FIONREAD", SAME, {"ENOTTY": SAME}),
    # behind a launcher: the rank runs, whether or not its words are read
    ("behind", "dup2", SAME),
    ("behind", "open null", SAME, {"EMFILE": SAME}),
    ("behind", "chdir", SAME, {"EACCES": SAME}),
    ("behind", "poll", SAME),
    ("behind", "wait4", ENDS, {"EINTR": SAME}),
    ("behind", "epoll_create1", UNREAD, {"EMFILE": UNREAD}),
    ("behind", "signalfd4", UNREAD, {"EMFILE": UNREAD}),
    # the spawn: without a pipe the kernel itself waits for the exec
    ("exit1", "pipe2", SAME, {"ENFILE": SAME}),
    ("exit1", "ppoll", SAME),
    ("exit1", "clone", NO_SPAWN, {"ENOMEM": NO_SPAWN, "ENOSPC": NO_SPAWN}),
    ("exit", "clone", NO_SPAWN),
    ("exit1", "child setpgid", NO_SPAWN, {"EACCES": NO_SPAWN}),
    ("exit", "child getppid", NO_SPAWN),
    # a machine of one NUMA node leaves a rank on the CPUs that it has
    *((scenario, "child sched_setaffinity", NO_PLACE, {"EINVAL": NO_PLACE, "ESRCH": NO_PLACE})
      for scenario in ("bind", "places") if os.path.exists("/sys/devices/system/node/node1")),
    ("user", "child setgroups", NO_PRIVILEGE, {"ENOMEM": NO_PRIVILEGE}),
    ("user", "child setresgid", NO_PRIVILEGE),
    ("user", "child setresuid", NO_PRIVILEGE),
    ("user", "child capset", NO_PRIVILEGE),
    ("account", "child capset", NO_PRIVILEGE),
    ("user", "child prctl PR_SET_KEEPCAPS", NO_PRIVILEGE),
    # whether it is there is found out by dropping it
    ("user", "child prctl PR_CAPBSET_READ", SAME),
    ("user", "child prctl PR_CAPBSET_DROP", NO_PRIVILEGE),
    ("user", "child prctl PR_CAP_AMBIENT", NO_PRIVILEGE),
    ("user", "child prctl PR_SET_NO_NEW_PRIVS", NO_PRIVILEGE),
    ("search", "child execve", NO_EXEC,
     {"EACCES": NO_EXEC, "ENOMEM": NO_EXEC, "ETXTBSY": NO_EXEC, "ELOOP": NO_EXEC,
      "ENOEXEC": NO_EXEC, "EIO": NO_EXEC, "EINVAL": NO_EXEC, "ENFILE": NO_EXEC,
      "EISDIR": NO_EXEC, "ENOENT": NO_EXEC, "ENOTDIR": NO_EXEC,
      "E2BIG": refused(r"exec\.too_big")}),
    ("become", "execve", NO_EXEC, {"EACCES": NO_EXEC, "E2BIG": refused(r"exec\.too_big")}),
    # several of them: what is asked before, and one that is refused among others
    ("ranks", "open directory", SAME, {"EACCES": SAME}),
    ("ranks", "sched_getaffinity", SAME, {"EINVAL": SAME}),
    ("ranks", "openat2 mountinfo", SAME, {"EACCES": SAME}),
    ("ranks", "read mountinfo", SAME, {"EIO": SAME}),
    ("ranks", "openat2 quota", SAME, {"EACCES": SAME}),
    ("ranks", "socket", SAME, {"EAFNOSUPPORT": SAME}),
    ("ranks", "setsockopt", SAME),
    ("ranks", "bind", SAME, {"EADDRINUSE": SAME, "EACCES": SAME}),
    ("ranks", "getsockname", SAME),
    ("ranks", "open null", NO_FILE, {"EINTR": NO_FILE, "ENOENT": NO_FILE}),
    ("ranks", "clone", NO_SPAWN, {"ENOMEM": NO_SPAWN}),
    ("ranks", "child dup3", NO_SPAWN, {"EBADF": NO_SPAWN}),
    # after it nothing may end rankinit
    ("user", "prctl PR_GET_DUMPABLE", SAME),
    ("user", "prctl PR_SET_DUMPABLE", SAME),
    ("exit1", "close_range", SAME),
    ("exit1", "chdir", SAME, {"EACCES": SAME}),
    ("exit1", "openat2 cgroup", SAME, {"ENOENT": SAME}),
    ("exit1", "read cgroup", SAME, {"EIO": SAME}),
    ("exit1", "openat2 oom", SAME, {"EACCES": SAME}),
    ("exit1", "read oom", SAME, {"EIO": SAME}),
    ("exit1", "close", SAME, {"EIO": SAME}),
    ("exit1", "rt_sigtimedwait", SAME),
    ("exit1", "wait4", ENDS, {"EINTR": SAME}),
    ("exit1", "exit_group", SAME),
    # a SIGBUS has a helper look at /dev/shm, which is ended when it has answered
    ("bus", "kill SIGKILL", SAME),
    ("tty", "getpgid", SAME),
    ("tty", "ioctl TCGETS", SAME, {"ENOTTY": SAME}),
    ("tty", "ioctl TIOCGPGRP", SAME, {"ENOTTY": SAME}),
    ("tty", "ioctl TIOCSPGRP", SAME, {"ENOTTY": SAME}),
    ("tty1", "ioctl TCGETS", SAME, {"ENOTTY": SAME}),
    ("tty1", "ioctl TIOCGPGRP", SAME, {"ENOTTY": SAME}),
    ("exit1", "uname", SAME),
    ("exit1", "open termination-log", SAME, {"EACCES": SAME, "EROFS": SAME}),
    ("exit1", "access", SAME, {"EACCES": SAME}),
    # the report: its place is looked at first, what fails later is said
    ("report", "openat2 directory", SAME),
    ("report", "readlinkat", SAME, {"EACCES": SAME}),
    ("report", "faccessat", NO_REPORT, {"EACCES": NO_REPORT, "EROFS": NO_REPORT}),
    ("report", "newfstatat", SAME, {"EACCES": SAME}),
    ("report", "mmap", ENDS, {"ENOMEM": ENDS}),
    ("report", "mmap shared", UNJUDGED, {"ENOMEM": UNJUDGED}),
    # the judge has ended by then
    ("report", "kill SIGKILL", SAME),
    ("report", "mkdirat", SAME, {"EROFS": SAME, "ENOSPC": SAME}),
    ("report", "openat torch", SAME),
    ("report", "fstat", ENDS),
    ("torch", "unlinkat", SAME),
    ("report", "munmap", SAME),
    ("report", "judge openat new", UNWRITTEN,
     {"EACCES": UNWRITTEN, "ENOSPC": UNWRITTEN, "ENOENT": SAME, "EEXIST": SAME}),
    ("report", "judge write new", UNWRITTEN,
     {"EAGAIN": SAME, "EINTR": SAME, "ENOSPC": UNWRITTEN, "EIO": UNWRITTEN}),
    ("report", "renameat before", SAME, {"EACCES": SAME}),
    ("report", "judge renameat", UNWRITTEN, {"EACCES": UNWRITTEN}),
    ("piped", "fcntl", Expected((7, 125), "", "refused where the descriptor is asked for")),
    ("piped", "poll", SAME),
    ("piped", "pwritev2", SAME, {"EPIPE": ONE_UNWRITTEN, "ENOSPC": ONE_UNWRITTEN,
                                 "EOPNOTSUPP": SAME}),
    ("state", "openat new", UNSTATED, {"ENOSPC": UNSTATED}),
    ("state", "write", UNSTATED,
     {"EAGAIN": SAME, "EINTR": SAME, "ENOSPC": UNSTATED, "EIO": UNSTATED}),
    ("state", "renameat", UNSTATED),
    ("status", "lstat", SAME),
    ("status", "open none", SAME, {"EACCES": SAME}),
    ("status", "stat", SAME, {"EACCES": SAME}),
    ("waits", "fork", NO_SPAWN, {"ENOMEM": NO_SPAWN}),
    ("waits", "rt_sigtimedwait", SAME),
    ("waits", "wait4", ENDS, {"EINTR": SAME}),
    # the stop
    ("stop1", "ioctl TIOCGWINSZ", SAME),
    ("stop1", "pwritev2", SAME, {"EOPNOTSUPP": SAME, "EPIPE": SAME, "ENOSPC": SAME}),
    # when was something printed last? if nobody knows the stop comes at once
    ("stop1", "statx", SAME),
    ("stop1", "readlink self", SAME),
    ("stop1", "open stat", SAME),
    ("stop1", "read stat", SAME),
    ("stop1", "open proc", SAME),
    ("stop1", "getdents64 proc", SAME),
    ("stop1", "kill SIGTERM", SAME),
    ("stop1", "kill all SIGTERM", SAME),
    ("stop", "pidfd_open", SAME),
    ("stop", "pidfd_send_signal SIGTERM", SAME),
    ("stubborn1", "kill all SIGKILL", LEFT_KILLED),
    ("stubborn", "pidfd_send_signal SIGKILL", LEFT_KILLED),
    # where the kernel is old or a profile forbids the newer calls
    ("old", "prlimit64", SAME),
    ("old", "openat cgroup", SAME),
    ("old", "openat oom", SAME),
    ("old", "newfstatat", SAME),
    ("old", "readlinkat", SAME),
    ("old", "poll", SAME),
    ("old", "write", SAME),
    ("old", "kill SIGTERM", EITHER_KILLED),
    ("old", "getdents64 proc", LATE),
    # what the obituary says
    ("killed", "openat2 cgroup", OOM_UNKNOWN, {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME}),
    ("killed", "openat2 oom", OOM_EITHER, {"EAGAIN": SAME, "EPERM": SAME, "ENOSYS": SAME}),
    ("killed", "read oom", OOM_EITHER, {"EINTR": SAME}),
]

# Calls without a row, and why.
EXEMPT = {
    "arch_prctl": "musl's own start ends the process where there is no thread pointer",
    "futex": "a helper may have ended before it is waited for: test_deny.py",
    "rt_sigpending": "only where a helper or an exec takes longer than usual",
    "read mtu": "of an interface that another test has; a fact that is not told is left out",
    "read quota": "there may be none; whoever cannot read it is told of no quota",
    "child rt_sigprocmask": "told from rankinit's own by its arguments only: test_deny.py",
    "child prctl PR_SET_PDEATHSIG": "likewise",
    "child ioctl TIOCSPGRP": "likewise",
    "child getpid": "likewise; getpid(2) cannot fail",
}
