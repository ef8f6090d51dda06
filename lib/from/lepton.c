/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "lepton": a worker of a batch job of DGX Cloud Lepton. No variable has the host of
 * worker 0; the documentation makes it of the service's prefix and the sub-domain.
 */
#include <string.h>

#include "from/reading.h"

#define GUIDE "docs.nvidia.com/dgx-cloud/lepton, Batch Jobs, Environment Variables Reference"

static const char prefix[] = "LEPTON_JOB_SERVICE_PREFIX", domain[] = "LEPTON_SUBDOMAIN";

static const struct ri_variable reads[] = {
	{ .name = "LEPTON_JOB_WORKER_INDEX", .meaning = "index of this worker", .cite = GUIDE },
	{ .name = "LEPTON_JOB_TOTAL_WORKERS", .meaning = "workers of the job", .cite = GUIDE },
	{ .name = prefix, .meaning = "with \"-0.\" and the sub-domain: the host of worker 0",
	  .cite = GUIDE },
	{ .name = domain, .meaning = "the sub-domain of the job's workers", .cite = GUIDE },
	{ .name = "LEPTON_RESOURCE_ACCELERATOR_NUM",
	  .meaning = "GPUs of each worker: processes to start there", .cite = GUIDE },
	{ .name = "LEPTON_JOB_NAME", .meaning = "name of the job", .cite = GUIDE },
	{ .name = "LEPTON_JOB_FAILURE_COUNT", .meaning = "failed attempts before this one",
	  .cite = GUIDE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "LEPTON_JOB_WORKER_INDEX") &&
		ri_source_sees(env, "LEPTON_JOB_TOTAL_WORKERS");
}

static void claim_master(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	struct ri_endpoint endpoint;
	const char *host;

	if (!ri_source_sees_text(env, prefix) || !ri_source_sees_text(env, domain))
		return;
	host = ri_arena_format(reading->context->arena, "%s-0.%s", ri_env_get(env, prefix),
		ri_env_get(env, domain));
	if (host == NULL)
		ri_fail(reading->err, RI_CODE_MEMORY, prefix, "no memory left to read it");
	else if (ri_endpoint_read((struct ri_slice){ host, strlen(host) }, &endpoint) &&
		endpoint.port == 0)
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, prefix, host, RI_STRENGTH_SAID);
	else
		ri_claim_broken(reading, RI_FACT_MASTER_ADDR, prefix,
			"what makes a host's name with \"-0.\" and LEPTON_SUBDOMAIN");
}

static void read_lepton(struct ri_reading *reading)
{
	ri_claim_number(reading, RI_FACT_NODE_RANK, "LEPTON_JOB_WORKER_INDEX");
	ri_claim_number(reading, RI_FACT_NNODES, "LEPTON_JOB_TOTAL_WORKERS");
	claim_master(reading);
	ri_claim_gpus(reading, "LEPTON_RESOURCE_ACCELERATOR_NUM");
	ri_claim_label(reading, RI_FACT_JOB_ID, "LEPTON_JOB_NAME");
	ri_claim_filled(reading, RI_FACT_RESTART_COUNT, "LEPTON_JOB_FAILURE_COUNT");
}

/* The host of worker 0 is no address: the job's author says one. */
static const struct ri_shape_row rows[] = {
	{ "LEPTON_JOB_WORKER_INDEX", "<node>", 0 },
	{ "LEPTON_JOB_TOTAL_WORKERS", "<nodes>", 0 },
	{ "LEPTON_RESOURCE_ACCELERATOR_NUM", "<ranks>", 0 },
	{ "LEPTON_JOB_NAME", "env-job-98bw", 0 },
	{ "LEPTON_JOB_FAILURE_COUNT", "0", 0 },
	RI_SHAPE_STATES_MASTER,
	{ .name = NULL },
};

static const struct ri_shape shapes[] = {
	{ .name = "lepton", .summary = "DGX Cloud Lepton starts a pod for each worker",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 29500, .grace_s = 30,
	  .cite = RI_SHAPE_POD },
	{ .name = NULL },
};

const struct ri_source ri_source_lepton = {
	.name = "lepton",
	.summary = "a worker of a batch job of DGX Cloud Lepton",
	.identity = RI_SCOPE_NODE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_lepton,
};
