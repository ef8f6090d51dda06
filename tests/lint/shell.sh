#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shell scripts please shellcheck, Python files compile, both say who they are.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
has shellcheck || skip "there is no shellcheck"

# Fixtures may be broken on purpose.
scripts=$(files | grep -vE '^tests/(hosts|fuzz/corpus)/' | while IFS= read -r file; do
    case $file in
    tests/conformance/bad_*) ;;
    *.sh) echo "$file" ;;
    *.*) case $file in .ci/*) echo "$file" ;; esac ;;
    *) head -n 1 "$file" | grep -qE '^#!.*/(ba|da)?sh' && echo "$file" ;;
    esac
done)
printf '%s\n' "$scripts" | xargs -r -P "$(nproc)" -n 8 shellcheck -x -f gcc >>"$complaints"
for script in $scripts; do
    if [ ! -x "$script" ] && head -n 1 "$script" | grep -q '^#!'; then
        complain "$script: not executable"
    fi
done
files | grep '\.py$' | tr '\n' '\0' | xargs -0 -r python3 -B -c '
import sys
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as file:
            compile(file.read(), name, "exec")
    except (SyntaxError, ValueError) as error:
        print(f"{name}: {error}")
' >>"$complaints"
finish
