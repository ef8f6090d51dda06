/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "azure_batch": a multi-instance task of Azure Batch, which is also
 * what an MPI job of Azure Machine Learning runs as. It knows the nodes, and
 * nothing about ranks.
 */
#include <string.h>

#include "from/reading.h"
#include "model/wishes.h"

#define BATCH_REFERENCE \
	"learn.microsoft.com/azure/batch/batch-compute-node-environment-variables"

enum {
	/*
	 * The port in AZ_BATCH_MASTER_NODE belongs to the Batch service itself
	 * (BATCH_REFERENCE names 6105 and MASTER_PORT instead), and DeepSpeed
	 * takes the same one on Azure ML (deepspeed/comm/comm.py).
	 */
	DEFAULT_PORT = 6105,
};

static const struct ri_variable reads[] = {
	{ .name = "AZ_BATCH_MASTER_NODE",
	  .meaning = "address:port of the primary node; the port is the Batch service's own",
	  .cite = BATCH_REFERENCE },
	{ .name = "AZ_BATCH_HOST_LIST", .meaning = "the nodes of the task, with commas between",
	  .cite = BATCH_REFERENCE },
	{ .name = "AZ_BATCH_NODE_LIST", .meaning = "the nodes of the task, with semicolons between",
	  .cite = BATCH_REFERENCE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "AZ_BATCH_MASTER_NODE") ||
		ri_source_sees(env, "AZ_BATCH_HOST_LIST") ||
		ri_source_sees(env, "AZ_BATCH_NODE_LIST");
}

/*
 * The port in AZ_BATCH_MASTER_NODE, if the user asks for it: older
 * guides took it, and it must be the same on all nodes.
 */
static void claim_batch_port(struct ri_reading *reading)
{
	const char *variable = "AZ_BATCH_MASTER_NODE", *raw = ri_reading_get(reading, variable);
	const struct ri_wishes *wishes = reading->context->wishes;
	struct ri_endpoint endpoint;
	struct ri_fact *claim;

	if (wishes == NULL || !wishes->azure_batch_port || raw == NULL ||
		!ri_endpoint_read((struct ri_slice){ raw, strlen(raw) }, &endpoint) ||
		endpoint.port == 0)
		return;
	claim = ri_claim(reading, RI_FACT_MASTER_PORT, variable);
	if (claim == NULL)
		return;
	claim->number = endpoint.port;
	ri_finding_hint(ri_findings_add(reading->context->findings, RI_SEVERITY_WARNING,
		RI_CODE_MASTER_PORT_BATCH, variable,
		"port %u is taken as asked, but Azure Batch keeps it for itself", endpoint.port),
		"without --azure-batch-port it is %d", DEFAULT_PORT);
}

static void read_azure_batch(struct ri_reading *reading)
{
	struct ri_fact *port = ri_claim(reading, RI_FACT_MASTER_PORT, NULL);

	if (port != NULL) {
		port->number = DEFAULT_PORT;
		port->strength = RI_STRENGTH_DEFAULT;
	}
	claim_batch_port(reading);
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "AZ_BATCH_MASTER_NODE");
	ri_claim_hosts(reading, "AZ_BATCH_HOST_LIST", ',');
	ri_claim_hosts(reading, "AZ_BATCH_NODE_LIST", ';');
}

const struct ri_source ri_source_azure_batch = {
	.name = "azure_batch",
	.summary = "Azure Batch multi-instance task, Azure ML MPI job: master and hosts",
	.identity = false,
	.reads = reads,
	.detect = detect,
	.read = read_azure_batch,
};
