/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the autopsies of the nodes suspect, where they looked near the end. */
#include "blame/reports.h"

/* Did its autopsy see a rank near the end? */
static bool is_seen(const struct ri_node_report *report)
{
	const struct ri_reported_autopsy *autopsy = &report->autopsy;

	return autopsy->did != NULL && autopsy->at <= report->ended + RI_REPORTS_APART_US &&
		autopsy->at >= report->ended - RI_REPORTS_LOOK_US;
}

int64_t ri_suspect_rank(const struct ri_suspect *suspect)
{
	if (suspect->rank != NULL)
		return suspect->rank->rank;
	return suspect->seen ? suspect->report->autopsy.rank : -1;
}

static struct ri_suspect seen_by(const struct ri_node_report *report)
{
	struct ri_suspect suspect = {
		.report = report, .seen = true,
		.at = ri_time_align(report, report->autopsy.at),
	};

	/* below torchrun it is none of rankinit's own */
	for (size_t i = 0; i < report->count && report->autopsy.rank >= 0; i++)
		if (report->ranks[i].rank == report->autopsy.rank)
			suspect.rank = &report->ranks[i];
	return suspect;
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

bool ri_reports_ask_autopsies(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];
		struct ri_suspect suspect;

		if (!is_seen(report) || !report->autopsy.suspects ||
			is_suspected(job, report->autopsy.rank))
			continue;
		suspect = seen_by(report);
		ri_reports_suspect(job, &suspect);
	}
	if (job->suspect_count > 0)
		job->conclusion = RI_CONCLUSION_HELD;
	return job->suspect_count > 0;
}
