/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "azure_batchai": what is left of Batch AI in the jobs of Azure
 * Machine Learning, which keeps its names.
 */
#include <string.h>

#include "base/limits.h"
#include "base/loopback.h"
#include "from/allocation.h"
#include "from/own_address.h"
#include "from/reading.h"

#define TASK_INDEX "AZ_BATCHAI_TASK_INDEX"
#define HOST_FILE "AZ_BATCHAI_MPI_HOST_FILE"
#define INIT_METHOD "AZ_BATCHAI_PYTORCH_INIT_METHOD"

#define BATCH_AI "BatchAI documentation/using-batch-ai-environment-variables.md"

enum {
	/* As in azure_batch.c: the systems that still set these names. */
	DEFAULT_PORT = 6105,
};

static const struct ri_variable reads[] = {
	{ .name = "AZ_BATCHAI_MPI_MASTER_NODE",
	  .meaning = "the host where mpirun runs; \"localhost\" is used only for a job of one node",
	  .cite = "DeepSpeed deepspeed/comm/comm.py, patch_aml_env_for_torch_nccl_backend" },
	{ .name = "AZ_BATCHAI_JOB_MASTER_NODE_IP", .meaning = "the address of the first node",
	  .cite = "public training scripts for Azure Machine Learning" },
	{ .name = TASK_INDEX, .meaning = "index of this node", .cite = BATCH_AI },
	{ .name = "AZ_BATCHAI_WORKER_HOSTS", .meaning = "host:port of each worker, separated by "
		"commas",
	  .cite = BATCH_AI },
	{ .name = "AZ_BATCHAI_PS_HOSTS",
	  .meaning = "the same for the parameter servers, which are counted separately",
	  .cite = BATCH_AI },
	{ .name = HOST_FILE, .meaning = "path of a host file for mpirun",
	  .cite = BATCH_AI },
	{ .name = INIT_METHOD,
	  .meaning = "tcp://host:port on which rank 0 listens; a file:// URL is not used",
	  .cite = BATCH_AI },
	RI_OWN_READS,
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	for (const struct ri_variable *variable = reads; variable->name != NULL; variable++)
		if (ri_source_sees(env, variable->name))
			return true;
	/* It looks like the link to a Kubernetes service. */
	return ri_env_get(env, INIT_METHOD) != NULL;
}

/* "localhost" is each node itself: that serves a job of one node. */
static void judge_master(struct ri_reading *reading, struct ri_fact *claim)
{
	if (claim != NULL && claim->state == RI_STATE_KNOWN &&
		ri_loopback_is(claim->text, strlen(claim->text)))
		ri_claim_spoil(claim, RI_STATE_OPEN, ri_arena_format(reading->context->arena,
			"%s makes each node its own master", claim->origin.variable));
}

static void claim_master(struct ri_reading *reading, const char *variable)
{
	judge_master(reading, ri_claim_host(reading, RI_FACT_MASTER_ADDR, variable));
}

/* "tcp://10.0.0.4:23456", as torch.distributed.init_process_group takes it. */
static void claim_init_method(struct ri_reading *reading)
{
	const char *raw = ri_env_get(reading->context->env, INIT_METHOD);
	struct ri_endpoint endpoint;
	struct ri_fact *claim;

	if (raw == NULL || strncmp(raw, "tcp://", 6) != 0)
		return;
	claim = ri_claim_read(reading, RI_FACT_MASTER_ADDR, INIT_METHOD, raw);
	if (claim == NULL)
		return;
	if (!ri_endpoint_read((struct ri_slice){ raw + 6, strcspn(raw + 6, "/?") }, &endpoint) ||
		endpoint.port == 0) {
		ri_claim_spoil(claim, RI_STATE_BROKEN, "tcp://HOST:PORT");
		return;
	}
	claim->text = ri_reading_copy(reading, endpoint.host.text, endpoint.host.length);
	if (claim->text == NULL)
		return;
	judge_master(reading, claim);
	claim = ri_claim_read(reading, RI_FACT_MASTER_PORT, INIT_METHOD, raw);
	if (claim != NULL)
		claim->number = endpoint.port;
}

/* The host file as a list; NULL where it cannot be read, or no source may read files now. */
static struct ri_fact *claim_host_file(struct ri_reading *reading)
{
	const char *path = ri_reading_get(reading, HOST_FILE);
	struct ri_hostfile file;
	struct ri_fact *claim;
	char *text;

	if (path == NULL || reading->context->host == NULL)
		return NULL;
	text = ri_reading_file(reading, path, RI_MAX_HOSTFILE);
	if (text == NULL || !ri_allocation_read_text(reading, HOST_FILE, text, &file))
		return NULL;
	claim = ri_claim_list_of(reading, HOST_FILE, file.hosts, file.count);
	if (file.count > 0)
		return claim;
	ri_claim_spoil(claim, RI_STATE_BROKEN, file.bad_line == 0
		? "the path of a file that lists hosts"
		: ri_arena_format(reading->context->arena,
			"a host file of lines \"HOST [slots=N]\", which line %zu is not",
			file.bad_line));
	return NULL;
}

/*
 * Workers and parameter servers are counted apart, and which of them this is
 * stands in the words of the command alone.
 */
static void claim_index(struct ri_reading *reading)
{
	struct ri_fact *claim = ri_claim_filled(reading, RI_FACT_NODE_RANK, TASK_INDEX);

	if (claim != NULL && claim->state == RI_STATE_KNOWN &&
		ri_source_sees_text(reading->context->env, "AZ_BATCHAI_PS_HOSTS"))
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"AZ_BATCHAI_TASK_INDEX may be the index of a parameter server");
}

/* A rank has its place from its launcher. */
static void claim_node(struct ri_reading *reading)
{
	struct ri_fact *hosts;
	struct ri_own_machine own;
	uint64_t place;

	if (reading->identity != NULL || ri_claimed_hosts(reading) != NULL)
		return;
	hosts = claim_host_file(reading);
	if (hosts != NULL && !ri_source_sees_text(reading->context->env, TASK_INDEX) &&
		ri_own_read(&own, reading) && ri_own_find(&own, hosts, &place))
		ri_claim_value(reading, RI_FACT_NODE_RANK, HOST_FILE, place);
}

static void read_azure_batchai(struct ri_reading *reading)
{
	claim_init_method(reading);
	claim_master(reading, "AZ_BATCHAI_MPI_MASTER_NODE");
	claim_master(reading, "AZ_BATCHAI_JOB_MASTER_NODE_IP");
	ri_claim_hosts(reading, "AZ_BATCHAI_WORKER_HOSTS", ',');
	claim_index(reading);
	claim_node(reading);
	ri_claim_first_host(reading);
	ri_claim_default_port(reading, DEFAULT_PORT);
}

static const struct ri_shape_row rows[] = {
	{ TASK_INDEX, "<node>", 0 },
	{ "AZ_BATCHAI_WORKER_HOSTS", "<each:,><host>:<port></each>", 0 },
	{ "AZ_BATCHAI_JOB_MASTER_NODE_IP", "<master>", 0 },
	{ INIT_METHOD, "tcp://<master>:<master_port>", 0 },
	{ .name = NULL },
};

/* The service is no more: what it gave a process to end is not known, and the least is here. */
static const struct ri_shape shapes[] = {
	{ .name = "azure_batchai", .summary = "a system that kept Batch AI's names starts the "
		"command on each node",
	  .scope = RI_SCOPE_NODE, .rows = rows, .port = 23456, .grace_s = 5, .cite = BATCH_AI },
	{ .name = NULL },
};

const struct ri_source ri_source_azure_batchai = {
	.name = "azure_batchai",
	.summary = "Batch AI variables that Azure Machine Learning still sets: master, hosts, node",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_azure_batchai,
};
