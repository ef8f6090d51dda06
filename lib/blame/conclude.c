/* SPDX-License-Identifier: Apache-2.0 */
/* Who failed first in a job, from what each node says of itself. */
#include "blame/case.h"

#include <string.h>

#include "base/error.h"

enum {
	SIGNALLED = 128,	/* and its number: the status of a stop */
	MILLISECOND = 1000,	/* a report has no smaller times */
	SETTLE = 500000,	/* us: after a loss, ranks end by themselves for so long */
	DRIFT = 10000,		/* 100 ppm: what a quartz does at worst */
	BESIDE = 1024,		/* reports that are looked at for one of the same machine */
};

/* What is known of the job's losses. */
struct losses {
	size_t count;
	size_t ranks;		/* that all reports together have */
	int64_t first;		/* when; 0: there are none */
	int64_t timeout;	/* the first that waited in vain; 0: none did */
	size_t waited;		/* how many did */
};

/* None of its ranks was started, and not for another node's failure, a master or a stop. */
static bool is_refused(const struct ri_witness *witness)
{
	for (size_t i = 0; i < witness->count; i++)
		if (witness->ranks[i].end != RI_END_NOT_STARTED)
			return false;
	return witness->exit_status > 0 && witness->exit_status < SIGNALLED &&
		witness->exit_status != ri_code_status(RI_CODE_LINK_STOPPED) &&
		witness->exit_status != ri_code_status(RI_CODE_MASTER_UNRESOLVED);
}

/* How much this node's own failure weighs. */
static enum ri_class class_of(const struct ri_witness *witness)
{
	if (is_refused(witness))
		return RI_CLASS_OWN;
	return witness->failure.class == RI_CLASS_OWN || witness->failure.class == RI_CLASS_UNKNOWN
		? witness->failure.class
		: RI_CLASS_NONE;
}

static const struct ri_witness_rank *rank_of(const struct ri_witness *witness)
{
	for (size_t i = 0; i < witness->count && witness->failure.rank >= 0; i++)
		if (witness->ranks[i].rank == witness->failure.rank)
			return &witness->ranks[i];
	return NULL;
}

static struct ri_case_suspect suspect_of(const struct ri_witness *witness)
{
	bool refused = is_refused(witness);

	return (struct ri_case_suspect){
		.witness = witness, .rank = refused ? NULL : rank_of(witness),
		.at = ri_witness_true(witness, refused ? witness->ended : witness->failure.at),
	};
}

/* How far a clock may have gone astray since it was compared, when the job began. */
static int64_t drift_of(const struct ri_witness *witness)
{
	int64_t drift = MILLISECOND + (witness->ended - witness->began) / DRIFT;

	return drift < RI_CASE_APART_US / 2 ? drift : RI_CASE_APART_US / 2;
}

/* Do the two have one clock? */
static bool is_one_clock(const struct ri_witness *a, const struct ri_witness *b)
{
	return ri_witness_is_beside(a, b) ||
		(a->boot != NULL && b->boot != NULL && strcmp(a->boot, b->boot) == 0);
}

static bool is_comparable(const struct ri_witness *a, const struct ri_witness *b)
{
	return is_one_clock(a, b) || (a->compared && b->compared);
}

/* How far the order of two times of these reports is open. */
static int64_t doubt_of(const struct ri_witness *a, const struct ri_witness *b)
{
	if (is_one_clock(a, b))
		return 0;
	if (a->compared && b->compared)
		return a->error + drift_of(a) + b->error + drift_of(b);
	return RI_CASE_APART_US;
}

/* May b have come before a, though its time is later or unknown? */
static bool is_near(const struct ri_case_suspect *a, const struct ri_case_suspect *b)
{
	if (a->at == 0 || b->at == 0)
		return true;
	if (ri_witness_is_beside(a->witness, b->witness))
		return false;
	return b->at - a->at <= doubt_of(a->witness, b->witness);
}

/*
 * Is another end of the same machine, whose clock both have, an earlier one? Reports of one
 * machine stand side by side, but where no node has a number.
 */
static bool is_later_here(const struct ri_case_suspect *list, size_t count, size_t index)
{
	size_t from = index > BESIDE ? index - BESIDE : 0;

	for (size_t i = from; i < count && i < index + BESIDE; i++)
		if (i != index && list[i].at != 0 && list[index].at != 0 &&
			ri_witness_is_beside(list[i].witness, list[index].witness) &&
			(list[i].at < list[index].at ||
				(list[i].at == list[index].at && i < index)))
			return true;
	return false;
}

/* Keep the earliest, and all that may have been it. */
static void keep_first(struct ri_case *c, struct ri_case_suspect *list, size_t count)
{
	size_t first = 0;

	for (size_t i = 1; i < count; i++)
		if (list[i].at != 0 && (list[first].at == 0 || list[i].at < list[first].at))
			first = i;
	c->suspects[0] = list[first];
	c->suspect_count = 1;
	for (size_t i = 0; i < count; i++) {
		if (i == first || !is_near(&list[first], &list[i]) ||
			is_later_here(list, count, i))
			continue;
		if (c->suspect_count < RI_CASE_SUSPECTS)
			c->suspects[c->suspect_count++] = list[i];
		else
			c->more_suspects++;
	}
}

/* The link named another node, and what failed here had been told to stop by then. */
static bool is_told(const struct ri_case *c, const struct ri_witness *witness)
{
	const struct ri_witness_rank *rank = rank_of(witness);

	return c->verdict_node >= 0 && witness->node != c->verdict_node && rank != NULL &&
		rank->told;
}

/* All whose own failure weighs so much. Returns how many there are. */
static size_t collect(const struct ri_case *c, enum ri_class class, struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		if (class_of(attempt->witnesses[i]) == class && !is_told(c, attempt->witnesses[i]))
			list[count++] = suspect_of(attempt->witnesses[i]);
	return count;
}

/* The link heard the ends in their order, which no clock tells as well. */
static bool keep_named(struct ri_case *c, const struct ri_case_suspect *list, size_t count)
{
	for (size_t i = 0; i < count && c->verdict_node >= 0; i++) {
		if (list[i].witness->node != c->verdict_node)
			continue;
		c->suspects[0] = list[i];
		c->suspect_count = 1;
		return true;
	}
	return false;
}

/* The link named an end without a word, and another node ended of its own: either may be it. */
static void add_named(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];

	for (size_t i = 0; i < attempt->count && c->suspect_count < RI_CASE_SUSPECTS; i++)
		if (c->verdict_node >= 0 && attempt->witnesses[i]->node == c->verdict_node &&
			class_of(attempt->witnesses[i]) == RI_CLASS_UNKNOWN)
			c->suspects[c->suspect_count++] = suspect_of(attempt->witnesses[i]);
}

/* Nodes alone that did not start their ranks: each of them is to be looked at. */
static bool keep_refused(struct ri_case *c, const struct ri_case_suspect *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_refused(list[i].witness))
			return false;
	c->finding = RI_CASE_REFUSED;
	for (size_t i = 0; i < count; i++) {
		/* once for all ranks of a node */
		if (i > 0 && ri_witness_is_beside(list[i - 1].witness, list[i].witness))
			continue;
		if (c->suspect_count < RI_CASE_SUSPECTS)
			c->suspects[c->suspect_count++] = list[i];
		else
			c->more_suspects++;
	}
	return true;
}

static bool find_first(struct ri_case *c, struct ri_case_suspect *list)
{
	enum ri_class class = RI_CLASS_OWN;
	size_t count = collect(c, class, list);

	if (count == 0) {
		class = RI_CLASS_UNKNOWN;
		count = collect(c, class, list);
	}
	if (count == 0 || keep_refused(c, list, count))
		return count > 0;
	c->finding = RI_CASE_FIRST;
	if (!keep_named(c, list, count)) {
		keep_first(c, list, count);
		if (class == RI_CLASS_OWN)
			add_named(c);
	}
	return true;
}

static struct losses find_losses(const struct ri_case_attempt *attempt)
{
	struct losses losses = { .count = 0 };

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];

		losses.ranks += witness->count;
		for (size_t k = 0; k < witness->count; k++) {
			const struct ri_witness_rank *rank = &witness->ranks[k];
			int64_t at = ri_witness_true(witness, rank->ended);

			if (rank->class != RI_CLASS_LOSS)
				continue;
			losses.count++;
			losses.waited += rank->lost == RI_LOSS_CLOCK;
			if (rank->lost == RI_LOSS_CLOCK &&
				(losses.timeout == 0 || at < losses.timeout))
				losses.timeout = at;
			if (at != 0 && (losses.first == 0 || at < losses.first))
				losses.first = at;
		}
	}
	return losses;
}

/* Is that time, by the clock of this node, before all losses, as far as clocks tell? */
static bool is_before_losses(const struct ri_case_attempt *attempt,
	const struct ri_witness *witness, int64_t at)
{
	bool here = false, sure = true;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *other = attempt->witnesses[i];
		int64_t loss = ri_witness_first_loss(other);

		if (loss == 0)
			continue;
		if (at + doubt_of(witness, other) <= loss) {
			here |= ri_witness_is_beside(witness, other);
			continue;
		}
		if (is_comparable(witness, other) || at > loss + RI_CASE_APART_US)
			return false;
		sure = false;
	}
	/* a node of the same machine lost it later: enough where clocks leave the rest open */
	return sure || here;
}

typedef bool is_suspect(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness, const struct ri_witness_rank *rank);

/* It ended with 0 before the others lost a peer, or not much later. */
static bool is_done(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness, const struct ri_witness_rank *rank)
{
	(void)attempt;
	return rank->end == RI_END_EXITED && rank->exit_code == 0 && !rank->told &&
		rank->ended != 0 &&
		ri_witness_true(witness, rank->ended) <= losses->first + RI_CASE_APART_US;
}

/* It had ended with 0 when the others lost one. */
static bool has_left(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness, const struct ri_witness_rank *rank)
{
	return is_done(attempt, losses, witness, rank) &&
		is_before_losses(attempt, witness, ri_witness_true(witness, rank->ended));
}

static bool has_lost(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness, const struct ri_witness_rank *rank)
{
	(void)attempt;
	(void)losses;
	(void)witness;
	return rank->class == RI_CLASS_LOSS;
}

/* It did not say that it waited in vain. */
static bool is_silent(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness, const struct ri_witness_rank *rank)
{
	return !has_lost(attempt, losses, witness, rank);
}

/* All ranks of which that is true, into the list. Returns how many. */
static size_t find_ranks(const struct ri_case_attempt *attempt, const struct losses *losses,
	is_suspect *is, struct ri_case_suspect *list)
{
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->witnesses[i]->count; k++) {
			const struct ri_witness *witness = attempt->witnesses[i];
			const struct ri_witness_rank *rank = &witness->ranks[k];

			if (is(attempt, losses, witness, rank))
				list[count++] = (struct ri_case_suspect){
					.witness = witness, .rank = rank,
					.at = ri_witness_true(witness, rank->ended),
				};
		}
	return count;
}

static void name(struct ri_case *c, enum ri_case_finding finding,
	const struct ri_case_suspect *suspect)
{
	c->finding = finding;
	c->suspects[0] = *suspect;
	c->suspect_count = 1;
}

/* All but one had done their work, at one time: it was late, or failed on its way out. */
static bool find_alone(struct ri_case *c, const struct losses *losses,
	struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t done = losses->count == 1 ? find_ranks(attempt, losses, is_done, list) : 0;
	int64_t first, last;

	if (done < 2 || done + 1 != losses->ranks)
		return false;
	first = last = list[0].at;
	for (size_t i = 1; i < done; i++) {
		first = list[i].at < first ? list[i].at : first;
		last = list[i].at > last ? list[i].at : last;
	}
	if (last - first > RI_CASE_APART_US)
		return false;
	find_ranks(attempt, losses, has_lost, list);
	name(c, RI_CASE_FIRST, &list[0]);
	return true;
}

/* Nodes that were stopped from outside before any lost a peer: one pod was evicted. */
static bool find_evicted(struct ri_case *c, struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];
		int64_t at = ri_witness_true(witness, witness->stopped);

		if (at != 0 && is_before_losses(attempt, witness, at))
			list[count++] = (struct ri_case_suspect){ .witness = witness, .at = at };
	}
	if (count == 0)
		return false;
	c->finding = RI_CASE_STOPPED;
	if (count == attempt->count)
		return true;
	c->finding = RI_CASE_EVICTED;
	keep_first(c, list, count);
	return true;
}

/* When the first rank waited in vain, by a clock that can be compared, or else by any. */
static int64_t find_timeout(const struct ri_case_attempt *attempt, const struct losses *losses,
	const struct ri_witness *witness)
{
	int64_t first = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *other = attempt->witnesses[i];

		for (size_t k = 0; k < other->count && is_comparable(witness, other); k++) {
			int64_t at = ri_witness_true(other, other->ranks[k].ended);

			if (other->ranks[k].class == RI_CLASS_LOSS &&
				other->ranks[k].lost == RI_LOSS_CLOCK && at != 0 &&
				(first == 0 || at < first))
				first = at;
		}
	}
	return first != 0 ? first : losses->timeout + RI_CASE_APART_US;
}

/*
 * The others waited in vain for the one that neither waited nor ended until it was told to, which
 * was after rankinit had seen whether it ends, too. Where one alone had waited, the other one may
 * have waited for that, and its time would have been over next: it takes longer. A time that is
 * over closes connections, and the next rank loses a peer.
 */
static void find_held(struct ri_case *c, const struct losses *losses, struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	int64_t most = losses->waited > 1 ? SETTLE : 2 * SETTLE;

	if (losses->timeout == 0 || losses->timeout > losses->first + RI_CASE_APART_US ||
		find_ranks(attempt, losses, is_silent, list) != 1)
		return;
	if (list[0].rank->end == RI_END_RUNNING || (list[0].rank->told &&
		list[0].at >= find_timeout(attempt, losses, list[0].witness) + most)) {
		ri_case_add_seen(&list[0]);
		name(c, RI_CASE_HELD, &list[0]);
	}
}

/* Losses alone, of a job all of whose ranks are here. */
static void find_among_losses(struct ri_case *c, const struct losses *losses,
	struct ri_case_suspect *list)
{
	size_t left;

	if (find_alone(c, losses, list))
		return;
	left = find_ranks(&c->attempts[0], losses, has_left, list);
	if (left > 0) {
		c->finding = RI_CASE_LEFT;
		keep_first(c, list, left);
	} else if (find_evicted(c, list)) {
		if (c->finding == RI_CASE_STOPPED)
			ri_case_find_seen(c);
	} else if (!ri_case_find_seen(c)) {
		find_held(c, losses, list);
	}
}

/* Did a stop come from outside, or was a rank told to end? */
static bool is_stopped(const struct ri_witness *witness)
{
	bool told = witness->stopped != 0 || witness->exit_status >= SIGNALLED;

	for (size_t i = 0; i < witness->count && !told; i++)
		told = witness->ranks[i].told;
	return told || witness->exit_status == ri_code_status(RI_CODE_LINK_STOPPED);
}

/* No rank failed by itself. Returns whether all went well. */
static bool find_calm(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	bool well = true;

	c->finding = RI_CASE_WELL;
	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];

		if (is_stopped(witness))
			c->finding = RI_CASE_STOPPED;
		well = well && witness->exit_status == 0 && witness->stopped == 0;
	}
	return well;
}

/*
 * Is there a loss, by a clock that can be compared, so long before each of the suspects that
 * their ends cannot have been its cause?
 */
static bool are_late(const struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t late = 0;

	for (size_t i = 0; i < c->suspect_count; i++) {
		const struct ri_case_suspect *suspect = &c->suspects[i];
		bool found = false;

		for (size_t k = 0; k < attempt->count && !found; k++) {
			const struct ri_witness *other = attempt->witnesses[k];
			int64_t loss = ri_witness_first_loss(other);

			found = loss != 0 && is_comparable(suspect->witness, other) &&
				suspect->at > loss + RI_CASE_APART_US +
					doubt_of(suspect->witness, other);
		}
		late += found;
	}
	return late > 0 && late == c->suspect_count;
}

/* Where reports are missing: an end long after what others had lost is not the first one. */
static void hide_later(struct ri_case *c, bool whole)
{
	if (whole || c->finding != RI_CASE_FIRST || !are_late(c))
		return;
	c->finding = RI_CASE_SILENT;
	c->later = c->suspects[0];
	c->suspect_count = c->more_suspects = 0;
}

static void find_who(struct ri_case *c)
{
	struct losses losses = find_losses(&c->attempts[0]);
	struct ri_case_suspect *list =
		ri_arena_array(&c->arena, losses.ranks + c->count, sizeof(*list));
	bool whole = c->nodes.missing == 0 && c->ranks.missing == 0;

	/* the link heard what a node that left no report has said, or that it fell silent */
	if (c->verdict_node >= 0 && ri_case_is_missing(&c->nodes, (size_t)c->verdict_node)) {
		c->finding = RI_CASE_TOLD;
	} else if (list != NULL && find_first(c, list)) {
		hide_later(c, whole);
	} else if (losses.count == 0) {
		/* the platform may have stopped the others because of a node that left no report */
		if (!find_calm(c) && (c->finding != RI_CASE_STOPPED || !ri_case_find_seen(c)) &&
			!whole)
			c->finding = RI_CASE_SILENT;
	} else {
		c->finding = whole ? RI_CASE_NOBODY : RI_CASE_SILENT;
		if (whole && list != NULL)
			find_among_losses(c, &losses, list);
		else
			ri_case_find_seen(c);
	}
}

int ri_case_judge(struct ri_case *c)
{
	if (ri_case_gather(c) < 0)
		return -1;
	find_who(c);
	ri_case_count_victims(c);
	return ri_case_find_doubts(c) < 0 ? -1 : ri_case_compare(c);
}
