#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every code of lib/base/codes.def is used somewhere.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
used=$(mktemp) tab=$(printf '\t')
trap 'rm -f "$complaints" "$used"' EXIT
symbols=$(sed -n 's/^RI_CODE(\([A-Z0-9_]*\),.*/\1/p' lib/base/codes.def)
[ -n "$symbols" ] || complain "lib/base/codes.def: no codes"
{
    code lib shim | grep "^[^$tab]*\.c$tab" | grep -oE 'RI_CODE_[A-Z0-9_]+' | sed 's/^RI_CODE_//'
    # a .def of another layer may leave the prefix to its macro
    find lib shim -name '*.def' ! -path lib/base/codes.def -exec cat {} + |
        grep -oE '[A-Z][A-Z0-9_]+'
    echo NONE
} | sort -u >"$used"
printf '%s\n' "$symbols" | sort -u | comm -23 - "$used" |
    sed 's|.*|lib/base/codes.def: & is used nowhere|' >>"$complaints"
sed -n 's/^RI_CODE([A-Z0-9_]*, "\([^"]*\)".*/\1/p' lib/base/codes.def | sort | uniq -d |
    complain_about "stands twice in lib/base/codes.def"
finish
