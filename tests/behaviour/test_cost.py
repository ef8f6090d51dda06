# SPDX-License-Identifier: Apache-2.0
"""What rankinit costs: system calls at the start, wake-ups, memory."""

import json
import os
import re
import subprocess
import time

import pytest

import peek
from box import BASE
from peek import PATIENCE, wait_until

# System calls of a plain start, counted on x86-64; execve itself is not one
# of them. A new one needs a reason, and a change here.
BEFORE_SPAWN = {
    # the libc: two; mask, getpid, SIGCHLD; is one of the three a terminal? what time is it? a pipe
    "init": 10,
    # and PR_SET_CHILD_SUBREAPER
    "below": 11,
}
IN_THE_CHILD = {
    # group, mask, execve
    "init": 3,
    # and PR_SET_PDEATHSIG with getppid
    "below": 5,
}
# The pipe's other end, its end, and it is closed
EXECUTED = ["close", "ppoll", "close"]
# What it asks besides where an exec takes longer: is there a stop, and is it ignored?
LOOKS = ("rt_sigpending", "rt_sigaction")
# these, close_range and chdir; /proc/self/cgroup, and at most two files of a counter
AFTER_SPAWN = 17


@pytest.fixture
def traced(box, tool, tmp_path):
    """The system calls of rankinit and of its first child, as two lists of lines."""
    def run(place, *options, env=None, command=("/bin/true",), cwd=None):
        trace = tmp_path / "trace"
        words = [tool("strace"), "-f", "-o", str(trace), "-s", "200"]
        if place == "init":
            words += [box.nsrun, "-r", "1", "--"]
        words += [box.rankinit, *options, "--", *command]
        done = subprocess.run(words, env={**BASE, **(env or {})}, cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False)
        if not trace.exists() or "execve" not in trace.read_text():
            pytest.skip("strace does not work here: " + done.stderr.decode()[:200])
        lines = [line.split(None, 1) for line in trace.read_text().splitlines()]
        begin = next(number for number, (_, text) in enumerate(lines)
                     if text.startswith(f'execve("{box.rankinit}"'))
        ours = lines[begin][0]
        own = [text for pid, text in lines[begin + 1:] if pid == ours]
        child = next(pid for pid, text in lines[begin + 1:] if pid != ours and "setpgid" in text)
        return own, [text for pid, text in lines[begin + 1:] if pid == child]
    return run


def calls(lines):
    """Without the second halves of interrupted lines, signals and ends."""
    return [text for text in lines if re.match(r"\w+\(", text)]


def names(lines):
    return [text.partition("(")[0] for text in lines]


def is_spawn(text):
    """A helper shares our descriptors, a command does not."""
    return text.startswith("clone(") and "CLONE_FILES" not in text


def before_spawn(own):
    made = calls(own)
    return made[:list(map(is_spawn, made)).index(True)]


@pytest.mark.parametrize("place", ["init", "below"])
def test_system_calls_of_a_start(traced, place):
    own, child = traced(place)
    made = calls(own)
    at = names(made).index("clone")
    assert len(made[:at]) <= BEFORE_SPAWN[place], made[:at]
    until_exec = names(calls(child)).index("execve") + 1
    assert until_exec <= IN_THE_CHILD[place], child[:until_exec]
    after = made[at + 1:names(made).index("rt_sigtimedwait")]
    assert len(after) <= AFTER_SPAWN, after
    assert names(after[:3]) == EXECUTED
    assert "CLONE_VM|SIGCHLD" in made[at]


@pytest.mark.parametrize("command", [
    ["/usr/bin/python3", "-c", ""], ["/usr/bin/python3", "train.py"],
    ["sh", "-c", "exec python3 train.py"], ["/usr/bin/python3", "-m", "train"],
])
def test_a_plain_start_makes_one_process(traced, tmp_path, command):
    """Nothing is read of a script, and the command is pid 2."""
    (tmp_path / "train.py").write_text("\n")
    own = traced("init", command=command, cwd=tmp_path)[0]
    made = [text for text in own if re.match(r"(<\.\.\. )?(clone3?|v?fork)\b.*= \d+$", text)]
    assert len(made) == 1 and made[0].endswith("= 2"), made
    assert [text for text in before_spawn(own) if "train.py" in text.partition("[")[0]] == []


def test_the_counting_counts(traced):
    """The control: an option that needs files costs more."""
    plain, user = traced("init")[0], traced("init", "--user=daemon")[0]
    assert len(before_spawn(user)) > len(before_spawn(plain))
    assert any("CLONE_FILES" in text for text in before_spawn(user)), "who reads passwd"


# A rank by Azure ML's guide, and what it finds of Azure Batch beside it.
RANK = {"OMPI_COMM_WORLD_RANK": "13", "OMPI_COMM_WORLD_SIZE": "16",
        "OMPI_COMM_WORLD_LOCAL_RANK": "5", "OMPI_COMM_WORLD_LOCAL_SIZE": "8",
        "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000"}
NODES = {"AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5", "AZ_BATCH_NODE_LIST": "10.0.0.4;10.0.0.5",
         "AZ_BATCHAI_MPI_HOST_FILE": "/etc/hostname", "AZ_BATCHAI_TASK_INDEX": "1"}


def test_a_rank_does_not_ask_for_its_node(traced):
    plain = before_spawn(traced("init", env=RANK)[0])
    both = before_spawn(traced("init", env={**RANK, **NODES})[0])
    assert names(both) == names(plain)
    assert [text for text in both if text.startswith("open")] == []


# What a process to check in adds: the root, memory, the process. The waiting is as long as it is.
CHECKING = 12
WAITING = ("clock_gettime", "rt_sigtimedwait", "wait4")
FIRST = {**RANK, "OMPI_COMM_WORLD_RANK": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
ALONE = {**FIRST, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1",
         "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
# The second of two nodes with a rank each.
WIDE = ["--rank=1", "--world-size=2", "--local-rank=0", "--local-world-size=1", "--node-rank=1",
        "--nnodes=2", "--master-addr=10.0.0.4", "--master-port=1"]


def test_checks_of_the_first_rank(traced):
    other = before_spawn(traced("init", env=RANK)[0])
    none = before_spawn(traced("init", "--checks=none", env=FIRST)[0])
    first = before_spawn(traced("init", env=FIRST)[0])
    assert names(none) == names(other), "without checks it is a rank as any"
    assert "fork" in names(first), "the control: something is checked"
    made = [name for name in names(first) if name not in WAITING]
    assert len(made) - len(none) <= CHECKING, first
    assert [text for text in first if text.startswith("openat2")] == []


def test_checks_of_a_job_cost_one_process(traced):
    """The same for every job, and nothing outside one."""
    def added(*options, env=None):
        none = names(before_spawn(traced("init", "--checks=none", *options, env=env)[0]))
        default = names(before_spawn(traced("init", *options, env=env)[0]))
        at = next((at for at, pair in enumerate(zip(default, none)) if pair[0] != pair[1]),
                  len(none))
        more = default[at:len(default) - len(none) + at]
        assert default[:at] + default[at + len(more):] == none
        return [name for name in more if name not in WAITING]

    assert added() == []
    assert added(env=ALONE) == added(*WIDE)
    assert added(env=ALONE).count("fork") == 1


@pytest.fixture
def looked(box, tool, tmp_path):
    """What the checks ask of a machine with these folders: lines, and how many checks they are."""
    def run(*folders):
        root, trace = tmp_path / "machine", tmp_path / "trace"
        for folder in ("proc", "dev", *folders):
            (root / folder).mkdir(parents=True, exist_ok=True)
        done = subprocess.run([tool("strace"), "-f", "-o", str(trace), box.rankinit,
                               f"--root={root}", "--check=json"], env=BASE, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        if not trace.exists() or "execve" not in trace.read_text():
            pytest.skip("strace does not work here")
        lines = [line.split(None, 1)[1] for line in trace.read_text().splitlines()]
        return lines, len({check["id"] for check in json.loads(done.stdout)["checks"]})
    return run


def test_checks_look_no_further_where_there_is_no_driver(looked):
    """Files that only the driver makes are not looked for, one by one, before every job."""
    files = ("nvidia-uvm", "nvidia-nvswitchctl")
    without, driver = looked()[0], looked("proc/driver/nvidia")[0]
    assert [text for text in without if any(file in text for file in (*files, '"dev", '))] == []
    for file in files:
        assert any(file in text for text in driver), f"the control: {file}"


def test_checks_ask_for_the_time_once_each(looked):
    lines, checks = looked()
    asked = sum(text.startswith("clock_gettime") for text in lines)
    # and who waits for them asks a few times more
    assert asked <= 1.5 * checks


def test_a_node_asks_for_its_addresses_and_its_name(traced):
    """The control: without a rank the list is looked through."""
    made = before_spawn(traced("init", env=NODES)[0])
    assert any("fib_trie" in text for text in made)
    assert any("if_inet6" in text for text in made)
    assert "uname" in names(made)


def test_system_calls_of_several_ranks(traced):
    """Nothing between the starts; afterwards no memory, and a wait for each end."""
    count = 32
    own, _ = traced("init", f"--nproc-per-node={count}", "--master-port=1",
                    "--omp-threads=keep")
    # a busy machine makes it look for a stop while it waits for an exec, and wait on
    made = []
    for name in names(calls(own)):
        if name not in LOOKS and [name] != made[-1:] * (name == "ppoll"):
            made.append(name)
    first = made.index("clone")
    each = ["clone", *EXECUTED, "pipe2"]
    assert made[first:first + len(each) * count - 1] == (each * count)[:-1]
    rest = made[first + len(each) * count - 1:]
    assert not {"mmap", "brk", "munmap", "mremap"} & set(rest)
    assert rest.count("wait4") <= 2 * count + 1
    # /dev/null, out of the way of the closed descriptor 1, and is there a terminal to read?
    # A pipe for the stderr of each, out of the way too, and how these are waited for
    # The folder of torch's files, which is not only made but held open, as what it is in is: each
    # of the two is opened, looked at, and out of the way of the closed descriptors too
    # The clock twice, for the checks
    assert first <= BEFORE_SPAWN["init"] + 6 + 9 + 9 + 2 + 7 * count, made[:first]


def test_restarts_cost_those_who_ask_for_them(traced):
    plain, asked = (traced("init", f"--restarts={most}")[0] for most in (0, 1))
    assert names(before_spawn(plain)) == names(before_spawn(traced("init")[0]))
    assert any("O_PATH" in text for text in before_spawn(asked)), "the control: its own program"


# The second of two nodes, whose rank is started here.
NODE = ["--node-rank=1", "--nnodes=2", "--master-addr=10.0.0.4", "--master-port=1",
        "--nproc-per-node=1", "--checks=none"]


def test_a_roll_call_costs_the_time_alone(traced):
    """Of several nodes the loop has a deadline more; of one, and with 0, it has none."""
    def made(*options):
        """Its calls, and how often it asks for the time beside once for each wait."""
        names_made = names(calls(traced("below", *options)[0]))
        waits = names_made.count("poll")
        # for the end of the rank and of its output, where that is read; they may come together
        assert waits <= 2
        return ([name for name in names_made if name not in (*LOOKS, "clock_gettime", "poll")],
                names_made.count("clock_gettime") - waits)

    off, off_times = made(*NODE, "--roll-call=0")
    default, default_times = made(*NODE)
    assert default == off
    # when it begins, and what is left at each wait
    assert 0 < default_times - off_times <= 1 + 2 * off.count("rt_sigtimedwait")
    alone = ["--nproc-per-node=1", "--master-port=1", "--checks=none"]
    assert made(*alone) == made(*alone, "--roll-call=0")


def test_ends_at_the_usual_count(traced):
    """The control: without checks one rank costs what a command without a rank does."""
    one = traced("below", "--nproc-per-node=1", "--master-port=1", "--checks=none")[0]
    plain = traced("below")[0]
    assert len(before_spawn(plain)) == len(before_spawn(one))


@pytest.mark.parametrize("place", ["init", "below"])
def test_no_file_is_opened_before_the_spawn(traced, place):
    own, _ = traced(place)
    assert [name for name in names(before_spawn(own))
            if name.startswith(("open", "read", "stat"))] == []


def test_the_first_call_blocks_everything(traced):
    own, _ = traced("init")
    after_libc = [text for text in calls(own)
                  if not text.startswith(("arch_prctl", "set_tid_address"))]
    assert after_libc[0].startswith("rt_sigprocmask(SIG_SETMASK, ~[]")


def idle(box, place, **options):
    job = box.start("--", "sleep", "60", place=place, **options)
    child = job.main()
    wait_until(lambda: peek.stat(child)[0] == "sleep", "the command")
    wait_until(lambda: peek.rests(job.pid), "it sleeps")
    return job


def test_no_wake_up_while_idle(box, tool):
    jobs = [idle(box, "init"), idle(box, "below"), idle(box, "init", program=tool("tini"))]
    before = [sum(peek.switches(job.pid)) for job in jobs]
    time.sleep(2.2)
    moved = [sum(peek.switches(job.pid)) - count for job, count in zip(jobs, before)]
    assert moved[:2] == [0, 0]
    assert moved[2] >= 1, "the control: tini wakes up once a second"


def test_no_wake_up_after_a_forwarded_signal_and_an_orphan(box, actor):
    job = box.start("--grace=30", "--", actor("probe"), "/dev/null", "orphans=3", "serve=0")
    child = job.main()
    wait_until(lambda: peek.state(child) == "S" and len(job.members()) == 2, "the orphans")
    before = sum(peek.switches(job.pid))
    job.signal(10)
    wait_until(lambda: sum(peek.switches(job.pid)) > before and peek.rests(job.pid), "it is done")
    before = sum(peek.switches(job.pid))
    time.sleep(1.5)
    assert sum(peek.switches(job.pid)) == before


@pytest.mark.parametrize("place", ["init", "below"])
def test_private_memory(box, place):
    """What the binary's own pages take is the page cache's, and all containers share it."""
    job = idle(box, place)
    size = peek.private_memory(job.pid)
    assert 0 < size <= 64, f"{size} kB"
    # the control: the number means something
    big = box.start("--", "python3", "-c", "import time; time.sleep(60)")
    wait_until(lambda: peek.private_memory(big.main()) > 256, "a larger one")


# Pages that are not there when a start uses them, until it sleeps: 38 or one more, as stacks
# begin at random addresses. What no start uses is linked behind the rest (LATE in the Makefile).
PAGE_FAULTS = 39


@pytest.mark.parametrize("place", ["init", "below"])
def test_page_faults(box, place):
    def count(env=None):
        job = box.start("--supervise=always", "--checks=none", "--", "sleep", "60", place=place,
                        env={**RANK, **NODES, **(env or {})})
        child = job.main()
        wait_until(lambda: peek.stat(child)[0] == "sleep", "the command")
        wait_until(lambda: peek.state(job.pid) == "S", "it sleeps")
        with open(f"/proc/{job.pid}/stat", encoding="ascii") as file:
            return int(file.read().rpartition(")")[2].split()[7])

    least = min(count() for _ in range(8))
    assert least <= PAGE_FAULTS
    many = {f"VARIABLE_{number}": "" for number in range(1000)}
    assert count(env=many) > PAGE_FAULTS, "the control: a large environment needs memory"


def test_little_address_space(box):
    """What is large and seldom needed is no static array: a limit would count that at the exec."""
    def end(kilobytes):
        words = ["prlimit", f"--as={kilobytes * 1024}", box.rankinit, "--", "/bin/true"]
        return subprocess.run(words, env=BASE, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, check=False).returncode

    assert end(8192) == 0
    assert end(1024) != 0, "the control: the limit is one"


def test_memory_does_not_grow(box, actor):
    """A thousand orphans, and the environment of a large job."""
    job = box.start("--", actor("probe"), "/dev/null", "orphans=1000", "serve=15",
                    env={f"VARIABLE_{number}": "x" * 50 for number in range(500)})
    child = job.main()
    wait_until(lambda: peek.state(child) == "S" and len(job.members()) == 2, "the orphans")
    assert peek.private_memory(job.pid) <= 320
    assert job.stop().status == 0


def test_one_static_file(box):
    """No interpreter, so nothing of the image is loaded into process 1."""
    with open(box.rankinit, "rb") as file:
        data = file.read()
    assert data[:4] == b"\x7fELF"
    count, size = int.from_bytes(data[56:58], "little"), int.from_bytes(data[54:56], "little")
    start = int.from_bytes(data[32:40], "little")
    types = {int.from_bytes(data[start + n * size:start + n * size + 4], "little")
             for n in range(count)}
    assert 1 in types and 2 not in types and 3 not in types, "LOAD, no DYNAMIC, no INTERP"
