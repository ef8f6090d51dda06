#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [FOLDER]: every lint over the source tree in FOLDER (default: this
# one), as many at a time as there are CPUs. One line for each, then the sum; 0
# if none failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "${1:-$here/../..}" && pwd)
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
passed=0 failed=0 skipped=0
lints='static.sh headers.py sizes.py banned.sh layers.sh house.py codes.sh options.py
    tables.py unasked.py generated.sh text.py shell.sh dockerfiles.py version.py'
# the proof that lints can fail is about this folder, not about another one
[ $# -gt 0 ] || lints="$lints selftest.sh"

# the last one takes longest, so it begins
# shellcheck disable=SC2016,SC2086
printf '%s\n' $lints | tac | xargs -P "$(nproc)" -I '{}' sh -c '
    "$1/{}" "$2" >"$3/{}" 2>&1
    echo $? >"$3/{}.status"' run.sh "$here" "$top" "$said"
for lint in $lints; do
    output=$(cat "$said/$lint")
    case $(cat "$said/$lint.status") in
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
