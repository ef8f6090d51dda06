#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device.sh [--ranks=N]: everything that only a machine with NVIDIA GPUs can show, in one
# call of a few minutes, without a network. Run it in the repository's root.
#
# It takes build/rankinit and build/rankinit-probe, or what RANKINIT names and the probe
# beside it; where they are missing it runs make. What it finds goes to $OUT (build/device):
# summary.txt, the probe's answers beside nvidia-smi's; probe.txt and nvidia-smi.txt, these as
# they are; checks.json; machine.tree for tests/hosts; plain.txt of --nproc-per-node=gpu, and
# ranks.txt of ranks with NCCL, if Python finds torch. No compiler, no pytest. Without python3
# nothing is compared: what the programs say is kept. Exit status: 0, 1 where something
# differs or fails, 2 where it cannot begin.
set -u
out=${OUT:-build/device}
rankinit=${RANKINIT:-build/rankinit}

cannot() {
    echo "device.sh: $*" >&2
    exit 2
}

command -v nvidia-smi >/dev/null || cannot "no nvidia-smi: this is no machine with an NVIDIA GPU"
# what was brought along may have lost its mode
chmod +x "$rankinit" "${rankinit%/*}/rankinit-probe" 2>/dev/null
if [ ! -x "$rankinit" ] || [ ! -x "${rankinit%/*}/rankinit-probe" ]; then
    if ! make >&2 || ! make probe >&2; then
        cannot "no build/rankinit and build/rankinit-probe, and make failed: bring both along," \
            "they run on any x86-64 Linux with glibc"
    fi
fi
mkdir -p "$out" || cannot "cannot make $out"
if ! command -v python3 >/dev/null; then
    timeout 60 "${rankinit%/*}/rankinit-probe" nvml >"$out/probe.txt" 2>&1
    timeout 60 nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1
    timeout 60 "$rankinit" --check=json --expect=deep --checks='gpu.*,ib.*' >"$out/checks.json" 2>&1
    # shellcheck disable=SC2016     # the rank's own variables
    timeout 60 "$rankinit" --nproc-per-node=gpu -- sh -c \
        'echo "plain rank $RANK of $WORLD_SIZE, local $LOCAL_RANK"' >"$out/plain.txt" 2>&1
    cat "$out/probe.txt" "$out/plain.txt"
    echo "device.sh: no python3, so nothing was compared" | tee "$out/summary.txt"
    exit 1
fi
exec timeout "${DEVICE_SECONDS:-540}" python3 -B "$(dirname "$0")/device.py" "$rankinit" "$out" "$@"
