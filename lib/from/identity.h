/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which source says who we are: the innermost launcher with a whole tuple of
 * ranks, else the first source that knows which node this is.
 */
#ifndef RI_FROM_IDENTITY_H
#define RI_FROM_IDENTITY_H

#include "from/reading.h"

/*
 * Is the source whose turn it is the identity from here on, by its tuple? One
 * without a signature is weighed against the innermost launcher's, and no
 * other one. Half of a tuple is a finding.
 */
bool ri_identity_takes(struct ri_reading *reading);

/* Are all ranks of the job here, by the identity's own account? There must be one. */
bool ri_identity_is_on_one_node(const struct ri_reading *reading);

/*
 * Step 2: which source says who we are. The innermost source with a complete tuple (rank,
 * world_size, local_rank, local_world_size), and no other one gives any part of
 * it; master and hosts may come from an outer one. Where no process has an
 * identity its node may: the first source that knows the node's place, if
 * anybody knows how many nodes there are. A launcher of ranks has none. Where
 * ranks are started here (context->fan_out) and no source gives the identity
 * the node's place does (reading->adopts), in the name of the user, if it turns out
 * to be certain. Fills in identity, scope and traits alone. Half of
 * what an identity takes is a finding.
 */
void ri_identity_choose(struct ri_topology *out, struct ri_reading *reading);

#endif
