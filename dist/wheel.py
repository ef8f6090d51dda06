# SPDX-License-Identifier: Apache-2.0
"""
A wheel, by which pip and uv install the two programs; "Binary distribution format",
"Recording installed projects" and "Platform compatibility tags" of packaging.python.org.
"""

import base64
import hashlib
import os
import time
import zipfile

from tree import File

# manylinux2014 is glibc 2.17 or newer, musllinux_1_1 is musl: a static program asks for neither.
PLATFORMS = ("manylinux2014", "musllinux_1_1")
METADATA = """\
Metadata-Version: 2.1
Name: rankinit
Version: {version}
Summary: PID 1 of GPU training containers, a static program
License: Apache-2.0
Classifier: Environment :: Console
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/plain

rankinit reads what an orchestrator left in the environment, tells torchrun or
each rank its place in the job, checks the node, forwards signals, reaps orphans,
and names the rank that failed first.

This installs the static program rankinit, rankinit-probe, which loads the
image's own libraries, the man page and bash's completion. It has no module to
import.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: rankinit-dist
Root-Is-Purelib: false
"""


def layout(version, platforms, files, materials):
    """From what is below a prefix to where installers find it; PEP 770 has the place of an SBOM."""
    data, info = f"rankinit-{version}.data", f"rankinit-{version}.dist-info"
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms)
    found = {f"{data}/scripts/{os.path.basename(name)}" if name.startswith("bin/")
             else f"{data}/data/{name}": file for name, file in sorted(files.items())}
    return {
        **found,
        f"{info}/METADATA": File(METADATA.format(version=version).encode()),
        f"{info}/WHEEL": File((WHEEL + tags).encode()),
        f"{info}/sboms/rankinit.spdx.json": File(materials),
    }, f"{info}/RECORD"


def record(found, own):
    lines = []
    for name, file in found.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest())
        lines.append(f"{name},sha256={digest.decode().rstrip('=')},{len(file.content)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


def package(out, version, arch, files, materials, when):
    """Writes it; files as tree.files has them, materials the SBOM."""
    platforms = [f"{platform}_{arch}" for platform in PLATFORMS]
    found, own = layout(version, platforms, files, materials)
    found[own] = File(record(found, own))
    path = os.path.join(out, f"rankinit-{version}-py3-none-{'.'.join(platforms)}.whl")
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in found.items():
            it = zipfile.ZipInfo(name, time.gmtime(when)[:6])
            it.create_system = 3        # Unix, whose modes are in external_attr
            it.external_attr = (0o100000 | file.mode) << 16
            it.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(it, file.content, compresslevel=9)
