/* SPDX-License-Identifier: Apache-2.0 */
#include "words/traceback_line.h"

#include <string.h>

#include "output/tail.h"

bool ri_header_find(struct ri_span line, struct ri_span *prefix)
{
	line = ri_span_trim_end(line);
	if (!ri_span_ends(line, RI_TRACEBACK))
		return false;
	*prefix = (struct ri_span){ line.at, line.length - strlen(RI_TRACEBACK) };
	return !ri_span_ends(*prefix, "C++ ");
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '.' || c == '<' || c == '>' || (unsigned char)c >= 0x80;
}

bool ri_exception_is(struct ri_span line)
{
	static const char ray[] = "RayTaskError(";
	size_t length = 0;

	while (length < line.length && is_name_byte(line.at[length]))
		length++;
	if (length < line.length && line.at[length] == '(' &&
		ri_span_ends((struct ri_span){ line.at, length + 1 }, ray)) {
		while (length < line.length && line.at[length] != ')')
			length++;
		length += length < line.length;
	}
	return length > 0 && (line.at[0] < '0' || line.at[0] > '9') && line.at[0] != '.' &&
		(length == line.length || line.at[length] == ':');
}

bool ri_syntax_error_is(struct ri_span line)
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

bool ri_signpost_is(struct ri_span exception)
{
	struct ri_span type = until(exception, ":");

	return ri_span_ends(type, "StopIteration") || ri_span_ends(type, "queue.Empty") ||
		ri_span_ends(type, "StopAsyncIteration") ||
		/* jax/_src/traceback_util.py: they repeat what follows, or say nothing */
		ri_span_ends(type, "UnfilteredStackTrace") ||
		ri_span_ends(type, "SimplifiedTraceback");
}

/* Where pip, Debian and CPython put what is not the user's own. */
static bool is_library(struct ri_span path)
{
	return ri_span_has(path, "/site-packages/") || ri_span_has(path, "/dist-packages/") ||
		ri_span_has(path, "/lib/python3") || ri_span_starts(path, "<");
}

bool ri_frame_read(struct ri_span line, struct ri_frame *out)
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
	*out = (struct ri_frame){
		.at = ri_span_trim_start(line), .file = path, .line = { number.at, digits },
		.function = ri_span_skip(rest, sizeof(after) - 1), .own = !is_library(path),
	};
	return true;
}

/*
 * CPython Python/errors.c, _PyErr_WriteUnraisableMsg; Python/pythonrun.c, _PyErr_PrintEx: the
 * exception that ended the process stands below "Original exception was:"; Lib/logging/__init__.py,
 * handleError.
 */
bool ri_ignored_is(struct ri_span line)
{
	return ri_span_starts(line, "Exception ignored ") ||
		ri_span_starts(line, "Error in sys.excepthook:") ||
		ri_span_starts(line, "--- Logging error ---");
}

bool ri_aside_is(struct ri_span line)
{
	return ri_ignored_is(line) || ri_span_starts(line, "Exception in thread ");
}

enum ri_link ri_link_read(struct ri_span line)
{
	if (ri_span_starts(line, "During handling of the above exception, another") ||
		ri_span_starts(line, "The above exception was the direct cause of") ||
		ri_span_starts(line, "\"\"\""))
		return RI_LINK_CHAINED;
	if (ri_span_starts(line, "-- Process ") &&
		ri_span_ends(line, "terminated with the following error:"))
		return RI_LINK_NESTED;
	return RI_LINK_NONE;
}
