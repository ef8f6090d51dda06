#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a script in a root that stays as it is: what is written goes to SCRATCH.
# usage: unshare --mount --pid --ipc --uts --fork --kill-child enter.sh ROOT SCRATCH ARCHIVES \
#            FOLDER SCRIPT
#
# ARCHIVES takes the packages that apt fetches. FOLDER is /release there, where the
# script runs.
set -eu

lower=$1 scratch=$2 archives=$3 folder=$4 script=$5
root=$scratch/root
mkdir -p "$scratch/upper" "$scratch/work" "$root"
mount --make-rprivate /
mount -t overlay -o "lowerdir=$lower,upperdir=$scratch/upper,workdir=$scratch/work" root "$root"
mkdir -p "$root/release"
mount --bind "$folder" "$root/release"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$archives" "$root/var/cache/apt/archives"
cp /etc/resolv.conf "$root/etc/resolv.conf"

# The shell stays, as process 1: it reaps what others leave behind.
# shellcheck disable=SC2016 # for that shell
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$root" sh -c 'cd /release; sh -euc "$1"; exit $?' sh "$script"
