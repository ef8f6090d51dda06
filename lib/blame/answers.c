/* SPDX-License-Identifier: Apache-2.0 */
/* What is told: a page for people, and "rankinit-blame-1", docs/blame.schema.json, for programs. */
#include "blame/reports.h"

#include <string.h>

#include "base/error.h"
#include "model/json.h"
#include "report/culprit.h"

enum {
	COLUMNS = 200,
	HOST = 64,	/* columns of a node's name */
	NAMED = 10,	/* of a list; the rest is counted */
	RANGES = 12,
	SUSPECTS = 8,
	REASON = 6,	/* lines of it, where several are suspected */
	SENTENCE = 512,	/* columns of what all nodes saw; twice as many bytes */
	TEXTS = 8,	/* that one format may take */
};

/* A text for a format. Its room is taken again by the TEXTS-th one after it. */
static struct ri_text *take_text(void)
{
	static struct {
		struct ri_text text;
		char room[2 * SENTENCE + 8];
	} texts[TEXTS];
	static size_t next;
	struct ri_text *text = &texts[next].text;

	*text = ri_text_of(texts[next].room, sizeof(texts[next].room));
	next = (next + 1) % TEXTS;
	return text;
}

/* A foreign value: it can neither begin a line nor reach the terminal as a command. */
static const char *shown(const char *value, size_t columns)
{
	struct ri_text *text = take_text();

	ri_text_add_shown(text, value, columns);
	return text->bytes;
}

/* "2026-11-23T17:29:19.689Z" */
static const char *moment(int64_t at)
{
	struct ri_text *text = take_text();

	if (at <= 0)
		return "an unknown time";
	ri_time_add(text, ri_time_of(at));
	return text->bytes;
}

/* "node 3 (gpu-0514)", "gpu-0514", or the name of the file */
static const char *node_of(const struct ri_node_report *report)
{
	struct ri_text *text = take_text();

	if (report->node < 0)
		return shown(report->host != NULL ? report->host : report->file, HOST);
	ri_text_addf(text, "node %lld", (long long)report->node);
	if (report->host != NULL)
		ri_text_addf(text, " (%s)", shown(report->host, HOST));
	return text->bytes;
}

/* "rank 13 of node 1 (gpu-0514)", "node 1 (gpu-0514)" */
static const char *who(const struct ri_suspect *suspect)
{
	struct ri_text *text = take_text();
	int64_t rank = ri_suspect_rank(suspect);

	if (rank >= 0)
		ri_text_addf(text, "rank %lld of ", (long long)rank);
	ri_text_add(text, node_of(suspect->report));
	return text->bytes;
}

/* "killed by SIGKILL, at 2026-11-23T17:29:19.689Z" */
static const char *how(const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	struct ri_text *text = take_text();

	if (suspect->rank != NULL || report->failure.class != RI_CLASS_NONE)
		ri_text_add_shown(text, report->failure.how, COLUMNS);
	else
		ri_text_addf(text, "exit status %d", report->exit_status);
	ri_text_addf(text, ", at %s%s", moment(suspect->at),
		report->compared ? ", by the clock of node 0" : "");
	return text->bytes;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void add_lines(struct ri_text *out, const struct ri_reported_lines *lines, size_t most)
{
	for (size_t i = 0; i < lines->count && i < most; i++)
		ri_text_addf(out, "    %s\n", shown(lines->at[i], COLUMNS));
}

static void add_report(struct ri_text *out, const struct ri_suspect *suspect)
{
	ri_text_addf(out, "    report: %s\n", shown(suspect->report->file, COLUMNS));
}

static void add_reason(struct ri_text *out, const struct ri_suspect *suspect, size_t most)
{
	const struct ri_reported_failure *failure = &suspect->report->failure;

	add_lines(out, &failure->lines, most);
	if (failure->has_cause)
		ri_text_addf(out, "    cause: %s, retry: %s\n",
			ri_cause_word_name(failure->why.cause),
			ri_retry_words[failure->why.retry]);
	add_report(out, suspect);
}

/* ", at 2026-11-23T17:29:19.689Z: it sleeps, train.py:55 in step", and the lines about that */
static void add_deed(struct ri_text *out, const struct ri_suspect *suspect, size_t most)
{
	const struct ri_reported_autopsy *autopsy = &suspect->report->autopsy;

	ri_text_addf(out, ", at %s: it %s\n", moment(suspect->at),
		shown(autopsy->did, RI_REPORTED_DEED));
	add_lines(out, &autopsy->lines, most);
	add_report(out, suspect);
}

/* Whether this is the life of the node in which it failed: for programs, and for people. */
static const struct {
	const char *name, *doubt;
} lives[] = {
	[RI_THIS_LIFE] = { NULL, "" },
	[RI_EARLIER_LIFE] = { "earlier", "    but this report ended before any other began: its "
		"clock is slow, or it is of an attempt before\n" },
	[RI_LATER_LIFE] = { "later", "    but it began after others had lost a peer: its clock is "
		"fast, or its node had failed before, and was started again\n" },
};

/* The suspects that a tie lists, of all that there are. */
static size_t count_shown(const struct ri_reports *job)
{
	return job->suspect_count < SUSPECTS ? job->suspect_count : SUSPECTS;
}

static size_t count_all(const struct ri_reports *job)
{
	return job->suspect_count + job->more_suspects;
}

/* Do all of several give the same first line as their reason? */
static bool is_one_reason(const struct ri_reports *job)
{
	const struct ri_reported_lines *first = &job->suspects[0].report->failure.lines;

	for (size_t i = 0; i < job->suspect_count; i++) {
		const struct ri_reported_lines *lines = &job->suspects[i].report->failure.lines;

		if (lines->count == 0 || first->count == 0 ||
			strcmp(lines->at[0], first->at[0]) != 0)
			return false;
	}
	return job->suspect_count > 2;
}

/* Several, of which one failed first or held up the others, or which all refused to start. */
static void add_tie(struct ri_text *out, const struct ri_reports *job)
{
	bool held = job->conclusion == RI_CONCLUSION_HELD, same = !held && is_one_reason(job);
	bool fit = false;

	for (size_t i = 0; i < job->suspect_count; i++)
		fit |= job->suspects[i].report->exit_status != ri_code_status(RI_CODE_CHECK_UNFIT);
	if (job->conclusion == RI_CONCLUSION_REFUSED)
		ri_text_addf(out, "%zu nodes %s:\n", count_all(job),
			fit ? "refused to start" : "were not fit");
	else
		ri_text_addf(out, held ? "one of %zu held up the others, and what their nodes saw "
			"does not tell which:\n" : "one of %zu failed first, and the clocks do not "
			"tell which:\n", count_all(job));
	if (same)
		add_reason(out, &job->suspects[0], REASON);
	for (size_t i = 0; i < count_shown(job); i++) {
		const struct ri_suspect *suspect = &job->suspects[i];

		ri_text_addf(out, "  %s", who(suspect));
		if (held) {
			add_deed(out, suspect, REASON);
			continue;
		}
		ri_text_addf(out, ": %s\n", how(suspect));
		if (!same)
			add_reason(out, suspect, REASON);
		ri_text_add(out, lives[suspect->life].doubt);
	}
	if (job->suspect_count > SUSPECTS)
		ri_text_addf(out, "  and %zu more%s\n", count_all(job) - SUSPECTS,
			same && job->more_suspects == 0 ? ", with the same first line" : "");
}

static void add_first(struct ri_text *out, const struct ri_reports *job)
{
	const struct ri_suspect *first = &job->suspects[0];

	ri_text_addf(out, "%s %s: %s\n", who(first),
		job->conclusion == RI_CONCLUSION_REFUSED ? "refused to start" : "failed first",
		how(first));
	add_reason(out, first, RI_REPORTED_LINES);
	ri_text_add(out, lives[first->life].doubt);
}

/* By the losses, or by what autopsies saw. */
static void add_held(struct ri_text *out, const struct ri_reports *job)
{
	const struct ri_suspect *one = &job->suspects[0];

	if (one->found != NULL) {
		ri_text_addf(out, "%s held up the others, as all nodes saw at %s:\n    %s\n",
			who(one), moment(one->at), shown(one->found->text, SENTENCE));
		if (one->seen)
			add_lines(out, &one->report->autopsy.lines, RI_REPORTED_DEEDS);
		add_report(out, one);
	} else if (one->seen) {
		ri_text_addf(out, "%s held up the others", who(one));
		add_deed(out, one, RI_REPORTED_DEEDS);
	} else {
		ri_text_addf(out, "%s did not come when all others waited for it: look at what it "
			"did last\n", who(one));
		add_report(out, one);
	}
}

/* "rank 3 of node 0 (gpu-0000) or rank 5 of node 1 (gpu-0001)", what became of it, its reports */
static void add_gone(struct ri_text *out, const struct ri_reports *job)
{
	for (size_t i = 0; i < count_shown(job); i++)
		ri_text_addf(out, "%s%s", i > 0 ? " or " : "", who(&job->suspects[i]));
	if (job->suspect_count > SUSPECTS)
		ri_text_addf(out, " or %zu more", count_all(job) - SUSPECTS);
	if (job->conclusion == RI_CONCLUSION_LEFT)
		ri_text_add(out, " had ended with 0 before the others lost it: compare how many "
			"steps each rank has\n");
	else
		ri_text_addf(out, " was stopped from outside, at %s, before the others lost it: "
			"ask the platform why\n", moment(job->suspects[0].at));
	for (size_t i = 0; i < count_shown(job); i++)
		add_report(out, &job->suspects[i]);
}

/* "5, 17-18" */
static void add_missing(struct ri_text *out, const struct ri_number_set *numbers)
{
	size_t ranges = 0, left = numbers->missing, first, end = 0;

	while (ri_number_set_next(numbers, &first, &end)) {
		if (ranges == RANGES) {
			ri_text_addf(out, " and %zu more", left);
			break;
		}
		ri_text_addf(out, "%s%zu", ranges++ == 0 ? "" : ", ", first);
		if (end - first > 1)
			ri_text_addf(out, "-%zu", end - 1);
		left -= end - first;
	}
	ri_text_add(out, "\n");
}

/* Nodes where one is missing, else ranks: who left no report, by the conclusion or beside it. */
static void add_unreported(struct ri_text *out, const struct ri_reports *job)
{
	const char *name = job->nodes.missing > 0 ? "node" : "rank";
	const struct ri_number_set *numbers = job->nodes.missing > 0 ? &job->nodes : &job->ranks;
	/* one of the files that were skipped may have been its report */
	const char *readable = job->skip_count > 0 ? "readable " : "";

	if (job->conclusion != RI_CONCLUSION_SILENT) {
		ri_text_addf(out, "no %sreport from %zu of %zu %ss: ", readable, numbers->missing,
			numbers->all, name);
		add_missing(out, numbers);
		return;
	}
	if (numbers->missing == 1)
		ri_text_add(out, "one ");
	else
		ri_text_addf(out, "some of %zu ", numbers->missing);
	ri_text_addf(out, "%s%s left no %sreport and may have gone first: ", name,
		plural(numbers->missing), readable);
	add_missing(out, numbers);
	ri_text_addf(out, "    the other ranks %s; look whether %s up, and what the platform says "
		"of it\n", job->victims.lost > 0 ? "lost a peer" : "were stopped",
		numbers->missing == 1 ? "that machine is" : "those machines are");
	if (job->later.report == NULL)
		return;
	ri_text_addf(out, "later %s failed: %s\n", who(&job->later), how(&job->later));
	add_reason(out, &job->later, REASON);
}

/* Nodes whose ranks all ended well, and which nevertheless did not. */
static void add_unwell(struct ri_text *out, const struct ri_reports *job)
{
	size_t count = 0;

	for (size_t i = 0; i < job->judged->count; i++) {
		const struct ri_node_report *report = job->judged->reports[i];

		if (report->exit_status != 0 && count++ < SUSPECTS)
			ri_text_addf(out, "    but of %s the exit status is %d\n", node_of(report),
				report->exit_status);
	}
	if (count > SUSPECTS)
		ri_text_addf(out, "    and so of %zu more\n", count - SUSPECTS);
}

static void add_told(struct ri_text *out, const struct ri_reports *job)
{
	ri_text_addf(out, "node %lld failed first, as the link said; it left no report:\n    %s\n",
		(long long)job->verdict_node, shown(job->verdict->verdict, COLUMNS));
}

/* What is said of each for programs, and for people: a sentence, and of one suspect or several. */
static const struct {
	const char *finding, *sentence;
	void (*add_one)(struct ri_text *out, const struct ri_reports *job);
	void (*add_several)(struct ri_text *out, const struct ri_reports *job);
} conclusions[] = {
	[RI_CONCLUSION_WELL] = { "none-failed", "no rank failed\n", add_unwell, NULL },
	[RI_CONCLUSION_STOPPED] = { "stopped", "no rank failed of its own: the job was stopped "
		"from outside\n", NULL, NULL },
	[RI_CONCLUSION_FIRST] = { "failed-first", "", add_first, add_tie },
	[RI_CONCLUSION_REFUSED] = { "refused", "", add_first, add_tie },
	[RI_CONCLUSION_EVICTED] = { "stopped-first", "", add_gone, add_gone },
	[RI_CONCLUSION_LEFT] = { "left", "", add_gone, add_gone },
	[RI_CONCLUSION_HELD] = { "held", "", add_held, add_tie },
	[RI_CONCLUSION_SILENT] = { "unreported", "", add_unreported, NULL },
	[RI_CONCLUSION_TOLD] = { "named-by-link", "", add_told, NULL },
	[RI_CONCLUSION_UNKNOWN] = { "unknown", "it cannot be told which rank failed first: all "
		"that failed lost a peer or waited for one\n", NULL, NULL },
};

static void add_conclusion(struct ri_text *out, const struct ri_reports *job)
{
	void (*add)(struct ri_text *out, const struct ri_reports *job) = job->suspect_count > 1
		? conclusions[job->conclusion].add_several : conclusions[job->conclusion].add_one;

	ri_text_add(out, conclusions[job->conclusion].sentence);
	if (add != NULL)
		add(out, job);
}

static void add_victims(struct ri_text *out, const struct ri_reports *job)
{
	const struct ri_victims *victims = &job->victims;
	const struct {
		size_t count;
		const char *did;
	} kinds[] = {
		{ victims->lost, "lost a peer or waited in vain" },
		{ victims->stopped, "told to stop" }, { victims->failed, "failed later" },
	};
	const char *before = ": ";

	if (victims->ranks == 0)
		return;
	ri_text_addf(out, "%s%zu rank%s on %zu node%s",
		job->conclusion == RI_CONCLUSION_STOPPED ? "that is " : "victims: ",
		victims->ranks, plural(victims->ranks), victims->nodes, plural(victims->nodes));
	for (size_t i = 0; i < RI_ARRAY_SIZE(kinds); i++) {
		if (kinds[i].count == 0)
			continue;
		ri_text_addf(out, "%s%zu %s", before, kinds[i].count, kinds[i].did);
		before = ", ";
	}
	ri_text_add(out, "\n");
}

/* Of a missing node there may be a report that a wrong clock has put among older ones. */
static void add_older(struct ri_text *out, const struct ri_reports *job)
{
	const struct ri_node_report *newest = job->judged->reports[0];
	size_t count = 0;

	for (size_t i = 1; i < job->attempt_count && newest->attempt < 0; i++)
		for (size_t k = 0; k < job->attempts[i].count; k++) {
			const struct ri_node_report *one = job->attempts[i].reports[k];

			if (job->attempts[i].job_ended == job->judged->job_ended &&
				one->nodes == newest->nodes &&
				ri_number_set_lacks(&job->nodes, one->node) && count++ < NAMED)
				ri_text_addf(out, "    but by its clock there is an older report "
					"of %s: %s\n", node_of(one), shown(one->file, COLUMNS));
		}
}

/* The job's id behind these words, and the attempt, as far as the platform tells them. */
static void add_id(struct ri_text *out, const char *words, const struct ri_node_report *one)
{
	if (one->job != NULL)
		ri_text_addf(out, "%s%s", words, shown(one->job, COLUMNS));
	if (one->attempt >= 0)
		ri_text_addf(out, ", attempt %lld", (long long)one->attempt);
}

static void add_attempts(struct ri_text *out, const struct ri_reports *job)
{
	ri_text_add(out, "job");
	add_id(out, " ", job->judged->reports[0]);
	ri_text_addf(out, ": %zu report%s", job->judged->count, plural(job->judged->count));
	if (job->nodes.all > 0)
		ri_text_addf(out, " of %zu node%s", job->nodes.all, plural(job->nodes.all));
	if (job->ranks.all > 0)
		ri_text_addf(out, ", %zu rank%s", job->ranks.all, plural(job->ranks.all));
	ri_text_addf(out, ", %s to %s\n", moment(job->judged->began), moment(job->judged->ended));
	for (size_t i = 1; i < job->attempt_count && i <= NAMED; i++) {
		const struct ri_attempt *attempt = &job->attempts[i];
		const struct ri_node_report *one = attempt->reports[0];

		ri_text_addf(out, "not judged: %zu report%s of another attempt or job",
			attempt->count, plural(attempt->count));
		add_id(out, ", ", one);
		ri_text_addf(out, ", ended %s: %s%s\n", moment(attempt->ended),
			shown(one->file, COLUMNS), attempt->count > 1 ? " and others" : "");
	}
	if (job->attempt_count > NAMED + 1)
		ri_text_addf(out, "not judged: %zu more attempts; --blame=json has all\n",
			job->attempt_count - NAMED - 1);
}

void ri_reports_add_page(struct ri_text *out, const struct ri_reports *job)
{
	add_conclusion(out, job);
	add_victims(out, job);
	if (job->nodes.missing + job->ranks.missing > 0 && job->conclusion != RI_CONCLUSION_SILENT)
		add_unreported(out, job);
	add_older(out, job);
	if (job->verdicts_differ)
		ri_text_add(out, "the link's verdicts in these reports differ, so they were not "
			"used\n");
	for (size_t i = 0; i < job->astray_count && i < NAMED; i++) {
		const struct ri_node_report *one = job->astray[i];
		int64_t by = (one->began - job->usual_start) / 1000000;

		ri_text_addf(out, "%s began %lld s %s %s: its clock or its start is that far off\n",
			node_of(one), (long long)(by < 0 ? -by : by), by < 0 ? "before" : "after",
			job->judged->count == 2 ? "the other one" : "most others");
	}
	if (job->astray_count > NAMED)
		ri_text_addf(out, "and so did %zu more\n", job->astray_count - NAMED);
	add_attempts(out, job);
	for (size_t i = 0; i < job->skip_count && i < NAMED; i++)
		ri_text_addf(out, "skipped: %s: %s\n", shown(job->skips[i].file, COLUMNS),
			shown(job->skips[i].why, COLUMNS));
	if (job->skip_count > NAMED)
		ri_text_addf(out, "skipped: %zu more files; --blame=json has all\n",
			job->skip_count - NAMED);
}

/* --- for programs ------------------------------------------------------------- */

/* NULL is null. */
static json_t *text_of(struct ri_json *json, const char *value)
{
	return ri_json_string(json, value, "--blame");
}

/* null, where it is not after 1970. */
static json_t *time_of(int64_t at)
{
	return at <= 0 ? json_null() : ri_time_json(ri_time_of(at));
}

static void append_lines(struct ri_json *json, json_t *list, const struct ri_reported_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		ri_json_append(json, list, text_of(json, lines->at[i]));
}

static json_t *describe_suspect(struct ri_json *json, const struct ri_reports *job,
	const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	const struct ri_reported_failure *failure = &report->failure;
	bool failed = job->conclusion == RI_CONCLUSION_FIRST && failure->class != RI_CLASS_NONE;
	bool has_reason = failed || job->conclusion == RI_CONCLUSION_REFUSED;
	bool has_cause = has_reason && failure->has_cause;
	const struct ri_why *why = &failure->why;
	json_t *reason = json_array();

	if (has_reason)
		append_lines(json, reason, &failure->lines);
	if (suspect->found != NULL)
		ri_json_append(json, reason, text_of(json, suspect->found->text));
	if (suspect->seen)
		append_lines(json, reason, &report->autopsy.lines);
	return RI_JSON_OBJECT(json, { "node", ri_json_number(report->node) },
		{ "host", text_of(json, report->host) },
		{ "rank", ri_json_number(ri_suspect_rank(suspect)) },
		{ "local_rank", ri_json_number(suspect->rank == NULL ? -1
			: suspect->rank->local_rank) },
		{ "class", text_of(json, failed ? ri_class_words[failure->class] : NULL) },
		{ "how", text_of(json, failed ? failure->how : NULL) },
		{ "cause", text_of(json, has_cause ? ri_cause_word_name(why->cause) : NULL) },
		{ "retry", text_of(json, has_cause ? ri_retry_words[why->retry] : NULL) },
		{ "did", text_of(json, suspect->seen ? report->autopsy.did : NULL) },
		{ "at", time_of(suspect->at) }, { "reason", reason },
		{ "exit_status", ri_json_number(report->exit_status) },
		{ "life", text_of(json, lives[suspect->life].name) },
		{ "file", text_of(json, report->file) });
}

static json_t *describe_attempt(struct ri_json *json, const struct ri_attempt *attempt)
{
	const struct ri_node_report *one = attempt->reports[0];

	return RI_JSON_OBJECT(json, { "id", text_of(json, one->job) },
		{ "attempt", ri_json_number(one->attempt) },
		{ "nodes", ri_json_number(one->nodes) }, { "ranks", ri_json_number(one->world) },
		{ "reports", ri_json_number((int64_t)attempt->count) },
		{ "began", time_of(attempt->began) }, { "ended", time_of(attempt->ended) });
}

/* All but the one that is judged, with their files. */
static json_t *list_other_attempts(struct ri_json *json, const struct ri_reports *job)
{
	json_t *list = json_array();

	for (size_t i = 1; i < job->attempt_count; i++) {
		const struct ri_attempt *attempt = &job->attempts[i];
		json_t *object = describe_attempt(json, attempt), *files = json_array();

		for (size_t k = 0; k < attempt->count; k++)
			ri_json_append(json, files, text_of(json, attempt->reports[k]->file));
		ri_json_put(json, object, "files", files);
		ri_json_append(json, list, object);
	}
	return list;
}

/* Pairs of a first and a last number. */
static json_t *list_missing(struct ri_json *json, const struct ri_number_set *numbers)
{
	json_t *list = json_array(), *pair;
	size_t first, end = 0;

	while (ri_number_set_next(numbers, &first, &end)) {
		pair = json_array();
		ri_json_append(json, pair, json_integer((json_int_t)first));
		ri_json_append(json, pair, json_integer((json_int_t)end - 1));
		ri_json_append(json, list, pair);
	}
	return list;
}

int ri_reports_add_json(struct ri_text *out, const struct ri_reports *job, const char *version)
{
	const struct ri_victims *victims = &job->victims;
	struct ri_json made = { .escapes = 0 }, *json = &made;
	json_t *suspects = json_array(), *skipped = json_array();

	for (size_t i = 0; i < job->suspect_count; i++)
		ri_json_append(json, suspects, describe_suspect(json, job, &job->suspects[i]));
	for (size_t i = 0; i < job->skip_count; i++)
		ri_json_append(json, skipped, RI_JSON_OBJECT(json,
			{ "file", text_of(json, job->skips[i].file) },
			{ "why", text_of(json, job->skips[i].why) }));
	return ri_json_end(json, RI_JSON_OBJECT(json,
		{ "schema", json_string("rankinit-blame-1") },
		{ "version", json_string(version) },
		{ "finding", json_string(conclusions[job->conclusion].finding) },
		{ "suspects", suspects },
		{ "more_suspects", ri_json_number((int64_t)job->more_suspects) },
		{ "link", RI_JSON_OBJECT(json, { "node", ri_json_number(job->verdict_node) },
			{ "verdict", text_of(json, job->verdict == NULL ? NULL
				: job->verdict->verdict) },
			{ "differs", json_boolean(job->verdicts_differ) }) },
		{ "victims", RI_JSON_OBJECT(json,
			{ "ranks", ri_json_number((int64_t)victims->ranks) },
			{ "nodes", ri_json_number((int64_t)victims->nodes) },
			{ "lost", ri_json_number((int64_t)victims->lost) },
			{ "stopped", ri_json_number((int64_t)victims->stopped) },
			{ "failed", ri_json_number((int64_t)victims->failed) }) },
		{ "job", describe_attempt(json, job->judged) },
		{ "missing", RI_JSON_OBJECT(json, { "nodes", list_missing(json, &job->nodes) },
			{ "ranks", list_missing(json, &job->ranks) }) },
		{ "other_attempts", list_other_attempts(json, job) },
		{ "skipped", skipped }), 0, out);
}
