/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes say of their ranks, one after the other, divided by lines "%%": node 0, 1, ... and at
 * the end node 0 again. The first byte says how many nodes there are, and whether it is known which
 * ranks they have.
 */
#include "hang/together.h"
#include "fuzz.h"

enum { NODES = 8, RANKS = 4 };

static void check_groups(const struct ri_groups *groups, const char *text, size_t size)
{
	size_t ranks = 0;

	CHECK(groups->count <= RI_GROUPS_MOST && groups->rank_count <= RI_MAX_LOCAL);
	for (size_t i = 0; i < groups->count; i++) {
		const struct ri_group *group = &groups->items[i];

		CHECK(group->ranks > 0);
		CHECK(group->place.at >= text && group->activity.at >= group->place.at);
		CHECK(group->activity.at + group->activity.length <= text + size);
		CHECK((group->class == RI_HANG_COLLECTIVE) == (group->function.length > 0));
		ranks += group->ranks;
	}
	CHECK(ranks == groups->rank_count);
	for (size_t i = 0; i < groups->rank_count; i++) {
		CHECK(groups->ranks[i].group < groups->count);
		CHECK(i == 0 || groups->ranks[i].rank > groups->ranks[i - 1].rank);
	}
}

static void check_found(const struct ri_together_found *found, size_t nodes, size_t answered)
{
	CHECK(strlen(found->text) < RI_TOGETHER_TEXT);
	CHECK(fuzz_is_printable(found->text));
	CHECK((found->rank >= 0) == (found->odd == 1) && (found->node >= 0) == (found->odd == 1));
	CHECK(found->node < (int64_t)nodes);
	CHECK(found->silent <= nodes && found->silent + answered >= nodes);
	CHECK(found->told <= found->world);
	CHECK(4 * found->odd <= found->world || found->odd <= 1);
}

/* Add each part. Returns how many were taken. */
static size_t add_parts(struct ri_together *together, char *text, size_t nodes)
{
	static struct ri_groups groups;
	size_t taken = 0;

	for (size_t node = 0; node <= nodes; node++) {
		char *rest = fuzz_cut_part(text);
		size_t size = strlen(text);
		/* of exactly that size, without a '\0' */
		char *lines = malloc(size + (size == 0));
		const char *unread, *fault;

		CHECK(lines != NULL);
		memcpy(lines, text, size);
		unread = ri_groups_read(&groups, lines, size);
		if (unread == NULL)
			check_groups(&groups, lines, size);
		fault = ri_together_add(together, node % nodes, "gpu\x1b[2J", lines, size);
		taken += fault == NULL;
		CHECK(fault != NULL || unread == NULL);
		CHECK(fault == NULL || (fault[0] != '\0' && fuzz_is_printable(fault)));
		free(lines);
		text = rest;
	}
	return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_arena arena;
	static struct ri_together_found found;
	size_t nodes = size == 0 ? 1 : data[0] % NODES + 1, taken;
	bool known = size > 0 && data[0] >= '8';
	struct ri_together *together;
	char *text = fuzz_string(data, size);

	together = ri_together_new(&arena, nodes, known ? nodes * RANKS : 0);
	CHECK(together != NULL);
	for (size_t node = 0; known && node < nodes; node++)
		ri_together_expect(together, node, "", node * RANKS, RANKS);
	taken = add_parts(together, text + (size > 0 && text[0] != '\0'), nodes);
	CHECK(ri_together_judge(together, &found));
	check_found(&found, nodes, taken);
	free(text);
	ri_arena_release(&arena);
	return 0;
}
