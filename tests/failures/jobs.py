#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Break simulated jobs of several nodes, and judge what --blame makes of their reports.

usage: jobs.py [OPTION]...

    --seed=S         of what is drawn: platform, size, culprit, mechanism (default: 19)
    --count=N        jobs with a fault (default: 60), and one control for five of them
    --only=N         the job with this number alone, and all that it said
    --jobs=N         side by side; most of their time they wait
    --binary=FILE    a rankinit (default: build/rankinit)

A job is right if --blame names its node and its rank alone, or for a machine that is gone the node
alone; it is named wrongly if another one is named alone. A tie that has the culprit is a tie.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.dont_write_bytecode = True

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
MEMBER = HERE / "member.py"

# What each of them starts: nodes, whose others are stopped or go on; or processes.
PLATFORMS = ["sagemaker", "kubeflow_pytorch", "azureml_nodes", "skypilot", "lws", "openmpi",
             "slurm", "azureml_pytorch"]
SIZES = [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (2, 3)]
MECHANISMS = ["exception", "memory", "text", "silent", "assert", "kill", "segv", "hang", "gone",
              "left"]
CONTROLS = ["well", "stopped", "deadlock"]
OUTCOMES = ["right", "tie", "nobody", "WRONG"]
REQUIRED = 57 / 60          # and no wrong name; the controls blame nobody

# A network of its own, since other jobs have ports, too.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@dataclass
class Job:
    number: int
    platform: str
    nodes: int
    ranks: int          # of each node
    mechanism: str
    culprit: int        # a rank; -1: none
    after: int          # ms

    @property
    def node(self):
        return self.culprit // self.ranks

    @property
    def of_processes(self):
        return self.platform in ("openmpi", "slurm", "azureml_pytorch")

    def __str__(self):
        return (f"job {self.number}: {self.platform}:{self.nodes}x{self.ranks}, {self.mechanism}"
                + (f" of rank {self.culprit}" if self.culprit >= 0 else ""))


def draw(seed, count):
    """So many jobs with a fault, and controls."""
    chance = random.Random(seed)
    jobs = []
    for number in range(count + count // 5):
        platform, (nodes, ranks) = chance.choice(PLATFORMS), chance.choice(SIZES)
        if number < count:
            mechanism = MECHANISMS[number % len(MECHANISMS)]
            culprit = chance.randrange(nodes * ranks)
        else:
            mechanism, culprit = CONTROLS[number % len(CONTROLS)], -1
        jobs.append(Job(number, platform, nodes, ranks, mechanism, culprit,
                        chance.randrange(200, 800, 50)))
    return jobs


def words_of(job, binary, folder):
    spec = f"{job.platform}:{job.nodes}x{job.ranks}"
    # some platforms leave the other nodes alone, until somebody stops the job
    spec += {"stopped": ",stop=1", "hang": ",stop=9"}.get(job.mechanism, "")
    fault = {"well": "none", "stopped": "deadlock"}.get(job.mechanism, job.mechanism)
    after = 60000 if job.mechanism == "stopped" else job.after
    name = "%n-%l.json" if job.of_processes else "%n.json"
    return [str(binary), f"--simulate={spec}", f"--report={folder}/{name}", "--grace=2", "--",
            sys.executable, "-I", "-S", str(MEMBER), fault, str(job.culprit), str(after)]


def play(job, binary):
    """What --blame makes of it: the document, and all that was said."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        run = subprocess.run(ALONE + words_of(job, binary, folder), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env,
                             timeout=120, check=False)
        blame = subprocess.run([str(binary), "--blame=json", folder], capture_output=True,
                               check=False, timeout=60)
        page = subprocess.run([str(binary), "--blame", folder], capture_output=True, check=False,
                              timeout=60)
    said = run.stderr.decode(errors="replace") + blame.stderr.decode() + page.stdout.decode()
    return (json.loads(blame.stdout) if blame.returncode == 0 else None), said


def named(document):
    """Pairs of a node and a rank, None where only the other one is named."""
    if document["finding"] == "unreported":
        nodes, ranks = (
            [number for first, last in document["missing"][what]
             for number in range(first, last + 1)] for what in ("nodes", "ranks"))
        return {(node, None) for node in nodes} or {(None, rank) for rank in ranks}
    return {(suspect["node"], suspect["rank"]) for suspect in document["suspects"]}


def judge(job, document):
    if document is None:
        return "WRONG"
    names = named(document)
    if job.culprit < 0:
        return "right" if not names else "WRONG"
    truth = {(job.node, job.culprit)}
    if job.mechanism == "gone":
        truth |= {(job.node, None), (None, job.culprit)}
    if not names:
        return "nobody"
    if not names & truth:
        return "WRONG"
    return "right" if len(names) == 1 else "tie"


def play_all(jobs, binary, side_by_side):
    """Pairs of a job and its outcome, and what was said."""
    def one(job):
        document, said = play(job, binary)
        return judge(job, document), document, said

    with concurrent.futures.ThreadPoolExecutor(side_by_side) as pool:
        return list(zip(jobs, pool.map(one, jobs)))


def print_matrix(results):
    """A row for each mechanism; returns how many requirements are met, and how many not."""
    print(f"{'simulated jobs of several nodes':<34}" + "".join(f"{word:>8}" for word in OUTCOMES))
    for mechanism in MECHANISMS + CONTROLS:
        found = [outcome for job, (outcome, _, _) in results if job.mechanism == mechanism]
        what = f"  {mechanism}" + (" (nobody to blame)" if mechanism in CONTROLS else "")
        print(f"{what:<34}" + "".join(f"{found.count(word):>8}" for word in OUTCOMES))
    for job, (outcome, document, _) in results:
        if outcome != "right":
            print(f"  {outcome}: {job}: {document and document['finding']}, "
                  f"{sorted(map(str, named(document))) if document else 'no answer'}")
    faults = [outcome for job, (outcome, _, _) in results if job.culprit >= 0]
    controls = [outcome for job, (outcome, _, _) in results if job.culprit < 0]
    right = faults.count("right")
    print(f"node and rank named by --blame: {right} of {len(faults)}, "
          f"wrong alone: {faults.count('WRONG')}, "
          f"controls that blame nobody: {controls.count('right')} of {len(controls)}")
    met = [right >= REQUIRED * len(faults), faults.count("WRONG") == 0,
           controls.count("right") == len(controls)]
    return sum(met), len(met) - sum(met)


def main(words):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument("--binary", type=pathlib.Path, default=TOP / "build" / "rankinit")
    given = parser.parse_args(words)
    if subprocess.run(ALONE + ["true"], capture_output=True, check=False).returncode != 0:
        print("jobs: skipped: no network namespace can be made here\n0 passed, 0 failed, 1 skipped")
        return 0
    jobs = draw(given.seed, given.count)
    if given.only is not None:
        jobs = jobs[given.only:given.only + 1]
    results = play_all(jobs, given.binary.resolve(), given.jobs)
    if given.only is not None:
        for job, (outcome, document, said) in results:
            print(f"{job}\n{said}\n{json.dumps(document, indent=1)}\n{outcome}")
        return 0
    print(f"seed {given.seed}")
    met, missed = print_matrix(results)
    print(f"{met} passed, {missed} failed, 0 skipped")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
