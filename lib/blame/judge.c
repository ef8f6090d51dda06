/* SPDX-License-Identifier: Apache-2.0 */
/* Who failed first in a job, from what each node says of itself. */
#include "blame/case.h"

#include "base/error.h"

enum {
	SIGNALLED = 128,	/* and its number: the status of a stop */
	MILLISECOND = 1000,	/* a report has no smaller times */
	DRIFT = 10000,		/* 100 ppm: what a quartz does at worst */
	BESIDE = 1024,		/* reports that are looked at for one of the same machine */
};

/* What is known of the job's losses. */
struct losses {
	size_t count;
	size_t ranks;		/* that all reports together have */
	int64_t first;		/* when; 0: there are none */
	int64_t timeout;	/* the first that waited in vain; 0: none did */
	const struct ri_witness *witness;	/* of it */
};

static int64_t true_time(const struct ri_witness *witness, int64_t at)
{
	return ri_witness_true(witness, at);
}

/* None of its ranks was started, and not for another node's failure or a stop. */
static bool is_refused(const struct ri_witness *witness)
{
	for (size_t i = 0; i < witness->count; i++)
		if (witness->ranks[i].end != RI_END_NOT_STARTED)
			return false;
	return witness->exit_status > 0 && witness->exit_status < SIGNALLED &&
		witness->exit_status != ri_code_status(RI_CODE_LINK_STOPPED);
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
		.at = true_time(witness, refused ? witness->ended : witness->failure.at),
	};
}

/* How far a clock may have gone astray since it was compared, when the job began. */
static int64_t drift_of(const struct ri_witness *witness)
{
	int64_t drift = MILLISECOND + (witness->ended - witness->began) / DRIFT;

	return drift < RI_CASE_APART_US / 2 ? drift : RI_CASE_APART_US / 2;
}

/* May b have come before a, though its time is later? */
static bool is_near(const struct ri_case_suspect *a, const struct ri_case_suspect *b)
{
	int64_t apart = b->at - a->at;

	if (ri_witness_is_beside(a->witness, b->witness))
		return false;
	if (a->witness->compared && b->witness->compared)
		return apart <= a->witness->error + drift_of(a->witness) +
			b->witness->error + drift_of(b->witness);
	return apart <= RI_CASE_APART_US;
}

/*
 * Is another end of the same machine, whose clock both have, an earlier one? Reports of one
 * machine stand side by side, but where no node has a number.
 */
static bool is_later_here(const struct ri_case_suspect *list, size_t count, size_t index)
{
	size_t from = index > BESIDE ? index - BESIDE : 0;

	for (size_t i = from; i < count && i < index + BESIDE; i++)
		if (i != index && ri_witness_is_beside(list[i].witness, list[index].witness) &&
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
		if (list[i].at < list[first].at)
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

/* All whose own failure weighs so much. Returns how many there are. */
static size_t collect(const struct ri_case_attempt *attempt, enum ri_class class,
	struct ri_case_suspect *list)
{
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		if (class_of(attempt->witnesses[i]) == class)
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
	size_t count = collect(&c->attempts[0], class, list);

	if (count == 0) {
		class = RI_CLASS_UNKNOWN;
		count = collect(&c->attempts[0], class, list);
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
			int64_t at = true_time(witness, rank->ended);

			if (rank->class != RI_CLASS_LOSS)
				continue;
			losses.count++;
			if (rank->lost == RI_LOSS_CLOCK &&
				(losses.timeout == 0 || at < losses.timeout))
				losses.timeout = at;
			if (losses.witness == NULL || at < losses.first) {
				losses.first = at;
				losses.witness = witness;
			}
		}
	}
	return losses;
}

typedef bool is_suspect(const struct ri_witness *witness, const struct ri_witness_rank *rank,
	const struct losses *losses);

/* It had ended with 0 when the others lost one, as far as the clocks can tell. */
static bool has_left(const struct ri_witness *witness, const struct ri_witness_rank *rank,
	const struct losses *losses)
{
	int64_t grace = ri_witness_is_beside(witness, losses->witness) ? 0 : RI_CASE_APART_US;

	return rank->end == RI_END_EXITED && rank->exit_code == 0 && !rank->told &&
		true_time(witness, rank->ended) <= losses->first + grace;
}

static bool has_lost(const struct ri_witness *witness, const struct ri_witness_rank *rank,
	const struct losses *losses)
{
	(void)witness;
	(void)losses;
	return rank->class == RI_CLASS_LOSS;
}

/* It did not say that it waited in vain. */
static bool is_silent(const struct ri_witness *witness, const struct ri_witness_rank *rank,
	const struct losses *losses)
{
	return !has_lost(witness, rank, losses);
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

			if (is(witness, rank, losses))
				list[count++] = (struct ri_case_suspect){
					.witness = witness, .rank = rank,
					.at = true_time(witness, rank->ended),
				};
		}
	return count;
}

/* Of a job all of whose ranks are here: those that had ended, and the one that had not. */
static bool find_ended(struct ri_case *c, const struct losses *losses,
	struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t left = find_ranks(attempt, losses, has_left, list);

	/* all but this one had done their work: it was late, or failed on its way out */
	if (left > 1 && losses->count == 1 && left + 1 == losses->ranks) {
		find_ranks(attempt, losses, has_lost, list);
		c->finding = RI_CASE_FIRST;
		c->suspects[0] = list[0];
		c->suspect_count = 1;
		return true;
	}
	if (left > 0) {
		c->finding = RI_CASE_LEFT;
		keep_first(c, list, left);
	}
	return left > 0;
}

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
		.at = true_time(witness, witness->autopsy.at),
	};

	/* below torchrun it is none of rankinit's own */
	for (size_t i = 0; i < witness->count && witness->autopsy.rank >= 0; i++)
		if (witness->ranks[i].rank == witness->autopsy.rank)
			suspect.rank = &witness->ranks[i];
	return suspect;
}

static bool is_suspected(const struct ri_case *c, int64_t rank)
{
	for (size_t i = 0; i < c->suspect_count && rank >= 0; i++)
		if (ri_case_rank(&c->suspects[i]) == rank)
			return true;
	return false;
}

/* Whom the nodes' autopsies suspect. If they contradict each other, each may be it. */
static bool find_suspected(struct ri_case *c)
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

/* The only rank that did not wait, of a job all of whose ranks are here. */
static void find_held(struct ri_case *c, const struct losses *losses,
	struct ri_case_suspect *list)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];

	/* whose time is over closes its connections, and the next one loses a peer */
	if (losses->timeout == 0 || losses->timeout > losses->first + RI_CASE_APART_US ||
		find_ranks(attempt, losses, is_silent, list) != 1 ||
		(!list[0].rank->told && list[0].rank->end != RI_END_RUNNING))
		return;
	c->finding = RI_CASE_HELD;
	c->suspects[0] = list[0];
	c->suspect_count = 1;
	if (is_seen(list[0].witness) && list[0].rank->rank >= 0 &&
		list[0].rank->rank == list[0].witness->autopsy.rank)
		c->suspects[0] = seen_by(list[0].witness);
}

/* Losses alone; list is NULL where that is not all: ranks are missing. */
static void find_among_losses(struct ri_case *c, const struct losses *losses,
	struct ri_case_suspect *list)
{
	if (list != NULL && find_ended(c, losses, list))
		return;
	if (find_suspected(c))
		return;
	if (list != NULL)
		find_held(c, losses, list);
	else
		c->finding = RI_CASE_SILENT;
}

/* Nobody failed by itself. */
static void find_calm(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];

	c->finding = RI_CASE_WELL;
	for (size_t i = 0; i < attempt->count; i++)
		if (attempt->witnesses[i]->stopped != 0 || attempt->witnesses[i]->exit_status != 0)
			c->finding = RI_CASE_STOPPED;
}

static bool is_named(const struct ri_case *c, const struct ri_witness *witness,
	const struct ri_witness_rank *rank)
{
	for (size_t i = 0; i < c->suspect_count; i++)
		if (c->suspects[i].witness == witness &&
			(c->suspects[i].rank == rank || c->suspects[i].rank == NULL))
			return true;
	return false;
}

/* Did the end of another one end it? Returns false where it ended well. */
static bool count_victim(struct ri_case_victims *victims, const struct ri_witness_rank *rank)
{
	if (rank->class == RI_CLASS_LOSS)
		victims->lost++;
	else if (rank->class == RI_CLASS_STOPPED || rank->told || rank->end == RI_END_RUNNING ||
		(rank->end == RI_END_NOT_STARTED))
		victims->stopped++;
	else if (rank->class == RI_CLASS_OWN || rank->class == RI_CLASS_UNKNOWN)
		victims->failed++;
	else
		return false;
	victims->ranks++;
	return true;
}

static void count_victims(struct ri_case *c)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];
		bool any = false;

		for (size_t k = 0; k < witness->count; k++)
			if (!is_named(c, witness, &witness->ranks[k]))
				any |= count_victim(&c->victims, &witness->ranks[k]);
		/* reports of several ranks of one node stand side by side */
		c->victims.nodes += any && (i == 0 || witness->node < 0 ||
			attempt->witnesses[i - 1]->node != witness->node);
	}
}

void ri_case_find_suspects(struct ri_case *c)
{
	struct losses losses = find_losses(&c->attempts[0]);
	struct ri_case_suspect *list =
		ri_arena_array(&c->arena, losses.ranks + c->count, sizeof(*list));
	bool whole = c->nodes.missing == 0 && c->ranks.missing == 0, told;

	if (list != NULL && find_first(c, list)) {
		count_victims(c);
		return;
	}
	told = c->verdict_node >= 0 && ri_case_is_missing(&c->nodes, (size_t)c->verdict_node);
	if (losses.count == 0 && !told) {
		find_calm(c);
		/* who is gone without a word may be why the platform stopped the others */
		if (c->finding == RI_CASE_STOPPED && !find_suspected(c) && !whole)
			c->finding = RI_CASE_SILENT;
		count_victims(c);
		return;
	}
	c->finding = RI_CASE_NOBODY;
	if (told)
		c->finding = RI_CASE_TOLD;
	else
		find_among_losses(c, &losses, whole && losses.count > 0 ? list : NULL);
	count_victims(c);
}
