/* SPDX-License-Identifier: Apache-2.0 */
/* "rankinit-blame-1": docs/blame.schema.json has its members. */
#include "blame/reports.h"

#include "model/json.h"
#include "report/culprit.h"

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

static void put_text(struct ri_json *json, json_t *object, const char *name, const char *value)
{
	ri_json_put(json, object, name, ri_json_string(json, value, "--blame"));
}

static void put_number(struct ri_json *json, json_t *object, const char *name, int64_t value)
{
	ri_json_put(json, object, name,
		value < 0 ? json_null() : json_integer((json_int_t)value));
}

static void put_time(struct ri_json *json, json_t *object, const char *name, int64_t at)
{
	ri_json_put(json, object, name, at <= 0 ? json_null() : ri_time_json(ri_time_of(at)));
}

/* A member that is this list or object, to be filled in. */
static json_t *put_inner(struct ri_json *json, json_t *object, const char *name, json_t *inner)
{
	ri_json_put(json, object, name, inner);
	return inner;
}

static void append_lines(struct ri_json *json, json_t *list, const struct ri_reported_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		ri_json_append(json, list, ri_json_string(json, lines->at[i], "--blame"));
}

static json_t *describe_suspect(struct ri_json *json, const struct ri_reports *job,
	const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	const struct ri_reported_failure *failure = &report->failure;
	bool failed = job->conclusion == RI_CONCLUSION_FIRST && failure->class != RI_CLASS_NONE;
	bool has_reason = failed || job->conclusion == RI_CONCLUSION_REFUSED;
	bool has_cause = has_reason && failure->has_cause;
	json_t *object = json_object(), *reason;

	put_number(json, object, "node", report->node);
	put_text(json, object, "host", report->host);
	put_number(json, object, "rank", ri_suspect_rank(suspect));
	put_number(json, object, "local_rank", suspect->rank == NULL ? -1
		: suspect->rank->local_rank);
	put_text(json, object, "class", failed ? ri_class_words[failure->class] : NULL);
	put_text(json, object, "how", failed ? failure->how : NULL);
	put_text(json, object, "cause", has_cause ? ri_cause_word_name(failure->why.cause) : NULL);
	put_text(json, object, "retry", has_cause ? ri_retry_words[failure->why.retry] : NULL);
	put_text(json, object, "did", suspect->seen ? report->autopsy.did : NULL);
	put_time(json, object, "at", suspect->at);
	reason = put_inner(json, object, "reason", json_array());
	if (has_reason)
		append_lines(json, reason, &failure->lines);
	if (suspect->found != NULL)
		ri_json_append(json, reason,
			ri_json_string(json, suspect->found->text, "--blame"));
	if (suspect->seen)
		append_lines(json, reason, &report->autopsy.lines);
	put_number(json, object, "exit_status", report->exit_status);
	put_text(json, object, "life", lives[suspect->life]);
	put_text(json, object, "file", report->file);
	return object;
}

/* Of one that is not judged the files as well. */
static json_t *describe_attempt(struct ri_json *json, const struct ri_attempt *attempt, bool judged)
{
	const struct ri_node_report *one = attempt->reports[0];
	json_t *object = json_object(), *files;

	put_text(json, object, "id", one->job);
	put_number(json, object, "attempt", one->attempt);
	put_number(json, object, "nodes", one->nodes);
	put_number(json, object, "ranks", one->world);
	put_number(json, object, "reports", (int64_t)attempt->count);
	put_time(json, object, "began", attempt->began);
	put_time(json, object, "ended", attempt->ended);
	if (judged)
		return object;
	files = put_inner(json, object, "files", json_array());
	for (size_t i = 0; i < attempt->count; i++)
		ri_json_append(json, files,
			ri_json_string(json, attempt->reports[i]->file, "--blame"));
	return object;
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
	json_t *document = json_object(), *part;
	int status;

	put_text(json, document, "schema", "rankinit-blame-1");
	put_text(json, document, "version", version);
	put_text(json, document, "finding", findings[job->conclusion]);
	part = put_inner(json, document, "suspects", json_array());
	for (size_t i = 0; i < job->suspect_count; i++)
		ri_json_append(json, part, describe_suspect(json, job, &job->suspects[i]));
	put_number(json, document, "more_suspects", (int64_t)job->more_suspects);
	part = put_inner(json, document, "link", json_object());
	put_number(json, part, "node", job->verdict_node);
	put_text(json, part, "verdict", job->verdict == NULL ? NULL : job->verdict->verdict);
	ri_json_put(json, part, "differs", json_boolean(job->verdicts_differ));
	part = put_inner(json, document, "victims", json_object());
	put_number(json, part, "ranks", (int64_t)victims->ranks);
	put_number(json, part, "nodes", (int64_t)victims->nodes);
	put_number(json, part, "lost", (int64_t)victims->lost);
	put_number(json, part, "stopped", (int64_t)victims->stopped);
	put_number(json, part, "failed", (int64_t)victims->failed);
	ri_json_put(json, document, "job", describe_attempt(json, &job->attempts[0], true));
	part = put_inner(json, document, "missing", json_object());
	ri_json_put(json, part, "nodes", list_missing(json, &job->nodes));
	ri_json_put(json, part, "ranks", list_missing(json, &job->ranks));
	part = put_inner(json, document, "other_attempts", json_array());
	for (size_t i = 1; i < job->attempt_count; i++)
		ri_json_append(json, part, describe_attempt(json, &job->attempts[i], false));
	part = put_inner(json, document, "skipped", json_array());
	for (size_t i = 0; i < job->skip_count; i++) {
		json_t *skip = json_object();

		put_text(json, skip, "file", job->skips[i].file);
		put_text(json, skip, "why", job->skips[i].why);
		ri_json_append(json, part, skip);
	}
	status = document == NULL || made.incomplete ? -1 : ri_json_dump(document, 0, out);
	json_decref(document);
	ri_text_add(out, "\n");
	return status < 0 || out->cut ? -1 : 0;
}
