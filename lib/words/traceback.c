/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <string.h>

#include "output/output.h"

enum {
	MAX_MESSAGE_LINES = 16,
	SHORTLY = 8,		/* lines between two tracebacks of which one may cause the other */
	NOISE_BETWEEN = 64,	/* and lines in all */
};

enum state {
	OUTSIDE,
	FRAMES,		/* after a header */
	HEADLESS,	/* after a "File" line that may become a SyntaxError */
	GROUP,		/* in the frame of lines that an exception group has */
	PREAMBLE,	/* after "Type: ", where a library tells a stack before what failed */
	MESSAGE,	/* after "Type: message" */
	BETWEEN,	/* after the blank line that ends it: a chain may go on */
};

/* What the line before says of an exception that follows. */
enum link {
	LINK_NONE,
	LINK_CHAINED,	/* it came of the one before, or while that was handled */
	LINK_NESTED,	/* it is the one before, as a worker saw it */
};

/* What became of the process that printed one, as the line before it says. */
enum fate {
	FATE_ENDED,
	FATE_ASIDE,	/* it went on: the exception ended a thread, or no more than itself */
	FATE_IGNORED,	/* the same, and it caused nothing */
};

struct finder {
	enum state state;
	struct ri_traceback now;	/* the one that is being read */
	struct ri_traceback best;
	struct ri_traceback spare;	/* where there is no best */
	bool has_best, has_spare;
	struct ri_traceback previous;	/* what was closed last, no exception that is ignored */
	enum fate fate, fate_next;	/* of this one; of what follows */
	enum link link;			/* what the line before said */
	bool nested;			/* in a member of a group */
	unsigned message_lines;
};

/*
 * Does it end with a header of Python, blanks behind that left out? *prefix is what stands before
 * the header. Paddle's stack of C++ has a header of the same words (paddle/phi/core/enforce.h,
 * GetCurrentTraceBackString) and is none.
 */
static bool find_header(struct ri_span line, struct ri_span *prefix)
{
	line = ri_span_trim_end(line);
	if (!ri_span_ends(line, RI_TRACEBACK))
		return false;
	*prefix = (struct ri_span){ line.at, line.length - strlen(RI_TRACEBACK) };
	return !ri_span_ends(*prefix, "C++ ");
}

/* "Type", "package.Type: message", Ray's "RayTaskError(Type): message"; no line of a log. */
static bool is_exception(struct ri_span line)
{
	size_t length = 0;

	for (; length < line.length; length++) {
		char c = line.at[length];

		if (!ri_is_word(c) && c != '.' && c != '<' && c != '>' && (unsigned char)c < 0x80)
			break;
	}
	if (ri_span_starts(ri_span_skip(line, length), "(") &&
		ri_span_ends((struct ri_span){ line.at, length }, "RayTaskError")) {
		while (length < line.length && line.at[length] != ')')
			length++;
		length += length < line.length;
	}
	return length > 0 && (line.at[0] < '0' || line.at[0] > '9') && line.at[0] != '.' &&
		(length == line.length || line.at[length] == ':');
}

/* The part of line before the first occurrence of word; all of it if none. */
static struct ri_span until(struct ri_span line, const char *word)
{
	const char *found = memmem(line.at, line.length, word, strlen(word));

	if (found != NULL)
		line.length = (size_t)(found - line.at);
	return line;
}

/* Does an exception only end a loop, or say that there is nothing yet? That is handled and over. */
static bool is_signpost(struct ri_span exception)
{
	struct ri_span type = until(exception, ":");

	return ri_span_ends(type, "StopIteration") || ri_span_ends(type, "queue.Empty") ||
		ri_span_ends(type, "StopAsyncIteration") ||
		/* jax/_src/traceback_util.py: they repeat what follows, or say nothing */
		ri_span_ends(type, "UnfilteredStackTrace") ||
		ri_span_ends(type, "SimplifiedTraceback");
}

/* '  File "PATH", line N[, in FUNCTION]': a SyntaxError has no function. */
static bool read_frame(struct ri_span line, struct ri_traceback *out)
{
	static const char before[] = "File \"", between[] = "\", line ", after[] = ", in ";
	struct ri_span at = ri_span_trim_start(line), path, number, rest;

	if (at.length == line.length || !ri_span_starts(at, before))
		return false;
	path = until(ri_span_skip(at, sizeof(before) - 1), between);
	rest = ri_span_skip(at, sizeof(before) - 1 + path.length + sizeof(between) - 1);
	for (number = (struct ri_span){ rest.at, 0 }; rest.length > 0 && rest.at[0] >= '0' &&
		rest.at[0] <= '9'; number.length++)
		rest = ri_span_skip(rest, 1);
	if (number.length == 0 || (rest.length > 0 && !ri_span_starts(rest, after)))
		return false;
	out->file = path;
	out->line = number;
	out->function = ri_span_skip(rest, sizeof(after) - 1);
	out->at = at;
	/* where pip, Debian and CPython put what is not the user's own */
	if (!ri_span_has(path, "/site-packages/") && !ri_span_has(path, "/dist-packages/") &&
		!ri_span_has(path, "/lib/python3") && !ri_span_starts(path, "<"))
		out->own = at;
	return true;
}

/*
 * What the line says of the traceback below.
 *
 * CPython Python/errors.c, _PyErr_WriteUnraisableMsg; Python/pythonrun.c, _PyErr_PrintEx: the
 * exception that ended the process stands below "Original exception was:"; Lib/logging/__init__.py,
 * handleError.
 */
static enum fate read_fate(struct ri_span line)
{
	if (ri_span_starts(line, "Exception ignored ") ||
		ri_span_starts(line, "Error in sys.excepthook:") ||
		ri_span_starts(line, "--- Logging error ---"))
		return FATE_IGNORED;
	return ri_span_starts(line, "Exception in thread ") ? FATE_ASIDE : FATE_ENDED;
}

/* The words between two exceptions of a chain, and before a process's own. */
static enum link read_link(struct ri_span line)
{
	if (ri_span_starts(line, "During handling of the above exception, another") ||
		ri_span_starts(line, "The above exception was the direct cause of") ||
		ri_span_starts(line, "\"\"\""))
		return LINK_CHAINED;
	return ri_shape_fits(line, "-- Process *terminated with the following error:")
		? LINK_NESTED : LINK_NONE;
}

/* Keep what was read, if it is worth it. */
static void close_one(struct finder *finder)
{
	struct ri_traceback *now = &finder->now;
	bool whole;

	if (finder->state == OUTSIDE || finder->state == HEADLESS)
		return;
	if (now->last.length == 0) {	/* a worker's own breaks off */
		now->last = now->wrapper;
		now->wrapper.length = 0;
	}
	whole = now->last.length > 0;
	now->aside = finder->fate != FATE_ENDED;
	if (whole && finder->fate != FATE_IGNORED) {
		finder->previous = *now;
		/* who lost others came of what stands before it, as the next one does */
		if (now->before.length > 0 && ri_loss_of_exception(now->last) != NULL &&
			ri_loss_of_exception(now->before) == NULL) {
			finder->previous.last = now->before;
			finder->previous.more = now->before_more;
			finder->previous.prefix = now->before_prefix;
		}
	}
	if (whole && !now->aside) {
		finder->best = *now;
		finder->has_best = true;
	} else if (whole || !finder->has_spare) {
		finder->spare = *now;
		finder->has_spare = true;
	}
}

static void extend(struct finder *finder, struct ri_span line)
{
	struct ri_span *whole = &finder->now.whole;

	whole->length = (size_t)(line.at + line.length - whole->at);
}

/* What the next exception of a chain keeps of those before it. */
static struct ri_traceback follow(const struct ri_traceback *before, enum link link)
{
	struct ri_traceback next = {
		.whole = before->whole, .before = before->before,
		.before_more = before->before_more, .before_prefix = before->before_prefix,
		.cause = before->cause, .cause_more = before->cause_more,
		.cause_at = before->cause_at,
	};

	if (link == LINK_NESTED) {
		next.wrapper = before->wrapper.length > 0 ? before->wrapper : before->last;
	} else if ((next.cause.length == 0 || is_signpost(next.cause)) &&
		before->last.length > 0) {
		next.cause = before->last;
		next.cause_more = before->more;
		next.cause_at = before->own.length > 0 ? before->own : before->at;
	}
	return next;
}

/*
 * What a thread, a process or a handler printed few telling lines before may be what it came of.
 * However much noise there may be between, few lines are looked at.
 */
static void add_before(const struct finder *finder, struct ri_span line, struct ri_traceback *next)
{
	const struct ri_traceback *previous = &finder->previous;
	struct ri_span between = { previous->whole.at + previous->whole.length, 0 }, one;
	size_t count = 0, lines = 0;

	if (previous->whole.length == 0)
		return;
	between.length = (size_t)(line.at - between.at);
	while (count <= SHORTLY && lines <= NOISE_BETWEEN && ri_span_line(&between, &one)) {
		count += ri_noise_count(one);
		lines++;
	}
	if (count > SHORTLY || lines > NOISE_BETWEEN)
		return;
	next->before = previous->last;
	next->before_more = previous->more;
	next->before_prefix = previous->prefix;
}

/*
 * A bar of progress may stand before torch's "[rank2]: ", which is before each
 * line, and so may the '\0' that torch/csrc/DataLoader.cpp writes.
 */
static struct ri_span last_prefix(struct ri_span prefix)
{
	struct ri_span found = prefix;

	for (struct ri_span rest = prefix; rest.length > 0; rest = ri_span_skip(rest, 1))
		if (ri_span_starts(rest, "[rank") && ri_span_ends(rest, "]: "))
			found = rest;
	return found;
}

static void open_one(struct finder *finder, struct ri_span line, struct ri_span prefix)
{
	static const char group[] = "+ Exception Group ", original[] = "Original ";
	struct ri_span content = ri_traceback_line(&finder->now, prefix);
	struct ri_traceback next = { .whole = { line.at, 0 } };
	const char *frames = prefix.at + prefix.length;
	enum link link = finder->link;

	if (ri_span_ends(prefix, original)) {
		link = LINK_NESTED;
		prefix.length -= sizeof(original) - 1;
	} else if (finder->state == FRAMES && is_exception(content) &&
		ri_span_has(content, "Error: ")) {
		/* "jax.errors.JaxRuntimeError: ... callback: " in front of a header */
		link = LINK_NESTED;
		finder->now.wrapper = ri_span_trim_end(content);
		prefix.length = (size_t)(content.at - prefix.at);
	}
	if (link != LINK_NONE && finder->state != OUTSIDE) {
		next = follow(&finder->now, link);
	} else {
		close_one(finder);
		finder->fate = finder->fate_next;
		add_before(finder, line, &next);
	}
	finder->state = FRAMES;
	if (ri_span_ends(prefix, group)) {
		finder->state = GROUP;
		prefix.length -= sizeof(group) - 1;
		prefix = ri_span_trim_end(prefix);
	}
	finder->now = next;
	finder->now.prefix = last_prefix(prefix);
	finder->now.frames.at = finder->state == FRAMES ? frames : line.at;
	finder->nested = false;
	finder->link = LINK_NONE;
	extend(finder, line);
}

struct ri_span ri_traceback_line(const struct ri_traceback *traceback, struct ri_span line)
{
	struct ri_span prefix = traceback->prefix;

	if (prefix.length == 0 || line.length == 0)
		return line;
	if (line.length >= prefix.length && memcmp(line.at, prefix.at, prefix.length) == 0)
		return ri_span_skip(line, prefix.length);
	/* blanks at the end of a line get lost */
	prefix = ri_span_trim_end(prefix);
	if (line.length == prefix.length && memcmp(line.at, prefix.at, line.length) == 0)
		return ri_span_skip(line, prefix.length);
	return line;
}

bool ri_agent_is(const struct ri_traceback *traceback)
{
	return ri_span_starts(traceback->last,
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError:");
}

static void end_frames(struct finder *finder, struct ri_span line, struct ri_span content)
{
	finder->now.last = content;
	finder->message_lines = 1;
	finder->state = ri_span_ends(content, "Graph execution error:") ? PREAMBLE : MESSAGE;
	extend(finder, line);
}

static void take_frame(struct finder *finder, struct ri_span line)
{
	struct ri_span content = ri_traceback_line(&finder->now, line);

	/* a prefix of the header alone, such as a time or a blank: the rest has none */
	if (finder->now.prefix.length > 0 && finder->now.file.length == 0 &&
		(content.at == line.at || !ri_span_starts(content, "  ")) &&
		read_frame(line, &finder->now)) {
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
	} else if (ri_span_starts(line, "SyntaxError:") || ri_span_starts(line, "TabError:") ||
		ri_span_starts(line, "IndentationError:")) {
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
	struct ri_span text, prefix;

	if (!read_group_line(finder, line, &text)) {
		finder->state = BETWEEN;
		return;
	}
	extend(finder, line);
	if (text.length == 0 || now->member.length > 0)
		return;
	if (find_header(text, &prefix)) {
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

/* Ray leaves out the header of what a task raised, and torch's checkpoints add to it. */
static bool begins_task(const struct finder *finder, struct ri_span content)
{
	struct ri_traceback frame;

	if (ri_span_starts(content, RI_TRACEBACK " (RANK "))
		return finder->now.wrapper.length == 0;
	return ri_span_has(finder->now.last, "ray::") && read_frame(content, &frame);
}

static void take_message(struct finder *finder, struct ri_span line)
{
	struct ri_traceback *now = &finder->now;
	struct ri_span content = ri_traceback_line(now, line), prefix = now->prefix;
	bool foreign = prefix.length > 0 && content.at == line.at;

	if (foreign)
		return;
	finder->link = read_link(content);
	if (begins_task(finder, content)) {
		now->wrapper.length = 0;
		*now = follow(now, LINK_NESTED);
		now->prefix = prefix;
		now->frames.at = line.at;
		finder->state = FRAMES;
		extend(finder, line);
		take_frame(finder, line);
	} else if (content.length == 0 || read_fate(content) != FATE_ENDED ||
		finder->link != LINK_NONE || finder->message_lines >= MAX_MESSAGE_LINES) {
		finder->state = BETWEEN;
	} else {
		finder->message_lines++;
		if (now->more.length == 0)
			now->more.at = line.at;
		now->more.length = (size_t)(line.at + line.length - now->more.at);
		extend(finder, line);
	}
	if (finder->link == LINK_NESTED)
		now->wrapper = content;
}

/*
 * TensorFlow's "Detected at node 'x' defined at (most recent call last):", frames, "Node: 'x'",
 * then what failed. The second part has quotes and the third is there up to 2.13. Of Paddle's the
 * line below "Error Message Summary:".
 */
static void take_preamble(struct finder *finder, struct ri_span line)
{
	struct ri_span content = ri_traceback_line(&finder->now, line);

	if (ri_span_trim_start(content).length < content.length || content.length == 0 ||
		ri_span_starts(content, "Detected at node ") ||
		ri_span_starts(content, "Node: ") || ri_span_starts(content, "-----"))
		return;
	finder->state = MESSAGE;
	take_message(finder, line);
}

static void take_outside(struct finder *finder, struct ri_span line)
{
	struct ri_traceback now = { .whole = { line.at, line.length } };

	if (!read_frame(line, &now) || now.function.length > 0)
		return;
	close_one(finder);
	finder->now = now;
	finder->now.frames.at = line.at;
	finder->fate = FATE_ENDED;
	finder->link = LINK_NONE;
	finder->state = HEADLESS;
}

static void take_between(struct finder *finder, struct ri_span line)
{
	struct ri_span content = ri_traceback_line(&finder->now, line);

	if (ri_span_trim_start(content).length > 0)
		finder->link = read_link(content);
	if (finder->link == LINK_NESTED)
		finder->now.wrapper = content;
	/*
	 * Paddle's message may begin with a stack of C++, which ends with a frame of dashes around
	 * this (paddle/phi/core/enforce.h, GetErrorSumaryString, 2.0 to 3.0).
	 */
	if (ri_span_starts(content, "Error Message Summary:") &&
		ri_span_ends(ri_span_trim_end(finder->now.last), ":"))
		finder->state = PREAMBLE;
	else
		take_outside(finder, line);
}

static void take_line(struct finder *finder, struct ri_span line)
{
	static void (*const take[])(struct finder *finder, struct ri_span line) = {
		[OUTSIDE] = take_outside,
		[FRAMES] = take_frame,
		[HEADLESS] = take_headless,
		[GROUP] = take_group,
		[PREAMBLE] = take_preamble,
		[MESSAGE] = take_message,
		[BETWEEN] = take_between,
	};
	struct ri_span text, prefix;

	if (finder->state == GROUP && read_group_line(finder, line, &text)) {
		take_group(finder, line);
		return;
	}
	if (find_header(line, &prefix)) {
		open_one(finder, line, prefix);
		return;
	}
	take[finder->state](finder, line);
}

bool ri_traceback_find(struct ri_span text, struct ri_traceback *out)
{
	struct finder finder = { .state = OUTSIDE };
	const struct ri_traceback *found = &finder.best;
	struct ri_span rest = text, line, *frames = &out->frames;
	const char *end;

	while (ri_span_line(&rest, &line)) {
		take_line(&finder, line);
		finder.fate_next = read_fate(line);
	}
	close_one(&finder);
	if (!finder.has_best)
		found = &finder.spare;
	if (!finder.has_best && !finder.has_spare)
		return false;
	*out = *found;
	if (out->before.length > 0 && ri_span_same(out->before, out->last))
		out->before.length = 0;
	if (out->cause.length > 0 && is_signpost(out->cause))
		out->cause.length = out->cause_more.length = out->cause_at.length = 0;
	/* up to the end of the line before the exception, or of all */
	end = out->whole.at + out->whole.length;
	if (out->last.at <= frames->at || out->last.length == 0) {
		frames->length = (size_t)(end - frames->at);
		return true;
	}
	frames->length = (size_t)(out->last.at - frames->at);
	while (out->last.at < end && frames->length > 0 &&
		frames->at[frames->length - 1] != '\n')
		frames->length--;
	return true;
}
