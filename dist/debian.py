# SPDX-License-Identifier: Apache-2.0
"""A Debian package; deb-control(5), Debian Policy 4.6."""

import calendar
import datetime
import email.utils
import gzip
import hashlib
import os
import re
import subprocess
import tempfile

import elf
import tree
from tree import File

MAINTAINER = "rankinit developers <rankinit@packages.invalid>"
DESCRIPTION = """\
PID 1 of GPU training containers
 rankinit reads what an orchestrator left in the environment, tells torchrun or
 each rank its place in the job, checks the node, forwards signals, reaps
 orphans, and names the rank that failed first.
 .
 It is one static program that can be copied to any image. Beside it is
 rankinit-probe, which loads the image's libraries for --require=deep.
"""
# Static on purpose: PID 1 loads no library of the image that it runs in.
OVERRIDES = """\
# PID 1 of foreign images loads none of their libraries
rankinit: statically-linked-binary [usr/bin/rankinit]
"""


ENTRY = """\
rankinit ({version}) unstable; urgency=medium

  * News of this release, and of those before it, are in NEWS.md.gz.

 -- {maintainer}  {date}
"""


def changelog(news, when):
    """Debian's form of docs/NEWS.md: an entry for each release, without a word of them."""
    entries = []
    for version, said in re.findall(r"^## (\d\S*), (.*)$", news, re.M):
        day = re.fullmatch(r"(\d+)-(\d+)-(\d+)", said)
        if day:
            when = calendar.timegm((*map(int, day.groups()), 12, 0, 0))
        date = email.utils.format_datetime(
            datetime.datetime.fromtimestamp(when, datetime.timezone.utc))
        entries.append(ENTRY.format(version=version, maintainer=MAINTAINER, date=date))
    return "\n".join(entries)


def control(version, arch, found):
    size = sum((len(file.content) + 1023) // 1024 for file in found.values())
    libc = elf.glibc(found["usr/bin/rankinit-probe"].content)
    fields = {"Package": "rankinit", "Version": version, "Architecture": elf.DEBIAN[arch],
              "Maintainer": MAINTAINER, "Installed-Size": size,
              "Depends": f"libc6 (>= {libc})", "Section": "admin", "Priority": "optional",
              "Description": DESCRIPTION.rstrip()}
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def layout(files, when):
    """From what is below a prefix to what Debian wants below /."""
    found = {f"usr/{name}": file for name, file in files.items()}
    doc = f"usr/{tree.DOC}"
    page = gzip.compress(found.pop("usr/share/man/man8/rankinit.8").content, 9, mtime=0)
    found["usr/share/man/man8/rankinit.8.gz"] = File(page)
    found["usr/share/man/man8/rankinit-probe.8.gz"] = File(
        gzip.compress(b".so man8/rankinit.8\n", 9, mtime=0))
    news = found.pop(f"{doc}/NEWS.md").content
    found[f"{doc}/NEWS.md.gz"] = File(gzip.compress(news, 9, mtime=0))
    found[f"{doc}/changelog.gz"] = File(
        gzip.compress(changelog(news.decode(), when).encode(), 9, mtime=0))
    del found[f"{doc}/LICENSE"]     # base-files has it
    found["usr/share/lintian/overrides/rankinit"] = File(OVERRIDES.encode())
    return found


def put(path, content, mode, when):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)
    os.utime(path, (when, when))


def md5sums(found):
    return "".join(f"{hashlib.md5(found[name].content).hexdigest()}  {name}\n"
                   for name in sorted(found))


def package(out, version, arch, files, when):
    found = layout(files, when)
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        old = os.umask(0o022)
        try:
            for name, file in found.items():
                put(os.path.join(root, name), file.content, file.mode, when)
            put(os.path.join(root, "DEBIAN/control"),
                control(version, arch, found).encode(), 0o644, when)
            put(os.path.join(root, "DEBIAN/md5sums"), md5sums(found).encode(), 0o644, when)
        finally:
            os.umask(old)
        name = f"rankinit_{version}_{elf.DEBIAN[arch]}.deb"
        # It clamps newer dates to SOURCE_DATE_EPOCH, and those of folders are newer.
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root,
                        os.path.join(out, name)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
