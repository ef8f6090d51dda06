/* SPDX-License-Identifier: Apache-2.0 */
/* One page for people: which rank, why, the victims, the nodes without a report, what differs. */
#include "blame/writer.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
	COLUMNS = 200,
	NAMED = 10,	/* of a list; the rest is counted */
	RANGES = 12,
	SUSPECTS = 8,
	REASON = 6,	/* lines of it, where several are suspected */
	SENTENCE = 512,	/* columns of what all nodes saw */
};

/* These lie in a place of the writer's. */

static const char *shown(struct ri_writer *writer, const char *value)
{
	return ri_writer_show(writer, value, COLUMNS);
}

static const char *name_of(struct ri_writer *writer, const struct ri_node_report *report)
{
	return ri_node_report_name(ri_writer_place(writer), report);
}

static const char *time_of(struct ri_writer *writer, int64_t at)
{
	return ri_time_show(ri_writer_place(writer), at);
}

/* "rank 13 of node 1 (gpu-0514)", "node 1 (gpu-0514)" */
static const char *who(struct ri_writer *writer, const struct ri_suspect *suspect)
{
	const char *name = name_of(writer, suspect->report);
	int64_t rank = ri_suspect_rank(suspect);
	char *place;

	if (rank < 0)
		return name;
	place = ri_writer_place(writer);
	snprintf(place, RI_WRITER_PLACE, "rank %lld of %s", (long long)rank, name);
	return place;
}

/* "killed by SIGKILL, at 2026-11-23T17:29:19.689Z" */
static const char *how(struct ri_writer *writer, const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	bool failed = suspect->rank != NULL || report->failure.class != RI_CLASS_NONE;
	const char *at = time_of(writer, suspect->at);
	const char *clock = report->compared ? ", by the clock of node 0" : "";
	const char *end = failed ? shown(writer, report->failure.how) : NULL;
	char *place = ri_writer_place(writer);

	if (failed)
		snprintf(place, RI_WRITER_PLACE, "%s, at %s%s", end, at, clock);
	else
		snprintf(place, RI_WRITER_PLACE, "exit status %d, at %s%s", report->exit_status, at,
			clock);
	return place;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* All suspects, and those of them that are not shown. */
static size_t count_suspects(const struct ri_reports *job)
{
	return job->suspect_count + job->more_suspects;
}

static void add_lines(struct ri_writer *writer, const char *const *lines, size_t count, size_t most)
{
	for (size_t i = 0; i < count && i < most; i++)
		ri_writer_addf(writer, "    %s\n", shown(writer, lines[i]));
}

static void add_report(struct ri_writer *writer, const struct ri_suspect *suspect)
{
	ri_writer_addf(writer, "    report: %s\n", shown(writer, suspect->report->file));
}

static void add_reason(struct ri_writer *writer, const struct ri_suspect *suspect, size_t most)
{
	const struct ri_reported_failure *failure = &suspect->report->failure;

	add_lines(writer, failure->lines, failure->line_count, most);
	if (failure->has_cause)
		ri_writer_addf(writer, "    cause: %s, retry: %s\n",
			ri_cause_word_name(failure->why.cause),
			ri_retry_name(failure->why.retry));
	add_report(writer, suspect);
}

/* ", at 2026-11-23T17:29:19.689Z: it sleeps, train.py:55 in step", and the lines about that */
static void add_deed(struct ri_writer *writer, const struct ri_suspect *suspect, size_t most)
{
	const struct ri_reported_autopsy *autopsy = &suspect->report->autopsy;

	ri_writer_addf(writer, ", at %s: it %s\n", time_of(writer, suspect->at),
		ri_writer_show(writer, autopsy->did, RI_REPORTED_DEED));
	add_lines(writer, autopsy->lines, autopsy->line_count, most);
	add_report(writer, suspect);
}

/* " held up the others, as all nodes saw at 2026-11-23T17:29:19.689Z:", and what they saw */
static void add_found(struct ri_writer *writer, const struct ri_suspect *suspect)
{
	const struct ri_reported_autopsy *autopsy = &suspect->report->autopsy;

	ri_writer_addf(writer, "%s held up the others, as all nodes saw at %s:\n",
		who(writer, suspect), time_of(writer, suspect->at));
	ri_writer_addf(writer, "    %s\n", ri_writer_show(writer, suspect->found->text, SENTENCE));
	if (suspect->seen)
		add_lines(writer, autopsy->lines, autopsy->line_count, RI_REPORTED_DEEDS);
	add_report(writer, suspect);
}

/* Whether this is the life of the node in which it failed. */
static void add_life(struct ri_writer *writer, const struct ri_suspect *suspect)
{
	if (suspect->life == RI_EARLIER_LIFE)
		ri_writer_addf(writer, "    but this report ended before any other began: its "
			"clock is slow, or it is of an attempt before\n");
	if (suspect->life == RI_LATER_LIFE)
		ri_writer_addf(writer, "    but it began after others had lost a peer: its clock "
			"is fast, or its node had failed before, and was started again\n");
}

static void add_first(const struct ri_reports *job, struct ri_writer *writer)
{
	ri_writer_addf(writer, "%s %s: %s\n", who(writer, &job->suspects[0]),
		job->conclusion == RI_CONCLUSION_REFUSED ? "refused to start" : "failed first",
		how(writer, &job->suspects[0]));
	add_reason(writer, &job->suspects[0], RI_REPORTED_LINES);
	add_life(writer, &job->suspects[0]);
}

/* Do all of several give the same first line as their reason? */
static bool is_one_reason(const struct ri_reports *job)
{
	const struct ri_reported_failure *first = &job->suspects[0].report->failure;

	for (size_t i = 0; i < job->suspect_count; i++) {
		const struct ri_reported_failure *failure = &job->suspects[i].report->failure;

		if (failure->line_count == 0 || first->line_count == 0 ||
			strcmp(failure->lines[0], first->lines[0]) != 0)
			return false;
	}
	return job->suspect_count > 2;
}

static void add_heading(const struct ri_reports *job, struct ri_writer *writer)
{
	size_t all = count_suspects(job);
	bool fit = false;

	for (size_t i = 0; i < job->suspect_count; i++)
		fit |= job->suspects[i].report->exit_status != ri_code_status(RI_CODE_CHECK_UNFIT);
	if (job->conclusion == RI_CONCLUSION_REFUSED)
		ri_writer_addf(writer, "%zu nodes %s:\n", all,
			fit ? "refused to start" : "were not fit");
	else
		ri_writer_addf(writer,
			"one of %zu failed first, and the clocks do not tell which:\n", all);
}

static void add_tie(const struct ri_reports *job, struct ri_writer *writer)
{
	bool same = is_one_reason(job);

	add_heading(job, writer);
	if (same)
		add_reason(writer, &job->suspects[0], REASON);
	for (size_t i = 0; i < job->suspect_count && i < SUSPECTS; i++) {
		ri_writer_addf(writer, "  %s: %s\n", who(writer, &job->suspects[i]),
			how(writer, &job->suspects[i]));
		if (!same)
			add_reason(writer, &job->suspects[i], REASON);
		add_life(writer, &job->suspects[i]);
	}
	if (job->suspect_count > SUSPECTS)
		ri_writer_addf(writer, "  and %zu more%s\n", count_suspects(job) - SUSPECTS,
			same && job->more_suspects == 0 ? ", with the same first line" : "");
}

static void add_list(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 0; i < job->suspect_count && i < SUSPECTS; i++)
		ri_writer_addf(writer, "%s%s", i > 0 ? " or " : "",
			who(writer, &job->suspects[i]));
	if (job->suspect_count > SUSPECTS)
		ri_writer_addf(writer, " or %zu more", count_suspects(job) - SUSPECTS);
}

/* "5, 17-18" */
static void add_missing(struct ri_writer *writer, const struct ri_number_set *numbers)
{
	size_t ranges = 0, left = numbers->missing, first, end = 0;

	while (ri_number_set_next(numbers, &first, &end)) {
		if (ranges == RANGES) {
			ri_writer_addf(writer, " and %zu more", left);
			return;
		}
		ri_writer_addf(writer, "%s%zu", ranges++ == 0 ? "" : ", ", first);
		if (end - first > 1)
			ri_writer_addf(writer, "-%zu", end - 1);
		left -= end - first;
	}
}

static void add_silent(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_number_set *numbers = job->nodes.missing > 0 ? &job->nodes : &job->ranks;
	bool one = numbers->missing == 1;

	if (one)
		ri_writer_addf(writer, "one ");
	else
		ri_writer_addf(writer, "some of %zu ", numbers->missing);
	/* one of the files that were skipped may have been its report */
	ri_writer_addf(writer, "%s%s left no %sreport and may have gone first: ",
		numbers == &job->nodes ? "node" : "rank", plural(numbers->missing),
		job->skip_count > 0 ? "readable " : "");
	add_missing(writer, numbers);
	ri_writer_addf(writer, "\n");
	ri_writer_addf(writer, "    the other ranks %s; look whether %s up, and what the platform "
		"says of it\n", job->victims.lost > 0 ? "lost a peer" : "were stopped",
		one ? "that machine is" : "those machines are");
	if (job->later.report == NULL)
		return;
	ri_writer_addf(writer, "later %s failed: %s\n", who(writer, &job->later),
		how(writer, &job->later));
	add_reason(writer, &job->later, REASON);
}

static void add_told(const struct ri_reports *job, struct ri_writer *writer)
{
	ri_writer_addf(writer, "node %lld failed first, as the link said; it left no report:\n",
		(long long)job->verdict_node);
	ri_writer_addf(writer, "    %s\n", shown(writer, job->verdict->verdict));
}

/* Where to look further, where no end of its own is shown. */
static void add_reports(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 0; i < job->suspect_count && i < SUSPECTS; i++)
		add_report(writer, &job->suspects[i]);
}

/* Did the one that is named call another collective than the others? */
static bool is_apart(const struct ri_reports *job)
{
	struct ri_suspect odd;

	return job->works.step == RI_STEP_APART && ri_reports_find_out_of_step(job, &odd) &&
		odd.rank == job->suspects[0].rank;
}

/* By the losses, or by what its node's autopsy saw; of several nodes' there may be more. */
static void add_held(const struct ri_reports *job, struct ri_writer *writer)
{
	if (job->suspect_count > 1) {
		ri_writer_addf(writer, "one of %zu held up the others, and what their nodes saw "
			"does not tell which:\n", count_suspects(job));
		for (size_t i = 0; i < job->suspect_count && i < SUSPECTS; i++) {
			ri_writer_addf(writer, "  %s", who(writer, &job->suspects[i]));
			add_deed(writer, &job->suspects[i], REASON);
		}
		if (job->suspect_count > SUSPECTS)
			ri_writer_addf(writer, "  and %zu more\n", count_suspects(job) - SUSPECTS);
		return;
	}
	if (job->suspects[0].found != NULL) {
		add_found(writer, &job->suspects[0]);
		return;
	}
	if (job->suspects[0].seen) {
		ri_writer_addf(writer, "%s held up the others", who(writer, &job->suspects[0]));
		add_deed(writer, &job->suspects[0], RI_REPORTED_DEEDS);
		return;
	}
	if (is_apart(job))
		ri_writer_addf(writer, "%s called another collective than all others\n",
			who(writer, &job->suspects[0]));
	else
		ri_writer_addf(writer, "%s did not come when all others waited for it: look at "
			"what it did last\n", who(writer, &job->suspects[0]));
	add_report(writer, &job->suspects[0]);
}

/* Of nodes whose ranks all ended well, and which nevertheless did not. */
static void add_statuses(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		if (report->exit_status == 0 || count++ >= SUSPECTS)
			continue;
		ri_writer_addf(writer, "    but of %s the exit status is %d\n",
			name_of(writer, report), report->exit_status);
	}
	if (count > SUSPECTS)
		ri_writer_addf(writer, "    and so of %zu more\n", count - SUSPECTS);
}

static void add_conclusion(const struct ri_reports *job, struct ri_writer *writer)
{
	switch (job->conclusion) {
	case RI_CONCLUSION_WELL:
		ri_writer_addf(writer, "no rank failed\n");
		add_statuses(job, writer);
		break;
	case RI_CONCLUSION_STOPPED:
		ri_writer_addf(writer, "no rank failed of its own: the job was stopped from "
			"outside\n");
		break;
	case RI_CONCLUSION_FIRST:
	case RI_CONCLUSION_REFUSED:
		if (job->suspect_count == 1)
			add_first(job, writer);
		else
			add_tie(job, writer);
		break;
	case RI_CONCLUSION_EVICTED:
		add_list(job, writer);
		ri_writer_addf(writer, " was stopped from outside, at %s, before the others lost "
			"it: ask the platform why\n", time_of(writer, job->suspects[0].at));
		add_reports(job, writer);
		break;
	case RI_CONCLUSION_LEFT:
		add_list(job, writer);
		ri_writer_addf(writer, " had ended with 0 before the others lost it: compare how "
			"many steps each rank has\n");
		add_reports(job, writer);
		break;
	case RI_CONCLUSION_HELD:
		add_held(job, writer);
		break;
	case RI_CONCLUSION_SILENT:
		add_silent(job, writer);
		break;
	case RI_CONCLUSION_TOLD:
		add_told(job, writer);
		break;
	case RI_CONCLUSION_UNKNOWN:
		ri_writer_addf(writer, "it cannot be told which rank failed first: all that failed "
			"lost a peer or waited for one\n");
		break;
	}
}

/* What NCCL's watchdogs say of it, where they do not say the same. */
static void add_out_of_step(const struct ri_reports *job, struct ri_writer *writer)
{
	struct ri_text text;

	ri_text_init(&text, ri_writer_place(writer), RI_WRITER_PLACE);
	if (ri_reports_add_out_of_step(job, &text))
		ri_writer_addf(writer, "collectives: %s\n", text.bytes);
}

/* The job's id behind these words, and the attempt, as far as the platform tells them. */
static void add_id(struct ri_writer *writer, const char *words, const struct ri_node_report *one)
{
	if (one->job != NULL)
		ri_writer_addf(writer, "%s%s", words, shown(writer, one->job));
	if (one->attempt >= 0)
		ri_writer_addf(writer, ", attempt %lld", (long long)one->attempt);
}

static void add_job(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_attempt *newest = &job->attempts[0];

	ri_writer_addf(writer, "job");
	add_id(writer, " ", newest->reports[0]);
	ri_writer_addf(writer, ": %zu report%s", newest->count, plural(newest->count));
	if (job->nodes.all > 0)
		ri_writer_addf(writer, " of %zu node%s", job->nodes.all, plural(job->nodes.all));
	if (job->ranks.all > 0)
		ri_writer_addf(writer, ", %zu rank%s", job->ranks.all, plural(job->ranks.all));
	ri_writer_addf(writer, ", %s to %s\n", time_of(writer, newest->began),
		time_of(writer, newest->ended));
}

static void add_victims(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_victims *victims = &job->victims;
	const char *before = ": ";

	if (victims->ranks == 0)
		return;
	ri_writer_addf(writer, "%s%zu rank%s on %zu node%s",
		job->conclusion == RI_CONCLUSION_STOPPED ? "that is " : "victims: ",
		victims->ranks, plural(victims->ranks), victims->nodes, plural(victims->nodes));
	for (int kind = 0; kind < 3; kind++) {
		const size_t counts[] = { victims->lost, victims->stopped, victims->failed };
		static const char *const words[] = {
			"lost a peer or waited in vain", "told to stop", "failed later",
		};

		if (counts[kind] == 0)
			continue;
		ri_writer_addf(writer, "%s%zu %s", before, counts[kind], words[kind]);
		before = ", ";
	}
	ri_writer_addf(writer, "\n");
}

static void add_unreported(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_number_set *numbers = job->nodes.missing > 0 ? &job->nodes : &job->ranks;

	if (numbers->missing == 0)
		return;
	ri_writer_addf(writer, "no %sreport from %zu of %zu %ss: ",
		job->skip_count > 0 ? "readable " : "", numbers->missing, numbers->all,
		numbers == &job->nodes ? "node" : "rank");
	add_missing(writer, numbers);
	ri_writer_addf(writer, "\n");
}

/* Of a missing node there may be a report that a wrong clock has put among older ones. */
static void add_older(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_node_report *newest = job->attempts[0].reports[0], *one;
	size_t count = 0;

	if (newest->attempt >= 0)
		return;
	for (size_t i = 1; i < job->attempt_count && job->nodes.missing > 0; i++)
		for (size_t k = 0; k < job->attempts[i].count; k++) {
			one = job->attempts[i].reports[k];
			if (job->attempts[i].job_ended != job->attempts[0].job_ended ||
				one->node < 0 || one->nodes != newest->nodes ||
				!ri_number_set_lacks(&job->nodes, (size_t)one->node) ||
				count++ >= NAMED)
				continue;
			ri_writer_addf(writer, "    but by its clock there is an older report of "
				"%s: %s\n", name_of(writer, one), shown(writer, one->file));
		}
}

static void add_verdicts(const struct ri_reports *job, struct ri_writer *writer)
{
	if (job->verdicts_differ)
		ri_writer_addf(writer, "the link's verdicts in these reports differ, so they were "
			"not used\n");
}

/* "node 2 (gpu-0002) began 360 s after most others: ..." */
static void add_astray(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 0; i < job->astray_count && i < NAMED; i++) {
		const struct ri_node_report *one = job->astray[i];
		int64_t by = (ri_time_align(one, one->began) - job->usual_start) / 1000000;

		ri_writer_addf(writer, "%s began %lld s %s %s: its clock or its start is that "
			"far off\n", name_of(writer, one), (long long)(by < 0 ? -by : by),
			by < 0 ? "before" : "after",
			job->attempts[0].count == 2 ? "the other one" : "most others");
	}
	if (job->astray_count > NAMED)
		ri_writer_addf(writer, "and so did %zu more\n", job->astray_count - NAMED);
}

static const char *value_of(struct ri_writer *writer, const char *value)
{
	enum { VALUE = 80 };

	return value == NULL ? "not there" : value[0] == '\0' ? "empty"
		: ri_writer_show(writer, value, VALUE);
}

static void add_oddities(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 0; i < job->odd_fact_count && i < NAMED; i++) {
		const struct ri_odd_fact *odd = &job->odd_facts[i];

		ri_writer_addf(writer, "differs: %s is %s on ", shown(writer, odd->fact),
			value_of(writer, odd->value));
		for (size_t k = 0; k < odd->count && k < NAMED; k++)
			ri_writer_addf(writer, "%s%s", k > 0 ? ", " : "",
				name_of(writer, odd->who[k]));
		if (odd->count > NAMED)
			ri_writer_addf(writer, " and %zu more", odd->count - NAMED);
		ri_writer_addf(writer, ", %s on %zu others\n", value_of(writer, odd->usual),
			odd->usual_count);
	}
	if (job->odd_fact_count > NAMED)
		ri_writer_addf(writer, "differs: %zu more; --blame=json has all\n",
			job->odd_fact_count - NAMED);
}

static void add_attempts(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 1; i < job->attempt_count && i <= NAMED; i++) {
		const struct ri_attempt *attempt = &job->attempts[i];
		const struct ri_node_report *one = attempt->reports[0];

		ri_writer_addf(writer, "not judged: %zu report%s of another attempt or job",
			attempt->count, plural(attempt->count));
		add_id(writer, ", ", one);
		ri_writer_addf(writer, ", ended %s: %s%s\n", time_of(writer, attempt->ended),
			shown(writer, one->file), attempt->count > 1 ? " and others" : "");
	}
	if (job->attempt_count > NAMED + 1)
		ri_writer_addf(writer, "not judged: %zu more attempts; --blame=json has all\n",
			job->attempt_count - NAMED - 1);
}

static void add_skips(const struct ri_reports *job, struct ri_writer *writer)
{
	for (size_t i = 0; i < job->skip_count && i < NAMED; i++)
		ri_writer_addf(writer, "skipped: %s: %s\n", shown(writer, job->skips[i].file),
			shown(writer, job->skips[i].why));
	if (job->skip_count > NAMED)
		ri_writer_addf(writer, "skipped: %zu more files; --blame=json has all\n",
			job->skip_count - NAMED);
}

void ri_reports_write_page(const struct ri_reports *job, struct ri_writer *writer)
{
	add_conclusion(job, writer);
	add_out_of_step(job, writer);
	add_victims(job, writer);
	if (job->conclusion != RI_CONCLUSION_SILENT)
		add_unreported(job, writer);
	add_older(job, writer);
	add_verdicts(job, writer);
	add_astray(job, writer);
	add_oddities(job, writer);
	add_job(job, writer);
	add_attempts(job, writer);
	add_skips(job, writer);
}
