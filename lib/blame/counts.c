/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted beside the suspects: the nodes and the ranks that left no report, the ranks that
 * ended for another one's end, the reports that are of another life of their node, or whose clock
 * goes wrong.
 */
#include "blame/reports.h"

#include <stdlib.h>
#include <string.h>

bool ri_number_set_lacks(const struct ri_number_set *numbers, int64_t number)
{
	return number >= 0 && (size_t)number < numbers->all && !numbers->seen[number];
}

bool ri_number_set_next(const struct ri_number_set *numbers, size_t *first, size_t *end)
{
	for (*first = *end; *first < numbers->all && numbers->seen[*first]; (*first)++)
		;
	for (*end = *first; *end < numbers->all && !numbers->seen[*end]; (*end)++)
		;
	return *end > *first;
}

static int begin_numbers(struct ri_number_set *numbers, int64_t all, struct ri_arena *arena)
{
	numbers->all = numbers->missing = all < 0 ? 0 : (size_t)all;
	numbers->seen = ri_arena_alloc(arena, numbers->all + 1);
	return numbers->seen == NULL ? -1 : 0;
}

static void see(struct ri_number_set *numbers, int64_t number)
{
	if (ri_number_set_lacks(numbers, number)) {
		numbers->seen[number] = true;
		numbers->missing--;
	}
}

int ri_reports_count(struct ri_reports *job)
{
	const struct ri_attempt *newest = &job->attempts[0];

	if (begin_numbers(&job->nodes, newest->reports[0]->nodes, &job->arena) < 0 ||
		begin_numbers(&job->ranks, newest->reports[0]->world, &job->arena) < 0)
		return -1;
	for (size_t i = 0; i < newest->count; i++) {
		const struct ri_node_report *report = newest->reports[i];

		see(&job->nodes, report->node);
		for (size_t rank = 0; rank < report->count; rank++)
			see(&job->ranks, report->ranks[rank].rank);
		if (report->verdict == NULL || report->verdict_node < 0)
			continue;
		if (job->verdict == NULL)
			job->verdict = report;
		job->verdicts_differ |= report->verdict_node != job->verdict->verdict_node ||
			strcmp(report->verdict, job->verdict->verdict) != 0;
	}
	/* where no report tells its number none is called missing: the numbers are not known */
	if (job->nodes.missing == job->nodes.all)
		job->nodes.missing = job->nodes.all = 0;
	if (job->ranks.missing == job->ranks.all)
		job->ranks.missing = job->ranks.all = 0;
	if (job->verdict != NULL && !job->verdicts_differ)
		job->verdict_node = job->verdict->verdict_node;
	return 0;
}

/* Where the end of another one ended it, and it is no suspect. */
static void count_victim(struct ri_reports *job, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	struct ri_victims *victims = &job->victims;

	for (size_t i = 0; i < job->suspect_count; i++)
		if (job->suspects[i].report == report &&
			(job->suspects[i].rank == rank || job->suspects[i].rank == NULL))
			return;
	if (rank->class == RI_CLASS_LOSS)
		victims->lost++;
	else if (rank->class == RI_CLASS_STOPPED || rank->told || rank->state == RI_END_RUNNING ||
		rank->state == RI_END_NOT_STARTED)
		victims->stopped++;
	else if (rank->class == RI_CLASS_OWN || rank->class == RI_CLASS_UNKNOWN)
		victims->failed++;
	victims->ranks = victims->lost + victims->stopped + victims->failed;
}

static int compare_nodes(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->node >= 0 || a->host == NULL || b->host == NULL)
		return (a->host != NULL) - (b->host != NULL);
	return strcmp(a->host, b->host);
}

/* Reports of several ranks of one node are one node. */
static void count_victims(struct ri_reports *job, const struct ri_node_report **list)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];
		size_t before = job->victims.ranks;

		for (size_t k = 0; k < report->count; k++)
			count_victim(job, report, &report->ranks[k]);
		if (job->victims.ranks > before)
			list[count++] = report;
	}
	qsort(list, count, sizeof(*list), compare_nodes);
	for (size_t i = 0; i < count; i++)
		job->victims.nodes += i == 0 || !ri_node_report_is_beside(list[i - 1], list[i]);
}

/* Of which life of its node the report is, by the earliest start and loss of all others. */
static enum ri_life life_of(const struct ri_attempt *attempt, const struct ri_node_report *report)
{
	int64_t start = 0, loss = 0;	/* there is none */

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *other = attempt->reports[i];

		if (other == report)
			continue;
		if (start == 0 || other->began < start)
			start = other->began;
		if (other->first_loss != 0 && (loss == 0 || other->first_loss < loss))
			loss = other->first_loss;
	}
	if (loss != 0 && report->began > loss)
		return RI_LATER_LIFE;
	return start != 0 && report->ended < start ? RI_EARLIER_LIFE : RI_THIS_LIFE;
}

static int compare_starts(const void *first, const void *second)
{
	const struct ri_node_report *a = *(const struct ri_node_report *const *)first;
	const struct ri_node_report *b = *(const struct ri_node_report *const *)second;

	return (a->began > b->began) - (a->began < b->began);
}

int ri_reports_count_others(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_node_report **list =
		ri_arena_array(&job->arena, attempt->count, sizeof(*list));

	if (list == NULL)
		return -1;
	count_victims(job, list);
	for (size_t i = 0; i < job->suspect_count; i++)
		job->suspects[i].life = life_of(attempt, job->suspects[i].report);
	/* those that began a minute before or after the one in the middle go astray */
	memcpy(list, attempt->reports, attempt->count * sizeof(*list));
	qsort(list, attempt->count, sizeof(*list), compare_starts);
	job->usual_start = list[attempt->count / 2]->began;
	job->astray = list;
	for (size_t i = 0; i < attempt->count; i++)
		if (llabs(list[i]->began - job->usual_start) > RI_REPORTS_MINUTE_US)
			list[job->astray_count++] = list[i];
	return 0;
}
