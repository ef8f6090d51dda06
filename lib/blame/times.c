/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a report doubtful: it may be of another life of its node, or its clock goes wrong. */
#include "blame/reports.h"

#include <stdlib.h>

#define MINUTE INT64_C(60000000)

static void see(int64_t *earliest, int64_t at)
{
	if (at != 0 && (*earliest == 0 || at < *earliest))
		*earliest = at;
}

/* Of which life of its node the report is, by the earliest start and loss of all others. */
static enum ri_life life_of(const struct ri_attempt *attempt, const struct ri_node_report *report)
{
	int64_t start = 0, loss = 0;	/* there is none */

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *other = attempt->reports[i];

		if (other == report)
			continue;
		see(&start, ri_time_align(other, other->began));
		see(&loss, ri_node_report_first_loss(other));
	}
	if (loss != 0 && ri_time_align(report, report->began) > loss)
		return RI_LATER_LIFE;
	return start != 0 && ri_time_align(report, report->ended) < start ? RI_EARLIER_LIFE
		: RI_THIS_LIFE;
}

static int compare_starts(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;
	int64_t one = ri_time_align(a, a->began), other = ri_time_align(b, b->began);

	return (one > other) - (one < other);
}

/* List the reports that began a minute before or after the one in the middle. */
static int find_astray(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_node_report **list =
		ri_arena_array(&job->arena, attempt->count, sizeof(*list));

	if (list == NULL)
		return -1;
	for (size_t i = 0; i < attempt->count; i++)
		list[i] = attempt->reports[i];
	qsort(list, attempt->count, sizeof(*list), compare_starts);
	job->usual_start = ri_time_align(list[attempt->count / 2], list[attempt->count / 2]->began);
	for (size_t i = 0; i < attempt->count; i++)
		if (llabs(ri_time_align(list[i], list[i]->began) - job->usual_start) > MINUTE)
			list[job->astray_count++] = list[i];
	job->astray = list;
	return 0;
}

int ri_reports_check_times(struct ri_reports *job)
{
	for (size_t i = 0; i < job->suspect_count; i++)
		job->suspects[i].life = life_of(&job->attempts[0], job->suspects[i].report);
	return find_astray(job);
}
