#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of the rooms of lib/ that read foreign text the replay of the fuzzers' corpora reaches.
# Fails below the share of lines that is given, and where a room has no line, or stands in neither
# of the two lists below. usage: coverage.sh PERCENT
set -eu
least=$1
rooms='base blame command demand from hang image link model node output play python redact words'
# they write what others have read
others='report to'
cd "$(dirname "$0")/../.."
build=$PWD/build/coverage
rm -rf "$build"
mkdir -p "$build"
compile() { gcc -O0 -g --coverage -D_GNU_SOURCE '-DRI_VERSION="0"' -std=gnu11 -Ilib -Ishim "$@"; }

for source in lib/*/*.c shim/options/*.c shim/check/wishes.c; do
    compile -c "$source" -o "$build/${source//\//_}.o" &
    if [ "$(jobs -r | wc -l)" -ge "$(nproc)" ]; then wait -n; fi
done
wait
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    corpora=("tests/fuzz/corpus/${name#fuzz_}")
    # made of what other tests have by tests/check.py
    if [ -d "build/check/golden-${name#fuzz_}" ]; then
        corpora+=("build/check/golden-${name#fuzz_}")
    fi
    more=()
    if [ "$name" = fuzz_judged ]; then more=(shim/init/judged.c); fi
    compile "$source" tests/fuzz/replay.c "${more[@]}" "$build"/*.o -ljansson -lsodium \
        -o "$build/$name"
    "$build/$name" "${corpora[@]}" >/dev/null
done
there=$(cd lib && echo */ | tr -d /)
cd "$build"
gcov -n lib_*.gcno 2>/dev/null | awk -v least="$least" -v rooms="$rooms" -v others="$others" \
    -v there="$there" '
    BEGIN {
        split(rooms, list)
        for (i in list) wanted[list[i]] = 1
        split(others, list)
        for (i in list) left[list[i]] = 1
    }
    /^File .*lib\/[a-z]+\/[a-z_0-9]+\.c/ {
        split(substr($2, index($2, "lib/") + 4), path, "/")
        room = path[1]
        file = $2
    }
    /^Lines executed/ && file != "" {
        split($2, share, /[:%]/)
        of[room] += $4
        if (room in wanted) {
            lines += $4
            reached += $4 * share[2] / 100
            if (share[2] < 90) printf "note: %s %s%% of %d lines\n", file, share[2], $4
        }
        file = ""
    }
    END {
        percent = lines == 0 ? 0 : 100 * reached / lines
        printf "%.1f%% of %d lines of lib/{%s}\n", percent, lines, rooms
        good = (percent >= least)
        for (room in wanted) if (!of[room]) { print "no line is of lib/" room; good = 0 }
        for (room in left) if (!of[room]) { print "no line is of lib/" room; good = 0 }
        split(there, list)
        for (i in list) if (!(list[i] in wanted) && !(list[i] in left)) {
            print "whether lib/" list[i] " reads foreign text is not said here"
            good = 0
        }
        printf "%d passed, %d failed, 0 skipped\n", good, !good
        exit !good
    }'
