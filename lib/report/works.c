/* SPDX-License-Identifier: Apache-2.0 */
#include "report/works.h"

#include <string.h>

#include "base/limits.h"

static bool is_default(const struct ri_work *work)
{
	return strcmp(work->group, RI_WORK_DEFAULT) == 0;
}

/* The group that is compared: that of all ranks, or the first that is told of. */
static const char *group_of(const struct ri_rank_work *ranks, size_t count)
{
	const char *group = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct ri_work *work = ranks[i].work;

		if (work == NULL || !ri_work_waits(work))
			continue;
		if (is_default(work))
			return work->group;
		group = group == NULL ? work->group : group;
	}
	return group;
}

static bool waits_in(const struct ri_work *work, const char *group)
{
	return work != NULL && ri_work_waits(work) && strcmp(work->group, group) == 0;
}

static bool is_same(const void *a, const void *b)
{
	return ri_work_is_same(a, b);
}

static bool is_of(const struct ri_rank_work *rank, const struct ri_work *kind)
{
	return waits_in(rank->work, kind->group) && ri_work_is_same(rank->work, kind);
}

/* It waits for no work of any group, and has not come so far in this one. */
static bool is_behind(const struct ri_rank_work *rank, const struct ri_work *most)
{
	const struct ri_work *work = rank->work;

	return work != NULL && work->op[0] == '\0' && work->has_status && most->group[0] != '\0' &&
		strcmp(work->group, most->group) == 0 &&
		(work->enqueued < 0 || (uint64_t)work->enqueued < most->sequence);
}

/* Is it the one out of step, of those in this state? */
static bool is_odd(const struct ri_works *works, const struct ri_rank_work *rank)
{
	if (works->step == RI_STEP_BEHIND)
		return is_behind(rank, works->most) &&
			rank->work->enqueued == rank->work->completed;
	return waits_in(rank->work, works->most->group) &&
		rank->work->sequence == works->most->sequence && !is_of(rank, works->most);
}

/*
 * A rank that tells nothing may be the one for which another one waits. In a smaller group it is
 * not known which ranks belong to it.
 */
static ssize_t find_odd(const struct ri_works *works)
{
	ssize_t odd = -1;

	if (works->step == RI_STEP_TOGETHER || !is_default(works->most))
		return -1;
	for (size_t i = 0; i < works->count; i++) {
		if (is_of(&works->ranks[i], works->most))
			continue;
		if (odd >= 0 || !is_odd(works, &works->ranks[i]))
			return -1;
		odd = (ssize_t)i;
	}
	return works->count > RI_KINDS_AGREE ? odd : -1;
}

void ri_works_compare(const struct ri_rank_work *ranks, size_t count, struct ri_works *out)
{
	const char *group = group_of(ranks, count);

	*out = (struct ri_works){
		.ranks = ranks, .count = count, .odd = -1, .kinds.is_same = is_same,
	};
	for (size_t i = 0; i < count && group != NULL; i++)
		if (waits_in(ranks[i].work, group))
			ri_kinds_add(&out->kinds, ranks[i].work);
	ri_kinds_sort(&out->kinds);
	if (out->kinds.count == 0)
		return;
	out->most = out->kinds.calls[out->kinds.count - 1];
	out->step = out->kinds.count > 1 ? RI_STEP_APART : RI_STEP_TOGETHER;
	for (size_t i = 0; i < count && out->step == RI_STEP_TOGETHER; i++)
		if (is_behind(&ranks[i], out->most))
			out->step = RI_STEP_BEHIND;
	out->odd = find_odd(out);
}

void ri_works_find(const struct ri_outcome *outcome, struct ri_works *out)
{
	static struct ri_rank_work ranks[RI_MAX_LOCAL];
	size_t count = outcome->count < RI_MAX_LOCAL ? outcome->count : RI_MAX_LOCAL;

	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct ri_rank_work){
			.rank = outcome->ranks[i].rank,
			.work = !outcome->ranks[i].evidence.words.has_work ? NULL
				: &outcome->ranks[i].evidence.words.work,
		};
	ri_works_compare(ranks, count, out);
}

/* Which ranks: those that wait in this kind, or where it is NULL those that are behind. */
static bool is_told(const struct ri_works *works, size_t i, const struct ri_work *kind)
{
	return kind == NULL ? is_behind(&works->ranks[i], works->most)
		: is_of(&works->ranks[i], kind);
}

/* "ranks 0-1, 3". Returns how many they are. */
static size_t add_ranks(struct ri_text *out, const struct ri_works *works,
	const struct ri_work *kind)
{
	struct ri_ranges list;
	size_t count = 0;

	for (size_t i = 0; i < works->count; i++)
		count += is_told(works, i, kind);
	list = ri_rank_list_begin(out, count);
	for (size_t i = 0; i < works->count; i++)
		if (is_told(works, i, kind))
			ri_ranges_add(&list, works->ranks[i].rank);
	ri_ranges_end(&list);
	return count;
}

static void add_kind(struct ri_text *out, const struct ri_work *kind)
{
	ri_text_addf(out, "%s %llu", kind->op, (unsigned long long)kind->sequence);
	if (kind->has_size && kind->in == kind->out)
		ri_text_addf(out, " (numel %llu)", (unsigned long long)kind->in);
	else if (kind->has_size)
		ri_text_addf(out, " (numel %llu to %llu)", (unsigned long long)kind->in,
			(unsigned long long)kind->out);
}

static void add_behind(struct ri_text *out, const struct ri_works *works)
{
	size_t count;

	add_ranks(out, works, NULL);
	ri_text_addf(out, " never entered %s %llu of group %s, in which ", works->most->op,
		(unsigned long long)works->most->sequence, works->most->group);
	count = add_ranks(out, works, works->most);
	ri_text_add(out, count == 1 ? " waits" : " wait");
}

static void add_apart(struct ri_text *out, const struct ri_works *works)
{
	if (works->most->group[0] != '\0')
		ri_text_addf(out, "in group %s ", works->most->group);
	for (size_t i = 0; i < works->kinds.count; i++) {
		size_t count;

		ri_text_add(out, i > 0 ? ", " : "");
		count = add_ranks(out, works, works->kinds.calls[i]);
		ri_text_add(out, i > 0 ? " in " : count == 1 ? " waits in " : " wait in ");
		add_kind(out, works->kinds.calls[i]);
	}
}

void ri_works_add(struct ri_text *out, const struct ri_works *works)
{
	if (works->step == RI_STEP_BEHIND)
		add_behind(out, works);
	else if (works->step == RI_STEP_APART)
		add_apart(out, works);
}
