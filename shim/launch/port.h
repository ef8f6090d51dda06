/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_PORT_H
#define RI_SHIM_PORT_H

#include "base/finding.h"
#include "model/topology.h"

/*
 * A job whose ranks are all started here meets at a port of its own where the
 * usual one is taken, unless somebody stated that one. On several nodes all
 * of them would have to agree, so there nothing is done.
 */
void ri_port_settle(struct ri_topology *topology, struct ri_findings *findings);

#endif
