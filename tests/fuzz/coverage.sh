#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of these rooms of lib/ the replay of the fuzzers' corpora reaches.
# Fails below the share of lines that is given. usage: coverage.sh PERCENT
set -eu
least=$1
rooms='blame|command|demand|from|image|job|model|node|python|simulate'
cd "$(dirname "$0")/../.."
build=$PWD/build/coverage
rm -rf "$build"
mkdir -p "$build"
compile() { gcc -O0 -g --coverage -D_GNU_SOURCE '-DRI_VERSION="0"' -std=gnu11 -Ilib -Ishim "$@"; }

for source in lib/*/*.c shim/options/*.c shim/check/ids.c shim/check/wishes.c; do
    compile -c "$source" -o "$build/${source//\//_}.o" &
    if [ "$(jobs -r | wc -l)" -ge "$(nproc)" ]; then wait -n; fi
done
wait
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    corpora=("tests/fuzz/corpus/${name#fuzz_}")
    # made from the golden cases by tests/check.py
    if [ -d "build/check/golden-${name#fuzz_}" ]; then
        corpora+=("build/check/golden-${name#fuzz_}")
    fi
    compile "$source" tests/fuzz/replay.c "$build"/*.o -ljansson -lsodium -o "$build/$name"
    "$build/$name" "${corpora[@]}" >/dev/null
done
cd "$build"
gcov -n lib_*.gcno 2>/dev/null | awk -v least="$least" -v rooms="$rooms" '
    BEGIN { wanted = "^File .*lib/(" rooms ")/.*\\.c" }
    $0 ~ wanted { file = $2 }
    /^Lines executed/ && file != "" {
        split($2, share, /[:%]/)
        lines += $4
        reached += $4 * share[2] / 100
        if (share[2] < 90) printf "note: %s %s%% of %d lines\n", file, share[2], $4
        file = ""
    }
    END {
        percent = lines == 0 ? 0 : 100 * reached / lines
        printf "%.1f%% of %d lines of lib/{%s}\n", percent, lines, rooms
        enough = (percent >= least)
        printf "%d passed, %d failed, 0 skipped\n", enough, !enough
        exit !enough
    }'
