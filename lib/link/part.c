/* SPDX-License-Identifier: Apache-2.0 */
#include "link/part.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/host.h"
#include "base/text.h"
#include "command/command.h"
#include "model/context.h"

enum { C10D_PORT = 29400 };	/* PyTorch c10d_rendezvous_backend.py, _create_tcp_store */

/*
 * The options by which a launcher is told a host and a port, and variables of torchrun for them, or
 * NULL: of torchrun, composer and deepspeed; accelerate; fabric.
 */
static const struct told_pair {
	const char *host, *port, *host_variable, *port_variable;
} told_pairs[] = {
	{ "--master-addr", "--master-port", "PET_MASTER_ADDR", "PET_MASTER_PORT" },
	{ "--main-process-ip", "--main-process-port", NULL, NULL },
	{ "--main-address", "--main-port", NULL, NULL },
};

/*
 * What a launcher is told of where the job meets. Such a variable follows what the user states of
 * that fact, as lib/to/torch.c has it: what stands in it now is not what torchrun gets.
 */
static const char *find_place(const struct ri_topology *topology, const struct ri_context *context,
	const char *option, const char *variable, enum ri_fact_id id)
{
	return ri_context_told(context, option,
		topology->facts[id].strength < RI_STRENGTH_STATED ? variable : NULL);
}

static bool is_one_of(const char *value, size_t length, const char *const names[2])
{
	for (size_t i = 0; i < 2; i++)
		if (strlen(names[i]) == length && strncmp(value, names[i], length) == 0)
			return true;
	return false;
}

/* Is it node 0's name, or the variable of it, which rankinit or a shell replaces? */
static bool is_master(const char *master, const char *value, size_t length)
{
	static const char *const names[] = { "$MASTER_ADDR", "${MASTER_ADDR}" };

	return is_one_of(value, length, names) ||
		(strlen(master) == length && strncmp(value, master, length) == 0);
}

/*
 * A port in words: *port. The variable of it is the one that is known, and leaves it. False where
 * it is neither.
 */
static bool read_port(uint16_t *port, const char *value)
{
	static const char *const names[] = { "$MASTER_PORT", "${MASTER_PORT}" };
	const struct ri_range range = { 1, 65535 };
	uint64_t number;

	if (is_one_of(value, strlen(value), names))
		return true;
	if (ri_number_read(value, range, &number, NULL) != RI_NUMBER_OK)
		return false;
	*port = (uint16_t)number;
	return true;
}

/* What is being put together. */
struct name {
	const struct ri_topology *topology;
	const struct ri_context *context;
	const char *master;	/* node 0's host, or "" */
	uint16_t port;		/* where the job meets, as far as the platform says */
	bool unique;
};

/*
 * A store that torchrun has itself (static, which is the default, or c10d) is one job's, as two
 * cannot listen on one port; one of etcd's is everybody's (PyTorch torch/distributed/elastic/
 * rendezvous, static_tcp_rendezvous.py and c10d_rendezvous_backend.py).
 */
static bool has_own_store(const struct ri_context *context)
{
	const char *backend = ri_context_told(context, "--rdzv-backend", "PET_RDZV_BACKEND");

	return backend == NULL || strcmp(backend, "static") == 0 || strcmp(backend, "c10d") == 0;
}

/* torchrun's --rdzv-endpoint; NULL: it is told none. */
static const char *find_endpoint(const struct ri_context *context)
{
	const char *endpoint = ri_context_told(context, "--rdzv-endpoint", "PET_RDZV_ENDPOINT");

	return endpoint == NULL || endpoint[0] == '\0' ? NULL : endpoint;
}

/* What it says of the job; "" where it is told none. */
static const char *add_endpoint(struct name *name)
{
	const char *endpoint = find_endpoint(name->context), *colon, *host;
	uint16_t port = name->port;
	size_t length;

	if (endpoint == NULL)
		return "";
	colon = strrchr(endpoint, ':');
	if (colon == NULL)
		port = C10D_PORT;
	else if (!read_port(&port, colon + 1))
		return ri_arena_format(name->context->arena, ", endpoint %s", endpoint);
	/* the default port, or the name of a variable in its place, is no job's own */
	name->unique |= colon != NULL && colon[1] != '$' && has_own_store(name->context);
	length = colon == NULL ? strlen(endpoint) : (size_t)(colon - endpoint);
	/*
	 * The host where the job meets. Node 0's may be "localhost" to itself, and MASTER_ADDR to
	 * all others: it is none, since who calls the centre has found that host already. Another
	 * one tells jobs apart whose node 0 is on one host.
	 */
	host = ri_loopback_is(endpoint, length) || is_master(name->master, endpoint, length) ? ""
		: ri_arena_copy(name->context->arena, endpoint, length);
	return host == NULL ? NULL : ri_arena_format(name->context->arena, ", endpoint %s:%u", host,
		port);
}

/* The port at which a launcher is told to meet: the last word on it. */
static void take_port(struct name *name)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(told_pairs); i++) {
		const char *told = find_place(name->topology, name->context, told_pairs[i].port,
			told_pairs[i].port_variable, RI_FACT_MASTER_PORT);
		uint16_t port = 0;

		if (told == NULL || !read_port(&port, told) || port == 0)
			continue;
		name->port = port;
		name->unique = true;
	}
}

/*
 * Node 0's name, where a platform gives all nodes the same one: that of a pod, which is one job's.
 * A machine may be node 0 of several.
 */
static const char *add_host(struct name *name)
{
	const struct ri_fact *master = &name->topology->facts[RI_FACT_MASTER_ADDR];
	unsigned char bytes[16];

	if ((name->topology->traits & RI_TRAIT_NAMES_JOB) == 0 ||
		master->strength > RI_STRENGTH_SAID || master->origin.variable == NULL ||
		strchr(name->master, ':') != NULL || inet_pton(AF_INET, name->master, bytes) == 1 ||
		ri_loopback_is(name->master, strlen(name->master)))
		return "";
	name->unique = true;
	return ri_arena_format(name->context->arena, ", host %s", name->master);
}

/*
 * What tells the job from others whose node 0 is on the same host: what the command says of the
 * meeting, and what the platform says of the job. It is the same on all nodes of the job, except
 * where they are told to meet by names that have nothing in common. *unique: something in it is the
 * job's own, and no default. Returns NULL where memory ran out.
 */
static const char *find_job(const struct ri_topology *topology, const struct ri_context *context,
	bool *unique)
{
	const struct ri_fact *id = &topology->facts[RI_FACT_JOB_ID];
	const struct ri_fact *port = &topology->facts[RI_FACT_MASTER_PORT];
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	const char *meeting = ri_context_told(context, "--rdzv-id", "PET_RDZV_ID");
	const char *endpoint, *host = "";
	const char *played = context->host == NULL ? NULL : context->host->job;
	struct name name = { .topology = topology, .context = context,
		.master = master->state == RI_STATE_KNOWN ? master->text : "",
		.port = port->state == RI_STATE_KNOWN ? (uint16_t)port->number : 0,
		.unique = id->state == RI_STATE_KNOWN || played != NULL ||
			(port->state == RI_STATE_KNOWN && port->origin.variable != NULL) };
	uint64_t nodes = 0, attempt = 0;

	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	ri_topology_get(topology, RI_FACT_RESTART_COUNT, &attempt);
	/* "none" is torchrun's default (PyTorch torch/distributed/run.py) */
	if (meeting == NULL || strcmp(meeting, "none") == 0)
		meeting = "";
	name.unique = name.unique || meeting[0] != '\0';
	take_port(&name);
	endpoint = add_endpoint(&name);
	if (!name.unique)
		host = add_host(&name);
	if (endpoint == NULL || host == NULL)
		return NULL;
	*unique = name.unique;
	return ri_arena_format(context->arena,
		"nodes %llu, port %u, attempt %llu, id %s%s%s%s%s%s%s", (unsigned long long)nodes,
		name.port, (unsigned long long)attempt,
		id->state == RI_STATE_KNOWN ? id->text : "", meeting[0] == '\0' ? "" : ", rdzv ",
		meeting, endpoint, host, played == NULL ? "" : ", simulated ",
		played == NULL ? "" : played);
}

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
	nodes = ri_context_told(context, "--nnodes", "PET_NNODES");
	restarts = ri_context_told(context, "--max-restarts", "PET_MAX_RESTARTS");
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

/* Ranks that were started here, and of which the job cannot lose one. */
static bool find_may_stop(const struct ri_topology *topology, const struct ri_context *context)
{
	const struct ri_fact *role = &topology->facts[RI_FACT_ROLE];
	const struct ri_command *command = context->command;

	/* parameter servers hold the state of such a job, and its workers come and go */
	if (ri_topology_is_launcher(topology) || ri_topology_is_beside(topology) ||
		(role->state == RI_STATE_KNOWN && role->served) ||
		context->wishes->tf_ps_count > 0)
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

/* Will rank 0, or a launcher of the job, want to listen on it? */
static bool is_of_job(const struct ri_topology *topology, const struct ri_context *context,
	uint64_t port)
{
	const char *endpoint = find_endpoint(context);
	const char *colon = endpoint == NULL ? NULL : strrchr(endpoint, ':');
	uint64_t master = 0;
	uint16_t number = 0;

	ri_topology_get(topology, RI_FACT_MASTER_PORT, &master);
	for (size_t i = 0; i < RI_ARRAY_SIZE(told_pairs) && number != port; i++) {
		const char *told = ri_context_told(context, told_pairs[i].port,
			told_pairs[i].port_variable);

		if (told != NULL)
			read_port(&number, told);
	}
	if (number != port && colon != NULL)
		read_port(&number, colon + 1);
	return number == port || port == master;
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
	unsigned first = port != 0 ? port : RI_LINK_PORT;
	unsigned last = port != 0 ? port : RI_LINK_PORT + RI_LINK_PORTS - 1;
	size_t count = 0;

	*out = (struct ri_link_part){ .ports = { 0 } };
	ri_topology_get(topology, RI_FACT_NODE_RANK, &out->node);
	ri_topology_get(topology, RI_FACT_NNODES, &out->nodes);
	if (master->state == RI_STATE_KNOWN)
		out->centre = master->text;
	out->why_not = find_why_not(topology, context, out);
	if (out->why_not != NULL)
		return 0;
	out->may_stop = find_may_stop(topology, context);
	/* the centre never takes a port of the job's own */
	for (unsigned tried = first; tried <= last; tried++)
		if (!is_of_job(topology, context, tried))
			out->ports[count++] = (uint16_t)tried;
	out->job = find_job(topology, context, &out->unique);
	return out->job == NULL ? -1 : 0;
}

/* What its own words and PET_* say, where they say of a place that is known. */
static bool take_told(struct ri_rendezvous *place, const struct ri_topology *topology,
	const struct ri_context *context)
{
	const char *endpoint = find_endpoint(context), *colon;
	bool told = false;

	if (ri_context_told(context, "--rdzv-conf", "PET_RDZV_CONF") != NULL)
		return false;
	if (endpoint != NULL) {
		/* which node is another host than node 0's cannot be known */
		colon = strrchr(endpoint, ':');
		return has_own_store(context) && colon != NULL &&
			is_master(place->host, endpoint, (size_t)(colon - endpoint)) &&
			read_port(&place->port, colon + 1);
	}
	if (ri_context_told(context, "--rdzv-backend", "PET_RDZV_BACKEND") != NULL)
		return false;	/* c10d without an endpoint chooses one by itself */
	for (size_t i = 0; i < RI_ARRAY_SIZE(told_pairs); i++) {
		const struct told_pair *pair = &told_pairs[i];
		const char *host = find_place(topology, context, pair->host,
			pair->host_variable, RI_FACT_MASTER_ADDR);
		const char *port = find_place(topology, context, pair->port,
			pair->port_variable, RI_FACT_MASTER_PORT);

		if ((host != NULL && !is_master(place->host, host, strlen(host))) ||
			(port != NULL && !read_port(&place->port, port)))
			return false;
		told = told || (host != NULL && port != NULL);
	}
	/*
	 * composer reads MASTER_*, torchrun PET_*. deepspeed and fabric have defaults of their own
	 * (deepspeed/launcher/launch.py, parse_args; lightning/fabric/cli.py, _run).
	 */
	return told || context->command->launcher->reads_pet || context->command->launcher->counts;
}

/* Those that --frameworks names and that meet there, where it is given. */
static bool is_allowed(const struct ri_wishes *wishes)
{
	static const char *const names[] = {
		"torch", "torchrun", "lightning", "deepspeed", "accelerate", "transformers",
		"composer", "jax",
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
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

	if (colon != NULL && (!is_master(place->host, address, (size_t)(colon - address)) ||
		!read_port(&there.port, colon + 1)))
		return true;
	return there.port != place->port;
}

static bool meets(struct ri_rendezvous *place, const struct ri_topology *topology,
	const struct ri_context *context, bool is_mpi)
{
	const struct ri_command *command = context->command;
	const char *nodes;

	if (ri_topology_is_beside(topology) || !is_allowed(context->wishes))
		return false;
	if (context->fan_out == 0 && command->mode == RI_MODE_NODE) {
		/* a range of nodes does not tell how many will come (torch/distributed/run.py) */
		nodes = ri_context_told(context, "--nnodes", "PET_NNODES");
		return command->launcher == NULL ? command->stated
			: !ri_meeting_is_here(command, context->env) &&
				(nodes == NULL || strchr(nodes, ':') == NULL) &&
				take_told(place, topology, context);
	}
	/* TensorFlow's tasks are where TF_CONFIG says, each at a port of its own */
	if (ri_env_get(context->env, "TF_CONFIG") != NULL ||
		context->wishes->tf_ps.value != NULL || jax_is_elsewhere(place, context->env))
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
