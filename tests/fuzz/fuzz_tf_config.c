/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a TF_CONFIG, a line "%%", and the hosts of a job, one a line. What is
 * read is judged; what is written for the hosts, whatever stood there, is one
 * that is taken, with a task for each of them.
 */
#include "from/reading.h"
#include "model/context.h"
#include "to/to.h"
#include "fuzz.h"

enum { HOSTS = 64 };

static struct ri_arena arena;

static void check_read(const char *text)
{
	struct ri_tf_config found;

	ri_tf_config_read(&found, text);
	CHECK(found.reason == NULL || found.reason[0] != '\0');
}

/* The hosts that a source would let pass. */
static size_t keep_hosts(char **hosts)
{
	size_t count = 0;

	for (size_t i = 0; hosts[i] != NULL; i++) {
		struct ri_endpoint host;

		if (ri_endpoint_read((struct ri_span){ hosts[i], strlen(hosts[i]) }, &host) &&
			host.port == 0 && host.host.length == strlen(hosts[i]))
			hosts[count++] = hosts[i];
	}
	return count;
}

static void check_written(char *strings[], char *const *hosts, size_t count)
{
	static struct ri_findings findings;
	struct ri_topology topology = { .identity = "manual", .scope = RI_SCOPE_NODE };
	/* an option writes over what stood there */
	struct ri_wishes wishes = { .frameworks = "tensorflow",
				    .tf_ps = { "--tf-ps", count > 1 ? "1" : NULL },
				    .tf_ps_count = count > 1 ? 1 : 0 };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_env_edits edits;
	struct ri_env env;
	const struct ri_command command = { .mode = RI_MODE_PROCESS };
	const struct ri_context context = { .env = &env, .wishes = &wishes, .arena = &arena,
					    .findings = &findings, .command = &command };
	const struct ri_env_edit *edit;
	struct ri_tf_config found;

	for (enum ri_fact_id id = RI_FACT_NODE_RANK; id <= RI_FACT_NNODES; id++)
		topology.facts[id] = (struct ri_fact){ .state = RI_STATE_KNOWN,
			.number = id == RI_FACT_NNODES ? count : count - 1 };
	topology.facts[RI_FACT_HOSTS] = (struct ri_fact){ .state = RI_STATE_KNOWN,
		.number = count, .list = (const char *const *)hosts };
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	CHECK(ri_variables_render(&edits, &topology, &context, &err) == 0);
	edit = ri_env_edits_find(&edits, "TF_CONFIG");
	CHECK((edit != NULL && edit->value != NULL) == (count > 1));
	if (count > 1) {
		ri_tf_config_read(&found, edit->value);
		CHECK(found.reason == NULL && found.tasks == count);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *hosts_text = fuzz_cut_part(text);
	char *hosts[HOSTS + 1], *strings[2] = { NULL, NULL };
	size_t length = strlen(text) + sizeof("TF_CONFIG=");
	size_t count;

	check_read(text);
	fuzz_split(hosts_text, hosts, 0, HOSTS);
	count = keep_hosts(hosts);
	strings[0] = malloc(length);
	CHECK(strings[0] != NULL);
	snprintf(strings[0], length, "TF_CONFIG=%s", text);
	if (count > 0)
		check_written(strings, hosts, count);
	ri_arena_release(&arena);
	free(strings[0]);
	free(text);
	return 0;
}
