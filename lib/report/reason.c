/* SPDX-License-Identifier: Apache-2.0 */
#include "report/culprit.h"
#include "report/verdict.h"

#include <string.h>

#include "redact/redact.h"

enum {
	MIN_FRAME_LINES = 4,
	MAX_FRAME_LINES = 8,
	MAX_MESSAGE_LINES = 5,	/* after the first */
	MAX_CAUSE_LINES = 2,	/* the last ones */
	MAX_LAST_LINES = 8,
	MAX_BEFORE = 2,		/* decisive lines before a traceback */
	MAX_WRAPPED = 4,	/* lines that one long line becomes */
	FEW_WRAPPED = 2,
	SHOWN = RI_VERDICT_COLUMNS - 8,
	BREAK = 60,		/* columns from the end where a line is broken at a blank */
};

/*
 * The lines of the tail without secrets. Of a first one that may have lost its
 * beginning nothing is kept: that may have been the name of a secret.
 */
static struct ri_span clean_lines(const struct ri_rank_outcome *rank, bool shows,
	struct ri_reason *out)
{
	struct ri_span text = rank->wrote.tail, line;
	struct ri_text clean = ri_text_of(out->text, sizeof(out->text));

	if (rank->wrote.tail.at == NULL)
		return (struct ri_span){ out->text, 0 };
	/* a traceback that the rank went on from, long ago */
	if (rank->wrote.head > 0 && !shows)
		text = ri_span_skip(text, rank->wrote.head);
	if (text.length > RI_MAX_TAIL)
		text = ri_span_skip(text, text.length - RI_MAX_TAIL);
	if (rank->wrote.cut || text.length < rank->wrote.tail.length)
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
	bool shows = rank->evidence.ended_of_traceback || rank->evidence.printed;
	struct ri_span text = clean_lines(rank, shows, out);

	out->has_traceback = shows && ri_traceback_find(text, &out->traceback);
	ri_last_words_find(text, out->has_traceback ? &out->traceback : NULL,
		rank->evidence.telling, ri_rank_signal(rank), &out->words);
	out->line_count = ri_last_lines_find(text, out->lines);
}

void ri_reason_add_line(struct ri_text *out, const char *before, struct ri_span line)
{
	RI_TEXT(text, 4 * RI_VERDICT_COLUMNS);

	while (line = ri_span_skip_colours(line), line.length > 0) {
		ri_text_add_bytes(&text, line.at, 1);
		line = ri_span_skip(line, 1);
	}
	ri_text_add(out, before);
	ri_text_add_shown(out, text.bytes, SHOWN);
	ri_text_add(out, "\n");
}

/* Where a line of so many columns ends: at a blank, if one is near. */
static size_t break_at(struct ri_span line, size_t columns)
{
	for (size_t at = columns; at + BREAK > columns && at > 0; at--)
		if (ri_is_blank(line.at[at]))
			return at;
	/* not within a character */
	while (columns > 1 && ((unsigned char)line.at[columns] & 0xc0) == 0x80)
		columns--;
	return columns;
}

/* The lines that may still be added. */
struct room {
	struct ri_text *out;
	size_t left;
};

static void put(struct room *room, const char *before, struct ri_span line)
{
	if (room->left == 0)
		return;
	room->left--;
	ri_reason_add_line(room->out, before, line);
}

/*
 * A long line as several. Where even these do not hold it, the middle is left
 * out: what it is stands at the beginning, and what differs often at the end.
 */
static void put_wrapped(struct room *room, const char *before, struct ri_span line, size_t most)
{
	size_t columns = SHOWN - strlen(before), at;

	for (; most > 1 && room->left > 1 && line.length > columns; most--) {
		at = break_at(line, columns);
		put(room, before, (struct ri_span){ line.at, at });
		line = ri_span_trim_start(ri_span_skip(line, at));
		before = "    ";
		columns = SHOWN - strlen(before);
	}
	if (line.length > columns) {
		columns -= strlen("... ");
		at = line.length - columns;
		put(room, "    ... ", ri_span_skip(line, at));
	} else {
		put(room, before, line);
	}
}

/* "    ^^^^^" and "    ~~~^~~" say nothing once they are out of place. */
static bool is_marker(struct ri_span line)
{
	for (size_t i = 0; i < line.length; i++)
		if (line.at[i] != ' ' && line.at[i] != '^' && line.at[i] != '~')
			return false;
	return true;
}

/* Does what was found begin in this line? */
static bool begins_in(struct ri_span found, struct ri_span line)
{
	return found.length > 0 && found.at >= line.at && found.at < line.at + line.length;
}

/* The last lines; the user's own frame stands above them where they are a library's. */
static void put_frames(struct room *room, const struct ri_traceback *traceback)
{
	struct ri_span rest = traceback->frames, line, kept[MAX_FRAME_LINES];
	struct ri_span own = { NULL, 0 }, code = { NULL, 0 };
	size_t most = room->left < MAX_FRAME_LINES ? room->left : MAX_FRAME_LINES;
	size_t count = 0, own_count = 0;

	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (is_marker(line))
			continue;
		if (own.length > 0 && count == own_count)
			code = line;
		kept[count++ % MAX_FRAME_LINES] = line;
		if (begins_in(traceback->own, line)) {
			own = line;
			own_count = count;
		}
	}
	if (own.length > 0 && count - own_count >= most && most > 2) {
		put(room, "    ", own);
		put(room, "    ", code);
		most -= 2;
	}
	for (size_t i = count > most ? count - most : 0; i < count; i++)
		put(room, "    ", kept[i % MAX_FRAME_LINES]);
}

/* The lines of its message below the first. */
static void put_message(struct room *room, const char *before, const struct ri_traceback *traceback)
{
	struct ri_span more = traceback->more, line;
	int count = 0;

	while (count < MAX_MESSAGE_LINES && ri_span_line(&more, &line)) {
		line = ri_traceback_line(traceback, line);
		if (!ri_noise_hides(line)) {
			put(room, before, line);
			count++;
		}
	}
}

/* The message of the exception shortly before it. */
static void put_before(struct room *room, const char *label, const struct ri_traceback *traceback)
{
	const struct ri_traceback before = ri_traceback_before(traceback);

	put_wrapped(room, label, before.last, FEW_WRAPPED);
	put_message(room, "    ", &before);
}

/* Below the cause: the end of a message of several lines says most. */
static void put_cause(struct room *room, const struct ri_traceback *traceback)
{
	struct ri_span rest = traceback->cause_more, line, kept[MAX_CAUSE_LINES];
	size_t count = 0;

	if (traceback->cause.length == 0)
		return;
	put_wrapped(room, "  caused by: ", traceback->cause, FEW_WRAPPED);
	while (count < MAX_CAUSE_LINES && ri_span_last_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (!ri_noise_hides(line))
			kept[count++] = ri_span_trim_start(line);
	}
	while (count > 0)
		put(room, "    ", kept[--count]);
	if (traceback->cause_at.length > 0)
		put(room, "    ", traceback->cause_at);
}

static void put_traceback(struct room *room, const struct ri_traceback *traceback,
	const struct ri_last_words *words)
{
	bool leads = words->lead || words->before_leads;
	size_t leading = words->lead ? words->count : 0;

	room->left -= MIN_FRAME_LINES;
	if (words->before_leads)
		put_before(room, "  ", traceback);
	for (size_t i = 0; i < leading && i < MAX_BEFORE; i++)
		put_wrapped(room, "  ", words->lines[i], FEW_WRAPPED);
	if (traceback->last.length > 0)
		put_wrapped(room, leads ? "  raised then: " : "  ", traceback->last, MAX_WRAPPED);
	if (traceback->wrapper.length > 0)
		put(room, "  raised in a worker: ", traceback->wrapper);
	if (traceback->member.length > 0)
		put(room, "  first exception: ", traceback->member);
	put_cause(room, traceback);
	if (traceback->before.length > 0 && !words->before_leads)
		put_before(room, "  before it: ", traceback);
	for (size_t i = leading; i < words->count && i < MAX_BEFORE; i++)
		put(room, "  before it: ", words->lines[i]);
	if (!words->replace_more)
		put_message(room, "  ", traceback);
	room->left += MIN_FRAME_LINES;
	put_frames(room, traceback);
}

/* The words that tell why, then the last lines but for those. */
static void put_words(struct room *room, const struct ri_rank_outcome *rank,
	const struct ri_reason *reason)
{
	const struct ri_last_words *words = &reason->words;
	struct ri_span kept[RI_LAST_LINES];
	size_t count = 0, most;

	if (rank->end == RI_END_EXITED && rank->wrote.tail.at != NULL && reason->line_count == 0)
		put(room, "  it wrote nothing to stderr: look at its stdout", ri_span_of(""));
	for (size_t i = 0; i < words->count; i++)
		if (ri_span_starts(words->lines[i], "File \""))
			put(room, "    ", words->lines[i]);
		else
			put_wrapped(room, "  ", words->lines[i], FEW_WRAPPED);
	for (size_t i = 0; i < reason->line_count; i++) {
		size_t known = 0;

		while (known < words->count && !begins_in(words->lines[known], reason->lines[i]))
			known++;
		if (known == words->count)
			kept[count++] = reason->lines[i];
	}
	if (count == 0 || room->left < 2)
		return;
	put(room, "  its last lines on stderr:", ri_span_of(""));
	most = room->left < MAX_LAST_LINES ? room->left : MAX_LAST_LINES;
	for (size_t i = count > most ? count - most : 0; i < count; i++)
		put(room, "    ", kept[i]);
}

/* What torch wrote, where stderr has no traceback. */
static bool put_torch_error(struct room *room, const struct ri_rank_outcome *rank)
{
	const struct ri_last_words none = { .count = 0 };
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_torch_error error;
	struct ri_traceback traceback;

	if (!rank->evidence.ended_of_file || !ri_torch_error_read(file, &error))
		return false;
	if (ri_traceback_find(ri_span_of(error.callstack), &traceback))
		put_traceback(room, &traceback, &none);
	else
		put_wrapped(room, "  ", ri_span_of(error.message), MAX_WRAPPED);
	return true;
}

void ri_reason_add(struct ri_text *out, const struct ri_rank_outcome *rank,
	const struct ri_reason *reason)
{
	struct room room = { out, RI_REASON_LINES - 1 };

	if (reason->has_traceback)
		put_traceback(&room, &reason->traceback, &reason->words);
	else if (!put_torch_error(&room, rank))
		put_words(&room, rank, reason);
	if (rank->wrote.log != NULL)
		ri_reason_add_line(out, "  log: ", ri_span_of(rank->wrote.log));
}
