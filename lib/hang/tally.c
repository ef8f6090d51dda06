/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes said together, in one sentence. */
#include "hang/tally.h"

#include "base/ranges.h"

enum {
	SAID = 3,		/* groups in a sentence, and nodes that are silent */
	RUNS = 8,		/* "0-3, 7" of a list of numbers */
	PLACE = 110,		/* columns of one of several places */
	ACTIVITY = 190,
};

void ri_tally_add_node(struct ri_text *out, const struct ri_together *together, size_t node)
{
	const char *host = node < together->node_count ? together->nodes[node].host : "";

	ri_text_addf(out, "node %zu", node);
	if (host[0] != '\0')
		ri_text_addf(out, " (%s)", host);
}

static void add_span(struct ri_text *out, struct ri_span span, size_t columns)
{
	char bytes[RI_GROUPS_WORDS + 1];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_add_bytes(&text, span.at, span.length);
	ri_text_add_shown(out, bytes, columns);
}

/* "wait in all_reduce (train.py:16)", of several places only the function. */
static void add_crowd(struct ri_text *out, const struct ri_tally *tally)
{
	const struct ri_kind *only = NULL;
	size_t places = 0;

	for (size_t i = 0; i < tally->kind_count; i++) {
		const struct ri_kind *kind = &tally->kinds[i];

		if (kind->whole || ri_kind_steady(kind) == 0 ||
			kind->group.class != RI_HANG_COLLECTIVE ||
			!ri_span_same(kind->group.function, tally->crowd->group.function))
			continue;
		only = kind;
		places++;
	}
	ri_text_add(out, tally->members == 1 ? "waits in " : "wait in ");
	add_span(out, places == 1 && only->group.place.length > 0 ? only->group.place
		: tally->crowd->group.function, PLACE);
}

/* "is in step (train.py:55)", "are blocked"; said of ranks of one kind. */
static void add_deed(struct ri_text *out, const struct ri_group *group, size_t ranks)
{
	bool waits = group->class == RI_HANG_COLLECTIVE;

	if (waits || group->place.length > 0) {
		ri_text_add(out, waits ? (ranks == 1 ? "waits in " : "wait in ")
			: ranks == 1 ? "is in " : "are in ");
		add_span(out, group->place.length > 0 ? group->place : group->function, PLACE);
		if (waits || group->activity.length == 0)
			return;
		ri_text_add(out, ranks == 1 ? " and " : ", and each ");
	} else if (ranks > 1) {
		ri_text_add(out, "each ");
	}
	add_span(out, group->activity, ACTIVITY);
}

/* "rank 13 (node 1, gpu-0514)", "ranks 8-15 (nodes 1-2)" */
static void add_ranks(struct ri_text *out, struct ri_tally *tally, const struct ri_odd *odd,
	size_t length)
{
	struct ri_together *together = tally->together;
	bool *has = ri_arena_array(&together->scratch, together->node_count, sizeof(*has));
	struct ri_ranges list = { .out = out, .between = ", ", .most = RUNS };
	size_t nodes = 0;

	ri_text_add(out, length == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < length; i++) {
		ri_ranges_add(&list, odd[i].rank);
		if (has != NULL && !has[odd[i].node]) {
			has[odd[i].node] = true;
			nodes++;
		}
	}
	ri_ranges_end(&list);
	if (nodes == 1) {
		ri_text_addf(out, " (node %u", odd[0].node);
		if (together->nodes[odd[0].node].host[0] != '\0')
			ri_text_addf(out, ", %s", together->nodes[odd[0].node].host);
		ri_text_add(out, ")");
		return;
	}
	list = (struct ri_ranges){ .out = out, .between = ", ", .most = RUNS };
	ri_text_add(out, " (nodes ");
	for (size_t i = 0; has != NULL && i < together->node_count; i++)
		if (has[i])
			ri_ranges_add(&list, i);
	ri_ranges_end(&list);
	ri_text_add(out, ")");
}

static void add_rest(struct ri_text *out, size_t ranks)
{
	if (ranks > 0)
		ri_text_addf(out, "; %zu other rank%s elsewhere", ranks,
			ranks == 1 ? " is" : "s are");
}

void ri_tally_say_odd(struct ri_text *out, struct ri_tally *tally, const struct ri_odd *odd,
	size_t length, int weight)
{
	size_t at = 0, rest = tally->told - tally->members - length;

	ri_text_addf(out, "%sof %zu ranks %zu ", weight == 1 ? "the ranks differ: " : "",
		tally->told, tally->members);
	add_crowd(out, tally);
	for (int said = 0; at < length && said < SAID; said++) {
		size_t end = at;

		while (end < length && odd[end].kind == odd[at].kind)
			end++;
		ri_text_add(out, ", ");
		add_ranks(out, tally, odd + at, end - at);
		ri_text_add(out, " ");
		add_deed(out, &tally->kinds[odd[at].kind].group, end - at);
		at = end;
	}
	rest += length - at;
	add_rest(out, rest);
}

/* The largest groups, the first of them first. */
void ri_tally_say_groups(struct ri_text *out, const struct ri_tally *tally)
{
	size_t before = SIZE_MAX, last = 0, told = tally->told;

	ri_text_addf(out, "of %zu ranks ", told);
	for (int said = 0; said < SAID && told > 0; said++) {
		const struct ri_kind *next = NULL;

		for (size_t i = 0; i < tally->kind_count; i++) {
			const struct ri_kind *kind = &tally->kinds[i];

			if (!kind->whole && (kind->ranks < before ||
				(kind->ranks == before && i > last)) &&
				(next == NULL || kind->ranks > next->ranks))
				next = kind;
		}
		if (next == NULL)
			break;
		ri_text_addf(out, "%s%zu ", said == 0 ? "" : ", ", next->ranks);
		add_deed(out, &next->group, next->ranks);
		before = next->ranks;
		last = (size_t)(next - tally->kinds);
		told -= next->ranks;
	}
	add_rest(out, told);
}

/* "; node 2 (gpu-0515) did not answer" */
static void say_silent(struct ri_text *out, const struct ri_together *together)
{
	size_t silent = together->node_count - together->answered, said = 0;

	if (silent == 0)
		return;
	ri_text_add(out, "; ");
	if (silent > SAID) {
		ri_text_addf(out, "%zu of %zu nodes did not answer", silent, together->node_count);
		return;
	}
	for (size_t i = 0; i < together->node_count; i++) {
		if (together->nodes[i].answered)
			continue;
		ri_text_add(out, said++ == 0 ? "" : ", ");
		ri_tally_add_node(out, together, i);
	}
	ri_text_add(out, " did not answer");
}

void ri_tally_end(struct ri_text *out, const struct ri_text *words,
	const struct ri_together *together)
{
	char tail[SAID * (RI_TALLY_HOST + 32)];
	size_t room, length = words->length;
	struct ri_text end;

	ri_text_init(&end, tail, sizeof(tail));
	say_silent(&end, together);
	room = out->size - 1 - end.length;
	/* what fits, up to the end of a character */
	if (length > room)
		for (length = room - 3; length > 0 &&
			((unsigned char)words->bytes[length] & 0xc0) == 0x80; length--)
			;
	ri_text_add_bytes(out, words->bytes, length);
	ri_text_add(out, length < words->length ? "..." : "");
	ri_text_add(out, end.bytes);
}
