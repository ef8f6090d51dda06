#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [FOLDER]: every lint over the source tree in FOLDER (default: this
# one). One line for each, then the sum; 0 if none failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "${1:-$here/../..}" && pwd)
passed=0 failed=0 skipped=0
for lint in static.sh headers.sh sizes.py banned.sh layers.sh codes.sh options.py tables.py \
    generated.sh text.sh shell.sh dockerfiles.py \
    selftest.sh; do
    # the proof that lints can fail is about this folder, not about another one
    if [ "$lint" = selftest.sh ] && [ $# -gt 0 ]; then
        continue
    fi
    output=$("$here/$lint" "$top" 2>&1)
    case $? in
    0)
        passed=$((passed + 1))
        echo "pass  ${lint%.*}"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "skip  ${lint%.*}: ${output#skip: }"
        continue
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL  ${lint%.*}"
        ;;
    esac
    [ -z "$output" ] || printf '%s\n' "$output" | sed 's/^/    /'
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
