/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the text of TF_CONFIG and CLUSTER_SPEC. Whatever it is, a task
 * with a place has hosts around it or leaves them open, and what goes wrong
 * has a reason.
 */
#include "fuzz.h"

#include "from/hosts.h"
#include "../unit/reading_of.h"

static struct ri_arena arena;

static bool is_listed(const char *const *types, const char *role)
{
	while (*types != NULL && *types != role)
		types++;
	return *types != NULL;
}

static void check(const struct ri_cluster *cluster, const struct ri_cluster_types *types,
	size_t length)
{
	CHECK(cluster->role == NULL || is_listed(types->ranked, cluster->role) ||
		is_listed(types->roles == NULL ? types->others : types->roles, cluster->role));
	CHECK(cluster->fault == NULL || !cluster->has_place);
	CHECK(cluster->fault_at <= length && (cluster->fault_at == 0 || cluster->fault != NULL));
	CHECK(!cluster->has_place || is_listed(types->ranked, cluster->role));
	CHECK(!cluster->has_place || cluster->count == 0 || cluster->place < cluster->count);
	CHECK(cluster->count <= length);
	for (size_t i = 0; i < cluster->count; i++)
		CHECK(ri_is_host((struct ri_span){ cluster->hosts[i],
			strlen(cluster->hosts[i]) }));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const tf[] = { "chief", "master", "worker", NULL };
	static const char *const others[] = { "ps", "evaluator", NULL };
	static const char *const pools[] = { "workerpool0", "workerpool1", NULL };
	static const char *const servers[] = { "workerpool2", NULL };
	static const char *const roles[] = { "ps", NULL };
	static const struct ri_cluster_types types[] = {
		{ tf, others, NULL }, { pools, servers, roles },
	};
	char *text = fuzz_string(data, size);
	struct ri_cluster cluster;

	for (size_t i = 0; i < 2; i++) {
		CHECK(ri_cluster_read(&cluster, text, &types[i], reading_of(&arena)));
		check(&cluster, &types[i], strlen(text));
	}
	ri_arena_release(&arena);
	free(text);
	return 0;
}
