/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a report doubtful: it may be of another life of its node, or its clock goes wrong. */
#include "blame/case.h"

#include <stdlib.h>

#define MINUTE INT64_C(60000000)

/* The earliest start and loss of all, and of all but the report that has it. */
struct earliest {
	const struct ri_witness *who;
	int64_t at, next;	/* 0: there is none */
};

static void see(struct earliest *earliest, const struct ri_witness *witness, int64_t at)
{
	if (at == 0)
		return;
	if (earliest->at == 0 || at < earliest->at) {
		earliest->next = earliest->at;
		earliest->at = at;
		earliest->who = witness;
	} else if (earliest->next == 0 || at < earliest->next) {
		earliest->next = at;
	}
}

static int64_t of_others(const struct earliest *earliest, const struct ri_witness *witness)
{
	return earliest->who == witness ? earliest->next : earliest->at;
}

static void find_lives(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	struct earliest starts = { NULL, 0, 0 }, losses = { NULL, 0, 0 };

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];

		see(&starts, witness, ri_witness_true(witness, witness->began));
		see(&losses, witness, ri_witness_first_loss(witness));
	}
	for (size_t i = 0; i < c->suspect_count; i++) {
		struct ri_case_suspect *suspect = &c->suspects[i];
		const struct ri_witness *witness = suspect->witness;
		int64_t start = of_others(&starts, witness), loss = of_others(&losses, witness);

		if (loss != 0 && ri_witness_true(witness, witness->began) > loss)
			suspect->life = RI_CASE_LATER_LIFE;
		else if (start != 0 && ri_witness_true(witness, witness->ended) < start)
			suspect->life = RI_CASE_EARLIER_LIFE;
	}
}

static int compare_starts(const void *first, const void *second)
{
	const struct ri_witness *a = *(const struct ri_witness *const *)first;
	const struct ri_witness *b = *(const struct ri_witness *const *)second;
	int64_t one = ri_witness_true(a, a->began), other = ri_witness_true(b, b->began);

	return (one > other) - (one < other);
}

/* Who began a minute before or after the one in the middle. */
static int find_astray(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	const struct ri_witness **list = ri_arena_array(&c->arena, attempt->count, sizeof(*list));

	if (list == NULL)
		return -1;
	for (size_t i = 0; i < attempt->count; i++)
		list[i] = attempt->witnesses[i];
	qsort(list, attempt->count, sizeof(*list), compare_starts);
	c->usual_start = ri_witness_true(list[attempt->count / 2], list[attempt->count / 2]->began);
	for (size_t i = 0; i < attempt->count; i++)
		if (llabs(ri_witness_true(list[i], list[i]->began) - c->usual_start) > MINUTE)
			list[c->astray_count++] = list[i];
	c->astray = list;
	return 0;
}

int ri_case_find_doubts(struct ri_case *c)
{
	find_lives(c);
	return find_astray(c);
}
