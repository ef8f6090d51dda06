/* SPDX-License-Identifier: Apache-2.0 */
#include "report/culprit.h"

#include <string.h>

enum {
	RANGES = 12,
	MAX_RANKS = 256,	/* whose call is told */
};

void ri_kinds_add(struct ri_kinds *kinds, const void *call)
{
	size_t i = 0;

	while (i < kinds->count && !kinds->is_same(kinds->calls[i], call))
		i++;
	if (i == RI_KINDS)
		return;
	if (i == kinds->count) {
		kinds->calls[i] = call;
		kinds->ranks[i] = 0;
		kinds->count++;
	}
	kinds->ranks[i]++;
}

void ri_kinds_sort(struct ri_kinds *kinds)
{
	for (size_t i = 1; i < kinds->count; i++) {
		const void *call = kinds->calls[i];
		size_t ranks = kinds->ranks[i], at = i;

		for (; at > 0 && kinds->ranks[at - 1] > ranks; at--) {
			kinds->calls[at] = kinds->calls[at - 1];
			kinds->ranks[at] = kinds->ranks[at - 1];
		}
		kinds->calls[at] = call;
		kinds->ranks[at] = ranks;
	}
}

struct ri_ranges ri_rank_list_begin(struct ri_text *out, size_t count)
{
	ri_text_add(out, count == 1 ? "rank " : "ranks ");
	return (struct ri_ranges){ .out = out, .between = ", ", .most = RANGES };
}

static bool is_default(const struct ri_work *work)
{
	return strcmp(work->group, RI_WORK_DEFAULT) == 0;
}

/* What a rank said of its work; NULL: nothing. */
static const struct ri_work *work_of(const struct ri_rank_outcome *rank)
{
	return rank->evidence.words.has_work ? &rank->evidence.words.work : NULL;
}

/* The group that is compared: that of all ranks, or the first that is told of. */
static const char *group_of(const struct ri_outcome *outcome)
{
	const char *group = NULL;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_work *work = work_of(&outcome->ranks[i]);

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

static bool is_same_work(const void *a, const void *b)
{
	return ri_work_is_same(a, b);
}

static bool is_of(const struct ri_rank_outcome *rank, const struct ri_work *kind)
{
	return waits_in(work_of(rank), kind->group) && ri_work_is_same(work_of(rank), kind);
}

/* It waits for no work of any group, and has not come so far in this one. */
static bool is_behind(const struct ri_rank_outcome *rank, const struct ri_work *most)
{
	const struct ri_work *work = work_of(rank);

	return work != NULL && work->op[0] == '\0' && work->has_status && most->group[0] != '\0' &&
		strcmp(work->group, most->group) == 0 &&
		(work->enqueued < 0 || (uint64_t)work->enqueued < most->sequence);
}

/*
 * A rank that tells nothing may be the one for which another one waits. In a smaller group it is
 * not known which ranks belong to it.
 */
static ssize_t find_odd(const struct ri_collectives *works)
{
	const struct ri_work *most = works->most;
	ssize_t odd = -1;

	if (works->step == RI_STEP_TOGETHER || !is_default(most))
		return -1;
	for (size_t i = 0; i < works->count; i++) {
		const struct ri_rank_outcome *rank = &works->ranks[i];
		const struct ri_work *work = work_of(rank);
		bool out_of_step = works->step == RI_STEP_BEHIND
			? is_behind(rank, most) && work->enqueued == work->completed
			: waits_in(work, most->group) && work->sequence == most->sequence;

		if (is_of(rank, most))
			continue;
		if (odd >= 0 || !out_of_step)
			return -1;
		odd = (ssize_t)i;
	}
	return works->count > RI_KINDS_AGREE ? odd : -1;
}

void ri_collectives_find(const struct ri_outcome *outcome, struct ri_collectives *out)
{
	const char *group = group_of(outcome);

	*out = (struct ri_collectives){
		.ranks = outcome->ranks, .count = outcome->count, .odd = -1,
		.kinds.is_same = is_same_work,
	};
	for (size_t i = 0; i < out->count && group != NULL; i++)
		if (waits_in(work_of(&out->ranks[i]), group))
			ri_kinds_add(&out->kinds, work_of(&out->ranks[i]));
	ri_kinds_sort(&out->kinds);
	if (out->kinds.count == 0)
		return;
	out->most = out->kinds.calls[out->kinds.count - 1];
	out->step = out->kinds.count > 1 ? RI_STEP_APART : RI_STEP_TOGETHER;
	for (size_t i = 0; i < out->count && out->step == RI_STEP_TOGETHER; i++)
		if (is_behind(&out->ranks[i], out->most))
			out->step = RI_STEP_BEHIND;
	out->odd = find_odd(out);
}

/* Which ranks: those that wait in this kind, or where it is NULL those that are behind. */
static bool is_told(const struct ri_collectives *works, size_t i, const struct ri_work *kind)
{
	return kind == NULL ? is_behind(&works->ranks[i], works->most)
		: is_of(&works->ranks[i], kind);
}

/* "ranks 0-1, 3". Returns how many they are. */
static size_t add_ranks(struct ri_text *out, const struct ri_collectives *works,
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

void ri_collectives_add(struct ri_text *out, const struct ri_collectives *works)
{
	const struct ri_work *most = works->most;
	size_t count;

	if (works->step == RI_STEP_TOGETHER)
		return;
	if (works->step == RI_STEP_BEHIND) {
		add_ranks(out, works, NULL);
		ri_text_addf(out, " never entered %s %llu of group %s, in which ", most->op,
			(unsigned long long)most->sequence, most->group);
		count = add_ranks(out, works, most);
		ri_text_add(out, count == 1 ? " waits" : " wait");
		return;
	}
	if (most->group[0] != '\0')
		ri_text_addf(out, "in group %s ", most->group);
	for (size_t i = 0; i < works->kinds.count; i++) {
		const struct ri_work *kind = works->kinds.calls[i];

		ri_text_add(out, i > 0 ? ", " : "");
		count = add_ranks(out, works, kind);
		ri_text_addf(out, "%s%s %llu", i > 0 ? " in " : count == 1 ? " waits in "
			: " wait in ", kind->op, (unsigned long long)kind->sequence);
		if (kind->has_size && kind->in == kind->out)
			ri_text_addf(out, " (numel %llu)", (unsigned long long)kind->in);
		else if (kind->has_size)
			ri_text_addf(out, " (numel %llu to %llu)", (unsigned long long)kind->in,
				(unsigned long long)kind->out);
	}
}

/* What is known of each rank, by rank; and the different calls among them. */
struct calls {
	const struct ri_fingerprint *of[MAX_RANKS];
	size_t count;
	struct ri_kinds kinds;
};

static void add_rank(struct calls *calls, const struct ri_fingerprint *call)
{
	size_t at = 0;

	while (at < calls->count && calls->of[at]->rank < call->rank)
		at++;
	if (calls->count == MAX_RANKS || (at < calls->count && calls->of[at]->rank == call->rank))
		return;
	memmove(calls->of + at + 1, calls->of + at, (calls->count - at) * sizeof(calls->of[0]));
	calls->of[at] = call;
	calls->count++;
}

static bool is_same_call(const void *one, const void *other)
{
	const struct ri_fingerprint *a = one, *b = other;

	return strcmp(a->op, b->op) == 0 && strcmp(a->shape, b->shape) == 0 &&
		a->has_sequence == b->has_sequence && a->sequence == b->sequence;
}

/*
 * What a rank says of itself counts before what another one says of it: torch takes that apart only
 * up to where it differs, and the name of the operation may be wrong then.
 */
static void gather(const struct ri_outcome *outcome, struct calls *calls)
{
	calls->count = 0;
	calls->kinds = (struct ri_kinds){ .is_same = is_same_call };
	for (int whose = 0; whose < 2; whose++)
		for (size_t i = 0; i < outcome->count; i++) {
			const struct ri_words *words = &outcome->ranks[i].evidence.words;

			/* in a smaller process group ranks have other numbers */
			if (words->has_calls && words->calls[0].rank == outcome->ranks[i].rank)
				add_rank(calls, &words->calls[whose]);
		}
	for (size_t i = 0; i < calls->count; i++)
		ri_kinds_add(&calls->kinds, calls->of[i]);
	ri_kinds_sort(&calls->kinds);
}

bool ri_mismatch_odd(const struct ri_outcome *outcome, size_t *out)
{
	const struct ri_fingerprint *odd;
	struct calls calls;

	gather(outcome, &calls);
	if (calls.kinds.count != 2 || calls.kinds.ranks[0] != 1 || calls.count <= RI_KINDS_AGREE)
		return false;
	odd = calls.kinds.calls[0];
	for (size_t i = 0; i < outcome->count; i++) {
		if (outcome->ranks[i].rank != odd->rank)
			continue;
		*out = i;
		return true;
	}
	return false;
}

void ri_mismatch_add(struct ri_text *out, const struct ri_outcome *outcome)
{
	const struct ri_fingerprint *call, *other;
	struct ri_ranges list;
	struct calls calls;
	bool alike;

	gather(outcome, &calls);
	for (size_t kind = 0; kind < calls.kinds.count; kind++) {
		call = calls.kinds.calls[kind];
		ri_text_add(out, kind > 0 ? "; " : "  ");
		list = ri_rank_list_begin(out, calls.kinds.ranks[kind]);
		for (size_t i = 0; i < calls.count; i++)
			if (is_same_call(calls.of[i], call))
				ri_ranges_add(&list, calls.of[i]->rank);
		ri_ranges_end(&list);
		ri_text_addf(out, ": %s", call->op);
		if (call->has_sequence)
			ri_text_addf(out, " %llu", (unsigned long long)call->sequence);
		alike = false;
		for (size_t i = 0; i < calls.kinds.count; i++) {
			other = calls.kinds.calls[i];
			alike |= i != kind && strcmp(other->op, call->op) == 0 &&
				other->sequence == call->sequence;
		}
		if (alike && call->shape[0] != '\0')
			ri_text_addf(out, " [%s]", call->shape);
	}
	if (calls.kinds.count > 0)
		ri_text_add(out, "\n");
}
