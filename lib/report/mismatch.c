/* SPDX-License-Identifier: Apache-2.0 */
#include "report/mismatch.h"

#include <string.h>

#include "report/kinds.h"

enum { MAX_RANKS = 256 };	/* whose call is told */

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

static bool is_same(const void *one, const void *other)
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
	calls->kinds = (struct ri_kinds){ .is_same = is_same };
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

static void add_kind(struct ri_text *out, const struct calls *calls, size_t kind)
{
	const struct ri_kinds *kinds = &calls->kinds;
	const struct ri_fingerprint *call = kinds->calls[kind], *other;
	struct ri_ranges list = ri_rank_list_begin(out, kinds->ranks[kind]);
	bool alike = false;

	for (size_t i = 0; i < calls->count; i++)
		if (is_same(calls->of[i], call))
			ri_ranges_add(&list, calls->of[i]->rank);
	ri_ranges_end(&list);
	ri_text_addf(out, ": %s", call->op);
	if (call->has_sequence)
		ri_text_addf(out, " %llu", (unsigned long long)call->sequence);
	for (size_t i = 0; i < kinds->count; i++) {
		other = kinds->calls[i];
		alike = alike || (i != kind && strcmp(other->op, call->op) == 0 &&
			other->sequence == call->sequence);
	}
	if (alike && call->shape[0] != '\0')
		ri_text_addf(out, " [%s]", call->shape);
}

void ri_mismatch_add(struct ri_text *out, const struct ri_outcome *outcome)
{
	struct calls calls;

	gather(outcome, &calls);
	for (size_t i = 0; i < calls.kinds.count; i++) {
		ri_text_add(out, i > 0 ? "; " : "  ");
		add_kind(out, &calls, i);
	}
	if (calls.kinds.count > 0)
		ri_text_add(out, "\n");
}
