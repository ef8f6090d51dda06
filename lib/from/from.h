/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the environment to facts, in three steps: read the sources, choose the
 * identity, settle the claims. What is derived then is model/derive.h's.
 */
#ifndef RI_FROM_FROM_H
#define RI_FROM_FROM_H

#include "base/error.h"
#include "from/sources.h"
#include "model/context.h"
#include "model/topology.h"

/* What the steps hand on to each other, and the read function of a source works with. */
struct ri_reading {
	const struct ri_context *context;
	const struct ri_source *const *sources;	/* the table */
	const struct ri_source **spoke;		/* who claimed something, in order; NULL ends it */
	const struct ri_source *source;		/* whose turn it is */
	const struct ri_source *identity;	/* whose tuple counts so far, or NULL */
	const struct ri_source *launcher;	/* the innermost whose tuple is signed, or NULL */
	struct ri_fact *claims[RI_FACT_COUNT];	/* by all sources so far, in their order */
	size_t claim_count;			/* of all of them */
	bool adopts;	/* the identity is that of the node, where ranks are started here */
	const struct ri_fact *gave_way;		/* a master that each node is itself, or NULL */
	struct ri_error *err;
};

/*
 * Step 1: have every source that is there say what it knows. Fills in the
 * topology's list of those that spoke, and the claims. Fails for lack of memory,
 * and with what is wrong with a file that the user names. After a failure, of
 * this step or a later one, *out holds the candidates that were read until then,
 * to explain it by; nothing can be started from it.
 *
 * The topology borrows from the snapshot, the arena and the reading.
 */
int ri_sources_read(struct ri_topology *out, struct ri_reading *reading,
	const struct ri_context *context, struct ri_error *err);

/*
 * Step 2: who says who we are. The innermost source with a complete tuple (rank,
 * world_size, local_rank, local_world_size), and no other one gives any part of
 * it; master and hosts may come from an outer one. Where no process has an
 * identity its node may: the first source that knows the node's place, if
 * anybody knows how many nodes there are. A launcher of ranks has none. Where
 * ranks are started here (context->fan_out) and nothing else gives the identity
 * the node's place does, in the name of the user. Fills in identity, scope and
 * traits, and nothing else. Half of what an identity takes is a finding.
 */
int ri_identity_choose(struct ri_topology *out, struct ri_reading *reading);

/*
 * Step 3: the facts as they are said, the best claim for each of them, and how
 * many nodes and local ranks follow from that. Without an identity broken values
 * are findings. With one, a broken value that is needed is an error:
 * RI_CODE_ENV_VALUE and the name of the variable, or the code of the rule that
 * it breaks. Facts stated by hand win one by one, whoever gives the identity;
 * what is wrong with them is always an error: RI_CODE_OPTION_VALUE,
 * RI_CODE_OPTION_CONFLICT. A source that is forced and gives no identity is
 * RI_CODE_SOURCE_ABSENT.
 */
int ri_claims_settle(struct ri_topology *out, struct ri_reading *reading);

/*
 * When all is derived: what is broken and nobody had to use is a finding, and
 * RI_CODE_ENV_VALUE where nothing else says what it should have.
 */
int ri_claims_report(const struct ri_topology *topology, struct ri_reading *reading);

#endif
