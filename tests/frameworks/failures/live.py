# SPDX-License-Identifier: Apache-2.0
"""
TABLE: the failures that really happen here: a program of this folder, its fault,
and what is true of it. record.py writes them down, test_failures.py runs them.
"""

from dataclasses import dataclass, field

BAD = "ValueError: bad batch 17: expected 3 channels, got 4"
# A loader that reads from its worker's socket sees the end before it is told of the death.
CUT_OFF = ("ConnectionResetError: [Errno 104]", "EOFError")


@dataclass
class Live:
    name: str
    said: str                   # what happened, in one sentence
    program: str
    words: str                  # its options
    culprit: str = "2"
    cause: tuple = ()
    instead: tuple = ()         # a cause that the framework prints where a race goes the other way
    status: int = 1
    never: tuple = ()
    silent: bool = False
    ranks: int = 4
    nodes: int = 1              # the ranks of all of them are `ranks`
    node: int = 0               # which one is written down
    group: str = "torch"        # of PACKAGES
    env: dict = field(default_factory=dict)
    about: str = "torch gloo"   # what of the framework
    launcher: str = "torchrun"  # which other launcher can be asked
    after: float = 15           # seconds before record.py stops those that are left
    certain: bool = True        # test_failures.py runs it


# The environment below build/frameworks, what is imported before, what its version is.
PACKAGES = {
    "torch": ("torch", ("torch", "torch.distributed", "torch.nn.parallel",
                        "torch.distributed.run", "torch.utils.data"), ("torch",)),
    "lightning": ("torch", ("torch", "lightning", "torch.distributed.run"),
                  ("torch", "lightning")),
    "accelerate": ("torch", ("torch", "accelerate", "torch.distributed.run"),
                   ("torch", "accelerate")),
    "deepspeed": ("torch", ("torch", "deepspeed", "torch.distributed.run"),
                  ("torch", "deepspeed")),
    "transformers": ("torch", ("torch", "transformers", "torch.distributed.run"),
                     ("torch", "transformers")),
    "jax": ("jax", ("jax", "jax.numpy", "jax.experimental.multihost_utils"), ("jax",)),
    "tensorflow": ("tensorflow", ("tensorflow",), ("tensorflow-cpu",)),
    "horovod": ("horovod", (), ("horovod", "torch")),
    "mpi4py": ("mpi4py", (), ("mpi4py",)),
}

LIVE = []


def live(name, said, program, words, **more):
    LIVE.append(Live(name, said, program, words, **more))


def torch(name, said, words, **more):
    live(f"live-torch-{name}", said, "torch_train.py", words, **more)


def ddp(name, said, words, **more):
    torch(f"ddp-{name}", said, f"--ddp {words}", about="torch gloo, DDP with data loaders",
          **more)


torch("raises", "Rank 2 raises in the training loop; the others wait for it in all_reduce.",
      "--fault=raises", cause=(BAD,))
torch("raises-tidy", "Rank 2 raises inside try/finally: destroy_process_group(), which hangs up "
      "on the others before it has said anything.", "--fault=raises --tidy", cause=(BAD,))
torch("slow-cleanup", "Rank 2 raises inside try/finally, where it destroys its group and "
      "waits for its tracker before its traceback is printed.", "--fault=raises --tidy --slow",
      cause=(BAD,))
torch("chain", "Rank 2 raises from another exception.", "--fault=chain",
      cause=("RuntimeError: sample 4711 of shard-0003.tar cannot be decoded", "KeyError: 'label'"))
torch("cleanup", "Rank 2 has no space for its checkpoint, and its clean-up fails as well.",
      "--fault=cleanup --tidy", cause=("/job/checkpoints/step-3.pt.tmp",
                                       "No space left on device"))
torch("loss-is-nan", "Every rank sees that the loss is nan and asserts.",
      "--fault=asserts --rank=all", culprit="all", cause=("AssertionError: loss is nan at step 3",))
torch("recursion", "Rank 2 recurses without end.", "--fault=recursion",
      cause=("RecursionError: maximum recursion depth exceeded",))
torch("memory", "Rank 2 runs out of memory, as Python says it.", "--fault=memory",
      cause=("MemoryError",))
torch("allocator", "Rank 2 runs out of memory, as torch says it.", "--fault=allocator --tidy",
      cause=("DefaultCPUAllocator: can't allocate memory",))
torch("pickling", "Rank 2 pickles what cannot be pickled.", "--fault=pickling",
      cause=("Can't pickle local object 'pickling.<locals>.<lambda>'",))
torch("exception-group", "Rank 2 raises a group of exceptions.", "--fault=group",
      cause=("ExceptionGroup: 2 shards failed (2 sub-exceptions)",))
torch("reset-by-server", "Rank 2 loses the server of its data: its own exception, though it "
      "reads like the loss of a peer.", "--fault=reset-by-server --tidy",
      cause=("ConnectionResetError: [Errno 104] Connection reset by peer",), certain=False)
torch("logged", "Rank 2 logs its exception and exits with 1.", "--fault=logged",
      cause=(BAD,))
torch("rich-traceback", "Rank 2's exception is drawn by rich.", "--fault=rich", cause=(BAD,))
torch("footer", "Words of a tracker of experiments follow rank 2's traceback.",
      "--fault=footer", cause=(BAD,))
torch("tqdm", "Rank 2 raises below a bar of tqdm.", "--fault=raises --tqdm --tidy",
      cause=(BAD,))
torch("hangs-after-traceback", "Rank 2 raises, and a thread that is no daemon keeps it alive.",
      "--fault=hangs-after-traceback --seconds=6", cause=(BAD,))
torch("killed", "Rank 2 is killed by SIGKILL.", "--fault=killed", cause=("SIGKILL",), status=137,
      silent=True)
torch("killed-rank-0", "Rank 0, which has the store, is killed by SIGKILL.",
      "--fault=killed --rank=0", culprit="0", cause=("SIGKILL",), status=137, silent=True)
torch("killed-of-two", "One of two ranks is killed by SIGKILL.",
      "--fault=killed --rank=1", culprit="1", cause=("SIGKILL",), status=137, silent=True, ranks=2)
torch("killed-of-eight", "One of eight ranks is killed by SIGKILL.",
      "--fault=killed --rank=5", culprit="5", cause=("SIGKILL",), status=137, silent=True, ranks=8)
torch("segv", "Rank 2 dies by SIGSEGV without a word.", "--fault=segv", cause=("SIGSEGV",),
      status=139, silent=True)
torch("segv-faulthandler", "Rank 2 dies by SIGSEGV, and faulthandler says where.",
      "--fault=segv-told", cause=("Fatal Python error: Segmentation fault",), status=139)
torch("exit3", "Rank 2 ends by os._exit(3) without a word.", "--fault=exit3",
      status=3, silent=True)
torch("aborts", "Rank 2 ends by abort() without a word.", "--fault=aborts", cause=("SIGABRT",),
      status=134, silent=True)
torch("double-free", "The C library finds a double free in rank 2.", "--fault=double-free",
      cause=("double free",), status=134)
torch("exit-text", "Rank 2 ends by sys.exit with a text.", "--fault=exit-text",
      cause=("train: checkpoint step-2.pt is of another model",))
torch("exit-status", "Rank 2 ends by sys.exit(3) without a word.", "--fault=exit-status --tidy",
      status=3, silent=True)
torch("ends-early", "Rank 2 ends with 0 in the middle of the training.", "--fault=ends-early",
      cause=("rank 2",))
torch("mismatch", "Rank 2 calls another collective than the others; the debug mode of torch "
      "finds it on all of them.", "--fault=mismatch --seconds=10", culprit="unknown",
      cause=("Detected mismatch between collectives on ranks",),
      env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, certain=False)
torch("sleeps", "Rank 2 sleeps; the others' all_reduce times out.", "--fault=sleeps --seconds=5",
      cause=("rank 2",))
torch("monitored-barrier", "Rank 2 sleeps; monitored_barrier of rank 0 names it.",
      "--fault=monitored --seconds=5", cause=("rank 2",))
torch("no-module", "A module is missing on every rank.", "--fault=no-module --rank=all",
      culprit="all", cause=("ModuleNotFoundError: No module named 'flash_kernels'",))
torch("bad-option", "An option is wrong on every rank.", "--fault=bad-option --rank=all",
      culprit="all", cause=("--batch-size: invalid int value: 'many'",), status=2)
torch("raises-before", "Rank 2 raises before it meets the others.", "--fault=raises-before",
      cause=("FileNotFoundError: [Errno 2] No such file or directory: '/job/config/large.yaml'",))
torch("killed-before", "Rank 2 is killed by SIGKILL before it meets the others.",
      "--fault=killed-before", cause=("SIGKILL",), status=137, silent=True)
torch("world-size", "WORLD_SIZE says five, and there are four ranks.",
      "--fault=world-size --rank=all --seconds=5", culprit="unknown", cause=("DistStoreError",),
      certain=False)
torch("port-taken", "Another program has rank 0's MASTER_PORT.",
      "--fault=port-taken --rank=0 --seconds=5", culprit="0", cause=("EADDRINUSE",))

ddp("raises", "Rank 2 raises between two steps.", "--fault=raises --workers", cause=(BAD,))
ddp("raises-record", "Rank 2 raises below @record.", "--fault=raises --workers --tidy --record",
    cause=(BAD,))
ddp("worker-raises", "A worker of rank 2's data loader raises.",
    "--fault=worker-raises --workers --tidy", cause=(BAD,))
ddp("worker-killed", "A worker of rank 2's data loader is killed by SIGKILL.",
    "--fault=worker-killed --workers", cause=("Error",))
ddp("worker-segv", "A worker of rank 2's data loader dies by SIGSEGV.",
    "--fault=worker-segv --workers --tidy", cause=("DataLoader worker (pid",),
    instead=CUT_OFF)
ddp("worker-exit", "A worker of rank 2's data loader ends by os._exit(3).",
    "--fault=worker-exit --workers", cause=("exited unexpectedly",), instead=CUT_OFF)
ddp("killed", "Rank 2 is killed by SIGKILL; a worker of its data loader keeps its connections.",
    "--fault=killed --workers", cause=("SIGKILL",), status=137, silent=True)
ddp("segv", "Rank 2 dies by SIGSEGV without a word.", "--fault=segv", cause=("SIGSEGV",),
    status=139, silent=True)
ddp("spawn-pickling", "The data loader's workers are spawned, and a lambda cannot be pickled.",
    "--fault=spawn-pickling --spawn --rank=all", culprit="all",
    cause=("Can't pickle local object 'make_loader.<locals>.<lambda>'",))
ddp("model-differs", "Rank 2's model has another shape, which DDP finds on that rank.",
    "--fault=model-differs",
    cause=("params[0] in this process with sizes [17, 8] appears not to match",))
ddp("unused-parameters", "A layer of the model is not used, which every rank finds.",
    "--fault=unused --rank=all", culprit="all",
    cause=("Expected to have finished reduction in the prior iteration",))
ddp("checkpoint", "Rank 0's checkpoint is of another model; the others wait in DDP's set-up.",
    "--fault=checkpoint --rank=0 --tidy", culprit="0",
    cause=("Error(s) in loading state_dict for Model",))
torch("fsdp-raises", "Rank 2 raises between two steps of FSDP.",
      "--fsdp --fault=raises --tidy", cause=(BAD,), about="torch gloo, FSDP")
torch("fsdp-segv", "Rank 2 dies by SIGSEGV between two steps of FSDP.", "--fsdp --fault=segv",
      cause=("SIGSEGV",), status=139, silent=True, about="torch gloo, FSDP")

ELSEWHERE = {"culprit": "elsewhere", "nodes": 2, "about": "torch gloo, two nodes"}
torch("other-node-killed", "Rank 2, on the other node, is killed by SIGKILL.",
      "--fault=killed", cause=("Connection",), **ELSEWHERE)
torch("other-node-raises", "Rank 2, on the other node, raises.",
      "--fault=raises --tidy", cause=("Connection",), **ELSEWHERE)
torch("other-node-master", "Rank 0, on the other node with the store, dies by SIGSEGV.",
      "--fault=segv --rank=0", cause=("Connection",), **{**ELSEWHERE, "node": 1})
torch("other-node-before", "Rank 2, on the other node, raises before it meets the others.",
      "--fault=raises-before --seconds=5", cause=("DistStoreError",), **ELSEWHERE)
torch("other-node-sleeps", "Rank 2, on the other node, sleeps; this node's all_reduce times out.",
      "--fault=sleeps --seconds=5", cause=("RuntimeError",), **ELSEWHERE)
torch("two-nodes-killed-here", "Rank 1, on this node of two, is killed by SIGKILL.",
      "--fault=killed --rank=1", culprit="1", cause=("SIGKILL",), status=137, silent=True,
      nodes=2, about="torch gloo, two nodes")

for NAME in ("lightning", "accelerate", "deepspeed", "transformers"):
    MORE = {"group": NAME, "about": "torch gloo"}
    live(f"live-{NAME}-raises", f"Rank 2 raises between two steps of {NAME}.",
         f"{NAME}_train.py", "--fault=raises", cause=(BAD,), **MORE)
    live(f"live-{NAME}-killed", f"Rank 2 of {NAME} is killed by SIGKILL.",
         f"{NAME}_train.py", "--fault=killed", cause=("SIGKILL",), status=137, silent=True, **MORE)
live("live-lightning-worker-raises", "A worker of rank 2's data loader raises.",
     "lightning_train.py", "--fault=worker-raises --workers", cause=(BAD,), group="lightning")
live("live-lightning-exit3", "Rank 2 ends by os._exit(3) without a word.",
     "lightning_train.py", "--fault=exit3", status=3, silent=True, group="lightning")
live("live-accelerate-gather-mismatch", "Rank 2 gathers another shape than the others, of which "
     "its neighbour aborts.", "accelerate_train.py", "--fault=gather-mismatch", culprit="2 or 3",
     cause=("Received data size doesn't match expected size",), status=134, group="accelerate",
     certain=False)
live("live-accelerate-segv-workers", "Rank 2 dies by SIGSEGV; it has workers of a data loader.",
     "accelerate_train.py", "--fault=segv --workers", cause=("SIGSEGV",), status=139, silent=True,
     group="accelerate")
live("live-deepspeed-chain", "Rank 2 raises from another exception.",
     "deepspeed_train.py", "--fault=chain", group="deepspeed",
     cause=("RuntimeError: sample 4711 of shard-0003.tar cannot be decoded", "KeyError: 'label'"))

JAX = {"group": "jax", "about": "CPU, gloo", "launcher": "none"}
live("live-jax-raises", "Rank 2 raises between two steps.", "jax_train.py",
     "--fault=raises --seconds=8", cause=(BAD,), status=134, after=40, **JAX)
live("live-jax-killed", "Rank 2 is killed by SIGKILL.", "jax_train.py",
     "--fault=killed --seconds=10", cause=("SIGKILL",), status=137, silent=True, **JAX)
live("live-jax-exit3", "Rank 2 ends by os._exit(3) without a word.", "jax_train.py",
     "--fault=exit3 --seconds=10", status=3, silent=True, **JAX)
live("live-jax-coordinator", "Rank 0, which coordinates, dies by SIGSEGV.", "jax_train.py",
     "--fault=segv --rank=0 --seconds=10", culprit="0", cause=("SIGSEGV",), status=139,
     silent=True, **JAX)
live("live-jax-raises-before", "Rank 2 raises before it meets the others.", "jax_train.py",
     "--fault=raises-before --seconds=6",
     cause=("FileNotFoundError: [Errno 2] No such file or directory: '/job/config/large.yaml'",),
     **JAX)
live("live-jax-other-node", "Rank 2, on the other node, is killed by SIGKILL.", "jax_train.py",
     "--fault=killed --seconds=10", culprit="elsewhere", nodes=2, status=134, certain=False,
     **JAX)

TF = {"group": "tensorflow", "about": "MultiWorkerMirroredStrategy, CPU", "launcher": "none"}
live("live-tensorflow-raises", "Rank 2 raises between two steps.", "tensorflow_train.py",
     "--fault=raises", cause=(BAD,), **TF)
live("live-tensorflow-in-graph", "An assertion in the graph fails on rank 2.",
     "tensorflow_train.py", "--in-graph", cause=("batch has a value of 3 or more",), **TF)
live("live-tensorflow-killed", "Rank 2 is killed by SIGKILL.", "tensorflow_train.py",
     "--fault=killed", cause=("SIGKILL",), status=137, silent=True, **TF)
live("live-tensorflow-exit3", "Rank 2 ends by os._exit(3) without a word.",
     "tensorflow_train.py", "--fault=exit3", status=3, silent=True, **TF)

HVD = {"group": "horovod", "about": "Open MPI 4.1", "launcher": "mpirun"}
live("live-horovod-raises", "Rank 2 raises between two steps; Horovod shuts the others down.",
     "mpi_train.py", "--fault=raises", cause=(BAD,), after=40, **HVD)
live("live-horovod-killed", "Rank 2 is killed by SIGKILL; the others wait.", "mpi_train.py",
     "--fault=killed", cause=("SIGKILL",), status=137, silent=True, **HVD)
live("live-horovod-segv", "Rank 2 dies by SIGSEGV, of which Open MPI says where.", "mpi_train.py",
     "--fault=segv", cause=("SIGSEGV",), status=139, **HVD)

MPI = {"group": "mpi4py", "about": "Open MPI 4.1", "launcher": "mpirun"}
live("live-mpi4py-exit3", "Rank 2 ends by os._exit(3) without a word; the others wait.",
     "mpi_train.py", "--plain --fault=exit3", status=3, silent=True, **MPI)
live("live-mpi4py-abort", "Rank 2 calls MPI_Abort.", "mpi_train.py", "--plain --fault=mpi-abort",
     status=7, **MPI)
