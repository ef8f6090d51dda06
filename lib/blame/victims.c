/* SPDX-License-Identifier: Apache-2.0 */
/* Whose ranks ended for another one's end: how many, of how many nodes. */
#include "blame/reports.h"

#include <stdlib.h>
#include <string.h>

static bool is_named(const struct ri_reports *job, const struct ri_node_report *report,
	const struct ri_report_rank *rank)
{
	for (size_t i = 0; i < job->suspect_count; i++)
		if (job->suspects[i].report == report &&
			(job->suspects[i].rank == rank || job->suspects[i].rank == NULL))
			return true;
	return false;
}

/* Did the end of another one end it? Returns false where it ended well. */
static bool count_victim(struct ri_victims *victims, const struct ri_report_rank *rank)
{
	if (rank->class == RI_CLASS_LOSS)
		victims->lost++;
	else if (rank->class == RI_CLASS_STOPPED || rank->told || rank->state == RI_END_RUNNING ||
		(rank->state == RI_END_NOT_STARTED))
		victims->stopped++;
	else if (rank->class == RI_CLASS_OWN || rank->class == RI_CLASS_UNKNOWN)
		victims->failed++;
	else
		return false;
	victims->ranks++;
	return true;
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
static size_t count_nodes(const struct ri_node_report **list, size_t count)
{
	size_t nodes = 0;

	qsort(list, count, sizeof(*list), compare_nodes);
	for (size_t i = 0; i < count; i++)
		nodes += i == 0 || !ri_node_report_is_beside(list[i - 1], list[i]);
	return nodes;
}

void ri_reports_count_victims(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_node_report **list =
		ri_arena_array(&job->arena, attempt->count, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];
		bool any = false;

		for (size_t k = 0; k < report->count; k++)
			if (!is_named(job, report, &report->ranks[k]))
				any |= count_victim(&job->victims, &report->ranks[k]);
		if (any && list != NULL)
			list[count++] = report;
	}
	job->victims.nodes = list == NULL ? 0 : count_nodes(list, count);
}
