#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every lint can fail: each is shown a tree that is broken in the ways which it
# is there for, and must name every one of them.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
[ -x build/rankinit ] || skip "build/rankinit is not built"
for tool in gcc ctags shellcheck; do
    has "$tool" || skip "there is no $tool"
done

copies=$(mktemp -d)
trap 'rm -rf "$complaints" "$copies"' EXIT

# whole: into a copy of the tree, in which the next things are broken
whole() {
    tree=$copies/whole
    cd "$tree" || exit 2
}

# small: into an empty tree, for a lint that looks at each file alone
small() {
    tree=$copies/small
    rm -rf "$tree"
    mkdir -p "$tree/lib/base" "$tree/shim" "$tree/tests"
    cd "$tree" || exit 2
}

# expect LINT PATTERN...: it fails there, with a line for each pattern
expect() {
    lint=$1
    shift
    if "$lints/$lint" "$tree" >"$copies/out" 2>&1; then
        complain "$lint: passes a broken tree"
    fi
    for pattern; do
        grep -qE -e "$pattern" "$copies/out" || complain "$lint: does not find: $pattern"
    done
}

mkdir -p "$copies/whole/build"
files | grep -vE '^tests/(hosts|fuzz/corpus)/' | tar -cf - -T - | tar -xf - -C "$copies/whole"
cp build/rankinit "$copies/whole/build"
whole

cat >big.c <<'EOF'
char big[1130000] = { 1 };
const char *const file = "/etc/nsswitch.conf";
int main(void) { return file[0] + big[0]; }
EOF
gcc -z execstack -o build/rankinit big.c
mkdir -p build/release
echo 'int getaddrinfo(void); int f(void); int f(void) { return getaddrinfo(); }' |
    tee f.c | gcc -x c -fno-builtin -w -c -o build/release/f.o -
expect static.sh PT_INTERP PT_DYNAMIC 'stack is executable' 'bytes, the limit' nsswitch.conf \
    'f.o: uses getaddrinfo'
gcc -nostdlib -static -w -Wl,-N,-e,main -o build/rankinit big.c 2>/dev/null
expect static.sh 'writable and executable'
rm big.c f.c

small
cp "$top/lib/base/error.h" "$top/lib/base/limits.h" lib/base
printf 'struct alone { size_t unknown; };\n' >lib/base/alone.h
sed 's/RI_BASE_[A-Z]*_H/RI_BASE_ERROR_H/' "$top/lib/base/text.h" >lib/base/twin.h
expect headers.py 'alone.h: no include guard' 'alone.h: the first line' \
    'alone.h: does not compile' 'RI_BASE_ERROR_H: guards two'

whole
{
    printf 'int long_function(void)\n{\n'
    i=0
    while [ $i -lt 90 ]; do
        printf '\tlong_function();\n'
        i=$((i + 1))
    done
    for tabs in '\t' '\t\t' '\t\t\t' '\t\t\t\t' '\t\t\t\t\t'; do
        printf '%bif (1)\n' "$tabs"
    done
    printf '\t\t\t\t\t\treturn 1;\n\treturn 0; /* %0100d */\n}\n' 0
} >lib/base/sizes.c
yes '' | head -n 601 >lib/base/long.h
expect sizes.py 'long_function has 10[0-9] lines' 'long_function nests 5 deep' \
    'long.h has 601 lines' 'sizes.c:[0-9]*: 1[0-9]* columns'
rm lib/base/sizes.c lib/base/long.h

small
mkdir shim/launch && cp "$top/shim/launch/launch.c" shim/launch
cat >lib/base/bad.c <<'EOF'
/* strcpy(a, b) in a comment, and "atoi(3)" in a string, are nothing */
int f(void)
{
    strcpy(a, b);
    strtol(a, b, 0);
    getenv("A");
    printf("a");
    malloc(1);
    exit(1);
    fork();
    open("/etc/passwd", 0);
    return environ != 0;
}
EOF
cat >shim/bad.c <<'EOF'
int f(void)
{
    free(a);
    sprintf(a, "b");
    return fprintf(stderr, "a");
}
EOF
expect banned.sh 'base/bad.c: banned: strcpy' 'banned: .*strtol' 'banned: .*getenv' \
    'bad.c: banned: .*printf' 'bad.c: memory' 'no effects: .*exit' 'no effects: .*fork' \
    'absolute path' 'knows no' 'shim/bad.c: memory' 'shim/bad.c: banned: sprintf' \
    'shim/bad.c: banned: .*fprintf'
printf 'int f(void)\n{\n\t/* atoi(a) */\n\treturn g("atoi(b)");\n}\n' >lib/base/bad.c
rm shim/bad.c
"$lints/banned.sh" "$tree" >/dev/null || complain "banned.sh: takes a comment for a call"

whole
echo '#include "model/topology.h"' >>lib/base/error.c
echo '#include "to/to.h"' >>lib/from/env.c
echo '#include "system/log.h"' >>lib/model/derive.c
echo '#include "from/from.h"' >>lib/from/sources.h
mkdir lib/new
expect layers.sh 'lib/from: these include each other in a circle: .*sources' \
    'base/error.c: includes "model' 'from/env.c: includes "to' \
    'derive.c: includes "system/log.h"' 'lib/new: no row'
rmdir lib/new

mkdir -p build/release/lib/base build/release/lib/words build/release/shim/say \
    build/release/shim/init
for number in 1 2 3 4 5; do
    echo "ping$number lib/base pong$number"
    echo "pong$number lib/base ping$number"
done >pairs
printf '%s\n' 'over shim/say under' 'under lib/base over' 'ri_parse lib/words none' \
    'say shim/say ri_parse' 'read shim/say ri_words_read' 'ri_words_read lib/words none' \
    'asks shim/init ri_parse' 'writes shim/init json_dumps' >>pairs
while read -r name folder other; do
    echo "int $name(void); int $other(void); int $name(void) { return $other(); }" \
        >"$folder/$name.c"
    gcc -c -o "build/release/$folder/$name.o" "$folder/$name.c"
done <pairs
printf 'enum { REAP_MS = 1 };\nstruct ri_arena {\n};\n' >>lib/base/ping1.c
seq 20000 >shim/say/long.def
echo 'int n = strstr(text, "was stopped");' >>shim/say/over.c
mkdir shim/twice
for file in lib/base/*.c; do
    echo >"shim/twice/${file##*/}"
done
for number in 1 2 3; do
    echo 'RI_OPTION(more, ' >>shim/options/options.def
    echo 'RI_CHECK(more, ' >>shim/check/checks.def
done
expect house.py '^lines: ' '^files with a REAP_MS: .* lib/base/ping1.c' \
    '^file names in several rooms: .* arena.c' '^files that search messages: .* shim/say/over.c' \
    '^circles of calls.*lib/base/ping5 lib/base/pong5' '^options: ' '^checks: ' \
    "^parsers of a rank's words .* shim/say/read:ri_words_read shim/say/say:ri_parse" \
    '^symbols of parsers in shim/init: .* shim/init/asks:ri_parse shim/init/writes:json_dumps' \
    '^struct ri_arena is defined in lib/base/arena.h and lib/base/ping1.c' \
    '^these rooms call each other in a circle: lib/base shim/say'
rm -r build/release pairs lib/base/p[io]ng[1-5].c lib/base/under.c shim/say/*.def shim/say/over.c
rm lib/words/ri_*.c shim/say/read.c shim/say/say.c shim/init/asks.c shim/init/writes.c
rm -r shim/twice

echo 'RI_CODE(NEVER_USED, "never.used", 125, "nobody says it")' >>lib/base/codes.def
echo 'RI_CODE(MEMORY2, "memory", 125, "twice")' >>lib/base/codes.def
expect codes.sh 'NEVER_USED is used nowhere' '^memory: stands twice'

cp "$top/build/rankinit" build/real
cat >build/rankinit <<'EOF'
#!/bin/sh
case $1 in
--list=options)
    build/real "$1" | sed '/^--grace/d; s/RANKINIT_USER/RANKINIT_WHO/'
    printf -- '--new\tn\trequired\t-\t-\tRANKINIT_NEW\t\n'
    ;;
--help)
    build/real "$1" | sed '/^Hangs:$/,/^$/d; s/^Output:/--other\n&/' |
        sed 's/--state=FILE  */&rankinit remembers, which takes more columns /'
    seq 100
    ;;
--list=codes)
    build/real "$1" | sed 's/^memory	125/memory	1/'
    printf 'new.code\t125\tnew\n'
    ;;
*) build/real "$@" ;;
esac
EOF
chmod +x build/rankinit
expect options.py '--new: not in --help' '--new: not in docs/rankinit.8' '--new: no help' \
    '--help has [0-9]* lines, the limit' 'wider than 79' 'no option is under Hangs' \
    '--other: in --help, but' '--other: under no title' \
    '--grace: in docs/rankinit.8, but' 'twin is called RANKINIT_WHO' \
    'new.code: not in docs/codes.md' 'memory: exit status 1,' 'new: takes a value'
mv build/real build/rankinit

sed -i '/^RI_SOURCE(env)/d' lib/from/sources.def
echo 'RI_SOURCE(ghost)' >>lib/from/sources.def
echo 'RI_FRAMEWORK(ghost)' >>lib/to/frameworks.def
sed -i '/^const struct ri_source ri_source_lws/,/^}/s/RI_SHAPES(/RI_HIDDEN(/' lib/from/kubernetes.c
sed -i 's/^\t\.detect = sees_ranks_over_ssh,/\tRI_SHAPES(),\n&/' lib/from/env.c
: >tests/golden/stray.cases
sed -i 's/RI_BIND_NUMA,/RI_BIND_SOCKET,/' lib/node/place.h
expect tables.py 'sources.def: ghost is defined' 'env.c: env is not in' \
    'sources.md: no section for ghost' 'sources.md: a section for env' \
    'golden/ghost.cases: no such' 'golden/stray.cases: not the name' \
    'frameworks.def: ghost is defined' 'kubernetes.c: lws has no RI_SHAPES' \
    'env.c: pid1 has RI_SHAPES' 'bind_to: enum ri_bind is not'

sed -i 's/^static void kill_now(/static void kill_then(/' shim/init/phases.c
sed -i 's/test_other_signals_reach_every_rank/test_none/' docs/design.md
expect unasked.py 'phases.c:kill_then: docs/design.md has no row for' \
    'phases.c:kill_now is not there' 'test_fanout_end.py:test_none is not there'

if [ -f docs/generate.py ]; then
    echo 'a line by hand' >>docs/codes.md
    expect generated.sh 'docs are stale'
fi

small
misspelt=$(printf 'reci%s' eve)
{
    printf '#!/bin/sh\n# T%s \nwhile true; do\n\techo\n' 'ODO'
    printf 'done # %s from /%s/main\r' "$misspelt" 'work'
} >tests/bad.sh
printf 'int f(void)\n{\n    return 1;\n}\nchar s[] = "nobody is so";\n\n' >lib/base/bad.c
mkdir -p docs
printf 'Nobody\nnothing says that\nthis is not so\nIt ends. Of these all\n' >docs/bad.md
spelling='bad.sh'
if has codespell; then
    spelling="$misspelt ==>"
fi
expect text.py "$spelling" 'bad.sh: no SPDX' 'bad.sh: no newline' 'bad.sh:2:.*blanks at the end' \
    'bad.sh:.*carriage return' 'bad.sh:.*indented with a tab' 'bad.sh:.*unfinished' \
    'bad.sh:.*path of one machine' 'bad.c:3:.*indented with blanks' 'bad.c: empty lines' \
    'bad.c: no SPDX' 'bad.c:5:.*who acts' 'bad.c:5:.*subject, verb' \
    'bad.md:1:.*who acts' 'bad.md:2:.*who acts' 'bad.md:3:.*subject, verb' \
    'bad.md:4:.*subject, verb'
rm docs/bad.md

# shellcheck disable=SC2016
printf '#!/bin/sh\necho $1 `date`\n' >tests/bad.sh
printf 'def broken(:\n' >tests/bad.py
expect shell.sh 'bad.sh:2.*SC2086' 'bad.sh: not executable' 'bad.py: invalid syntax'

whole
mkdir -p images/bad
cat >images/bad/Dockerfile <<'EOF'
# syntax=docker/dockerfile:1
ARG OTHER_IMAGE=registry.example.org/other:latest
FROM debian:12
COPY --from=other:1 --chmod=755 /x /x
ADD https://example.org/x /x
RUN --mount=type=cache,target=/x true
RUN apt-get install gcc && cd /x
RUN pip install torch | tee log
RUN apt update
RUN echo $HOME
HEALTHCHECK CMD true
WORKDIR here
ENTRYPOINT rankinit
USER root
EOF
sed -i '/ucx-utils/d' images/cuda/Dockerfile
sed -i 's/^ARG RANKINIT_IMAGE=.*/ARG RANKINIT_IMAGE=rankinit-builder:0.0.1/' images/base/Dockerfile
expect dockerfiles.py 'bad/Dockerfile:1: a syntax' 'no ARG BASE_IMAGE' 'DL3007' \
    'name of a registry' 'FROM debian:12' 'DL3022' 'no such COPY' 'DL3020' 'with options' \
    'without apt-get update' 'DL3015' 'DL3014' 'DL3009' 'DL3003' 'DL3042' 'DL4006' 'DL3027' \
    'SC2086' 'HEALTHCHECK' 'DL3000' 'DL3025' 'DL3002' 'no label' 'images/bad: no README' \
    'images/bad: no test_bad.py' 'cuda/Dockerfile: lacks .*apt-get' 'base.*not this version'

sed -i 's/^VERSION := .*/VERSION := 9.8.7/' Makefile
printf '\n## 0.0.1, not released\n\n## later\n' >>docs/NEWS.md
expect version.py 'README.md:[0-9]*: what is in [0-9.]*: VERSION is 9.8.7' \
    'install.md:[0-9]*: rankinit_' 'base/Dockerfile:[0-9]*: ARG VERSION=' 'VERSION:-' \
    'rankinit.8.in:[0-9]*: such as' 'the first news are of' '0.0.1 is not released' \
    '"## later" is no version'
"$lints/version.py" --write "$tree" >"$copies/out" 2>&1
grep -q ': VERSION is' "$copies/out" && complain "version.py: --write leaves a version"
grep -q 'what is in 9.8.7' README.md || complain "version.py: --write writes nothing"

cd "$top" || exit 2

# Where check.py takes a sample each kind of test has one, and a core names what is there.
kinds() {
    /usr/bin/python3 -B -m pytest -q --collect-only -p no:cacheprovider -p tests.kinds "$1" |
        sed -n 's/^\(tests[^[ ]*::[^[ ]*\).*/\1/p' >"$copies/kinds"
    sort -u "$copies/kinds" >"$copies/each"
}
if /usr/bin/python3 -B -m pytest --version >/dev/null 2>&1; then
    (unset CHECK_SAMPLE && kinds tests/behaviour/test_status.py)
    cp "$copies/each" "$copies/all"
    cmp -s "$copies/kinds" "$copies/all" && complain "kinds.py: no kind has two tests"
    (export CHECK_SAMPLE=1 && kinds tests/behaviour/test_status.py)
    sort "$copies/kinds" | cmp -s - "$copies/all" || complain "kinds.py: not one of each kind"
    for suite in tests/frameworks images/compose; do
        (export CHECK_CORE=1 && /usr/bin/python3 -B -m pytest -q --collect-only \
            -p no:cacheprovider -p tests.kinds "$suite") >"$copies/out" 2>&1 ||
            complain "kinds.py: a test that CORE names is not in $suite: $(tail -n 1 "$copies/out")"
    done
fi
finish
