#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every code of lib/base/codes.def is used somewhere.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
has gcc || skip "there is no gcc"

symbols=$(sed -n 's/^RI_CODE(\([A-Z0-9_]*\),.*/\1/p' lib/base/codes.def)
[ -n "$symbols" ] || complain "lib/base/codes.def: no codes"
# a .def of another layer may leave the prefix to its macro
used=$({
    sources lib shim | grep '\.c$' | while IFS= read -r file; do
        code "$file" | grep -oE 'RI_CODE_[A-Z0-9_]+' | sed 's/^RI_CODE_//'
    done
    find lib shim -name '*.def' ! -path lib/base/codes.def -exec cat {} + |
        grep -oE '[A-Z][A-Z0-9_]+'
} | sort -u)
for symbol in $symbols; do
    [ "$symbol" = NONE ] && continue
    printf '%s\n' "$used" | grep -qx "$symbol" ||
        complain "lib/base/codes.def: $symbol is used nowhere"
done
sed -n 's/^RI_CODE([A-Z0-9_]*, "\([^"]*\)".*/\1/p' lib/base/codes.def | sort | uniq -d |
    complain_about "stands twice in lib/base/codes.def"
finish
