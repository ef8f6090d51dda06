/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/together.h"

#include <stdlib.h>
#include <string.h>

enum {
	HOST = 65,
	STATES = RI_GROUP_STILL + 1,
	SAID = 3,		/* groups in a sentence, and nodes that are silent */
	RUNS = 8,		/* "0-3, 7" of a list of numbers */
	ANY = -1,		/* weight */
	PLACE = 110,		/* columns of one of several places */
	ACTIVITY = 190,
};

struct told_node {
	char host[HOST];
	char *text;		/* its answer, in so much room */
	size_t room, size, groups;
	uint64_t first, count;	/* its ranks; count 0: not known */
	bool answered;
};

struct ri_together {
	struct ri_arena *arena;
	struct told_node *nodes;
	size_t node_count, answered;
	uint64_t world;
	uint32_t *owners;	/* of each rank that was told of: its node, and one */
	uint64_t owner_count;
	struct ri_groups groups;	/* those of the node that is read */
	struct ri_arena scratch;
	char fault[512];
};

/* Ranks of any nodes that are in one place; or, of no place, all that wait in one function. */
struct kind {
	struct ri_group group;
	bool whole, said;
	uint64_t hash;
	size_t ranks, by_state[STATES];
};

struct tally {
	struct ri_together *together;
	struct ri_together_found *found;
	struct kind *kinds;
	size_t kind_count;
	uint32_t *slots;	/* of a table of kinds: an index, and one */
	size_t slot_count;
	uint64_t more;		/* ranks that nodes counted, and told nothing of */
	const struct kind *crowd;
	size_t members;		/* of the crowd, which wait without moving */
	bool wakes;		/* ... most of them began to wait anew */
};

/* A rank that holds up the crowd. */
struct odd {
	uint32_t kind, rank, node;
};

struct ri_together *ri_together_new(struct ri_arena *arena, size_t nodes, uint64_t world)
{
	struct ri_together *together;

	together = nodes > RI_MAX_RANKS || world > RI_MAX_RANKS ? NULL
		: ri_arena_alloc(arena, sizeof(*together));
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

/* "node 2 (gpu-0515)" */
static void add_node(struct ri_text *out, const struct ri_together *together, size_t node)
{
	const char *host = together->nodes[node].host;

	ri_text_addf(out, "node %zu", node);
	if (host[0] != '\0')
		ri_text_addf(out, " (%s)", host);
}

static void note_host(struct told_node *node, const char *host)
{
	if (host == NULL || host[0] == '\0')
		return;
	ri_text_copy(node->host, sizeof(node->host), host);
	ri_text_replace_controls(node->host);
}

void ri_together_expect(struct ri_together *together, size_t node, const char *host, uint64_t first,
	uint64_t count)
{
	note_host(&together->nodes[node], host);
	together->nodes[node].first = first;
	together->nodes[node].count = count;
}

/* Read again what was read once; none where the node has not answered. */
static const struct ri_groups *groups_of(struct ri_together *together, size_t node)
{
	const struct told_node *one = &together->nodes[node];

	if (!one->answered || ri_groups_read(&together->groups, one->text, one->size) != NULL)
		together->groups = (struct ri_groups){ .count = 0 };
	return &together->groups;
}

static void forget(struct ri_together *together, size_t node)
{
	const struct ri_groups *groups = groups_of(together, node);

	for (size_t i = 0; i < groups->rank_count; i++)
		together->owners[groups->ranks[i].rank] = 0;
	together->answered -= together->nodes[node].answered;
	together->nodes[node].answered = false;
}

/* The line begins: which groups do not count. */
static struct ri_text begin_fault(struct ri_together *together, size_t node)
{
	struct ri_text out = ri_text_of(together->fault, sizeof(together->fault));

	ri_text_add(&out, "what the ranks of ");
	add_node(&out, together, node);
	ri_text_add(&out, " do is not counted: ");
	return out;
}

/* The ranks are the node's own? Of two nodes that tell of one neither counts. */
static bool owns_ranks(struct ri_together *together, size_t node)
{
	const struct ri_groups *groups = &together->groups;
	const struct told_node *one = &together->nodes[node];

	for (size_t i = 0; i < groups->rank_count; i++) {
		uint64_t rank = groups->ranks[i].rank;
		bool strange = rank >= together->owner_count || (one->count > 0 &&
			(rank < one->first || rank - one->first >= one->count));
		size_t owner = strange ? 0 : together->owners[rank];
		struct ri_text out;

		if (!strange && owner == 0)
			continue;
		out = begin_fault(together, node);
		ri_text_addf(&out, "it tells of rank %llu, %s", (unsigned long long)rank,
			strange ? "which is not its own" : "as ");
		if (strange)
			return false;
		add_node(&out, together, owner - 1);
		ri_text_add(&out, " does, which is not counted either");
		forget(together, owner - 1);
		return false;
	}
	return true;
}

const char *ri_together_add(struct ri_together *together, size_t node, const char *host,
	const char *text, size_t size)
{
	struct ri_groups *groups = &together->groups;
	struct told_node *one = &together->nodes[node];
	const char *fault = "there is no memory";
	struct ri_text out;

	note_host(one, host);
	forget(together, node);
	if (one->room <= size) {
		one->text = ri_arena_alloc(together->arena, size + 1);
		one->room = one->text == NULL ? 0 : size + 1;
	}
	if (one->text != NULL)
		fault = ri_groups_read(groups, text, size);
	if (fault != NULL) {
		out = begin_fault(together, node);
		ri_text_add(&out, fault);
		return together->fault;
	}
	if (!owns_ranks(together, node))
		return together->fault;
	for (size_t i = 0; i < groups->rank_count; i++)
		together->owners[groups->ranks[i].rank] = (uint32_t)node + 1;
	memcpy(one->text, text, size);
	one->size = size;
	one->groups = groups->count;
	one->answered = true;
	together->answered++;
	return NULL;
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

/* The kind that a group is of, which begins with it where there is none. */
static struct kind *find_kind(struct tally *tally, const struct ri_group *group, bool whole)
{
	uint64_t hash = 14695981039346656037u ^ (uint64_t)group->class ^ (whole ? 256 : 0);
	size_t at;

	hash = add_to_hash(hash, group->function);
	if (!whole)
		hash = add_to_hash(hash, place_of(group));
	for (at = hash % tally->slot_count; tally->slots[at] != 0;
		at = (at + 1) % tally->slot_count) {
		struct kind *kind = &tally->kinds[tally->slots[at] - 1];

		tally->found->compared++;
		if (kind->hash == hash && kind->whole == whole &&
			kind->group.class == group->class &&
			ri_span_same(kind->group.function, group->function) &&
			(whole || ri_span_same(place_of(&kind->group), place_of(group))))
			return kind;
	}
	tally->kinds[tally->kind_count] = (struct kind){
		.group = *group, .whole = whole, .hash = hash,
	};
	tally->slots[at] = (uint32_t)++tally->kind_count;
	return &tally->kinds[tally->kind_count - 1];
}

static void count(struct kind *kind, const struct ri_group *group)
{
	kind->ranks += group->ranks;
	kind->by_state[group->state] += group->ranks;
}

/* False: no memory. */
static bool count_all(struct tally *tally)
{
	struct ri_together *together = tally->together;
	size_t room = 1;

	for (size_t i = 0; i < together->node_count; i++)
		room += together->nodes[i].answered ? together->nodes[i].groups : 0;
	tally->slot_count = 4 * room;	/* two kinds for each, at most; half of it stays empty */
	tally->kinds = ri_arena_array(&together->scratch, 2 * room, sizeof(*tally->kinds));
	tally->slots = ri_arena_array(&together->scratch, tally->slot_count,
		sizeof(*tally->slots));
	if (tally->kinds == NULL || tally->slots == NULL)
		return false;
	for (size_t node = 0; node < together->node_count; node++) {
		const struct ri_groups *groups = groups_of(together, node);

		for (size_t i = 0; i < groups->count; i++) {
			const struct ri_group *group = &groups->items[i];

			count(find_kind(tally, group, false), group);
			if (group->class == RI_HANG_COLLECTIVE)
				count(find_kind(tally, group, true), group);
		}
		tally->found->told += groups->rank_count;
		tally->more += groups->more;
	}
	return true;
}

/* Those of a kind that do not move. */
static size_t count_steady(const struct kind *kind)
{
	return kind->by_state[RI_GROUP_STILL] + kind->by_state[RI_GROUP_WAKES];
}

/*
 * The largest set that waits in one function, and all ranks: where their number is not known,
 * silent nodes have as many as others have. Returns whether any of the rest may be named; those
 * that nothing is known of count as if they differed.
 */
static bool find_crowd(struct tally *tally)
{
	const struct ri_together *together = tally->together;
	struct ri_together_found *found = tally->found;
	uint64_t known = found->told + tally->more;

	for (size_t i = 0; i < tally->kind_count; i++) {
		const struct kind *kind = &tally->kinds[i];

		if (!kind->whole || count_steady(kind) <= tally->members)
			continue;
		tally->crowd = kind;
		tally->members = count_steady(kind);
		tally->wakes = 2 * kind->by_state[RI_GROUP_WAKES] > tally->members;
	}
	found->world = together->world;
	if (together->world == 0 || together->world < found->told)
		found->world = together->answered == 0 ? known
			: known + found->silent * (known / together->answered + 1);
	return tally->crowd != NULL && found->told >= RI_HANG_LEAST &&
		found->told > tally->members &&
		found->world - tally->members <= ri_hang_few(found->world);
}

/* How likely ranks of that class and state hold up the others; of the crowd 0. */
static int weigh(const struct tally *tally, const struct ri_group *group,
	enum ri_group_state state)
{
	if (state == RI_GROUP_ONCE || state == RI_GROUP_MOVES)
		return 0;
	/* where the others get on, one that does, too, is only slow */
	if (tally->wakes && (ri_hang_runs(group->class) || state == RI_GROUP_WAKES))
		return 0;
	return group->class == RI_HANG_COLLECTIVE &&
		ri_span_same(group->function, tally->crowd->group.function) ? 0
		: ri_hang_weigh(group->class);
}

/* The largest weight of all, and how many ranks have it. */
static int find_heaviest(const struct tally *tally, size_t *ranks)
{
	int most = 0;

	*ranks = 0;
	for (size_t i = 0; i < tally->kind_count; i++)
		for (int state = RI_GROUP_ONCE; state < STATES; state++) {
			const struct kind *kind = &tally->kinds[i];
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
	const struct odd *one = a, *other = b;

	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return (one->rank > other->rank) - (one->rank < other->rank);
}

/* The ranks of that weight, or of ANY, by kind; NULL: no memory. */
static const struct odd *list_ranks(struct tally *tally, int weight, size_t most)
{
	struct ri_together *together = tally->together;
	struct odd *list = ri_arena_array(&together->scratch, most, sizeof(*list));
	size_t length = 0;

	for (size_t node = 0; list != NULL && node < together->node_count; node++) {
		const struct ri_groups *groups = groups_of(together, node);

		for (size_t i = 0; i < groups->rank_count; i++) {
			const struct ri_group *group = &groups->items[groups->ranks[i].group];

			if (length < most && (weight == ANY ||
				weigh(tally, group, group->state) == weight))
				list[length++] = (struct odd){
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

static void add_span(struct ri_text *out, struct ri_span span, size_t columns)
{
	RI_TEXT(text, RI_GROUPS_WORDS + 1);

	ri_text_add_bytes(&text, span.at, span.length);
	ri_text_add_shown(out, text.bytes, columns);
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
static void add_ranks(struct ri_text *out, struct ri_together *together, const struct odd *odd,
	size_t length)
{
	bool *has = ri_arena_array(&together->scratch, together->node_count, sizeof(*has));
	struct ri_ranges list = { .out = out, .between = ", ", .most = RUNS };
	const char *host = together->nodes[odd[0].node].host;
	bool several = false;

	ri_text_add(out, length == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < length; i++) {
		ri_ranges_add(&list, odd[i].rank);
		several = several || odd[i].node != odd[0].node;
		if (has != NULL)
			has[odd[i].node] = true;
	}
	ri_ranges_end(&list);
	if (!several) {
		ri_text_addf(out, " (node %u%s%s)", odd[0].node, host[0] == '\0' ? "" : ", ", host);
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

/* The crowd, and those that hold it up, in the order of kinds. Returns how many are left out. */
static size_t say_odd(struct ri_text *out, struct tally *tally, const struct odd *odd,
	size_t length, int weight)
{
	const struct ri_span function = tally->crowd->group.function;
	size_t at = 0, told = tally->found->told, places = 0;
	const struct kind *only = NULL;

	for (size_t i = 0; i < tally->kind_count; i++) {
		const struct kind *kind = &tally->kinds[i];

		if (kind->whole || count_steady(kind) == 0 ||
			kind->group.class != RI_HANG_COLLECTIVE ||
			!ri_span_same(kind->group.function, function))
			continue;
		only = kind;
		places++;
	}
	/* "wait in all_reduce (train.py:16)", of several places only the function */
	ri_text_addf(out, "%sof %zu ranks %zu %s in ", weight == 1 ? "the ranks differ: " : "",
		told, tally->members, tally->members == 1 ? "waits" : "wait");
	add_span(out, places == 1 && only->group.place.length > 0 ? only->group.place : function,
		PLACE);
	for (int said = 0; at < length && said < SAID; said++) {
		size_t end = at;

		while (end < length && odd[end].kind == odd[at].kind)
			end++;
		ri_text_add(out, ", ");
		add_ranks(out, tally->together, odd + at, end - at);
		ri_text_add(out, " ");
		add_deed(out, &tally->kinds[odd[at].kind].group, end - at);
		at = end;
	}
	return told - tally->members - at;
}

/*
 * The largest groups, the first of them first; which ranks they are, of all in the list, where some
 * stand in a collective and others elsewhere. Returns how many ranks are left out.
 */
static size_t say_groups(struct ri_text *out, struct tally *tally, const struct odd *list)
{
	size_t told = tally->found->told, rest = told;
	bool counts = tally->crowd == NULL || tally->members == told;

	ri_text_addf(out, "of %zu ranks%s", told, counts ? " " : ", ");
	for (int said = 0; said < SAID && rest > 0; said++) {
		const struct odd *first = list;
		struct kind *next = NULL;

		for (size_t i = 0; i < tally->kind_count; i++) {
			struct kind *kind = &tally->kinds[i];

			if (!kind->whole && !kind->said &&
				(next == NULL || kind->ranks > next->ranks))
				next = kind;
		}
		if (next == NULL)
			break;
		while (&tally->kinds[first->kind] != next)
			first++;
		ri_text_add(out, said == 0 ? "" : ", ");
		if (counts)
			ri_text_addf(out, "%zu", next->ranks);
		else
			add_ranks(out, tally->together, first, next->ranks);
		ri_text_add(out, " ");
		add_deed(out, &next->group, next->ranks);
		next->said = true;
		rest -= next->ranks;
	}
	return rest;
}

/* What was said, as far as there is room, and "; node 2 (gpu-0515) did not answer". */
static void add_end(struct ri_text *out, const struct ri_text *words,
	const struct ri_together *together, size_t silent)
{
	RI_TEXT(end, SAID * (HOST + 32));
	size_t room, length = words->length, said = 0;

	ri_text_add(&end, silent > 0 ? "; " : "");
	if (silent > SAID)
		ri_text_addf(&end, "%zu of %zu nodes", silent, together->node_count);
	for (size_t i = 0; silent <= SAID && i < together->node_count; i++) {
		if (together->nodes[i].answered)
			continue;
		ri_text_add(&end, said++ == 0 ? "" : ", ");
		add_node(&end, together, i);
	}
	ri_text_add(&end, silent > 0 ? " did not answer" : "");
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

static bool judge_all(struct tally *tally, struct ri_text *words)
{
	struct ri_together_found *found = tally->found;
	const struct odd *list;
	size_t rest;
	int weight = ANY;

	if (!count_all(tally))
		return false;
	if (found->told == 0)
		return true;
	if (find_crowd(tally))
		weight = find_heaviest(tally, &found->odd);
	if (found->odd == 0)
		weight = ANY;
	list = list_ranks(tally, weight, found->odd > 0 ? found->odd : found->told);
	if (list == NULL)
		return false;
	rest = found->odd > 0 ? say_odd(words, tally, list, found->odd, weight)
		: say_groups(words, tally, list);
	if (rest > 0)
		ri_text_addf(words, "; %zu other rank%s elsewhere", rest,
			rest == 1 ? " is" : "s are");
	if (found->odd == 1) {
		found->rank = list[0].rank;
		found->node = list[0].node;
	}
	return true;
}

bool ri_together_judge(struct ri_together *together, struct ri_together_found *found)
{
	struct tally tally = { .together = together, .found = found };
	RI_TEXT(words, 4 * RI_TOGETHER_TEXT);
	struct ri_text text = ri_text_of(found->text, sizeof(found->text));
	bool whole;

	*found = (struct ri_together_found){
		.rank = -1, .node = -1, .silent = together->node_count - together->answered,
	};
	whole = judge_all(&tally, &words);
	if (!whole)
		found->odd = 0;
	else if (words.length > 0)
		add_end(&text, &words, together, found->silent);
	ri_arena_release(&together->scratch);
	return whole;
}
