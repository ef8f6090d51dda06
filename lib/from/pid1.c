/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "pid1": the environment of this container's first process. mpirun
 * starts ranks over ssh, and sshd drops what the container was given; the
 * rank then knows itself, but not where rank 0 listens.
 *
 * Only the rendezvous is taken. What process 1 says of itself is about
 * another process.
 */
#include <string.h>

#include "base/limits.h"
#include "from/from.h"

#define ENVIRON "/proc/1/environ"

/* Whether there is a rank that came over ssh shows only when it is read. */
static bool detect(const struct ri_env *env)
{
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		if ((*at)->over_ssh && ri_source_is_seen(*at, env))
			return true;
	return false;
}

/* What the file holds, cut into strings, which end in '\0' each. */
static char **read_strings(struct ri_reading *reading)
{
	char *bytes = ri_reading_allocate(reading, RI_MAX_FILE, 1);
	long length = bytes == NULL ? 0
		: ri_host_read(reading->context->host, ENVIRON, bytes, RI_MAX_FILE);
	size_t count = 0;
	char **strings;

	/* Of another user, hidden, too long: then it gives no facts. */
	if (length <= 0)
		return NULL;
	for (long i = 0; i < length; i++)
		count += bytes[i] == '\0';
	strings = ri_reading_allocate(reading, count + 2, sizeof(*strings));
	if (strings == NULL)
		return NULL;
	count = 0;
	for (char *at = bytes; at < bytes + length; at += strlen(at) + 1)
		strings[count++] = at;
	return strings;
}

static void read_pid1(struct ri_reading *reading)
{
	static const enum ri_fact_id taken[] = {
		RI_FACT_MASTER_ADDR, RI_FACT_MASTER_PORT, RI_FACT_HOSTS,
	};
	struct ri_context context = *reading->context;
	struct ri_reading other = {
		.context = &context, .source = reading->source, .err = reading->err,
		.identity = reading->identity,
	};
	const struct ri_fact *master = reading->claims[RI_FACT_MASTER_ADDR];
	struct ri_env env;
	char **strings;

	/* Has anybody but mpirun itself, which can only guess, said who the master is? */
	while (master != NULL && (master->state != RI_STATE_KNOWN ||
		master->strength == RI_STRENGTH_DEFAULT))
		master = master->next;
	if (master != NULL || context.host == NULL || reading->identity == NULL ||
		!reading->identity->over_ssh || ri_identity_is_on_one_node(reading) ||
		ri_host_proc(context.host) != RI_PROC_OURS)
		return;
	strings = read_strings(reading);
	if (strings == NULL || ri_env_init(&env, strings, context.arena, reading->err) < 0)
		return;
	context.env = &env;
	for (const struct ri_source *const *at = reading->sources; *at != NULL; at++)
		if ((*at)->of_container && ri_source_is_seen(*at, &env))
			ri_source_read(*at, &other);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		struct ri_fact **end = &reading->claims[taken[i]];

		while (*end != NULL)
			end = &(*end)->next;
		*end = other.claims[taken[i]];
		for (; *end != NULL; end = &(*end)->next)
			reading->claim_count++;
	}
}

const struct ri_source ri_source_pid1 = {
	.name = "pid1",
	.summary = "the master of an MPI job, from the environment of process 1",
	.reads = RI_READS(
		{ ENVIRON,
		  "what the container was given: variables that name the master or the nodes, such "
		  "as MASTER_ADDR, LWS_LEADER_ADDRESS and AZ_BATCH_MASTER_NODE",
		  .cite = "proc(5)" }),
	.detect = detect,
	.read = read_pid1,
};
