/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --explain shows: every fact with its origin and what it beat, what
 * would be done to the environment, what would run, and what is wrong.
 */
#ifndef RI_MODEL_EXPLAIN_H
#define RI_MODEL_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "model/topology.h"

/* One process that would be started. */
struct ri_explained_rank {
	int64_t rank;		/* -1: unknown, as the next one */
	int64_t local_rank;
	const struct ri_env_edits *edits;
	char *const *argv;	/* NULL: no command was given */
	const char *cpus;	/* list of those it is bound to; NULL: to none */
	const char *gpu;	/* the only one it is shown; NULL: as it is */
};

/* All of it is borrowed. */
struct ri_explain {
	const char *version;
	const struct ri_topology *topology;
	const struct ri_env *env;	/* what the edits start from */
	const struct ri_findings *findings;
	const struct ri_error *err;	/* that refuses the launch; no code: none does */
	const struct ri_explained_rank *ranks;
	size_t rank_count;		/* at least 1 */
	const char *launch;		/* "process", "node" or "none" */
	const char *off;		/* why nothing was read, or NULL */
	const char *looked_for;		/* names of all sources, with ", " between */
	bool color;			/* text: with escape sequences of ECMA-48 */
};

/*
 * For people: no line is wider than RI_PAGE_WIDTH (page.h). What does not fit
 * the buffer is cut (out->cut).
 */
void ri_explain_text(const struct ri_explain *explain, struct ri_text *out);

/*
 * A JSON document, "rankinit-explain-1", from malloc; NULL when out of memory.
 * Strings that are not UTF-8 are as model/json.h says; a finding
 * RI_CODE_OUTPUT_ESCAPED names the first.
 * jansson's hash must have been seeded (json_object_seed).
 */
char *ri_explain_json(const struct ri_explain *explain);

#endif
