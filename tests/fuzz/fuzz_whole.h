/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run but for its effects: options, topology, variables, explanation.
 * Each is a refusal with a reason, or something that can be printed.
 */
#ifndef RI_TESTS_FUZZ_WHOLE_H
#define RI_TESTS_FUZZ_WHOLE_H

#include "command/command.h"
#include "model/context.h"
#include "model/explain.h"
#include "options/options.h"
#include "to/to.h"
#include "../unit/stages_of.h"
#include "fuzz.h"

enum { FUZZ_WORDS = 128 };

static struct ri_findings findings;
static struct ri_arena arena;

/* About something, in words, and none of them is what printf makes of NULL. */
static inline void fuzz_check_words(const char *subject, const char *text, const char *hint)
{
	CHECK(subject[0] != '\0' && text[0] != '\0');
	CHECK(strstr(subject, "(null)") == NULL && strstr(text, "(null)") == NULL &&
		strstr(hint, "(null)") == NULL);
}

static inline void fuzz_check_reason(const struct ri_error *err)
{
	CHECK(err->code != RI_CODE_NONE && ri_code_status(err->code) == 125);
	fuzz_check_words(err->subject, err->text, err->hint);
}

static inline void fuzz_check_edits(const struct ri_env_edits *edits)
{
	for (size_t i = 0; i < edits->count; i++) {
		CHECK(edits->items[i].name[0] != '\0');
		CHECK(edits->items[i].value == NULL || edits->items[i].value[0] != '\0');
	}
}

static inline void fuzz_explain(const struct ri_context *context,
	const struct ri_topology *topology, const struct ri_env_edits *edits,
	char *const *argv, const struct ri_error *err)
{
	static char page[1 << 20];
	/* two ranks that differ, as a fan-out has them */
	static const struct ri_env_edits none = { .count = 0 };
	const struct ri_explained_rank ranks[] = {
		{ .rank = 0, .local_rank = 0, .edits = edits, .argv = argv, .gpu = "GPU-0",
		  .cpus = "0-3" },
		{ .rank = 1, .local_rank = 1, .edits = &none, .argv = argv },
	};
	const struct ri_explain explained = {
		.version = "0", .topology = topology, .env = context->env,
		.findings = &findings, .err = err, .ranks = ranks, .rank_count = 2,
		.launch = "process", .looked_for = "all of them", .color = true,
	};
	static char document[16 << 20];
	struct ri_text out = ri_text_of(document, sizeof(document));

	CHECK(ri_explain_json(&explained, &out) == 0);
	out = ri_text_of(page, sizeof(page));
	ri_explain_text(&explained, &out);
	CHECK(out.length > 0);
}

/* What every claim has, whether it won or lost: a source, and what was read. */
static inline void fuzz_check_claims(const struct ri_topology *topology)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		for (const struct ri_fact *fact = &topology->facts[id]; fact != NULL;
			fact = fact->next)
			CHECK(fact->state == RI_STATE_ABSENT ||
				(fact->origin.source != NULL && fact->origin.raw != NULL));
}

/*
 * Most of a run's time goes into its explanation. Answers are alike where the same
 * sources said the same in other values, and each kind is explained once.
 */
struct fuzz_kinds {
	uint64_t seen[1 << 16];		/* hashes, at their place or after it */
	size_t count;
};

/* Fowler, Noll, Vo: 1a */
static inline uint64_t fuzz_mix(uint64_t hash, const char *text, size_t length, uint64_t number)
{
	const uint64_t prime = 0x100000001b3;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * prime;
	for (; number > 0; number >>= 8)
		hash = (hash ^ (number & 0xff)) * prime;
	return (hash ^ 0xff) * prime;
}

static inline uint64_t fuzz_mix_word(uint64_t hash, const char *word, uint64_t number)
{
	return fuzz_mix(hash, word, word == NULL ? 0 : strlen(word), number);
}

static inline uint64_t fuzz_kind(const struct ri_topology *topology, const struct ri_error *err)
{
	uint64_t hash = fuzz_mix_word(0, err->subject, err->code);

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		for (const struct ri_fact *fact = &topology->facts[id]; fact != NULL;
			fact = fact->next) {
			hash = fuzz_mix_word(hash, fact->origin.source, id);
			hash = fuzz_mix_word(hash, fact->origin.variable, fact->state);
			hash = fuzz_mix_word(hash, NULL, fact->fault_at);
		}
	for (size_t i = 0; i < findings.count; i++)
		hash = fuzz_mix_word(hash, findings.items[i].subject, findings.items[i].code);
	return hash | 1;
}

/* False where it is there already; of more than it holds, each counts as new. */
static inline bool fuzz_is_new(struct fuzz_kinds *kinds, uint64_t hash)
{
	enum { ROOM = sizeof(kinds->seen) / sizeof(kinds->seen[0]) };
	size_t at = (hash >> 20) % ROOM;

	while (kinds->seen[at] != 0 && kinds->seen[at] != hash)
		at = (at + 1) % ROOM;
	if (kinds->seen[at] == hash)
		return false;
	if (kinds->count < ROOM - 1) {
		kinds->seen[at] = hash;
		kinds->count++;
	}
	return true;
}

/* Ranks that are started here count on from each other, and end where the world does. */
static inline void fuzz_check_ranks(struct ri_topology topology, uint64_t count)
{
	uint64_t rank, first, size, local, node, nodes;

	CHECK(ri_topology_get(&topology, RI_FACT_NODE_RANK, &node) &&
		ri_topology_get(&topology, RI_FACT_NNODES, &nodes) &&
		ri_topology_get(&topology, RI_FACT_WORLD_SIZE, &size) &&
		ri_topology_get(&topology, RI_FACT_RANK, &first));
	CHECK(size == nodes * count && size <= RI_MAX_RANKS && first == node * count);
	ri_topology_go_to(&topology, count - 1);
	CHECK(ri_topology_get(&topology, RI_FACT_RANK, &rank) &&
		ri_topology_get(&topology, RI_FACT_LOCAL_RANK, &local));
	CHECK(rank == first + count - 1 && rank < size && local == count - 1);
}

/* A machine that has the names of an even length, and another process on an even port. */
static inline bool fuzz_is_here(const char *host)
{
	return strlen(host) % 2 == 0;
}

static inline unsigned fuzz_pick_port(unsigned usual)
{
	return usual | 1;
}

static inline void fuzz_run_job(struct ri_options *options, struct ri_context *context,
	struct fuzz_kinds *kinds)
{
	static struct ri_topology topology;
	struct ri_env_edits variables = { .count = 0 }, edits = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_command command = { 0 };

	memset(&topology, 0, sizeof(topology));
	ri_command_read(&command, options->command, options->launch);
	context->command = &command;
	if (command.mode == RI_MODE_PROCESS && !ri_wishes_refuse_all(&options->wishes))
		context->fan_out = options->wishes.nproc_count;
	if (ri_topology_read(&topology, context, &err) < 0 ||
		ri_variables_render(&variables, &topology, context, &err) < 0 ||
		ri_variables_reduce(&edits, &variables, context, &err) < 0)
		fuzz_check_reason(&err);
	else
		fuzz_check_edits(&edits);
	if (err.code == RI_CODE_NONE && context->fan_out > 0) {
		if (topology.identity != NULL)
			fuzz_check_ranks(topology, context->fan_out);
		else
			CHECK(ri_topology_is_launcher(&topology) ||
				(context->fan_out == 1 && ri_topology_is_beside(&topology)));
	}
	CHECK(!ri_source_of(NULL)->manages && !ri_source_of("none")->manages);
	fuzz_check_claims(&topology);
	for (size_t i = 0; i < findings.count; i++)
		fuzz_check_words(findings.items[i].subject, findings.items[i].text,
			findings.items[i].hint);
	if (kinds == NULL || fuzz_is_new(kinds, fuzz_kind(&topology, &err)))
		fuzz_explain(context, &topology, &edits, options->command, &err);
}

/*
 * The words of a command line without its first one, and the strings of an
 * environment; the text of --hostfile, and a machine whose files sources may
 * read, or NULL. With kinds, answers that are alike are explained once.
 */
static inline void fuzz_run(char **words, char **strings, const char *hostfile,
	struct ri_host *host, const char *host_name, struct fuzz_kinds *kinds)
{
	static const struct ri_meeting meeting = { fuzz_is_here, fuzz_pick_port };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_options options;
	struct ri_host named = { .root = -1 };
	struct ri_env env;
	struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .wishes = &options.wishes,
		.host = host == NULL ? &named : host, .meeting = host == NULL ? &meeting : NULL,
	};

	context.host->name = host_name;
	findings.count = findings.dropped = 0;
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_options_read(&options, words, &env, &findings, &err) == 0) {
		options.wishes.hostfile_text =
			options.wishes.hostfile.value == NULL ? NULL : hostfile;
		fuzz_run_job(&options, &context, kinds);
	} else {
		fuzz_check_reason(&err);
	}
	ri_arena_release(&arena);
}

#endif
