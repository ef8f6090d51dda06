# SPDX-License-Identifier: Apache-2.0
"""
What platforms do with a command: the jobs of Azure ML as its documentation
describes them, launchers, and systems that start one container on each node.
Nodes are network and UTS namespaces with a PID namespace for each command.
"""

import os
import re
import shlex
import signal
import subprocess

from hosts import AGENT

SECONDS = 240
AZUREML = {
    "AZUREML_RUN_ID": "experiment_name_1635982131_9e3a1f2c",
    "AZUREML_EXPERIMENT_ID": "7d1f6a0e-3e0e-4f0c-8a0a-0d7c3c5f2b11",
}
MASTER = "10.77.0.1"


class Outcome:
    """codes: exit status of each thing that was started, None where it had to be killed."""

    def __init__(self, codes, out, err):
        self.codes, self.out, self.err = codes, out, err

    def __str__(self):
        """PyTorch's stacks of C++ would leave no room for what else was said."""
        err = re.sub(r"^.*\bframe #\d+: .*\n", "", self.err, flags=re.M)
        return f"exit statuses {self.codes}\n{self.out}{err[-20000:]}"


class World:
    """Two or more nodes, and a folder with train.py that all of them have."""

    def __init__(self, hosts, folder, env):
        self.hosts, self.folder, self.env = hosts, folder, env

    def on(self, host, words, env):
        """Words on a host, as the first process of a PID namespace."""
        command = "exec " + shlex.join(words)
        return subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", AGENT, host, command],
            env={**self.env, **self.hosts.env, **env}, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=self.file(host, "out"), stderr=self.file(host, "err"))

    def file(self, host, kind):
        return open(os.path.join(self.folder, f"{host}.{kind}"), "ab")

    def said(self, kind):
        text = ""
        for host in self.hosts.names:
            path = os.path.join(self.folder, f"{host}.{kind}")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += file.read()
        return text

    def finish(self, jobs, seconds, ends_with_first=False):
        """Their outcome. Who is left after so many seconds is killed, with all below."""
        codes = []
        for number, job in enumerate(jobs):
            if number and ends_with_first and job.poll() is None:
                self.stop(job)
            try:
                codes.append(job.wait(timeout=seconds))
            except subprocess.TimeoutExpired:
                seconds = 0.1
                job.kill()
                job.wait()
                codes.append(None)
        return Outcome(codes, self.said("out"), self.said("err"))

    @staticmethod
    def stop(job):
        """What a platform does to a container: TERM to its first process."""
        with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as file:
            os.kill(int(file.read().split()[0]), signal.SIGTERM)


def mpirun_words(local, nodes):
    """With a path in front mpirun would put its own folder at the head of the ranks' PATH."""
    return ["mpirun", "-np", str(local * nodes),
            "--map-by", f"ppr:{local}:node"]


def shell(words):
    """The command of a job of Azure ML is a text for a shell."""
    return ["sh", "-c", " ".join(words)]


def mpi_job(world, words, numbers):
    """`type: mpi`: mpirun over all nodes, from the first."""
    nodes, local = numbers["instance_count"], numbers["process_count_per_instance"]
    env = {**AZUREML, "AZ_BATCH_MASTER_NODE": f"{MASTER}:6000"}
    if nodes == 1:
        env["AZ_BATCHAI_MPI_MASTER_NODE"] = "localhost"
    return [world.on("node0", [*mpirun_words(local, nodes), *shell(words)],
                     {**env, **mpi_env(world, nodes, local)})]


def mpi_env(world, nodes, slots):
    """What an image for mpirun sets, and the platform's list of hosts."""
    for name, form in (("hostfile", "{} slots={}\n"), ("hydra.hosts", "{}:{}\n")):
        with open(os.path.join(world.folder, name), "w", encoding="ascii") as file:
            file.writelines(form.format(host, slots) for host in world.hosts.names[:nodes])
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": AGENT, "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "OMPI_MCA_orte_default_hostfile": os.path.join(world.folder, "hostfile"),
            "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": AGENT,
            "HYDRA_HOST_FILE": os.path.join(world.folder, "hydra.hosts")}


def pytorch_job(world, words, numbers):
    """`type: pytorch`: so many processes for each node."""
    nodes, local = numbers["instance_count"], numbers["process_count_per_instance"]
    return [world.on(f"node{rank // local}", shell(words), {
        **AZUREML, "AZUREML_NODE_COUNT": str(nodes), "NODE_RANK": str(rank // local),
        "MASTER_ADDR": MASTER, "MASTER_PORT": "6105", "RANK": str(rank),
        "WORLD_SIZE": str(nodes * local), "LOCAL_RANK": str(rank % local)})
            for rank in range(nodes * local)]


def tensorflow_job(world, words, numbers):
    """`type: tensorflow`: TF_CONFIG in the words of the documentation."""
    workers = numbers["worker_count"]
    names = ", ".join(f'"node{node}:2222"' for node in range(workers))
    return [world.on(f"node{node}", shell(words), {
        **AZUREML, "TF_CONFIG": f'{{"cluster": {{"worker": [{names}]}}, "task": {{"type": '
                                f'"worker", "index": {node}}}, "environment": "cloud"}}'})
            for node in range(workers)]


def one_process(world, words, _numbers):
    """A job without a distribution."""
    return [world.on("node0", shell(words), AZUREML)]


AZUREML_JOBS = {"mpi": mpi_job, "pytorch": pytorch_job, "tensorflow": tensorflow_job,
                "": one_process}


def by_hand(world, words, nodes):
    """mpirun or mpiexec, on the first node."""
    return [world.on("node0", words, mpi_env(world, nodes, 2))]


def alone(world, words, _nodes):
    """One machine that no platform knows."""
    return [world.on("node0", words, {})]


def azure_batch(world, words, nodes):
    """The application command of a multi-instance task: a shell, on the primary node."""
    hosts = world.hosts.names[:nodes]
    env = {**mpi_env(world, nodes, 2), "AZ_BATCH_MASTER_NODE": f"{MASTER}:6000",
           "AZ_BATCH_HOST_LIST": ",".join(world.hosts.address[name] for name in hosts),
           "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true"}
    del env["OMPI_MCA_orte_default_hostfile"]
    return [world.on("node0", shell(words), env)]


def containers(world, words, nodes):
    """One on each host, all with the same environment."""
    mpi_env(world, nodes, 2)
    hosts = world.hosts.names[:nodes]
    return [world.on(host, words, {"RANKINIT_HOSTS": ",".join(hosts)}) for host in hosts]


def kubeflow(world, words, nodes):
    """Pods of a PyTorchJob, nprocPerNode: 2."""
    return [world.on(f"node{node}", words, {
        "PET_NNODES": str(nodes), "PET_NODE_RANK": str(node), "PET_NPROC_PER_NODE": "2",
        "PET_MASTER_ADDR": "node0", "PET_MASTER_PORT": "23456", "MASTER_ADDR": "node0",
        "MASTER_PORT": "23456", "WORLD_SIZE": str(2 * nodes), "RANK": str(node)})
            for node in range(nodes)]


def slurm(world, words, cluster):
    """A step of a Slurm of our own (cluster.sh)."""
    command = f"cd {shlex.quote(world.folder)} && exec {shlex.join(words)}"
    return [subprocess.Popen(
        cluster.inside("sh", "-c", command), stdin=subprocess.DEVNULL,
        env={**world.env, "SLURM_CONF": f"{cluster.folder}/slurm.conf"},
        stdout=world.file("node0", "out"), stderr=world.file("node0", "err"))]
