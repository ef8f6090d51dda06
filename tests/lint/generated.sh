#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documents that are made from the program's own tables are up to date.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
[ -f docs/generate.py ] || skip "there is no docs/generate.py"
[ -x build/rankinit ] || skip "build/rankinit is not built"
python3 -B docs/generate.py --check >>"$complaints" 2>&1 ||
    complain "docs are stale: make docs"
[ "$(tail -n 1 "$complaints")" = "docs are stale: make docs" ] || : >"$complaints"
finish
