/* SPDX-License-Identifier: Apache-2.0 */
#include "from/sources.h"

#include <string.h>

#include "base/text.h"

const struct ri_shape_row ri_shape_states_nodes[] = {
	{ "RANKINIT_NNODES", "<nodes>", 0 },
	{ "MASTER_ADDR", "<master>", 0 },
	{ "MASTER_PORT", "<master_port>", 0 },
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
	return row->take == RI_TAKE_LINES ? "<each:\n><host></each>" : facts[row->fact];
}

bool ri_shape_row_at(const struct ri_shape *shape, size_t index, struct ri_shape_row *out)
{
	const struct ri_source_row *read = shape->reads == NULL ? NULL : *shape->reads;

	if (copy_row(shape->beside, &index, out))
		return true;
	for (; read != NULL && read->name != NULL; read++)
		if (value_of(read) != NULL && index-- == 0) {
			*out = (struct ri_shape_row){ read->name, value_of(read), 0 };
			return true;
		}
	return copy_row(shape->rows, &index, out);
}

bool ri_shape_row_is_of(const struct ri_shape_row *row, const struct ri_shape_member *member)
{
	unsigned node = row->of & (RI_OF_FIRST | RI_OF_OTHERS);
	unsigned count = row->of & (RI_OF_ONE_NODE | RI_OF_SEVERAL_NODES);

	return (node == 0 || (node & (member->node == 0 ? RI_OF_FIRST : RI_OF_OTHERS)) != 0) &&
		(count == 0 ||
			(count & (member->nodes == 1 ? RI_OF_ONE_NODE : RI_OF_SEVERAL_NODES)) != 0);
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
#define HOST "127.0.%zu.%zu"

char *ri_shape_host(size_t node, struct ri_arena *arena)
{
	return ri_arena_format(arena, HOST, (node + 2) / 256, (node + 2) % 256);
}

/* A word between angle brackets, as a number or an address. False: it is none. */
static bool add_place(struct ri_text *out, const char *word, size_t length,
	const struct ri_shape_member *of)
{
	const struct {
		const char *word;
		size_t number;
	} places[] = {
		{ "rank", of->node * of->ranks + of->local_rank },
		{ "world_size", of->nodes * of->ranks },
		{ "local_rank", of->local_rank }, { "ranks", of->ranks },
		{ "node", of->node }, { "nodes", of->nodes },
		{ "worker", of->node - 1 }, { "workers", of->nodes - 1 },
		{ "port", of->port + of->node }, { "master_port", of->port },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (strlen(places[i].word) != length || memcmp(places[i].word, word, length) != 0)
			continue;
		ri_text_addf(out, "%zu", places[i].number);
		return true;
	}
	if (length == 4 && memcmp(word, "host", 4) == 0)
		ri_text_addf(out, HOST, (of->node + 2) / 256, (of->node + 2) % 256);
	else if (length == 6 && memcmp(word, "master", 6) == 0)
		ri_text_addf(out, HOST, (size_t)0, (size_t)2);
	else
		return false;
	return true;
}

/* Text without loops. */
static void add_plain(struct ri_text *out, const char *text, size_t length,
	const struct ri_shape_member *of)
{
	const char *end = text + length;

	while (text < end) {
		const char *close = *text == '<' ? memchr(text, '>', (size_t)(end - text)) : NULL;

		if (close == NULL || !add_place(out, text + 1, (size_t)(close - text) - 1, of))
			ri_text_add_bytes(out, text++, 1);
		else
			text = close + 1;
	}
}

/* What is repeated for the nodes from first on: "SEP>...</WORD>". Returns what follows it. */
static const char *add_loop(struct ri_text *out, const char *text, const char *end_mark,
	size_t first, const struct ri_shape_member *member)
{
	const char *separator = text, *body = strchr(text, '>') + 1;
	const char *end = strstr(body, end_mark);
	struct ri_shape_member at = *member;

	for (at.node = first; at.node < at.nodes; at.node++) {
		if (at.node > first)
			ri_text_add_bytes(out, separator, (size_t)(body - separator) - 1);
		add_plain(out, body, (size_t)(end - body), &at);
	}
	return end + strlen(end_mark);
}

char *ri_shape_value(const struct ri_shape_row *row, const struct ri_shape_member *member,
	struct ri_arena *arena)
{
	static const char each[] = "<each:", others[] = "<others:";
	static char buffer[RI_MAX_VARIABLE];
	const char *text = row->value;
	struct ri_text out = ri_text_of(buffer, sizeof(buffer));

	while (*text != '\0') {
		const char *loop = strstr(text, each), *other = strstr(text, others);

		if (loop == NULL && other == NULL) {
			add_plain(&out, text, strlen(text), member);
			break;
		}
		if (loop != NULL && (other == NULL || loop < other)) {
			add_plain(&out, text, (size_t)(loop - text), member);
			text = add_loop(&out, loop + strlen(each), "</each>", 0, member);
		} else {
			add_plain(&out, text, (size_t)(other - text), member);
			text = add_loop(&out, other + strlen(others), "</others>", 1, member);
		}
	}
	return ri_arena_copy(arena, buffer, out.length);
}
