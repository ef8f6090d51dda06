# SPDX-License-Identifier: Apache-2.0
"""What is in the artefacts of a release, and that they agree with each other."""

import gzip
import hashlib
import json
import os
import re
import shutil
import struct

import pytest

from conftest import (DEBIAN, DIST, HOST, NAMES, TOP, VERSION, built, in_package, in_tarball,
                      members, read, run)

ARCHES = sorted(DEBIAN)
MACHINES = {"x86_64": 62, "aarch64": 183}
DOC = "share/doc/rankinit"
FOUND = {"bin/rankinit": 0o755, "bin/rankinit-probe": 0o755, "share/man/man8/rankinit.8": 0o644,
         "share/bash-completion/completions/rankinit": 0o644, f"{DOC}/LICENSE": 0o644,
         f"{DOC}/NEWS.md": 0o644, f"{DOC}/copyright": 0o644}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_all_are_there_and_no_more():
    assert sorted(os.listdir(DIST)) == NAMES


def test_checksums():
    lines = read(DIST, "SHA256SUMS").decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        name for name in sorted(NAMES) if name != "SHA256SUMS"]
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)


@pytest.mark.parametrize("arch", ARCHES)
def test_tarball(arch):
    """One folder that takes its name; root's, and all of one date."""
    top = f"rankinit-{VERSION}-linux-{arch}"
    found = in_tarball(arch)
    assert {name: it.mode for name, (it, content) in found.items() if content is not None} == {
        f"{top}/{name}": mode for name, mode in FOUND.items()}
    assert list(found) == sorted(found)
    assert {(it.uid, it.gid, it.uname, it.gname) for it, _ in found.values()} == {(0, 0, "", "")}
    assert len({it.mtime for it, _ in found.values()}) == 1
    for name, mode in FOUND.items():
        if mode == 0o755:
            assert found[f"{top}/{name}"][1] == read(built(arch), os.path.basename(name))


def test_this_machine_s_program_is_the_one_that_is_tested():
    """make check runs build/rankinit, and with the package that very file is installed."""
    tested = sha256(read(TOP, "build", "rankinit"))
    assert sha256(in_package(HOST)["./usr/bin/rankinit"][1]) == tested
    assert sha256(in_tarball(HOST)[f"rankinit-{VERSION}-linux-{HOST}/bin/rankinit"][1]) == tested


@pytest.mark.parametrize("arch", ARCHES)
def test_program_is_static(arch):
    """For its processor, without an interpreter, and no stack that may be executed; elf(5)."""
    program = in_package(arch)["./usr/bin/rankinit"][1]
    assert struct.unpack_from("<H", program, 18)[0] == MACHINES[arch]
    offset, = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    headers = [struct.unpack_from("<II", program, offset + size * at) for at in range(count)]
    kinds = dict(headers)
    aligned = {struct.unpack_from("<Q", program, offset + size * at + 48)[0]
               for at in range(count) if headers[at][0] == 1}       # PT_LOAD
    assert 3 not in kinds and 2 not in kinds    # PT_INTERP, PT_DYNAMIC
    assert kinds[0x6474e551] == 6               # PT_GNU_STACK: read and write
    # kernels for aarch64 have pages of 4 to 64 kB
    assert aligned == {0x1000 if arch == "x86_64" else 0x10000}


@pytest.mark.parametrize("arch", ARCHES)
def test_no_folder_of_ours_is_in_it(arch):
    for name in ("rankinit", "rankinit-probe"):
        assert TOP.encode() not in in_package(arch)[f"./usr/bin/{name}"][1]


@pytest.mark.parametrize("arch", ARCHES)
def test_package(arch):
    """Where Debian has such files; root's; and what is packed is packed without a date."""
    path = os.path.join(DIST, f"rankinit_{VERSION}_{DEBIAN[arch]}.deb")
    fields = run("dpkg-deb", "-f", path, "Package", "Version", "Architecture", "Depends").stdout
    assert re.fullmatch(f"Package: rankinit\nVersion: {VERSION}\nArchitecture: {DEBIAN[arch]}\n"
                        r"Depends: libc6 \(>= 2\.\d+\)\n", fields.decode())
    found = in_package(arch)
    assert {(it.uid, it.gid, it.mtime) for it, _ in found.values()} == {
        (0, 0, found["./"][0].mtime if "./" in found else next(iter(found.values()))[0].mtime)}
    packed = {name: content for name, (_, content) in found.items() if name.endswith(".gz")}
    assert {os.path.basename(name) for name in packed} == {
        "rankinit.8.gz", "rankinit-probe.8.gz", "changelog.gz", "NEWS.md.gz"}
    for content in packed.values():
        assert content[3] == 0 and content[4:8] == bytes(4)     # RFC 1952: no name, no time
    assert gzip.decompress(packed["./usr/share/man/man8/rankinit.8.gz"]) == read(
        TOP, "docs", "rankinit.8")
    assert gzip.decompress(packed["./usr/share/doc/rankinit/changelog.gz"]).decode().startswith(
        f"rankinit ({VERSION}) ")
    assert found["./usr/share/bash-completion/completions/rankinit"][1] == read(
        TOP, "docs", "completions", "rankinit.bash")


@pytest.mark.parametrize("arch", ARCHES)
def test_lintian(arch):
    if shutil.which("lintian") is None:
        pytest.skip("there is no lintian")
    path = os.path.join(DIST, f"rankinit_{VERSION}_{DEBIAN[arch]}.deb")
    assert run("lintian", "--allow-root", "--no-cfg", path).stdout == b""


def test_lintian_would_say_so(tmp_path):
    """The control: the same package with a program that is not stripped of its rights."""
    if shutil.which("lintian") is None:
        pytest.skip("there is no lintian")
    root, path = str(tmp_path / "root"), str(tmp_path / "rankinit.deb")
    run("dpkg-deb", "-R", os.path.join(DIST, f"rankinit_{VERSION}_{DEBIAN[HOST]}.deb"), root)
    os.chmod(f"{root}/usr/bin/rankinit", 0o777)
    run("dpkg-deb", "--root-owner-group", "-b", root, path)
    done = run("lintian", "--allow-root", "--no-cfg", path, check=False)
    assert b"non-standard-executable-perm" in done.stdout


@pytest.mark.parametrize("arch", ARCHES)
def test_notices_of_all_that_is_linked_in(arch):
    text = in_package(arch)["./usr/share/doc/rankinit/copyright"][1].decode()
    for words in ("Rich Felker", "Petri Lehtinen", "Andrew G. Morgan", "Frank Denis",
                  "/usr/share/common-licenses/Apache-2.0"):
        assert words in text


def materials():
    return json.loads(read(DIST, f"rankinit-{VERSION}.spdx.json"))


def test_materials_are_spdx():
    """What SPDX 2.3 demands of a document, a package and a file (its chapters 6 to 11)."""
    found = materials()
    assert found["spdxVersion"] == "SPDX-2.3" and found["dataLicense"] == "CC0-1.0"
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", found["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["creationInfo"]["created"])
    assert all(re.match(r"(Person|Organization|Tool): ", it)
               for it in found["creationInfo"]["creators"])
    ids = [it["SPDXID"] for it in [found, *found["packages"], *found["files"]]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", it) for it in ids)
    for package in found["packages"]:
        assert {"name", "downloadLocation", "licenseConcluded", "licenseDeclared",
                "copyrightText"} <= set(package), package
    for file in found["files"]:
        assert {it["algorithm"] for it in file["checksums"]} >= {"SHA1"}
    for it in found["relationships"]:
        assert {it["spdxElementId"], it["relatedSpdxElement"]} <= set(ids), it


def test_materials_are_those_of_the_programs():
    """What --version says of each program, and the files themselves."""
    found = materials()
    versions = {it["name"]: it["versionInfo"] for it in found["packages"]}
    said = run(os.path.join(TOP, "build", "rankinit"), "--version").stdout.decode()
    assert said == (f"rankinit {versions['rankinit']} (gcc {versions['libgcc']}, "
                    f"musl {versions['musl']}, jansson {versions['jansson'].split('-')[0]}, "
                    f"libcap {versions['libcap']}, "
                    f"libsodium {versions['libsodium'].split('-')[0]})\n")
    for arch in ARCHES:
        (file,) = [it for it in found["files"] if f"linux-{arch}/" in it["fileName"]]
        checksums = {it["algorithm"]: it["checksumValue"] for it in file["checksums"]}
        assert checksums["SHA256"] == sha256(in_package(arch)["./usr/bin/rankinit"][1])
        linked = {it["relatedSpdxElement"] for it in found["relationships"]
                  if it["spdxElementId"] == file["SPDXID"]}
        assert linked == {"SPDXRef-musl", "SPDXRef-jansson", "SPDXRef-libcap",
                          "SPDXRef-libsodium", "SPDXRef-libgcc"}


def test_materials_have_the_sources():
    for package in materials()["packages"]:
        if package["name"] in ("musl", "jansson", "libcap", "libsodium"):
            (it,) = package["checksums"]
            assert re.fullmatch(r"[0-9a-f]{64}", it["checksumValue"])
            line = f"{it['checksumValue']}  ./{package['packageFileName']}\n"
            (sources,) = [read(folder, "sources").decode() for folder, _, names in
                          os.walk(os.path.join(TOP, "build", "deps"))
                          if "sources" in names and folder.endswith(("aarch64", "x86_64"))]
            assert line in sources


# --- the image ---------------------------------------------------------------------

OCI = "application/vnd.oci.image."


def layout():
    return members(read(DIST, f"rankinit-{VERSION}-oci.tar"))


def blob(found, descriptor, kind):
    """OCI descriptor.md: what it says of its blob is true."""
    assert descriptor["mediaType"] == OCI + kind
    content = found["blobs/" + descriptor["digest"].replace(":", "/")][1]
    assert descriptor["digest"] == "sha256:" + sha256(content)
    assert descriptor["size"] == len(content)
    return content


def images():
    """(manifest, config, unpacked layer) of each."""
    found = layout()
    assert json.loads(found["oci-layout"][1]) == {"imageLayoutVersion": "1.0.0"}
    top = json.loads(found["index.json"][1])
    assert top["schemaVersion"] == 2
    (both,) = top["manifests"]
    assert both["annotations"]["org.opencontainers.image.ref.name"] == VERSION
    index = json.loads(blob(found, both, "index.v1+json"))
    assert index["schemaVersion"] == 2 and index["mediaType"] == OCI + "index.v1+json"
    for descriptor in index["manifests"]:
        manifest = json.loads(blob(found, descriptor, "manifest.v1+json"))
        config = json.loads(blob(found, manifest["config"], "config.v1+json"))
        (layer,) = manifest["layers"]
        yield descriptor, manifest, config, gzip.decompress(
            blob(found, layer, "layer.v1.tar+gzip"))


def test_image_layout():
    made = list(images())
    assert [it[0]["platform"]["architecture"] for it in made] == ["arm64", "amd64"]
    for descriptor, manifest, config, layer in made:
        assert manifest["schemaVersion"] == 2
        assert descriptor["platform"] == {"architecture": config["architecture"], "os": "linux"}
        assert config["rootfs"] == {"type": "layers", "diff_ids": ["sha256:" + sha256(layer)]}
        assert config["config"]["Entrypoint"] == ["/rankinit"]


def test_image_is_one_file():
    for _, _, config, layer in images():
        found = members(layer)
        assert list(found) == ["rankinit"]
        assert found["rankinit"][0].mode == 0o755
        (arch,) = [arch for arch, name in DEBIAN.items() if name == config["architecture"]]
        assert found["rankinit"][1] == in_package(arch)["./usr/bin/rankinit"][1]


def test_nothing_is_in_the_layout_that_it_does_not_name():
    found, named = layout(), {"oci-layout", "index.json", "manifest.json"}
    for descriptor, manifest, _, _ in images():
        for it in (descriptor, manifest["config"], *manifest["layers"]):
            named.add("blobs/" + it["digest"].replace(":", "/"))
    (both,) = json.loads(found["index.json"][1])["manifests"]
    named.add("blobs/" + both["digest"].replace(":", "/"))
    assert {name for name, (_, content) in found.items() if content is not None} == named


@pytest.mark.parametrize("arch", ARCHES)
def test_skopeo_takes_it(arch, tmp_path):
    """Each of the two, by its platform; skopeo checks every digest that it copies."""
    if shutil.which("skopeo") is None:
        pytest.skip("there is no skopeo")
    source = f"oci-archive:{DIST}/rankinit-{VERSION}-oci.tar:{VERSION}"
    run("skopeo", "--override-arch", DEBIAN[arch], "copy", "--insecure-policy", source,
        f"dir:{tmp_path}/out")
    (layer,) = json.loads(read(tmp_path, "out", "manifest.json"))["layers"]
    content = gzip.decompress(read(tmp_path, "out", layer["digest"].split(":")[1]))
    assert members(content)["rankinit"][1] == read(built(arch), "rankinit")


def test_skopeo_would_say_so(tmp_path):
    """The control: a blob with another byte in it."""
    if shutil.which("skopeo") is None:
        pytest.skip("there is no skopeo")
    run("tar", "-xf", f"{DIST}/rankinit-{VERSION}-oci.tar", "-C", str(tmp_path))
    _, manifest, _, _ = list(images())[-1]
    path = tmp_path / "blobs" / manifest["layers"][0]["digest"].replace(":", "/")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    done = run("skopeo", "--override-arch", "amd64", "copy", "--insecure-policy",
               f"oci:{tmp_path}:{VERSION}", f"dir:{tmp_path}/out", check=False)
    assert done.returncode != 0
