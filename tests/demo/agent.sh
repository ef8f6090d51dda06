#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the place of ssh: run the launcher's daemon here, under another host's
# name, so that one machine is several nodes. usage: agent.sh [-x] HOST COMMAND...
# AGENT_NETNS: in the network namespace of this name and the host's after it.
# AGENT_HOSTS: where a host that is given by its address has its name.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
if [ -n "${AGENT_HOSTS-}" ]; then
    name=$(sed -n "s/^$host //p" "$AGENT_HOSTS")
    host=${name:-$host}
fi
exec ${AGENT_NETNS:+ip netns exec "$AGENT_NETNS$host"} unshare --uts sh -c "hostname $host; $*"
