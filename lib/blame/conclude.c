/* SPDX-License-Identifier: Apache-2.0 */
/* Who failed first in a job, from what each node says of itself. */
#include "blame/reports.h"

#include <string.h>

#include "base/error.h"

enum {
	SIGNALLED = 128,	/* and its number: the status of a stop */
	MILLISECOND = 1000,	/* a report has no smaller times */
	SETTLE = 500000,	/* us: after a loss, ranks end by themselves for so long */
	DRIFT = 10000,		/* 100 ppm: what a quartz does at worst */
	BESIDE = 1024,		/* reports that are looked at for one of the same machine */
};

/* The ranks of an attempt that lost a peer, or waited for one in vain. */
struct losses {
	const struct ri_attempt *attempt;
	size_t count;
	size_t ranks;		/* that all reports together have */
	int64_t first;		/* when; 0: there are none */
	int64_t timeout;	/* the first that waited in vain; 0: none did */
	size_t waited;		/* how many did */
};

/* The node started no rank, for a reason of its own: no other node failed, no stop came. */
static bool is_refused(const struct ri_node_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		if (report->ranks[i].state != RI_END_NOT_STARTED)
			return false;
	return report->exit_status > 0 && report->exit_status < SIGNALLED &&
		report->exit_status != ri_code_status(RI_CODE_LINK_STOPPED) &&
		report->exit_status != ri_code_status(RI_CODE_MASTER_UNRESOLVED);
}

/* How much this node's own failure weighs. */
static enum ri_class class_of(const struct ri_node_report *report)
{
	if (is_refused(report))
		return RI_CLASS_OWN;
	return report->failure.class == RI_CLASS_OWN || report->failure.class == RI_CLASS_UNKNOWN
		? report->failure.class
		: RI_CLASS_NONE;
}

static const struct ri_report_rank *rank_of(const struct ri_node_report *report)
{
	for (size_t i = 0; i < report->count && report->failure.rank >= 0; i++)
		if (report->ranks[i].rank == report->failure.rank)
			return &report->ranks[i];
	return NULL;
}

static struct ri_suspect suspect_of(const struct ri_node_report *report)
{
	bool refused = is_refused(report);

	return (struct ri_suspect){
		.report = report, .rank = refused ? NULL : rank_of(report),
		.at = ri_time_align(report, refused ? report->ended : report->failure.at),
	};
}

/* How far a clock may have gone astray since it was compared, when the job began. */
static int64_t drift_of(const struct ri_node_report *report)
{
	int64_t drift = MILLISECOND + (report->ended - report->began) / DRIFT;

	return drift < RI_REPORTS_APART_US / 2 ? drift : RI_REPORTS_APART_US / 2;
}

/* Do the two have one clock? */
static bool is_one_clock(const struct ri_node_report *a, const struct ri_node_report *b)
{
	return ri_node_report_is_beside(a, b) ||
		(a->boot != NULL && b->boot != NULL && strcmp(a->boot, b->boot) == 0);
}

static bool is_comparable(const struct ri_node_report *a, const struct ri_node_report *b)
{
	return is_one_clock(a, b) || (a->compared && b->compared);
}

/* How far the order of two times of these reports is open. */
static int64_t doubt_of(const struct ri_node_report *a, const struct ri_node_report *b)
{
	if (is_one_clock(a, b))
		return 0;
	if (a->compared && b->compared)
		return a->error + drift_of(a) + b->error + drift_of(b);
	return RI_REPORTS_APART_US;
}

/* May b have come before a, though its time is later or unknown? */
static bool is_near(const struct ri_suspect *a, const struct ri_suspect *b)
{
	if (a->at == 0 || b->at == 0)
		return true;
	if (ri_node_report_is_beside(a->report, b->report))
		return false;
	return b->at - a->at <= doubt_of(a->report, b->report);
}

/*
 * Is another end of the same machine, whose clock both have, an earlier one? Reports of one
 * machine stand side by side, but where no node has a number.
 */
static bool is_later_here(const struct ri_suspect *list, size_t count, size_t index)
{
	size_t from = index > BESIDE ? index - BESIDE : 0;

	for (size_t i = from; i < count && i < index + BESIDE; i++)
		if (i != index && list[i].at != 0 && list[index].at != 0 &&
			ri_node_report_is_beside(list[i].report, list[index].report) &&
			(list[i].at < list[index].at ||
				(list[i].at == list[index].at && i < index)))
			return true;
	return false;
}

/* Keep the earliest, and all that may have been it. */
static void keep_first(struct ri_reports *job, struct ri_suspect *list, size_t count)
{
	size_t first = 0;

	for (size_t i = 1; i < count; i++)
		if (list[i].at != 0 && (list[first].at == 0 || list[i].at < list[first].at))
			first = i;
	job->suspects[0] = list[first];
	job->suspect_count = 1;
	for (size_t i = 0; i < count; i++)
		if (i != first && is_near(&list[first], &list[i]) &&
			!is_later_here(list, count, i))
			ri_reports_suspect(job, &list[i]);
}

/* The link named another node, and what failed here had been told to stop by then. */
static bool is_told(const struct ri_reports *job, const struct ri_node_report *report)
{
	const struct ri_report_rank *rank = rank_of(report);

	return job->verdict_node >= 0 && report->node != job->verdict_node && rank != NULL &&
		rank->told;
}

/* List all nodes whose own failure is of this class. Returns how many they are. */
static size_t collect(const struct ri_reports *job, enum ri_class class, struct ri_suspect *list)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		if (class_of(attempt->reports[i]) == class && !is_told(job, attempt->reports[i]))
			list[count++] = suspect_of(attempt->reports[i]);
	return count;
}

/* The link heard the ends in their order, which no clock tells as well. */
static bool keep_named(struct ri_reports *job, const struct ri_suspect *list, size_t count)
{
	for (size_t i = 0; i < count && job->verdict_node >= 0; i++) {
		if (list[i].report->node != job->verdict_node)
			continue;
		job->suspects[0] = list[i];
		job->suspect_count = 1;
		return true;
	}
	return false;
}

/* The link named an end without a word, and another node ended of its own: either may be it. */
static void add_named(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];

	for (size_t i = 0; i < attempt->count && job->suspect_count < RI_REPORTS_SUSPECTS; i++)
		if (job->verdict_node >= 0 && attempt->reports[i]->node == job->verdict_node &&
			class_of(attempt->reports[i]) == RI_CLASS_UNKNOWN)
			job->suspects[job->suspect_count++] = suspect_of(attempt->reports[i]);
}

/* Nodes alone that did not start their ranks: each of them is to be looked at. */
static bool keep_refused(struct ri_reports *job, const struct ri_suspect *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_refused(list[i].report))
			return false;
	job->conclusion = RI_CONCLUSION_REFUSED;
	for (size_t i = 0; i < count; i++)	/* once for all ranks of a node */
		if (i == 0 || !ri_node_report_is_beside(list[i - 1].report, list[i].report))
			ri_reports_suspect(job, &list[i]);
	return true;
}

static bool find_first(struct ri_reports *job, struct ri_suspect *list)
{
	enum ri_class class = RI_CLASS_OWN;
	size_t count = collect(job, class, list);

	if (count == 0) {
		class = RI_CLASS_UNKNOWN;
		count = collect(job, class, list);
	}
	if (count == 0 || keep_refused(job, list, count))
		return count > 0;
	job->conclusion = RI_CONCLUSION_FIRST;
	if (!keep_named(job, list, count)) {
		keep_first(job, list, count);
		if (class == RI_CLASS_OWN)
			add_named(job);
	}
	return true;
}

static struct losses find_losses(const struct ri_attempt *attempt)
{
	struct losses losses = { .attempt = attempt };

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		losses.ranks += report->count;
		for (size_t k = 0; k < report->count; k++) {
			const struct ri_report_rank *rank = &report->ranks[k];
			int64_t at = ri_time_align(report, rank->ended);

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
static bool is_before_losses(const struct ri_attempt *attempt,
	const struct ri_node_report *report, int64_t at)
{
	bool here = false, sure = true;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *other = attempt->reports[i];
		int64_t loss = ri_node_report_first_loss(other);

		if (loss == 0)
			continue;
		if (at + doubt_of(report, other) <= loss) {
			here |= ri_node_report_is_beside(report, other);
			continue;
		}
		if (is_comparable(report, other) || at > loss + RI_REPORTS_APART_US)
			return false;
		sure = false;
	}
	/* a node of the same machine lost it later: enough where clocks leave the rest open */
	return sure || here;
}

typedef bool is_suspect(const struct losses *losses, const struct ri_node_report *report,
	const struct ri_report_rank *rank);

/* The rank ended with 0 before the others lost a peer, or not much later. */
static bool is_done(const struct losses *losses, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	return rank->state == RI_END_EXITED && rank->exit_code == 0 && !rank->told &&
		rank->ended != 0 &&
		ri_time_align(report, rank->ended) <= losses->first + RI_REPORTS_APART_US;
}

/* The rank had ended with 0 when the others lost a peer. */
static bool has_left(const struct losses *losses, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	return is_done(losses, report, rank) &&
		is_before_losses(losses->attempt, report, ri_time_align(report, rank->ended));
}

static bool has_lost(const struct losses *losses, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	(void)losses;
	(void)report;
	return rank->class == RI_CLASS_LOSS;
}

/* The rank did not say that it waited in vain. */
static bool is_silent(const struct losses *losses, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	return !has_lost(losses, report, rank);
}

/* List all ranks for which the question is answered with yes. Returns how many they are. */
static size_t find_ranks(const struct losses *losses, is_suspect *is, struct ri_suspect *list)
{
	const struct ri_attempt *attempt = losses->attempt;
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->reports[i]->count; k++) {
			const struct ri_node_report *report = attempt->reports[i];
			const struct ri_report_rank *rank = &report->ranks[k];

			if (is(losses, report, rank))
				list[count++] = (struct ri_suspect){
					.report = report, .rank = rank,
					.at = ri_time_align(report, rank->ended),
				};
		}
	return count;
}

static void name(struct ri_reports *job, enum ri_conclusion conclusion,
	const struct ri_suspect *suspect)
{
	job->conclusion = conclusion;
	job->suspects[0] = *suspect;
	job->suspect_count = 1;
}

/* All but one had done their work, at one time: it was late, or failed on its way out. */
static bool find_alone(struct ri_reports *job, const struct losses *losses,
	struct ri_suspect *list)
{
	size_t done = losses->count == 1 ? find_ranks(losses, is_done, list) : 0;
	int64_t first, last;

	if (done < 2 || done + 1 != losses->ranks)
		return false;
	first = last = list[0].at;
	for (size_t i = 1; i < done; i++) {
		first = list[i].at < first ? list[i].at : first;
		last = list[i].at > last ? list[i].at : last;
	}
	if (last - first > RI_REPORTS_APART_US)
		return false;
	find_ranks(losses, has_lost, list);
	name(job, RI_CONCLUSION_FIRST, &list[0]);
	return true;
}

/* Nodes that were stopped from outside before any lost a peer: one pod was evicted. */
static bool find_evicted(struct ri_reports *job, struct ri_suspect *list)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];
		int64_t at = ri_time_align(report, report->stopped);

		if (at != 0 && is_before_losses(attempt, report, at))
			list[count++] = (struct ri_suspect){ .report = report, .at = at };
	}
	if (count == 0)
		return false;
	job->conclusion = RI_CONCLUSION_STOPPED;
	if (count == attempt->count)
		return true;
	job->conclusion = RI_CONCLUSION_EVICTED;
	keep_first(job, list, count);
	return true;
}

/* When the first rank waited in vain, by a clock that can be compared, or else by any. */
static int64_t find_timeout(const struct losses *losses, const struct ri_node_report *report)
{
	const struct ri_attempt *attempt = losses->attempt;
	int64_t first = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *other = attempt->reports[i];

		for (size_t k = 0; k < other->count && is_comparable(report, other); k++) {
			int64_t at = ri_time_align(other, other->ranks[k].ended);

			if (other->ranks[k].class == RI_CLASS_LOSS &&
				other->ranks[k].lost == RI_LOSS_CLOCK && at != 0 &&
				(first == 0 || at < first))
				first = at;
		}
	}
	return first != 0 ? first : losses->timeout + RI_REPORTS_APART_US;
}

/*
 * The others waited in vain for the one that neither waited nor ended until it was told to, which
 * was after rankinit had seen whether it ends, too. Where one alone had waited, the other one may
 * have waited for that, and its time would have been over next: it takes longer. A time that is
 * over closes connections, and the next rank loses a peer.
 */
static void find_held(struct ri_reports *job, const struct losses *losses, struct ri_suspect *list)
{
	int64_t most = losses->waited > 1 ? SETTLE : 2 * SETTLE;

	if (losses->timeout == 0 || losses->timeout > losses->first + RI_REPORTS_APART_US ||
		find_ranks(losses, is_silent, list) != 1)
		return;
	if (list[0].rank->state == RI_END_RUNNING || (list[0].rank->told &&
		list[0].at >= find_timeout(losses, list[0].report) + most)) {
		ri_suspect_add_autopsy(&list[0]);
		name(job, RI_CONCLUSION_HELD, &list[0]);
	}
}

/* Losses alone, of a job all of whose ranks are here. */
static void find_among_losses(struct ri_reports *job, const struct losses *losses,
	struct ri_suspect *list)
{
	size_t left;

	if (find_alone(job, losses, list))
		return;
	left = find_ranks(losses, has_left, list);
	if (left > 0) {
		job->conclusion = RI_CONCLUSION_LEFT;
		keep_first(job, list, left);
	} else if (find_evicted(job, list)) {
		if (job->conclusion == RI_CONCLUSION_STOPPED)
			ri_reports_ask_autopsies(job);
	} else if (!ri_reports_ask_autopsies(job)) {
		find_held(job, losses, list);
	}
}

/* Did a stop come from outside, or was a rank told to end? */
static bool is_stopped(const struct ri_node_report *report)
{
	bool told = report->stopped != 0 || report->exit_status >= SIGNALLED;

	for (size_t i = 0; i < report->count && !told; i++)
		told = report->ranks[i].told;
	return told || report->exit_status == ri_code_status(RI_CODE_LINK_STOPPED);
}

/* No rank failed by itself. Returns whether all went well. */
static bool find_calm(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	bool well = true;

	job->conclusion = RI_CONCLUSION_WELL;
	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		if (is_stopped(report))
			job->conclusion = RI_CONCLUSION_STOPPED;
		well = well && report->exit_status == 0 && report->stopped == 0;
	}
	return well;
}

/*
 * Is there a loss, by a clock that can be compared, so long before each of the suspects that
 * their ends cannot have been its cause?
 */
static bool are_late(const struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t late = 0;

	for (size_t i = 0; i < job->suspect_count; i++) {
		const struct ri_suspect *suspect = &job->suspects[i];
		bool found = false;

		for (size_t k = 0; k < attempt->count && !found; k++) {
			const struct ri_node_report *other = attempt->reports[k];
			int64_t loss = ri_node_report_first_loss(other);

			found = loss != 0 && is_comparable(suspect->report, other) &&
				suspect->at > loss + RI_REPORTS_APART_US +
					doubt_of(suspect->report, other);
		}
		late += found;
	}
	return late > 0 && late == job->suspect_count;
}

/* Where reports are missing: an end long after what others had lost is not the first one. */
static void hide_later(struct ri_reports *job, bool whole)
{
	if (whole || job->conclusion != RI_CONCLUSION_FIRST || !are_late(job))
		return;
	job->conclusion = RI_CONCLUSION_SILENT;
	job->later = job->suspects[0];
	job->suspect_count = job->more_suspects = 0;
}

static void find_who(struct ri_reports *job)
{
	struct losses losses = find_losses(&job->attempts[0]);
	struct ri_suspect *list =
		ri_arena_array(&job->arena, losses.ranks + job->count, sizeof(*list));
	bool whole = job->nodes.missing == 0 && job->ranks.missing == 0;

	/* the link heard what a node that left no report has said, or that it fell silent */
	if (job->verdict_node >= 0 && ri_number_set_lacks(&job->nodes, (size_t)job->verdict_node)) {
		job->conclusion = RI_CONCLUSION_TOLD;
	} else if (list != NULL && find_first(job, list)) {
		hide_later(job, whole);
	} else if (losses.count == 0) {
		/* the platform may have stopped the others because of a node that left no report */
		if (!find_calm(job) && (job->conclusion != RI_CONCLUSION_STOPPED ||
			!ri_reports_ask_autopsies(job)) && !whole)
			job->conclusion = RI_CONCLUSION_SILENT;
	} else {
		job->conclusion = whole ? RI_CONCLUSION_UNKNOWN : RI_CONCLUSION_SILENT;
		if (whole && list != NULL)
			find_among_losses(job, &losses, list);
		else
			ri_reports_ask_autopsies(job);
	}
}

int ri_reports_judge(struct ri_reports *job)
{
	if (ri_reports_gather(job) < 0)
		return -1;
	find_who(job);
	ri_reports_count_victims(job);
	return ri_reports_check_times(job);
}
