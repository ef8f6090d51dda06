/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank is out of step, by what the watchdogs of all nodes' ranks said, or by the dumps of
 * their Flight Recorders.
 */
#include "blame/reports.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS = 32 };	/* that are compared */

/* A rank of the newest attempt, and its dump, or NULL. */
struct member {
	int64_t rank;
	const struct ri_node_report *report;
	const struct ri_reported_rank *reported;
	struct ri_flight_dump *dump;
};

struct members {
	struct member *list;
	size_t count;
	struct ri_rank_work *works;	/* as many, of which one group at a time is compared */
};

static int compare_ranks(const void *first, const void *second)
{
	const struct member *a = first, *b = second;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those that have a number, in their order. Returns 0, or -1: out of memory. */
static int gather(struct ri_reports *job, struct members *out)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		count += attempt->reports[i]->count;
	out->list = ri_arena_array(&job->arena, count, sizeof(*out->list));
	out->works = ri_arena_array(&job->arena, count, sizeof(*out->works));
	if (out->list == NULL || out->works == NULL)
		return -1;
	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->reports[i]->count; k++)
			if (attempt->reports[i]->ranks[k].rank >= 0)
				out->list[out->count++] = (struct member){
					.rank = attempt->reports[i]->ranks[k].rank,
					.report = attempt->reports[i],
					.reported = &attempt->reports[i]->ranks[k],
				};
	qsort(out->list, out->count, sizeof(*out->list), compare_ranks);
	return 0;
}

static struct member *member_of(const struct members *members, int64_t rank)
{
	const struct member wanted = { .rank = rank };

	return bsearch(&wanted, members->list, members->count, sizeof(*members->list),
		compare_ranks);
}

/* Was its last entry made while the rank ran, by the clock of the same node? */
static bool is_of_this_run(const struct member *member, const struct ri_flight_dump *dump)
{
	int64_t began = member->reported->began, ended = member->reported->ended;

	began = began != 0 ? began : member->report->began;
	ended = ended != 0 ? ended : member->report->ended;
	return dump->last >= began && dump->last <= ended + RI_REPORTS_APART_US;
}

/* Give each rank its newest dump; the others are skipped. */
static void hand_out_dumps(struct ri_reports *job, const struct members *members)
{
	for (size_t i = 0; i < job->dump_count; i++) {
		struct ri_flight_dump *dump = &job->dumps[i], *older = dump;
		struct member *member = member_of(members, dump->rank);

		if (member == NULL) {
			ri_reports_skip(job, dump->file, "no report here has its rank");
			continue;
		}
		if (dump->count == 0 || !is_of_this_run(member, dump)) {
			ri_reports_skip(job, dump->file, dump->count == 0 ? "it has no entries"
				: "its last entry was not made while its rank ran");
			continue;
		}
		if (member->dump == NULL || member->dump->last < dump->last) {
			older = member->dump;
			member->dump = dump;
		}
		if (older != NULL)
			ri_reports_skip(job, older->file, "there is a newer dump of its rank");
	}
}

/* Groups of one name that have other members are others. */
static bool is_of_group(const struct ri_work *work, const struct ri_work *group)
{
	return strcmp(work->group, group->group) == 0 && (work->members == group->members ||
		work->members == 0 || group->members == 0);
}

static struct ri_work *work_of(const struct ri_flight_dump *dump, const struct ri_work *group)
{
	for (size_t i = 0; dump != NULL && i < dump->count; i++)
		if (is_of_group(&dump->works[i], group))
			return &dump->works[i];
	return NULL;
}

/*
 * Gloo's dumps tell the last collective that a rank entered, and not whether that has ended. A rank
 * that has not come as far as another one is not taken to wait in it.
 */
static void tell_who_is_behind(const struct members *members, const struct ri_work *group)
{
	int64_t furthest = -1;

	for (size_t i = 0; i < members->count; i++) {
		const struct ri_work *work = work_of(members->list[i].dump, group);

		if (work != NULL && work->enqueued > furthest)
			furthest = work->enqueued;
	}
	for (size_t i = 0; i < members->count; i++) {
		struct ri_work *work = work_of(members->list[i].dump, group);

		if (work == NULL || members->list[i].dump->ends || work->enqueued == furthest)
			continue;
		work->op[0] = '\0';
		work->has_sequence = work->has_size = false;
	}
}

/* Does it wait for another one in some other way than in this group? Where it may, it does. */
static bool may_wait_elsewhere(const struct ri_flight_dump *dump, const struct ri_work *group)
{
	bool latest = is_of_group(&dump->works[dump->latest], group);

	if (!dump->ends)
		return !latest;
	for (size_t i = 0; i < dump->count; i++)
		if (dump->works[i].completed < dump->works[i].enqueued &&
			!is_of_group(&dump->works[i], group))
			return true;
	return dump->waits_for_one;
}

static struct ri_works compare_group(const struct members *members, const struct ri_work *group)
{
	struct ri_works works;
	bool entered = false;

	tell_who_is_behind(members, group);
	for (size_t i = 0; i < members->count; i++) {
		const struct member *member = &members->list[i];

		members->works[i] = (struct ri_rank_work){
			.rank = (uint64_t)member->rank, .work = work_of(member->dump, group),
		};
		entered |= member->dump != NULL && !member->dump->ends;
	}
	ri_works_compare(members->works, members->count, &works);
	works.entered = entered;
	if (works.odd >= 0 && may_wait_elsewhere(members->list[works.odd].dump, group))
		works.odd = -1;
	return works;
}

/* Is this the first dump that has the group? */
static bool is_first(const struct members *members, size_t index, const struct ri_work *group)
{
	for (size_t i = 0; i < index; i++)
		if (work_of(members->list[i].dump, group) != NULL)
			return false;
	return true;
}

/* The first group in which ranks are out of step: that of all ranks before the others. */
static struct ri_works compare_dumps(const struct members *members)
{
	const struct ri_work all = { .group = RI_WORK_DEFAULT };
	struct ri_works works = compare_group(members, &all);
	size_t groups = 1;

	for (size_t i = 0; i < members->count && works.step == RI_STEP_TOGETHER; i++) {
		const struct ri_flight_dump *dump = members->list[i].dump;

		for (size_t k = 0; dump != NULL && k < dump->count && groups < GROUPS &&
			works.step == RI_STEP_TOGETHER; k++) {
			const struct ri_work *group = &dump->works[k];

			if (is_of_group(group, &all) || !is_first(members, i, group))
				continue;
			works = compare_group(members, group);
			groups++;
		}
	}
	return works;
}

static struct ri_works compare_watchdogs(const struct members *members)
{
	struct ri_works works;

	for (size_t i = 0; i < members->count; i++)
		members->works[i] = (struct ri_rank_work){
			.rank = (uint64_t)members->list[i].rank,
			.work = members->list[i].reported->work,
		};
	ri_works_compare(members->works, members->count, &works);
	return works;
}

int ri_reports_compare_works(struct ri_reports *job)
{
	struct members members = { .count = 0 };
	struct ri_works dumped;

	job->works = (struct ri_works){ .odd = -1 };
	if (gather(job, &members) < 0)
		return -1;
	/* reports that both claim a rank contradict each other */
	for (size_t i = 1; i < members.count; i++)
		if (members.list[i].rank == members.list[i - 1].rank)
			return 0;
	hand_out_dumps(job, &members);
	job->works = compare_watchdogs(&members);
	if (job->works.odd >= 0)
		return 0;
	members.works = ri_arena_array(&job->arena, members.count, sizeof(*members.works));
	if (members.works == NULL)
		return -1;
	dumped = compare_dumps(&members);
	if (dumped.step != RI_STEP_TOGETHER)
		job->works = dumped;
	return 0;
}

bool ri_reports_find_out_of_step(const struct ri_reports *job, struct ri_suspect *out)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_works *works = &job->works;

	if (works->odd < 0 || works->count != job->ranks.all || job->ranks.missing > 0)
		return false;
	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->reports[i]->count; k++) {
			const struct ri_node_report *report = attempt->reports[i];
			const struct ri_reported_rank *rank = &report->ranks[k];

			if (rank->rank != (int64_t)works->ranks[works->odd].rank)
				continue;
			*out = (struct ri_suspect){
				.report = report, .rank = rank,
				.at = ri_time_align(report, rank->ended),
			};
			return true;
		}
	return false;
}

bool ri_reports_add_out_of_step(const struct ri_reports *job, struct ri_text *out)
{
	size_t told = 0;

	if (job->works.step == RI_STEP_TOGETHER || (job->conclusion != RI_CONCLUSION_HELD &&
		job->conclusion != RI_CONCLUSION_SILENT &&
		job->conclusion != RI_CONCLUSION_UNKNOWN))
		return false;
	ri_works_add(out, &job->works);
	for (size_t i = 0; i < job->works.count; i++)
		told += job->works.ranks[i].work != NULL;
	if (told < job->ranks.all)
		ri_text_addf(out, "; %zu of %zu ranks do not tell", job->ranks.all - told,
			job->ranks.all);
	return true;
}
