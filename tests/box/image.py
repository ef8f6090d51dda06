# SPDX-License-Identifier: Apache-2.0
"""
Images for the checks that look at libraries: trees whose libraries gcc makes,
real ELF files without any code, so that there is nothing to hand in and no
distribution to install.
"""

import os
import shutil
import subprocess

TRIPLET = "usr/lib/" + os.uname().machine + "-linux-gnu"
# Offsets of the ELF header: e_machine.
MACHINE = 18
S390 = 22

MAP = "VERBS_1 {{ global: *; }};\nIBVERBS_PRIVATE_{} {{ }};\n"

# name -> (SONAME, source, private interface)
LIBRARIES = {
    "ompi-4.1.4": ("libmpi.so.40", 'const char ompi_version_string[] = "4.1.4";'
                   "int ompi_mpi_comm_world;", None),
    "ompi-5.0.7": ("libmpi.so.40", 'const char ompi_version_string[] = "5.0.7";'
                   "int ompi_mpi_comm_world;", None),
    "mpich-4.2.1": ("libmpi.so.12", 'const char MPII_Version_string[] = "4.2.1";', None),
    "nameless": ("libmpi.so.12", "int MPI_Init;", None),
    "verbs-34": ("libibverbs.so.1", "int ibv_open_device;", 34),
    "verbs-59": ("libibverbs.so.1", "int ibv_open_device;", 59),
    "plain": ("libplain.so.1", "int plain;", None),
    "open-pal": ("libopen-pal.so.80", "int opal;", None),
    "pmix": ("libpmix.so.2", "int pmix;", None),
}


class Elf:
    """A library of the kit as the content of a file; cut to a size, or for another machine."""

    def __init__(self, name, cut=None, foreign=False):
        self.name, self.cut, self.foreign = name, cut, foreign

    def content(self, kit):
        with open(os.path.join(kit, self.name), "rb") as file:
            data = bytearray(file.read())
        if self.foreign:
            data[MACHINE] = S390
        return bytes(data[:self.cut])


class Link:
    """A symbolic link as the content of a path."""

    def __init__(self, target):
        self.target = target


def make_kit(folder):
    """All of LIBRARIES, and mpirun-5, which is linked to open-pal; Debian's is to pmix alone."""
    def compile_one(name, options, source):
        with open(os.path.join(folder, "source.c"), "w", encoding="utf-8") as file:
            file.write(source + "\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-s", "-Wl,--hash-style=gnu",
                        "-Wl,-z,noseparate-code", *options, "-o", os.path.join(folder, name),
                        os.path.join(folder, "source.c")], check=True)

    for name, (soname, source, private) in LIBRARIES.items():
        options = [f"-Wl,-soname,{soname}"]
        if private is not None:
            path = os.path.join(folder, "map")
            with open(path, "w", encoding="utf-8") as file:
                file.write(MAP.format(private))
            options.append(f"-Wl,--version-script={path}")
        compile_one(name, options, source)
    for name, needed in (("mpirun-5", "open-pal"), ("mpirun-5-debian", "pmix")):
        compile_one(name, ["-Wl,--no-as-needed", os.path.join(folder, needed)], "")
    return folder


def put(root, path, content, kit):
    """One path of an image; None takes it away. Programs are what lies in a bin."""
    full = os.path.join(root, path)
    if os.path.islink(full) or os.path.isfile(full):
        os.unlink(full)
    elif content is None:
        shutil.rmtree(full)
    if content is None:
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if isinstance(content, Link):
        os.symlink(content.target, full)
        return
    data = content.content(kit) if isinstance(content, Elf) else content.encode()
    with open(full, "wb") as file:
        file.write(data)
    os.chmod(full, 0o755 if "/bin/" in f"/{path}" else 0o644)


def grow(root, image, kit):
    os.makedirs(root, exist_ok=True)
    for path, content in image.items():
        put(root, path, content, kit)


ADAPTER = "sys/devices/pci0000:00/0000:00:02.0"
PORT = ADAPTER + "/infiniband/mlx5_ib0/ports/1"

# Debian with Open MPI and rdma-core, on a node with one adapter for InfiniBand.
FIT = {
    "proc/self/status": "Name:\trankinit\nUid:\t1000\t1000\t1000\t1000\n"
                        "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                        "CapBnd:\t0000000000000000\nSeccomp:\t0\n",
    "proc/sys/kernel/yama/ptrace_scope": "1\n",
    "usr/bin/orterun": "",
    "usr/bin/mpirun": Link("orterun"),
    "usr/bin/mpiexec": Link("/usr/bin/orterun"),
    "usr/bin/ssh": "",
    f"{TRIPLET}/libmpi.so.40.30.4": Elf("ompi-4.1.4"),
    f"{TRIPLET}/libmpi.so.40": Link("libmpi.so.40.30.4"),
    f"{TRIPLET}/openmpi/lib/openmpi3/mca_pml_ucx.so": "",
    f"{TRIPLET}/libibverbs.so.1.14.44.0": Elf("verbs-34"),
    f"{TRIPLET}/libibverbs.so.1": Link("libibverbs.so.1.14.44.0"),
    f"{TRIPLET}/librdmacm.so.1": Elf("plain"),
    f"{TRIPLET}/libibverbs/libmlx5-rdmav34.so": Elf("plain"),
    f"{TRIPLET}/libibverbs/libmlx4-rdmav34.so": Elf("plain"),
    "etc/libibverbs.d/mlx5.driver": "driver mlx5\n",
    "etc/libibverbs.d/mlx4.driver": "driver mlx4\n",
    "etc/openmpi/openmpi-mca-params.conf": "# nothing is chosen here\n",
    "sys/class/infiniband/mlx5_ib0": Link("../../devices/pci0000:00/0000:00:02.0/infiniband/"
                                          "mlx5_ib0"),
    f"{ADAPTER}/driver": Link("../../../bus/pci/drivers/mlx5_core"),
    "sys/bus/pci/drivers/mlx5_core/module": "",
    "sys/bus/pci/drivers/mlx4_core/module": "",
    f"{ADAPTER}/infiniband/mlx5_ib0/device": Link("../../../0000:00:02.0"),
    f"{ADAPTER}/infiniband/mlx5_ib0/node_type": "1: CA\n",
    f"{PORT}/link_layer": "InfiniBand\n",
    f"{PORT}/state": "4: ACTIVE\n",
    f"{PORT}/phys_state": "5: LinkUp\n",
    f"{PORT}/rate": "400 Gb/sec (4X NDR)\n",
    f"{PORT}/sm_lid": "0x1\n",
}
