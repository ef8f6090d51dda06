/* SPDX-License-Identifier: Apache-2.0 */
#include "report/blame.h"

#include <signal.h>
#include <stdlib.h>

#include "report/class.h"
#include "report/collectives.h"
#include "words/loss.h"

uint64_t ri_blame_nodes(const struct ri_outcome *outcome)
{
	uint64_t nodes = 1;

	if (outcome->topology != NULL)
		ri_topology_get(outcome->topology, RI_FACT_NNODES, &nodes);
	return nodes;
}

/* Ranks that this rankinit does not watch, of which one may have failed. */
static bool has_others(const struct ri_outcome *outcome)
{
	uint64_t ranks = outcome->count;

	/* what starts ranks itself is none of them */
	if (outcome->topology == NULL || (outcome->count == 1 &&
		!ri_topology_knows(outcome->topology, RI_FACT_RANK)))
		return false;
	ri_topology_get(outcome->topology, RI_FACT_WORLD_SIZE, &ranks);
	return ranks > outcome->count || ri_blame_nodes(outcome) > 1;
}

static bool counts(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank)
{
	return rank->evidence.class > RI_CLASS_STOPPED &&
		!(rank->told && outcome->stop.signal != 0 && rank->lingered_s == 0);
}

/* The first loss, or -1. */
static ssize_t find_loss(const struct ri_outcome *outcome)
{
	struct ri_moment first, moment;
	ssize_t found = -1;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (rank->evidence.class != RI_CLASS_LOSS || !counts(outcome, rank))
			continue;
		moment = ri_moment_find(rank);
		if (found >= 0 && !ri_moment_is_earlier(&moment, &first))
			continue;
		found = (ssize_t)i;
		first = moment;
	}
	return found;
}

/* The class of an end by what is known of the other ends. */
static enum ri_class weigh(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank,
	ssize_t loss)
{
	struct timespec lost;

	if (rank->evidence.class != RI_CLASS_UNKNOWN || loss < 0)
		return rank->evidence.class;
	/* had it ended, or begun to, when the first loss came? */
	lost = ri_moment_find(&outcome->ranks[loss]).at;
	if (ri_time_is_before(rank->ended, lost) ||
		(rank->gone_at.tv_sec != 0 && !ri_time_is_before(lost, rank->gone_at)))
		return RI_CLASS_OWN;
	return has_others(outcome) ? RI_CLASS_LOSS : RI_CLASS_UNKNOWN;
}

/*
 * When it failed, beside another one. Of one that ended with a status a traceback may be of long
 * before, unless it was seen to leave the program; where the kernel ended the other one, the ends
 * count. An abort does not: NCCL's watchdog ends by it those that lost others.
 */
static struct ri_moment moment_beside(const struct ri_rank_outcome *rank,
	const struct ri_rank_outcome *other)
{
	struct ri_moment moment = ri_moment_find(rank);
	/* of what was seen to be dying when the other one was reaped it is not known since when */
	bool gone = rank->gone_at.tv_sec > 0 &&
		!(other->order > 0 && other->order < rank->order);

	if (other->end != RI_END_SIGNALED || other->signal == SIGABRT ||
		rank->end != RI_END_EXITED || rank->course == RI_COURSE_LEFT ||
		rank->evidence.ended_of_file)
		return moment;
	moment.at = gone ? rank->gone_at : rank->ended;
	moment.second = moment.at.tv_sec;
	moment.order = gone ? 0 : rank->order;
	moment.witnessed = false;
	return moment;
}

/*
 * Of two ends that weigh the same, who says that it killed the others comes
 * first; of two without a traceback and with one status, who complains.
 */
static bool is_before(const struct ri_rank_outcome *a, const struct ri_rank_outcome *b)
{
	struct ri_moment moment = moment_beside(a, b), other = moment_beside(b, a);

	if (a->evidence.killed_others != b->evidence.killed_others)
		return a->evidence.killed_others;
	if (a->evidence.class == RI_CLASS_UNKNOWN && b->evidence.class == RI_CLASS_UNKNOWN &&
		a->exit_code == b->exit_code && llabs(moment.second - other.second) <= 1 &&
		a->evidence.words.complains != b->evidence.words.complains)
		return a->evidence.words.complains;
	/* at one moment: what the kernel ended is none that lost another one */
	if (!ri_moment_is_earlier(&moment, &other) && !ri_moment_is_earlier(&other, &moment))
		return a->end == RI_END_SIGNALED && b->end != RI_END_SIGNALED;
	return ri_moment_is_earlier(&moment, &other);
}

static ssize_t find_first(const struct ri_outcome *outcome, ssize_t loss)
{
	enum ri_class highest = RI_CLASS_LOSS, class;
	ssize_t found = -1;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		class = counts(outcome, rank) ? weigh(outcome, rank, loss) : RI_CLASS_NONE;
		if (class <= RI_CLASS_LOSS || class < highest ||
			(class == highest && !is_before(rank, &outcome->ranks[found])))
			continue;
		found = (ssize_t)i;
		highest = class;
	}
	return found;
}

/*
 * Who ended with 0 and was not told to. It closes its connections on its way out,
 * so that the others may have lost it before its end. Returns how many did; *out
 * is the first of them.
 */
static size_t count_leavers(const struct ri_outcome *outcome, size_t *out)
{
	const struct ri_rank_outcome *ranks = outcome->ranks;
	size_t count = 0;

	for (size_t i = 0; i < outcome->count; i++) {
		if (ranks[i].end != RI_END_EXITED || ranks[i].exit_code != 0 || ranks[i].told)
			continue;
		if (count++ == 0 || ri_time_is_before(ranks[i].ended, ranks[*out].ended))
			*out = i;
	}
	return count;
}

/* The only one that did not say that it waited in vain. */
static bool find_holder(const struct ri_outcome *outcome, size_t *out)
{
	size_t silent = 0;

	if (outcome->ranks[outcome->first].evidence.loss->kind != RI_LOSS_CLOCK)
		return false;
	for (size_t i = 0; i < outcome->count; i++) {
		if (outcome->ranks[i].evidence.class == RI_CLASS_LOSS)
			continue;
		*out = i;
		silent++;
	}
	return silent == 1 && outcome->ranks[*out].told;
}

/*
 * Time was over for one rank, and another one of this node had not said the same when
 * it was stopped: it may be the one that hung, so it need not be another node's.
 */
static bool may_be_here(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *ranks = outcome->ranks;

	if (ranks[outcome->first].evidence.loss->kind != RI_LOSS_CLOCK)
		return false;
	for (size_t i = 0; i < outcome->count; i++)
		if (ranks[i].told && ranks[i].evidence.class != RI_CLASS_LOSS)
			return true;
	return false;
}

/* The watchdogs of all ranks tell in which collective each is, and one is out of step. */
static bool find_out_of_step(const struct ri_outcome *outcome, size_t *out)
{
	struct ri_works works;

	ri_works_find(outcome, &works);
	if (works.odd < 0 || works.count < outcome->count)
		return false;
	*out = (size_t)works.odd;
	return true;
}

void ri_blame_find(struct ri_outcome *outcome)
{
	ssize_t loss = find_loss(outcome);
	size_t leavers;

	outcome->blame = RI_BLAME_FIRST;
	outcome->first = find_first(outcome, loss);
	if (outcome->first >= 0 || loss < 0)
		return;
	outcome->first = loss;
	if (outcome->ranks[loss].evidence.loss->kind == RI_LOSS_MISMATCH &&
		ri_mismatch_odd(outcome, &outcome->named)) {
		outcome->blame = RI_BLAME_HELD;
		return;
	}
	leavers = count_leavers(outcome, &outcome->named);
	if (has_others(outcome))
		outcome->blame = may_be_here(outcome) ? RI_BLAME_UNKNOWN : RI_BLAME_ELSEWHERE;
	else if (leavers > 1 && leavers + 1 == outcome->count)
		outcome->blame = RI_BLAME_FIRST;	/* all but this one had done their work */
	else if (leavers > 0)
		outcome->blame = RI_BLAME_LEFT;
	else if (find_out_of_step(outcome, &outcome->named) ||
		find_holder(outcome, &outcome->named))
		outcome->blame = RI_BLAME_HELD;
	else if (outcome->count > 1)
		outcome->blame = RI_BLAME_UNKNOWN;
}

enum { HANDLER_SECONDS = 30 };	/* for what it does between Ctrl-C and its exit */

static bool ended_of(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	int number = rank->end == RI_END_SIGNALED ? rank->signal : rank->exit_code - 128;

	if (number == interrupt->signal || number == interrupt->passed_on)
		return true;
	if (rank->evidence.ended_of_traceback)
		return interrupt->passed_on == SIGINT && rank->evidence.words.interrupted;
	/* a handler has no more to say than that it ends */
	return rank->end == RI_END_EXITED && rank->wrote.torch_error.at == NULL &&
		!ri_time_is_before(rank->ended, interrupt->at) &&
		rank->ended.tv_sec - interrupt->at.tv_sec <= HANDLER_SECONDS;
}

bool ri_outcome_is_interrupted(const struct ri_outcome *outcome)
{
	const struct ri_interrupt *interrupt = &outcome->interrupt;
	const struct ri_rank_outcome *first;

	if (outcome->first < 0 || interrupt->signal == 0)
		return false;
	first = &outcome->ranks[outcome->first];
	/* our stop for others may be faster than its own words: these break off, or tell of them */
	if (!first->told || (ri_time_is_before(ri_moment_find(first).at, interrupt->at) &&
		!(first->evidence.ended_of_traceback &&
			first->evidence.words.traceback.last.length == 0)))
		return ended_of(first, interrupt);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (ri_rank_failed(rank) && (!rank->told || rank == first) &&
			ended_of(rank, interrupt))
			return true;
	}
	return false;
}
