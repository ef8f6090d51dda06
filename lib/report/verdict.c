/* SPDX-License-Identifier: Apache-2.0 */
#include "report/verdict.h"

#include <signal.h>

#include "redact/redact.h"
#include "report/culprit.h"
#include "report/members.h"

enum { MESSAGE_LINES = 8 };	/* after the first, that are looked at */

static const struct {
	const char *name;
	enum ri_retry retry;
} words[] = {
#define RI_CAUSE(symbol, word, retry_, meaning, seen, example) \
	[RI_CAUSE_##symbol] = { word, RI_RETRY_##retry_ },
#include "report/causes.def"
#undef RI_CAUSE
};

const struct ri_why ri_why_stopped = { RI_CAUSE_PREEMPTED, RI_RETRY_SAME };
const struct ri_why ri_why_unknown = { RI_CAUSE_UNKNOWN, RI_RETRY_SAME };

const char *ri_cause_word_name(enum ri_cause_word word)
{
	return words[word].name;
}

enum ri_cause_word ri_cause_word_of(const char *name)
{
	for (int word = 0; name != NULL && word < RI_CAUSE_COUNT; word++)
		if (strcmp(words[word].name, name) == 0)
			return (enum ri_cause_word)word;
	return RI_CAUSE_UNKNOWN;
}

const char *const ri_retry_words[] = {
	[RI_RETRY_NEVER] = "never",
	[RI_RETRY_SAME] = "same",
	[RI_RETRY_OTHER_NODE] = "other_node",
};

int ri_exit_class(int status, enum ri_retry retry)
{
	if (status == 0)
		return 0;
	if (retry == RI_RETRY_NEVER)
		return RI_EXIT_NEVER;
	return retry == RI_RETRY_OTHER_NODE && status != ri_code_status(RI_CODE_LINK_STOPPED)
		? RI_EXIT_OTHER_NODE : RI_EXIT_SAME;
}

enum ri_retry ri_retry_of(const char *name, enum ri_cause_word cause)
{
	for (int i = 0; name != NULL && i < RI_RETRY_COUNT; i++)
		if (strcmp(ri_retry_words[i], name) == 0)
			return (enum ri_retry)i;
	return words[cause].retry;
}

static struct ri_why why_of(enum ri_cause_word cause)
{
	return (struct ri_why){ cause, words[cause].retry };
}

struct ri_why ri_why_of_refusal(int status)
{
	static const enum ri_cause_word causes[] = {
		[123] = RI_CAUSE_UNFIT, [124] = RI_CAUSE_DNS, [125] = RI_CAUSE_REFUSED,
		[126] = RI_CAUSE_EXEC, [127] = RI_CAUSE_EXEC,
	};

	return why_of(status < 123 || status > 127 ? RI_CAUSE_UNKNOWN : causes[status]);
}

/* --- why a rank ended -------------------------------------------------------- */

static const struct {
	enum ri_cause_word cause;
	const char *shape;
} rows[] = {
#define RI_CAUSED(cause_, shape_, source_) { RI_CAUSE_##cause_, shape_ },
#include "words/words.def"
};

/* Whose words a line is: of anybody, or the message of what ended the process. */
enum source { OF_LOG, OF_EXCEPTION };

/* A good node would be taken away by a word that is quoted, logged, or of a child. */
static bool may_be_hardware(struct ri_span text, const char *at, enum source source)
{
	for (const char *c = text.at; c < at; c++)
		if (*c == '\'' || *c == '"' || *c == '`')
			return false;
	/* NCCL 2.27 src/debug.cc, ncclDebugLog: host, pid, thread and device stand before it */
	return source == OF_EXCEPTION || ri_shape_fits(text, "*:~*:~* [*] *NCCL WARN *");
}

/* Returns false, and leaves *out, where no row fits. */
static bool find_words(struct ri_span text, enum source source, enum ri_cause_word *out)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows) && text.length > 0; i++) {
		const char *at = ri_shape_fits(text, rows[i].shape);

		if (at == NULL || (words[rows[i].cause].retry == RI_RETRY_OTHER_NODE &&
			!may_be_hardware(text, at, source)))
			continue;
		*out = rows[i].cause;
		return true;
	}
	return false;
}

/* In so many further lines of a message, or a few. */
static bool find_more(const struct ri_traceback *traceback, struct ri_span more, size_t lines,
	enum source source, enum ri_cause_word *out)
{
	struct ri_span line;

	for (size_t i = 0; i < lines && i < MESSAGE_LINES && ri_span_line(&more, &line); i++)
		if (find_words(ri_traceback_line(traceback, line), source, out))
			return true;
	return false;
}

/*
 * The first exception of its chain explains the last one, and the one before it that leads is the
 * cause of what a program's end came to. What stands behind a loss came after it.
 */
static bool find_exception(const struct ri_reason *reason, size_t lines, enum ri_cause_word *out)
{
	const struct ri_traceback *traceback = &reason->traceback;
	const struct ri_span spans[] = { traceback->cause, traceback->member, traceback->last };
	const struct ri_traceback before = ri_traceback_before(traceback);

	if (reason->words.before_leads)
		return find_words(before.last, OF_LOG, out) ||
			find_more(&before, before.more, MESSAGE_LINES, OF_LOG, out);
	for (size_t i = 0; i < RI_ARRAY_SIZE(spans); i++)
		if (find_words(ri_traceback_line(traceback, spans[i]), OF_EXCEPTION, out) ||
			(i == 0 && find_more(traceback, traceback->cause_more, MESSAGE_LINES,
				OF_EXCEPTION, out)))
			return true;
	return find_more(traceback, traceback->more, lines, OF_EXCEPTION, out);
}

/* C++ tells its exception before it aborts: the message is the program's own end. */
static bool find_last_words(const struct ri_last_words *last, bool aborted,
	enum ri_cause_word *out)
{
	for (size_t i = 0; i < last->count; i++) {
		bool message = aborted && (ri_span_starts(last->lines[i], "what(): ") ||
			ri_span_starts(last->lines[i], "libc++abi: terminating "));

		if (find_words(last->lines[i], message ? OF_EXCEPTION : OF_LOG, out))
			return true;
	}
	return false;
}

/*
 * In those words of the rank that explain its end. What its runtime said before an exception that
 * only tells of that leads; and a worker that spoke was not killed.
 */
static bool find_in_words(const struct ri_outcome *outcome, enum ri_cause_word *out)
{
	const struct ri_rank_outcome *first = &outcome->ranks[outcome->first];
	const struct ri_reason *reason = outcome->reason;
	bool raised = first->evidence.ended_of_traceback;

	if (reason == NULL || (raised && !reason->has_traceback) ||
		(!raised && first->evidence.ended_of_file))
		return false;
	if ((reason->words.lead || !raised) &&
		find_last_words(&reason->words, ri_rank_signal(first) == SIGABRT, out))
		return true;
	if (!raised || !find_exception(reason, first->evidence.words.message_lines, out))
		return false;
	if (*out == RI_CAUSE_KILLED && reason->words.count > 0)
		*out = RI_CAUSE_EXCEPTION;
	return true;
}

/* In what torch wrote of the exception, where stderr has none. */
static bool find_in_file(const struct ri_rank_outcome *rank, enum ri_cause_word *out)
{
	struct ri_torch_error error;

	if (!rank->evidence.ended_of_file || !ri_torch_error_read(rank->wrote.torch_error, &error))
		return false;
	if (!find_words(ri_span_of(error.message), OF_EXCEPTION, out))
		*out = RI_CAUSE_EXCEPTION;
	return true;
}

/* A program that takes a stop as a reason to end well says so at last, as logs have it. */
static bool tells_of_stop(struct ri_span tail)
{
	static const char *const stops[] = { "SIGTERM", "signal 15", "Signal 15" };
	enum { LAST = 1024 };

	if (tail.length > LAST)
		tail = ri_span_skip(tail, tail.length - LAST);
	return ri_span_has_any(tail, stops, RI_ARRAY_SIZE(stops));
}

/* The ranks did not meet where no rank opened the store. */
static enum ri_cause_word of_clock(const struct ri_loss *loss)
{
	return loss->log == RI_LOSS_LOG_SOCKET ? RI_CAUSE_RENDEZVOUS : RI_CAUSE_TIMEOUT;
}

/* It did not fail of its own: by what it lost. */
static enum ri_cause_word of_loss(const struct ri_outcome *outcome, const struct ri_loss *loss)
{
	const struct ri_rank_outcome *named;
	struct ri_collectives works;

	if (outcome->culprit == RI_CULPRIT_LEFT)
		return tells_of_stop(outcome->ranks[outcome->named].wrote.tail)
			? RI_CAUSE_PREEMPTED : RI_CAUSE_EARLY_EXIT;
	/* Did another rank of this node end with 0, which this one waited for? */
	for (size_t i = 0; outcome->culprit == RI_CULPRIT_FIRST && i < outcome->count; i++)
		if (outcome->ranks[i].end == RI_END_EXITED && outcome->ranks[i].exit_code == 0)
			return RI_CAUSE_EARLY_EXIT;
	if (loss->kind == RI_LOSS_CLOCK) {
		/* NCCL's watchdogs name the collectives in which ranks wait */
		ri_collectives_find(outcome, &works);
		if (works.step == RI_STEP_APART)
			return RI_CAUSE_MISMATCH;
	}
	if (outcome->culprit == RI_CULPRIT_HELD && loss->kind != RI_LOSS_MISMATCH) {
		/* all others waited for this one alone until their time was over */
		named = &outcome->ranks[outcome->named];
		if (named->handled && named->evidence.words.loss == NULL)
			return RI_CAUSE_EXCEPTION;
		return named->spoke ? RI_CAUSE_LATE : of_clock(loss);
	}
	switch (loss->kind) {
	case RI_LOSS_MISMATCH:
		return RI_CAUSE_MISMATCH;
	case RI_LOSS_CLOCK:
		return of_clock(loss);
	case RI_LOSS_STORE:
		return RI_CAUSE_RENDEZVOUS;
	default:
		return RI_CAUSE_UNKNOWN;
	}
}

/* A status of its own, without a word that a row has. */
static struct ri_why of_status(const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	/* Python has one status for all, so a rank that was not read may have lost another */
	bool may_lose = ri_outcome_has_ranks(outcome) || outcome->launches ||
		ri_outcome_nodes(outcome) > 1;
	bool own = rank->end == RI_END_EXITED && (rank->exit_code != 1 || !may_lose);

	if (rank->evidence.complained)
		return why_of(RI_CAUSE_EXCEPTION);
	if (rank->wrote.tail.at != NULL)
		return why_of(RI_CAUSE_EXIT_STATUS);
	return (struct ri_why){ RI_CAUSE_UNKNOWN, own ? RI_RETRY_NEVER : RI_RETRY_SAME };
}

struct ri_why ri_why_find(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *first;
	bool raised;
	int number;
	enum ri_cause_word found;

	if (outcome->first < 0)
		return why_of(outcome->stop.signal != 0 ? RI_CAUSE_PREEMPTED : RI_CAUSE_UNKNOWN);
	first = &outcome->ranks[outcome->first];
	if (first->evidence.loss != NULL)
		return why_of(of_loss(outcome, first->evidence.loss));
	if (outcome->culprit == RI_CULPRIT_UNKNOWN)
		return ri_why_unknown;
	/* How it ended comes first, then the words that explain exactly that. */
	raised = first->evidence.ended_of_traceback || first->evidence.ended_of_file;
	number = ri_rank_signal(first);
	if (first->end == RI_END_EXEC_FAILED)
		return why_of(RI_CAUSE_EXEC);
	if (first->oom)
		return why_of(RI_CAUSE_OOM_HOST);
	if (ri_signal_is_foreign(number) && (!raised || !first->told_to_stop))
		return why_of(RI_CAUSE_KILLED);
	if ((raised || first->evidence.telling >= RI_TELLING_LOG) &&
		(find_in_words(outcome, &found) || find_in_file(first, &found)))
		return why_of(found);
	if (outcome->cause != NULL && (outcome->cause->code == RI_CODE_SHM_FREE_SMALL ||
		outcome->cause->code == RI_CODE_SHM_SIZE_SMALL))
		return why_of(RI_CAUSE_SHM_FULL);
	if (raised)
		return why_of(RI_CAUSE_EXCEPTION);
	if (number == 0)
		return of_status(outcome, first);
	return why_of(number == SIGPIPE ? RI_CAUSE_UNKNOWN : RI_CAUSE_SIGNAL);
}

/* --- the verdict, its line and its member of the report ---------------------- */

void ri_verdict_begin(struct ri_verdict *out, const struct ri_topology *topology, const char *host)
{
	uint64_t node;

	*out = (struct ri_verdict){ .rank = -1, .node = -1 };
	if (topology != NULL && ri_topology_get(topology, RI_FACT_NODE_RANK, &node))
		out->node = (int64_t)node;
	ri_text_copy(out->host, sizeof(out->host), host);
}

int64_t ri_verdict_rank(const struct ri_outcome *outcome)
{
	ssize_t named = ri_outcome_named(outcome);

	if (named < 0)
		return -1;
	if (outcome->ranks[named].actor != NULL)
		return outcome->ranks[named].actor->rank;
	return ri_outcome_has_ranks(outcome) ? (int64_t)outcome->ranks[named].rank : -1;
}

bool ri_verdict_find(struct ri_verdict *out, const struct ri_outcome *outcome, int status)
{
	bool of_job = outcome->link.verdict != NULL && !outcome->link.is_here;
	ssize_t named = ri_outcome_named(outcome);

	if (outcome->first < 0 && ((outcome->stop.signal == 0 && !of_job) ||
		outcome->exit_status == 0))
		return false;
	ri_verdict_begin(out, outcome->topology, outcome->host);
	out->why = ri_why_find(outcome);
	if (of_job) {
		*out = *outcome->link.verdict;	/* each of its nodes tells that alike */
	} else if (outcome->first >= 0) {
		out->class = outcome->ranks[outcome->first].evidence.class;
		out->rank = ri_verdict_rank(outcome);
		/* it may have run elsewhere; an actor of Ray's has an address, of any node */
		if (outcome->culprit == RI_CULPRIT_ELSEWHERE ||
			(named >= 0 && outcome->ranks[named].actor != NULL)) {
			out->node = -1;
			out->host[0] = '\0';
		}
	} else {
		out->class = RI_CLASS_STOPPED;
		for (size_t i = 0; i < outcome->count; i++)
			out->failed_before |= ri_class_was_held(outcome, &outcome->ranks[i]);
		if (outcome->single)
			out->rank = (int64_t)outcome->ranks[0].rank;
	}
	out->status = status;
	out->retries = outcome->restarts == NULL ? 0 : outcome->restarts->all;
	if (outcome->inner != NULL) {
		out->why = outcome->inner->verdict.why;
		out->class = outcome->inner->verdict.class;
		out->rank = outcome->inner->verdict.rank;
		out->status = outcome->inner->verdict.status;
	}
	return true;
}

static bool is_plain(const char *value)
{
	for (; *value != '\0'; value++)
		if (*value <= ' ' || *value > '~' || strchr("\"=\\", *value) != NULL)
			return false;
	return true;
}

/* As in a string of JSON; bytes that are no UTF-8 are replaced. */
static void add_escaped(struct ri_text *out, const char *value)
{
	size_t length;

	for (; *value != '\0'; value += length) {
		unsigned code = (unsigned char)value[0];

		length = ri_utf8_length(value);
		if (length == 2)
			code = (code & 0x1f) << 6 | ((unsigned char)value[1] & 0x3f);
		if (length == 0)
			ri_text_add(out, "\\ufffd");
		else if (length <= 2 && (code < ' ' || (code > '~' && code < 0xa0)))
			ri_text_addf(out, "\\u%04x", code);
		else if (code == '"' || code == '\\')
			ri_text_addf(out, "\\%c", (int)code);
		else
			ri_text_add_bytes(out, value, length);
		length += length == 0;
	}
}

/* A name that somebody else gave. */
static void add_name(struct ri_text *out, const char *key, const char *value)
{
	RI_TEXT(name, RI_VERDICT_LINE);

	if (value == NULL || value[0] == '\0')
		return;
	ri_redact_word(&name, value);
	out->cut = out->cut || name.cut;
	ri_text_addf(out, is_plain(name.bytes) ? " %s=" : " %s=\"", key);
	add_escaped(out, name.bytes);
	ri_text_add(out, is_plain(name.bytes) ? "" : "\"");
}

static void add_number(struct ri_text *out, const char *key, int64_t number)
{
	if (number >= 0)
		ri_text_addf(out, " %s=%lld", key, (long long)number);
}

void ri_verdict_add_line(struct ri_text *out, const struct ri_verdict *verdict,
	const struct ri_topology *topology)
{
	const char *job = topology != NULL && ri_topology_knows(topology, RI_FACT_JOB_ID)
		? topology->facts[RI_FACT_JOB_ID].text : NULL;
	char line[RI_VERDICT_LINE_SIZE];
	struct ri_text text;

	for (int dropped = 0; dropped <= 2; dropped++) {
		text = ri_text_of(line, sizeof(line));
		ri_text_addf(&text, "verdict cause=%s", ri_cause_word_name(verdict->why.cause));
		add_name(&text, "class", ri_class_words[verdict->class]);
		add_name(&text, "retry", ri_retry_words[verdict->why.retry]);
		add_number(&text, "rank", verdict->rank);
		add_number(&text, "node", verdict->node);
		add_name(&text, "host", dropped > 1 ? NULL : verdict->host);
		add_number(&text, "status", verdict->status);
		if (verdict->why.cause == RI_CAUSE_PREEMPTED)
			add_name(&text, "failed_before", verdict->failed_before ? "yes" : "no");
		add_number(&text, "retries", (int64_t)verdict->retries);
		add_name(&text, "restarted", verdict->restarted ? "yes" : NULL);
		add_name(&text, "job", dropped > 0 ? NULL : job);
		if (!text.cut)
			break;
	}
	ri_text_add(out, line);
}

json_t *ri_verdict_json(struct ri_json *json, const struct ri_verdict *verdict)
{
	struct ri_report_verdict part;

	if (verdict == NULL)
		return json_null();
	part = (struct ri_report_verdict){
		.cause = ri_cause_word_name(verdict->why.cause), .class = (int)verdict->class,
		.retry = ri_retry_words[verdict->why.retry], .rank = verdict->rank,
		.node = verdict->node,
		.host = verdict->host[0] == '\0' ? NULL : verdict->host,
		.status = verdict->status, .retries = (int64_t)verdict->retries,
		.failed_before = verdict->why.cause != RI_CAUSE_PREEMPTED ? json_null()
			: json_boolean(verdict->failed_before),
	};
	return ri_members_write(json, ri_report_verdict, &part);
}

/* --- two rankinits in one job ------------------------------------------------- */

static const char magic[24] = "rankinit-inner " RI_VERSION;

void ri_inner_word_write(const struct ri_inner_word *word, char bytes[RI_INNER_WORD])
{
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + sizeof(magic), word, sizeof(*word));
}

bool ri_inner_word_read(struct ri_inner_word *out, const char *bytes, size_t length)
{
	struct ri_inner_word word;

	if (length != RI_INNER_WORD || memcmp(bytes, magic, sizeof(magic)) != 0)
		return false;
	memcpy(&word, bytes + sizeof(magic), sizeof(word));
	if (!ri_verdict_is_sound(&word.verdict) || word.verdict.status == 0 || word.of_rank < -1 ||
		word.exit_status < 1 || word.exit_status > 255)
		return false;
	memcpy(out, &word, sizeof(word));
	return true;
}
