#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build/rankinit: static, small, nothing writable is executable, and no name
# service inside.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
limit=640000
binary=build/rankinit
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
for string in /etc/nsswitch.conf lib/ld-musl ld-linux libnss_; do
    strings "$binary" | grep -qF "$string" && complain "$binary: contains $string"
done

forbidden='dlopen|dlsym|getaddrinfo|getnameinfo|gethostby[a-z_]*|getpw[a-z_]*'
forbidden="$forbidden|getgr(nam|gid|ent|ouplist)[a-z_]*|initgroups|system|popen|pthread_create"
[ -d build/release ] || complain "build/release: no objects to look into"
find build/release -name '*.o' 2>/dev/null | sort | while IFS= read -r object; do
    source=${object#build/release/}
    [ -f "${source%.o}.c" ] || continue     # of a file that has gone
    here=$forbidden
    [ "$object" = build/release/shim/system/name_service.o ] &&
        here="dlopen|dlsym|${forbidden#*getaddrinfo|}"
    nm -u "$object" | sed -nE "s@^ *U ($here)\$@$object: uses \\1@p"
done >>"$complaints"
finish
