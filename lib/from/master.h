/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own MASTER_ADDR, where it cannot be what the user means. */
#ifndef RI_FROM_MASTER_H
#define RI_FROM_MASTER_H

#include "base/finding.h"
#include "model/topology.h"

/*
 * On several nodes a MASTER_ADDR of "localhost" is a leftover, as an image's:
 * each of them would wait for itself. Where somebody says better that wins,
 * with a warning. What the identity's own launcher set stays.
 */
void ri_master_settle(struct ri_topology *topology, struct ri_findings *findings);

#endif
