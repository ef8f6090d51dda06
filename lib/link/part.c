/* SPDX-License-Identifier: Apache-2.0 */
#include "link/part.h"

#include <string.h>

#include "base/number.h"
#include "link/told.h"
#include "model/wishes.h"

/*
 * Does torchrun start its workers once, on a fixed number of nodes? By default it does
 * (PyTorch torch/distributed/run.py: --nnodes is 1:1, --max-restarts 0).
 */
static bool is_fixed_torchrun(const struct ri_context *context)
{
	const char *nodes, *restarts;
	const char *colon;

	if (context->command->launcher == NULL ||
		strcmp(context->command->launcher->name, "torchrun") != 0)
		return false;
	nodes = ri_told_find(context, "--nnodes", "PET_NNODES");
	restarts = ri_told_find(context, "--max-restarts", "PET_MAX_RESTARTS");
	colon = nodes == NULL ? NULL : strchr(nodes, ':');
	if (colon != NULL && (strlen(colon + 1) != (size_t)(colon - nodes) ||
		strncmp(nodes, colon + 1, (size_t)(colon - nodes)) != 0))
		return false;
	return restarts == NULL || strcmp(restarts, "0") == 0;
}

/* Is it the one process of its node, which a launcher such as srun started? */
static bool is_alone(const struct ri_topology *topology)
{
	uint64_t ranks;

	return topology->scope == RI_SCOPE_PROCESS &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &ranks) && ranks == 1;
}

/* Parameter servers hold the state of such a job, and its workers come and go. */
static bool has_servers(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];

	return ri_topology_is_beside(topology) ||
		(role->state == RI_STATE_KNOWN && role->served) ||
		(context->wishes != NULL && context->wishes->tf_ps_count > 0);
}

/* Ranks that were started here, and of which the job cannot lose one. */
static bool find_may_stop(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_command *command = context->command;

	if (ri_topology_is_launcher(topology) || has_servers(topology, context))
		return false;
	if (context->fan_out > 0)
		return true;
	if (command->mode == RI_MODE_NODE)
		return is_fixed_torchrun(context);
	return is_alone(topology) && command->is_python;
}

static const char *find_why_not(const struct ri_topology *topology,
	const struct ri_context *context, const struct ri_link_part *part)
{
	if (context->command->mode == RI_MODE_NONE)
		return "the command starts the ranks of the whole job";
	if (topology->identity == NULL)
		return "this process is not recognised as part of a job";
	if (context->fan_out == 0 && topology->scope == RI_SCOPE_PROCESS && !is_alone(topology))
		return "each rank of this node has a rankinit of its own";
	if (part->nodes < 2)
		return "the job has one node, as far as is known";
	if (!ri_topology_knows(topology, RI_FACT_NODE_RANK))
		return "the index of this node is unknown";
	return part->centre == NULL ? "the address of node 0 is unknown" : NULL;
}

/* The port behind the last colon, or 0. */
static uint64_t port_of(const char *endpoint)
{
	const struct ri_range range = { 1, 65535 };
	const char *colon = endpoint == NULL ? NULL : strrchr(endpoint, ':');
	uint64_t port = 0;

	if (colon != NULL && ri_number_read(colon + 1, range, &port, NULL) != RI_NUMBER_OK)
		port = 0;
	return port;
}

/* Will rank 0, or a launcher of the job, want to listen on it? */
static bool is_of_job(const struct ri_topology *topology, const struct ri_context *context,
	uint64_t port)
{
	uint64_t master = 0;
	bool is = false;

	ri_topology_get(topology, RI_FACT_MASTER_PORT, &master);
	for (const struct ri_told_pair *pair = ri_told_pairs; pair->port != NULL && !is; pair++) {
		const char *told = ri_told_find(context, pair->port, pair->port_variable);
		uint16_t number = 0;

		is = told != NULL && ri_told_port(&number, told) && number == port;
	}
	return is || port == master ||
		port == port_of(ri_told_find(context, "--rdzv-endpoint", "PET_RDZV_ENDPOINT"));
}

/* The centre never takes a port of the job's own. */
static void choose_ports(struct ri_link_part *out, const struct ri_topology *topology,
	const struct ri_context *context, uint16_t asked)
{
	size_t count = 0;

	if (asked != 0) {
		out->ports[0] = is_of_job(topology, context, asked) ? 0 : asked;
		return;
	}
	for (unsigned port = RI_LINK_PORT; port < RI_LINK_PORT + RI_LINK_PORTS; port++)
		if (!is_of_job(topology, context, port))
			out->ports[count++] = (uint16_t)port;
}

void ri_link_ports_add(struct ri_text *out, const struct ri_link_part *part)
{
	size_t count = 0;

	while (count < RI_LINK_PORTS && part->ports[count] != 0)
		count++;
	if (count == 1)
		ri_text_addf(out, "port %u", part->ports[0]);
	else if (count > 1)
		ri_text_addf(out, "ports %u to %u", part->ports[0], part->ports[count - 1]);
}

int ri_link_part_find(struct ri_link_part *out, const struct ri_topology *topology,
	const struct ri_context *context, uint16_t port)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];

	*out = (struct ri_link_part){ .ports = { 0 } };
	ri_topology_get(topology, RI_FACT_NODE_RANK, &out->node);
	ri_topology_get(topology, RI_FACT_NNODES, &out->nodes);
	if (master->state == RI_STATE_KNOWN)
		out->centre = master->text;
	out->why_not = find_why_not(topology, context, out);
	if (out->why_not != NULL)
		return 0;
	out->may_stop = find_may_stop(topology, context);
	choose_ports(out, topology, context, port);
	out->job = ri_told_name(topology, context, &out->apart);
	return out->job == NULL ? -1 : 0;
}
