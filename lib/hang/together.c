/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/together.h"

#include <stdlib.h>
#include <string.h>

#include "hang/tally.h"

enum {
	FEW = 4,		/* one in so many ranks may differ, or be not told of */
	LEAST = 3,		/* with fewer ranks nobody is odd */
};

struct ri_together *ri_together_new(struct ri_arena *arena, size_t nodes, uint64_t world)
{
	struct ri_together *together;

	if (nodes > RI_TOGETHER_NODES || world > RI_MAX_RANKS)
		return NULL;
	together = ri_arena_alloc(arena, sizeof(*together));
	if (together == NULL)
		return NULL;
	together->arena = arena;
	together->node_count = nodes;
	together->world = world;
	together->owner_count = world > 0 ? world : RI_MAX_RANKS;
	together->nodes = ri_arena_array(arena, nodes, sizeof(*together->nodes));
	together->owners = ri_arena_array(arena, together->owner_count,
		sizeof(*together->owners));
	return together->nodes == NULL || together->owners == NULL ? NULL : together;
}

static void note_host(struct ri_told_node *node, const char *host)
{
	if (host == NULL || host[0] == '\0')
		return;
	ri_text_copy(node->host, sizeof(node->host), host);
	ri_text_replace_controls(node->host);
}

void ri_together_expect(struct ri_together *together, size_t node, const char *host, uint64_t first,
	uint64_t count)
{
	if (node >= together->node_count)
		return;
	note_host(&together->nodes[node], host);
	together->nodes[node].first = first;
	together->nodes[node].count = count;
}

/* Read again what was read once. */
static const struct ri_groups *groups_of(struct ri_together *together, size_t node)
{
	const struct ri_told_node *one = &together->nodes[node];

	return one->answered && ri_groups_read(&together->groups, one->text, one->size)
		? &together->groups : NULL;
}

static void forget(struct ri_together *together, size_t node)
{
	const struct ri_groups *groups = groups_of(together, node);

	for (size_t i = 0; groups != NULL && i < groups->rank_count; i++)
		together->owners[groups->ranks[i].rank] = 0;
	together->answered -= together->nodes[node].answered;
	together->nodes[node].answered = false;
}

/* The line begins: which groups do not count. */
static struct ri_text begin_fault(struct ri_together *together, size_t node)
{
	struct ri_text out;

	ri_text_init(&out, together->fault, sizeof(together->fault));
	ri_text_add(&out, "what the ranks of ");
	ri_tally_add_node(&out, together, node);
	ri_text_add(&out, " do is not counted: ");
	return out;
}

/* The ranks are the node's own? */
static bool owns_ranks(struct ri_together *together, size_t node)
{
	const struct ri_groups *groups = &together->groups;
	const struct ri_told_node *one = &together->nodes[node];
	struct ri_text out;

	for (size_t i = 0; i < groups->rank_count; i++) {
		uint64_t rank = groups->ranks[i].rank;
		size_t owner;

		if (rank >= together->owner_count || (one->count > 0 &&
			(rank < one->first || rank - one->first >= one->count))) {
			out = begin_fault(together, node);
			ri_text_addf(&out, "it tells of rank %llu, which is not its own",
				(unsigned long long)rank);
			return false;
		}
		owner = together->owners[rank];
		if (owner == 0)
			continue;
		out = begin_fault(together, node);
		ri_text_addf(&out, "it tells of rank %llu, as ", (unsigned long long)rank);
		ri_tally_add_node(&out, together, owner - 1);
		ri_text_add(&out, " does, which is not counted either");
		forget(together, owner - 1);
		return false;
	}
	return true;
}

bool ri_together_add(struct ri_together *together, size_t node, const char *host, const char *text,
	size_t size)
{
	struct ri_groups *groups = &together->groups;
	struct ri_told_node *one = &together->nodes[node];
	struct ri_text out;

	together->fault[0] = '\0';
	if (node >= together->node_count) {
		begin_fault(together, node);
		return false;
	}
	note_host(one, host);
	forget(together, node);
	if (one->text == NULL)
		one->text = ri_arena_alloc(together->arena, RI_GROUPS_MAX);
	if (one->text == NULL || !ri_groups_read(groups, text, size)) {
		out = begin_fault(together, node);
		ri_text_add(&out, one->text == NULL ? "there is no memory" : groups->fault);
		return false;
	}
	if (!owns_ranks(together, node))
		return false;
	for (size_t i = 0; i < groups->rank_count; i++)
		together->owners[groups->ranks[i].rank] = (uint16_t)(node + 1);
	memcpy(one->text, text, size);
	one->size = size;
	one->groups = groups->count;
	one->answered = true;
	together->answered++;
	return true;
}

const char *ri_together_fault(const struct ri_together *together)
{
	return together->fault;
}

bool ri_together_is_whole(const struct ri_together *together)
{
	return together->answered == together->node_count;
}

static uint64_t add_to_hash(uint64_t hash, struct ri_span span)
{
	for (size_t i = 0; i < span.length; i++)
		hash = (hash ^ (unsigned char)span.at[i]) * 1099511628211u;
	return (hash ^ 0xff) * 1099511628211u;	/* no byte of UTF-8 */
}

/* Where it is has no meaning of its own where that is not known: then what it does counts. */
static struct ri_span place_of(const struct ri_group *group)
{
	return group->place.length > 0 ? group->place : group->activity;
}

static bool is_kind(struct ri_tally *tally, const struct ri_kind *kind,
	const struct ri_group *group, bool whole, uint64_t hash)
{
	tally->compared++;
	return kind->hash == hash && kind->whole == whole && kind->group.class == group->class &&
		ri_span_same(kind->group.function, group->function) &&
		(whole || ri_span_same(place_of(&kind->group), place_of(group)));
}

/* The kind that a group is of, which begins with it where there is none. */
static struct ri_kind *find_kind(struct ri_tally *tally, const struct ri_group *group, bool whole)
{
	uint64_t hash = 14695981039346656037u ^ (uint64_t)group->class ^ (whole ? 256 : 0);
	size_t at;

	hash = add_to_hash(hash, group->function);
	if (!whole)
		hash = add_to_hash(hash, place_of(group));
	for (at = hash % tally->slot_count; tally->slots[at] != 0;
		at = (at + 1) % tally->slot_count)
		if (is_kind(tally, &tally->kinds[tally->slots[at] - 1], group, whole, hash))
			return &tally->kinds[tally->slots[at] - 1];
	tally->kinds[tally->kind_count] = (struct ri_kind){
		.group = *group, .whole = whole, .hash = hash,
	};
	tally->slots[at] = (uint32_t)++tally->kind_count;
	return &tally->kinds[tally->kind_count - 1];
}

static bool make_room(struct ri_tally *tally)
{
	struct ri_together *together = tally->together;
	size_t groups = 1;

	for (size_t i = 0; i < together->node_count; i++)
		groups += together->nodes[i].answered ? together->nodes[i].groups : 0;
	tally->slot_count = 4 * groups;	/* two kinds for each, at most; half of it stays empty */
	tally->kinds = ri_arena_array(&together->scratch, 2 * groups, sizeof(*tally->kinds));
	tally->slots = ri_arena_array(&together->scratch, tally->slot_count,
		sizeof(*tally->slots));
	return tally->kinds != NULL && tally->slots != NULL;
}

static void count(struct ri_kind *kind, const struct ri_group *group)
{
	kind->ranks += group->ranks;
	kind->by_state[group->state] += group->ranks;
}

static void count_all(struct ri_tally *tally)
{
	struct ri_together *together = tally->together;

	for (size_t node = 0; node < together->node_count; node++) {
		const struct ri_groups *groups = groups_of(together, node);

		for (size_t i = 0; groups != NULL && i < groups->count; i++) {
			const struct ri_group *group = &groups->items[i];

			count(find_kind(tally, group, false), group);
			if (group->class == RI_HANG_COLLECTIVE)
				count(find_kind(tally, group, true), group);
		}
		tally->told += groups == NULL ? 0 : groups->rank_count;
		tally->more += groups == NULL ? 0 : groups->more_ranks;
	}
}

static void find_crowd(struct ri_tally *tally)
{
	for (size_t i = 0; i < tally->kind_count; i++) {
		const struct ri_kind *kind = &tally->kinds[i];

		if (!kind->whole || ri_kind_steady(kind) <= tally->members)
			continue;
		tally->crowd = kind;
		tally->members = ri_kind_steady(kind);
		tally->wakes = 2 * kind->by_state[RI_GROUP_WAKES] > tally->members;
	}
}

/* All ranks; where that is not known, silent nodes have as many as others have. */
static uint64_t count_world(const struct ri_tally *tally)
{
	const struct ri_together *together = tally->together;
	uint64_t silent = together->node_count - together->answered;
	uint64_t world = tally->told + tally->more;

	if (together->world > 0 && together->world >= tally->told)
		return together->world;
	return together->answered == 0 ? world
		: world + silent * (world / together->answered + 1);
}

/* May anybody be named? Those that nothing is known of count as if they differed. */
static bool is_clear(const struct ri_tally *tally, uint64_t world)
{
	uint64_t others = world - tally->members;

	return tally->crowd != NULL && tally->told >= LEAST && tally->told > tally->members &&
		others <= (world / FEW > 1 ? world / FEW : 1);
}

/* How likely ranks of that class and state hold up the others; of the crowd 0. */
static int weigh(const struct ri_tally *tally, const struct ri_group *group,
	enum ri_group_state state)
{
	bool runs = group->class == RI_HANG_RUNS || group->class == RI_HANG_SPINS;

	if (state == RI_GROUP_ONCE || state == RI_GROUP_MOVES)
		return 0;
	/* where the others get on, one that does, too, is only slow */
	if (tally->wakes && (runs || state == RI_GROUP_WAKES))
		return 0;
	switch (group->class) {
	case RI_HANG_COLLECTIVE:
		return !ri_span_same(group->function, tally->crowd->group.function);
	case RI_HANG_UNKNOWN:
	case RI_HANG_REFUSED_ALL:
	case RI_HANG_UNLOOKED:
		return 0;
	default:
		return 2;
	}
}

/* The largest weight of all, and how many ranks have it. */
static int find_heaviest(const struct ri_tally *tally, size_t *ranks)
{
	int most = 0;

	*ranks = 0;
	for (size_t i = 0; i < tally->kind_count; i++)
		for (int state = RI_GROUP_ONCE; state < RI_TALLY_STATES; state++) {
			const struct ri_kind *kind = &tally->kinds[i];
			int weight = weigh(tally, &kind->group, (enum ri_group_state)state);

			if (kind->whole || kind->by_state[state] == 0 || weight < most ||
				weight == 0)
				continue;
			*ranks = weight > most ? 0 : *ranks;
			most = weight;
			*ranks += kind->by_state[state];
		}
	return most;
}

static int compare(const void *a, const void *b)
{
	const struct ri_odd *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* The ranks of that weight, by kind; NULL: no memory. */
static const struct ri_odd *list_odd(struct ri_tally *tally, int weight, size_t most)
{
	struct ri_together *together = tally->together;
	struct ri_odd *list = ri_arena_array(&together->scratch, most, sizeof(*list));
	size_t length = 0;

	for (size_t node = 0; list != NULL && node < together->node_count; node++) {
		const struct ri_groups *groups = groups_of(together, node);

		for (size_t i = 0; groups != NULL && i < groups->rank_count; i++) {
			const struct ri_group *group = &groups->items[groups->ranks[i].group];

			if (weigh(tally, group, group->state) == weight && length < most)
				list[length++] = (struct ri_odd){
					.kind = (uint32_t)(find_kind(tally, group, false) -
						tally->kinds),
					.rank = groups->ranks[i].rank, .node = (uint32_t)node,
				};
		}
	}
	if (list != NULL)
		qsort(list, length, sizeof(*list), compare);
	return list;
}

static bool judge_all(struct ri_tally *tally, struct ri_together_found *found,
	struct ri_text *words)
{
	const struct ri_odd *odd = NULL;
	int weight = 0;

	if (!make_room(tally))
		return false;
	count_all(tally);
	find_crowd(tally);
	found->told = tally->told;
	found->world = count_world(tally);
	if (is_clear(tally, found->world))
		weight = find_heaviest(tally, &found->odd);
	if (found->odd > 0) {
		odd = list_odd(tally, weight, found->odd);
		if (odd == NULL)
			return false;
		ri_tally_say_odd(words, tally, odd, found->odd, weight);
	} else if (tally->told > 0) {
		ri_tally_say_groups(words, tally);
	}
	if (found->odd == 1) {
		found->rank = odd[0].rank;
		found->node = odd[0].node;
	}
	return true;
}

bool ri_together_judge(struct ri_together *together, struct ri_together_found *found)
{
	struct ri_tally tally = { .together = together };
	char bytes[4 * RI_TOGETHER_TEXT];
	struct ri_text words, text;
	bool whole;

	*found = (struct ri_together_found){
		.rank = -1, .node = -1, .silent = together->node_count - together->answered,
	};
	ri_text_init(&words, bytes, sizeof(bytes));
	ri_text_init(&text, found->text, sizeof(found->text));
	whole = judge_all(&tally, found, &words);
	if (!whole)
		found->odd = 0;
	else if (words.length > 0)
		ri_tally_end(&text, &words, together);
	found->compared = tally.compared;
	ri_arena_release(&together->scratch);
	return whole;
}
