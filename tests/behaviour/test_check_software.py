# SPDX-License-Identifier: Apache-2.0
"""
What the checks say of the MPI and of the RDMA libraries of an image: a healthy
one, and what changes when one thing in it is changed; then the packages of
this machine.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

import pytest

from box import BASE
from image import ADAPTER, FIT, LIBRARIES, PORT, TRIPLET, Elf, Link, grow, make_kit, put

OURS = ["mpi." + name for name in ("present", "launcher", "match", "mca",
                                   "ucx", "root", "cma", "ssh")]
OURS += ["ib.libs", "ib.provider"]

RANK = [f"OMPI_COMM_WORLD_{name}={value}" for name, value in
        (("RANK", "0"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "2"))]
HYDRA = ["PMI_RANK=0", "PMI_SIZE=2", "PMI_FD=9", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"]
WIDE = ["--rank=0", "--world-size=16", "--local-rank=0", "--local-world-size=8", "--nnodes=2",
        "--node-rank=0", "--master-addr=10.0.0.1"]


@pytest.fixture(scope="session", name="kit")
def kit_fixture(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to make libraries")
    return make_kit(str(tmp_path_factory.mktemp("kit")))


def look(rankinit, root, words):
    """What is said with these variables and options: id -> ["STATUS CODE SUBJECT"]."""
    env = dict(word.split("=", 1) for word in words if not word.startswith("-"))
    options = [word for word in words if word.startswith("-")]
    done = subprocess.run([rankinit, "--check=json", "--checks=" + ",".join(OURS),
                           f"--root={root}", *options],
                          env={**BASE, **env}, capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["fit"] == (done.returncode == 0)
    said = {}
    for result in document["checks"]:
        said.setdefault(result["id"], []).append(
            f"{result['status']} {result['code'] or '-'} {result['subject']}")
    return said


def test_healthy(rankinit, kit, tmp_path):
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    for words in ([], RANK, WIDE, ["--require=mpi,ofed"]):
        said = look(rankinit, root, words)
        assert [name for name in said if name in OURS] == OURS[8:] + OURS[:8]
        for name, lines in said.items():
            if name not in OURS:
                continue
            for line in lines:
                assert line.split()[0] in ("pass", "skip"), (words, name, line)
    assert [name for name, lines in look(rankinit, root, []).items()
            if lines[0].startswith("skip")] == []


@dataclass
class Pair:
    check: str              # whose results change; others may become a skip or cease to be one
    files: dict             # path -> content; None: it is taken away
    after: list             # lines of the check, without its id
    words: list = field(default_factory=list)


MPI = f"{TRIPLET}/libmpi.so.40"
VERBS = f"{TRIPLET}/libibverbs.so.1"
PROVIDERS = f"{TRIPLET}/libibverbs"
PARAMS = "etc/openmpi/openmpi-mca-params.conf"
STATUS = FIT["proc/self/status"]
CONDA = {
    "opt/conda/bin/mpiexec.hydra": "", "opt/conda/bin/mpirun": Link("mpiexec.hydra"),
    "opt/conda/lib/libmpi.so.12": Elf("mpich-4.2.1"), "opt/conda/conda-meta/history": "",
}
CONDA_PATH = "PATH=/opt/conda/bin:/usr/bin"

PAIRS = {
    "no_mpi": Pair("mpi.present", {MPI: None}, ["note mpi.present.missing libmpi"]),
    "no_mpi_in_a_job": Pair("mpi.present", {MPI: None}, ["warn mpi.present.missing libmpi"],
                            RANK),
    "no_mpi_required": Pair("mpi.present", {MPI: None}, ["fail mpi.present.missing libmpi"],
                            ["--require=mpi"]),
    "mpi_cut": Pair("mpi.present", {MPI: Elf("ompi-4.1.4", cut=1000)},
                    [f"warn mpi.present.broken /{MPI}"], RANK),
    "mpi_foreign": Pair("mpi.present", {MPI: Elf("ompi-4.1.4", foreign=True)},
                        [f"warn mpi.present.foreign /{MPI}"], RANK),
    "mpi_apart": Pair("mpi.present", {MPI: None, "usr/local/lib/libmpi.so.40":
                                      Elf("ompi-4.1.4")},
                      ["warn mpi.present.apart /usr/local/lib/libmpi.so.40"], RANK),
    "no_launcher": Pair("mpi.launcher", {"usr/bin/mpirun": None, "usr/bin/mpiexec": None,
                                         "usr/bin/orterun": None},
                        ["note mpi.launcher.missing mpirun"]),
    "no_prterun": Pair("mpi.launcher", {"usr/bin/mpirun": Elf("mpirun-5")},
                       ["note mpi.launcher.prterun /usr/bin/mpirun"]),
    "no_prterun_required": Pair("mpi.launcher", {"usr/bin/mpirun": Elf("mpirun-5")},
                                ["fail mpi.launcher.prterun /usr/bin/mpirun"],
                                ["--require=mpi.launcher"]),
    "prterun": Pair("mpi.launcher", {"usr/bin/mpirun": Elf("mpirun-5"), "usr/bin/prterun": ""},
                    ["pass - /usr/bin/mpirun"]),
    "no_prterun_debian": Pair("mpi.launcher", {"usr/bin/mpirun": Elf("mpirun-5-debian")},
                              ["note mpi.launcher.prterun /usr/bin/mpirun"]),
    "hydra_with_pmix": Pair("mpi.match", {"usr/bin/mpiexec.hydra": Elf("mpirun-5-debian"),
                                          "usr/bin/mpirun": Link("mpiexec.hydra")},
                            ["note mpi.match.mixed /usr/bin/mpirun"]),
    "other_launcher": Pair("mpi.match", {"usr/bin/mpiexec.hydra": "",
                                         "usr/bin/mpirun": Link("mpiexec.hydra")},
                           ["note mpi.match.mixed /usr/bin/mpirun"]),
    "other_launcher_required": Pair("mpi.match", {"usr/bin/mpiexec.hydra": "",
                                                  "usr/bin/mpirun": Link("mpiexec.hydra")},
                                    ["fail mpi.match.mixed /usr/bin/mpirun"],
                                    ["--require=mpi"]),
    "other_series": Pair("mpi.match", {"usr/local/bin/orterun": "", "usr/local/lib/libmpi.so.40":
                                       Elf("ompi-5.0.7")},
                         ["note mpi.match.series /usr/local/bin/orterun"],
                         ["PATH=/usr/local/bin"]),
    "debian_params": Pair("mpi.mca", {PARAMS: "mtl = ^ofi\nbtl = ^uct,openib,ofi\npml = ^ucx\n"},
                          [f"note mpi.mca.ucx_off /{PARAMS}"]),
    "debian_params_asked": Pair("mpi.mca", {PARAMS: "pml = ^ucx\n"},
                                [f"warn mpi.mca.ucx_off /{PARAMS}"], ["--expect=ib"]),
    # NCCL does not go that way: no reason to refuse the node
    "debian_params_required": Pair("mpi.mca", {PARAMS: "pml = ^ucx\n"},
                                   [f"warn mpi.mca.ucx_off /{PARAMS}"], ["--require=mpi,ofed"]),
    "debian_params_required_by_id": Pair("mpi.mca", {PARAMS: "pml = ^ucx\n"},
                                         [f"fail mpi.mca.ucx_off /{PARAMS}"],
                                         ["--require=ofed,mpi.mca"]),
    "debian_params_mended": Pair("mpi.mca", {PARAMS: "pml = ^ucx\n"}, ["pass - OMPI_MCA_pml"],
                                 ["OMPI_MCA_pml=ucx", "--expect=ib"]),
    "no_ucx": Pair("mpi.ucx", {f"{TRIPLET}/openmpi": None}, [f"note mpi.ucx.missing /{MPI}"]),
    "no_ucx_asked": Pair("mpi.ucx", {f"{TRIPLET}/openmpi": None},
                         [f"warn mpi.ucx.missing /{MPI}"], ["--expect=ofed"]),
    "root": Pair("mpi.root", {"proc/self/status": STATUS.replace("1000", "0")},
                 ["note mpi.root.guard /usr/bin/mpirun"]),
    "root_allowed": Pair("mpi.root", {"proc/self/status": STATUS.replace("1000", "0")},
                         ["pass - /usr/bin/mpirun"],
                         ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]),
    "scope": Pair("mpi.cma", {"proc/sys/kernel/yama/ptrace_scope": "2\n"},
                  ["note mpi.cma.denied process_vm_readv"]),
    "scope_in_a_job": Pair("mpi.cma", {"proc/sys/kernel/yama/ptrace_scope": "2\n"},
                           ["warn mpi.cma.denied process_vm_readv"], RANK),
    # as the hint says
    "scope_told_4": Pair("mpi.cma", {"proc/sys/kernel/yama/ptrace_scope": "2\n"},
                         ["pass - OMPI_MCA_btl_vader_single_copy_mechanism"],
                         [*RANK, "OMPI_MCA_btl_vader_single_copy_mechanism=none"]),
    "scope_told_5": Pair("mpi.cma", {"proc/sys/kernel/yama/ptrace_scope": "2\n",
                                     PARAMS: "smsc = ^cma\n"},
                         [f"pass - /{PARAMS}"], RANK),
    "scope_told_to_use_it": Pair("mpi.cma", {"proc/sys/kernel/yama/ptrace_scope": "2\n"},
                                 ["warn mpi.cma.denied process_vm_readv"],
                                 [*RANK, "OMPI_MCA_btl_vader_single_copy_mechanism=cma",
                                  "OMPI_MCA_smsc=cma"]),
    "filter": Pair("mpi.cma", {"proc/self/status": STATUS.replace("Seccomp:\t0", "Seccomp:\t2")},
                   ["unknown mpi.cma.unknown process_vm_readv"]),
    "no_ssh": Pair("mpi.ssh", {"usr/bin/ssh": None}, ["note mpi.ssh.missing ssh"], WIDE),
    "no_ssh_required": Pair("mpi.ssh", {"usr/bin/ssh": None}, ["fail mpi.ssh.missing ssh"],
                            [*WIDE, "--require=mpi.ssh"]),
    "no_verbs": Pair("ib.libs", {VERBS: None}, ["note ib.libs.missing libibverbs.so.1"]),
    "no_verbs_wide": Pair("ib.libs", {VERBS: None}, ["warn ib.libs.missing libibverbs.so.1"],
                          WIDE),
    "no_verbs_required": Pair("ib.libs", {VERBS: None}, ["fail ib.libs.missing libibverbs.so.1"],
                              ["--require=ofed"]),
    "verbs_cut": Pair("ib.libs", {VERBS: Elf("verbs-34", cut=40)},
                      [f"fail ib.libs.broken /{VERBS}"], ["--require=ofed"]),
    "verbs_foreign": Pair("ib.libs", {VERBS: Elf("verbs-34", foreign=True)},
                          [f"fail ib.libs.foreign /{VERBS}"], ["--require=ofed"]),
    "verbs_apart": Pair("ib.libs", {VERBS: None, "usr/local/lib/libibverbs.so.1":
                                    Elf("verbs-34")},
                        ["warn ib.libs.apart /usr/local/lib/libibverbs.so.1"], WIDE),
    "no_rdmacm": Pair("ib.libs", {f"{TRIPLET}/librdmacm.so.1": None},
                      [f"pass - /{VERBS}", "note ib.libs.missing librdmacm.so.1"],
                      ["--require=ofed"]),
    "no_provider": Pair("ib.provider", {f"{PROVIDERS}/libmlx5-rdmav34.so": None},
                        ["note ib.provider.missing mlx5"]),
    "no_provider_wide": Pair("ib.provider", {f"{PROVIDERS}/libmlx5-rdmav34.so": None},
                             ["warn ib.provider.missing mlx5"], WIDE),
    "older_providers": Pair("ib.provider", {
        f"{PROVIDERS}/libmlx5-rdmav34.so": None, f"{PROVIDERS}/libmlx4-rdmav34.so": None,
        f"{PROVIDERS}/libmlx5-rdmav25.so": Elf("plain")},
        ["fail ib.provider.abi mlx5"], ["--require=ofed"]),
    "pabi_mix": Pair("ib.provider", {f"{PROVIDERS}/libmlx5-rdmav25.so": Elf("plain")},
                     ["pass - mlx5", f"warn ib.provider.mixed /{PROVIDERS}"], ["--expect=ib"]),
    "unnamed": Pair("ib.provider", {"etc/libibverbs.d/mlx5.driver": None},
                    ["fail ib.provider.unnamed mlx5"], ["--require=ofed"]),
    "mlx4": Pair("ib.provider", {f"{ADAPTER}/driver": Link("../../../bus/pci/drivers/mlx4_core"),
                                 f"{PROVIDERS}/libmlx4-rdmav34.so": None},
                 ["warn ib.provider.missing mlx4"], ["--expect=ofed"]),
    "no_driver": Pair("ib.provider", {f"{ADAPTER}/driver": None},
                      ["unknown ib.provider.unknown mlx5_ib0"]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pair(rankinit, kit, tmp_path, name):
    pair = PAIRS[name]
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    before = look(rankinit, root, pair.words)
    for path, content in pair.files.items():
        put(root, path, content, kit)
    after = look(rankinit, root, pair.words)
    assert after[pair.check] == pair.after
    assert changed(before, after) - {pair.check} == set(ALSO.get(name, ()))


def changed(before, after):
    """The checks that judge otherwise; what has nothing to judge any more does not count."""
    words = {name: ([line.split()[0] for line in before[name]],
                    [line.split()[0] for line in after[name]]) for name in OURS}
    return {name for name, (old, new) in words.items()
            if old != new and "skip" not in old + new}


# What cannot be changed alone: an MPI that is there twice, a launcher of another one.
ALSO = {
    "other_series": ["mpi.launcher"],
    "mpi_apart": ["mpi.ucx"],
}


INTEL = "opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64"
NODE = {path: content for path, content in FIT.items() if path.startswith(("sys", "proc"))}
VERBS_OF_FIT = {path: content for path, content in FIT.items() if "verbs" in path}

# Images as they are met: files, variables and options, what must be said of them.
IMAGES = {
    # conda's launcher before the library of the system, and both of conda's
    "conda-shadow": ({**FIT, **CONDA}, [CONDA_PATH, "--expect=mpi"], {
        "mpi.match": ["warn mpi.match.mixed /opt/conda/bin/mpirun"]}),
    "conda-whole": ({**FIT, **CONDA}, [CONDA_PATH, "LD_LIBRARY_PATH=/opt/conda/lib",
                                       "--expect=mpi"], {
        "mpi.match": ["pass - /opt/conda/bin/mpirun"]}),
    # Azure ML's CUDA 11.8 image: its own Open MPI without UCX, no ssh
    "aml-cuda118": ({
        **NODE, **VERBS_OF_FIT, "usr/local/bin/orterun": "",
        "usr/local/bin/mpirun": Link("orterun"),
        "usr/local/lib/libmpi.so.40.30.0": Elf("ompi-4.1.4"),
        "usr/local/lib/libmpi.so.40": Link("libmpi.so.40.30.0"),
    }, [*WIDE, "LD_LIBRARY_PATH=/usr/local/lib", "--require=ib"], {
        "mpi.present": ["pass - /usr/local/lib/libmpi.so.40"],
        "mpi.ucx": ["warn mpi.ucx.missing /usr/local/lib/libmpi.so.40"],
        "mpi.ssh": ["note mpi.ssh.missing ssh"],
        "ib.provider": ["pass - mlx5"]}),
    # Intel MPI with nothing but PATH: programs do not find its library
    "aml-intelmpi2018": ({
        **NODE, f"{INTEL}/bin/mpirun": "#!/bin/sh\nexec mpiexec.hydra $I_MPI_ARGS\n",
        f"{INTEL}/lib/release_mt/libmpi.so.12": Elf("nameless"),
    }, [f"PATH=/{INTEL}/bin", "--expect=mpi"], {
        "mpi.present": [f"warn mpi.present.apart /{INTEL}/lib/release_mt/libmpi.so.12"],
        "mpi.launcher": [f"pass - /{INTEL}/bin/mpirun"]}),
    # no table, another loader, which looks into /usr/local/lib
    "alpine-musl": ({
        **NODE, "etc/alpine-release": "3.20.3\n", "usr/local/lib/libmpi.so.12":
        Elf("mpich-4.2.1"), "usr/lib/libibverbs.so.1": Elf("verbs-59"),
        "usr/lib/libibverbs/libmlx5-rdmav59.so": "",
        "etc/libibverbs.d/mlx5.driver": "driver mlx5\n",
    }, ["--require=mpi,ofed"], {
        "mpi.present": ["pass - /usr/local/lib/libmpi.so.12"],
        "ib.libs": ["pass - /usr/lib/libibverbs.so.1", "note ib.libs.missing librdmacm.so.1"],
        "ib.provider": ["pass - mlx5"]}),
    # a rank of its own mpirun, whose programs know where it is
    "conda-alone": ({**NODE, "opt/conda/bin/mpirun": "", "opt/conda/conda-meta/history": "",
                     "opt/conda/lib/libmpi.so.40": Elf("ompi-5.0.7")},
                    [CONDA_PATH, *RANK], {
        "mpi.present": ["note mpi.present.apart /opt/conda/lib/libmpi.so.40"],
        "mpi.match": ["skip - openmpi"]}),
    "conda-asked": ({**NODE, "opt/conda/bin/mpirun": "",
                     "opt/conda/lib/libmpi.so.40": Elf("ompi-5.0.7")},
                    [CONDA_PATH, *RANK, "--expect=mpi"], {
        "mpi.present": ["warn mpi.present.apart /opt/conda/lib/libmpi.so.40"]}),
    "no-mpi": (NODE, ["--require=mpi"], {
        "mpi.present": ["fail mpi.present.missing libmpi"],
        "mpi.match": ["skip - mpirun"]}),
    # nothing in it can be trusted
    "corrupt": ({
        **NODE, "etc/ld.so.cache": "glibc-ld.so.cache1.1\x7f\x7f\x7f\x7f", MPI: "\x7fELF",
        VERBS: Link("libibverbs.so.1"), PARAMS: "= = =\n/* " + 70000 * "*",
        "etc/libibverbs.d/mlx5.driver": "driver " + 5000 * "x",
    }, ["--require=mpi,ofed"], {
        "mpi.present": [f"fail mpi.present.broken /{MPI}"],
        "ib.libs": ["fail ib.libs.missing libibverbs.so.1"]}),
}


@pytest.mark.parametrize("name", IMAGES)
def test_image(rankinit, kit, tmp_path, name):
    files, words, wanted = IMAGES[name]
    root = str(tmp_path / "root")
    grow(root, files, kit)
    said = look(rankinit, root, words)
    assert {check: said[check] for check in wanted} == wanted


def test_rank_of_another_mpi(rankinit, kit, tmp_path):
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    assert look(rankinit, root, HYDRA)["mpi.match"] == ["warn mpi.match.mixed hydra"]
    assert look(rankinit, root, RANK)["mpi.match"] == ["pass - openmpi"]


def test_no_adapter(rankinit, kit, tmp_path):
    root = str(tmp_path / "root")
    grow(root, {path: content for path, content in FIT.items() if not path.startswith("sys")},
         kit)
    put(root, PARAMS, "pml = ^ucx\n", kit)
    said = look(rankinit, root, WIDE)
    for name in ("ib.libs", "ib.provider", "mpi.mca", "mpi.ucx"):
        assert said[name][0].startswith("skip"), said[name]


def test_ethernet_alone(rankinit, kit, tmp_path):
    """The accelerated network of Azure needs no verbs."""
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    put(root, f"{PORT}/link_layer", "Ethernet\n", kit)
    put(root, VERBS, None, kit)
    assert look(rankinit, root, WIDE)["ib.libs"] == ["note ib.libs.missing libibverbs.so.1"]


# --- the packages of this machine --------------------------------------------

def own(pattern):
    """The library that this machine's loader would take."""
    table = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    found = re.search(rf"^\t{pattern} \(.*=> (\S+)$", table.stdout, re.M)
    return found[1] if found else None


def texts(rankinit, root, *options, PATH="/usr/bin:/bin"):
    done = subprocess.run([rankinit, "--check=json", f"--root={root}", *options],
                          env={**BASE, "PATH": PATH}, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    return [(result["id"], result["code"], result["text"]) for result in document["checks"]] + [
        (name, None, value) for name, value in document["facts"].items()]


def copy_library(root, path):
    """A library with its links, as the loader finds it."""
    real = os.path.realpath(path)
    target = root + "/usr/lib/" + os.path.basename(real)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(real, target)
    if not os.path.exists(root + "/usr/lib/" + os.path.basename(path)):
        os.symlink(os.path.basename(real), root + "/usr/lib/" + os.path.basename(path))
    return target


REAL = {
    r"libmpi\.so\.40": (["ompi_info", "--version"], r"^Open MPI v(\S+)", "Open MPI"),
    r"libmpich\.so\.12": (["mpichversion"], r"^MPICH Version:\s*(\S+)", "MPICH"),
}


@pytest.mark.parametrize("pattern", REAL)
def test_real_mpi(rankinit, tmp_path, pattern):
    command, expression, family = REAL[pattern]
    path = own(pattern)
    if path is None or shutil.which(command[0]) is None:
        pytest.skip(f"there is no {family} here")
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    name = f"{family} {re.search(expression, said, re.M)[1]}"
    root = str(tmp_path / "root")
    library = copy_library(root, path)
    assert ("mpi.present", None, name) in texts(rankinit, root, "--require=mpi")
    size = os.path.getsize(library)
    os.truncate(library, size // 2)
    assert [(check, code) for check, code, _ in texts(rankinit, root, "--require=mpi")
            if check == "mpi.present"] == [("mpi.present", "mpi.present.broken")]


def test_an_mpi_without_a_mark(rankinit, kit, tmp_path):
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    first = f"Open MPI 4.1.4 (/{MPI}.30.4)"
    assert ("mpi", None, first) in texts(rankinit, root)
    put(root, f"{TRIPLET}/libmpi.so.12", Elf("nameless"), kit)
    assert ("mpi", None, f"{first}, an unknown MPI (/{TRIPLET}/libmpi.so.12)") in texts(
        rankinit, root)


@pytest.mark.parametrize("beside, library, name", [
    ("ompi_info", "ompi-5.0.7", "Open MPI 5.0.7"),
    ("mpichversion", "nameless", "MPICH"),
])
def test_a_launcher_without_a_mark(rankinit, kit, tmp_path, beside, library, name):
    """PyPI's: what lies beside it tells whose it is, where only one of them does."""
    root = str(tmp_path / "root")
    grow(root, FIT, kit)
    for path, content in (("mpirun", Elf("plain")), (beside, ""), ("prterun", "")):
        put(root, f"opt/venv/bin/{path}", content, kit)
    put(root, f"opt/venv/lib/{LIBRARIES[library][0]}", Elf(library), kit)

    def launcher():
        return [text for check, _, text in texts(rankinit, root, PATH="/opt/venv/bin")
                if check == "mpi.launcher"]
    assert launcher() == [name]
    put(root, "opt/venv/bin/mpichversion", "", kit)
    put(root, "opt/venv/bin/ompi_info", "", kit)
    assert launcher() == ["an unknown MPI"]


def test_both_real(rankinit, tmp_path):
    """Debian's own two, in one root."""
    paths = [own(pattern) for pattern in REAL]
    if None in paths:
        pytest.skip("Open MPI and MPICH are not both here")
    root = str(tmp_path / "root")
    for path in paths:
        copy_library(root, path)
    said = texts(rankinit, root)
    assert [re.sub(r" [\d.]+ \(.*", "", one) for fact, _, text in said if fact == "mpi"
            for one in text.split(", ")] == ["Open MPI", "MPICH"]


def test_real_rdma_core(rankinit, tmp_path):
    path = own(r"libibverbs\.so\.1")
    providers = os.path.join(os.path.dirname(os.path.realpath(path or "/")), "libibverbs")
    if path is None or not os.path.isdir(providers):
        pytest.skip("there is no rdma-core here")
    root = str(tmp_path / "root")
    copy_library(root, path)
    for file, content in FIT.items():
        if file.startswith(("sys", "etc/libibverbs.d")):
            put(root, file, content, None)
    os.makedirs(root + "/usr/lib/libibverbs")
    for name in os.listdir(providers):
        put(root, f"usr/lib/libibverbs/{name}", "", None)
    said = texts(rankinit, root, "--require=ofed")
    assert ("ib.provider", None, "fits libibverbs and the driver mlx5_core") in said
    number = re.search(r"-rdmav(\d+)\.so", " ".join(os.listdir(providers)))[1]
    release = re.search(r"\.(\d+)\.\d+$", os.path.realpath(path))[1]
    assert ("rdma_libraries", None,
            f"rdma-core {release}, private interface {number}") in said
