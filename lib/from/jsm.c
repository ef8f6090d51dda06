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

static const struct ri_shape_row rows[] = {
	{ "JSM_NAMESPACE_RANK", "<rank>", 0 },
	{ "JSM_NAMESPACE_SIZE", "<world_size>", 0 },
	{ "JSM_NAMESPACE_LOCAL_RANK", "<local_rank>", 0 },
	{ "JSM_NAMESPACE_LOCAL_SIZE", "<ranks>", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

/* What jsrun gives a rank to end is not documented: LSF's JOB_TERMINATE_INTERVAL stands here. */
static const struct ri_shape shapes[] = {
	{ .name = "jsm", .summary = "jsrun starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .port = 29500, .grace_s = 10,
	  .cite = "IBM Spectrum LSF, lsb.params, JOB_TERMINATE_INTERVAL" },
	{ .name = NULL },
};

const struct ri_source ri_source_jsm = {
	.name = "jsm",
	.summary = "a rank under jsrun (IBM Job Step Manager)",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_jsm,
};
