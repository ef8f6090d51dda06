# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the lints: . common.sh, with the folder to be looked at in $1 (default:
# the one that this file belongs to). A lint complains, then finishes.

lints=$(cd "$(dirname "$0")" && pwd)
top=$(cd "${1:-$lints/../..}" && pwd)
cd "$top" || exit 2
LC_ALL=C
export LC_ALL
complaints=$(mktemp)
trap 'rm -f "$complaints"' EXIT

# complain WORD...: one thing that is wrong
complain() {
    printf '%s\n' "$*" >>"$complaints"
}

# complain_about TEXT: for each line of standard input, "line: TEXT"
complain_about() {
    sed "s|\$|: $1|" >>"$complaints"
}

# skip REASON: nothing can be said here
skip() {
    printf 'skip: %s\n' "$*"
    exit 77
}

finish() {
    cat "$complaints"
    [ ! -s "$complaints" ]
    exit
}

# Every file of the source tree: what git knows or would add, else all.
files() {
    if [ -e .git ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f ! -path './build/*' ! -name '*.pyc' | sed 's|^\./||'
    fi | sort | while IFS= read -r file; do
        [ -f "$file" ] && printf '%s\n' "$file"
    done
}

# Files of C under these folders: sources DIR...
sources() {
    find "$@" -name '*.[ch]' -type f | sort
}

# code [--strings] DIR...: "FILE<tab>LINE" for what code.py leaves of their C
code() {
    python3 -B "$lints/code.py" "$@"
}

has() {
    command -v "$1" >/dev/null 2>&1
}
