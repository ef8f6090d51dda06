/* SPDX-License-Identifier: Apache-2.0 */
/* What one report of --report says, as far as --blame needs it. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "blame/reports.h"

static const char family[] = "rankinit-report-";	/* and the number of its version */
static const char mark[] = "\xef\xbb\xbf";	/* of bytes, which editors put before a text */

#define CLOCK_MOST_S (86400.0 * 366)	/* what lies further apart is no offset */

/* A copy of a string, cut; NULL where the value is no string, or out of memory. */
static const char *keep(const json_t *value, size_t most, struct ri_arena *arena)
{
	const char *text = json_string_value(value);

	return text == NULL ? NULL : ri_arena_copy(arena, text, ri_member_cut(text, most));
}

/* What the topology knows of one fact. */
static const json_t *fact_of(const struct ri_report_file *file, const char *name)
{
	return json_object_get(json_object_get(file->topology, name), "value");
}

/* NULL: it has none, or no memory was left. */
static void add_line(struct ri_reported_lines *lines, size_t most, const char *line)
{
	if (line != NULL && lines->count < most)
		lines->at[lines->count++] = line;
}

static void add_lines(struct ri_reported_lines *lines, const json_t *list, struct ri_arena *arena)
{
	for (size_t i = 0; i < json_array_size(list) && lines->count < RI_REPORTED_LINES; i++)
		add_line(lines, RI_REPORTED_LINES,
			keep(json_array_get(list, i), RI_REPORTED_LINE, arena));
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

static void read_failure(struct ri_reported_failure *out, const struct ri_report_file *file,
	struct ri_arena *arena)
{
	struct ri_reported_lines *lines = &out->lines;
	size_t count = json_array_size(file->restarts);
	struct ri_report_verdict verdict;
	struct ri_report_failure said;
	struct ri_report_restart restart;
	struct ri_report_cause cause;
	const char *why;
	bool hinted;

	ri_members_read(ri_report_verdict, file->verdict, &verdict, arena);
	out->rank = -1;
	out->has_cause = verdict.cause != NULL;
	out->why.cause = ri_cause_word_of(verdict.cause);
	out->why.retry = ri_retry_of(verdict.retry, out->why.cause);
	if (!json_is_object(file->first_failure)) {
		/* that the ranks had been started again is no failure */
		add_lines(lines, file->refusal, arena);
		return;
	}
	ri_members_read(ri_report_failure, file->first_failure, &said, arena);
	out->rank = said.rank;
	out->class = (enum ri_class)said.class;
	out->at = said.at;
	out->how = describe_end(&said, arena);
	/* "/dev/shm was full: what to do [code]", the verdict's lines, that it was not the first */
	ri_members_read(ri_report_cause, said.cause, &cause, arena);
	hinted = cause.hint != NULL && cause.hint[0] != '\0';
	if (cause.subject != NULL && cause.text != NULL)
		add_line(lines, RI_REPORTED_LINES, ri_arena_format(arena, "%s: %s%s%s",
			cause.subject, cause.text, hinted ? "; " : "", hinted ? cause.hint : ""));
	add_lines(lines, said.reason, arena);
	ri_members_read(ri_report_restart, json_array_get(file->restarts, 0), &restart, arena);
	why = restart.job_verdict != NULL ? restart.job_verdict : restart.exception;
	if (count > 0)
		add_line(lines, RI_REPORTED_LINES, ri_arena_format(arena, "before it: the ranks "
			"had been started again %zu time%s%s%s", count, count == 1 ? "" : "s",
			why == NULL ? "" : restart.job_verdict != NULL ? ", at first: "
			: ", at first for ", why == NULL ? "" : why));
}

/* The group of the only rank that does not wait for other ranks; NULL: there are more, or none. */
static const json_t *find_odd(const json_t *groups)
{
	const json_t *odd = NULL;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		const char *class = json_string_value(json_object_get(group, "class"));
		size_t ranks = json_array_size(json_object_get(group, "ranks"));

		if (ranks == 0 || (class != NULL && strcmp(class, "collective") == 0))
			continue;
		if (ranks > 1 || odd != NULL)
			return NULL;
		odd = group;
	}
	return odd;
}

/* What most of the others did, and the stack of this one; own is its group, where that is known. */
static void add_deeds(struct ri_reported_autopsy *out, const json_t *groups, const json_t *own,
	struct ri_arena *arena)
{
	const json_t *most = NULL, *thread, *frames;
	const char *did;
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		const json_t *list = json_object_get(group, "ranks");
		size_t ranks = json_array_size(list);

		if (ranks == 1 && out->rank >= 0 &&
			ri_member_number(json_array_get(list, 0), RI_MAX_RANKS - 1) == out->rank) {
			own = own == NULL ? group : own;
		} else if (ranks > count) {
			most = group;
			count = ranks;
		}
	}
	did = keep(json_object_get(most, "text"), RI_REPORTED_DEED, arena);
	if (did != NULL)
		add_line(&out->lines, RI_REPORTED_DEEDS, count == 1
			? ri_arena_format(arena, "another rank there %s", did)
			: ri_arena_format(arena, "%zu other ranks there: each %s", count, did));
	/* The main thread's stack, the innermost frame first. */
	thread = json_array_get(json_object_get(own, "threads"), 0);
	frames = json_object_get(thread, "frames");
	if (!json_is_true(json_object_get(thread, "main")))
		return;
	for (size_t i = 0;
		i < json_array_size(frames) && out->lines.count < RI_REPORTED_DEEDS; i++) {
		const json_t *frame = json_array_get(frames, i);
		const char *file = keep(json_object_get(frame, "file"), RI_REPORTED_WORD, arena);
		const char *function = keep(json_object_get(frame, "function"), RI_REPORTED_WORD,
			arena);
		int64_t line = ri_member_number(json_object_get(frame, "line"), INT32_MAX);

		if (file == NULL || function == NULL)
			return;
		add_line(&out->lines, RI_REPORTED_DEEDS, line < 0
			? ri_arena_format(arena, "%s in %s", file, function)
			: ri_arena_format(arena, "%s:%d in %s", file, (int)line, function));
	}
}

/* A rank that the job does not have is none. */
static void read_autopsy(struct ri_node_report *out, const json_t *autopsy, struct ri_arena *arena)
{
	const json_t *suspect = json_object_get(autopsy, "suspect");
	const json_t *groups = json_object_get(autopsy, "groups");
	const json_t *odd = json_is_object(suspect) ? NULL : find_odd(groups);
	const json_t *rank = odd == NULL ? json_object_get(suspect, "rank")
		: json_array_get(json_object_get(odd, "ranks"), 0);
	const char *at = json_string_value(json_object_get(autopsy, "at"));
	struct ri_reported_autopsy seen = {
		.at = at == NULL ? 0 : ri_time_parse(at), .suspects = json_is_object(suspect),
		.rank = ri_member_number(rank, RI_MAX_RANKS - 1),
		.did = keep(json_object_get(odd == NULL ? suspect : odd, "text"),
			RI_REPORTED_DEED, arena),
	};

	if (seen.did == NULL || seen.at == 0 || (seen.rank < 0 && !json_is_null(rank)) ||
		(out->world >= 0 && seen.rank >= out->world))
		return;
	add_deeds(&seen, groups, odd, arena);
	out->autopsy = seen;
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

/* By the clock of node 0, where it is known how far this node's is from that. */
static void align(struct ri_node_report *out)
{
	int64_t *const times[] = { &out->began, &out->ended, &out->stopped, &out->failure.at,
		&out->autopsy.at, &out->found.at };

	for (size_t i = 0; i < RI_ARRAY_SIZE(times); i++)
		*times[i] -= *times[i] == 0 ? 0 : out->ahead;
	for (size_t i = 0; i < out->count; i++) {
		struct ri_report_rank *rank = &out->ranks[i];

		rank->ended -= rank->ended == 0 ? 0 : out->ahead;
		if (rank->class != RI_CLASS_LOSS)
			continue;
		ri_time_see_earlier(&out->first_loss, rank->ended);
		if (rank->lost == RI_LOSS_CLOCK)
			ri_time_see_earlier(&out->first_wait, rank->ended);
	}
}

/* The first line of a text that is no longer than one; NULL: it is. */
static const char *first_line(const char *text, struct ri_arena *arena)
{
	size_t length = text == NULL ? 0 : strcspn(text, "\n");

	return length == 0 ? NULL : ri_arena_copy(arena, text, length);
}

static int read_document(struct ri_node_report *out, const struct ri_report_file *file,
	struct ri_arena *arena)
{
	struct ri_report_clock clock;
	struct ri_report_stop stop;

	ri_members_read(ri_report_stop, file->stop, &stop, arena);
	*out = (struct ri_node_report){
		.host = file->host,
		.boot = keep(json_object_get(file->facts, "boot"), RI_REPORTED_WORD, arena),
		.job = keep(fact_of(file, "job_id"), RI_REPORTED_WORD, arena),
		.node = ri_member_number(fact_of(file, "node_rank"), RI_MAX_RANKS - 1),
		.nodes = ri_member_number(fact_of(file, "nnodes"), RI_MAX_RANKS),
		.world = ri_member_number(fact_of(file, "world_size"), RI_MAX_RANKS),
		.attempt = ri_member_number(fact_of(file, "restart_count"), RI_MAX_RANKS),
		.began = file->started, .ended = file->ended, .stopped = stop.at,
		.exit_status = (int)file->exit_status,
		.verdict = first_line(file->job_verdict, arena),
		.verdict_node = file->job_verdict_node,
	};
	if (out->exit_status < 0 || out->began == 0 || out->ended < out->began ||
		(out->node >= 0 && out->nodes >= 0 && out->node >= out->nodes) ||
		read_ranks(out, file->ranks, arena) < 0)
		return -1;
	/* the link's measure; a clock that is years away is a mistake, and null is no number */
	ri_members_read(ri_report_clock, file->clock, &clock, NULL);
	out->compared = clock.ahead_s >= -CLOCK_MOST_S && clock.ahead_s <= CLOCK_MOST_S &&
		clock.error_s >= 0 && clock.error_s <= CLOCK_MOST_S;
	if (out->compared) {
		out->ahead = (int64_t)(clock.ahead_s * 1e6);
		out->error = (int64_t)(clock.error_s * 1e6);
	}
	read_failure(&out->failure, file, arena);
	read_autopsy(out, file->autopsy, arena);
	ri_members_read(ri_report_found, file->job_autopsy, &out->found, arena);
	out->found.text = out->found.at == 0 || out->found.rank < 0 || out->found.node < 0 ? NULL
		: first_line(out->found.text, arena);
	align(out);
	return 0;
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

const struct ri_report_rank *ri_node_report_rank(const struct ri_node_report *report, int64_t rank)
{
	for (size_t i = 0; i < report->count && rank >= 0; i++)
		if (report->ranks[i].rank == rank)
			return &report->ranks[i];
	return NULL;
}
