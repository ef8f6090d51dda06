/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "jsm": a rank that jsrun of IBM's Job Step Manager started. The nodes
 * are LSF's to tell (lsf.c).
 */
#include "from/reading.h"

#define LIGHTNING "Lightning src/lightning/fabric/plugins/environments/lsf.py"

static const struct ri_variable reads[] = {
	{ .name = "JSM_NAMESPACE_RANK", .meaning = "rank", .cite = LIGHTNING },
	{ .name = "JSM_NAMESPACE_SIZE", .meaning = "world size", .cite = LIGHTNING },
	{ .name = "JSM_NAMESPACE_LOCAL_RANK", .meaning = "local rank", .cite = LIGHTNING },
	{ .name = "JSM_NAMESPACE_LOCAL_SIZE", .meaning = "ranks on this node",
	  .cite = "IBM Spectrum LSF, jsrun(1)" },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "JSM_NAMESPACE_RANK") &&
		ri_source_sees(env, "JSM_NAMESPACE_SIZE");
}

static void read_jsm(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_RANK, "JSM_NAMESPACE_RANK");
	ri_claim_number(reading, RI_FACT_WORLD_SIZE, "JSM_NAMESPACE_SIZE");
	ri_claim_filled(reading, RI_FACT_LOCAL_RANK, "JSM_NAMESPACE_LOCAL_RANK");
	ri_claim_filled(reading, RI_FACT_LOCAL_WORLD_SIZE, "JSM_NAMESPACE_LOCAL_SIZE");
}

const struct ri_source ri_source_jsm = {
	.name = "jsm",
	.summary = "a rank under jsrun (IBM Job Step Manager)",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.detect = detect,
	.read = read_jsm,
};
