/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where rank 0 listens, if it is on this machine; and --wait-master: no rank starts before the
 * master's name resolves. Where pods get their names when they start, frameworks give up long
 * before the last one has (kubeflow/pytorch-operator issues 125 and 333).
 */
#ifndef RI_SHIM_LAUNCH_MASTER_H
#define RI_SHIM_LAUNCH_MASTER_H

#include <stdbool.h>

#include "model/topology.h"
#include "options/options.h"
#include "report/restarts.h"

/*
 * Can a process of this machine listen at that host, by its name or one of its
 * addresses? Yes in doubt. No name is resolved.
 */
bool ri_is_local_master(const char *host);

/* The usual port, or another one that is free where that is in use on this machine, or 0. */
unsigned ri_port_pick(unsigned usual);

/*
 * The same for a job whose ranks are all started here: until it ends no other rankinit takes this
 * port. The next attempt of a job has what the one before it held.
 */
unsigned ri_port_take(unsigned usual);

/* What this process holds. */
extern struct ri_carried_port ri_port_held;

/*
 * Wait, if the option says so. Returns 0 when there is nothing (more) to wait
 * for, 128 + its number when a signal that means a stop came, or -1 with
 * RI_CODE_MASTER_UNRESOLVED or SPAWN_REFUSED.
 */
int ri_master_wait(const struct ri_options *options, const struct ri_topology *topology,
	struct ri_error *err);

#endif
