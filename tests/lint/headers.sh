#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every header of lib/ and shim/ compiles alone, and twice.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
has gcc || skip "there is no gcc"

check() {
    guard=$(sed -n 's/^#ifndef \(RI_[A-Z0-9_]*_H\)$/\1/p' "$1" | head -n 1)
    if [ -z "$guard" ] || ! grep -q "^#define $guard\$" "$1" ||
        ! tail -n 1 "$1" | grep -q '^#endif'; then
        complain "$1: no include guard RI_..._H around all of it"
    else
        echo "$guard $1" >>"$guards"
    fi
    head -n 1 "$1" | grep -qF '/* SPDX-License-Identifier: Apache-2.0 */' ||
        complain "$1: the first line is no SPDX line"
    printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$top/$1" "$top/$1" |
        gcc -fsyntax-only -x c -std=gnu11 -D_GNU_SOURCE '-DRI_VERSION=""' -Ilib -Ishim \
            -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
            -Wvla -Wundef -Wpointer-arith -Wwrite-strings -Wcast-qual - >"$output" 2>&1 ||
        complain "$1: does not compile alone: $(grep -m 1 error "$output")"
}

guards=$(mktemp) output=$(mktemp)
trap 'rm -f "$complaints" "$guards" "$output"' EXIT
for header in $(find lib shim -name '*.h' | sort); do
    check "$header"
done
cut -d ' ' -f 1 "$guards" | sort | uniq -d | complain_about "guards two headers"
finish
