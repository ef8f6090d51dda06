/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the environment to facts, in three steps: read the sources, choose the identity
 * (from.c), settle the claims (settle.c). What is derived then is model/topology.h's.
 */
#ifndef RI_FROM_FROM_H
#define RI_FROM_FROM_H

#include "from/reading.h"

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

/*
 * Take the winner out of the claims; the others become those that lost. The
 * topology's identity and scope stand already: no other source gives its tuple.
 * Where the nodes are several, which must be known by then, a master that each of
 * them is itself gives way to one that is not: that one is returned, else NULL.
 */
const struct ri_fact *ri_claims_choose(struct ri_topology *out, struct ri_fact *claims,
	enum ri_fact_id id);

/*
 * Step 3: the facts as they are said, the best claim for each of them, and how
 * many nodes and local ranks follow from that. Without an identity broken values
 * are findings. With one, a broken value that is needed is an error:
 * RI_CODE_ENV_VALUE and the name of the variable, or the code of the rule that
 * it breaks. Facts stated by hand win one by one, by whichever source the identity is given;
 * what is wrong with them is always an error: RI_CODE_OPTION_VALUE,
 * RI_CODE_OPTION_CONFLICT. A source that is forced and gives no identity is
 * RI_CODE_SOURCE_ABSENT.
 */
int ri_claims_settle(struct ri_topology *out, struct ri_reading *reading);

/*
 * When all is derived: what is broken and was not needed is a finding, and
 * RI_CODE_ENV_VALUE where no other claim says what it should have.
 */
int ri_claims_report(const struct ri_topology *topology, struct ri_reading *reading);

/*
 * RI_CODE_PLACE_UNREAD, a warning, where all ranks of a node are started here as a job of this
 * node alone, and two variables of one prefix that no source reads are a place and a count above
 * 1 and above it, as X_INDEX and X_NUM_NODES. Such a pair may well count something else. Else
 * RI_CODE_SOURCE_INCOMPLETE where RANK above 0 has no WORLD_SIZE: a warning there, and a note
 * before one process of Python's.
 */
void ri_unread_judge(const struct ri_topology *topology, const struct ri_context *context);

#endif
