#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every text of ours: licence line, blanks, ends of lines, indentation,
# spelling, and words that do not belong into it.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

all=$(mktemp) own=$(mktemp)
trap 'rm -f "$complaints" "$all" "$own"' EXIT
# Recorded environments, machines and inputs are as they were found.
files | grep -vE '^(LICENSE|(tests/(hosts|golden/machines|fuzz/corpus)/.*)|.*\.cases)$' >"$all"
[ -s "$all" ] || complain "no files"

# matches PATTERN TEXT [FILES]: complain about lines that match
matches() {
    tr '\n' '\0' <"${3:-$all}" | xargs -0 -r grep -nIP -e "$1" -- /dev/null |
        cut -c 1-160 | complain_about "$2"
}

# source files say which licence they have
grep -E '(\.(c|h|def|py|sh|in|bash|yml)|^Makefile|^\.ci/.*)$' "$all" >"$own"
while IFS= read -r file; do
    head -n 3 "$file" | grep -qF 'SPDX-License-Identifier: Apache-2.0' ||
        complain "$file: no SPDX line at its top"
done <"$own"
while IFS= read -r file; do
    [ -s "$file" ] || continue
    [ -z "$(tail -c 1 "$file")" ] || complain "$file: no newline at its end"
    [ -n "$(tail -n 1 "$file")" ] || complain "$file: empty lines at its end"
done <"$all"

matches '[ \t]+$' 'blanks at the end'
matches '\r' 'a carriage return'
matches '[^\x00-\x7f]' 'not ASCII' "$own"
grep -E '\.(c|h|def)$' "$all" >"$own"
matches '^ (?! ?\*)' 'indented with blanks, not tabs' "$own"
matches '^\t* +\t' 'a tab after a blank' "$own"
grep -E '\.(py|sh)$|^\.ci/' "$all" >"$own"
matches '^\t' 'indented with a tab, not blanks' "$own"

grep -vE '^tests/lint/(text|selftest)\.sh$' "$all" >"$own"
matches '\b(TODO|FIXME|XXX|HACK)\b' 'unfinished' "$own"
matches '(^|[^A-Za-z0-9_.}-])/(work|root|home/[a-z]+|Users)/' 'a path of one machine' "$own"
matches '<<<<<<<|>>>>>>>' 'left by a merge' "$own"

# Documents by hand, not what is made of tables; the page about the style names the words.
grep -E '^(README\.md|(docs|images)/.*\.md(\.in)?|docs/.*\.8\.in)$' "$all" |
    while IFS= read -r file; do
        [ -f "$file.in" ] || [ "$file" = docs/hacking.md ] || printf '%s\n' "$file"
    done >"$own"
matches "\b([Nn]o|[Ss]ome)body\b|\b[Nn]othing (says|tells)\b" 'who acts?' "$own"
matches '\b(is|are) (not )?so\b|(^|[.:;] )Of ' 'subject, verb, object' "$own"

if has codespell; then
    # mdoc's macro, parts of patterns and words, a name in Open MPI
    words=nd,nam,nown,memor,scoll
    grep -vE '\.8(\.in)?$' "$all" | tr '\n' '\0' |
        xargs -0 -r codespell --quiet-level=3 --ignore-words-list="$words" >>"$complaints"
fi
finish
