#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which room may include which. A row may name only rooms above it: there is no
# circle between rooms. docs/design.md draws the same house.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

rooms=' '
# circles FOLDER FILE NAME...: of its files none uses one that uses it, headers and
# all. Two files with a private header between them are one: these rooms have some.
private=' lib/image lib/model shim/options shim/init '
circles() {
    case $private in
    *" $1 "*) return ;;
    esac
    while read -r file name; do
        user=${file##*/}
        used=${name##*/}
        case $name in
        *.def) continue ;;
        esac
        [ -f "$1/$used" ] && [ "${user%.?}" != "${used%.h}" ] &&
            case $name in
            "${1#*/}/$used" | "$used") echo "${user%.?} ${used%.h}" ;;
            esac
    done | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^ ]*\)$/\1/p' | paste -sd ' ' |
        while read -r names; do
            [ -z "$names" ] || complain "$1: these include each other in a circle: $names"
        done
}
# includes FOLDER: a line "FILE NAME" for each header that its files include
includes() {
    grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1"/*.[ch] /dev/null |
        sed -E 's/:[^"]*"([^"]*)".*/ \1/'
}
# look FOLDER [ROOM...]: its files may include these rooms' headers, and their own
look() {
    folder=$1
    shift
    own=${folder#*/}
    rooms="$rooms$folder "
    includes "$folder" | circles "$folder"
    includes "$folder" |
        while read -r file name; do
            room=${name%/*}
            [ "$folder/$name" != "shim/$room" ] || room=$own
            case " $own $* " in
            *" $room "*) ;;
            *) complain "$file: includes \"$name\"; allowed: $own $*" ;;
            esac
            # a room may have a part on either floor; the lower one knows nothing of the upper
            [ -f "lib/$name" ] || { [ -f "shim/$name" ] && [ "${folder%%/*}" = shim ]; } ||
                complain "$file: includes \"$name\", which is not on a floor that it may use"
        done
    for room in "$@"; do
        case "$rooms" in
        *"/$room "* | *" $room "*) ;;
        *) complain "$folder: its row stands above that of $room" ;;
        esac
    done
}

look lib/base
look lib/node base
look lib/image base node
look lib/demand base image
look lib/output base
look lib/command base
look lib/python base
look lib/redact base
look lib/model base command redact
look lib/from base redact model
look lib/to base model command
look lib/words base model output redact
look lib/report base model output redact words
look lib/play base from
look lib/link base node model command report
look lib/blame base model words report
look lib/hang base model redact from words report

library='base node image demand output command python redact model from to words report play link
 blame hang'
look shim/system base node model
look shim/check base node image demand redact model from report system
look shim/probe base node image check system
look shim/check/fs base node command check
look shim/check/gpu base node image demand check probe system
look shim/check/ib base node image check probe system
look shim/check/net base node check system
look shim/check/mpi base image from check check/ib probe system
look shim/check/host base node check check/ib
# shellcheck disable=SC2086 # words
look shim/options $library check
# shellcheck disable=SC2086
look shim/preflight $library system check options
# shellcheck disable=SC2086
look shim/launch $library system options
# shellcheck disable=SC2086
look shim/say $library system check check/fs options
# shellcheck disable=SC2086
look shim/link $library system options launch say
# shellcheck disable=SC2086
look shim/hang $library system options launch say
# shellcheck disable=SC2086
look shim/init $library system check options launch say
# shellcheck disable=SC2086
look shim/judge $library system launch link hang init
look shim/play base node from report command output system options launch link hang init
# shellcheck disable=SC2086
look shim $library system check options preflight launch say init judge

for folder in $(find lib shim -mindepth 1 -type d | sort); do
    case $rooms in
    *" $folder "*) ;;
    *) complain "$folder: no row in layers.sh" ;;
    esac
done
# The picture in docs/design.md has each of them, in this order.
drawn=$(sed -nE 's@^    ((lib|shim)[a-z/]*) .*@\1@p' docs/design.md | tr '\n' ' ')
[ " $drawn" = "$rooms" ] || complain "docs/design.md: draws $drawn, the rows here are$rooms"
for file in lib/*.[ch]; do
    [ ! -e "$file" ] || complain "$file: not in a room"
done
finish
