#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""harmless.py [--python=PATH] [--rankinit=FILE] [--count=N] [--seed=N] [--jobs=N]

Random programs that are well: each catches, logs, quotes, forks, execs and saves slowly, at places
that look like a hang after an exception, writes its file "done" as the last thing that it does, and
ends with status 0. rankinit runs them: one of them, two ranks, or two below a launcher. Whoever of
them is stopped, or named by a line or by the report, is printed with its seed. --alone runs them
without rankinit, and --print shows the program of a seed. Several --python take turns, and
--python=all is every one that is here.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import interpreters
from harmless_parts import BLOCKS, ENDS, ERRORS, HEAD, LAST_WORDS

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TOP, "tests/box"))
from launcher import LAUNCHER  # noqa: E402  pylint: disable=wrong-import-position

PATIENCE = 60
# Which of the words below starts it: as one command, as two ranks, or below a launcher.
MODES = ("one", "ranks", "torchrun")
OPTIONS = ((), ("--restarts=1",), ("--grace=1",), ("--log-prefix",), ("--exit-class",),
           ("--state=s.json",), ("--launch=process",))
LINGER = "--linger=0.2"


def dedent(text):
    lines = text.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return [line[margin:] for line in lines if line.strip()]


def label(name):
    return "do_" + re.sub(r"\W+", "_", name)


def written(name, text, slow, inline):
    """A step, as a function that is called, or as a part of the module itself."""
    name = label(name)
    lines = [line.replace("SLOW", f"{slow:.2f}") for line in dedent(text)]
    if inline:
        return [f"# {name}", *lines]
    return [f"def {name}():", *(f"    {line}" for line in lines), f"{name}()"]


def program(seed):
    """(text, mode, options): the same for the same seed."""
    draw = random.Random(seed)
    blocks = draw.sample(sorted(BLOCKS), draw.randint(1, 3))
    end = draw.choice(sorted(ENDS))
    if draw.random() < 0.6:
        blocks.append(draw.choice(LAST_WORDS))
    # one place is slow, mostly the end
    place = draw.choice((len(blocks), len(blocks), draw.randrange(len(blocks))))
    slow = [round(draw.uniform(1.2, 1.6), 2) if i == place else draw.choice((0, 0, 0.05))
            for i in range(len(blocks) + 1)]
    body = [HEAD.format(slow=slow[-1], error=draw.choice(ERRORS))]
    if draw.random() < 0.3:
        body += ["atexit.register(logging.shutdown)"]
    if draw.random() < 0.3:
        body += ["threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"]
    for (name, part), seconds in zip([*((name, BLOCKS[name]) for name in blocks),
                                      (end, ENDS[end])], slow):
        body += written(name, part, seconds, draw.random() < 0.7)
    body += [""]
    mode = draw.choice(MODES)
    options = draw.choice(OPTIONS)
    if mode == "torchrun" or options == ("--log-prefix",) and mode == "one":
        options = ()
    return "\n".join(body), mode, (LINGER, "--report=r.json", *options)


def command(mode, python):
    """The words behind rankinit's options; the launcher is ./torchrun."""
    if mode == "alone":
        return [*python, "train.py"]
    if mode == "torchrun":
        line = f"exec {' '.join(python)} train.py"
        return ["--", "./torchrun", line, line]
    return [*(["--nproc-per-node=2"] if mode == "ranks" else []), "--", *python, "train.py"]


# A line that says that a rank, or a job, is not well.
BLAMES = re.compile(r"^rankinit: .*(\brank \d|\bfailed\b|\braised\b|\bverdict\b|\bstop)", re.M)


def judge(folder, mode, done):
    """What is wrong; None: nothing is."""
    ranks = 1 if mode in ("one", "alone") else 2
    text = done.stderr.decode("utf-8", "replace")
    found = BLAMES.search(text)
    if done.returncode != 0:
        return f"ended with {done.returncode}"
    if not all(os.path.exists(os.path.join(folder, f"done-{rank}")) for rank in range(ranks)):
        return "has not done all"
    if mode == "alone":
        return None
    if found:
        return f"said: {text[found.start():].splitlines()[0]}"
    with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
        report = json.load(file)
    blamed = [name for name in ("first_failure", "verdict", "stop") if report[name] is not None]
    return f"the report has {blamed}" if blamed else None


def in_namespace():
    """rankinit is process 1 of a container, where this user may make one."""
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*words, "/bin/true"], capture_output=True, check=False) \
        if shutil.which("unshare") else None
    return words if done and done.returncode == 0 else []


def run(text, mode, options, python, rankinit, before):
    """Runs it in a folder of its own: what is wrong with that, None for nothing; what it said."""
    with tempfile.TemporaryDirectory(prefix="harmless-") as folder:
        for name, content in (("train.py", text), ("torchrun", LAUNCHER)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        os.chmod(os.path.join(folder, "torchrun"), 0o755)
        words = [*before, *([rankinit, *options] if rankinit else []), *command(mode, python)]
        with subprocess.Popen(
                words, cwd=folder, env={"PATH": os.environ["PATH"], "DONE": folder,
                                        "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True) as job:
            try:
                said = job.communicate(timeout=PATIENCE)[1]
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                said = job.communicate()[1]
            done = subprocess.CompletedProcess(words, job.returncode, None, said)
        return judge(folder, mode, done), said.decode("utf-8", "replace")


def run_all(pythons, rankinit, seeds, jobs):
    """[(seed, python, what is wrong, what was said)] of those with which something is."""
    before = in_namespace()

    def one(seed):
        text, mode, options = program(seed)
        mode = mode if rankinit else "alone"
        more, python = interpreters.laid_over(pythons[seed % len(pythons)])
        wrong, said = run(text, mode, options, python, rankinit, before + more)
        return (seed, python, f"{mode}: {wrong}", said) if wrong else None
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [found for found in pool.map(one, seeds) if found]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--python", action="append")
    parser.add_argument("--rankinit", default=os.path.join(TOP, "build/rankinit"))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4 * (os.cpu_count() or 1))
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    if given.print:
        print(*program(given.seed)[::-1], sep="\n")
        return 0
    pythons = [[path] for path in given.python or ["/usr/bin/python3"]]
    if given.python == ["all"]:
        pythons = interpreters.native()
    wrong = run_all(pythons, None if given.alone else given.rankinit,
                    range(given.seed, given.seed + given.count), given.jobs)
    for seed, python, why, said in wrong:
        print(f"seed {seed}, {python[-1]}: {why}")
        print("".join(f"    {line}\n" for line in said.splitlines() if "rankinit: " in line),
              end="")
    kinds = collections.Counter(re.sub(r"\d+", "N", why)[:60] for _, _, why, _ in wrong)
    print(f"{given.count - len(wrong)} of {given.count} were left alone", *kinds.most_common(9),
          sep="\n    ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
