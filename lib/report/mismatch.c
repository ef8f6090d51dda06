/* SPDX-License-Identifier: Apache-2.0 */
#include "report/mismatch.h"

#include <string.h>

enum {
	MAX_RANKS = 256,	/* whose call is told */
	MAX_CALLS = 4,
	AGREE = 3,		/* of whom one differs */
};

/* What is known of each rank, by rank; and the different calls among them. */
struct calls {
	const struct ri_fingerprint *of[MAX_RANKS];
	size_t count;
	const struct ri_fingerprint *kinds[MAX_CALLS];
	size_t ranks[MAX_CALLS];	/* that ran it */
	size_t kind_count;
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

static bool is_same(const struct ri_fingerprint *a, const struct ri_fingerprint *b)
{
	return strcmp(a->op, b->op) == 0 && strcmp(a->shape, b->shape) == 0 &&
		a->has_sequence == b->has_sequence && a->sequence == b->sequence;
}

static void count_kind(struct calls *calls, const struct ri_fingerprint *call)
{
	size_t i = 0;

	while (i < calls->kind_count && !is_same(calls->kinds[i], call))
		i++;
	if (i == MAX_CALLS)
		return;
	if (i == calls->kind_count) {
		calls->kinds[i] = call;
		calls->ranks[i] = 0;
		calls->kind_count++;
	}
	calls->ranks[i]++;
}

/* In a smaller process group ranks have other numbers, and the message has those. */
static bool tells(const struct ri_rank_outcome *rank)
{
	return rank->evidence.words.has_calls &&
		rank->evidence.words.calls[0].rank == rank->rank;
}

/*
 * What a rank says of itself counts before what another one says of it: torch takes that apart only
 * up to where it differs, and the name of the operation may be wrong then.
 */
static void gather(const struct ri_outcome *outcome, struct calls *calls)
{
	calls->count = calls->kind_count = 0;
	for (int whose = 0; whose < 2; whose++)
		for (size_t i = 0; i < outcome->count; i++)
			if (tells(&outcome->ranks[i]))
				add_rank(calls, &outcome->ranks[i].evidence.words.calls[whose]);
	for (size_t i = 0; i < calls->count; i++)
		count_kind(calls, calls->of[i]);
}

bool ri_mismatch_odd(const struct ri_outcome *outcome, size_t *out)
{
	const struct ri_fingerprint *odd = NULL;
	struct calls calls;

	gather(outcome, &calls);
	if (calls.kind_count != 2 || calls.count <= AGREE)
		return false;
	for (size_t i = 0; i < 2; i++)
		if (calls.ranks[i] == 1)
			odd = calls.kinds[i];
	for (size_t i = 0; odd != NULL && i < outcome->count; i++) {
		if (outcome->ranks[i].rank != odd->rank)
			continue;
		*out = i;
		return true;
	}
	return false;
}

static void add_kind(struct ri_text *out, const struct calls *calls, size_t kind)
{
	const struct ri_fingerprint *call = calls->kinds[kind];
	size_t end;
	bool alike = false;

	ri_text_add(out, calls->ranks[kind] == 1 ? "rank" : "ranks");
	for (size_t i = 0, told = 0; i < calls->count; i = end) {
		end = i + 1;
		if (!is_same(calls->of[i], call))
			continue;
		while (end < calls->count && calls->of[end]->rank == calls->of[end - 1]->rank + 1 &&
			is_same(calls->of[end], call))
			end++;
		ri_text_addf(out, "%s %llu", told++ > 0 ? "," : "",
			(unsigned long long)calls->of[i]->rank);
		if (end > i + 1)
			ri_text_addf(out, "-%llu", (unsigned long long)calls->of[end - 1]->rank);
	}
	ri_text_addf(out, ": %s", call->op);
	if (call->has_sequence)
		ri_text_addf(out, " %llu", (unsigned long long)call->sequence);
	for (size_t i = 0; i < calls->kind_count; i++)
		alike = alike || (i != kind && strcmp(calls->kinds[i]->op, call->op) == 0 &&
			calls->kinds[i]->sequence == call->sequence);
	if (alike && call->shape[0] != '\0')
		ri_text_addf(out, " [%s]", call->shape);
}

void ri_mismatch_add(struct ri_text *out, const struct ri_outcome *outcome)
{
	struct calls calls;
	size_t told = 0;

	gather(outcome, &calls);
	for (size_t few = 1; few <= calls.count && told < calls.kind_count; few++) {
		for (size_t i = 0; i < calls.kind_count; i++) {
			if (calls.ranks[i] != few)
				continue;
			ri_text_add(out, told++ > 0 ? "; " : "  ");
			add_kind(out, &calls, i);
		}
	}
	if (told > 0)
		ri_text_add(out, "\n");
}
