/* SPDX-License-Identifier: Apache-2.0 */
#include "report/interrupt.h"

#include <signal.h>

#include "report/moment.h"

enum { HANDLER_SECONDS = 30 };	/* for what it does between Ctrl-C and its exit */

/* A handler has no more to say than that it ends. */
static bool was_handled(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	return rank->end == RI_END_EXITED && rank->wrote.torch_error.at == NULL &&
		!ri_time_is_before(rank->ended, interrupt->at) &&
		rank->ended.tv_sec - interrupt->at.tv_sec <= HANDLER_SECONDS;
}

static bool ended_of(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	int number = rank->end == RI_END_SIGNALED ? rank->signal : rank->exit_code - 128;

	if (number == interrupt->signal || number == interrupt->passed_on)
		return true;
	if (ri_rank_ended_of(rank, &rank->evidence.words))
		return interrupt->passed_on == SIGINT && rank->evidence.words.interrupted;
	return was_handled(rank, interrupt);
}

/* Our stop for others may be faster than its own words: they break off, or tell of the others. */
static bool was_cut_short(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	if (!rank->told)
		return false;
	return !ri_time_is_before(ri_moment_find(rank).at, interrupt->at) ||
		(ri_rank_ended_of(rank, &rank->evidence.words) &&
			rank->evidence.words.traceback.last.length == 0);
}

bool ri_outcome_is_interrupted(const struct ri_outcome *outcome)
{
	const struct ri_interrupt *interrupt = &outcome->interrupt;
	const struct ri_rank_outcome *first;

	if (outcome->first < 0 || interrupt->signal == 0)
		return false;
	first = &outcome->ranks[outcome->first];
	if (!was_cut_short(first, interrupt))
		return ended_of(first, interrupt);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (ri_rank_failed(rank) && (!rank->told || rank == first) &&
			ended_of(rank, interrupt))
			return true;
	}
	return false;
}
