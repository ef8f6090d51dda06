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
last=$((nodes - 1))

fail() { echo "no Slurm: $*"; exit 1; }

# Its daemons resolve names only where some address is not a loopback one, and
# what runs on its nodes looks for them by name.
connect() {
    ip link set lo up
    ip link add eth0 up type veth peer name eth1
    ip addr add 10.78.0.1/24 dev eth0
    echo "127.0.0.1 localhost" >"$folder/hosts"
    echo "10.78.0.1 $(hostname) $(seq -s ' ' -f 'n%g' 0 "$last")" >>"$folder/hosts"
    mount --bind "$folder/hosts" /etc/hosts
}

configure() {
    host=$(hostname)
    where="NodeHostname=$host NodeAddr=127.0.0.1"
    cat >"$folder/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
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
NodeName=n[0-$last] $where Port=[17000-$((17000 + last))] CPUs=4 RealMemory=1000
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
        slurmd -f "$folder/slurm.conf" -N "n$n"
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
