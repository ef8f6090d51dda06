#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A root file system of Debian packages, as the image rankinit-root:SUITE, for
# machines that reach a Debian mirror and no registry.
# usage: root.sh [SUITE]        (default bookworm; MIRROR=URL for another mirror)
#        root.sh SUITE FILE.tar  only the tar
#
# The tar is kept in build/images. With the same SOURCE_DATE_EPOCH and the same
# state of the mirror it is the same byte by byte, and so is the image's layer;
# the image's id is not, since an import is dated.
set -eu

cd "$(dirname "$0")/.."
self=images/root.sh
suite=${1:-bookworm}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1704067200}
export SOURCE_DATE_EPOCH
out=build/images
tar=$out/root-$suite.tar
image=${IMAGE_PREFIX:-rankinit-}root:$suite

# What nobody reads in a container stays out, now and when apt installs more.
make_tar() {
    mmdebstrap --quiet --variant=minbase --include=ca-certificates \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        "$suite" "$1" ${MIRROR:+"$MIRROR"}
}

if [ $# -eq 2 ]; then
    make_tar "$2"
    exit
fi
mkdir -p "$out"
if [ ! -f "$tar" ] || [ -n "$(find "$self" -newer "$tar")" ]; then
    make_tar "$tar.part.tar"
    mv "$tar.part.tar" "$tar"
fi
sum=$(sha256sum "$tar" | cut -c 1-64)
known=$(docker inspect -f '{{index .Config.Labels "root.sha256"}}' "$image" 2>/dev/null || true)
if [ "$known" != "$sum" ]; then
    docker import --change 'ENV LANG=C.UTF-8' --change 'CMD ["bash"]' \
        --change "LABEL root.sha256=$sum" "$tar" "$image" >/dev/null
fi
echo "$image $sum"
