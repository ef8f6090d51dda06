#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
record.py [--into=FOLDER] [--no-launcher | --launcher-only] [NAME...]: live failures,
written down.

Runs each failure of live.py (or those whose name begins with NAME), with what
`make frameworks` installed, and writes NAME.failure, in the form that
tests/failures/README.md explains, into FOLDER/known and FOLDER/aside in turn.
torchrun, whose workers are forked as the ranks are, runs each of them twice more,
without @record and with it, to see which rank its "Root Cause" names. With --launcher-only
it is only that which is written anew, and the rest of the header.
"""

import argparse
import gc
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib import metadata

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, HERE)

import live  # noqa: E402
import mpi  # noqa: E402
import ranks  # noqa: E402

# How long a job may take.
LIMIT = 100
# Before the first failure nothing happens that a replay has to wait for.
PAUSE = 0.1

ENV = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu",
       "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo", "DS_ACCELERATOR": "cpu",
       "ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": ""}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def env_of(one, rank, port):
    """As rankinit --nproc-per-node leaves it, of what the programs here read."""
    local = one.ranks // one.nodes
    env = {"RANK": rank, "WORLD_SIZE": one.ranks, "LOCAL_RANK": rank % local,
           "LOCAL_WORLD_SIZE": local, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
           "GROUP_RANK": rank // local}
    return {**{name: str(value) for name, value in env.items()}, **one.env}


# A C++ stack shows how a fork of this program runs another, in the stead of the interpreter.
LOADED = re.compile(r"frame #(\d+): PyRun_AnyFileExFlags.*(?:\nframe #\d+: .*)*")
STEAD = ("_PyRun_AnyFileObject + 0x44 (0x6512e4", "Py_RunMain + 0x20f (0x65007f",
         "Py_BytesMain + 0x27 (0x627d37", "_start + 0x21 (0x627bd1")


def in_their_stead(found):
    return "\n".join(f"frame #{int(found.group(1)) + number}: {text} in {sys.prefix}/bin/python)"
                     for number, text in enumerate(STEAD))


class Job:
    """A folder with the programs, as /job would have them."""

    def __init__(self, one):
        self.one = one
        self.folder = tempfile.mkdtemp(prefix="live-", dir="/tmp")
        for name in (one.program, "faults.py"):
            shutil.copy(os.path.join(HERE, name), self.folder)
        self.words = [os.path.join(self.folder, one.program), *one.words.split()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def neutral(self, text):
        """Nothing of this machine."""
        for path in {sysconfig.get_path("purelib"), *(p for p in sys.path if "-packages" in p)}:
            text = text.replace(path, "/opt/venv/lib/python3.11/site-packages")
        # TensorFlow and faulthandler print the frames below the program, too
        text = re.sub(rf'  File "{re.escape(HERE)}/\w+\.py", line \d+(?:, in \S+\n| in \S+)\n',
                      "", text)
        text = LOADED.sub(in_their_stead, text)
        text = text.replace(self.folder, "/job").replace(sys.prefix, "/opt/venv")
        text = re.sub(r"[ \t]+$", "", text, flags=re.M)   # so wants it `make lint`
        text = text.replace("\0", "").replace("\r", "{cr}").replace("\x1b", "{esc}")
        return re.sub(rf"\b{re.escape(socket.gethostname())}\b", "node-0", text)

    def errors(self, begin):
        """What @record left, as steps: its time is that of the file."""
        for number in range(self.one.ranks):
            path = os.path.join(self.folder, f"error-{number}.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    said = json.load(file)["message"]["extraInfo"]["py_callstack"]
                yield (os.stat(path).st_mtime - begin, number, "record",
                       self.neutral(said.rstrip("\n")))

    def watch(self):
        if self.one.launcher == "mpirun":
            seen = mpi.Watch(self.one.after, LIMIT, self.folder)
            seen.start_all(self.one.ranks, [sys.executable, *self.words], {**os.environ, **ENV})
            return seen.run()
        seen = ranks.Watch(self.one.after, LIMIT)
        port = free_port()
        for number in range(self.one.ranks):
            env = env_of(self.one, number, port)
            env["TORCHELASTIC_ERROR_FILE"] = os.path.join(self.folder, f"error-{number}.json")
            seen.start(number, self.words, env, self.folder)
        return seen.run()


# A recording.

def end_of(rank):
    if rank.status >= 0:
        return f"exit {rank.status}"
    if rank.status == -signal.SIGKILL:
        return "kill"
    return f"signal {signal.Signals(-rank.status).name}"


def events_of(seen, job, shown):
    """(time, rank, step, text) in order; without what happened after our own SIGTERM."""
    events = [(at, number, what, job.neutral(text)) for at, number, what, text in seen.pieces]
    events += job.errors(time.time() - seen.now())
    told = {rank.number: rank.told for rank in seen.ranks}
    events = [event for event in events if not told[event[1]] or event[0] < told[event[1]]]
    for rank in seen.ranks:
        if not rank.told:
            events.append((rank.ended, rank.number, end_of(rank), None))
        elif rank.status not in (-signal.SIGTERM, -signal.SIGKILL):
            wait = round(1000 * (rank.ended - rank.told))
            events.append((rank.told, rank.number, f"term {wait} {end_of(rank)}", None))
        elif rank.status == -signal.SIGKILL:
            events.append((rank.told, rank.number, "term ignore", None))
    order = sorted((e for e in events if e[1] in shown), key=lambda e: (e[0], e[1]))
    return joined(order)


def joined(events):
    """What one rank printed within 5 ms is one step."""
    result = []
    for event in events:
        for index in range(len(result) - 1, -1, -1):
            if result[index][1] == event[1]:
                break
        else:
            index = None
        if (index is not None and event[3] is not None and result[index][2] == event[2]
                and event[0] - result[index][0] < 0.005):
            before = result[index]
            result[index] = (*before[:3], before[3] + "\n" + event[3])
        else:
            result.append(event)
    return result


def shorten(events, until):
    """Times without the pauses before the first failure; a function of a real time."""
    points, cut, last = [(0.0, 0.0)], 0.0, 0.0
    for at, *_ in events:
        if at <= until:
            cut += max(0.0, at - last - PAUSE)
        points.append((at, cut))
        last = at
    return lambda at: at - max((c for t, c in points if t <= at), default=0.0)


def after_whom(at, number, seen, shown):
    """The last rank of this node but itself that had hung up by then, and when."""
    closed = [(rank.closed, rank.number) for rank in seen.ranks
              if rank.closed and rank.closed <= at and rank.number != number
              and rank.number in shown]
    return max(closed, default=None)


def first_failure(events, seen):
    """A moment before the first end, hang-up or error."""
    signs = [at for at, _, what, text in events
             if text is None or "Traceback" in text or "rror" in text]
    return min(signs + [rank.closed for rank in seen.ranks if rank.closed])


def steps_of(seen, job, shown):
    events = events_of(seen, job, shown)
    short = shorten(events, first_failure(events, seen))
    lines, last, lost = [], {}, set()
    for at, number, what, text in events:
        when = f"+{max(0, round(1000 * (short(at) - last[number])))}" if number in last else \
            f"{round(1000 * short(at))}"
        gone = after_whom(at, number, seen, shown)
        if what.startswith("term "):
            lines.append(f"@{number} {what}")
            continue
        if gone and number not in lost and (number not in last or short(gone[0]) >= last[number]):
            lost.add(number)
            when = f"after {gone[1]} +{round(1000 * (at - gone[0]))}"
        last[number] = short(at)
        lines.append(f"@{number} {when} {what}")
        if text is not None:
            lines += ["@" + line if line.startswith("@") else line for line in text.split("\n")]
    return lines


def header(one, named):
    _, _, packages = live.PACKAGES[one.group]
    versions = " ".join(f"{name.removesuffix('-cpu')} {metadata.version(name).split('+')[0]}"
                        for name in packages)
    extra = one.about.replace("torch ", "")
    local = one.ranks // one.nodes
    lines = [f"# {one.said}", f"origin: live, {versions} {extra}, {one.program} {one.words}",
             f"framework: {versions}, {extra}", f"ranks: {local}"]
    if one.nodes > 1:
        lines.append(f"node: {one.node} of {one.nodes}")
    lines.append(f"culprit: {one.culprit}")
    lines += [f"cause: {text}" for text in one.cause] + [f"never: {text}" for text in one.never]
    lines.append(f"status: {one.status}")
    if one.silent:
        lines.append("silent: yes")
    return lines + [f"{name}: {rank}" for name, rank in named.items()]


def write(one, named, steps, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*header(one, named), "", steps]))


def recorded(path):
    """Whom torchrun named, and the steps, of a file that is there."""
    with open(path, encoding="utf-8") as file:
        head, _, steps = file.read().partition("\n\n")
    return dict(re.findall(r"^(torchrun(?:-record)?): (.*)$", head, re.M)), steps


# torchrun.

class Worker:
    """
    What torchrun needs of subprocess.Popen, for a worker that is a fork. It was
    made before the agent had threads, and waits to be told what to run.
    """

    def __init__(self, folder):
        reads, self.writes = os.pipe()
        self.args = self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.chdir(folder)
            os.close(self.writes)
            with open(reads, "rb") as file:
                said = file.readline()
            if said:
                ranks.be_program(*json.loads(said))
            os._exit(0)
        os.close(reads)

    def start(self, words, env):
        self.args = words
        with open(self.writes, "w", encoding="utf-8") as file:
            file.write(json.dumps([words, env]) + "\n")
        return self

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=None):
        until = time.monotonic() + (timeout or 1e9)
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)


def be_agent(job, words, options):
    """In a fork: torchrun's own code, but for the way in which it starts a worker."""
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

    workers = [Worker(job.folder) for _ in range(job.one.ranks // job.one.nodes)]

    def popen(_, args, env):
        # python3 -u train.py ...
        return workers.pop().start(list(args)[2:], env)

    subprocess_handler.SubprocessHandler._popen = popen
    os.environ.update({**ENV, **job.one.env})
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        run.main([*options, *words])
    except BaseException:  # pylint: disable=broad-except
        sys.excepthook(*sys.exc_info())
    sys.stderr.flush()
    os._exit(0)


def start_agent(job, words, options, file):
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        be_agent(job, words, options)
    return pid


def wait_for(pids, seconds):
    until = time.monotonic() + seconds
    left = set(pids)
    while left and time.monotonic() < until:
        for pid in list(left):
            if os.waitpid(pid, os.WNOHANG)[0]:
                left.remove(pid)
        time.sleep(0.1)
    for pid in left:
        os.killpg(pid, signal.SIGTERM)
    time.sleep(8 if left else 0)
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def named_by_torchrun(one, more):
    """The rank that the agent of the node that is written down names, or what else it did."""
    with Job(one) as job:
        words, port = [*job.words, *more], free_port()
        files, pids = [], []
        for node in range(one.nodes):
            files.append(open(os.path.join(job.folder, f"agent-{node}"), "w+",
                              encoding="utf-8", errors="replace"))
            pids.append(start_agent(job, words, [
                f"--nnodes={one.nodes}", f"--node-rank={node}", "--master-addr=127.0.0.1",
                f"--nproc-per-node={one.ranks // one.nodes}", f"--master-port={port}"],
                files[-1]))
        wait_for(pids, LIMIT)
        files[one.node].seek(0)
        said = files[one.node].read()
        for file in files:
            file.close()
    found = re.search(r"Root Cause.*?\n\s+rank\s+: (\d+)", said, re.S)
    if os.environ.get("RECORD_AGENTS"):
        sys.stderr.write(said)
    return found.group(1) if found else "none"


# All of them.

def chosen(names):
    return [one for one in live.LIVE
            if not names or any(one.name.startswith(name) for name in names)]


def place(one):
    """known and aside in turn, by name."""
    order = sorted(each.name for each in live.LIVE)
    return ("known", "aside")[order.index(one.name) % 2]


def record(one, options):
    path = os.path.join(options.into, place(one), f"{one.name}.failure")
    named, ends = {}, ""
    if options.launcher_only:
        named, steps = recorded(path)
    else:
        local = one.ranks // one.nodes
        with Job(one) as job:
            seen = job.watch()
            shown = range(one.node * local, (one.node + 1) * local)
            steps = "\n".join([*steps_of(seen, job, shown), ""])
        ends = " ".join(f"{rank.number}:{'told' if rank.told else end_of(rank)}"
                        for rank in seen.ranks)
    if one.launcher == "torchrun" and not options.no_launcher:
        named = {"torchrun": named_by_torchrun(one, []),
                 "torchrun-record": named_by_torchrun(one, ["--record"])}
    write(one, named, steps, path)
    print(f"{one.name}: {ends} {named}", flush=True)


def in_group(options):
    """With the framework imported."""
    os.environ.update(ENV)
    # DeepSpeed would compile what is compiled already
    os.environ.update(TORCH_EXTENSIONS_DIR=os.path.join(sys.prefix, "extensions"),
                      PATH=f"{sys.prefix}/bin:{os.environ['PATH']}")
    _, modules, _ = live.PACKAGES[options.group]
    for name in modules:
        importlib.import_module(name)
    gc.freeze()     # a fork shares what nobody touches
    for one in chosen(options.names):
        if one.group == options.group:
            record(one, options)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--into", default=os.path.join(TOP, "tests", "failures"))
    parser.add_argument("--no-launcher", action="store_true")
    parser.add_argument("--launcher-only", action="store_true")
    parser.add_argument("--group", help="(it starts itself with this)")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.into = os.path.abspath(options.into)
    if options.group:
        return in_group(options)
    for group in dict.fromkeys(one.group for one in chosen(options.names)):
        folder = os.path.join(TOP, "build", "frameworks", live.PACKAGES[group][0])
        subprocess.run([os.path.join(folder, "bin", "python"), os.path.abspath(__file__),
                        f"--group={group}", *sys.argv[1:]], env={**os.environ, **ENV},
                       stdin=subprocess.DEVNULL, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
