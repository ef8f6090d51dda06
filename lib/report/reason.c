/* SPDX-License-Identifier: Apache-2.0 */
#include "report/reason.h"

#include <string.h>

#include "report/redact.h"
#include "report/torch_error.h"

enum {
	MAX_FRAME_LINES = 8,
	MAX_MESSAGE_LINES = 3,	/* after the first */
	MAX_LAST_LINES = 8,
	SHOWN = RI_VERDICT_COLUMNS - 8,
};

/*
 * The lines of the tail without secrets. Of a first one that may have lost its
 * beginning nothing is kept: that may have been the name of a secret.
 */
static struct ri_span clean_lines(const struct ri_rank_outcome *rank, struct ri_reason *out)
{
	struct ri_span text = { rank->tail, rank->tail_length }, line;
	struct ri_text clean;

	ri_text_init(&clean, out->text, sizeof(out->text));
	if (rank->tail == NULL)
		return (struct ri_span){ out->text, 0 };
	if (text.length > RI_MAX_TAIL)
		text = ri_span_skip(text, text.length - RI_MAX_TAIL);
	if (rank->tail_cut || text.length < rank->tail_length)
		ri_span_line(&text, &line);
	ri_redact(&clean, text);
	/* a NUL would end the text */
	for (size_t i = 0; i < clean.length; i++)
		if (out->text[i] == '\0')
			out->text[i] = '?';
	return (struct ri_span){ out->text, clean.length };
}

void ri_reason_find(const struct ri_rank_outcome *rank, struct ri_reason *out)
{
	struct ri_span text = clean_lines(rank, out), line;

	out->has_traceback = ri_traceback_find(text, &out->traceback) &&
		ri_rank_ended_of(rank, &out->traceback);
	out->line_count = 0;
	while (ri_span_line(&text, &line)) {
		if (ri_span_trim_start(line).length == 0)
			continue;
		if (out->line_count == RI_LAST_LINES)
			memmove(out->lines, out->lines + 1,
				(RI_LAST_LINES - 1) * sizeof(out->lines[0]));
		else
			out->line_count++;
		out->lines[out->line_count - 1] = line;
	}
}

static struct ri_span span_of(const char *text)
{
	return (struct ri_span){ text, strlen(text) };
}

void ri_reason_add_line(struct ri_text *out, const char *before, struct ri_span line)
{
	char copy[4 * RI_VERDICT_COLUMNS];
	struct ri_text text;

	ri_text_init(&text, copy, sizeof(copy));
	ri_text_add_bytes(&text, line.at, line.length);
	ri_text_add(out, before);
	ri_text_add_shown(out, copy, SHOWN);
	ri_text_add(out, "\n");
}

/* "    ^^^^^" and "    ~~~^~~" say nothing once they are out of place. */
static bool is_marker(struct ri_span line)
{
	for (size_t i = 0; i < line.length; i++)
		if (line.at[i] != ' ' && line.at[i] != '^' && line.at[i] != '~')
			return false;
	return true;
}

static void add_frames(struct ri_text *out, const struct ri_traceback *traceback)
{
	struct ri_span rest = traceback->whole, line, kept[MAX_FRAME_LINES];
	size_t count = 0;

	if (traceback->last.length > 0)
		rest.length = (size_t)(traceback->last.at - rest.at);
	while (rest.length > 0 && rest.at[rest.length - 1] != '\n')
		rest.length--;
	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (!is_marker(line))
			kept[count++ % MAX_FRAME_LINES] = line;
	}
	for (size_t i = count > MAX_FRAME_LINES ? count - MAX_FRAME_LINES : 0; i < count; i++)
		ri_reason_add_line(out, "    ", kept[i % MAX_FRAME_LINES]);
}

static void add_traceback(struct ri_text *out, const struct ri_traceback *traceback)
{
	struct ri_span more = traceback->more, line;

	if (traceback->last.length > 0)
		ri_reason_add_line(out, "  ", traceback->last);
	if (traceback->member.length > 0)
		ri_reason_add_line(out, "  first exception: ", traceback->member);
	for (int i = 0; i < MAX_MESSAGE_LINES && ri_span_line(&more, &line); i++)
		ri_reason_add_line(out, "  ", ri_traceback_line(traceback, line));
	add_frames(out, traceback);
}

static void add_last_lines(struct ri_text *out, const struct ri_reason *reason)
{
	size_t from = reason->line_count > MAX_LAST_LINES ? reason->line_count - MAX_LAST_LINES : 0;

	if (reason->line_count > 0)
		ri_text_add(out, "  its last lines on stderr:\n");
	for (size_t i = from; i < reason->line_count; i++)
		ri_reason_add_line(out, "    ", reason->lines[i]);
}

/* What torch wrote counts where stderr has no traceback. */
static bool add_torch_error(struct ri_text *out, const struct ri_rank_outcome *rank)
{
	const struct ri_span file = { rank->torch_error, rank->torch_error_length };
	struct ri_torch_error error;
	struct ri_traceback traceback;

	if (file.at == NULL || !ri_torch_error_read(file, &error))
		return false;
	if (ri_traceback_find(span_of(error.callstack), &traceback))
		add_traceback(out, &traceback);
	else
		ri_reason_add_line(out, "  ", span_of(error.message));
	return true;
}

void ri_reason_add(struct ri_text *out, const struct ri_rank_outcome *rank,
	const struct ri_reason *reason)
{
	if (reason->has_traceback)
		add_traceback(out, &reason->traceback);
	else if (!add_torch_error(out, rank))
		add_last_lines(out, reason);
	if (rank->log != NULL)
		ri_reason_add_line(out, "  log: ", span_of(rank->log));
}
