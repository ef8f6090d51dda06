/* SPDX-License-Identifier: Apache-2.0 */
#include "link/rendezvous.h"

#include <string.h>

#include "base/loopback.h"
#include "base/overlay.h"
#include "command/command.h"
#include "link/told.h"
#include "model/wishes.h"

static bool is_any(const char *value, const char *const names[])
{
	for (; *names != NULL; names++)
		if (strcmp(value, *names) == 0)
			return true;
	return false;
}

/* Is it node 0's name, or the variable of it? */
static bool is_master(const struct ri_rendezvous *place, const char *value, size_t length)
{
	return ri_told_is_master(value, length) ||
		(strlen(place->host) == length && strncmp(value, place->host, length) == 0);
}

/*
 * torchrun's --rdzv-endpoint=HOST:PORT: with the backends static, the default, and c10d a store
 * on that host (PyTorch torch/distributed/elastic/rendezvous, static_tcp_rendezvous.py and
 * c10d_rendezvous_backend.py). Which node is another host than node 0's cannot be known.
 */
static bool take_endpoint(struct ri_rendezvous *place, const struct ri_context *context,
	const char *endpoint)
{
	static const char *const stores[] = { "static", "c10d", NULL };
	const char *backend = ri_told_find(context, "--rdzv-backend", "PET_RDZV_BACKEND");
	const char *colon = strrchr(endpoint, ':');

	return (backend == NULL || is_any(backend, stores)) && colon != NULL &&
		is_master(place, endpoint, (size_t)(colon - endpoint)) &&
		ri_told_port(&place->port, colon + 1);
}

/* What its own words and PET_* say, where they say of a place that is known. */
static bool take_told(struct ri_rendezvous *place, const struct ri_context *context)
{
	const char *endpoint = ri_told_find(context, "--rdzv-endpoint", "PET_RDZV_ENDPOINT");
	bool told = false;

	if (ri_told_find(context, "--rdzv-conf", "PET_RDZV_CONF") != NULL)
		return false;
	if (endpoint != NULL && endpoint[0] != '\0')
		return take_endpoint(place, context, endpoint);
	if (ri_told_find(context, "--rdzv-backend", "PET_RDZV_BACKEND") != NULL)
		return false;	/* c10d without an endpoint chooses one by itself */
	for (const struct ri_told_pair *pair = ri_told_pairs; pair->host != NULL; pair++) {
		const char *host = ri_told_find(context, pair->host, pair->host_variable);
		const char *port = ri_told_find(context, pair->port, pair->port_variable);

		if ((host != NULL && !is_master(place, host, strlen(host))) ||
			(port != NULL && !ri_told_port(&place->port, port)))
			return false;
		told = told || (host != NULL && port != NULL);
	}
	/*
	 * composer reads MASTER_*, torchrun PET_*. deepspeed and fabric have defaults of their own
	 * (deepspeed/launcher/launch.py, parse_args; lightning/fabric/cli.py, _run).
	 */
	return told || context->command->launcher->reads_pet || context->command->launcher->counts;
}

/* A range of nodes does not tell how many will come (torch/distributed/run.py, --nnodes). */
static bool is_elastic(const struct ri_context *context)
{
	const char *nodes = ri_told_find(context, "--nnodes", "PET_NNODES");

	return nodes != NULL && strchr(nodes, ':') != NULL;
}

/* Those that --frameworks names and that meet there, where it is given. */
static bool is_allowed(const struct ri_wishes *wishes)
{
	static const char *const names[] = {
		"torch", "torchrun", "lightning", "deepspeed", "accelerate", "transformers",
		"composer", "jax",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ri_wishes_allow_framework(wishes, names[i]))
			return true;
	return false;
}

/* Does what is there already send JAX elsewhere (jax/_src/distributed.py, State.initialize)? */
static bool jax_is_elsewhere(const struct ri_rendezvous *place, const struct ri_env *env)
{
	const char *address = ri_env_get(env, "JAX_COORDINATOR_ADDRESS");
	const char *colon = address == NULL ? NULL : strrchr(address, ':');
	struct ri_rendezvous there = *place;

	if (colon != NULL && (!is_master(place, address, (size_t)(colon - address)) ||
		!ri_told_port(&there.port, colon + 1)))
		return true;
	return there.port != place->port;
}

static bool meets(struct ri_rendezvous *place, const struct ri_topology *topology,
	const struct ri_context *context, bool is_mpi)
{
	const struct ri_command *command = context->command;

	if (ri_topology_is_beside(topology) || !is_allowed(context->wishes))
		return false;
	if (context->fan_out == 0 && command->mode == RI_MODE_NODE)
		return command->launcher == NULL ? command->stated
			: !ri_meeting_is_here(command, context->env) && !is_elastic(context) &&
				take_told(place, context);
	/* TensorFlow's tasks are where TF_CONFIG says, each at a port of its own */
	if (ri_env_get(context->env, "TF_CONFIG") != NULL ||
		(context->wishes != NULL && context->wishes->tf_ps.value != NULL) ||
		jax_is_elsewhere(place, context->env))
		return false;
	return context->fan_out > 0 ||
		(command->is_python && !(is_mpi && topology->scope == RI_SCOPE_PROCESS));
}

bool ri_rendezvous_find(struct ri_rendezvous *out, const struct ri_topology *topology,
	const struct ri_context *context, const struct ri_link_part *part, bool is_mpi)
{
	struct ri_rendezvous place = {
		.node = part->node, .nodes = part->nodes, .host = part->centre,
		.ranks = context->fan_out > 0 ? context->fan_out : 1,
	};
	uint64_t port;

	if (part->why_not != NULL || !ri_topology_get(topology, RI_FACT_MASTER_PORT, &port))
		return false;
	place.port = (uint16_t)port;
	place.crowded = ri_loopback_is(place.host, strlen(place.host)) ||
		ri_env_get(context->env, RI_OVERLAY_VARIABLE) != NULL;
	if (!meets(&place, topology, context, is_mpi))
		return false;
	*out = place;
	return true;
}
