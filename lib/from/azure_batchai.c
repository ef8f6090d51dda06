/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "azure_batchai": what is left of Batch AI in the jobs of Azure
 * Machine Learning, which keeps its names.
 */
#include <string.h>

#include "from/reading.h"

#define BATCH_AI "BatchAI documentation/using-batch-ai-environment-variables.md"

enum {
	/* As in azure_batch.c: the systems that still set these names. */
	DEFAULT_PORT = 6105,
};

static const struct ri_variable reads[] = {
	{ .name = "AZ_BATCHAI_MPI_MASTER_NODE",
	  .meaning = "the host where mpirun runs; \"localhost\" counts for one node only",
	  .cite = "DeepSpeed deepspeed/comm/comm.py, patch_aml_env_for_torch_nccl_backend" },
	{ .name = "AZ_BATCHAI_JOB_MASTER_NODE_IP", .meaning = "the address of the first node",
	  .cite = "public training scripts for Azure Machine Learning" },
	{ .name = "AZ_BATCHAI_TASK_INDEX", .meaning = "index of this node", .cite = BATCH_AI },
	{ .name = "AZ_BATCHAI_WORKER_HOSTS", .meaning = "host:port of the workers, with commas",
	  .cite = BATCH_AI },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	for (const struct ri_variable *variable = reads; variable->name != NULL; variable++)
		if (ri_source_sees(env, variable->name))
			return true;
	return false;
}

static void claim_mpi_master(struct ri_reading *reading)
{
	struct ri_fact *claim =
		ri_claim_host(reading, RI_FACT_MASTER_ADDR, "AZ_BATCHAI_MPI_MASTER_NODE");

	if (claim == NULL || claim->state != RI_STATE_KNOWN ||
		!ri_is_loopback((struct ri_slice){ claim->text, strlen(claim->text) }))
		return;
	claim->state = RI_STATE_OPEN;
	claim->reason = "AZ_BATCHAI_MPI_MASTER_NODE names each node itself";
}

static void read_azure_batchai(struct ri_reading *reading)
{
	claim_mpi_master(reading);
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "AZ_BATCHAI_JOB_MASTER_NODE_IP");
	ri_claim_hosts(reading, "AZ_BATCHAI_WORKER_HOSTS", ',');
	ri_claim_filled(reading, RI_FACT_NODE_RANK, "AZ_BATCHAI_TASK_INDEX");
	ri_claim_default_port(reading, DEFAULT_PORT);
}

const struct ri_source ri_source_azure_batchai = {
	.name = "azure_batchai",
	.summary = "names of Batch AI that Azure Machine Learning still sets: master and hosts",
	.identity = RI_SCOPE_NONE,
	.reads = reads,
	.detect = detect,
	.read = read_azure_batchai,
};
