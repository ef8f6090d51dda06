#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs the suites and adds up what they say.

usage: check.py [SUITE...]    without a name: all but nightly ones and those of other targets

What computes runs at nice 19, one suite after the other, as what waits for processes leaves
time to it. Of what waits two suites run side by side, the longest first, and of each of them
two tests for each CPU, and one more. Each suite's output goes to build/check/SUITE.log; the end
of what a command that fails has said is printed. The last line counts tests: N passed, N
failed, N skipped. With CHECK_SAMPLE pytest runs one test of each kind, and with CHECK_CORE
those tests alone that are marked as the core of their target (kinds.py).
"""

import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "golden"))
import cases  # noqa: E402  pylint: disable=wrong-import-position

LOGS = os.path.join(TOP, "build", "check")
PYTHON = "/usr/bin/python3"
LINES = 120  # of a failing command's output
PYTEST = [PYTHON, "-B", "-m", "pytest", "-q", "-rfs", "-p", "no:cacheprovider",
          "-p", "tests.kinds"]
# Tests that wait for processes most of their time: more than twice as many at once as CPUs.
# The tests of a file may share a cluster or a folder, and stay together where they do.
AT_ONCE = [*PYTEST, "-n", str(2 * len(os.sched_getaffinity(0)) + 1)]
FILES_AT_ONCE = [*AT_ONCE, "--dist", "loadfile"]
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite"]


def programs(pattern):
    return sorted(glob.glob(os.path.join("build", pattern)))


# What golden cases without a machine of their own get in a fuzzer: an address and a name.
MACHINE = "aws_batch/main"


def files_below(top):
    """What is in a folder, as tests/fuzz/fuzz_tree.h has it."""
    for folder, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            inner = os.path.relpath(path, top)
            if os.path.islink(path):
                yield f"%%\n{inner} -> {os.readlink(path)}\n".encode()
            elif name in files:
                with open(path, "rb") as file:
                    text = file.read()
                yield f"%%\n{inner}\n".encode() + text + b"\n" * (not text.endswith(b"\n"))


def files_of(case):
    """What is on the machine of a golden case, likewise."""
    with tempfile.TemporaryDirectory() as root:
        case.put_machine(root)
        return list(files_below(root))


def golden_corpus(name):
    """The golden cases as one more corpus: environments, whole jobs, and jobs on machines."""
    folder = os.path.join("build", "check", f"golden-{name}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = cases.load()
    (shared,) = [files_of(case) for case in found if case.name == MACHINE]
    for case in found:
        words = [] if name == "env" else [*(case.options or []), *(case.command or []), "%%"]
        with open(os.path.join(folder, case.name.replace("/", "-")), "wb") as made:
            made.writelines(line.encode(errors="surrogateescape") + b"\n"
                            for line in words + case.env)
            if name == "mixed":
                made.writelines(shared if case.machine is None else files_of(case))
    return folder


def machine_corpus():
    """The recorded machines as one more corpus, each as one file."""
    made = os.path.join("build", "check", "golden-machine")
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    for top in glob.glob("tests/hosts/*/") + glob.glob("build/hosts/*/"):
        with open(os.path.join(made, os.path.basename(top[:-1])), "wb") as out:
            out.writelines(files_below(top))
    return made


def redact_corpus():
    """What the unit tests know as secrets and as harmless, each kind of them as one file."""
    made = os.path.join("build", "check", "golden-redact")
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    signs = str.maketrans("\u241b\u2409\u240d\u2420", "\x1b\t\r ", "\xab\xbb")
    for name in "hidden", "yaml", "message", "doubt", "kept":
        with open(f"tests/unit/redact.{name}", encoding="utf-8") as file:
            kinds = re.split(r"^##.*\n", file.read(), flags=re.M)
        for number, kind in enumerate(kind for kind in kinds if kind.strip()):
            with open(os.path.join(made, f"{name}-{number}"), "w", encoding="utf-8") as out:
                out.write(kind.replace("\n%%\n", "\n").translate(signs))
    return made


# Targets with one more corpus, made of what other tests have.
CORPORA = {"env": lambda: golden_corpus("env"), "job": lambda: golden_corpus("job"),
           "mixed": lambda: golden_corpus("mixed"), "machine": machine_corpus,
           "redact": redact_corpus}


# A suite builds what it alone needs: what waits begins meanwhile.
def build(*words):
    return ["make", f"-j{len(os.sched_getaffinity(0))}", "--no-print-directory", *words]


def fuzz_commands():
    yield build("SAN=1", "all", "fuzz-programs")
    for program in programs("san/tests/fuzz_*"):
        if not program.endswith(".d"):
            name = os.path.basename(program).removeprefix("fuzz_")
            more = [CORPORA[name]()] if name in CORPORA else []
            yield [program, os.path.join("tests", "fuzz", "corpus", name), *more]


def coverage_commands():
    for make in CORPORA.values():
        make()
    yield ["tests/fuzz/coverage.sh", "95"]


def unit_commands(kind, prefix):
    yield build("SAN=1" if kind == "san" else "DEBUG=1", "all", "unit-programs")
    for program in programs(f"{kind}/tests/test_*"):
        if not program.endswith(".d"):
            yield prefix + [program]


def conformance_commands():
    result = "build/conformance.json"
    here = "tests/conformance"
    yield [PYTHON, f"{here}/conform.py", "--suite", "--jobs", "2",
           "--build", "build", "--json", result]
    # the others pass 36 to 39 of 57, and on a busy machine one or two more by luck
    yield [PYTHON, f"{here}/report.py", result, "--require", "rankinit=all",
           "--peer-limit", "42"]
    yield [PYTHON, f"{here}/selftest.py", "build"]


# What containers and real Debian roots are asked; an engine is started for the first.
CONTAINERS = [f"tests/behaviour/test_{name}.py"
              for name in ("check_docker", "simulate_docker", "check_debian")]


def containers_commands():
    *docker, debian = CONTAINERS
    yield ["sh", "-c", "make --no-print-directory roots || echo skip: no roots of Debian"]
    yield ["images/engine.sh", *PYTEST, *docker]
    yield PYTEST + [debian]


# What is looked at before a launch: nearly half of the behaviour tests, in a lane of their own.
CHECKS = [path for name in ("check", "deep")
          for path in sorted(glob.glob(f"tests/behaviour/test_{name}*.py", root_dir=TOP))
          if path not in CONTAINERS]


# What the rankinits of several nodes say to each other, most of it after a wait.
NODES = [path for name in ("link", "roll_call")
         for path in sorted(glob.glob(f"tests/behaviour/test_{name}*.py", root_dir=TOP))]


def failures_commands():
    """Each recorded failure is a test."""
    yield PYTEST + ["tests/failures"]
    yield [PYTHON, "tests/failures/replay.py"]


def images_commands():
    """IMAGES names those that were built: make images."""
    names = os.environ.get("IMAGES", "").split()
    yield PYTEST + [f"images/{name}" for name in names]


SUITES = {
    "lint": lambda: [["tests/lint/run.sh"]],
    "unit": lambda: unit_commands("san", []),
    "fuzz": fuzz_commands,
    "golden": lambda: [[PYTHON, "tests/golden/run.py"]],
    "behaviour": lambda: [FILES_AT_ONCE + ["tests/behaviour"] +
                          [f"--ignore={path}" for path in CHECKS + NODES + CONTAINERS]],
    "nodes": lambda: [AT_ONCE + NODES],
    "checks": lambda: [FILES_AT_ONCE + CHECKS],
    "containers": containers_commands,
    "fault": lambda: [AT_ONCE + ["tests/fault"]],
    "failures": failures_commands,
    "conformance": conformance_commands,
}

def dist_commands():
    """What `make dist` made; an engine is started for the one test that loads the image."""
    if os.environ.get("CHECK_CORE"):
        yield PYTEST + ["tests/dist"]
        return
    image = "tests/dist/test_image.py"
    yield PYTEST + ["tests/dist", f"--ignore={image}"]
    yield ["images/engine.sh", *PYTEST, image]
    for suite in ("unit", "golden", "behaviour"):
        yield ["tests/dist/emulated.py", suite]


# Those of `make nightly`, and those with targets of their own, which install what they need first.
APART = {
    "valgrind": lambda: unit_commands("debug", VALGRIND),
    "coverage": coverage_commands,
    "dist": dist_commands,
    "images": images_commands,
    "compose": lambda: [PYTEST + ["images/compose"]],
    "frameworks": lambda: [PYTEST + ["tests/frameworks"]],
}

# They compute from their first line to the last, and nothing in them waits for anybody.
COMPUTING = {"lint", "unit", "valgrind", "fuzz", "coverage", "golden"}

# What waits, the longest first: a suite begins when one of the two before it has ended.
WAITING = ["behaviour", "checks", "fault", "nodes", "failures", "conformance", "containers"]

# What they test may not be installed; each test that is skipped says so.
MAY_BE_ABSENT = {"frameworks"}

# The lines that count: our own, pytest's last one, cmocka's.
PATTERNS = {
    "passed": (r"^(\d+) passed, \d+ failed(?:, \d+ skipped)?$", r"^.*?(\d+) passed.* in [\d.]+",
               r"^\[  PASSED  \] (\d+) test"),
    "failed": (r"^\d+ passed, (\d+) failed(?:, \d+ skipped)?$", r"^.*?(\d+) failed.* in [\d.]+",
               r"^\[  FAILED  \] (\d+) test"),
    "skipped": (r"^\d+ passed, \d+ failed, (\d+) skipped$",
                r"^.*?(\d+) skipped.* in [\d.]+", r"^\[  SKIPPED \] (\d+) test"),
}

def count(output):
    """What the output of one command says: passed, failed, skipped."""
    totals = {}
    for word, patterns in PATTERNS.items():
        found = [int(n) for p in patterns for n in re.findall(p, output, re.M)]
        totals[word] = found[0] if found else 0
    return totals


def run_command(command, niceness=0):
    done = subprocess.run(["nice", "-n", str(niceness), *command], cwd=TOP,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done, done.stdout.decode(errors="replace")


def run_suite(name):
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    text, wrong = [], []
    for command in {**SUITES, **APART}[name]():
        done, output = run_command(command, 19 if name in COMPUTING else 0)
        said = count(output)
        # a command that failed without saying so is a failed test
        if done.returncode != 0 and said["failed"] == 0:
            output += f"{command}: exit status {done.returncode}\n"
            said["failed"] = 1
        text.append(f"$ {' '.join(command)}\n{output}")
        if said["failed"]:
            wrong += [f"$ {' '.join(command)}", *output.splitlines()[-LINES:]]
        for word in totals:
            totals[word] += said[word]
    if totals["passed"] == 0 and not (name in MAY_BE_ABSENT and totals["skipped"]):
        totals["failed"] += 1
        wrong.append(f"{name}: no test passed")
    return totals, "".join(text), wrong


def skips(text):
    """Reasons, as pytest (SKIPPED), lint, and the others (skip) print them."""
    return [line for line in text.splitlines()
            if re.match(r"^(SKIPPED|skip\b|skipped\b)", line)]


def is_open(path):
    """Whether everybody may enter it."""
    path = os.path.realpath(path)
    return os.stat(path).st_mode & 1 and (path == "/" or is_open(os.path.dirname(path)))


def main(names):
    """
    Temporary files go where they are gone in the end, even those of a killed mpirun, and
    where the other users of --user's tests can go too, which TMPDIR may be too private for.
    """
    os.chdir(TOP)
    with tempfile.TemporaryDirectory(prefix="rankinit-check-", ignore_cleanup_errors=True,
                                     dir=None if is_open(tempfile.gettempdir()) else "/tmp") as tmp:
        os.chmod(tmp, 0o1777)
        os.environ["TMPDIR"] = tmp
        return run(names)


def run_lane(names, sums, turn):
    """One suite after the other, of those that are left; what each says comes in one piece."""
    for name in names:
        begin = time.monotonic()
        totals, text, wrong = run_suite(name)
        with open(os.path.join(LOGS, name + ".log"), "w") as log:
            log.write(text)
        with turn:
            if wrong:
                print("\n".join(wrong))
            print("{:<12} {passed:>5} passed {failed:>3} failed {skipped:>3} skipped {:6.0f} s"
                  .format(name, time.monotonic() - begin, **totals), flush=True)
            for line in skips(text):
                print("    " + line)
            for word in sums:
                sums[word] += totals[word]


def run(names):
    os.makedirs(LOGS, exist_ok=True)
    sums = {"passed": 0, "failed": 0, "skipped": 0}
    turn = threading.Lock()
    names = names or list(SUITES)
    unknown = [name for name in names if name not in {**SUITES, **APART}]
    if unknown:
        sys.exit(f"check.py: no suite {unknown[0]}: name some of {' '.join([*SUITES, *APART])}")
    computing = [name for name in names if name in COMPUTING]
    waiting = sorted((name for name in names if name not in COMPUTING),
                     key=lambda name: WAITING.index(name) if name in WAITING else 0)
    lanes = [computing, *[iter(waiting)] * 2]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for lane in [pool.submit(run_lane, lane, sums, turn) for lane in lanes]:
            lane.result()
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**sums))
    return 1 if sums["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
