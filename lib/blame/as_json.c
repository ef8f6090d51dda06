/* SPDX-License-Identifier: Apache-2.0 */
/* "rankinit-blame-1": docs/blame.schema.json has its members. */
#include "blame/writer.h"

#include "report/class.h"

const char *ri_conclusion_name(enum ri_conclusion conclusion)
{
	static const char *const names[] = {
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

	return names[conclusion];
}

static void put_node(struct ri_writer *writer, const char *name,
	const struct ri_node_report *report)
{
	ri_writer_open(writer, name, '{');
	ri_writer_number(writer, "node", report->node);
	ri_writer_string(writer, "host", report->host);
	ri_writer_string(writer, "file", report->file);
	ri_writer_close(writer, '}');
}

static void put_suspect(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_suspect *suspect)
{
	const struct ri_node_report *report = suspect->report;
	const struct ri_reported_rank *rank = suspect->rank;
	const struct ri_reported_autopsy *autopsy = suspect->seen ? &report->autopsy : NULL;
	bool failed = job->conclusion == RI_CONCLUSION_FIRST &&
		report->failure.class != RI_CLASS_NONE;
	bool has_reason = failed || job->conclusion == RI_CONCLUSION_REFUSED;
	bool has_cause = has_reason && report->failure.has_cause;
	const struct ri_why *why = &report->failure.why;

	ri_writer_open(writer, NULL, '{');
	ri_writer_number(writer, "node", report->node);
	ri_writer_string(writer, "host", report->host);
	ri_writer_number(writer, "rank", ri_suspect_rank(suspect));
	ri_writer_number(writer, "local_rank", rank == NULL ? -1 : rank->local_rank);
	ri_writer_string(writer, "class", failed ? ri_class_name(report->failure.class) : NULL);
	ri_writer_string(writer, "how", failed ? report->failure.how : NULL);
	ri_writer_string(writer, "cause", has_cause ? ri_cause_word_name(why->cause) : NULL);
	ri_writer_string(writer, "retry", has_cause ? ri_retry_name(why->retry) : NULL);
	ri_writer_string(writer, "did", autopsy == NULL ? NULL : autopsy->did);
	ri_writer_time(writer, "at", suspect->at);
	ri_writer_open(writer, "reason", '[');
	for (size_t i = 0; has_reason && i < report->failure.line_count; i++)
		ri_writer_string(writer, NULL, report->failure.lines[i]);
	if (suspect->found != NULL)
		ri_writer_string(writer, NULL, suspect->found->text);
	for (size_t i = 0; autopsy != NULL && i < autopsy->line_count; i++)
		ri_writer_string(writer, NULL, autopsy->lines[i]);
	ri_writer_close(writer, ']');
	ri_writer_number(writer, "exit_status", report->exit_status);
	ri_writer_string(writer, "life", suspect->life == RI_EARLIER_LIFE ? "earlier" :
		suspect->life == RI_LATER_LIFE ? "later" : NULL);
	ri_writer_string(writer, "file", report->file);
	ri_writer_close(writer, '}');
}

static void put_suspects(struct ri_writer *writer, const struct ri_reports *job)
{
	char sentence[RI_WRITER_PLACE];
	struct ri_text text;

	ri_writer_string(writer, "finding", ri_conclusion_name(job->conclusion));
	ri_writer_open(writer, "suspects", '[');
	for (size_t i = 0; i < job->suspect_count; i++)
		put_suspect(writer, job, &job->suspects[i]);
	ri_writer_close(writer, ']');
	ri_writer_number(writer, "more_suspects", (int64_t)job->more_suspects);
	ri_text_init(&text, sentence, sizeof(sentence));
	ri_writer_string(writer, "out_of_step", ri_reports_add_out_of_step(job, &text) ? sentence
		: NULL);
	ri_writer_open(writer, "link", '{');
	ri_writer_number(writer, "node", job->verdict_node);
	ri_writer_string(writer, "verdict", job->verdict == NULL ? NULL : job->verdict->verdict);
	ri_writer_bool(writer, "differs", job->verdicts_differ);
	ri_writer_close(writer, '}');
}

static void put_victims(struct ri_writer *writer, const struct ri_victims *victims)
{
	ri_writer_open(writer, "victims", '{');
	ri_writer_number(writer, "ranks", (int64_t)victims->ranks);
	ri_writer_number(writer, "nodes", (int64_t)victims->nodes);
	ri_writer_number(writer, "lost", (int64_t)victims->lost);
	ri_writer_number(writer, "stopped", (int64_t)victims->stopped);
	ri_writer_number(writer, "failed", (int64_t)victims->failed);
	ri_writer_close(writer, '}');
}

static void put_attempt(struct ri_writer *writer, const char *name,
	const struct ri_attempt *attempt, bool lists)
{
	const struct ri_node_report *one = attempt->reports[0];

	ri_writer_open(writer, name, '{');
	ri_writer_string(writer, "id", one->job);
	ri_writer_number(writer, "attempt", one->attempt);
	ri_writer_number(writer, "nodes", one->nodes);
	ri_writer_number(writer, "ranks", one->world);
	ri_writer_number(writer, "reports", (int64_t)attempt->count);
	ri_writer_time(writer, "began", attempt->began);
	ri_writer_time(writer, "ended", attempt->ended);
	if (lists) {
		ri_writer_open(writer, "files", '[');
		for (size_t i = 0; i < attempt->count; i++)
			ri_writer_string(writer, NULL, attempt->reports[i]->file);
		ri_writer_close(writer, ']');
	}
	ri_writer_close(writer, '}');
}

/* Pairs of a first and a last number. */
static void put_missing(struct ri_writer *writer, const char *name,
	const struct ri_number_set *numbers)
{
	size_t first, end = 0;

	ri_writer_open(writer, name, '[');
	while (ri_number_set_next(numbers, &first, &end)) {
		ri_writer_open(writer, NULL, '[');
		ri_writer_number(writer, NULL, (int64_t)first);
		ri_writer_number(writer, NULL, (int64_t)end - 1);
		ri_writer_close(writer, ']');
	}
	ri_writer_close(writer, ']');
}

static void put_oddities(struct ri_writer *writer, const struct ri_reports *job)
{
	ri_writer_open(writer, "differs", '[');
	for (size_t i = 0; i < job->odd_fact_count; i++) {
		const struct ri_odd_fact *odd = &job->odd_facts[i];

		ri_writer_open(writer, NULL, '{');
		ri_writer_string(writer, "fact", odd->fact);
		ri_writer_string(writer, "value", odd->value);
		ri_writer_open(writer, "nodes", '[');
		for (size_t k = 0; k < odd->count; k++)
			put_node(writer, NULL, odd->who[k]);
		ri_writer_close(writer, ']');
		ri_writer_string(writer, "usual", odd->usual);
		ri_writer_number(writer, "usual_nodes", (int64_t)odd->usual_count);
		ri_writer_close(writer, '}');
	}
	ri_writer_close(writer, ']');
}

static void put_rest(struct ri_writer *writer, const struct ri_reports *job)
{
	ri_writer_open(writer, "other_attempts", '[');
	for (size_t i = 1; i < job->attempt_count; i++)
		put_attempt(writer, NULL, &job->attempts[i], true);
	ri_writer_close(writer, ']');
	ri_writer_open(writer, "skipped", '[');
	for (size_t i = 0; i < job->skip_count; i++) {
		ri_writer_open(writer, NULL, '{');
		ri_writer_string(writer, "file", job->skips[i].file);
		ri_writer_string(writer, "why", job->skips[i].why);
		ri_writer_close(writer, '}');
	}
	ri_writer_close(writer, ']');
}

void ri_reports_write_json(const struct ri_reports *job, const char *version,
	struct ri_writer *writer)
{
	ri_writer_open(writer, NULL, '{');
	ri_writer_string(writer, "schema", "rankinit-blame-1");
	ri_writer_string(writer, "version", version);
	put_suspects(writer, job);
	put_victims(writer, &job->victims);
	put_attempt(writer, "job", &job->attempts[0], false);
	ri_writer_open(writer, "missing", '{');
	put_missing(writer, "nodes", &job->nodes);
	put_missing(writer, "ranks", &job->ranks);
	ri_writer_close(writer, '}');
	put_oddities(writer, job);
	put_rest(writer, job);
	ri_writer_close(writer, '}');
	ri_writer_addf(writer, "\n");
}
