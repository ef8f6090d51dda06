/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a node in its job, which one rankinit of a network has: a second one in the pod
 * (kubectl exec, a sidecar) has the pod's variables, too, but is no node. It is the name of a
 * socket, which the kernel takes back with the last process that has it open.
 */
#ifndef RI_SHIM_LINK_NODE_SOCKET_H
#define RI_SHIM_LINK_NODE_SOCKET_H

#include <stdint.h>

#include "link/seal.h"

/*
 * Take it. Returns the descriptor, or -1 and errno: EADDRINUSE where another process has it, also
 * half a second later, as one that was killed a moment ago has not.
 */
int ri_link_place_take(const unsigned char job_key[RI_SEAL_KEY], uint64_t node);

#endif
