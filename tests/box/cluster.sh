#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Slurm of its own on one machine: a controller and NODES daemons, n0, n1, ...
# usage: cluster.sh FOLDER NODES TRACKER
#
# Runs as the first process of namespaces of its own (PID, mount, network), so
# that it needs no ports and nothing is left when it ends, which is when its
# stdin does. Says "ready" when all nodes are idle, or why it cannot be so.
# TRACKER is the part of ProctrackType behind "proctrack/".
set -eu

folder=$1 nodes=$2 tracker=$3
last=$((nodes - 1)) prefix=10.78.0

fail() { echo "no Slurm: $*"; exit 1; }

# Each node has a network and a name of its own; the controller is another host
# of theirs. What runs on one looks for the others by name.
connect() {
    ip link set lo up
    ip link add br0 up type bridge
    ip addr add "$prefix.254/24" dev br0
    mkdir -p /run/netns
    mount -t tmpfs none /run/netns
    echo "127.0.0.1 localhost" >"$folder/hosts"
    echo "$prefix.254 $(hostname)" >>"$folder/hosts"
    for n in $(seq 0 "$last"); do
        ip netns add "n$n"
        ip link add "ton$n" up master br0 type veth peer name eth0 netns "n$n"
        ip -n "n$n" addr add "$prefix.$((n + 1))/24" dev eth0
        ip -n "n$n" link set lo up
        ip -n "n$n" link set eth0 up
        echo "$prefix.$((n + 1)) n$n" >>"$folder/hosts"
    done
    mount --bind "$folder/hosts" /etc/hosts
}

configure() {
    host=$(hostname)
    cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host($prefix.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
ProctrackType=proctrack/$tracker
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=10
NodeName=n[0-$last] CPUs=4 RealMemory=1000
PartitionName=all Nodes=n[0-$last] Default=YES MaxTime=5 State=UP
END
    printf 'CgroupAutomount=yes\nCgroupPlugin=cgroup/v1\n' >"$folder/cgroup.conf"
}

start_munge() {
    key=$folder/munge.key
    head -c 128 /dev/urandom >"$key"
    chmod 600 "$key"
    munged --force --socket="$folder/munge.socket" --key-file="$key" \
        --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
        --seed-file="$folder/munged.seed"
}

start_slurm() {
    mkdir -p "$folder/state"
    slurmctld -f "$folder/slurm.conf"
    for n in $(seq 0 "$last"); do
        mkdir -p "$folder/spool-n$n"
        nsenter --net="/run/netns/n$n" unshare --uts \
            sh -c "hostname n$n && exec slurmd -f '$folder/slurm.conf'"
    done
}

wait_for_nodes() {
    for _ in $(seq 100); do
        [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ] && return
        sleep 0.1
    done
    tail -3 "$folder"/*.log >&2
    return 1
}

export SLURM_CONF="$folder/slurm.conf"
connect || fail "no network interface can be made, or no name"
configure
start_munge || fail "munged does not start"
start_slurm || fail "its daemons do not start"
wait_for_nodes || fail "its nodes do not come up"
echo ready
cat >/dev/null
