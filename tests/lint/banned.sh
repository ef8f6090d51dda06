#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions that are not to be called, and where. The exceptions stand below.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# No bounds, no errors, hidden state, locale, name service, a shell.
anywhere='strcpy|strcat|sprintf|vsprintf|gets|strtok|strtok_r|atoi|atol|atoll|atof|sscanf'
anywhere="$anywhere|strto(l|ll|ul|ull|f|d|ld|imax|umax)|getenv|secure_getenv|setenv|putenv"
anywhere="$anywhere|system|popen|signal|alloca|longjmp|rand|random|mktemp|tmpnam"
anywhere="$anywhere|gethostby[a-z_]*|getpw[a-z_]*|getgr(nam|gid|ent|ouplist)[a-z_]*|getaddrinfo"
anywhere="$anywhere|getnameinfo|initgroups|dlopen|dlsym|pthread_[a-z_]*"
anywhere="$anywhere|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|fputc|perror"
anywhere="$anywhere|fopen|fdopen|fwrite|fread|scanf|fflush|getline"
memory='malloc|calloc|realloc|free|strdup|strndup|asprintf|vasprintf'
# The library is pure: it neither prints nor ends nor starts anything.
effects='exit|_exit|_Exit|abort|quick_exit|assert|fork|vfork|clone|clone3|daemon'
effects="$effects|exec[lv]p?e?|execvpe|fexecve|posix_spawnp?|kill|raise|write|dprintf|syslog"
words_in_lib='environ|stdout|stderr'

lines=$(mktemp) kept=$(mktemp)
trap 'rm -f "$complaints" "$lines" "$kept"' EXIT
tab=$(printf '\t')
code lib shim >"$lines"
code --strings lib >"$kept"
[ -s "$lines" ] || complain "no code"
[ -s "$kept" ] || complain "no code in the library"

# look FUNCTIONS WHY: complain about calls of them in the lines of code on standard input
look() {
    grep -E "(^|[^A-Za-z0-9_.>])($1) *\\(" | sed "s|$tab|: $2: |" >>"$complaints"
}

# probe.c is a program of its own, which loads what it is to try
grep -vE "^shim/(probe/probe|system/name_service|launch/launch)\\.c$tab" "$lines" |
    look "$anywhere" banned
# for children of ours, since it blocks
grep "^shim/system/name_service\\.c$tab" "$lines" |
    look "$(echo "$anywhere" | sed 's/|getaddrinfo|/|/')" banned
# one, into a buffer that was measured for it
grep "^shim/launch/launch\\.c$tab" "$lines" |
    look "$(echo "$anywhere" | sed 's/|sprintf|/|/')" banned
count=$(grep "^shim/launch/launch\\.c$tab" "$lines" | grep -cE '(^|[^a-z])sprintf *\(')
[ "$count" -le 1 ] || complain "shim/launch/launch.c: $count times sprintf, one is allowed"
# what jansson returns is to be freed
grep -v "^shim/say/print\\.c$tab" "$lines" | look "$memory" 'memory comes from the arena'
grep '^lib/' "$lines" | look "$effects" 'the library has no effects'
grep -E "^lib/.*$tab(.*[^A-Za-z0-9_])?($words_in_lib)([^A-Za-z0-9_]|\$)" "$lines" | cut -f 1 |
    sort -u | while IFS= read -r file; do
        complain "$file: the library knows no $words_in_lib"
    done
# strings are kept here: an absolute path that is opened directly
grep -E '[^A-Za-z0-9_](open|openat|stat|lstat|access|readlink|opendir) *\([^"]*"/' "$kept" |
    sed "s|$tab|: an absolute path in the library: |" >>"$complaints"
finish
