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

/* What all reports of an attempt say together. */
struct losses {
	const struct ri_attempt *attempt;
	size_t ranks;
	size_t count;		/* ranks that lost a peer, or waited for one in vain */
	size_t waited;		/* these alone */
	int64_t first;		/* when the first of both did; 0: none, or that is unknown */
	int64_t wait;		/* when the first had waited in vain; likewise */
	bool stopped;		/* from outside, or a rank was told to end */
	bool well;		/* each node ended with 0, and none was stopped */
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
	return is_refused(report) ? RI_CLASS_OWN : report->failure.class;
}

static struct ri_suspect suspect_of(const struct ri_node_report *report)
{
	if (is_refused(report))
		return (struct ri_suspect){ .report = report, .at = report->ended };
	return (struct ri_suspect){
		.report = report, .at = report->failure.at,
		.rank = ri_node_report_rank(report, report->failure.rank),
	};
}

/* One suspect more, which is only counted where the list is full. */
static void name(struct ri_reports *job, struct ri_suspect suspect)
{
	if (job->suspect_count < RI_REPORTS_SUSPECTS)
		job->suspects[job->suspect_count++] = suspect;
	else
		job->more_suspects++;
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

/* Keep the earliest, and all that may have been it, as far as clocks leave that open. */
static void keep_first(struct ri_reports *job, struct ri_suspect *list, size_t count)
{
	const struct ri_suspect *first = list;

	for (size_t i = 1; i < count; i++)
		if (list[i].at != 0 && (first->at == 0 || list[i].at < first->at))
			first = &list[i];
	name(job, *first);
	for (size_t i = 0; i < count; i++) {
		const struct ri_suspect *one = &list[i];

		if (one == first || is_later_here(list, count, i))
			continue;
		if (first->at == 0 || one->at == 0 ||
			(!ri_node_report_is_beside(first->report, one->report) &&
				one->at - first->at <= doubt_of(first->report, one->report)))
			name(job, *one);
	}
}

/*
 * List all nodes whose own failure is of this class, but for what the link did not name and had
 * been told to stop by then. Returns how many they are.
 */
static size_t collect(const struct ri_reports *job, enum ri_class class, struct ri_suspect *list)
{
	size_t count = 0;

	for (size_t i = 0; i < job->judged->count; i++) {
		const struct ri_node_report *report = job->judged->reports[i];
		const struct ri_report_rank *rank =
			ri_node_report_rank(report, report->failure.rank);
		bool told = job->verdict_node >= 0 && report->node != job->verdict_node &&
			rank != NULL && rank->told;

		if (class_of(report) == class && !told)
			list[count++] = suspect_of(report);
	}
	return count;
}

static bool find_first(struct ri_reports *job, struct ri_suspect *list)
{
	enum ri_class class = RI_CLASS_OWN;
	size_t count = collect(job, class, list), refused = 0;

	if (count == 0) {
		class = RI_CLASS_UNKNOWN;
		count = collect(job, class, list);
	}
	for (size_t i = 0; i < count; i++)
		refused += is_refused(list[i].report);
	job->conclusion = refused == count ? RI_CONCLUSION_REFUSED : RI_CONCLUSION_FIRST;
	/* nodes that did not start their ranks: each is to be looked at, once for all ranks */
	for (size_t i = 0; i < count && refused == count; i++)
		if (i == 0 || !ri_node_report_is_beside(list[i - 1].report, list[i].report))
			name(job, list[i]);
	/* the link heard the ends in their order, which no clock tells as well */
	for (size_t i = 0; i < count && job->suspect_count == 0 && job->verdict_node >= 0; i++)
		if (list[i].report->node == job->verdict_node)
			name(job, list[i]);
	if (count == 0 || job->suspect_count > 0)
		return count > 0;
	keep_first(job, list, count);
	/* it named an end without a word, and another node ended of its own: either may be it */
	for (size_t i = 0; i < job->judged->count && class == RI_CLASS_OWN; i++)
		if (job->verdict_node >= 0 && job->judged->reports[i]->node == job->verdict_node &&
			class_of(job->judged->reports[i]) == RI_CLASS_UNKNOWN)
			name(job, suspect_of(job->judged->reports[i]));
	return true;
}

static struct losses find_losses(const struct ri_attempt *attempt)
{
	struct losses losses = { .attempt = attempt, .well = true };

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		losses.ranks += report->count;
		for (size_t k = 0; k < report->count; k++) {
			const struct ri_report_rank *rank = &report->ranks[k];

			losses.count += rank->class == RI_CLASS_LOSS;
			losses.waited += rank->class == RI_CLASS_LOSS &&
				rank->lost == RI_LOSS_CLOCK;
			losses.stopped |= rank->told;
		}
		ri_time_see_earlier(&losses.first, report->first_loss);
		ri_time_see_earlier(&losses.wait, report->first_wait);
		losses.stopped |= report->stopped != 0 || report->exit_status >= SIGNALLED ||
			report->exit_status == ri_code_status(RI_CODE_LINK_STOPPED);
		losses.well &= report->exit_status == 0 && report->stopped == 0;
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
		int64_t loss = other->first_loss;

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

/* What is asked of the ranks of a job in which none failed of its own. */
enum question {
	LOST,		/* did it lose a peer, or wait in vain? */
	KEPT,		/* did it not? */
	DONE,		/* had it ended with 0 before the others lost one, or not much later? */
	LEFT,		/* surely before them? */
};

/* List all ranks for which the question is answered with yes. Returns how many they are. */
static size_t find_ranks(const struct losses *losses, enum question question,
	struct ri_suspect *list)
{
	const struct ri_attempt *attempt = losses->attempt;
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->reports[i]->count; k++) {
			const struct ri_node_report *report = attempt->reports[i];
			const struct ri_report_rank *rank = &report->ranks[k];
			bool is_so = rank->state == RI_END_EXITED && rank->exit_code == 0 &&
				!rank->told && rank->ended != 0 &&
				rank->ended <= losses->first + RI_REPORTS_APART_US;

			if (question == LOST || question == KEPT)
				is_so = (rank->class == RI_CLASS_LOSS) == (question == LOST);
			else if (question == LEFT)
				is_so = is_so && is_before_losses(attempt, report, rank->ended);
			if (is_so)
				list[count++] = (struct ri_suspect){
					.report = report, .rank = rank, .at = rank->ended,
				};
		}
	return count;
}

/* All but one had done their work, at one time: it was late, or failed on its way out. */
static bool find_alone(struct ri_reports *job, const struct losses *losses,
	struct ri_suspect *list)
{
	size_t done = losses->count == 1 ? find_ranks(losses, DONE, list) : 0;
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
	find_ranks(losses, LOST, list);
	job->conclusion = RI_CONCLUSION_FIRST;
	name(job, list[0]);
	return true;
}

/* Nodes that were stopped from outside before any lost a peer: one pod was evicted. */
static bool find_evicted(struct ri_reports *job, struct ri_suspect *list)
{
	size_t count = 0;

	for (size_t i = 0; i < job->judged->count; i++) {
		const struct ri_node_report *report = job->judged->reports[i];

		if (report->stopped != 0 && is_before_losses(job->judged, report, report->stopped))
			list[count++] = (struct ri_suspect){
				.report = report, .at = report->stopped,
			};
	}
	if (count == 0)
		return false;
	job->conclusion = RI_CONCLUSION_STOPPED;
	if (count == job->judged->count)
		return true;
	job->conclusion = RI_CONCLUSION_EVICTED;
	keep_first(job, list, count);
	return true;
}

static bool is_near_end(const struct ri_node_report *report, int64_t at)
{
	return at <= report->ended + RI_REPORTS_APART_US &&
		at >= report->ended - RI_REPORTS_LOOK_US;
}

/* Did its autopsy see a rank near the end? */
static bool was_seen(const struct ri_node_report *report)
{
	return report->autopsy.did != NULL && is_near_end(report, report->autopsy.at);
}

int64_t ri_suspect_rank(const struct ri_suspect *suspect)
{
	if (suspect->rank != NULL)
		return suspect->rank->rank;
	if (suspect->found != NULL)
		return suspect->found->rank;
	return suspect->seen ? suspect->report->autopsy.rank : -1;
}

static struct ri_suspect seen_by(const struct ri_node_report *report)
{
	return (struct ri_suspect){
		.report = report, .seen = true, .at = report->autopsy.at,
		.rank = ri_node_report_rank(report, report->autopsy.rank),
	};
}

static bool tells_found(const struct ri_node_report *report)
{
	return report->found.text != NULL && is_near_end(report, report->found.at);
}

/* Whom all nodes saw together, if its node left a report and no other node tells another one. */
static bool find_found(struct ri_reports *job)
{
	const struct ri_node_report *last = NULL, *report = NULL;

	for (size_t i = 0; i < job->judged->count; i++) {
		const struct ri_node_report *other = job->judged->reports[i];

		if (tells_found(other) && (last == NULL || other->found.at > last->found.at))
			last = other;
	}
	for (size_t i = 0; i < job->judged->count && last != NULL; i++) {
		const struct ri_node_report *other = job->judged->reports[i];

		if (other->node == last->found.node)
			report = other;
		if (tells_found(other) && other->found.rank != last->found.rank)
			return false;
	}
	if (report == NULL)
		return false;
	name(job, (struct ri_suspect){
		.report = report, .found = &last->found, .at = last->found.at,
		.rank = ri_node_report_rank(report, last->found.rank),
		.seen = was_seen(report) && report->autopsy.rank == last->found.rank,
	});
	return true;
}

/*
 * Name whom a look of all nodes has named; else whom the nodes' own autopsies suspect, of which
 * those that name several are a tie.
 */
static bool ask_autopsies(struct ri_reports *job)
{
	bool found = find_found(job);

	for (size_t i = 0; i < job->judged->count && !found; i++) {
		const struct ri_node_report *report = job->judged->reports[i];
		bool named = !was_seen(report) || !report->autopsy.suspects;

		for (size_t k = 0; k < job->suspect_count && report->autopsy.rank >= 0; k++)
			named |= ri_suspect_rank(&job->suspects[k]) == report->autopsy.rank;
		if (!named)
			name(job, seen_by(report));
	}
	if (job->suspect_count > 0)
		job->conclusion = RI_CONCLUSION_HELD;
	return job->suspect_count > 0;
}

/*
 * The others waited in vain for the one that neither waited nor ended until it was told to, which
 * was after rankinit had seen whether it ends, too. Where one alone had waited, the other one may
 * have waited for that, and its time would have been over next: it takes longer. A time that is
 * over closes connections, and the next rank loses a peer.
 */
static void find_held(struct ri_reports *job, const struct losses *losses, struct ri_suspect *list)
{
	const struct ri_attempt *attempt = losses->attempt;
	const struct ri_node_report *report;
	const struct ri_report_rank *rank;
	int64_t most = losses->waited > 1 ? SETTLE : 2 * SETTLE, wait = 0;

	if (losses->wait == 0 || losses->wait > losses->first + RI_REPORTS_APART_US ||
		find_ranks(losses, KEPT, list) != 1)
		return;
	report = list[0].report;
	rank = list[0].rank;
	/* when the first rank had waited in vain: by a clock that can be compared, else by any */
	for (size_t i = 0; i < attempt->count; i++)
		if (is_comparable(report, attempt->reports[i]))
			ri_time_see_earlier(&wait, attempt->reports[i]->first_wait);
	if (wait == 0)
		wait = losses->wait + RI_REPORTS_APART_US;
	if (rank->state != RI_END_RUNNING && (!rank->told || list[0].at < wait + most))
		return;
	job->conclusion = RI_CONCLUSION_HELD;
	/* what its node's autopsy saw of it, where it did */
	name(job, was_seen(report) && rank->rank >= 0 && rank->rank == report->autopsy.rank
		? seen_by(report) : list[0]);
}

/* Losses alone, of a job all of whose ranks are here. */
static void find_among_losses(struct ri_reports *job, const struct losses *losses,
	struct ri_suspect *list)
{
	size_t left;

	if (find_alone(job, losses, list))
		return;
	left = find_ranks(losses, LEFT, list);
	if (left > 0) {
		job->conclusion = RI_CONCLUSION_LEFT;
		keep_first(job, list, left);
	} else if (find_evicted(job, list)) {
		if (job->conclusion == RI_CONCLUSION_STOPPED)
			ask_autopsies(job);
	} else if (!ask_autopsies(job)) {
		find_held(job, losses, list);
	}
}

/*
 * Where reports are missing: ends long after what others had lost are not the first one, if a clock
 * that can be compared says of each that it was so late.
 */
static void hide_later(struct ri_reports *job)
{
	for (size_t i = 0; i < job->suspect_count; i++) {
		const struct ri_suspect *suspect = &job->suspects[i];
		bool late = false;

		for (size_t k = 0; k < job->judged->count && !late; k++) {
			const struct ri_node_report *other = job->judged->reports[k];

			late = other->first_loss != 0 && is_comparable(suspect->report, other) &&
				suspect->at > other->first_loss + RI_REPORTS_APART_US +
					doubt_of(suspect->report, other);
		}
		if (!late)
			return;
	}
	job->conclusion = RI_CONCLUSION_SILENT;
	job->later = job->suspects[0];
	job->suspect_count = job->more_suspects = 0;
}

int ri_reports_judge(struct ri_reports *job)
{
	struct ri_suspect *list;
	struct losses losses;
	bool whole;

	if (ri_reports_find_attempts(job) < 0 || ri_reports_count(job) < 0)
		return -1;
	losses = find_losses(job->judged);
	list = ri_arena_array(&job->arena, losses.ranks + job->count, sizeof(*list));
	whole = job->nodes.missing == 0 && job->ranks.missing == 0;
	/* the link heard what a node that left no report has said, or that it fell silent */
	if (ri_number_set_lacks(&job->nodes, job->verdict_node)) {
		job->conclusion = RI_CONCLUSION_TOLD;
	} else if (list != NULL && find_first(job, list)) {
		if (!whole && job->conclusion == RI_CONCLUSION_FIRST)
			hide_later(job);
	} else if (losses.count == 0) {
		job->conclusion = losses.stopped ? RI_CONCLUSION_STOPPED : RI_CONCLUSION_WELL;
		/* the platform may have stopped the others because of a node that left no report */
		if (!losses.well && (!losses.stopped || !ask_autopsies(job)) && !whole)
			job->conclusion = RI_CONCLUSION_SILENT;
	} else {
		job->conclusion = whole ? RI_CONCLUSION_UNKNOWN : RI_CONCLUSION_SILENT;
		if (whole && list != NULL)
			find_among_losses(job, &losses, list);
		else
			ask_autopsies(job);
	}
	return ri_reports_count_others(job);
}
