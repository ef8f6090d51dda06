#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device.sh [--ranks=N]: everything that only a machine with NVIDIA GPUs can show, in one
# call of a few minutes, without a network. Run it in the repository's root.
#
# It takes build/rankinit and build/rankinit-probe, or what RANKINIT names and the probe
# beside it; where they are missing it runs make. What it finds goes to $OUT (build/device):
# the probe's answers beside nvidia-smi's, the machine as a file for tests/hosts, and what
# ranks with NCCL said, if Python finds torch. Exit status: 0, 1 where something differs
# or fails, 2 where it cannot begin.
set -u
out=${OUT:-build/device}
rankinit=${RANKINIT:-build/rankinit}

cannot() {
    echo "device.sh: $*" >&2
    exit 2
}

command -v nvidia-smi >/dev/null || cannot "no nvidia-smi: this is no machine with an NVIDIA GPU"
command -v python3 >/dev/null || cannot "no python3"
if [ ! -x "$rankinit" ] || [ ! -x "${rankinit%/*}/rankinit-probe" ]; then
    if ! make >&2 || ! make probe >&2; then
        cannot "no build/rankinit and build/rankinit-probe, and make failed: bring both along," \
            "they run on any x86-64 Linux with glibc"
    fi
fi
mkdir -p "$out" || cannot "cannot make $out"
exec timeout "${DEVICE_SECONDS:-540}" python3 -B "$(dirname "$0")/device.py" "$rankinit" "$out" "$@"
