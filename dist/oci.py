# SPDX-License-Identifier: Apache-2.0
"""
An image of one file, /rankinit, for both architectures, without an engine or a
registry: a tar of an OCI image layout (OCI Image Format Specification 1.0:
image-layout.md, image-index.md, manifest.md, config.md, layer.md).

`docker load` of engines that know no such layout reads manifest.json (Docker Image
Specification 1.2, "Combined Image JSON + Filesystem Changeset Format").
"""

import gzip
import hashlib
import json
import time

import elf
import tree
from tree import File

OCI = "application/vnd.oci.image."
NAME = "rankinit"


class Layout:
    """Files of the layout, and how others name them."""

    def __init__(self):
        self.files = {"oci-layout": File(b'{"imageLayoutVersion":"1.0.0"}')}

    def put(self, kind, content, **more):
        """The descriptor of a blob that is there from now on."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = File(content)
        return {"mediaType": OCI + kind, "digest": f"sha256:{digest}", "size": len(content), **more}

    def path(self, descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")


def text(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def labels(version, revision):
    return {"org.opencontainers.image." + name: value for name, value in (
        ("title", NAME), ("version", version), ("revision", revision),
        ("licenses", "Apache-2.0"),
        ("description", "rankinit, a static PID 1 of training containers"))}


def config(version, revision, arch, layer, created):
    platform = {"architecture": elf.DEBIAN[arch], "os": "linux"}
    return {
        **platform, "created": created,
        "config": {"Entrypoint": ["/rankinit"], "Labels": labels(version, revision)},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": created, "comment": "rankinit " + version}],
    }


def add_image(layout, version, revision, arch, content, when):
    """Its manifest's descriptor, and its entry of manifest.json."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    layer = tree.tar({"rankinit": File(content, 0o755)}, when)
    packed = layout.put("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))
    settings = layout.put("config.v1+json",
                          text(config(version, revision, arch, layer, created)))
    manifest = layout.put("manifest.v1+json", text({
        "schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": settings,
        "layers": [packed], "annotations": labels(version, revision)}),
        platform={"architecture": elf.DEBIAN[arch], "os": "linux"})
    return manifest, {"Config": layout.path(settings), "Layers": [layout.path(packed)],
                      "RepoTags": [f"{NAME}:{version}-{elf.DEBIAN[arch]}"]}


def archive(path, version, revision, programs, when):
    layout = Layout()
    made = [add_image(layout, version, revision, arch, content, when)
            for arch, content in sorted(programs.items())]
    index = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json"}
    both = layout.put("index.v1+json", text({
        **index, "manifests": [manifest for manifest, _ in made],
        "annotations": labels(version, revision)}),
        annotations={"org.opencontainers.image.ref.name": version})
    layout.files["index.json"] = File(text({**index, "manifests": [both]}))
    layout.files["manifest.json"] = File(text([entry for _, entry in made]))
    with open(path, "wb") as file:
        file.write(tree.tar(layout.files, when))
