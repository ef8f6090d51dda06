/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank is out of step, by what the watchdogs of all nodes' ranks said. */
#include "blame/reports.h"

#include <stdlib.h>

static int compare_ranks(const void *first, const void *second)
{
	const struct ri_rank_work *a = first, *b = second;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those that have a number, in their order. Returns how many. */
static size_t gather(const struct ri_attempt *attempt, struct ri_rank_work *out)
{
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++)
		for (size_t k = 0; k < attempt->reports[i]->count; k++) {
			const struct ri_reported_rank *rank = &attempt->reports[i]->ranks[k];

			if (rank->rank >= 0)
				out[count++] = (struct ri_rank_work){
					.rank = (uint64_t)rank->rank, .work = rank->work,
				};
		}
	qsort(out, count, sizeof(*out), compare_ranks);
	return count;
}

int ri_reports_compare_works(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	struct ri_rank_work *ranks;
	size_t count = 0;

	job->works = (struct ri_works){ .odd = -1 };
	for (size_t i = 0; i < attempt->count; i++)
		count += attempt->reports[i]->count;
	ranks = ri_arena_array(&job->arena, count, sizeof(*ranks));
	if (ranks == NULL)
		return -1;
	count = gather(attempt, ranks);
	/* reports that both claim a rank contradict each other */
	for (size_t i = 1; i < count; i++)
		if (ranks[i].rank == ranks[i - 1].rank)
			return 0;
	ri_works_compare(ranks, count, &job->works);
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
