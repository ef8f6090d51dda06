/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the autopsies of the nodes suspect, where they looked near the end. */
#include "blame/reports.h"

static bool is_near_end(const struct ri_node_report *report, int64_t at)
{
	return at <= report->ended + RI_REPORTS_APART_US &&
		at >= report->ended - RI_REPORTS_LOOK_US;
}

/* Did its autopsy see a rank near the end? */
static bool is_seen(const struct ri_node_report *report)
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

void ri_suspect_add_autopsy(struct ri_suspect *suspect)
{
	if (is_seen(suspect->report) && suspect->rank->rank >= 0 &&
		suspect->rank->rank == suspect->report->autopsy.rank)
		*suspect = seen_by(suspect->report);
}

static bool is_suspected(const struct ri_reports *job, int64_t rank)
{
	for (size_t i = 0; i < job->suspect_count && rank >= 0; i++)
		if (ri_suspect_rank(&job->suspects[i]) == rank)
			return true;
	return false;
}

static bool tells_found(const struct ri_node_report *report)
{
	return report->found.text != NULL && is_near_end(report, report->found.at);
}

/* Whom all nodes saw together, if its node left a report and no other node tells another one. */
static bool find_found(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_node_report *last = NULL, *report = NULL;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *other = attempt->reports[i];

		if (tells_found(other) && (last == NULL || other->found.at > last->found.at))
			last = other;
	}
	for (size_t i = 0; i < attempt->count && last != NULL; i++) {
		const struct ri_node_report *other = attempt->reports[i];

		if (other->node == last->found.node)
			report = other;
		if (tells_found(other) && other->found.rank != last->found.rank)
			return false;
	}
	if (report == NULL)
		return false;
	ri_reports_suspect(job, (struct ri_suspect){
		.report = report, .found = &last->found, .at = last->found.at,
		.rank = ri_node_report_rank(report, last->found.rank),
		.seen = is_seen(report) && report->autopsy.rank == last->found.rank,
	});
	return true;
}

static void find_seen(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		if (is_seen(report) && report->autopsy.suspects &&
			!is_suspected(job, report->autopsy.rank))
			ri_reports_suspect(job, seen_by(report));
	}
}

bool ri_reports_ask_autopsies(struct ri_reports *job)
{
	if (!find_found(job))
		find_seen(job);
	if (job->suspect_count > 0)
		job->conclusion = RI_CONCLUSION_HELD;
	return job->suspect_count > 0;
}
