/* SPDX-License-Identifier: Apache-2.0 */
#include "report/traceback.h"

#include <string.h>

#include "output/tail.h"
#include "report/noise.h"

enum { MAX_MESSAGE_LINES = 16 };

static const char header[] = RI_TRACEBACK;

enum state {
	OUTSIDE,
	FRAMES,		/* after a header */
	HEADLESS,	/* after a "File" line that may become a SyntaxError */
	GROUP,		/* in the frame of lines that an exception group has */
	MESSAGE,	/* after "Type: message" */
	BETWEEN,	/* after the blank line that ends it: a chain may go on */
};

struct finder {
	enum state state;
	struct ri_traceback now;	/* the one that is being read */
	struct ri_traceback best;
	struct ri_traceback spare;	/* where there is no best */
	bool has_best, has_spare;
	bool aside;			/* it ended no process, as the line before it said */
	bool aside_next;		/* the line before says so of what follows */
	bool chained;			/* the line before said that another one follows */
	bool nested;			/* in a member of a group */
	unsigned message_lines;
};

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '.' || c == '<' || c == '>' || (unsigned char)c >= 0x80;
}

/* "Type", "package.Type: message": a log line of another thread is not. */
static bool is_exception(struct ri_span line)
{
	size_t length = 0;

	while (length < line.length && is_name_byte(line.at[length]))
		length++;
	return length > 0 && (line.at[0] < '0' || line.at[0] > '9') && line.at[0] != '.' &&
		(length == line.length || line.at[length] == ':');
}

static bool is_syntax_error(struct ri_span line)
{
	return ri_span_starts(line, "SyntaxError:") || ri_span_starts(line, "TabError:") ||
		ri_span_starts(line, "IndentationError:");
}

/* The part of line before the first occurrence of word; all of it if none. */
static struct ri_span until(struct ri_span line, const char *word)
{
	const char *found = memmem(line.at, line.length, word, strlen(word));

	if (found != NULL)
		line.length = (size_t)(found - line.at);
	return line;
}

/* '  File "PATH", line N[, in FUNCTION]' */
static bool read_frame(struct ri_span line, struct ri_traceback *out)
{
	static const char before[] = "File \"", between[] = "\", line ", after[] = ", in ";
	struct ri_span rest = ri_span_trim_start(line), path, number;
	size_t digits = 0;

	if (rest.length == line.length || !ri_span_starts(rest, before))
		return false;
	path = until(ri_span_skip(rest, sizeof(before) - 1), between);
	number = ri_span_skip(rest, sizeof(before) - 1 + path.length + sizeof(between) - 1);
	while (digits < number.length && number.at[digits] >= '0' && number.at[digits] <= '9')
		digits++;
	if (digits == 0)
		return false;
	rest = ri_span_skip(number, digits);
	if (rest.length > 0 && !ri_span_starts(rest, after))
		return false;
	out->file = path;
	out->line = (struct ri_span){ number.at, digits };
	out->function = ri_span_skip(rest, sizeof(after) - 1);
	return true;
}

/* Keep what was read, if it is worth it. */
static void close_one(struct finder *finder)
{
	bool whole = finder->now.last.length > 0;

	if (finder->state == OUTSIDE || finder->state == HEADLESS)
		return;
	if (whole && !finder->aside) {
		finder->best = finder->now;
		finder->has_best = true;
	} else if (whole || !finder->has_spare) {
		finder->spare = finder->now;
		finder->has_spare = true;
	}
}

static void extend(struct finder *finder, struct ri_span line)
{
	struct ri_span *whole = &finder->now.whole;

	whole->length = (size_t)(line.at + line.length - whole->at);
}

static void open_one(struct finder *finder, struct ri_span line, struct ri_span prefix)
{
	static const char group[] = "+ Exception Group ";
	bool goes_on = finder->chained || ri_span_ends(prefix, "Original ");
	struct ri_span whole = { line.at, 0 };

	if (goes_on && finder->state != OUTSIDE) {
		whole = finder->now.whole;
	} else {
		close_one(finder);
		finder->aside = finder->aside_next;
	}
	if (ri_span_ends(prefix, "Original "))
		prefix.length -= strlen("Original ");
	finder->state = FRAMES;
	if (ri_span_ends(prefix, group)) {
		finder->state = GROUP;
		prefix.length -= sizeof(group) - 1;
		prefix = ri_span_trim_end(prefix);
	}
	finder->now = (struct ri_traceback){ .whole = whole, .prefix = prefix };
	finder->nested = finder->chained = false;
	extend(finder, line);
}

struct ri_span ri_traceback_line(const struct ri_traceback *traceback, struct ri_span line)
{
	struct ri_span prefix = traceback->prefix;

	if (prefix.length == 0)
		return line;
	if (line.length >= prefix.length && memcmp(line.at, prefix.at, prefix.length) == 0)
		return ri_span_skip(line, prefix.length);
	/* blanks at the end of a line get lost */
	prefix = ri_span_trim_end(prefix);
	if (line.length == prefix.length && memcmp(line.at, prefix.at, line.length) == 0)
		return ri_span_skip(line, prefix.length);
	return line;
}

static void end_frames(struct finder *finder, struct ri_span line, struct ri_span content)
{
	finder->now.last = content;
	finder->message_lines = 1;
	finder->state = MESSAGE;
	extend(finder, line);
}

static void take_frame(struct finder *finder, struct ri_span line)
{
	struct ri_span content = ri_traceback_line(&finder->now, line);

	/* a prefix of the header alone, such as a time: the rest has none */
	if (finder->now.prefix.length > 0 && finder->now.file.length == 0 &&
		content.at == line.at && read_frame(line, &finder->now)) {
		finder->now.prefix.length = 0;
		extend(finder, line);
		return;
	}
	if (content.length == 0 || (finder->now.prefix.length > 0 && content.at == line.at))
		return;
	if (content.at[0] == ' ') {
		read_frame(content, &finder->now);
		extend(finder, line);
	} else if (is_exception(content)) {
		end_frames(finder, line, content);
	}
}

static void take_headless(struct finder *finder, struct ri_span line)
{
	if (line.length > 0 && line.at[0] == ' ') {
		extend(finder, line);
	} else if (is_syntax_error(line)) {
		end_frames(finder, line, line);
	} else {
		finder->state = OUTSIDE;
	}
}

/* "  | TEXT" or "  +-+------- 1 -------": the text, empty for the second. */
static bool read_group_line(const struct finder *finder, struct ri_span line, struct ri_span *text)
{
	struct ri_span rest = ri_span_trim_start(ri_traceback_line(&finder->now, line));

	if (rest.length == 0 || (rest.at[0] != '|' && rest.at[0] != '+'))
		return false;
	*text = ri_span_skip(rest, rest.at[0] == '+' ? rest.length : 2);
	return true;
}

static void take_group(struct finder *finder, struct ri_span line)
{
	struct ri_traceback *now = &finder->now;
	struct ri_span text;

	if (!read_group_line(finder, line, &text)) {
		finder->state = BETWEEN;
		return;
	}
	extend(finder, line);
	if (text.length == 0 || now->member.length > 0)
		return;
	if (ri_span_ends(text, header)) {
		finder->nested = now->last.length > 0;
	} else if (text.at[0] == ' ') {
		read_frame(text, now);
	} else if (is_exception(text)) {
		if (now->last.length == 0)
			now->last = text;
		else if (finder->nested)
			now->member = text;
	}
}

/* Words before a traceback that did not end the process. */
static bool is_aside(struct ri_span line)
{
	return ri_span_starts(line, "Exception ignored ") ||
		ri_span_starts(line, "Exception in thread ") ||
		ri_span_starts(line, "--- Logging error ---");
}

static void take_message(struct finder *finder, struct ri_span line)
{
	struct ri_traceback *now = &finder->now;
	struct ri_span content = ri_traceback_line(now, line);
	bool foreign = now->prefix.length > 0 && content.at == line.at;

	if (foreign)
		return;
	finder->chained = ri_span_starts(content, "\"\"\"");
	if (content.length == 0 || is_aside(content) ||
		finder->message_lines >= MAX_MESSAGE_LINES) {
		finder->state = BETWEEN;
		return;
	}
	finder->message_lines++;
	if (now->more.length == 0)
		now->more.at = line.at;
	now->more.length = (size_t)(line.at + line.length - now->more.at);
	extend(finder, line);
}

/* The words between two exceptions of a chain, and before a process's own. */
static bool goes_on(struct ri_span line)
{
	return ri_span_starts(line, "During handling of the above exception, another") ||
		ri_span_starts(line, "The above exception was the direct cause of") ||
		(ri_span_starts(line, "-- Process ") &&
			ri_span_ends(line, "terminated with the following error:"));
}

static void take_outside(struct finder *finder, struct ri_span line)
{
	struct ri_traceback now = { .whole = { line.at, line.length } };

	if (!read_frame(line, &now) || now.function.length > 0)
		return;
	close_one(finder);
	finder->now = now;
	finder->aside = finder->chained = false;
	finder->state = HEADLESS;
}

static void take_between(struct finder *finder, struct ri_span line)
{
	struct ri_span content = ri_traceback_line(&finder->now, line);

	if (ri_span_trim_start(content).length > 0)
		finder->chained = goes_on(content);
	take_outside(finder, line);
}

static void take_line(struct finder *finder, struct ri_span line)
{
	struct ri_span text, prefix = { line.at, line.length - strlen(header) };

	if (finder->state == GROUP && read_group_line(finder, line, &text)) {
		take_group(finder, line);
		return;
	}
	if (ri_span_ends(line, header)) {
		open_one(finder, line, prefix);
		return;
	}
	switch (finder->state) {
	case OUTSIDE:
		take_outside(finder, line);
		break;
	case FRAMES:
		take_frame(finder, line);
		break;
	case HEADLESS:
		take_headless(finder, line);
		break;
	case GROUP:
		take_group(finder, line);
		break;
	case MESSAGE:
		take_message(finder, line);
		break;
	case BETWEEN:
		take_between(finder, line);
		break;
	}
}

static size_t count_lines(struct ri_span text)
{
	struct ri_span line;
	size_t count = 0;

	while (ri_span_line(&text, &line))
		count += !ri_noise_is(line);
	return count;
}

bool ri_traceback_find(struct ri_span text, struct ri_traceback *out)
{
	struct finder finder = { .state = OUTSIDE };
	const struct ri_traceback *found = &finder.best;
	struct ri_span rest = text, line;
	size_t end;

	while (ri_span_line(&rest, &line)) {
		take_line(&finder, line);
		finder.aside_next = is_aside(line);
	}
	close_one(&finder);
	if (!finder.has_best)
		found = &finder.spare;
	if (!finder.has_best && !finder.has_spare)
		return false;
	*out = *found;
	end = (size_t)(out->whole.at + out->whole.length - text.at);
	out->lines_after = count_lines(ri_span_skip(text, end));
	return true;
}
