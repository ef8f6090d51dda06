#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build/rankinit: static, small, nothing writable is executable, and no name
# service inside.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
limit=965000
binary=build/rankinit
undefined=$(mktemp)
trap 'rm -f "$complaints" "$undefined"' EXIT
[ -f "$binary" ] || skip "$binary is not built"

segments=$(readelf -lW "$binary") || complain "$binary: not an ELF file"
for segment in INTERP DYNAMIC; do
    printf '%s\n' "$segments" | grep -q "^  $segment" && complain "$binary: has PT_$segment"
done
printf '%s\n' "$segments" | grep '^  GNU_STACK' | grep -q 'RWE' &&
    complain "$binary: the stack is executable"
printf '%s\n' "$segments" | grep -q '^  GNU_STACK' ||
    complain "$binary: has no PT_GNU_STACK, so the stack is executable"
printf '%s\n' "$segments" | grep '^  LOAD' | grep -q 'RWE' &&
    complain "$binary: a segment is writable and executable"
size=$(wc -c <"$binary")
[ "$size" -le "$limit" ] || complain "$binary: $size bytes, the limit is $limit"
# What a name service switch and a dynamic loader cannot do without. musl's
# resolver, which reads files only, is there for --wait-master.
strings "$binary" | grep -oE '/etc/nsswitch\.conf|lib/ld-musl|ld-linux|libnss_' | sort -u |
    sed "s|^|$binary: contains |" >>"$complaints"

forbidden='dlopen|dlsym|getaddrinfo|getnameinfo|gethostby[a-z_]*|getpw[a-z_]*'
forbidden="$forbidden|getgr(nam|gid|ent|ouplist)[a-z_]*|initgroups|system|popen|pthread_create"
[ -d build/release ] || complain "build/release: no objects to look into"
except="dlopen|dlsym|${forbidden#*getaddrinfo|}"
find build/release -name '*.o' 2>/dev/null | while IFS= read -r object; do
    source=${object#build/release/}
    [ ! -f "${source%.o}.c" ] || printf '%s\n' "$object"   # not of a file that has gone
done | xargs nm -A -u 2>/dev/null | sort >"$undefined"
grep -v '^build/release/shim/system/name_service\.o:' "$undefined" |
    sed -nE "s@^([^:]*): *U ($forbidden)\$@\\1: uses \\2@p" >>"$complaints"
grep '^build/release/shim/system/name_service\.o:' "$undefined" |
    sed -nE "s@^([^:]*): *U ($except)\$@\\1: uses \\2@p" >>"$complaints"
finish
