/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sources may claim one fact: which of the claims it is, and what has
 * to be said of those that lost.
 */
#ifndef RI_FROM_CONTEST_H
#define RI_FROM_CONTEST_H

#include "model/topology.h"

/*
 * Take the winner out of the claims; the others become those that lost. The
 * topology's identity and scope stand already: no other source gives its tuple.
 * Where the nodes are several, which must be known by then, a master that each of
 * them is itself gives way to one that is not: that one is returned, else NULL.
 */
const struct ri_fact *ri_contest_settle(struct ri_topology *out, struct ri_fact *claims,
	enum ri_fact_id id);

/* Is the identity made of this fact? */
bool ri_contest_decides(const struct ri_topology *topology, enum ri_fact_id id);

/*
 * A broken claim is a finding, or RI_CODE_ENV_VALUE where no other claim says
 * what it should have; by hand it is RI_CODE_OPTION_VALUE.
 */
int ri_contest_report_broken(const struct ri_topology *topology, enum ri_fact_id id,
	const struct ri_context *context, struct ri_error *err);

/* Findings about claims that say something else than the fact, and about who gave way. */
void ri_contest_report_lost(const struct ri_topology *topology, const struct ri_fact *gave_way,
	struct ri_findings *findings);

#endif
