/* SPDX-License-Identifier: Apache-2.0 */
#include "report/interrupt.h"

#include <signal.h>

#include "report/moment.h"

enum { HANDLER_SECONDS = 30 };	/* for what it does between Ctrl-C and its exit */

/* One that was raised while it was handled does not hide it: all of the chain counts. */
static bool tells_of_interrupt(const struct ri_traceback *traceback)
{
	struct ri_span rest = traceback->whole, line;

	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (ri_span_starts(line, "KeyboardInterrupt"))
			return true;
	}
	return false;
}

/* A handler has no more to say than that it ends. */
static bool was_handled(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	return rank->end == RI_END_EXITED && rank->torch_error == NULL &&
		!ri_time_is_before(rank->ended, interrupt->at) &&
		rank->ended.tv_sec - interrupt->at.tv_sec <= HANDLER_SECONDS;
}

static bool find_traceback(const struct ri_rank_outcome *rank, struct ri_traceback *out)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };

	return rank->tail != NULL && ri_traceback_find(tail, out) && ri_rank_ended_of(rank, out);
}

static bool ended_of(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	int number = rank->end == RI_END_SIGNALED ? rank->signal : rank->exit_code - 128;
	struct ri_traceback traceback;

	if (number == interrupt->signal || number == interrupt->passed_on)
		return true;
	if (find_traceback(rank, &traceback))
		return interrupt->passed_on == SIGINT && tells_of_interrupt(&traceback);
	return was_handled(rank, interrupt);
}

/* Our stop for others may be faster than its own words: they break off, or tell of the others. */
static bool was_cut_short(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	struct ri_traceback traceback;

	if (!rank->told)
		return false;
	return !ri_time_is_before(ri_moment_find(rank).at, interrupt->at) ||
		(find_traceback(rank, &traceback) && traceback.last.length == 0);
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
