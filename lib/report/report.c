/* SPDX-License-Identifier: Apache-2.0 */
#include "report/verdict.h"

#include <stdio.h>

#include "base/signals.h"
#include "report/members.h"
#include "words/words.h"

enum { MAX_LINE = 4096 };	/* of a log, or of the path of one */

/* A plain init's command has no number, and an actor of Ray's tells its rank alone. */
static void find_numbers(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank,
	int64_t *number, int64_t *local)
{
	bool alone = outcome->count == 1 && !outcome->launched;

	*number = alone && !ri_topology_knows(outcome->topology, RI_FACT_RANK)
		? -1 : (int64_t)rank->rank;
	*local = alone && !ri_topology_knows(outcome->topology, RI_FACT_LOCAL_RANK)
		? -1 : (int64_t)rank->local_rank;
	if (rank->actor != NULL) {
		*number = rank->actor->rank;
		*local = -1;
	}
}

static int64_t exit_code(const struct ri_rank_outcome *rank)
{
	return rank->end == RI_END_EXITED ? rank->exit_code : -1;
}

static const char *signal_name(const struct ri_rank_outcome *rank, char name[RI_SIGNAL_NAME])
{
	return rank->end == RI_END_SIGNALED ? ri_signal_name(rank->signal, name) : NULL;
}

/* In which collective it was, by NCCL's watchdog. */
static json_t *describe_work(const struct ri_words *words)
{
	const struct ri_work *work = &words->work;
	json_t *object;

	if (!words->has_work)
		return json_null();
	object = json_object();
	json_object_set_new(object, "group", json_string(work->group));
	json_object_set_new(object, "op", json_string(work->op));
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
	const struct ri_loss *loss = rank->evidence.loss;
	char name[RI_SIGNAL_NAME];
	struct ri_report_rank part = {
		.pid = rank->pid == 0 ? -1 : rank->pid, .state = (int)rank->end,
		.exit_code = exit_code(rank), .signal = signal_name(rank, name),
		.told = rank->told_to_stop, .word_of = rank->word_of,
		.class = (int)rank->evidence.class,
		.lost = loss == NULL ? RI_LOSS_OWN : (int)loss->kind,
		.work = describe_work(&rank->evidence.words),
		.started = ri_time_us(rank->started), .ended = ri_time_us(rank->ended),
		.log = rank->wrote.log,
	};

	find_numbers(outcome, rank, &part.rank, &part.local_rank);
	return ri_members_write(json, ri_report_rank, &part);
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

/* The traceback as it was written, but for what torch puts before each line. */
static json_t *describe_traceback(struct ri_json *json, const struct ri_reason *reason)
{
	static char copy[2 * RI_MAX_TAIL];
	struct ri_span rest = reason->traceback.whole, line;
	struct ri_text text = ri_text_of(copy, sizeof(copy));

	if (!reason->has_traceback)
		return json_null();
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
	struct ri_span rest = ri_span_of(text), line;
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
static json_t *list_reason(struct ri_json *json, const struct ri_outcome *outcome)
{
	static char lines[RI_VERDICT_SIZE];
	struct ri_text text = ri_text_of(lines, sizeof(lines));

	if (outcome->ranks[outcome->first].end != RI_END_EXEC_FAILED)
		ri_reason_add(&text, &outcome->ranks[outcome->first], outcome->reason);
	return split(json, lines, "reason");
}

/* Each line as a string of its own, cut where it is too long to read. */
static json_t *list_lines(struct ri_json *json, const struct ri_reason *reason)
{
	json_t *list = json_array();

	for (size_t i = 0; i < reason->line_count; i++) {
		RI_TEXT(text, MAX_LINE);

		ri_text_add_bytes(&text, reason->lines[i].at, reason->lines[i].length);
		/* the last character may be half of one */
		if (text.cut)
			text.bytes[ri_member_cut(text.bytes, text.length - 1)] = '\0';
		ri_json_append(json, list, ri_json_string(json, text.bytes, "last_lines"));
	}
	return list;
}

/* A part that has a table of its own, or null. */
static json_t *write_known(struct ri_json *json, bool known,
	const struct ri_report_member *members, const void *part)
{
	return known ? ri_members_write(json, members, part) : json_null();
}

/* The address of the peer that was lost; NULL: it is not told. */
static const char *find_peer(const struct ri_rank_outcome *rank, char copy[RI_LOSS_ADDRESS])
{
	struct ri_span peer;

	if (rank->evidence.loss == NULL ||
		!ri_loss_peer(rank->wrote.tail, rank->evidence.loss, &peer))
		return NULL;
	snprintf(copy, RI_LOSS_ADDRESS, "%.*s", (int)peer.length, peer.at);
	return copy;
}

static json_t *describe_first(struct ri_json *json, const struct ri_outcome *outcome)
{
	ssize_t named = ri_outcome_named(outcome);
	char peer[RI_LOSS_ADDRESS], name[RI_SIGNAL_NAME];
	const struct ri_cause *cause = outcome->cause;
	const struct ri_rank_outcome *rank;
	struct ri_report_failure part;
	struct ri_report_cause why;
	struct ri_span file;

	if (outcome->first < 0)
		return json_null();
	if (cause != NULL)
		why = (struct ri_report_cause){
			.code = ri_code_name(cause->code), .subject = cause->subject,
			.text = cause->text, .hint = cause->hint,
		};
	rank = &outcome->ranks[outcome->first];
	file = rank->wrote.torch_error;
	part = (struct ri_report_failure){
		.rank = -1, .local_rank = -1, .class = (int)rank->evidence.class,
		.elsewhere = outcome->culprit == RI_CULPRIT_ELSEWHERE,
		.node = find_peer(rank, peer),
		.kind = kind_of(rank), .exit_code = exit_code(rank),
		.signal = signal_name(rank, name), .at = ri_time_us(rank->ended),
		.cause = write_known(json, cause != NULL, ri_report_cause, &why),
		.reason = list_reason(json, outcome),
		.traceback = describe_traceback(json, outcome->reason),
		.last_lines = list_lines(json, outcome->reason),
		.torch_error = file.at == NULL ? json_null() : ri_torch_error_json(json, file),
	};
	if (named >= 0)
		find_numbers(outcome, &outcome->ranks[named], &part.rank, &part.local_rank);
	return ri_members_write(json, ri_report_failure, &part);
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

static json_t *list_restarts(struct ri_json *json, const struct ri_restarts *restarts)
{
	static const struct ri_topology unknown;
	json_t *list = json_array();

	for (size_t i = 0; restarts != NULL && i < restarts->count; i++) {
		const struct ri_restart *restart = &restarts->items[i];
		const struct ri_outcome failed = {
			.count = 1, .launched = !restart->alone, .topology = &unknown,
		};
		const struct ri_report_restart part = {
			.number = (int64_t)restart->number,
			.most = restart->most == 0 ? -1 : (int64_t)restart->most,
			.at = ri_time_us(restart->at), .rank = !restart->known ? json_null()
				: describe_rank(json, &failed, &restart->first),
			.exception = restart->of_job || restart->words[0] == '\0' ? NULL
				: restart->words,
			.verdict = ri_verdict_json(json, restart->of_job ? &restart->verdict
				: NULL),
			.job_verdict = restart->of_job ? restart->words : NULL,
		};

		ri_json_append(json, list, ri_members_write(json, ri_report_restart, &part));
	}
	return list;
}

int ri_report_render(struct ri_json *json, const struct ri_report *report, struct ri_text *out)
{
	const struct ri_outcome *outcome = report->outcome;
	const struct ri_link_outcome *link = &outcome->link;
	const struct ri_report_stop stop = {
		RI_SIGNAL_SHOWN(outcome->stop.signal), ri_time_us(outcome->stop.at),
	};
	/* a document of our own, but of strings that were in the memory of others */
	json_t *autopsy = outcome->hang.autopsy == NULL ? NULL
		: json_loads(outcome->hang.autopsy, JSON_REJECT_DUPLICATES, NULL);
	const struct ri_report_file part = {
		.schema = ri_report_schema, .version = report->version,
		.exit_status = outcome->exit_status, .launch = outcome->launch,
		.host = outcome->host, .started = ri_time_us(outcome->started),
		.ended = ri_time_us(outcome->ended),
		.topology = ri_json_topology(json, outcome->topology),
		.ranks = list_ranks(json, outcome),
		.first_failure = describe_first(json, outcome),
		.verdict = ri_verdict_json(json, outcome->verdict),
		.refusal = report->refusal == NULL ? json_null()
			: split(json, report->refusal, "refusal"),
		.job_verdict = link->text,
		.stop = write_known(json, outcome->stop.signal != 0, ri_report_stop, &stop),
		.facts = list_facts(json, outcome), .roll_call = link->roll_call,
		.roll_call_unproved = link->unproved,
		.clock = write_known(json, link->clock != NULL, ri_report_clock, link->clock),
		.restarts = list_restarts(json, outcome->restarts),
		.autopsy = autopsy == NULL ? json_null() : autopsy,
		.job_autopsy = write_known(json, link->found != NULL, ri_report_found,
			link->found),
		.job_verdict_node = link->verdict != NULL ? link->verdict->node : -1,
		.check = report->check == NULL ? json_null() : report->check,
	};

	return ri_json_end(json, ri_members_write(json, ri_report_file, &part), RI_JSON_LOOK,
		out);
}
