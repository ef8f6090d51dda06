# SPDX-License-Identifier: Apache-2.0
"""
TABLE: which framework was started how, what its ranks say then, and what they
say without rankinit. The tests run it, and docs/works-with.md is made of it.
"""

import glob
import os
import re
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))

# Rank R adds 10 to the power of R. Rows are (rank, size, local rank, sum).
FOUR = [(rank, 4, rank % 2, 1111) for rank in range(4)]
TWO = [(rank, 2, rank, 11) for rank in range(2)]
NODES = [(rank, 2, 0, 11) for rank in range(2)]
TWICE = sorted(TWO * 2)


@dataclass
class Without:
    """What the same command does without rankinit: it ends with a text, or says something."""

    text: str          # for the table
    error: str = None  # a pattern, of what it says when it fails
    rows: list = None  # or what it computes
    seconds: int = 60


def fails(error, text):
    return Without(text, error=error)


def computes(rows, text):
    return Without(text, rows=rows)


def hangs(text):
    return Without(text, seconds=25)


NO_RANK = fails("RANK expected, but not set", "fails: RANK is not set")
SAME = computes(FOUR, "the same")
TWO_JOBS = computes(TWICE, "two jobs of 2 ranks, sum 11")


@dataclass
class Shape:
    recipe: str         # its name in docs/recipes.md
    system: str         # of the documents that describe the platform
    framework: str      # package whose version counts
    train: str          # tests/frameworks/train/NAME.py
    where: str          # for the table
    without: Without
    rows: list = field(default_factory=lambda: FOUR)
    platform: str = ""  # a function of platforms.py, unless the recipe is a job of Azure ML
    nodes: int = 2
    python: str = "torch"
    extra: tuple = ()   # more of build/frameworks
    env: dict = field(default_factory=dict)


MPI, MPI_NODE = "Azure ML MPI job, 2 nodes x 2 ranks", "Azure ML MPI job, 1 process per node"
JOB, JOB_NODE = "Azure ML PyTorch job, 4 processes", "Azure ML PyTorch job, 1 process per node"
ONE_EACH = "1 container on each of 2 hosts"
CPU = {"ACCELERATE_USE_CPU": "true"}
MPICH = {"MPI4PY_MPIABI": "mpich"}
DS = {"DS_ACCELERATOR": "cpu"}
JAX = {"JAX_PLATFORMS": "cpu", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}

SHAPES = [
    Shape("mpi-per-process", "Azure ML MPI", "torch", "torch_ddp", MPI, NO_RANK),
    Shape("mpi-per-node", "Azure ML MPI", "torch", "torch_ddp", MPI_NODE, TWO_JOBS),
    Shape("mpi-ranks-of-rankinit", "Azure ML MPI", "torch", "torch_ddp", MPI_NODE, NO_RANK),
    Shape("mpi-single-node", "single node", "torch", "torch_ddp",
          "Azure ML MPI job, 1 node x 2 ranks", NO_RANK, TWO),
    Shape("mpirun", "Open MPI variables", "torch", "torch_ddp", "mpirun, 2 nodes x 2 ranks",
          NO_RANK, platform="by_hand"),
    Shape("hydra", "Intel MPI, MPICH (Hydra)", "torch", "torch_ddp",
          "mpiexec.hydra, 2 nodes x 2 ranks", NO_RANK, platform="by_hand"),
    Shape("hydra-torchrun", "Intel MPI, MPICH (Hydra)", "torch", "torch_ddp",
          "mpiexec.hydra, 1 process per node", TWO_JOBS, platform="by_hand"),
    Shape("mpi4py", "mpi4py", "mpi4py", "mpi4py_train", "mpirun, 2 nodes x 2 ranks",
          SAME, platform="by_hand", extra=("mpi4py",)),
    Shape("mpi4py-hydra", "mpi4py", "mpi4py", "mpi4py_train", "mpiexec.hydra, 2 nodes x 2 ranks",
          SAME, platform="by_hand", extra=("mpi4py",), env=MPICH),
    Shape("mpi4py-torchrun", "mpi4py", "mpi4py", "torch_with_mpi", "mpirun, 1 process per node",
          hangs("hangs, or MPI_Init fails"), platform="by_hand", extra=("mpi4py",)),
    Shape("horovod", "Horovod", "horovod", "horovod_train", MPI, SAME,
          extra=("horovod",)),
    Shape("deepspeed", "DeepSpeed", "deepspeed", "deepspeed_train", MPI,
          fails("NCCL_SOCKET_IFNAME", "fails: KeyError NCCL_SOCKET_IFNAME"), env=DS),
    Shape("deepspeed-launcher", "DeepSpeed", "deepspeed", "deepspeed_train",
          ONE_EACH, fails("invalid int value", "fails: $NODE_RANK is no number"),
          platform="containers", env=DS),
    Shape("pytorch-per-process", "PyTorch, per process", "torch", "torch_ddp", JOB, SAME),
    Shape("pytorch-ranks-of-rankinit", "PyTorch, per process", "torch", "torch_ddp", JOB_NODE,
          computes(NODES, "2 ranks only, sum 11")),
    Shape("pytorch-launch", "PyTorch, per node", "torch", "torch_ddp", JOB_NODE, SAME),
    Shape("pytorch-torchrun", "PyTorch, per node", "torch", "torch_ddp", JOB_NODE, TWO_JOBS),
    Shape("pytorch-launch-single-node", "single node", "torch", "torch_ddp", "one node, 4 ranks",
          computes([(rank, 4, rank, 1111) for rank in range(4)], "the same"),
          [(rank, 4, rank, 1111) for rank in range(4)]),
    Shape("one-machine", "single node", "torch", "torch_ddp", "one node, 4 ranks", NO_RANK,
          [(rank, 4, rank, 1111) for rank in range(4)], platform="alone"),
    Shape("simulate", "simulated", "torch", "torch_ddp",
          "one machine, which plays an Azure ML MPI job of 2 nodes x 2 ranks", NO_RANK,
          platform="alone"),
    Shape("azure-batch", "Azure Batch", "torch", "torch_ddp", "mpirun in a multi-instance task",
          NO_RANK, platform="azure_batch"),
    Shape("containers", "containers", "torch", "torch_ddp", ONE_EACH, NO_RANK,
          platform="containers"),
    Shape("containers-torchrun", "containers", "torch", "torch_ddp", ONE_EACH, TWO_JOBS,
          platform="containers"),
    Shape("kubeflow-torchrun", "Kubeflow PyTorchJob", "torch", "torch_ddp", "1 pod per node",
          SAME, platform="kubeflow"),
    Shape("kubeflow-per-process", "Kubeflow PyTorchJob", "torch", "torch_ddp", "1 pod per node",
          hangs("waits for ranks that never start"), platform="kubeflow"),
    Shape("slurm-per-process", "Slurm", "torch", "torch_ddp", "srun, 2 nodes x 2 ranks", NO_RANK,
          platform="slurm"),
    Shape("slurm-per-node", "Slurm", "torch", "torch_ddp", "srun, 1 process per node", TWO_JOBS,
          platform="slurm"),
    Shape("lightning-per-node", "Lightning", "lightning", "lightning_fit", JOB_NODE,
          hangs("waits for ranks that never start: LOCAL_RANK is set")),
    Shape("lightning-mpi-per-node", "Lightning", "lightning", "lightning_fit", MPI_NODE,
          computes(NODES, "2 ranks only, sum 11"), extra=("mpi4py",)),
    Shape("lightning-per-process", "Lightning", "lightning", "lightning_fit", MPI,
          hangs("each rank starts ranks of its own, and waits")),
    Shape("lightning-job-per-process", "Lightning", "lightning", "lightning_fit", JOB,
          SAME),
    Shape("lightning-slurm", "Lightning", "lightning", "lightning_fit",
          "srun, 2 nodes x 2 ranks", SAME, platform="slurm"),
    Shape("transformers-launch", "Transformers", "transformers", "transformers_trainer", JOB_NODE,
          TWO_JOBS, env=CPU),
    Shape("transformers-per-process", "Transformers", "transformers", "transformers_trainer", JOB,
          SAME, env=CPU),
    Shape("transformers-mpi", "Transformers", "transformers", "transformers_trainer", MPI,
          fails("MASTER_ADDR", "fails: MASTER_ADDR is not set"), env=CPU),
    Shape("accelerate-launch", "Accelerate", "accelerate", "accelerate_train", JOB_NODE,
          SAME, env=CPU),
    Shape("accelerate-per-process", "Accelerate", "accelerate", "accelerate_train", MPI,
          fails("MASTER_ADDR", "fails: MASTER_ADDR is not set"), env=CPU),
    Shape("tensorflow-job", "TensorFlow workers", "tensorflow_cpu", "tensorflow_mwms",
          "Azure ML TensorFlow job, 2 workers", computes(NODES, "the same"), NODES,
          python="tensorflow"),
    Shape("tensorflow-workers", "TensorFlow workers", "tensorflow_cpu", "tensorflow_mwms",
          ONE_EACH, computes([(0, 1, 0, 1)] * 2, "two jobs of 1, sum 1"), NODES,
          platform="containers", python="tensorflow"),
    Shape("tensorflow-mpi", "TensorFlow workers", "tensorflow_cpu", "tensorflow_mwms",
          "mpirun, 2 nodes x 2 ranks", computes([(0, 1, 0, 1)] * 4, "four jobs of 1, sum 1"),
          platform="by_hand", python="tensorflow"),
    Shape("tensorflow-slurm", "TensorFlow workers", "tensorflow_cpu", "tensorflow_mwms",
          "srun, 2 nodes x 2 ranks", computes([(0, 1, 0, 1)] * 4, "four jobs of 1, sum 1"),
          platform="slurm", python="tensorflow"),
    Shape("tensorflow-parameter-server", "TensorFlow parameter server", "tensorflow_cpu",
          "tensorflow_ps", "containers: chief, 2 workers, parameter server",
          fails("TF_CONFIG names no cluster", "fails: TF_CONFIG names no cluster"),
          [(0, 2, 0, 11)], platform="containers", nodes=4, python="tensorflow"),
    Shape("jax-mpi", "JAX", "jax", "jax_train", "mpirun, 2 nodes x 2 ranks",
          fails("JAX_NUM_PROCESSES", "fails: JAX_NUM_PROCESSES is not set"),
          platform="by_hand", python="jax", env=JAX),
    Shape("jax-containers", "JAX", "jax", "jax_train", ONE_EACH,
          fails("JAX_NUM_PROCESSES", "fails: JAX_NUM_PROCESSES is not set"),
          platform="containers", python="jax", env=JAX),
    Shape("jax-slurm", "JAX", "jax", "jax_train", "srun, 2 nodes x 2 ranks",
          fails("JAX_NUM_PROCESSES", "fails: JAX_NUM_PROCESSES is not set"),
          platform="slurm", python="jax", env=JAX),
]


@dataclass
class Look:
    """A recipe that looks at a node: exit status and a line, there and on a worse one."""

    recipe: str
    system: str
    host: str     # of tests/hosts
    status: int
    line: str
    worse: str
    worse_status: int
    worse_line: str
    env: dict = field(default_factory=dict)
    worse_env: dict = field(default_factory=dict)


IMAGES = "AZUREML_DATAREFERENCE_images"
LOOKS = [
    Look("ofed", "InfiniBand, OFED", "az-nd96isr-h100", 0, "pass ib.ofed",
         "inbox-6.8", 123, "fail ib.ofed"),
    Look("nc24r", "NC24r, no SR-IOV", "az-nc24rs-v3", 0, "pass ib.ofed",
         "az-nc24r", 123, "fail ib.nonsriov"),
    Look("storage", "Blob and File storage", "data-mounts", 0, "pass fs.data",
         "data-mounts", 0, "note fs.data", {IMAGES: "/mnt/data"}, {IMAGES: "/mnt/blob"}),
]


def versions():
    """Package: version, of all requirements."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "requirements", "*.txt")):
        with open(path, encoding="ascii") as file:
            found.update(re.findall(r"^([\w-]+)==(\S+)$", file.read(), re.M))
    return {name.lower().replace("-", "_"): version for name, version in found.items()}
