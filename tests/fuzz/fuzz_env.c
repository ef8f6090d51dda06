/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: an environment, one string a line, through snapshot, topology
 * and edits. Whatever it is, the answer is a refusal with a reason, or a
 * consistent set of variables; and it can be explained, in lines that fit.
 * Lines after one that is "%%" are the environment of process 1, which has
 * the last word nowhere.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "command/command.h"
#include "from/reading.h"
#include "model/explain.h"
#include "to/to.h"
#include "../unit/stages_of.h"
#include "fuzz.h"
#include "linked.h"

enum { MAX_STRINGS = 256, INPUT_SIZE = 16384 };

static struct ri_arena arena;
static struct ri_findings findings;

static void assert_below(const struct ri_topology *topology, enum ri_fact_id a, enum ri_fact_id b)
{
	uint64_t low, high;

	if (ri_topology_get(topology, a, &low) && ri_topology_get(topology, b, &high))
		assert(low < high);
}

static void assert_ranks(const struct ri_topology *topology)
{
	uint64_t value, other;

	for (enum ri_fact_id id = RI_FACT_RANK; id < RI_FACT_LOCAL_WORLD_SIZE; id++)
		assert(ri_topology_knows(topology, id));
	assert_below(topology, RI_FACT_RANK, RI_FACT_WORLD_SIZE);
	assert_below(topology, RI_FACT_LOCAL_RANK, RI_FACT_LOCAL_WORLD_SIZE);
	assert(ri_topology_get(topology, RI_FACT_WORLD_SIZE, &value));
	if (ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &other))
		assert(other <= value);
	if (ri_topology_get(topology, RI_FACT_NNODES, &other))
		assert(other <= value);
}

static void assert_coherent(const struct ri_topology *topology)
{
	uint64_t value, other;

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &topology->facts[id];
		struct ri_range range = ri_fact_range(id);

		if (fact->state != RI_STATE_KNOWN)
			continue;
		assert(fact->origin.source != NULL);
		assert(id != RI_FACT_MASTER_ADDR || fact->text != NULL);
		if (fact->text != NULL)
			assert(fact->text[0] != '\0');
		else
			assert(fact->number >= range.min && fact->number <= range.max);
	}
	if (topology->identity == NULL)
		return;
	assert_below(topology, RI_FACT_NODE_RANK, RI_FACT_NNODES);
	if (topology->scope == RI_SCOPE_NODE)
		assert(ri_topology_knows(topology, RI_FACT_NODE_RANK) &&
			ri_topology_knows(topology, RI_FACT_NNODES));
	else
		assert_ranks(topology);
	if (ri_topology_get(topology, RI_FACT_NNODES, &value) && value == 1) {
		assert(ri_topology_get(topology, RI_FACT_NODE_RANK, &other) && other == 0);
		assert(ri_topology_knows(topology, RI_FACT_MASTER_ADDR));
	}
	if (ri_topology_get(topology, RI_FACT_HOSTS, &value) &&
		ri_topology_get(topology, RI_FACT_NNODES, &other))
		assert(value == other);
}

static bool is_from(const struct ri_fact *fact, const char *source)
{
	return fact->state != RI_STATE_KNOWN || strcmp(fact->origin.source, source) == 0 ||
		strcmp(fact->origin.source, "derived") == 0;
}

/* May any source say this, since it is the same for all ranks? */
static bool is_for_all(enum ri_fact_id id)
{
	return ri_fact_group(id) == RI_GROUP_SHARED || ri_fact_group(id) == RI_GROUP_EXTRA;
}

/* No tuple of two layers, and nothing of who process 1 is. */
static void assert_origins(const struct ri_topology *topology)
{
	const struct ri_fact *master = &topology->facts[RI_FACT_MASTER_ADDR];
	bool said = false;
	uint64_t nodes;

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &topology->facts[id];

		if (topology->identity != NULL && !is_for_all(id))
			assert(is_from(fact, topology->identity));
		assert(topology->scope != RI_SCOPE_NODE || fact->state != RI_STATE_KNOWN ||
			ri_fact_group(id) != RI_GROUP_TUPLE);
		for (; fact != NULL; fact = fact->next)
			assert(is_for_all(id) ||
				fact->origin.source == NULL ||
				strcmp(fact->origin.source, "pid1") != 0);
	}
	for (size_t i = 0; i < topology->source_count; i++)
		said |= topology->sources[i] == topology->identity;
	assert(topology->identity == NULL || said);
	if (topology->identity != NULL && master->state == RI_STATE_KNOWN &&
		strcmp(master->origin.source, "azure_batchai") == 0 &&
		ri_loopback_is(master->text, strlen(master->text)))
		assert(ri_topology_get(topology, RI_FACT_NNODES, &nodes) && nodes == 1);
}

/* Of those whose workers may carry the mark of the rankinit around them. */
static bool is_inside_of_mark(const char *identity)
{
	return strcmp(identity, "torchrun") == 0 || strcmp(identity, "deepspeed") == 0 ||
		strcmp(identity, "horovod") == 0;
}

/*
 * A rankinit inside of the one that made these edits takes this process for
 * the same rank. What nobody could tell may be left over from an image.
 */
static void assert_same_inside(const struct ri_env *env, struct ri_env_edits *edits,
	const struct ri_topology *topology)
{
	static struct ri_findings ignored;
	struct ri_env_edit mark = { "RANKINIT", "0.1.0:process" };
	struct ri_env inner;
	struct ri_context context = {
		.env = &inner, .arena = &arena, .findings = &ignored, .wishes = &no_wishes,
		.command = &no_command,
	};
	struct ri_topology again;
	struct ri_error err = RI_ERROR_INIT;
	char **strings;

	if (topology->identity == NULL || topology->scope == RI_SCOPE_NODE ||
		!ri_topology_knows(topology, RI_FACT_LOCAL_WORLD_SIZE) ||
		!ri_topology_knows(topology, RI_FACT_MASTER_ADDR))
		return;
	ignored = (struct ri_findings){ .count = 0 };
	assert(ri_env_edits_add(edits, mark, &arena, &err) == 0);
	strings = ri_env_apply(env, edits, &arena, &err);
	assert(strings != NULL && ri_env_init(&inner, strings, &arena, &err) == 0);
	assert(ri_topology_read(&again, &context, &err) == 0);
	assert(again.identity != NULL && (strcmp(again.identity, "rankinit") == 0 ||
		is_inside_of_mark(again.identity)));
	for (enum ri_fact_id id = RI_FACT_RANK; id <= RI_FACT_LOCAL_WORLD_SIZE; id++)
		assert(again.facts[id].number == topology->facts[id].number);
	assert(strcmp(again.facts[RI_FACT_MASTER_ADDR].text,
		topology->facts[RI_FACT_MASTER_ADDR].text) == 0);
	assert(again.facts[RI_FACT_MASTER_PORT].number ==
		topology->facts[RI_FACT_MASTER_PORT].number);
}

/* A machine whose process 1 has this environment; NULL where there is none. */
static struct ri_host *make_machine(char *lines)
{
	static struct ri_host host;
	static int environ_file;
	size_t length = strlen(lines);

	if (length == 0)
		return NULL;
	if (environ_file == 0) {
		host.root = fuzz_folder_make();
		CHECK(mkdirat(host.root, "proc", 0755) == 0);
		CHECK(mkdirat(host.root, "proc/1", 0755) == 0);
		environ_file = fuzz_file_make(host.root, "proc/1/environ");
	}
	for (char *at = lines; *at != '\0'; at++)
		if (*at == '\n')
			*at = '\0';
	CHECK(ftruncate(environ_file, 0) == 0);
	CHECK(pwrite(environ_file, lines, length, 0) == (ssize_t)length);
	return &host;
}

static void assert_edits(const struct ri_env *env, const struct ri_env_edits *edits,
	const struct ri_topology *topology)
{
	assert(topology->identity != NULL || edits->count == 0);
	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];
		const char *before = ri_env_get(env, edit->name);

		if (edit->value == NULL) {
			assert(before != NULL);
			continue;
		}
		assert(edit->value[0] != '\0');
		assert(strcmp(edit->name, "TF_CONFIG") == 0 ||
			strpbrk(edit->value, " \t\r\n[]") == NULL);
		assert(ri_env_edits_find(edits, edit->name) == edit);
		assert(before == NULL || strcmp(before, edit->value) != 0 ||
			ri_env_find(env, edit->name)->next != 0);
	}
}

static void assert_lines_fit(const char *text)
{
	for (const char *end; *text != '\0'; text = end + 1) {
		size_t columns = 0;

		end = strchr(text, '\n');
		assert(end != NULL);
		for (const char *p = text; p < end; p++) {
			assert((unsigned char)*p >= ' ' && *p != 0x7f);
			columns += ((unsigned char)*p & 0xc0) != 0x80;
		}
		assert(columns <= RI_PAGE_WIDTH);
	}
}

static void assert_explained(const struct ri_topology *topology, const struct ri_env *env,
	const struct ri_env_edits *edits, const struct ri_error *err)
{
	static char page[262144], word[] = "train", *argv[] = { word, NULL };
	const struct ri_explained_rank rank = {
		.rank = -1, .local_rank = -1, .edits = edits, .argv = argv,
	};
	const struct ri_explain explain = {
		.version = "0", .topology = topology,
		.env = env, .findings = &findings,
		.err = err, .ranks = &rank, .rank_count = 1, .launch = "process",
		.looked_for = "all of them",
	};
	static char document[16 << 20];
	struct ri_text out = ri_text_of(document, sizeof(document));

	assert(ri_explain_json(&explain, &out) == 0);
	assert(strstr(document, "rankinit-explain-1") != NULL);
	out = ri_text_of(page, sizeof(page));
	ri_explain_text(&explain, &out);
	assert(!out.cut);
	assert_lines_fit(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[INPUT_SIZE + 1];
	char *strings[MAX_STRINGS + 1];
	struct ri_env env;
	const struct ri_command command = { .mode = RI_MODE_PROCESS };
	struct ri_context context = {
		.env = &env, .arena = &arena, .findings = &findings, .command = &command,
		.wishes = &no_wishes,
	};
	struct ri_env_edits variables, edits = { .count = 0 };
	struct ri_topology topology;
	struct ri_error err = RI_ERROR_INIT;
	char *part;

	if (size > INPUT_SIZE)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	part = fuzz_cut_part(text);
	context.host = make_machine(part);
	fuzz_split(text, strings, 0, MAX_STRINGS);
	findings = (struct ri_findings){ .count = 0 };
	assert(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_topology_read(&topology, &context, &err) == 0) {
		assert_coherent(&topology);
		assert_origins(&topology);
		fuzz_check_linked(&topology, &context);
		/* all that is refused here is a master that cannot be */
		if (ri_variables_render(&variables, &topology, &context, &err) < 0) {
			assert(err.code == RI_CODE_MASTER_LOOPBACK);
		} else {
			assert(ri_variables_reduce(&edits, &variables, &context, &err) == 0);
			assert_edits(&env, &edits, &topology);
			assert_same_inside(&env, &edits, &topology);
			assert(err.code == RI_CODE_NONE);
		}
	} else {
		assert(ri_code_status(err.code) == 125);
		assert(err.subject[0] != '\0' && err.text[0] != '\0');
	}
	assert_explained(&topology, &env, &edits, &err);
	ri_arena_release(&arena);
	return 0;
}
