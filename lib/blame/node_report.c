/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/node_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/number.h"
#include "base/text.h"
#include "report/class.h"

#define SECOND INT64_C(1000000)

static const char schema[] = "rankinit-report-1";
static const char mark[] = "\xef\xbb\xbf";	/* of bytes, which editors put before a text */

enum {
	FAMILY = sizeof(schema) - 2,	/* of it, before the number of its version */
	CLOCK_MOST_S = 86400 * 366,	/* what lies further apart is no offset */
	YEARS_MOST = 9999,
};

/* One digit group of so many digits, and what stands behind it; -1: it is none. */
static int64_t read_part(const char **text, size_t digits, char end)
{
	uint64_t value = 0;
	size_t got = ri_digits_read(*text, &value);

	if (got != digits || (*text)[got] != end)
		return -1;
	*text += got + 1;
	return (int64_t)value;
}

int64_t ri_time_parse(const char *text)
{
	int64_t year = read_part(&text, 4, '-'), month, day, hour, minute, second, part;
	struct tm time;

	if (year < 1970 || year > YEARS_MOST)
		return 0;
	month = read_part(&text, 2, '-');
	day = month < 1 || month > 12 ? -1 : read_part(&text, 2, 'T');
	hour = day < 1 || day > 31 ? -1 : read_part(&text, 2, ':');
	minute = hour < 0 || hour > 23 ? -1 : read_part(&text, 2, ':');
	second = minute < 0 || minute > 59 ? -1 : read_part(&text, 2, '.');
	part = second < 0 || second > 60 ? -1 : read_part(&text, 3, 'Z');
	if (part < 0 || *text != '\0')
		return 0;
	time = (struct tm){
		.tm_year = (int)year - 1900, .tm_mon = (int)month - 1, .tm_mday = (int)day,
		.tm_hour = (int)hour, .tm_min = (int)minute, .tm_sec = (int)second,
	};
	return (int64_t)timegm(&time) * SECOND + part * 1000;
}

/* How many bytes of the text are whole characters and at most so many. */
static int cut(const char *text, size_t most)
{
	size_t length = strlen(text);

	if (length > most)
		for (length = most; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	return (int)length;
}

/* A copy of a string, cut; NULL where the value is no string, or out of memory. */
static const char *keep(const json_t *value, size_t most, struct ri_arena *arena)
{
	const char *text = json_string_value(value);

	return text == NULL ? NULL : ri_arena_copy(arena, text, (size_t)cut(text, most));
}

static const char *keep_word(const json_t *object, const char *key, struct ri_arena *arena)
{
	return keep(json_object_get(object, key), RI_REPORTED_WORD, arena);
}

/* A whole number from 0 to most, or -1. */
static int64_t number_of(const json_t *value, int64_t most)
{
	json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	return number < 0 || number > most ? -1 : (int64_t)number;
}

static int64_t time_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? 0 : ri_time_parse(text);
}

/* The index of a word among those of a list, or 0. */
static int index_of(const json_t *value, const char *const *words, int count)
{
	const char *word = json_string_value(value);

	for (int i = 0; word != NULL && i < count; i++)
		if (words[i] != NULL && strcmp(words[i], word) == 0)
			return i;
	return 0;
}

static enum ri_class class_of(const json_t *object)
{
	const char *const words[] = {
		NULL, ri_class_name(RI_CLASS_STOPPED), ri_class_name(RI_CLASS_LOSS),
		ri_class_name(RI_CLASS_UNKNOWN), ri_class_name(RI_CLASS_OWN),
	};

	return (enum ri_class)index_of(json_object_get(object, "class"), words, 5);
}

static void read_rank(struct ri_reported_rank *out, const json_t *rank)
{
	static const char *const states[] = {
		"not-started", "running", "exited", "signaled", "exec-failed",
	};

	*out = (struct ri_reported_rank){
		.rank = number_of(json_object_get(rank, "rank"), RI_MAX_RANKS - 1),
		.local_rank = number_of(json_object_get(rank, "local_rank"), RI_MAX_RANKS - 1),
		.began = time_of(rank, "started"), .ended = time_of(rank, "ended"),
		.exit_code = (int)number_of(json_object_get(rank, "exit_code"), 255),
		.end = (enum ri_rank_end)index_of(json_object_get(rank, "state"), states, 5),
		.class = class_of(rank), .told = json_is_true(json_object_get(rank, "told")),
		.lost = ri_loss_kind_of(json_string_value(json_object_get(rank, "lost"))),
	};
}

static int read_ranks(struct ri_node_report *out, const json_t *document, struct ri_arena *arena)
{
	const json_t *list = json_object_get(document, "ranks");
	size_t count = json_array_size(list);

	if (count == 0 || count > RI_MAX_LOCAL)
		return -1;
	out->ranks = ri_arena_array(arena, count, sizeof(*out->ranks));
	if (out->ranks == NULL)
		return -1;
	for (; out->count < count; out->count++) {
		const json_t *rank = json_array_get(list, out->count);

		if (!json_is_object(rank))
			return -1;
		read_rank(&out->ranks[out->count], rank);
	}
	return 0;
}

/* What the topology knows of one fact. */
static const json_t *fact_of(const json_t *document, const char *name)
{
	const json_t *topology = json_object_get(document, "topology");

	return json_object_get(json_object_get(topology, name), "value");
}

static const char *describe_end(const json_t *failure, struct ri_arena *arena)
{
	const char *kind = json_string_value(json_object_get(failure, "kind"));
	const char *signal = json_string_value(json_object_get(failure, "signal"));
	int64_t code = number_of(json_object_get(failure, "exit_code"), 255);

	if (kind != NULL && strcmp(kind, "exec") == 0)
		return "it could not be started";
	if (signal != NULL)
		return ri_arena_format(arena, "killed by %.24s%s", signal,
			kind != NULL && strcmp(kind, "oom") == 0 ? ": out of memory" : "");
	if (code >= 0)
		return ri_arena_format(arena, "exit status %d", (int)code);
	return "it is unknown how it ended";
}

/* "/dev/shm was full: what to do [code]" */
static const char *describe_cause(const json_t *cause, struct ri_arena *arena)
{
	const char *subject = json_string_value(json_object_get(cause, "subject"));
	const char *text = json_string_value(json_object_get(cause, "text"));
	const char *hint = json_string_value(json_object_get(cause, "hint"));

	if (subject == NULL || text == NULL)
		return NULL;
	if (hint == NULL)
		hint = "";
	return ri_arena_format(arena, "%.*s: %.*s%s%.*s", cut(subject, 255), subject,
		cut(text, 500), text, hint[0] == '\0' ? "" : "; ", cut(hint, 255), hint);
}

static void keep_lines(struct ri_reported_failure *failure, const json_t *lines,
	struct ri_arena *arena)
{
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = failure->line_count == RI_REPORTED_LINES ? NULL
			: keep(json_array_get(lines, i), RI_REPORTED_LINE, arena);

		if (line != NULL)
			failure->lines[failure->line_count++] = line;
	}
}

/* As the verdict has them: report/outcome.h. */
static void keep_gpu_errors(struct ri_reported_failure *failure, const json_t *errors,
	struct ri_arena *arena)
{
	const json_t *list = json_object_get(errors, "listed");

	for (size_t i = 0; i < json_array_size(list) && i < RI_GPU_ERRORS; i++) {
		const json_t *error = json_array_get(list, i);
		const char *gpu = json_string_value(json_object_get(error, "gpu"));
		const char *text = json_string_value(json_object_get(error, "text"));
		int64_t number = number_of(json_object_get(error, "xid"), INT32_MAX);
		const char *line;

		if (gpu == NULL || text == NULL || number < 0 ||
			failure->line_count == RI_REPORTED_LINES)
			continue;
		line = ri_arena_format(arena, "%s it: Xid %d on GPU %.*s (%.*s)",
			json_is_true(json_object_get(error, "after_end")) ? "after" : "before",
			(int)number, cut(gpu, 40), gpu, cut(text, 255), text);
		if (line != NULL)
			failure->lines[failure->line_count++] = line;
	}
}

/* That the ranks had been started again is no failure; of the first cause the exception. */
static void keep_restarts(struct ri_reported_failure *failure, const json_t *restarts,
	struct ri_arena *arena)
{
	size_t count = json_array_size(restarts);
	const char *first = json_string_value(
		json_object_get(json_array_get(restarts, 0), "exception"));
	const char *line;

	if (count == 0 || failure->line_count == RI_REPORTED_LINES)
		return;
	line = ri_arena_format(arena, "before it: the ranks had been started again %zu "
		"time%s%s%.*s", count, count == 1 ? "" : "s",
		first == NULL ? "" : ", at first for ",
		first == NULL ? 0 : cut(first, 255), first == NULL ? "" : first);
	if (line != NULL)
		failure->lines[failure->line_count++] = line;
}

static void read_failure(struct ri_node_report *out, const json_t *document, struct ri_arena *arena)
{
	const json_t *failure = json_object_get(document, "first_failure");
	const json_t *verdict = json_object_get(document, "verdict");
	const char *cause = json_string_value(json_object_get(verdict, "cause"));
	struct ri_reported_failure *first = &out->failure;

	first->rank = -1;
	first->has_cause = cause != NULL;
	first->why.cause = ri_cause_word_of(cause);
	first->why.retry = ri_retry_of(json_string_value(json_object_get(verdict, "retry")),
		first->why.cause);
	keep_lines(first, json_object_get(document, "refusal"), arena);
	if (!json_is_object(failure))
		return;
	first->rank = number_of(json_object_get(failure, "rank"), RI_MAX_RANKS - 1);
	first->class = class_of(failure);
	first->at = time_of(failure, "at");
	first->how = describe_end(failure, arena);
	first->lines[0] = describe_cause(json_object_get(failure, "cause"), arena);
	first->line_count = first->lines[0] != NULL;
	keep_lines(first, json_object_get(failure, "reason"), arena);
	keep_gpu_errors(first, json_object_get(document, "gpu_errors"), arena);
	keep_restarts(first, json_object_get(document, "restarts"), arena);
}

/* The link's measure; a clock that is years away is a mistake. */
static void read_clock(struct ri_node_report *out, const json_t *clock)
{
	const json_t *ahead = json_object_get(clock, "ahead_s");
	double most = CLOCK_MOST_S;

	if (!json_is_number(ahead) || json_number_value(ahead) > most ||
		json_number_value(ahead) < -most)
		return;
	out->ahead = (int64_t)(json_number_value(ahead) * (double)SECOND);
	ahead = json_object_get(clock, "error_s");
	if (!json_is_number(ahead) || json_number_value(ahead) < 0 ||
		json_number_value(ahead) > most)
		return;
	out->error = (int64_t)(json_number_value(ahead) * (double)SECOND);
	out->compared = true;
}

/* Is it a group of that rank alone? */
static bool is_of_rank(const json_t *group, int64_t rank)
{
	const json_t *ranks = json_object_get(group, "ranks");

	return json_array_size(ranks) == 1 && rank >= 0 &&
		number_of(json_array_get(ranks, 0), RI_MAX_RANKS - 1) == rank;
}

static bool waits_for_ranks(const json_t *group)
{
	const char *class = json_string_value(json_object_get(group, "class"));

	return class != NULL && strcmp(class, "collective") == 0;
}

/* The group of the only rank that does not wait for other ranks; NULL: there are more, or none. */
static const json_t *find_odd(const json_t *groups)
{
	const json_t *odd = NULL;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		size_t ranks = json_array_size(json_object_get(group, "ranks"));

		if (ranks == 0 || waits_for_ranks(group))
			continue;
		if (ranks > 1 || odd != NULL)
			return NULL;
		odd = group;
	}
	return odd;
}

static void add_deed_line(struct ri_reported_autopsy *out, const char *line)
{
	if (line != NULL && out->line_count < RI_REPORTED_DEEDS)
		out->lines[out->line_count++] = line;
}

/* What most of the others did. */
static void keep_others(struct ri_reported_autopsy *out, const json_t *groups,
	struct ri_arena *arena)
{
	const json_t *most = NULL;
	const char *did;
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		size_t ranks = json_array_size(json_object_get(group, "ranks"));

		if (ranks <= count || is_of_rank(group, out->rank))
			continue;
		most = group;
		count = ranks;
	}
	did = keep(json_object_get(most, "text"), RI_REPORTED_DEED, arena);
	if (did != NULL && count == 1)
		add_deed_line(out, ri_arena_format(arena, "another rank there %s", did));
	else if (did != NULL)
		add_deed_line(out, ri_arena_format(arena, "%zu other ranks there: each %s", count,
			did));
}

/* The main thread's stack, the innermost frame first. */
static void keep_stack(struct ri_reported_autopsy *out, const json_t *group, struct ri_arena *arena)
{
	const json_t *thread = json_array_get(json_object_get(group, "threads"), 0);
	const json_t *frames = json_object_get(thread, "frames");

	if (!json_is_true(json_object_get(thread, "main")))
		return;
	for (size_t i = 0; i < json_array_size(frames) && out->line_count < RI_REPORTED_DEEDS;
		i++) {
		const json_t *frame = json_array_get(frames, i);
		const char *file = keep_word(frame, "file", arena);
		const char *function = keep_word(frame, "function", arena);
		int64_t line = number_of(json_object_get(frame, "line"), INT32_MAX);

		if (file == NULL || function == NULL)
			return;
		add_deed_line(out, line < 0 ? ri_arena_format(arena, "%s in %s", file, function)
			: ri_arena_format(arena, "%s:%d in %s", file, (int)line, function));
	}
}

static const json_t *find_group(const json_t *groups, int64_t rank)
{
	for (size_t i = 0; i < json_array_size(groups); i++)
		if (is_of_rank(json_array_get(groups, i), rank))
			return json_array_get(groups, i);
	return NULL;
}

/* A rank that the job does not have is none. */
static void read_autopsy(struct ri_node_report *out, const json_t *autopsy, struct ri_arena *arena)
{
	const json_t *suspect = json_object_get(autopsy, "suspect");
	const json_t *groups = json_object_get(autopsy, "groups"), *group = find_odd(groups);
	const json_t *ranks = json_object_get(group, "ranks"), *deed = group;
	struct ri_reported_autopsy seen = { .at = time_of(autopsy, "at") };
	const json_t *rank = json_array_get(ranks, 0);

	if (json_is_object(suspect)) {
		seen.suspects = true;
		deed = suspect;
		rank = json_object_get(suspect, "rank");
	}
	seen.rank = number_of(rank, RI_MAX_RANKS - 1);
	if (seen.suspects)
		group = find_group(groups, seen.rank);
	seen.did = keep(json_object_get(deed, "text"), RI_REPORTED_DEED, arena);
	if (seen.did == NULL || seen.at == 0 || (seen.rank < 0 && !json_is_null(rank)) ||
		(out->world >= 0 && seen.rank >= out->world))
		return;
	keep_others(&seen, groups, arena);
	keep_stack(&seen, group, arena);
	out->autopsy = seen;
}

static void read_found(struct ri_node_report *out, const json_t *found, struct ri_arena *arena)
{
	struct ri_reported_found seen = {
		.at = time_of(found, "at"),
		.rank = number_of(json_object_get(found, "rank"), RI_MAX_RANKS - 1),
		.node = number_of(json_object_get(found, "node"), RI_MAX_RANKS - 1),
	};
	const char *text = json_string_value(json_object_get(found, "text"));
	size_t length = text == NULL ? 0 : strcspn(text, "\n");

	if (seen.at == 0 || seen.rank < 0 || seen.node < 0 || length == 0 ||
		length > RI_REPORTED_LINE)
		return;
	seen.text = ri_arena_copy(arena, text, length);
	out->found = seen;
}

static void read_verdict(struct ri_node_report *out, const json_t *document, struct ri_arena *arena)
{
	const char *text = json_string_value(json_object_get(document, "job_verdict"));
	size_t length = text == NULL ? 0 : strcspn(text, "\n");

	out->verdict_node = number_of(json_object_get(document, "job_verdict_node"),
		RI_MAX_RANKS - 1);
	if (length > 0 && length <= RI_REPORTED_LINE)
		out->verdict = ri_arena_copy(arena, text, length);
}

static int read_document(struct ri_node_report *out, const json_t *document, struct ri_arena *arena)
{
	const json_t *stop = json_object_get(document, "stop");

	out->host = keep_word(document, "host", arena);
	out->boot = keep_word(json_object_get(document, "facts"), "boot", arena);
	out->job = keep(fact_of(document, "job_id"), RI_REPORTED_WORD, arena);
	out->node = number_of(fact_of(document, "node_rank"), RI_MAX_RANKS - 1);
	out->nodes = number_of(fact_of(document, "nnodes"), RI_MAX_RANKS);
	out->world = number_of(fact_of(document, "world_size"), RI_MAX_RANKS);
	out->attempt = number_of(fact_of(document, "restart_count"), RI_MAX_RANKS);
	out->began = time_of(document, "started");
	out->ended = time_of(document, "ended");
	out->stopped = json_is_object(stop) ? time_of(stop, "at") : 0;
	out->exit_status = (int)number_of(json_object_get(document, "exit_status"), 255);
	read_verdict(out, document, arena);
	read_clock(out, json_object_get(document, "clock"));
	read_failure(out, document, arena);
	read_autopsy(out, json_object_get(document, "autopsy"), arena);
	read_found(out, json_object_get(document, "job_autopsy"), arena);
	if (out->exit_status < 0 || out->began == 0 || out->ended < out->began ||
		(out->node >= 0 && out->nodes >= 0 && out->node >= out->nodes))
		return -1;
	return read_ranks(out, document, arena);
}

int ri_node_report_read(struct ri_node_report *out, const char *bytes, size_t length,
	struct ri_arena *arena, char why[RI_REPORTED_WHY])
{
	struct ri_node_report report = { .node = -1 };
	const char *said;
	json_error_t error;
	bool marked = length >= sizeof(mark) - 1 && memcmp(bytes, mark, sizeof(mark) - 1) == 0;
	const char *text = marked ? bytes + sizeof(mark) - 1 : bytes;
	json_t *document = json_loadb(text, length - (size_t)(text - bytes), 0, &error);
	int status = -1;

	if (document == NULL && json_error_code(&error) == json_error_premature_end_of_input)
		snprintf(why, RI_REPORTED_WHY, "it breaks off after %zu bytes", length);
	else if (document == NULL && error.line < 0)	/* jansson says no more of memory */
		snprintf(why, RI_REPORTED_WHY, "it takes more memory than a report does");
	else if (document == NULL)
		snprintf(why, RI_REPORTED_WHY, "it is no JSON");
	if (document == NULL)
		return -1;
	said = json_string_value(json_object_get(document, "schema"));
	if (said != NULL && strncmp(said, schema, FAMILY) == 0 && strcmp(said, schema) != 0)
		snprintf(why, RI_REPORTED_WHY, "it is a report of another version of rankinit: use "
			"that one's --blame");
	else if (said == NULL || strcmp(said, schema) != 0)
		snprintf(why, RI_REPORTED_WHY, "it is no report of rankinit");
	else if (read_document(&report, document, arena) < 0)
		snprintf(why, RI_REPORTED_WHY, "it is a report, but what it says cannot be");
	else
		status = 0;
	json_decref(document);
	if (status == 0)
		*out = report;
	return status;
}

bool ri_node_report_is_beside(const struct ri_node_report *a, const struct ri_node_report *b)
{
	if (a->node >= 0 && b->node >= 0)
		return a->node == b->node;
	return a == b || (a->host != NULL && b->host != NULL && strcmp(a->host, b->host) == 0);
}

int64_t ri_node_report_first_loss(const struct ri_node_report *report)
{
	int64_t first = 0;

	for (size_t i = 0; i < report->count; i++)
		if (report->ranks[i].class == RI_CLASS_LOSS && report->ranks[i].ended != 0 &&
			(first == 0 || report->ranks[i].ended < first))
			first = report->ranks[i].ended;
	return ri_time_align(report, first);
}
