/* SPDX-License-Identifier: Apache-2.0 */
#include "link/told.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/loopback.h"
#include "base/number.h"

enum { C10D_PORT = 29400 };	/* PyTorch c10d_rendezvous_backend.py, _create_tcp_store */

/* Of torchrun, composer and deepspeed; accelerate; fabric. */
const struct ri_told_pair ri_told_pairs[] = {
	{ "--master-addr", "--master-port", "PET_MASTER_ADDR", "PET_MASTER_PORT" },
	{ "--main-process-ip", "--main-process-port", NULL, NULL },
	{ "--main-address", "--main-port", NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const char *ri_told_find(const struct ri_context *context, const char *option,
	const char *variable)
{
	const struct ri_command *command = context->command;
	const char *value = NULL;

	if (command->launcher == NULL)
		return NULL;
	if (ri_command_has(command, option, &value))
		return value == NULL ? "" : value;
	return variable != NULL && command->launcher->reads_pet
		? ri_env_get(context->env, variable) : NULL;
}

static bool is_one_of(const char *value, size_t length, const char *const names[2])
{
	for (size_t i = 0; i < 2; i++)
		if (strlen(names[i]) == length && strncmp(value, names[i], length) == 0)
			return true;
	return false;
}

bool ri_told_is_master(const char *value, size_t length)
{
	static const char *const names[] = { "$MASTER_ADDR", "${MASTER_ADDR}" };

	return is_one_of(value, length, names);
}

bool ri_told_port(uint16_t *port, const char *value)
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

/* torchrun's --rdzv-id, or ""; "none" is its default (PyTorch torch/distributed/run.py). */
static const char *find_id(const struct ri_context *context)
{
	const char *id = ri_told_find(context, "--rdzv-id", "PET_RDZV_ID");

	return id == NULL || strcmp(id, "none") == 0 ? "" : id;
}

/* What is being put together. */
struct name {
	const struct ri_topology *topology;
	const struct ri_context *context;
	const char *master;	/* node 0's host, or "" */
	uint16_t port;		/* where the job meets, as far as the platform says */
	bool apart;
};

/*
 * The host where the job meets. Node 0's may be "localhost" to itself, and MASTER_ADDR to all
 * others: it is none, since who calls the centre has found that host already. Another one tells
 * jobs apart whose node 0 is on one host.
 */
static const char *meeting_host(const struct name *name, const char *host, size_t length)
{
	bool own = ri_loopback_is(host, length) || ri_told_is_master(host, length) ||
		(strlen(name->master) == length && strncmp(name->master, host, length) == 0);

	return own ? "" : ri_arena_copy(name->context->arena, host, length);
}

/*
 * torchrun's --rdzv-endpoint. A store that torchrun has itself (static, c10d) is one job's, as two
 * cannot listen on one port; one of etcd's is everybody's. "" where it is told none.
 */
static const char *add_endpoint(struct name *name)
{
	const char *endpoint = ri_told_find(name->context, "--rdzv-endpoint",
		"PET_RDZV_ENDPOINT");
	const char *backend = ri_told_find(name->context, "--rdzv-backend", "PET_RDZV_BACKEND");
	const char *colon, *host;
	uint16_t port = name->port;

	if (endpoint == NULL || endpoint[0] == '\0')
		return "";
	colon = strrchr(endpoint, ':');
	if (colon == NULL)
		port = C10D_PORT;
	else if (!ri_told_port(&port, colon + 1))
		return ri_arena_format(name->context->arena, ", endpoint %s", endpoint);
	/* the default port, or the name of a variable in its place, is no job's own */
	name->apart |= colon != NULL && colon[1] != '$' &&
		(backend == NULL || strcmp(backend, "static") == 0 ||
			strcmp(backend, "c10d") == 0);
	host = meeting_host(name, endpoint, colon == NULL ? strlen(endpoint)
		: (size_t)(colon - endpoint));
	return host == NULL ? NULL : ri_arena_format(name->context->arena, ", endpoint %s:%u", host,
		port);
}

/* The port at which a launcher is told to meet: the last word on it. */
static void take_port(struct name *name)
{
	for (const struct ri_told_pair *pair = ri_told_pairs; pair->port != NULL; pair++) {
		const char *told = ri_told_find(name->context, pair->port, pair->port_variable);
		uint16_t port = 0;

		if (told == NULL || !ri_told_port(&port, told) || port == 0)
			continue;
		name->port = port;
		name->apart = true;
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
	name->apart = true;
	return ri_arena_format(name->context->arena, ", host %s", name->master);
}

const char *ri_told_name(const struct ri_topology *topology, const struct ri_context *context,
	bool *apart)
{
	const struct ri_fact *id = &topology->facts[RI_FACT_JOB_ID];
	const struct ri_fact *port = &topology->facts[RI_FACT_MASTER_PORT];
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	const char *meeting = find_id(context), *endpoint, *host = "";
	const char *played = context->host == NULL ? NULL : context->host->job;
	struct name name = { .topology = topology, .context = context,
		.master = master->state == RI_STATE_KNOWN ? master->text : "",
		.port = port->state == RI_STATE_KNOWN ? (uint16_t)port->number : 0,
		.apart = id->state == RI_STATE_KNOWN || played != NULL || meeting[0] != '\0' ||
			(port->state == RI_STATE_KNOWN && port->origin.variable != NULL) };
	uint64_t nodes = 0, attempt = 0;

	ri_topology_get(topology, RI_FACT_NNODES, &nodes);
	ri_topology_get(topology, RI_FACT_RESTART_COUNT, &attempt);
	take_port(&name);
	endpoint = add_endpoint(&name);
	if (!name.apart)
		host = add_host(&name);
	if (endpoint == NULL || host == NULL)
		return NULL;
	*apart = name.apart;
	return ri_arena_format(context->arena,
		"nodes %llu, port %u, attempt %llu, id %s%s%s%s%s%s%s", (unsigned long long)nodes,
		name.port, (unsigned long long)attempt,
		id->state == RI_STATE_KNOWN ? id->text : "", meeting[0] == '\0' ? "" : ", rdzv ",
		meeting, endpoint, host, played == NULL ? "" : ", simulated ",
		played == NULL ? "" : played);
}
