#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions that are not to be called, and where. The exceptions stand below.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
has gcc || skip "there is no gcc"

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

# look FILE FUNCTIONS WHY
look() {
    code "$1" | grep -E "(^|[^A-Za-z0-9_.>])($2) *\\(" | sed 's/^[[:space:]]*//' |
        while IFS= read -r line; do
            complain "$1: $3: $line"
        done
}

for file in $(sources lib shim); do
    case $file in
    # a program of its own, which loads what it is to try
    shim/probe/probe.c) ;;
    # for children of ours, since it blocks
    shim/system/name_service.c)
        look "$file" "$(echo "$anywhere" | sed 's/|getaddrinfo|/|/')" "banned"
        ;;
    # one, into a buffer that was measured for it
    shim/launch/launch.c) look "$file" "$(echo "$anywhere" | sed 's/|sprintf|/|/')" "banned" ;;
    *) look "$file" "$anywhere" "banned" ;;
    esac
    case $file in
    shim/say/print.c) ;;    # what jansson returns is to be freed
    *) look "$file" "$memory" "memory comes from the arena" ;;
    esac
    case $file in
    lib/*)
        look "$file" "$effects" "the library has no effects"
        code "$file" | grep -qE "(^|[^A-Za-z0-9_])($words_in_lib)([^A-Za-z0-9_]|\$)" &&
            complain "$file: the library knows no $words_in_lib"
        # strings are kept here: an absolute path that is opened directly
        gcc -fpreprocessed -dD -E -P -x c "$file" 2>/dev/null |
            grep -E '(^|[^A-Za-z0-9_])(open|openat|stat|lstat|access|readlink|opendir) *\([^"]*"/' |
            while IFS= read -r line; do
                complain "$file: an absolute path in the library: $line"
            done
        ;;
    esac
done
count=$(code shim/launch/launch.c | grep -cE '(^|[^a-z])sprintf *\(')
[ "$count" -le 1 ] || complain "shim/launch/launch.c: $count times sprintf, one is allowed"
finish
