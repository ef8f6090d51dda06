/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/signals.h"
#include "model/json.h"
#include "report/actor.h"
#include "report/brief.h"
#include "report/class.h"
#include "words/loss.h"
#include "report/torch_error.h"

enum { MAX_LINE = 4096 };	/* of a log, or of the path of one */

static const char *const states[] = {
	[RI_END_NOT_STARTED] = "not-started",
	[RI_END_RUNNING] = "running",
	[RI_END_EXITED] = "exited",
	[RI_END_SIGNALED] = "signaled",
	[RI_END_EXEC_FAILED] = "exec-failed",
};

/* A plain init has no ranks, so its command has no number. */
static json_t *number_of_rank(const struct ri_outcome *outcome, enum ri_fact_id id,
	uint64_t number)
{
	if (outcome->count == 1 && !outcome->launched &&
		!ri_topology_knows(outcome->topology, id))
		return json_null();
	return json_integer((json_int_t)number);
}

static json_t *exit_code(const struct ri_rank_outcome *rank)
{
	return rank->end == RI_END_EXITED ? json_integer(rank->exit_code) : json_null();
}

static json_t *signal_name(const struct ri_rank_outcome *rank)
{
	char name[RI_SIGNAL_NAME];

	if (rank->end != RI_END_SIGNALED)
		return json_null();
	return json_string(ri_signal_name(rank->signal, name));
}

static json_t *string_or_null(struct ri_json *json, const char *value, const char *subject)
{
	return value == NULL ? json_null() : ri_json_string(json, value, subject);
}

/* What an actor of Ray's tells by its repr(). */
static json_t *number_of_actor(const struct ri_actor *actor)
{
	return actor->rank < 0 ? json_null() : json_integer((json_int_t)actor->rank);
}

static void put_numbers(struct ri_json *json, json_t *object, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	if (rank->actor != NULL) {
		ri_json_put(json, object, "rank", number_of_actor(rank->actor));
		ri_json_put(json, object, "local_rank", json_null());
		return;
	}
	ri_json_put(json, object, "rank", number_of_rank(outcome, RI_FACT_RANK, rank->rank));
	ri_json_put(json, object, "local_rank",
		number_of_rank(outcome, RI_FACT_LOCAL_RANK, rank->local_rank));
}

static json_t *describe_class(enum ri_class class)
{
	const char *name = ri_class_name(class);

	return name == NULL ? json_null() : json_string(name);
}

static json_t *describe_loss(const struct ri_loss *loss)
{
	return loss == NULL ? json_null() : json_string(ri_loss_kind_name(loss->kind));
}

/* In which collective it was, by NCCL's watchdog. */
static json_t *describe_work(const struct ri_words *words)
{
	const struct ri_work *work = &words->work;
	json_t *object;

	if (!words->has_work)
		return json_null();
	object = json_pack("{s:s, s:s}", "group", work->group, "op", work->op);
	if (work->has_sequence && work->sequence <= INT64_MAX)
		json_object_set_new(object, "sequence", json_integer((json_int_t)work->sequence));
	if (work->has_size && work->in <= INT64_MAX && work->out <= INT64_MAX) {
		json_object_set_new(object, "numel_in", json_integer((json_int_t)work->in));
		json_object_set_new(object, "numel_out", json_integer((json_int_t)work->out));
	}
	if (work->has_status) {
		json_object_set_new(object, "enqueued", json_integer(work->enqueued));
		json_object_set_new(object, "completed", json_integer(work->completed));
	}
	return object;
}

static json_t *describe_rank(struct ri_json *json, const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	json_t *object = json_object();

	put_numbers(json, object, outcome, rank);
	ri_json_put(json, object, "pid", rank->pid == 0 ? json_null() : json_integer(rank->pid));
	ri_json_put(json, object, "state", json_string(states[rank->end]));
	ri_json_put(json, object, "exit_code", exit_code(rank));
	ri_json_put(json, object, "signal", signal_name(rank));
	ri_json_put(json, object, "told", json_boolean(rank->told));
	ri_json_put(json, object, "word_of", string_or_null(json, rank->word_of, "word_of"));
	ri_json_put(json, object, "class", describe_class(rank->evidence.class));
	ri_json_put(json, object, "lost", describe_loss(rank->evidence.loss));
	ri_json_put(json, object, "work", describe_work(&rank->evidence.words));
	ri_json_put(json, object, "started", ri_time_json(rank->started));
	ri_json_put(json, object, "ended", ri_time_json(rank->ended));
	ri_json_put(json, object, "log", string_or_null(json, rank->wrote.log, "log"));
	return object;
}

static json_t *list_ranks(struct ri_json *json, const struct ri_outcome *outcome)
{
	json_t *list = json_array();

	for (size_t i = 0; i < outcome->count; i++)
		ri_json_append(json, list, describe_rank(json, outcome, &outcome->ranks[i]));
	return list;
}

static const char *kind_of(const struct ri_rank_outcome *rank)
{
	if (rank->end == RI_END_EXEC_FAILED)
		return "exec";
	if (rank->end == RI_END_SIGNALED)
		return rank->oom ? "oom" : "signal";
	return "exit";
}

/* It may be half of one. */
static void drop_last_character(struct ri_text *text)
{
	size_t length = text->length;

	while (length > 0 && ((unsigned char)text->bytes[length - 1] & 0xc0) == 0x80)
		length--;
	text->length = length > 0 ? length - 1 : 0;
	text->bytes[text->length] = '\0';
}

/* A line as a string of its own, cut where it is too long to read. */
static json_t *describe_line(struct ri_json *json, struct ri_span line)
{
	char copy[MAX_LINE];
	struct ri_text text;

	ri_text_init(&text, copy, sizeof(copy));
	ri_text_add_bytes(&text, line.at, line.length);
	if (text.cut)
		drop_last_character(&text);
	return ri_json_string(json, copy, "last_lines");
}

/* The traceback as it was written, but for what torch puts before each line. */
static json_t *describe_traceback(struct ri_json *json, const struct ri_reason *reason)
{
	static char copy[2 * RI_MAX_TAIL];
	struct ri_span rest = reason->traceback.whole, line;
	struct ri_text text;

	if (!reason->has_traceback)
		return json_null();
	ri_text_init(&text, copy, sizeof(copy));
	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(&reason->traceback, line);
		ri_text_add(&text, text.length == 0 ? "" : "\n");
		ri_text_add_bytes(&text, line.at, line.length);
	}
	return ri_json_string(json, copy, "traceback");
}

/* Each line of a text, without two blanks before it. */
static json_t *split(struct ri_json *json, const char *text, const char *subject)
{
	struct ri_span rest = { text, strlen(text) }, line;
	json_t *list = json_array();
	char copy[MAX_LINE];

	while (ri_span_line(&rest, &line)) {
		line = ri_span_skip(line, ri_span_starts(line, "  ") ? 2 : 0);
		snprintf(copy, sizeof(copy), "%.*s", (int)line.length, line.at);
		ri_json_append(json, list, ri_json_string(json, copy, subject));
	}
	return list;
}

/* The lines that the verdict has below its first one. */
static json_t *list_reason(struct ri_json *json, const struct ri_report *report)
{
	static char lines[RI_VERDICT_SIZE];
	const struct ri_outcome *outcome = report->outcome;
	struct ri_text text;

	ri_text_init(&text, lines, sizeof(lines));
	if (outcome->ranks[outcome->first].end != RI_END_EXEC_FAILED)
		ri_reason_add(&text, &outcome->ranks[outcome->first], report->reason);
	return split(json, lines, "reason");
}

static json_t *list_lines(struct ri_json *json, const struct ri_reason *reason)
{
	json_t *list = json_array();

	for (size_t i = 0; i < reason->line_count; i++)
		ri_json_append(json, list, describe_line(json, reason->lines[i]));
	return list;
}

static json_t *describe_cause(struct ri_json *json, const struct ri_cause *cause)
{
	json_t *object;

	if (cause == NULL)
		return json_null();
	object = json_object();
	ri_json_put(json, object, "code", json_string(ri_code_name(cause->code)));
	ri_json_put(json, object, "subject", ri_json_string(json, cause->subject, "cause"));
	ri_json_put(json, object, "text", ri_json_string(json, cause->text, "cause"));
	ri_json_put(json, object, "hint", ri_json_string(json, cause->hint, "cause"));
	return object;
}

static json_t *describe_gpu_errors(struct ri_json *json, const struct ri_gpu_errors *errors)
{
	json_t *object, *list;

	if (errors == NULL)
		return json_null();
	object = json_object();
	list = json_array();
	for (size_t i = 0; i < errors->count; i++) {
		const struct ri_gpu_error *error = &errors->items[i];

		ri_json_append(json, list, json_pack("{s:I, s:s, s:s, s:s, s:b}",
			"xid", (json_int_t)error->number, "gpu", error->address,
			"text", error->text, "of", error->of_program ? "program" : "hardware",
			"after_end", error->later));
	}
	ri_json_put(json, object, "listed", list);
	ri_json_put(json, object, "more", json_integer((json_int_t)errors->more));
	return object;
}

/* The rank that is named, where one is. */
static void put_named(struct ri_json *json, json_t *object, const struct ri_outcome *outcome)
{
	ssize_t named = ri_outcome_named(outcome);

	if (named >= 0) {
		put_numbers(json, object, outcome, &outcome->ranks[named]);
		return;
	}
	ri_json_put(json, object, "rank", json_null());
	ri_json_put(json, object, "local_rank", json_null());
}

/* The address of the peer that was lost. */
static json_t *describe_peer(struct ri_json *json, const struct ri_rank_outcome *rank)
{
	struct ri_span peer;
	char copy[RI_LOSS_ADDRESS];

	if (rank->evidence.loss == NULL ||
		!ri_loss_peer(rank->wrote.tail, rank->evidence.loss, &peer))
		return json_null();
	snprintf(copy, sizeof(copy), "%.*s", (int)peer.length, peer.at);
	return ri_json_string(json, copy, "node");
}

static json_t *describe_first(struct ri_json *json, const struct ri_report *report)
{
	const struct ri_outcome *outcome = report->outcome;
	const struct ri_rank_outcome *rank;
	struct ri_span file;
	json_t *object;

	if (outcome->first < 0)
		return json_null();
	rank = &outcome->ranks[outcome->first];
	file = rank->wrote.torch_error;
	object = json_object();
	put_named(json, object, outcome);
	ri_json_put(json, object, "class", describe_class(rank->evidence.class));
	ri_json_put(json, object, "elsewhere",
		json_boolean(outcome->blame == RI_BLAME_ELSEWHERE));
	ri_json_put(json, object, "node", describe_peer(json, rank));
	ri_json_put(json, object, "kind", json_string(kind_of(rank)));
	ri_json_put(json, object, "exit_code", exit_code(rank));
	ri_json_put(json, object, "signal", signal_name(rank));
	ri_json_put(json, object, "at", ri_time_json(rank->ended));
	ri_json_put(json, object, "cause", describe_cause(json, outcome->cause));
	ri_json_put(json, object, "reason", list_reason(json, report));
	ri_json_put(json, object, "traceback", describe_traceback(json, report->reason));
	ri_json_put(json, object, "last_lines", list_lines(json, report->reason));
	ri_json_put(json, object, "torch_error",
		file.at == NULL ? json_null() : ri_torch_error_json(json, file));
	return object;
}

/* A document of our own, but of strings that were in the memory of others. */
static json_t *describe_autopsy(const struct ri_outcome *outcome)
{
	json_t *document = outcome->hang.autopsy == NULL ? NULL
		: json_loads(outcome->hang.autopsy, JSON_REJECT_DUPLICATES, NULL);

	return document == NULL ? json_null() : document;
}

/* What all nodes saw together, and which rank held up the others. */
static json_t *describe_found(struct ri_json *json, const struct ri_link_outcome *link)
{
	json_t *object;
	bool named = link->found_rank >= 0;

	if (link->found == NULL)
		return json_null();
	object = json_object();
	ri_json_put(json, object, "at", ri_time_json(link->found_at));
	ri_json_put(json, object, "rank", named ? json_integer(link->found_rank) : json_null());
	ri_json_put(json, object, "node", named ? json_integer(link->found_node) : json_null());
	ri_json_put(json, object, "text", ri_json_string(json, link->found, "job_autopsy"));
	return object;
}

static json_t *describe_stop(const struct ri_outcome *outcome)
{
	char name[RI_SIGNAL_NAME];

	if (outcome->stop.signal == 0)
		return json_null();
	return json_pack("{s:s, s:o}", "signal", ri_signal_name(outcome->stop.signal, name), "at",
		ri_time_json(outcome->stop.at));
}

static json_t *list_facts(struct ri_json *json, const struct ri_outcome *outcome)
{
	json_t *object = json_object();

	for (size_t i = 0; i < outcome->facts.count; i++) {
		const struct ri_node_fact *fact = &outcome->facts.items[i];

		ri_json_put(json, object, fact->name,
			ri_json_string(json, fact->value, fact->name));
	}
	return object;
}

static json_t *describe_restart(struct ri_json *json, const struct ri_restart *restart)
{
	static const struct ri_topology unknown;
	const struct ri_outcome failed = {
		.count = 1, .launched = !restart->alone, .topology = &unknown,
	};
	json_t *object = json_object();

	ri_json_put(json, object, "number", json_integer((json_int_t)restart->number));
	ri_json_put(json, object, "most",
		restart->most == 0 ? json_null() : json_integer((json_int_t)restart->most));
	ri_json_put(json, object, "at", ri_time_json(restart->at));
	ri_json_put(json, object, "rank", !restart->known ? json_null()
		: describe_rank(json, &failed, &restart->first));
	ri_json_put(json, object, "exception", string_or_null(json,
		restart->words[0] == '\0' ? NULL : restart->words, "exception"));
	return object;
}

static json_t *list_restarts(struct ri_json *json, const struct ri_restarts *restarts)
{
	json_t *list = json_array();

	for (size_t i = 0; restarts != NULL && i < restarts->count; i++)
		ri_json_append(json, list, describe_restart(json, &restarts->items[i]));
	return list;
}

/* What this node is like, and what other nodes and other looks say. */
static void put_surroundings(struct ri_json *json, json_t *object,
	const struct ri_outcome *outcome)
{
	bool named = outcome->link.verdict != NULL && outcome->link.verdict_node >= 0;

	ri_json_put(json, object, "stop", describe_stop(outcome));
	ri_json_put(json, object, "facts", list_facts(json, outcome));
	ri_json_put(json, object, "roll_call",
		string_or_null(json, outcome->link.roll_call, "roll_call"));
	ri_json_put(json, object, "roll_call_unproved",
		string_or_null(json, outcome->link.unproved, "roll_call"));
	ri_json_put(json, object, "clock", !outcome->link.compared ? json_null()
		: json_pack("{s:f, s:f}", "ahead_s", outcome->link.ahead_s, "error_s",
			outcome->link.error_s));
	ri_json_put(json, object, "gpu_errors", describe_gpu_errors(json, outcome->gpu_errors));
	ri_json_put(json, object, "restarts", list_restarts(json, outcome->restarts));
	ri_json_put(json, object, "autopsy", describe_autopsy(outcome));
	ri_json_put(json, object, "job_autopsy", describe_found(json, &outcome->link));
	ri_json_put(json, object, "job_verdict_node",
		named ? json_integer(outcome->link.verdict_node) : json_null());
}

int ri_report_render(const struct ri_report *report, struct ri_text *out)
{
	const struct ri_outcome *outcome = report->outcome;
	struct ri_json json = { .escapes = 0 };
	json_t *object = json_object();
	int status = -1;

	ri_json_put(&json, object, "schema", json_string("rankinit-report-1"));
	ri_json_put(&json, object, "version", json_string(report->version));
	ri_json_put(&json, object, "exit_status", json_integer(outcome->exit_status));
	ri_json_put(&json, object, "launch", json_string(outcome->launch));
	ri_json_put(&json, object, "host", string_or_null(&json, outcome->host, "host"));
	ri_json_put(&json, object, "started", ri_time_json(outcome->started));
	ri_json_put(&json, object, "ended", ri_time_json(outcome->ended));
	ri_json_put(&json, object, "topology", ri_json_topology(&json, outcome->topology));
	ri_json_put(&json, object, "ranks", list_ranks(&json, outcome));
	ri_json_put(&json, object, "first_failure", describe_first(&json, report));
	ri_json_put(&json, object, "verdict", ri_brief_json(&json, outcome->brief));
	ri_json_put(&json, object, "refusal", report->refusal == NULL ? json_null()
		: split(&json, report->refusal, "refusal"));
	ri_json_put(&json, object, "job_verdict",
		string_or_null(&json, outcome->link.verdict, "job_verdict"));
	put_surroundings(&json, object, outcome);
	ri_json_put(&json, object, "check", report->check == NULL ? json_null()
		: report->check(&json, report->checked));
	if (!json.incomplete)
		status = ri_json_dump(object, RI_JSON_LOOK, out);
	json_decref(object);
	ri_text_add(out, "\n");
	return status < 0 || out->cut ? -1 : 0;
}
