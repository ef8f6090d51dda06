/* SPDX-License-Identifier: Apache-2.0 */
#include "from/sources.h"

#include <string.h>

#include "base/text.h"

const struct ri_shape_row ri_shape_states_nodes[] = {
	{ "RANKINIT_NNODES", "<nodes>" },
	{ "MASTER_ADDR", "<master>" },
	{ "MASTER_PORT", "<master_port>" },
	{ .name = NULL },
};

static bool copy_row(const struct ri_shape_row *rows, size_t *index, struct ri_shape_row *out)
{
	for (; rows != NULL && rows->name != NULL; rows++)
		if ((*index)-- == 0) {
			*out = *rows;
			return true;
		}
	return false;
}

/* What a simulated job has in the variable of a row; NULL: it is not set there. */
static const char *value_of(const struct ri_source_row *row)
{
	static const char *const facts[RI_FACT_COUNT] = {
		[RI_FACT_RANK] = "<rank>", [RI_FACT_WORLD_SIZE] = "<world_size>",
		[RI_FACT_LOCAL_RANK] = "<local_rank>", [RI_FACT_LOCAL_WORLD_SIZE] = "<ranks>",
		[RI_FACT_NODE_RANK] = "<node>", [RI_FACT_NNODES] = "<nodes>",
		[RI_FACT_NPROC] = "<ranks>", [RI_FACT_HOSTS] = "<each:,><host></each>",
		[RI_FACT_MASTER_ADDR] = "<master>", [RI_FACT_MASTER_PORT] = "<master_port>",
	};

	if (row->value != NULL)
		return *row->value == '\0' ? NULL : row->value;
	if (row->take == RI_TAKE_NOTHING || row->take == RI_TAKE_ELSE)
		return NULL;
	return row->between == '\n' ? "<each:\n><host></each>" : facts[row->fact];
}

bool ri_shape_row_at(const struct ri_shape *shape, size_t index, struct ri_shape_row *out)
{
	const struct ri_source_row *read = shape->reads == NULL ? NULL : *shape->reads;

	if (copy_row(shape->beside, &index, out))
		return true;
	for (; read != NULL && read->name != NULL; read++)
		if (value_of(read) != NULL && index-- == 0) {
			*out = (struct ri_shape_row){ read->name, value_of(read) };
			return true;
		}
	return copy_row(shape->rows, &index, out);
}

bool ri_shape_row_is_of(const struct ri_shape_row *row, const struct ri_shape_member *member)
{
	unsigned of_others = (member->node == 0 ? RI_OF_OTHERS : RI_OF_FIRST) |
		(member->nodes == 1 ? RI_OF_SEVERAL_NODES : RI_OF_ONE_NODE);

	return (row->of & of_others) == 0;
}

unsigned ri_shape_port(const struct ri_shape *shape)
{
	return shape->port != 0 ? shape->port : RI_DEFAULT_PORT;
}

bool ri_shape_says_port(const struct ri_shape *shape)
{
	struct ri_shape_row row;

	for (size_t i = 0; ri_shape_row_at(shape, i, &row); i++)
		if (strstr(row.value, "<master_port>") != NULL)
			return true;
	return false;
}

/* Loopback addresses are 127.0.0.0/8 (RFC 1122, 3.2.1.3); .1 is everybody's own. */
#define HOST(node) "127.0.%zu.%zu", ((node) + 2) / 256, ((node) + 2) % 256

char *ri_shape_host(size_t node, struct ri_arena *arena)
{
	return ri_arena_format(arena, HOST(node));
}

/* A word between angle brackets, as a number or an address. False: it is none. */
static bool add_place(struct ri_text *out, const char *word, size_t length,
	const struct ri_shape_member *of)
{
	const struct {
		const char *word;
		size_t number;
		bool is_host;
	} places[] = {
		{ "host", of->node, true }, { "master", 0, true },
		{ "rank", of->node * of->ranks + of->local_rank },
		{ "world_size", of->nodes * of->ranks },
		{ "local_rank", of->local_rank }, { "ranks", of->ranks },
		{ "node", of->node }, { "nodes", of->nodes },
		{ "worker", of->node - 1 }, { "workers", of->nodes - 1 },
		{ "port", of->port + of->node }, { "master_port", of->port },
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(places); i++) {
		size_t number = places[i].number;

		if (strlen(places[i].word) != length || memcmp(places[i].word, word, length) != 0)
			continue;
		if (places[i].is_host)
			ri_text_addf(out, HOST(number));
		else
			ri_text_addf(out, "%zu", number);
		return true;
	}
	return false;
}

/* A byte, or a place between angle brackets. Returns what follows it. */
static const char *add_next(struct ri_text *out, const char *text,
	const struct ri_shape_member *of)
{
	const char *close = *text == '<' ? strchr(text, '>') : NULL;

	if (close != NULL && add_place(out, text + 1, (size_t)(close - text) - 1, of))
		return close + 1;
	ri_text_add_bytes(out, text, 1);
	return text + 1;
}

/* What is repeated for the nodes from first on: "SEP>...</WORD>". Returns what follows it. */
static const char *add_loop(struct ri_text *out, const char *text, const char *end_mark,
	size_t first, const struct ri_shape_member *member)
{
	const char *separator = text, *body = strchr(text, '>') + 1;
	const char *end = strstr(body, end_mark);
	struct ri_shape_member of = *member;

	for (of.node = first; of.node < of.nodes; of.node++) {
		if (of.node > first)
			ri_text_add_bytes(out, separator, (size_t)(body - separator) - 1);
		for (const char *at = body; at < end;)
			at = add_next(out, at, &of);
	}
	return end + strlen(end_mark);
}

char *ri_shape_value(const struct ri_shape_row *row, const struct ri_shape_member *member,
	struct ri_arena *arena)
{
	static const char each[] = "<each:", others[] = "<others:";
	static char buffer[RI_MAX_VARIABLE];
	struct ri_text out = ri_text_of(buffer, sizeof(buffer));

	for (const char *at = row->value; *at != '\0';)
		if (strncmp(at, each, strlen(each)) == 0)
			at = add_loop(&out, at + strlen(each), "</each>", 0, member);
		else if (strncmp(at, others, strlen(others)) == 0)
			at = add_loop(&out, at + strlen(others), "</others>", 1, member);
		else
			at = add_next(&out, at, member);
	return ri_arena_copy(arena, buffer, out.length);
}
