/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the environment to facts, in three steps: read the sources (here), choose
 * the identity (identity.h), settle the claims (settle.h). What is derived then is
 * model/derive.h's.
 */
#ifndef RI_FROM_FROM_H
#define RI_FROM_FROM_H

#include "base/error.h"
#include "from/reading.h"
#include "model/context.h"
#include "model/topology.h"

/*
 * Step 1: have every source that is there say what it knows. Fills in the
 * topology's list of those that spoke, and the claims. Fails for lack of memory,
 * and with what is wrong with a file that the user names. After a failure, of
 * this step or a later one, *out holds the candidates that were read until then,
 * to explain it by; no command can be started from it.
 *
 * The topology borrows from the snapshot, the arena and the reading.
 */
int ri_sources_read(struct ri_topology *out, struct ri_reading *reading,
	const struct ri_context *context, struct ri_error *err);

#endif
