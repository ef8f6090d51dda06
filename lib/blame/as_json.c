/* SPDX-License-Identifier: Apache-2.0 */
/* "rankinit-blame-1": docs/blame.schema.json has its members. */
#include "blame/reports.h"

#include "model/json.h"
#include "report/class.h"

static const char *const findings[] = {
	[RI_CONCLUSION_WELL] = "none-failed",
	[RI_CONCLUSION_STOPPED] = "stopped",
	[RI_CONCLUSION_FIRST] = "failed-first",
	[RI_CONCLUSION_REFUSED] = "refused",
	[RI_CONCLUSION_EVICTED] = "stopped-first",
	[RI_CONCLUSION_LEFT] = "left",
	[RI_CONCLUSION_HELD] = "held",
	[RI_CONCLUSION_SILENT] = "unreported",
	[RI_CONCLUSION_TOLD] = "named-by-link",
	[RI_CONCLUSION_UNKNOWN] = "unknown",
};

static const char *const lives[] = {
	[RI_EARLIER_LIFE] = "earlier", [RI_LATER_LIFE] = "later",
};

/* NULL is null, and so are a number below 0 and a time that is not after 1970. */

static json_t *string(struct ri_json *json, const char *value)
{
	return value == NULL ? json_null() : ri_json_string(json, value, "--blame");
}

static json_t *number(int64_t value)
{
	return value < 0 ? json_null() : json_integer((json_int_t)value);
}

static json_t *moment(int64_t at)
{
	return at <= 0 ? json_null() : ri_time_json(ri_time_of(at));
}

static void append_lines(struct ri_json *json, json_t *list, const char *const *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ri_json_append(json, list, string(json, lines[i]));
}

static json_t *describe_suspect(struct ri_json *json, const struct ri_reports *job,
	const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	const struct ri_reported_failure *failure = &report->failure;
	const struct ri_reported_autopsy *autopsy = suspect->seen ? &report->autopsy : NULL;
	bool failed = job->conclusion == RI_CONCLUSION_FIRST && failure->class != RI_CLASS_NONE;
	bool has_reason = failed || job->conclusion == RI_CONCLUSION_REFUSED;
	bool has_cause = has_reason && failure->has_cause;
	json_t *reason = json_array();

	if (has_reason)
		append_lines(json, reason, failure->lines, failure->line_count);
	if (suspect->found != NULL)
		append_lines(json, reason, &suspect->found->text, 1);
	if (autopsy != NULL)
		append_lines(json, reason, autopsy->lines, autopsy->line_count);
	return json_pack("{s:o,s:o,s:o,s:o,s:s?,s:o,s:s?,s:s?,s:o,s:o,s:o,s:i,s:s?,s:o}",
		"node", number(report->node), "host", string(json, report->host),
		"rank", number(ri_suspect_rank(suspect)),
		"local_rank", number(suspect->rank == NULL ? -1 : suspect->rank->local_rank),
		"class", failed ? ri_class_name(failure->class) : NULL,
		"how", string(json, failed ? failure->how : NULL),
		"cause", has_cause ? ri_cause_word_name(failure->why.cause) : NULL,
		"retry", has_cause ? ri_retry_name(failure->why.retry) : NULL,
		"did", string(json, autopsy == NULL ? NULL : autopsy->did),
		"at", moment(suspect->at), "reason", reason,
		"exit_status", report->exit_status, "life", lives[suspect->life],
		"file", string(json, report->file));
}

static json_t *describe_attempt(struct ri_json *json, const struct ri_attempt *attempt, bool lists)
{
	const struct ri_node_report *one = attempt->reports[0];
	json_t *files = lists ? json_array() : NULL;

	for (size_t i = 0; lists && i < attempt->count; i++)
		ri_json_append(json, files, string(json, attempt->reports[i]->file));
	return json_pack("{s:o,s:o,s:o,s:o,s:I,s:o,s:o,s:o*}", "id", string(json, one->job),
		"attempt", number(one->attempt), "nodes", number(one->nodes),
		"ranks", number(one->world), "reports", (json_int_t)attempt->count,
		"began", moment(attempt->began), "ended", moment(attempt->ended), "files", files);
}

/* Pairs of a first and a last number. */
static json_t *list_missing(struct ri_json *json, const struct ri_number_set *numbers)
{
	json_t *list = json_array();
	size_t first, end = 0;

	while (ri_number_set_next(numbers, &first, &end))
		ri_json_append(json, list, json_pack("[I,I]", (json_int_t)first,
			(json_int_t)end - 1));
	return list;
}

int ri_reports_add_json(struct ri_text *out, const struct ri_reports *job, const char *version)
{
	struct ri_json json = { .escapes = 0 };
	const struct ri_victims *victims = &job->victims;
	json_t *suspects = json_array(), *others = json_array(), *skips = json_array(), *document;
	int status = -1;

	for (size_t i = 0; i < job->suspect_count; i++)
		ri_json_append(&json, suspects, describe_suspect(&json, job, &job->suspects[i]));
	for (size_t i = 1; i < job->attempt_count; i++)
		ri_json_append(&json, others, describe_attempt(&json, &job->attempts[i], true));
	for (size_t i = 0; i < job->skip_count; i++)
		ri_json_append(&json, skips, json_pack("{s:o,s:o}",
			"file", string(&json, job->skips[i].file),
			"why", string(&json, job->skips[i].why)));
	document = json_pack("{s:s,s:s,s:s,s:o,s:I,s:{s:o,s:o,s:b},s:{s:I,s:I,s:I,s:I,s:I},s:o,"
		"s:{s:o,s:o},s:o,s:o}", "schema", "rankinit-blame-1", "version", version,
		"finding", findings[job->conclusion], "suspects", suspects,
		"more_suspects", (json_int_t)job->more_suspects,
		"link", "node", number(job->verdict_node),
		"verdict", string(&json, job->verdict == NULL ? NULL : job->verdict->verdict),
		"differs", job->verdicts_differ,
		"victims", "ranks", (json_int_t)victims->ranks, "nodes", (json_int_t)victims->nodes,
		"lost", (json_int_t)victims->lost, "stopped", (json_int_t)victims->stopped,
		"failed", (json_int_t)victims->failed,
		"job", describe_attempt(&json, &job->attempts[0], false),
		"missing", "nodes", list_missing(&json, &job->nodes),
		"ranks", list_missing(&json, &job->ranks),
		"other_attempts", others, "skipped", skips);
	if (document != NULL && !json.incomplete)
		status = ri_json_dump(document, 0, out);
	json_decref(document);
	ri_text_add(out, "\n");
	return status < 0 || out->cut ? -1 : 0;
}
