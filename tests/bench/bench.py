#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Measures rankinit beside its peers and prints one table per topic.

Absolute times differ from machine to machine and from hour to hour; the
ratios, taken in one interleaved run, are what counts. A missed target is
printed and never an error: the exit status is 1 only if something broke.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the sources

import autopsy
import behind
import checks
import container
import counts
import death
import hosts
import launched
import nodes
import output
import restart
import size
import tables
from counts import CannotRun

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TESTS = os.path.join(TOP, "build", "tests")
PROGRAMS = ("payload", "floor", "startbench", "deaf", "latency", "pidns",
            "spawnloop", "talk")
ENVIRONMENTS = {
    "plain": os.path.join(HERE, "plain.env"),
    "azureml": os.path.join(HERE, "azureml-mpi.env"),
}
RANKS = (8, 64)
FEW = 8     # as many as slow launchers are asked to start
TOPICS = ("start", "checks", "ranks", "launched", "behind", "death", "deaths", "nodes", "restart",
          "size", "autopsy", "output", "hosts", "deaf", "latency", "idle", "system_calls",
          "container")

# Row, init (for --init), program, arguments.
INITS = (
    ("bare", "bare", None, []),
    ("floor", "floor", os.path.join(TESTS, "floor"), []),
    # posix_spawn and waitpid alone
    ("spawnloop", "spawnloop", os.path.join(TESTS, "spawnloop"), ["1"]),
    ("tini", "tini", "tini", ["--"]),
    ("tini-static", "tini-static", "tini-static", ["--"]),
    ("dumb-init", "dumb-init", "dumb-init", ["--"]),
    ("catatonit", "catatonit", "catatonit", ["--"]),
    ("rankinit", "rankinit", "build/rankinit", ["--checks=none", "--"]),
    ("rankinit-always", "rankinit", "build/rankinit",
     ["--supervise=always", "--checks=none", "--"]),
    # a rank of several, by azureml-mpi.env, which checks its node first
    ("rankinit-checks", "rankinit", "build/rankinit",
     ["--supervise=always", "--checks=default", "--"]),
)


class Variant:
    """One init with its options, in one environment."""

    def __init__(self, name, env, words):
        self.name = name
        self.env = env
        self.words = words
        self.key = f"{name}@{env}"
        self.env_file = ENVIRONMENTS[env]
        self.payload = os.path.join(TESTS, "payload")

    def command(self, payload_mode):
        mode = [payload_mode] if payload_mode else []
        return self.words + [self.payload] + mode


def find_program(program):
    """An absolute path, or None."""
    if "/" not in program:
        return shutil.which(program)
    path = os.path.join(TOP, program)
    return path if os.access(path, os.X_OK) else None


def even(path):
    """
    A copy of the program, written in one go: the kernel keeps a file in the pieces
    in which it was written, and a start from few large ones is quicker by a tenth.
    The linker and strip write small ones, who unpacks a package or an image does not.
    """
    # two builds have one name
    folder = os.path.join(TESTS, "copies", os.path.dirname(path).strip("/").replace("/", "-"))
    os.makedirs(folder, exist_ok=True)
    copied = os.path.join(folder, os.path.basename(path))
    shutil.copy(path, copied + ".new")
    os.replace(copied + ".new", copied)
    return copied


def resolve(given):
    """--init's answers over the table: row -> words, row -> why skipped."""
    known = {init for _, init, _, _ in INITS}
    entries = [(row, given.get(init, [program]), arguments)
               for row, init, program, arguments in INITS]
    entries += [(name, words, []) for name, words in given.items()
                if name not in known]
    found, skipped = {}, {}
    for row, words, arguments in entries:
        if words == [None]:
            found[row] = []
            continue
        path = find_program(words[0])
        if path:
            found[row] = [even(path)] + words[1:] + arguments
        else:
            skipped[row] = f"skipped: {words[0]} is not there"
    return found, skipped


def describe(status):
    """A wait status in words."""
    if status < 0:
        return "failed: the payload did not run"
    if os.WIFSIGNALED(status):
        return f"failed: signal {os.WTERMSIG(status)}"
    return f"failed: exit status {os.WEXITSTATUS(status)}"


def measure(program, arguments, spec, seconds=120):
    """Runs a measuring program; its lines as key -> list of numbers."""
    done = subprocess.run(
        [os.path.join(TESTS, program)] + [str(a) for a in arguments],
        input=spec, text=True, capture_output=True, timeout=seconds)
    counts.check_status(done.returncode, done.stderr)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {fields[0]: [int(f) for f in fields[1:]] for fields in lines}


class Bench:
    """One whole run: what to measure, and what came out."""

    def __init__(self, options):
        self.options = options
        self.found, self.skipped = resolve(options.init)
        self.broken = {}
        self.results = {}

    def variants(self, envs=ENVIRONMENTS, leave_out=()):
        return [Variant(name, env, words) for env in envs
                for name, words in self.found.items()
                if name not in leave_out]

    def fail(self, topic, key, reason):
        self.broken.setdefault(topic, {})[key] = reason

    def topic(self, name, env):
        """The rows of one environment, in the order of the table."""
        def own(found):
            return {key.split("@")[0]: value for key, value in found.items()
                    if key.endswith("@" + env)}
        problems = dict(self.skipped)
        problems.update(own(self.broken.get(name, {})))
        return tables.Topic(own(self.results.get(name, {})), problems)

    def keep(self, topic, fields, raw):
        """raw: key -> numbers in the order of fields."""
        self.results[topic] = {
            key: dict(zip(fields, numbers)) for key, numbers in raw.items()
            if key not in self.broken.get(topic, {})}

    # --- one method per topic ---

    def start(self):
        options = self.options
        variants = self.variants()
        spec = "".join(counts.spec_line(v, None) for v in variants)
        raw = measure("startbench", [options.rounds, 10], spec)
        self.note_failures("start", raw)
        self.keep("start", ("rounds", "failed", "total", "total_q1",
                            "total_q3", "main", "cpu"), raw)
        for env in ENVIRONMENTS:
            topic = self.topic("start", env)
            tables.add_extra(topic.rows)
            tables.start(topic, env, options.rounds)

    def note_failures(self, topic, raw):
        for key, numbers in raw.items():
            if numbers[1] and numbers[0] < self.options.rounds:
                self.fail(topic, key, describe(numbers[1]))

    def can_fan_out(self, name="rankinit"):
        words = self.found.get(name, [""])[:1] + ["--list=options"]
        if not words[0]:
            return False
        listed = subprocess.run(words, capture_output=True, text=True)
        return "--nproc-per-node" in listed.stdout

    def other_builds(self):
        """The words of what --init gives besides, as long as it is a rankinit."""
        known = {init for _, init, _, _ in INITS}
        return {name: words for name, words in self.found.items()
                if name in self.options.init and name not in known and self.can_fan_out(name)}

    def torchrun(self):
        """The words of a torchrun that works here, or None."""
        tried = subprocess.run([sys.executable, "-c", "import torch.distributed.run"],
                               capture_output=True)
        return [sys.executable, "-m", "torch.distributed.run", "--standalone",
                "--no_python"] if tried.returncode == 0 else None

    def rank_launchers(self, count):
        """row -> the words before a command that count ranks shall run, row -> why not"""
        rows = {"spawnloop": [os.path.join(TESTS, "spawnloop"), str(count)]}
        skipped = {}
        if self.can_fan_out():
            rows["rankinit"] = (self.found["rankinit-checks"][:-1]
                                + [f"--nproc-per-node={count}", "--"])
            rows.update((name, words + rows["rankinit"][1:])
                        for name, words in self.other_builds().items())
            rows["simulated"] = (self.found["rankinit-checks"][:-1]
                                 + [f"--simulate=sagemaker:2x{count // 2}", "-q", "--"])
        elif "rankinit" in self.found:
            skipped["rankinit"] = "skipped: no --nproc-per-node"
        mpirun, torchrun = shutil.which("mpirun"), self.torchrun()
        if count > FEW:
            # Open MPI 4.1.4 with 40 short ranks never ends in a new PID namespace
            skipped.update({name: f"skipped: only for {FEW} ranks"
                            for name in ("mpirun", "torchrun")})
            return rows, skipped
        if mpirun:
            rows["mpirun"] = [mpirun, "--allow-run-as-root",
                              "--oversubscribe", "-np", str(count)]
        else:
            skipped["mpirun"] = "skipped: mpirun is not there"
        if torchrun:
            rows["torchrun"] = torchrun + [f"--nproc_per_node={count}"]
        else:
            skipped["torchrun"] = "skipped: torch cannot be imported"
        return rows, skipped

    def measure_ranks(self, rows, command):
        """Those that take a hundred times longer run fewer rounds."""
        spec = {name: "\t".join([f"{name}@plain", ENVIRONMENTS["plain"], *words, *command])
                + "\n" for name, words in rows.items()}
        slow = [spec.pop(name) for name in ("mpirun", "torchrun") if name in spec]
        raw = measure("startbench", [self.options.rounds // 3, 5, 1], "".join(spec.values()))
        for line in slow:
            rounds = 3 if self.options.quick else 5
            raw.update(measure("startbench", [rounds, 1, 1], line, 300))
        return raw

    def ranks(self):
        for count in RANKS:
            topic_name = f"ranks_{count}"
            rows, skipped = self.rank_launchers(count)
            raw = self.measure_ranks(rows, [os.path.join(TESTS, "payload")])
            for key, numbers in raw.items():
                if numbers[1]:
                    self.fail(topic_name, key, describe(numbers[1]))
            self.keep(topic_name, ("rounds", "failed", "total", "total_q1", "total_q3"), raw)
            topic = self.topic(topic_name, "plain")
            topic.problems = {k: v for k, v in topic.problems.items() if k in rows}
            topic.problems.update(skipped)
            tables.ranks(topic, count)

    def launched(self):
        """A healthy job in front of a launcher; the looks at its ranks are over."""
        if "rankinit" not in self.found:
            raise CannotRun("no rankinit")
        slept = launched.measure(self.found["rankinit"][0])
        self.results["launched"] = {f"{name}@plain": {"wakeups": count}
                                    for name, count in slept.items()}
        tables.launched(slept, launched.SECONDS)

    def behind(self):
        """A rankinit for each rank of mpirun."""
        if "rankinit" not in self.found:
            raise CannotRun("no rankinit")
        private, starts = behind.measure(self.found["rankinit"][0],
                                         5 if self.options.quick else 20)
        self.results["behind"] = {f"{name}@plain": row for name, row in starts.items()}
        self.results["behind_memory"] = {"rankinit@plain": {"private_kb": max(private)}}
        tables.behind(private, starts, behind.RANKS)

    def death(self):
        """One of 8 ranks fails when all run; how long until the job has ended?"""
        rows, skipped = self.rank_launchers(RANKS[0])
        rows.pop("spawnloop")
        results, problems = death.measure(
            rows, RANKS[0], 3 if self.options.quick else 10)
        for name, reason in problems.items():
            self.fail("death", f"{name}@plain", reason)
        self.results["death"] = {f"{name}@plain": numbers for name, numbers in results.items()}
        topic = self.topic("death", "plain")
        topic.problems = {k: v for k, v in topic.problems.items() if k in rows}
        topic.problems.update(skipped)
        tables.death(topic, RANKS[0])

    def deaths(self):
        """All of many ranks print an exception and fail; how long until the job has ended?"""
        if not self.can_fan_out():
            raise CannotRun("no rankinit")
        options = ["--checks=none", f"--nproc-per-node={death.MANY}", "--"]
        rows = {name: words[:1] + options for name, words in
                [("rankinit", self.found["rankinit"]), *self.other_builds().items()]}
        results, problems = death.measure_many(rows, 3 if self.options.quick else 10)
        for name, reason in problems.items():
            self.fail("deaths", f"{name}@plain", reason)
        self.results["deaths"] = {f"{name}@plain": row for name, row in results.items()}
        topic = self.topic("deaths", "plain")
        topic.problems = {k: v for k, v in topic.problems.items() if k in rows}
        tables.deaths(topic, death.MANY)

    def nodes(self):
        """One rank of two nodes fails; how long do those of the other node go on?"""
        python = nodes.find_python(TOP)
        if python is None or "rankinit" not in self.found:
            raise CannotRun("torch cannot be imported: make frameworks")
        results, problems = nodes.measure(self.found["rankinit"][0], python,
                                          3 if self.options.quick else 5)
        for name, reason in problems.items():
            self.fail("nodes", f"{name}@plain", reason)
        self.results["nodes"] = {f"{name}@plain": row for name, row in results.items()}
        tables.nodes(results, problems, nodes.BOUND)

    def restart(self):
        """One rank dies; how long until the job runs again?"""
        if "rankinit" not in self.found:
            raise CannotRun("no rankinit")
        results, problems = restart.measure(self.found["rankinit"][0], nodes.find_python(TOP),
                                            3 if self.options.quick else 10)
        for (count, name), reason in problems.items():
            if not reason.startswith("skipped"):
                self.fail("restart", f"{name}-{count}@plain", reason)
        self.results["restart"] = {f"{name}-{count}@plain": row
                                   for (count, name), row in results.items()}
        tables.restart(results, problems)

    def size(self):
        """What does --link cost node 0 of a thousand nodes, and of ten thousand?"""
        if "rankinit" not in self.found:
            raise CannotRun("no rankinit")
        members = os.path.join(TOP, "build", "release", "tests", "members")
        results, problems = size.measure(self.found["rankinit"][0], members)
        for count, reason in problems.items():
            if not reason.startswith("skipped"):
                self.fail("size", f"{count}@plain", reason)
        self.results["size"] = {f"{step}-{count}@plain": row for count, steps in results.items()
                                for step, row in steps.items()}
        tables.size(results, problems)

    def autopsy(self):
        """What do ranks that wait do? Read from outside."""
        if "rankinit" not in self.found:
            raise CannotRun("no rankinit")
        results, problems = autopsy.measure(
            self.found["rankinit"][0], nodes.find_python(TOP), TOP,
            3 if self.options.quick else 10)
        self.results["autopsy"] = {f"{name}@plain": row for name, row in results.items()}
        tables.autopsy(results, problems, autopsy.RANKS)

    def hosts(self):
        """What a long list of hosts adds to a start."""
        took = hosts.measure(os.path.join(TOP, "build", "rankinit"),
                             3 if self.options.quick else 15)
        self.results["hosts"] = {f"{kind}-{count}@plain": {"median": value}
                                 for (kind, count), value in took.items()}
        tables.hosts(took)

    def checks(self):
        """All default checks on a machine with everything that they look at."""
        took = checks.measure(os.path.join(TOP, "build", "rankinit"),
                              10 if self.options.quick else 50)
        self.results["checks"] = {f"{kind}@plain": {"median": value}
                                  for kind, value in took.items()}
        tables.checks(took)

    def container(self):
        """A layer of an image, and a start by an engine."""
        rows, layer = container.measure(
            os.path.join(TOP, "build", "rankinit"), os.path.join(TESTS, "payload"),
            7 if self.options.quick else 25)
        self.results["container"] = {f"{name}@plain": row for name, row in rows.items()}
        self.results["layer"] = {"rankinit@plain": layer}
        tables.container(rows, layer)

    def output(self):
        if "rankinit" not in self.found:
            raise CannotRun("rankinit is not there")
        talk = os.path.join(TESTS, "talk")
        rows = output.ways(self.found["rankinit"][0], self.can_fan_out(), talk,
                           self.options.quick)
        raw, failed = output.throughput(rows, talk, 5 if self.options.quick else 11)
        for name, reason in failed.items():
            self.fail("output", name + "@plain", reason)
        self.keep("output", ("rate", "q1", "q3"),
                  {name + "@plain": numbers for name, numbers in raw.items()})
        topic = self.topic("output", "plain")
        topic.problems = {k: v for k, v in topic.problems.items() if k in rows}
        if "torchrun-tee" not in rows:
            topic.problems["torchrun-tee"] = "skipped: torch is not there"
        tables.output(topic, rows["rankinit-prefix"].ranks)

    def deaf(self):
        variants = self.variants(["azureml"])
        spec = "".join(counts.spec_line(v, "hear") for v in variants)
        raw = measure("deaf", [self.options.trials], spec)
        for key, numbers in raw.items():
            if not numbers[0]:
                self.fail("deaf", key, "failed: no signal came through")
        self.keep("deaf", ("trials", "lost", "window", "misfits", "latest"),
                  raw)
        tables.deaf(self.topic("deaf", "azureml"), "azureml")

    def latency(self):
        rounds = max(self.options.rounds * 3, 1000)
        variants = self.variants(["azureml"])
        spec = "".join(counts.spec_line(v, "hear") for v in variants)
        raw = measure("latency", [rounds], spec)
        for key, numbers in raw.items():
            if not numbers[0]:
                self.fail("latency", key, "failed: no answer to a signal")
        self.keep("latency", ("rounds", "median", "q1", "q3"), raw)
        tables.latency(self.topic("latency", "azureml"), "azureml", rounds)

    def count_idle(self, envs):
        variants = self.variants(envs)
        self.results["idle"] = counts.idle(
            variants, os.path.join(TESTS, "pidns"), self.options.idle)
        for variant in variants:
            if variant.key not in self.results["idle"]:
                self.fail("idle", variant.key, "failed: it did not stay")

    def count_system_calls(self, envs):
        strace = shutil.which("strace")
        if not strace:
            raise CannotRun("strace is not there")
        result, failed = counts.system_calls(
            self.variants(envs), os.path.join(TESTS, "pidns"), strace)
        self.results["system_calls"] = result
        for key, reason in failed.items():
            self.fail("system_calls", key, "failed: " + reason)

    def idle(self):
        self.count_idle(["azureml"])
        tables.idle(self.topic("idle", "azureml"), "azureml",
                    self.options.idle)

    def system_calls(self):
        self.count_system_calls(list(ENVIRONMENTS))
        for env in ENVIRONMENTS:
            tables.system_calls(self.topic("system_calls", env), env)

    def run_all(self):
        for name in TOPICS:
            if self.options.only and name not in self.options.only:
                continue
            try:
                getattr(self, name)()
            except CannotRun as reason:
                print(f"\n{name}: skipped: {reason}")
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                self.fail(name, name, str(error))
                print(f"\n{name}: failed: {error}")
            sys.stdout.flush()


# --- output for programs ------------------------------------------------------


def by_init(results):
    """topic -> name@env -> numbers becomes name -> env -> topic -> numbers."""
    inits = {}
    for topic, rows in results.items():
        for key, numbers in rows.items():
            name, env = key.split("@")
            inits.setdefault(name, {}).setdefault(env, {})[topic] = numbers
    return inits


def document(bench, schema):
    return {
        "schema": schema,
        "commands": bench.found,
        "inits": by_init(bench.results),
        "skipped": bench.skipped,
        "failed": bench.broken,
    }


def print_counts(bench):
    """
    What tests may compare. System calls and wake-ups are the same in every
    run; memory moves by a few pages, as addresses are random.
    """
    for name, count in (("idle", bench.count_idle),
                        ("system_calls", bench.count_system_calls)):
        try:
            count(list(ENVIRONMENTS))
        except CannotRun as reason:
            bench.skipped[name] = f"skipped: {reason}"
    json.dump(document(bench, "rankinit-bench-counts-1"), sys.stdout,
              indent=1, sort_keys=True)
    print()


def parse_init(text):
    name, equals, command = text.partition("=")
    words = shlex.split(command)
    if not equals or not words:
        raise argparse.ArgumentTypeError("NAME=COMMAND expected")
    return name, words


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Measure rankinit and its peers.")
    parser.add_argument("--rounds", type=int,
                        help="start-up rounds (default 400, quick 200)")
    parser.add_argument("--init", type=parse_init, action="append",
                        default=[], metavar="NAME=COMMAND",
                        help="another program for a known init, or one more; "
                        "a relative path starts at the top of the project")
    parser.add_argument("--only", action="append", choices=TOPICS,
                        help="this topic; may be given several times")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--counts", action="store_true",
                        help="system calls, wake-ups and memory as JSON")
    options = parser.parse_args(argv)
    options.init = dict(options.init)
    options.rounds = options.rounds or (200 if options.quick else 400)
    options.trials = 100 if options.quick else 400
    options.idle = 2 if options.quick else 3 if options.counts else 5
    return options


def main(argv):
    options = parse(argv)
    missing = [p for p in PROGRAMS
               if not os.access(os.path.join(TESTS, p), os.X_OK)]
    if missing:
        print(f"bench: build/tests/{missing[0]} is not built: make bench",
              file=sys.stderr)
        return 1
    bench = Bench(options)
    if options.counts:
        print_counts(bench)
    else:
        bench.run_all()
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(document(bench, "rankinit-bench-1"), file, indent=1)
            file.write("\n")
    return 1 if bench.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
