# SPDX-License-Identifier: Apache-2.0
"""What is installed, below a prefix: name -> file; and tar archives of it."""

import io
import os
import tarfile
from dataclasses import dataclass

DOC = "share/doc/rankinit"
LICENCES = """\
rankinit: a PID 1 of training containers
Copyright: the authors of rankinit, whom its history names
SPDX-License-Identifier: Apache-2.0 (Debian has it in /usr/share/common-licenses/Apache-2.0)

The program rankinit is linked statically with the libraries below. This is what
the Debian packages that their sources come from say of each.
"""


@dataclass
class File:
    content: bytes
    mode: int = 0o644


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def copyright_text(libraries):
    """Ours, and the notices that the libraries want to be told."""
    parts = [LICENCES]
    parts += [f"{'-' * 72}\n{it.name} {it.version}\n\n{it.notice}" for it in libraries]
    return "\n".join(parts).encode()


def files(top, built, libraries):
    """What `make install` installs, and what its licences want."""
    return {
        "bin/rankinit": File(read(built, "rankinit"), 0o755),
        "bin/rankinit-probe": File(read(built, "rankinit-probe"), 0o755),
        "share/man/man8/rankinit.8": File(read(top, "docs", "rankinit.8")),
        "share/bash-completion/completions/rankinit":
            File(read(top, "docs", "completions", "rankinit.bash")),
        f"{DOC}/LICENSE": File(read(top, "LICENSE")),
        f"{DOC}/NEWS.md": File(read(top, "docs", "NEWS.md")),
        f"{DOC}/copyright": File(copyright_text(libraries)),
    }


def entry(name, kind, mode, when):
    it = tarfile.TarInfo(name)
    it.type, it.mode, it.mtime = kind, mode, when
    return it


def tar(found, when, top=None):
    """Root's, sorted, each folder before what is in it; below a folder top, if there is one."""
    found = {f"{top}/{name}" if top else name: file for name, file in found.items()}
    folders = {name[:at] for name in found for at, letter in enumerate(name) if letter == "/"}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(folders | set(found)):
            if name in folders:
                archive.addfile(entry(name, tarfile.DIRTYPE, 0o755, when))
                continue
            it = entry(name, tarfile.REGTYPE, found[name].mode, when)
            it.size = len(found[name].content)
            archive.addfile(it, io.BytesIO(found[name].content))
    return out.getvalue()
