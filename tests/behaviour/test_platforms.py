# SPDX-License-Identifier: Apache-2.0
"""
docs/platforms.md: the command of each block is started as its platform starts it, in the
simulated platform, and every node and rank learns its place.

Stand-ins: a launcher (srun, mpirun ...) starts what stands behind its own options, rankinit is
the real one in a simulation of so many nodes and ranks as the block says, torchrun and python3
print what they were told.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from box import BASE

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "platforms.md")
BLOCK = re.compile(r"^<!-- (run|file): (\S+) -->\n```(\w+)\n(.*?)^```$", re.M | re.S)
LAUNCHERS = ("srun", "mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh", "jsrun", "flux",
             "horovodrun", "deepspeed", "lep", "ray")
NPROC = r"--nproc[-_]per[-_]node=(\d+)"
LAUNCHER = """\
#!/bin/sh
# what it starts; the client of a service has it in one word
for word; do case $word in "rankinit "*) eval "exec $word";; esac; done
for word; do test "$word" = rankinit && break; shift; done
exec "$@"
"""
# What --simulate says itself is left out: ranks, names of nodes, the first node.
RANKINIT = """\
#!/bin/sh
options=
while test $# -gt 0; do
    case $1 in
    --) shift; break;;
    --nproc-per-node=*|--hosts=*|--nnodes=*|--master-addr=*) ;;
    -*) options="$options $1";;
    *) break;;
    esac
    shift
done
test "${MASTER_ADDR:-127.0.0.2}" = 127.0.0.2 || exit 9    # a script's, which is that of the job
unset MASTER_ADDR
exec @RANKINIT@ --simulate=$SIMULATION --log-prefix=no $options -- "$@"
"""
TOLD = """\
#!/bin/sh
case ${0##*/} in
torchrun) case " $* " in *" rankinit "*)
        while test "$1" != rankinit; do shift; done; exec "$@";; esac
    echo "node $PET_NODE_RANK of $PET_NNODES, ${PET_MASTER_ADDR:-no master}: $*";;
*) echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $NODE_RANK," \\
        "${MASTER_ADDR:-no master}: $*";;
esac
"""


class Row:
    """
    names: simulations; nodes and ranks: what in the block says their number, or the number;
    each: the platform starts every rank.
    """

    def __init__(self, *names, nodes=2, ranks=NPROC, each=False):
        self.names, self.nodes, self.ranks, self.each = names, nodes, ranks, each


INSTANCES, PER_INSTANCE = r"instance_count[:=] ?(\d+)", r"process_count_per_instance: (\d+)"
PODS = ("kubeflow_pytorch", "env_pytorchjob", "kubeflow_trainjob", "jobset", "lws", "indexed_job",
        "volcano", "volcano_pytorch", "jax_job", "jax_job_trainjob")
ROWS = {
    "azureml-torchrun": Row("azureml_pytorch", "azureml_mpi", "azureml_nodes", nodes=INSTANCES),
    "azureml-per-process": Row("azureml_pytorch", nodes=INSTANCES, ranks=PER_INSTANCE, each=True),
    "azureml-mpi": Row("azureml_mpi", nodes=INSTANCES, ranks=PER_INSTANCE, each=True),
    "azureml-tensorflow": Row("tf_config", nodes=r"worker_count: (\d+)", ranks=1, each=True),
    "azureml-sdk": Row("azureml_pytorch", nodes=INSTANCES),
    "slurm-per-process": Row("slurm", nodes=r"--nodes=(\d+)",
                             ranks=r"--ntasks-per-node=(\d+)", each=True),
    "slurm-per-node": Row("slurm", nodes=r"--nodes=(\d+)"),
    "lsf": Row("lsf", ranks=r"ptile=(\d+)", each=True),
    "jsrun": Row("jsm", nodes=r"jsrun -n (\d+)", ranks=r" -a (\d+)", each=True),
    "pbs": Row("pbs", nodes=r"select=(\d+)", ranks=r"mpiprocs=(\d+)", each=True),
    "pals": Row("pals", nodes=r"select=(\d+)", ranks=r"--ppn (\d+)", each=True),
    "flux": Row("flux", "openmpi", "pmi", nodes=r"-N(\d+)", ranks=8, each=True),
    "hydra": Row("hydra", ranks=r"-ppn (\d+)", each=True),
    "mvapich2": Row("mvapich2", ranks=8, each=True),
    "sagemaker-entrypoint": Row("sagemaker", "sagemaker_toolkit",
                                nodes=r'"InstanceCount": (\d+)'),
    "sagemaker-train": Row("sagemaker", ranks=8),
    "aws-batch": Row("aws_batch", nodes=r'"numNodes": (\d+)'),
    "vertex": Row("vertex"),
    "skypilot": Row("skypilot", nodes=r"num_nodes: (\d+)"),
    "dstack": Row("dstack", nodes=r"nodes: (\d+)"),
    "runpod": Row("env_runpod"),
    "volcengine": Row("volcengine", nodes=r"RoleReplicas: (\d+)"),
    "pai-dlc": Row("env_nodes"),
    "lepton": Row("lepton", nodes=r"--num-workers (\d+)"),
    "beaker": Row("beaker", nodes=r"replicas: (\d+)"),
    "kubernetes": Row(*PODS),
    "torchrun": Row("torchrun", "env", ranks=NPROC, each=True),
    "deepspeed": Row("deepspeed", nodes=1, ranks=r"--num_gpus=(\d+)", each=True),
    "horovod": Row("horovod", ranks=r"node0:(\d+)", each=True),
}
# No simulation plays them: each has a test of its own below.
UNPLAYED = {"ray", "modal"}
# Not played by a block: recipes.md has a line for the first two, mpirun of the third one is above.
ELSEWHERE = {"azure_batch", "azure_batchai", "kubeflow_mpi"}
PROCESSES = ("azureml_pytorch", "azureml_mpi", "slurm")     # here torchrun is a process of a node


def read():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def blocks(what="run"):
    return {name: (kind, text) for word, name, kind, text in BLOCK.findall(read()) if word == what}


def leaves(tree):
    """The texts in a document, and the lists of words that begin with rankinit."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list) and tree[:1] == ["rankinit"]:
        yield tree
    elif isinstance(tree, (list, dict)):
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(one)


def commands(kind, text):
    """What the platform starts: words, or a text for its shell."""
    if kind == "sh":
        return [text]
    if kind == "dockerfile":
        (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.M)
        return [json.loads(entrypoint) + ["train"]]
    if kind == "python":
        found = [node.value for node in ast.walk(ast.parse(text))
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    else:
        found = leaves(yaml.safe_load(text))
    return [one for one in found if one[0] == "rankinit" or str(one).startswith("rankinit ")]


def number(of, text):
    return of if isinstance(of, int) else int(re.search(of, text)[1])


@pytest.fixture(name="world")
def fixture_world(tmp_path, rankinit):
    """A folder of stand-ins, and the environment to run them in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    texts = {**dict.fromkeys(LAUNCHERS, LAUNCHER), "torchrun": TOLD, "python3": TOLD,
             "rankinit": RANKINIT.replace("@RANKINIT@", rankinit),
             **{name: text for name, (_, text) in blocks("file").items()}}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (tmp_path / "nodes").write_text("127.0.0.2\n127.0.0.3\n")
    return {**BASE, "PATH": f"{folder}:{BASE['PATH']}", "PBS_O_WORKDIR": str(tmp_path),
            "PBS_NODEFILE": str(tmp_path / "nodes")}


def start(command, env):
    words = command if isinstance(command, list) else ["sh", "-c", command]
    return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False)


CASES = [(block, name) for block, row in ROWS.items() for name in row.names]


@pytest.mark.parametrize("block, name", CASES, ids=lambda word: word)
def test_each_learns_its_place(world, block, name):
    kind, text = blocks()[block]
    row = ROWS[block]
    nodes, ranks = number(row.nodes, text), number(row.ranks, text)
    found = commands(kind, text)
    assert found and all(one == found[0] for one in found)
    per_node = "torchrun" in str(found[0]) and not row.each or block == "sagemaker-train"
    shape = 1 if per_node and name in PROCESSES else ranks
    done = start(found[0], {**world, "SIMULATION": f"{name}:{nodes}x{shape}"})
    if per_node:
        want = [rf"node {node} of {nodes}, 127.0.0.2: "
                rf"--nproc-per-node={ranks} (/opt/ml/code/)?train.py" for node in range(nodes)]
    else:
        want = [rf"rank {node * ranks + rank} of {nodes * ranks}, local {rank} of {ranks}, "
                rf"node {node}, 127.0.0.2: train.py"
                for node in range(nodes) for rank in range(ranks)]
    said = sorted(done.stdout.splitlines(), key=lambda line: int(line.split()[1]))
    assert done.returncode == 0 and len(said) == len(want), done.stdout + done.stderr
    for line, pattern in zip(said, want):
        assert re.fullmatch(pattern, line)


@pytest.fixture(name="nowhere")
def fixture_nowhere(world, rankinit):
    """The same folder with the real rankinit."""
    path = os.path.join(world["PATH"].partition(":")[0], "rankinit")
    os.unlink(path)
    os.symlink(rankinit, path)
    return world


@pytest.mark.parametrize("block", [name for name, row in ROWS.items() if not row.each])
def test_without_the_platform_there_is_no_place(nowhere, block):
    """The control: the same command, where no platform is."""
    done = start(commands(*blocks()[block])[0], nowhere)
    assert done.returncode == 0
    assert done.stdout.startswith("node  of , no master: --nproc-per-node=8 ")


# In the place of Modal's package: two containers, this one's number in RANK_HERE.
MODAL = '''
import os
import types

experimental = types.ModuleType("modal.experimental")
experimental.clustered = lambda size: lambda function: function
experimental.get_cluster_info = lambda: types.SimpleNamespace(
    rank=int(os.environ["RANK_HERE"]), container_ips=["fd00::1", "fd00::2"])
App = lambda name: types.SimpleNamespace(function=lambda **options: lambda function: function)
__import__("sys").modules["modal.experimental"] = experimental
'''


@pytest.mark.parametrize("node", range(2))
def test_modal_tells_the_place_by_its_package(nowhere, tmp_path, node):
    (tmp_path / "modal.py").write_text(MODAL)
    (tmp_path / "app.py").write_text(blocks()["modal"][1] + "\n\ntrain()\n")
    done = start([sys.executable, str(tmp_path / "app.py")], {**nowhere, "RANK_HERE": str(node)})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"node {node} of 2, fd00::1: --nproc-per-node=8 train.py\n"


def test_ray_is_a_plain_command(nowhere):
    """rankinit in front of `ray start` changes nothing in its environment."""
    path = os.path.join(nowhere["PATH"].partition(":")[0], "ray")
    with open(path, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\necho "$*"; env | sort\n')
    done = start(blocks()["ray"][1], nowhere)
    said = done.stdout.splitlines()
    assert said[0] == "start --head --block"
    assert not [line for line in said if line.startswith(("RANK", "PET_", "WORLD", "MASTER"))
                and not line.startswith("RANKINIT_OUTER=")]


def test_every_block_has_a_row_and_every_simulation_a_place(rankinit):
    text = read()
    assert set(blocks()) == {*ROWS, *UNPLAYED}, "each block of platforms.md has a row in ROWS"
    assert len(re.findall(r"^```\w+$", text, re.M)) == len(BLOCK.findall(text))
    done = subprocess.run([rankinit, "--list=simulations"], capture_output=True, text=True,
                          timeout=60, check=True)
    listed = {line.partition("\t")[0] for line in done.stdout.splitlines()}
    assert set(re.findall(r"`(\w+)`", "".join(
        line for line in text.splitlines() if line.startswith("| [")))) == listed, \
        "the table of platforms.md has each simulation"
    assert {name for row in ROWS.values() for name in row.names} | ELSEWHERE == listed, \
        "a row of ROWS plays each simulation, or ELSEWHERE has it"
    assert not ELSEWHERE & {name for row in ROWS.values() for name in row.names}


def test_no_block_has_a_place_written_by_hand():
    for _, text in blocks().values():
        assert not re.search(r"(NODE_RANK|node.rank|RANK|MASTER_ADDR)[= ]['\"]?\d", text)


def test_what_the_numbers_of_a_script_say_is_one_job():
    """-n and -np are the ranks of all nodes; --hosts has every node."""
    for block, row in ROWS.items():
        _, text = blocks()[block]
        nodes, ranks = number(row.nodes, text), number(row.ranks, text)
        for total in re.findall(r"^(?:mpi\S+|flux run -N2|horovodrun|#BSUB) -np? ?(\d+)", text,
                                re.M):
            assert int(total) == nodes * ranks, block
        for hosts in re.findall(r"--hosts=(\S+)", text):
            assert len(hosts.split(",")) == nodes, block
        for word in shlex.split(text, comments=True) if "node0:" in text else ():
            if word.startswith("node0:"):
                assert word == f"node0:{ranks},node1:{ranks}"
