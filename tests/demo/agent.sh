#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the place of ssh: run the launcher's daemon here, under another host's
# name, so that one machine is several nodes. usage: agent.sh [-x] HOST COMMAND...
# AGENT_NETNS: in the network namespace of this name and the host's after it.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec ${AGENT_NETNS:+ip netns exec "$AGENT_NETNS$host"} unshare --uts sh -c "hostname $host; $*"
