# SPDX-License-Identifier: Apache-2.0
"""
A software bill of materials of both programs; SPDX 2.3, in JSON.

What the libraries' sources are stands in build/deps/ARCH/sources, which
images/builder/deps.sh writes, and what they say of their licences beside it.
"""

import glob
import hashlib
import json
import os
import re
import subprocess
import time
import uuid
from dataclasses import dataclass

# Source package -> name and licence
LIBRARIES = {
    "musl": ("musl", "MIT"),
    "jansson": ("jansson", "MIT"),
    "libcap2": ("libcap", "BSD-3-Clause OR GPL-2.0-only"),
    "libsodium": ("libsodium", "ISC"),
}


@dataclass
class Library:
    source: str         # Debian's source package
    name: str
    version: str        # Debian's
    licence: str
    checksums: dict     # file of the source package -> SHA-256
    notice: str         # what Debian says of its licence


def sources(path):
    """file -> SHA-256"""
    with open(path, encoding="ascii") as file:
        return {os.path.basename(name): checksum
                for checksum, name in re.findall(r"^([0-9a-f]{64})\s+(\S+)$", file.read(), re.M)}


def version_of(package, found):
    (version,) = [match[1] for match in (re.fullmatch(rf"{package}_(.*)\.dsc", name)
                                         for name in found) if match]
    return version


def check_native(deps, found):
    """What this machine's own program is linked with is what the other's is."""
    with open(os.path.join(deps, "sources"), encoding="ascii") as file:
        here = file.read()
    for package in (name for name in LIBRARIES if name != "musl"):
        wanted = f"{package}_{version_of(package, found)}.dsc"
        if wanted not in here:
            raise SystemExit(f"build/deps was made of other sources than {wanted}: "
                             "remove build/deps and run make dist again")
    installed = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", "musl-dev"],
                               capture_output=True, text=True, check=True).stdout
    if installed != version_of("musl", found):
        raise SystemExit(f"musl-dev {installed} is installed, and its source is "
                         f"{version_of('musl', found)}: run apt-get upgrade")


def libraries(deps):
    (other,) = glob.glob(os.path.join(deps, "*", "sources"))
    found = sources(other)
    check_native(deps, found)
    made = []
    for source, (name, licence) in LIBRARIES.items():
        with open(os.path.join(os.path.dirname(other), "copyright", source),
                  encoding="utf-8") as file:
            made.append(Library(
                source, name, version_of(source, found), licence,
                {file: checksum for file, checksum in found.items()
                 if file.startswith(f"{source}_") and not file.endswith(".asc")}, file.read()))
    return made


def checksum(kind, content):
    return {"algorithm": kind.upper(), "checksumValue": hashlib.new(kind, content).hexdigest()}


def package_of(library):
    """Its upstream source is the package's checksum; Debian's changes stand in the comment."""
    upstream = {name: value for name, value in library.checksums.items() if ".orig." in name}
    rest = {name: value for name, value in library.checksums.items() if ".orig." not in name}
    return {
        "SPDXID": f"SPDXRef-{library.name}",
        "name": library.name,
        "versionInfo": library.version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": library.licence,
        "licenseDeclared": library.licence,
        "copyrightText": "NOASSERTION",
        "packageFileName": next(iter(upstream)),
        "checksums": [{"algorithm": "SHA256", "checksumValue": value}
                      for value in upstream.values()],
        "sourceInfo": "; ".join(f"{name} SHA256 {value}" for name, value in sorted(rest.items())),
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{library.source}@"
                                f"{library.version.replace('+', '%2B')}?arch=source"}],
    }


def compiler():
    """Some of its runtime library is linked in: arithmetic that a processor has no word for."""
    version = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True,
                             check=True).stdout.strip()
    licence = "GPL-3.0-or-later WITH GCC-exception-3.1"
    return {
        "SPDXID": "SPDXRef-libgcc", "name": "libgcc", "versionInfo": version,
        "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }


def relate(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(version, revision, programs, found, when):
    files, relations = [], [relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-rankinit")]
    linked = [*map(package_of, found), compiler()]
    for arch, content in sorted(programs.items()):
        name = f"SPDXRef-rankinit-{arch.replace('_', '-')}"
        files.append({
            "SPDXID": name, "fileName": f"./linux-{arch}/rankinit", "fileTypes": ["BINARY"],
            "checksums": [checksum("sha1", content), checksum("sha256", content)],
            "licenseConcluded": "Apache-2.0", "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION"})
        relations.append(relate("SPDXRef-rankinit", "CONTAINS", name))
        relations += [relate(name, "STATIC_LINK", it["SPDXID"]) for it in linked]
    seed = json.dumps([version, revision, files], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"rankinit-{version}",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, seed)}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
            "creators": ["Organization: rankinit", "Tool: rankinit-dist"]},
        "packages": [{
            "SPDXID": "SPDXRef-rankinit", "name": "rankinit", "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "sourceInfo": f"commit {revision}"}, *linked],
        "files": files,
        "relationships": relations,
    }


def write(path, version, revision, programs, found, when):
    with open(path, "w", encoding="ascii") as file:
        json.dump(document(version, revision, programs, found, when), file, indent=1)
        file.write("\n")
