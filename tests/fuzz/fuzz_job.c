/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run but for its effects: the words of a command line, one a line,
 * after a line "%%" the strings of the environment, after another one the text
 * of --hostfile. Options, topology, variables, explanation: each a refusal with
 * a reason, or something that can be printed.
 */
#include "from/from.h"
#include "fuzz.h"
#include "model/explain.h"
#include "model/wishes.h"
#include "options.h"
#include "to/command.h"
#include "to/nodes.h"
#include "to/to.h"

enum { WORDS = 128 };

static struct ri_findings findings;
static struct ri_arena arena;

static void check_reason(const struct ri_error *err)
{
	CHECK(err->code != RI_CODE_NONE && ri_code_status(err->code) == 125);
	CHECK(err->subject[0] != '\0' && err->text[0] != '\0');
}

static void check_edits(const struct ri_env_edits *edits)
{
	for (size_t i = 0; i < edits->count; i++) {
		CHECK(edits->items[i].name[0] != '\0');
		CHECK(edits->items[i].value == NULL || edits->items[i].value[0] != '\0');
	}
}

static void explain(const struct ri_context *context, const struct ri_topology *topology,
	const struct ri_env_edits *edits, char *const *argv, const struct ri_error *err)
{
	static char page[1 << 20];
	/* two ranks that differ, as a fan-out has them */
	static const struct ri_env_edits none = { .count = 0 };
	const struct ri_explained_rank ranks[] = {
		{ .rank = 0, .local_rank = 0, .edits = edits, .argv = argv },
		{ .rank = 1, .local_rank = 1, .edits = &none, .argv = argv },
	};
	const struct ri_explain explained = {
		.version = "0", .topology = topology, .env = context->env,
		.findings = &findings, .err = err, .ranks = ranks, .rank_count = 2,
		.launch = "process", .looked_for = "all of them", .color = true,
	};
	struct ri_text out;
	char *json = ri_explain_json(&explained);

	CHECK(json != NULL);
	free(json);
	ri_text_init(&out, page, sizeof(page));
	ri_explain_text(&explained, &out);
	CHECK(out.length > 0);
}

/* Ranks that are started here count on from each other, and end where the world does. */
static void check_ranks(struct ri_topology topology, uint64_t count)
{
	uint64_t rank, first, size, local, node, nodes;

	CHECK(ri_topology_get(&topology, RI_FACT_NODE_RANK, &node) &&
		ri_topology_get(&topology, RI_FACT_NNODES, &nodes) &&
		ri_topology_get(&topology, RI_FACT_WORLD_SIZE, &size) &&
		ri_topology_get(&topology, RI_FACT_RANK, &first));
	CHECK(size == nodes * count && size <= RI_MAX_RANKS && first == node * count);
	ri_nodes_go_to(&topology, count - 1);
	CHECK(ri_topology_get(&topology, RI_FACT_RANK, &rank) &&
		ri_topology_get(&topology, RI_FACT_LOCAL_RANK, &local));
	CHECK(rank == first + count - 1 && rank < size && local == count - 1);
}

static void run_job(struct ri_options *options, struct ri_env *env)
{
	static struct ri_topology topology;
	struct ri_env_edits variables = { .count = 0 }, edits = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_command command = { 0 };
	struct ri_context context = {
		.env = env, .arena = &arena, .findings = &findings, .command = &command,
		.wishes = &options->wishes, .host_name = "node1",
	};

	memset(&topology, 0, sizeof(topology));
	ri_command_read(&command, options->command, options->launch);
	if (command.mode == RI_MODE_PROCESS && !ri_wishes_refuse_all(&options->wishes))
		context.fan_out = options->wishes.nproc_count;
	if (ri_topology_read(&topology, &context, &err) < 0 ||
		ri_nodes_settle(&topology, &context, &err) < 0 ||
		ri_nodes_fan_out(&topology, &context, &err) < 0 ||
		ri_variables_render(&variables, &topology, &context, &err) < 0 ||
		ri_variables_reduce(&edits, &variables, &context, &err) < 0)
		check_reason(&err);
	else
		check_edits(&edits);
	if (err.code == RI_CODE_NONE && context.fan_out > 0) {
		if (topology.identity != NULL)
			check_ranks(topology, context.fan_out);
		else
			CHECK(ri_topology_is_launcher(&topology) ||
				(context.fan_out == 1 && ri_topology_is_beside(&topology)));
	}
	CHECK(!ri_source_manages(NULL) && !ri_source_manages("none"));
	ri_sources_want(env, &options->wishes);
	explain(&context, &topology, &edits, options->command, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "rankinit", *text = fuzz_string(data, size);
	char *strings_text = fuzz_cut_part(text), *hostfile = fuzz_cut_part(strings_text);
	char *words[WORDS + 1] = { name }, *strings[WORDS + 1];
	struct ri_error err = RI_ERROR_INIT;
	struct ri_options options;
	struct ri_env env;

	fuzz_split(text, words, 1, WORDS);
	fuzz_split(strings_text, strings, 0, WORDS);
	findings.count = findings.dropped = 0;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_options_read(&options, words, &env, &findings, &err) == 0) {
		options.wishes.hostfile_text =
			options.wishes.hostfile.value == NULL ? NULL : hostfile;
		run_job(&options, &env);
	} else {
		check_reason(&err);
	}
	ri_arena_release(&arena);
	free(text);
	return 0;
}
