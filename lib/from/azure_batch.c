/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "azure_batch": a multi-instance task of Azure Batch, which is also
 * what an MPI job of Azure Machine Learning runs as. It knows the nodes, and
 * nothing about ranks.
 */
#include <string.h>

#include "base/text.h"
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
	{ .name = "CCP_NODES", .meaning = "the nodes as in HPC Pack: count, then address and cores",
	  .cite = BATCH_REFERENCE },
	{ .name = "AZ_BATCH_IS_CURRENT_NODE_MASTER",
	  .meaning = "true on the primary node, if mpirun did not carry it elsewhere",
	  .cite = BATCH_REFERENCE },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "AZ_BATCH_MASTER_NODE") ||
		ri_source_sees(env, "AZ_BATCH_HOST_LIST") ||
		ri_source_sees(env, "AZ_BATCH_NODE_LIST") || ri_source_sees(env, "CCP_NODES");
}

/* Cut the next word off *text, in place; "" at the end. */
static char *cut_word(char **text)
{
	char *word = *text + strspn(*text, " ");

	*text = word + strcspn(word, " ");
	if (**text != '\0')
		*(*text)++ = '\0';
	return word;
}

static bool read_small(const char *word, uint64_t *out)
{
	return ri_number_read(word, ri_fact_range(RI_FACT_HOSTS), out, NULL) == RI_NUMBER_OK;
}

/* "2 10.0.0.4 1 10.0.0.5 1" as hosts with blanks between; false if it is not so. */
static bool list_nodes(char *text, struct ri_text *list)
{
	uint64_t count, cores, seen = 0;

	if (!read_small(cut_word(&text), &count))
		return false;
	for (char *host = cut_word(&text); *host != '\0'; host = cut_word(&text)) {
		if (!ri_is_host((struct ri_slice){ host, strlen(host) }) ||
			!read_small(cut_word(&text), &cores))
			return false;
		ri_text_add(list, host);
		ri_text_add(list, " ");
		seen++;
	}
	return seen == count;
}

static void claim_nodes(struct ri_reading *reading)
{
	const char *raw = ri_reading_get(reading, "CCP_NODES");
	size_t size = raw == NULL ? 0 : strlen(raw) + 2;
	struct ri_text list;
	char *copy, *bytes;

	if (!ri_source_sees_text(reading->context->env, "CCP_NODES"))
		return;
	copy = ri_reading_allocate(reading, size, 1);
	bytes = ri_reading_allocate(reading, size, 1);
	if (copy == NULL || bytes == NULL)
		return;
	ri_text_copy(copy, size, raw);
	ri_text_init(&list, bytes, size);
	ri_claim_list(reading, "CCP_NODES", list_nodes(copy, &list) ? bytes : "", ' ');
}

/*
 * Known by hand on the node itself only: where mpirun started this process,
 * the variable may have come along from the primary node.
 */
static void claim_primary(struct ri_reading *reading)
{
	static const char variable[] = "AZ_BATCH_IS_CURRENT_NODE_MASTER";
	const char *raw = ri_reading_get(reading, variable);
	bool is_primary = false, is_bool;
	struct ri_fact *claim;

	if (raw == NULL)
		return;
	is_bool = ri_bool_read(raw, &is_primary);
	claim = is_bool && !is_primary ? NULL : ri_claim(reading, RI_FACT_NODE_RANK, variable);
	if (claim == NULL || is_bool)
		return;
	claim->state = RI_STATE_BROKEN;
	claim->reason = "true or false";
}

/* The first node of the task, where nothing names the master. */
static void claim_first_host(struct ri_reading *reading)
{
	const struct ri_fact *hosts = reading->claims[RI_FACT_HOSTS];
	struct ri_fact *claim;

	if (ri_claim_of(reading, RI_FACT_MASTER_ADDR, reading->source->name) != NULL)
		return;
	for (; hosts != NULL; hosts = hosts->next)
		if (hosts->origin.source == reading->source->name &&
			hosts->state == RI_STATE_KNOWN)
			break;
	if (hosts == NULL)
		return;
	claim = ri_claim(reading, RI_FACT_MASTER_ADDR, hosts->origin.variable);
	if (claim == NULL)
		return;
	claim->text = hosts->list[0];
	claim->strength = RI_STRENGTH_DEFAULT;
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
	claim_batch_port(reading);
	ri_claim_default_port(reading, DEFAULT_PORT);
	ri_claim_host(reading, RI_FACT_MASTER_ADDR, "AZ_BATCH_MASTER_NODE");
	ri_claim_hosts(reading, "AZ_BATCH_HOST_LIST", ',');
	ri_claim_hosts(reading, "AZ_BATCH_NODE_LIST", ';');
	claim_nodes(reading);
	claim_first_host(reading);
	claim_primary(reading);
}

const struct ri_source ri_source_azure_batch = {
	.name = "azure_batch",
	.summary = "Azure Batch multi-instance task, Azure ML MPI job: master and hosts",
	.identity = RI_SCOPE_NONE,
	.reads = reads,
	.detect = detect,
	.read = read_azure_batch,
};
