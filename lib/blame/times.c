/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a report doubtful: it may be of another life of its node, or its clock goes wrong. */
#include "blame/reports.h"

#include <stdlib.h>

#define MINUTE INT64_C(60000000)

/* The earliest start and loss of all, and of all but the report that has it. */
struct earliest {
	const struct ri_node_report *who;
	int64_t at, next;	/* 0: there is none */
};

static void see(struct earliest *earliest, const struct ri_node_report *report, int64_t at)
{
	if (at == 0)
		return;
	if (earliest->at == 0 || at < earliest->at) {
		earliest->next = earliest->at;
		earliest->at = at;
		earliest->who = report;
	} else if (earliest->next == 0 || at < earliest->next) {
		earliest->next = at;
	}
}

static int64_t of_others(const struct earliest *earliest, const struct ri_node_report *report)
{
	return earliest->who == report ? earliest->next : earliest->at;
}

static void find_lives(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	struct earliest starts = { NULL, 0, 0 }, losses = { NULL, 0, 0 };

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		see(&starts, report, ri_time_align(report, report->began));
		see(&losses, report, ri_node_report_first_loss(report));
	}
	for (size_t i = 0; i < job->suspect_count; i++) {
		struct ri_suspect *suspect = &job->suspects[i];
		const struct ri_node_report *report = suspect->report;
		int64_t start = of_others(&starts, report), loss = of_others(&losses, report);

		if (loss != 0 && ri_time_align(report, report->began) > loss)
			suspect->life = RI_LATER_LIFE;
		else if (start != 0 && ri_time_align(report, report->ended) < start)
			suspect->life = RI_EARLIER_LIFE;
	}
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
	find_lives(job);
	return find_astray(job);
}
