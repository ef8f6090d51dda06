/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/case.h"

/* Did its autopsy see a rank near the end? */
static bool is_seen(const struct ri_witness *witness)
{
	const struct ri_witness_autopsy *autopsy = &witness->autopsy;

	return autopsy->did != NULL && autopsy->at <= witness->ended + RI_CASE_APART_US &&
		autopsy->at >= witness->ended - RI_CASE_LOOK_US;
}

int64_t ri_case_rank(const struct ri_case_suspect *suspect)
{
	if (suspect->rank != NULL)
		return suspect->rank->rank;
	return suspect->seen ? suspect->witness->autopsy.rank : -1;
}

static struct ri_case_suspect seen_by(const struct ri_witness *witness)
{
	struct ri_case_suspect suspect = {
		.witness = witness, .seen = true,
		.at = ri_witness_true(witness, witness->autopsy.at),
	};

	/* below torchrun it is none of rankinit's own */
	for (size_t i = 0; i < witness->count && witness->autopsy.rank >= 0; i++)
		if (witness->ranks[i].rank == witness->autopsy.rank)
			suspect.rank = &witness->ranks[i];
	return suspect;
}

void ri_case_add_seen(struct ri_case_suspect *suspect)
{
	if (is_seen(suspect->witness) && suspect->rank->rank >= 0 &&
		suspect->rank->rank == suspect->witness->autopsy.rank)
		*suspect = seen_by(suspect->witness);
}

static bool is_suspected(const struct ri_case *c, int64_t rank)
{
	for (size_t i = 0; i < c->suspect_count && rank >= 0; i++)
		if (ri_case_rank(&c->suspects[i]) == rank)
			return true;
	return false;
}

bool ri_case_find_seen(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];

		if (!is_seen(witness) || !witness->autopsy.suspects ||
			is_suspected(c, witness->autopsy.rank))
			continue;
		if (c->suspect_count < RI_CASE_SUSPECTS)
			c->suspects[c->suspect_count++] = seen_by(witness);
		else
			c->more_suspects++;
	}
	if (c->suspect_count > 0)
		c->finding = RI_CASE_HELD;
	return c->suspect_count > 0;
}
