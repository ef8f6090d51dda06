/* SPDX-License-Identifier: Apache-2.0 */
/* The master of a job whose ranks are all started here. */
#ifndef RI_SHIM_LOCAL_MASTER_H
#define RI_SHIM_LOCAL_MASTER_H

#include "base/finding.h"
#include "model/topology.h"

/*
 * Rank 0 of such a job is on this machine. A MASTER_ADDR that is neither its name
 * nor one of its addresses was left behind, by a shell or an image, and every rank
 * would wait for it: the master is 127.0.0.1 then, with a finding. What an option
 * states stays, and so does what an orchestrator that counts one node says.
 */
void ri_local_master_settle(struct ri_topology *topology, struct ri_findings *findings);

#endif
