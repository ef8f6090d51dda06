/* SPDX-License-Identifier: Apache-2.0 */
/* --restarts: can rankinit start again what this command is? */
#ifndef RI_SHIM_LAUNCH_RESTARTABLE_H
#define RI_SHIM_LAUNCH_RESTARTABLE_H

#include "base/error.h"
#include "model/context.h"
#include "model/topology.h"
#include "options/options.h"

struct ri_restartable {
	const struct ri_options *options;
	const struct ri_context *context;
	const struct ri_topology *topology;
	bool was_linked;	/* by the link of an attempt before this one, which had a key */
	int64_t rank;		/* of the command, where others of its job run elsewhere; else -1 */
};

/* A note that it can goes to the context's findings. Else -1 with RI_CODE_RESTARTS_REFUSED. */
int ri_restartable_check(const struct ri_restartable *asked, struct ri_error *err);

#endif
