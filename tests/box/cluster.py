# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine, in namespaces of its own: cluster.sh, and commands inside of it."""

import os
import shutil
import subprocess

import pytest

from hosts import PATH

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ("slurmctld", "slurmd", "srun", "munged", "nsenter", "unshare", "ip")


class Cluster:
    """cluster.sh, and commands inside of it."""

    def __init__(self, folder, nodes, tracker):
        self.folder = str(folder)
        self.process = subprocess.Popen(
            ["unshare", "--fork", "--pid", "--mount", "--mount-proc", "--net", "--kill-child",
             os.path.join(HERE, "cluster.sh"), self.folder, str(nodes), tracker],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PATH": PATH})
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.close()
            pytest.skip(said or "no Slurm can be started here")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            self.first = file.read().split()[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)

    def inside(self, *words):
        """The words that run a command where the cluster is."""
        return ["nsenter", "-t", self.first, "-p", "-m", "-n", "--", *words]

    def start(self, *words, **env):
        return subprocess.Popen(
            self.inside(*words),
            env={"PATH": PATH, "HOME": "/root", "SLURM_CONF": f"{self.folder}/slurm.conf", **env},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.folder)

    def run(self, *words, **env):
        process = self.start(*words, **env)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out


def make_cluster(folder, nodes, tracker):
    missing = [name for name in NEEDED if shutil.which(name, path=PATH) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a Slurm of our own needs root and {', '.join(missing) or 'namespaces'}")
    return Cluster(folder, nodes, tracker)
