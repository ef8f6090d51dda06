# SPDX-License-Identifier: Apache-2.0
"""
The pods of docs/kubernetes.md, started by Docker as their manifests say: command, args, env,
secret, volumes, user and initContainer, each with what its controller adds. The image has no
rankinit, an ENTRYPOINT that fails, a user 1000, and torchrun; the ranks are those of job/ranks.py,
the model servers job/serve.py. Jobs wait more than they work, so they run beside each other.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import build
import pytest
from conftest import Engine, docker
from crowd import crowd_of
from manifests import Pod, blocks, read

HERE = os.path.dirname(os.path.abspath(__file__))
AT_ONCE = 4
LIMIT = 400  # seconds for whatever a test waits for
TAG = f"{build.PREFIX}pods:{os.getpid()}"
IMAGES = {"IMAGE": TAG, "rankinit:0.1.0-amd64": build.tag("builder")}
SECRETS = {"rankinit-link": {"RANKINIT_LINK": "1",
                             "RANKINIT_LINK_KEY": "d08fbc5a150028b59a73c7852451d26f"}}
# The user and the settings of ssh are those of the MPI operator's own images: mpi-operator
# build/base/Dockerfile and sshd_config.
DOCKERFILE = f"""\
FROM {build.tag("pytorch")}
USER 0
RUN rm /usr/local/bin/rankinit* && userdel -r trainer 2>/dev/null \\
 && useradd --create-home --uid 1000 --password '*' --shell /bin/sh mpiuser \\
 && printf '%s\\n' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'Port 2222' \\
        'LogLevel ERROR' >/etc/ssh/ssh_config.d/rankinit.conf \\
 && printf '%s\\n' 'PidFile /home/mpiuser/sshd.pid' 'HostKey /home/mpiuser/.ssh/id_rsa' \\
        'StrictModes no' 'Port 2222' >/home/mpiuser/.sshd_config
COPY ranks.py /srv/train.py
COPY serve.py /usr/local/bin/vllm
COPY serve.py /usr/lib/python3/dist-packages/sglang/launch_server.py
RUN ln -s /usr/lib/python3/dist-packages/sglang /opt/venv/lib/python3.11/site-packages/
RUN printf '%s\\n' '#!/bin/sh' 'PREPARED=yes exec "$@"' >/entrypoint.sh && chmod 755 /entrypoint.sh
WORKDIR /srv
ENTRYPOINT ["false"]
CMD ["never"]
"""


@pytest.fixture(scope="module", autouse=True)
def image():
    """A user's image, as it may be."""
    if subprocess.run(["docker", "version"], capture_output=True).returncode != 0:
        pytest.skip("no Docker engine answers")
    subprocess.run(["docker", "build", "-q", "-t", TAG, "-f", "-", HERE + "/job"], text=True,
                   input=DOCKERFILE, check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
    yield
    docker("rmi", "-f", TAG, check=False)


class Node:
    """A pod: its template, host name, the names that its service gives it, and what is added."""

    def __init__(self, template, host, names, env=(), mounts=()):
        self.template, self.host, self.names = template, host, [host, *names]
        self.env, self.mounts = dict(env), mounts


# --- what the controllers make of each kind ------------------------------------------------


def indexed_job():
    """kubernetes.io/docs, Job: HOST is NAME-INDEX, and the service is its subdomain."""
    service, job = blocks()["indexed-job"]
    name, template = job["metadata"]["name"], job["spec"]["template"]
    assert template["spec"]["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}
    return [Node(template, f"{name}-{it}", [f"{name}-{it}.{template['spec']['subdomain']}"],
                 {"JOB_COMPLETION_INDEX": it}) for it in range(job["spec"]["completions"])]


def jobset():
    """JobSet api/jobset/v1alpha2, Network: SET-JOB-INDEX-POD.SET."""
    ((document,),) = [blocks()["jobset"]]
    (job,) = document["spec"]["replicatedJobs"]
    name = document["metadata"]["name"]
    hosts = [f"{name}-{job['name']}-0-{it}" for it in range(job["template"]["spec"]["completions"])]
    return [Node(job["template"]["spec"]["template"], host, [f"{host}.{name}"],
                 {"JOB_COMPLETION_INDEX": it}) for it, host in enumerate(hosts)]


def pytorchjob():
    """training-operator v1.9 pkg/controller.v1/pytorch/envvar.go and master.go."""
    ((document,),) = [blocks()["pytorchjob"]]
    name, spec = document["metadata"]["name"], document["spec"]
    kinds = spec["pytorchReplicaSpecs"]
    pods = [(kind, it) for kind in ("Master", "Worker") for it in range(kinds[kind]["replicas"])]
    master = {"MASTER_ADDR": f"{name}-master-0", "MASTER_PORT": "23456"}
    env = {**master, **{f"PET_{it}": value for it, value in master.items()},
           "PET_NNODES": len(pods), "PET_NPROC_PER_NODE": spec["nprocPerNode"],
           "WORLD_SIZE": len(pods) * int(spec["nprocPerNode"]), "PYTHONUNBUFFERED": "1"}
    return [Node(kinds[kind]["template"], f"{name}-{kind.lower()}-{it}", [],
                 {**env, "RANK": rank, "PET_NODE_RANK": rank})
            for rank, (kind, it) in enumerate(pods)]


def trainjob():
    """Kubeflow trainer pkg/runtime/framework/plugins/torch/torch.go; its JobSet has one Job."""
    runtime, document = blocks()["trainjob"]
    assert document["spec"]["runtimeRef"] == {"kind": runtime["kind"],
                                              "name": runtime["metadata"]["name"]}
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    trainer, name = document["spec"]["trainer"], document["metadata"]["name"]
    template = job["template"]["spec"]["template"]
    container = template["spec"]["containers"][0]
    assert container["name"] == "node"
    container.update(image=trainer["image"], command=trainer["command"],
                     resources=trainer["resourcesPerNode"])
    hosts = [f"{name}-{job['name']}-0-{it}" for it in range(trainer["numNodes"])]
    return [Node(template, host, [f"{host}.{name}"],
                 {"PET_NNODES": len(hosts), "PET_NPROC_PER_NODE": trainer["numProcPerNode"],
                  "PET_NODE_RANK": it, "PET_MASTER_ADDR": f"{hosts[0]}.{name}",
                  "PET_MASTER_PORT": "29500", "JOB_COMPLETION_INDEX": it})
            for it, host in enumerate(hosts)]


def mpijob(keys):
    """mpi-operator pkg/controller/mpi_job_controller.go: the launcher, and the workers."""
    ((document,),) = [blocks()["mpijob"]]
    name, spec = document["metadata"]["name"], document["spec"]
    kinds, mounts = spec["mpiReplicaSpecs"], [(keys, spec["sshAuthMountPath"])]
    workers = [f"{name}-worker-{it}" for it in range(kinds["Worker"]["replicas"])]
    hostfile = os.path.join(keys, "mpi", "hostfile")
    os.makedirs(os.path.dirname(hostfile))
    with open(hostfile, "w", encoding="ascii") as file:
        file.writelines(f"{host}.{name}.default.svc slots={spec['slotsPerWorker']}\n"
                        for host in workers)
    launcher = Node(kinds["Launcher"]["template"], f"{name}-launcher", [], {
        "K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": spec["slotsPerWorker"],
        "NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""},
        [*mounts, (os.path.dirname(hostfile), "/etc/mpi")])
    return launcher, [Node(kinds["Worker"]["template"], host,
                           [f"{host}.{name}", f"{host}.{name}.default.svc"],
                           {"K_MPI_JOB_ROLE": "worker"}, mounts) for host in workers]


def leaderworkerset():
    """lws api/leaderworkerset/v1/leaderworkerset_types.go: SET-GROUP.SET leads."""
    ((document,),) = [blocks()["leaderworkerset"]]
    name, group = document["metadata"]["name"], document["spec"]["leaderWorkerTemplate"]
    hosts = [f"{name}-0" + (f"-{it}" if it else "") for it in range(group["size"])]
    return [Node(group["workerTemplate"], host, [f"{host}.{name}", f"{host}.{name}.default"],
                 {"LWS_LEADER_ADDRESS": f"{hosts[0]}.{name}.default",
                  "LWS_GROUP_SIZE": len(hosts), "LWS_WORKER_INDEX": it})
            for it, host in enumerate(hosts)]


def deployment():
    ((document,),) = [blocks()["deployment"]]
    assert (document["spec"]["selector"]["matchLabels"] ==
            document["spec"]["template"]["metadata"]["labels"])
    return [Node(document["spec"]["template"], "model-6d5b8c7f9-x2x4z", [])]


# --- a cluster ---------------------------------------------------------------------------


class Cluster:
    """The pods of one job, which have a network and a folder of their own."""

    def __init__(self):
        self.engine = Engine()
        self.folder = tempfile.mkdtemp(prefix="rankinit-pods-")
        self.network = self.engine.name("network")
        docker("network", "create", self.network)
        self.pods = []

    def close(self):
        self.engine.remove()
        shutil.rmtree(self.folder)

    def pod(self, node, secrets=None):
        folder = os.path.join(self.folder, node.host)
        os.makedirs(folder)
        return Pod(node.template, folder, IMAGES, SECRETS if secrets is None else secrets,
                   env={name: str(value) for name, value in node.env.items()},
                   mounts=node.mounts)

    def start(self, *nodes, secrets=None, check=True):
        """The initContainers of each, then its container; the result of the last docker run."""
        done = None
        for node in nodes:
            pod = self.pod(node, secrets)
            for words in pod.init_containers():
                docker("run", "--network=none", *words)
            name = self.engine.name("container")
            aliases = [f"--network-alias={it}" for it in node.names]
            done = docker("run", "--name", name, "-d", "--network", self.network, "--hostname",
                          node.host, *aliases, *pod.main_container(), check=check)
            self.pods.append(name)
        return done

    def output(self, pod):
        return subprocess.run(["docker", "logs", self.pods[pod]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace").stdout

    def execute(self, pod, *words, check=True):
        return docker("exec", self.pods[pod], *words, check=check)

    def until_said(self, pod, text):
        end = time.monotonic() + LIMIT
        while text not in self.output(pod):
            assert time.monotonic() < end, [self.output(it) for it in range(len(self.pods))]
            time.sleep(0.2)

    def until_up(self, nodes=2, ranks=8):
        for rank in range(nodes * ranks):
            self.until_said(rank // ranks, f"rank {rank} of {nodes * ranks} is up")

    def touch(self, file, *pods):
        for pod in pods or range(len(self.pods)):
            self.execute(pod, "touch", f"/tmp/{file}")

    def wait(self, *pods):
        return [int(docker("wait", self.pods[it], limit=LIMIT).stdout)
                for it in pods or range(len(self.pods))]

    def is_running(self, pod):
        return docker("inspect", "-f", "{{.State.Running}}", self.pods[pod]).stdout == "true\n"

    def said(self, pod):
        return re.findall(r"^rankinit: (.*)$", self.output(pod), re.M)

    def verdict(self, pod):
        """What was said from there on; before it, on a slow machine, who has not come yet."""
        lines = self.said(pod)
        begin = [at for at, line in enumerate(lines)
                 if line.startswith("rank ") or " was stopped from outside " in line]
        return lines[begin[0]:] if begin else []

    def assert_as_the_pod_says(self, pod):
        """The copied program is process 1 of user 1000, and shared memory has its size."""
        look = "readlink /proc/1/exe; id -u; stat -f -c '%b %S' /dev/shm; command -v rankinit"
        exe, user, shared = self.execute(pod, "sh", "-c", look, check=False).stdout.splitlines()
        blocks_of, size = shared.split()
        assert (exe, user) == ("/rankinit-bin/rankinit", "1000")
        assert int(blocks_of) * int(size) == 16 << 30


beside, crowd = crowd_of(Cluster, AT_ONCE, LIMIT)


def action(rules, status, disrupted=False):
    """kubernetes.io/docs, Pod failure policy: the first rule that fits; None counts the pod."""
    for rule in rules:
        for it in rule.get("onPodConditions", []):
            assert it == {"type": "DisruptionTarget", "status": "True"}
            if disrupted:
                return rule["action"]
        codes = rule.get("onExitCodes")
        if codes and (status in codes["values"]) == (codes["operator"] == "In"):
            return rule["action"]
    return None


def rules():
    return blocks()["indexed-job"][1]["spec"]["podFailurePolicy"]["rules"]


# --- jobs --------------------------------------------------------------------------------


@beside
def test_an_indexed_job_that_fails(cluster):
    """Both logs name the rank, and both pods say that the job would fail again."""
    cluster.start(*indexed_job())
    cluster.until_up()
    cluster.assert_as_the_pod_says(1)
    cluster.touch("fail-9", 1)
    assert cluster.wait() == [120, 120]
    assert [action(rules(), it) for it in (120, 220, 230)] == ["FailJob", None, None]
    first = [cluster.verdict(pod)[0] for pod in (0, 1)]
    assert first[0] == first[1]
    assert re.match(r"rank 9 \(local rank 1, .* on training-1\) failed first.* \(node 1 of 2\): ",
                    first[0])
    assert cluster.verdict(0)[-2] == "  this node's exit status is 120"
    assert cluster.verdict(0)[-1].startswith("verdict cause=exception class=")


@beside
def test_an_indexed_job_without_the_secret(cluster):
    """The control: nobody tells the other pod, and its ranks go on."""
    cluster.start(*indexed_job(), secrets={"rankinit-link": {}})
    cluster.until_up()
    cluster.touch("fail-9", 1)
    assert cluster.wait(1) == [120] and cluster.verdict(1)[0].startswith("rank 9 ")
    time.sleep(3)
    assert cluster.is_running(0) and cluster.verdict(0) == []


@beside
def test_a_pytorchjob_that_fails(cluster):
    """The operator gives up at a status below 128, and starts again what a signal ended."""
    cluster.start(*pytorchjob())
    cluster.until_up()
    cluster.assert_as_the_pod_says(0)
    cluster.touch("fail-3", 0)
    assert cluster.wait() == [120, 120]
    assert cluster.verdict(1)[0].startswith("rank 3 (local rank 3, ")


@beside
def test_a_jobset_that_is_stopped(cluster):
    """torchrun ends with 1 when it is told to stop; the class tells of that all the same."""
    cluster.start(*jobset())
    cluster.until_up()
    cluster.assert_as_the_pod_says(0)
    docker("stop", *cluster.pods)
    assert cluster.wait() == [220, 220]
    for pod in (0, 1):
        assert "was stopped from outside by SIGTERM" in cluster.verdict(pod)[0]
    assert action(rules(), 220, disrupted=True) == "Ignore"


@beside
def test_a_trainjob(cluster):
    cluster.start(*trainjob())
    cluster.until_up()
    cluster.assert_as_the_pod_says(1)
    cluster.touch("end")
    assert cluster.wait() == [0, 0]


def key(folder, mode):
    """As the MPI operator mounts it: root's, of a mode, with the names of its secret's items."""
    os.makedirs(folder)
    docker("run", "--rm", "--network=none", "--user=0", "-v", f"{folder}:/keys",
           "--entrypoint=sh", TAG, "-euc",
           "ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f /keys/id_rsa; "
           f"cp /keys/id_rsa.pub /keys/authorized_keys; chmod {mode} /keys/*")
    return folder


@beside
def test_an_mpijob(cluster):
    """The launcher comes last here; the operator's one tries until its workers are there."""
    launcher, workers = mpijob(key(f"{cluster.folder}/keys", "644"))
    cluster.start(*workers)
    for pod in (0, 1):
        cluster.until_said(pod, "Server listening on")
        cluster.assert_as_the_pod_says(pod)
    cluster.start(launcher)
    for rank in range(16):
        cluster.until_said(2, f"rank {rank} of 16 is up")
    ranks = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep '^RANK=' | sort -u"
    for pod in (0, 1):
        found = cluster.execute(pod, "sh", "-c", ranks).stdout.split()
        assert sorted(found) == sorted(f"RANK={8 * pod + it}" for it in range(8))
    cluster.touch("end", 0, 1)
    assert cluster.wait(2) == [0]
    docker("stop", *cluster.pods[:2])
    assert cluster.wait(0, 1) == [0, 0]


@beside
def test_a_key_that_its_user_cannot_read(cluster):
    """The control: of mode 600, as it is where sshAuthMountPath is not given."""
    _, workers = mpijob(key(f"{cluster.folder}/keys", "600"))
    cluster.start(workers[0])
    assert cluster.wait() == [1]
    assert "no hostkeys available -- exiting" in cluster.output(0)


@beside
def test_a_leaderworkerset(cluster):
    cluster.start(*leaderworkerset())
    for pod in (0, 1):
        cluster.until_said(pod, f"node {pod} of 2 serves")
        cluster.assert_as_the_pod_says(pod)
        assert (f"--model-path=MODEL --tp-size=16 --nnodes=2 --node-rank={pod} "
                "--dist-init-addr=model-0.model.default:29500\n") in cluster.output(pod)
    docker("stop", *cluster.pods)
    assert cluster.wait() == [0, 0]


def answers(cluster, pod, probe):
    """Whether a readinessProbe would pass."""
    field = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    host = docker("inspect", "-f", field, cluster.pods[pod]).stdout.strip()
    try:
        url = f"http://{host}:{probe['httpGet']['port']}{probe['httpGet']['path']}"
        return urllib.request.urlopen(url, timeout=5).status == 200
    except (urllib.error.URLError, OSError):
        return False


@beside
def test_a_deployment(cluster):
    (node,) = deployment()
    container = node.template["spec"]["containers"][0]
    alive = container["livenessProbe"]["exec"]["command"]
    cluster.start(node)
    cluster.until_said(0, "serve MODEL --tensor-parallel-size=8\n")
    cluster.assert_as_the_pod_says(0)
    end = time.monotonic() + LIMIT
    while not answers(cluster, 0, container["readinessProbe"]):
        assert time.monotonic() < end, cluster.output(0)
    assert cluster.execute(0, *alive).stdout.startswith("running, since ")
    docker("stop", *cluster.pods)
    assert cluster.wait() == [0] and "node 0 stops" in cluster.output(0)
    assert not answers(cluster, 0, container["readinessProbe"])


@beside
def test_a_deployment_without_a_state_file(cluster):
    """The control: there is nothing to read, so the probe fails."""
    (node,) = deployment()
    container = node.template["spec"]["containers"][0]
    container["env"] = []
    cluster.start(node)
    cluster.until_said(0, "node 0 of 1 serves")
    done = cluster.execute(0, *container["livenessProbe"]["exec"]["command"], check=False)
    assert done.returncode == 1


@beside
def test_an_entrypoint_behind_rankinit(cluster):
    """The words of the page, with `env` for torchrun: what it would read, and what link.md asks."""
    (words,) = re.findall(r"`command: \[(.*), torchrun, train\.py\]`", read())
    node = indexed_job()[1]
    container = node.template["spec"]["containers"][0]
    options = [it for it in container["command"] if it.startswith(("--nnodes", "--master-addr"))]
    program, *rest = words.split(", ")
    container["command"] = [program, *options, *rest, "env"]
    cluster.start(node, secrets={"rankinit-link": {}})
    assert cluster.wait() == [0]
    said = cluster.output(0).splitlines()
    assert {"PREPARED=yes", "PET_NNODES=2", "PET_NODE_RANK=1", f"RANKINIT={build.version()}:node",
            "PET_MASTER_ADDR=training-0.training"} <= set(said)


# --- pods with something wrong -------------------------------------------------------------


@beside
def test_no_init_container(cluster):
    node = indexed_job()[0]
    del node.template["spec"]["initContainers"]
    done = cluster.start(node, check=False)
    assert done.returncode == 127
    assert "/rankinit-bin/rankinit: no such file or directory" in done.stderr


@beside
def test_no_shared_memory(cluster):
    """64 MiB are not what the block requires, so no rank starts."""
    node = indexed_job()[0]
    node.template["spec"]["containers"][0]["volumeMounts"].pop()
    cluster.start(node)
    assert cluster.wait() == [230]
    assert cluster.said(0)[0].startswith("error: /dev/shm: has 64 MiB, the default of Docker; ")
    assert cluster.said(0)[-2].endswith(" [check.unfit]")
    assert cluster.said(0)[-1].startswith("verdict cause=unfit class=own retry=other_node ")
    assert "is up" not in cluster.output(0)


@beside
def test_a_command_that_is_not_there(cluster):
    node = indexed_job()[0]
    command = node.template["spec"]["containers"][0]["command"]
    command[command.index("torchrun")] = "torchrum"
    cluster.start(node)
    assert cluster.wait() == [120]
    assert "torchrum" in cluster.output(0) and "[exec.not_found]" in cluster.output(0)


@beside
def test_args_alone_keep_the_entrypoint(cluster):
    """Which is a program that fails here; as `command` the same words start rankinit."""
    (node,) = deployment()
    container = node.template["spec"]["containers"][0]
    container["args"] = container.pop("command")[:1] + ["--version"]
    cluster.start(node)
    assert cluster.wait() == [1] and cluster.output(0) == ""
    container["command"] = container.pop("args")
    node.host += "-again"
    cluster.start(node)
    assert cluster.wait(1) == [0] and cluster.output(1).startswith("rankinit ")
