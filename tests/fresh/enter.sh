#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command in a root, with all that a privileged container has.
# usage: unshare --mount --pid --ipc --uts --fork enter.sh ROOT ARCHIVES FOLDER COMMAND [ARG]...
#
# ARCHIVES takes the packages that apt fetches, FOLDER of ROOT is where the command runs.
set -eu

root=$1 archives=$2 folder=$3
shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t devpts -o newinstance,gid=5,mode=620,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t tmpfs -o mode=755 run "$root/run"
mount --bind "$archives" "$root/var/cache/apt/archives"
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 %s\n' "$(hostname)" >"$root/etc/hosts"

# Not by chroot: `unshare --mount-proc` wants a mount at /.
cd "$root"
pivot_root . .
umount -l .
cd "$folder"
# The shell stays, as process 1: it reaps what others leave behind.
# shellcheck disable=SC2016 # for that shell
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    sh -c '"$@"; exit $?' sh "$@"
