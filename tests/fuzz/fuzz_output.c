/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the first byte says how long the reads are, the second how often
 * each byte after them stands there, so that long lines are short inputs.
 * However the bytes arrive, the same lines come out, and they can be put
 * together again. The same bytes are a pattern too.
 */
#include "fuzz.h"

#include "output/output.h"

enum { PREFIX = 4, MOST = 4 * RI_OUTPUT_LINE };

/* Append what comes out for these bytes; the buffer has exactly the room it needs. */
static size_t feed(struct ri_lines *lines, const char *bytes, size_t size, char *out)
{
	char *in = fuzz_string(bytes, size), *room = malloc(RI_LINES_ROOM(size, RI_LINES_PREFIX));
	size_t added;

	CHECK(room != NULL);
	added = size == 0 ? ri_lines_finish(lines, room) : ri_lines_cut(lines, in, size, room);
	CHECK(added <= RI_LINES_ROOM(size, RI_LINES_PREFIX));
	CHECK(lines->held_length <= RI_OUTPUT_LINE);
	memcpy(out, room, added);
	free(room);
	free(in);
	return added;
}

static char *cut(const char *bytes, size_t size, size_t step, size_t *length)
{
	char *out = malloc(RI_LINES_ROOM(size, RI_LINES_PREFIX));
	char *held = malloc(RI_OUTPUT_LINE + 1);
	struct ri_lines lines = { .held = held, .prefix = "[7] ", .prefix_length = PREFIX };

	CHECK(held != NULL && out != NULL);
	*length = 0;
	for (size_t at = 0; at < size; at += step) {
		size_t part = size - at < step ? size - at : step;

		*length += feed(&lines, bytes + at, part, out + *length);
	}
	*length += feed(&lines, "", 0, out + *length);
	CHECK(*length <= RI_LINES_ROOM(size, RI_LINES_PREFIX));
	free(held);
	return out;
}

/* Where the line ends that begins here: "\r\n" is one end. */
static char *find_end(char *line, size_t length)
{
	char *end = line;

	while (end < line + length && *end != '\n' && *end != '\r')
		end++;
	CHECK(end < line + length);
	return *end == '\r' && end + 1 < line + length && end[1] == '\n' ? end + 1 : end;
}

/* Take away what was put in: prefixes, and the ends of pieces. */
static size_t rejoin(char *out, size_t length)
{
	size_t kept = 0, at = 0;

	while (at < length) {
		char *end = find_end(out + at, length - at);

		/* a return alone is no line */
		if (end == out + at && *end == '\r') {
			out[kept++] = out[at++];
			continue;
		}
		CHECK(length - at > PREFIX);
		CHECK(memcmp(out + at, "[7]", 3) == 0);
		CHECK(out[at + 3] == ' ' || (out[at + 3] == '+' && kept > 0));
		if (out[at + 3] == '+')
			kept--;
		at += PREFIX;
		CHECK((size_t)(end - out) - at <= RI_OUTPUT_LINE);
		memmove(out + kept, out + at, (size_t)(end + 1 - out) - at);
		kept += (size_t)(end + 1 - out) - at;
		at = (size_t)(end + 1 - out);
	}
	return kept;
}

static void check_lines(const char *bytes, size_t size, size_t step)
{
	size_t length, other;
	char *out = cut(bytes, size, step, &length), *whole = cut(bytes, size, MOST, &other);
	bool ended = size == 0 || bytes[size - 1] == '\n' || bytes[size - 1] == '\r';

	CHECK(length == other && memcmp(out, whole, length) == 0);
	length = rejoin(out, length);
	CHECK(length == size + !ended && memcmp(out, bytes, size) == 0);
	free(out);
	free(whole);
}

static void check_memory(const char *bytes, size_t size, size_t step)
{
	static char room[RI_TAIL_ROOM];
	struct ri_tail tail = { .bytes = room };
	struct ri_watch watch = { .matched = 0 }, single = { .matched = 0 };
	bool any = false, once, found;
	struct ri_tail_text text;

	ri_watch_add(&single, RI_TRACEBACK, bytes, size, &once);
	for (size_t at = 0, part; at < size; at += part) {
		part = ri_watch_add(&watch, RI_TRACEBACK, bytes + at,
			size - at < step ? size - at : step,
			&found);
		ri_tail_add(&tail, bytes + at, part);
		if (found)
			ri_tail_mark(&tail);
		any = any || found;
		if (at % 7 == 0)
			ri_tail_read(&tail);
	}
	CHECK(any == once);
	text = ri_tail_read(&tail);
	CHECK(text.length <= RI_OUTPUT_TAIL && text.head <= text.length);
	CHECK(text.head == 0 || text.head == text.length || text.bytes[text.head] == '\n');
	bytes += size - (text.length - text.head);
	CHECK(memcmp(text.bytes + text.head, bytes, text.length - text.head) == 0);
	for (uint64_t from = 0; from <= size + 1; from += 1 + size / 8) {
		struct ri_tail_text part = ri_tail_between(text, from, from + size / 4);

		CHECK(part.head <= part.length && part.length <= text.length);
		CHECK(part.bytes >= text.bytes);
		CHECK(part.bytes + part.length <= text.bytes + text.length);
		CHECK(part.head > 0 || part.length <= size / 4);
	}
	if (!any)
		CHECK(text.length == (size < RI_OUTPUT_TAIL ? size : RI_OUTPUT_TAIL));
}

static void check_pattern(const char *pattern)
{
	static struct ri_arena arena;
	struct ri_pattern_values values = { .rank = UINT64_MAX, .host = "a/b" };
	struct ri_pattern_use use;
	const char *name;

	if (!ri_pattern_read(pattern, &use))
		return;
	name = ri_pattern_expand(pattern, &values, &arena);
	CHECK(name != NULL && (strchr(pattern, '%') != NULL || strcmp(name, pattern) == 0));
	CHECK(!use.host || strstr(name, "a_b") != NULL);
	CHECK(!use.rank || strlen(name) >= strlen(pattern) - 1);
	ri_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char bytes[MOST];
	const uint8_t *header = memmem(data, size, RI_TRACEBACK, sizeof(RI_TRACEBACK) - 1);
	size_t step, times, once = 0, count = 0;
	char *pattern;

	if (size < 2)
		return 0;
	pattern = fuzz_string(data, size);
	check_pattern(pattern);
	free(pattern);
	step = data[0] < 128 ? (size_t)data[0] + 1 : (size_t)(data[0] - 127) * 1031;
	times = data[1] < 128 ? 1 : (size_t)(data[1] - 127) * 515;
	/* what stands behind a traceback's first words is long, and these are whole */
	if (header != NULL)
		once = (size_t)(header - data) + sizeof(RI_TRACEBACK) - 1;
	for (size_t i = 2; i < size; i++) {
		size_t copies = i < once || data[i] == '\n' ? 1 : times;

		for (size_t n = 0; n < copies && count < MOST; n++)
			bytes[count++] = (char)data[i];
	}
	/* a few hundred reads are enough */
	if (step < count / 256)
		step = count / 256;
	check_lines(bytes, count, step);
	check_memory(bytes, count, step);
	return 0;
}
