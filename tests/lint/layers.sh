#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which layer may include which: base <- model <- from, to, report <- shim.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# look FOLDER ALLOWED: the folders whose headers its files may include
look() {
    for file in $(sources "$1"); do
        sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/p' "$file" |
            grep -vE "^($2)/[a-z0-9_]+\\.(h|def)\$" |
            while IFS= read -r name; do
                complain "$file: includes \"$name\"; allowed: $2"
            done
    done
}

look lib/base 'base'
look lib/node 'base|node'
look lib/model 'base|model'
look lib/from 'base|model|from'
look lib/to 'base|model|to'
look lib/output 'base|output'
look lib/report 'base|model|report'
for file in lib/*.h; do
    grep -nE '#include "(\.\.|shim)' "$file" | complain_about "$file: not of the library"
done
for folder in lib/*/; do
    case $folder in
    lib/base/ | lib/node/ | lib/model/ | lib/from/ | lib/to/ | lib/output/ | lib/report/) ;;
    *) complain "$folder: no rule in layers.sh" ;;
    esac
done
# A header that is found only from its own folder would hide its layer.
for file in $(sources shim); do
    sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/p' "$file" |
        while IFS= read -r name; do
            [ -f "lib/$name" ] || [ -f "shim/$name" ] ||
                complain "$file: includes \"$name\", which is neither below lib/ nor shim/"
        done
done
finish
