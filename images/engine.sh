#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a Docker engine: the one that answers, or one of its own
# that ends with the command (as root; Debian's docker.io is installed if there
# is none). What an own engine stores stays in build/images/docker.
# usage: engine.sh COMMAND [ARG]...
#
# Without an engine the command does not run: a line says why, one more that
# this is 1 skip, and the exit status is 0 (ENGINE_REQUIRED=1 makes it 1).
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
data=$top/build/images/docker
own=

skip() {
    echo "skip no Docker engine: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit "${ENGINE_REQUIRED:-0}"
}

answers() { docker version >/dev/null 2>&1; }

start() {
    [ "$(id -u)" = 0 ] || skip "none answers, and only root can start one"
    if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
        "$top/images/builder/deps.sh" engine || skip "docker.io could not be installed"
    fi
    mkdir -p "$data"
    # in /run, since a socket's path may have 107 bytes and ours could be longer
    run=$(mktemp -d /run/rankinit-engine.XXXXXX)
    DOCKER_HOST=unix://$run/docker.sock
    export DOCKER_HOST
    dockerd --data-root "$data" --exec-root "$run/exec" --pidfile "$run/pid" \
        -H "$DOCKER_HOST" >"$data/../dockerd.log" 2>&1 &
    own=$!
    tries=0
    until answers; do
        tries=$((tries + 1))
        if [ "$tries" -gt 60 ] || ! kill -0 "$own" 2>/dev/null; then
            tail -3 "$data/../dockerd.log" >&2
            stop
            skip "dockerd does not start; see build/images/dockerd.log"
        fi
        sleep 0.5
    done
}

stop() {
    [ -n "$own" ] || return 0
    kill "$own" 2>/dev/null || true
    wait "$own" 2>/dev/null || true
    rm -rf "$run"
    own=
}

[ $# -gt 0 ] || { echo "usage: engine.sh COMMAND [ARG]..." >&2; exit 2; }
answers || start
trap 'stop' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
status=0
"$@" || status=$?
exit "$status"
