/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/node_report.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/text.h"

static const char family[] = "rankinit-report-";	/* and the number of its version */
static const char mark[] = "\xef\xbb\xbf";	/* of bytes, which editors put before a text */

#define CLOCK_MOST_S (86400.0 * 366)	/* what lies further apart is no offset */

/* A copy of a string, cut; NULL where the value is no string, or out of memory. */
static const char *keep(const json_t *value, size_t most, struct ri_arena *arena)
{
	const char *text = json_string_value(value);

	return text == NULL ? NULL : ri_arena_copy(arena, text, ri_member_cut(text, most));
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

static int read_ranks(struct ri_node_report *out, const json_t *list, struct ri_arena *arena)
{
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
		ri_members_read(ri_report_rank, rank, &out->ranks[out->count], arena);
	}
	return 0;
}

/* What the topology knows of one fact. */
static const json_t *fact_of(const json_t *topology, const char *name)
{
	return json_object_get(json_object_get(topology, name), "value");
}

static const char *describe_end(const struct ri_report_failure *said, struct ri_arena *arena)
{
	const char *kind = said->kind == NULL ? "" : said->kind;

	if (strcmp(kind, "exec") == 0)
		return "it could not be started";
	if (said->signal != NULL)
		return ri_arena_format(arena, "killed by %s%s", said->signal,
			strcmp(kind, "oom") == 0 ? ": out of memory" : "");
	if (said->exit_code >= 0)
		return ri_arena_format(arena, "exit status %d", (int)said->exit_code);
	return "it is unknown how it ended";
}

/* NULL: it has none, or no memory was left. */
static void add_line(struct ri_reported_failure *failure, const char *line)
{
	if (line != NULL && failure->line_count < RI_REPORTED_LINES)
		failure->lines[failure->line_count++] = line;
}

/* "/dev/shm was full: what to do [code]" */
static void keep_cause(struct ri_reported_failure *failure, const json_t *cause,
	struct ri_arena *arena)
{
	struct ri_report_cause said;
	bool hinted;

	ri_members_read(ri_report_cause, cause, &said, arena);
	hinted = said.hint != NULL && said.hint[0] != '\0';
	if (said.subject != NULL && said.text != NULL)
		add_line(failure, ri_arena_format(arena, "%s: %s%s%s", said.subject, said.text,
			hinted ? "; " : "", hinted ? said.hint : ""));
}

static void keep_lines(struct ri_reported_failure *failure, const json_t *lines,
	struct ri_arena *arena)
{
	for (size_t i = 0; i < json_array_size(lines) && failure->line_count < RI_REPORTED_LINES;
		i++)
		add_line(failure, keep(json_array_get(lines, i), RI_REPORTED_LINE, arena));
}

/* That the ranks had been started again is no failure; of the first cause the exception. */
static void keep_restarts(struct ri_reported_failure *failure, const json_t *restarts,
	struct ri_arena *arena)
{
	size_t count = json_array_size(restarts);
	struct ri_report_restart said;

	ri_members_read(ri_report_restart, json_array_get(restarts, 0), &said, arena);
	if (count > 0)
		add_line(failure, ri_arena_format(arena, "before it: the ranks had been started "
			"again %zu time%s%s%s", count, count == 1 ? "" : "s",
			said.exception == NULL ? "" : ", at first for ",
			said.exception == NULL ? "" : said.exception));
}

static void read_failure(struct ri_node_report *out, const struct ri_report_file *file,
	struct ri_arena *arena)
{
	struct ri_reported_failure *first = &out->failure;
	struct ri_report_verdict verdict;
	struct ri_report_failure said;

	ri_members_read(ri_report_verdict, file->verdict, &verdict, arena);
	first->rank = -1;
	first->has_cause = verdict.cause != NULL;
	first->why.cause = ri_cause_word_of(verdict.cause);
	first->why.retry = ri_retry_of(verdict.retry, first->why.cause);
	keep_lines(first, file->refusal, arena);
	if (!json_is_object(file->first_failure))
		return;
	ri_members_read(ri_report_failure, file->first_failure, &said, arena);
	first->rank = said.rank;
	first->class = (enum ri_class)said.class;
	first->at = said.at;
	first->how = describe_end(&said, arena);
	first->line_count = 0;
	keep_cause(first, said.cause, arena);
	keep_lines(first, said.reason, arena);
	keep_restarts(first, file->restarts, arena);
}

/* The link's measure; a clock that is years away is a mistake, and one that is null no number. */
static void read_clock(struct ri_node_report *out, const json_t *clock)
{
	struct ri_report_clock said;

	ri_members_read(ri_report_clock, clock, &said, NULL);
	out->compared = said.ahead_s >= -CLOCK_MOST_S && said.ahead_s <= CLOCK_MOST_S &&
		said.error_s >= 0 && said.error_s <= CLOCK_MOST_S;
	if (!out->compared)
		return;
	out->ahead = (int64_t)(said.ahead_s * 1e6);
	out->error = (int64_t)(said.error_s * 1e6);
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
	const char *at = json_string_value(json_object_get(autopsy, "at"));
	struct ri_reported_autopsy seen = { .at = at == NULL ? 0 : ri_time_parse(at) };
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

/* The first line of a text that is no longer than one; NULL: it is. */
static const char *first_line(const char *text, struct ri_arena *arena)
{
	size_t length = text == NULL ? 0 : strcspn(text, "\n");

	return length == 0 ? NULL : ri_arena_copy(arena, text, length);
}

static void read_found(struct ri_node_report *out, const json_t *found, struct ri_arena *arena)
{
	ri_members_read(ri_report_found, found, &out->found, arena);
	out->found.text = out->found.at == 0 || out->found.rank < 0 || out->found.node < 0 ? NULL
		: first_line(out->found.text, arena);
}

static int read_document(struct ri_node_report *out, const struct ri_report_file *file,
	struct ri_arena *arena)
{
	struct ri_report_stop stop;

	ri_members_read(ri_report_stop, file->stop, &stop, arena);
	*out = (struct ri_node_report){
		.host = file->host, .boot = keep_word(file->facts, "boot", arena),
		.job = keep(fact_of(file->topology, "job_id"), RI_REPORTED_WORD, arena),
		.node = number_of(fact_of(file->topology, "node_rank"), RI_MAX_RANKS - 1),
		.nodes = number_of(fact_of(file->topology, "nnodes"), RI_MAX_RANKS),
		.world = number_of(fact_of(file->topology, "world_size"), RI_MAX_RANKS),
		.attempt = number_of(fact_of(file->topology, "restart_count"), RI_MAX_RANKS),
		.began = file->started, .ended = file->ended, .stopped = stop.at,
		.exit_status = (int)file->exit_status,
		.verdict = first_line(file->job_verdict, arena),
		.verdict_node = file->job_verdict_node,
	};
	read_clock(out, file->clock);
	read_failure(out, file, arena);
	read_autopsy(out, file->autopsy, arena);
	read_found(out, file->job_autopsy, arena);
	if (out->exit_status < 0 || out->began == 0 || out->ended < out->began ||
		(out->node >= 0 && out->nodes >= 0 && out->node >= out->nodes))
		return -1;
	return read_ranks(out, file->ranks, arena);
}

int ri_node_report_read(struct ri_node_report *out, const char *bytes, size_t length,
	struct ri_arena *arena, char why[RI_REPORTED_WHY])
{
	struct ri_node_report report;
	struct ri_report_file file;
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
	ri_members_read(ri_report_file, document, &file, arena);
	if (file.schema == NULL || strncmp(file.schema, family, sizeof(family) - 1) != 0)
		snprintf(why, RI_REPORTED_WHY, "it is no report of rankinit");
	else if (strcmp(file.schema, ri_report_schema) != 0)
		snprintf(why, RI_REPORTED_WHY, "it is a report of another version of rankinit: use "
			"that one's --blame");
	else if (read_document(&report, &file, arena) < 0)
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
