/* SPDX-License-Identifier: Apache-2.0 */
#include "words/last_words.h"

#include <string.h>

#include "words/decisive.h"
#include "words/glob.h"
#include "words/line.h"
#include "words/noise.h"

enum {
	MAX_WORDS = 3,		/* lines that decide */
	MAX_MESSAGE = 3,	/* lines of a message, after its first */
	MAX_FRAMES = 4,
	NEAR = 40,		/* last lines among which an error is looked for */
};

/* What the lines of a death are read with. */
struct reader {
	struct ri_last_words *out;
	size_t words, message, frames;
	size_t stack;		/* where the frames of the present stack begin */
	bool in_message, in_stack;
	bool of_current;	/* the thread that died: the stacks of others do not count */
};

static void add(struct reader *reader, struct ri_span line)
{
	if (reader->out->count < RI_LAST_WORDS)
		reader->out->lines[reader->out->count++] = line;
}

static bool is_known(const struct ri_last_words *out, struct ri_span line)
{
	for (size_t i = 0; i < out->count; i++)
		if (out->lines[i].length == line.length &&
			memcmp(out->lines[i].at, line.at, line.length) == 0)
			return true;
	return false;
}

static void take_words(struct reader *reader, struct ri_span line)
{
	reader->in_message = reader->in_stack = false;
	if (reader->words >= MAX_WORDS || is_known(reader->out, line))
		return;
	reader->words++;
	reader->in_message = ri_span_starts(line, "what(): ");
	add(reader, line);
	reader->stack = reader->out->count;
}

static void take_message(struct reader *reader, struct ri_span line)
{
	enum ri_noise noise = ri_noise_find(line);

	if (line.length == 0 || noise == RI_NOISE_STACK || reader->message >= MAX_MESSAGE) {
		reader->in_message = false;
	} else if (noise == RI_NOISE_NONE) {
		reader->message++;
		add(reader, line);
	}
}

/* CPython's Python/traceback.c, _Py_DumpTracebackThreads: one stack for each thread. */
static bool opens_stack(struct reader *reader, struct ri_span line)
{
	bool current = ri_glob_fits(line, "Current thread 0x* (most recent call first):");

	if (!current && !ri_glob_fits(line, "Thread 0x* (most recent call first):"))
		return false;
	reader->in_message = false;
	reader->in_stack = reader->words > 0 && (current || reader->frames == 0) &&
		!reader->of_current;
	if (!current || reader->of_current)
		return true;
	reader->of_current = true;
	if (reader->frames > 0)
		reader->out->count = reader->stack;
	reader->frames = 0;
	return true;
}

static void take_frame(struct reader *reader, struct ri_span line)
{
	if (!ri_span_starts(line, "File \"")) {
		reader->in_stack = line.length > 0;
		return;
	}
	if (reader->frames == 0)
		reader->stack = reader->out->count;
	if (reader->frames++ < MAX_FRAMES)
		add(reader, line);
}

void ri_last_words_collect(struct ri_span text, struct ri_last_words *out)
{
	struct reader reader = { .out = out };
	struct ri_span line;

	out->count = 0;
	while (ri_span_line(&text, &line)) {
		line = ri_line_trim(line);
		if (opens_stack(&reader, line))
			continue;
		if (ri_decisive_find(line) == RI_DECISIVE_LAST)
			take_words(&reader, line);
		else if (reader.in_message)
			take_message(&reader, line);
		else if (reader.in_stack)
			take_frame(&reader, line);
	}
}

bool ri_last_words_warning(struct ri_span text, struct ri_span *out)
{
	struct ri_span line;

	while (ri_span_line(&text, &line)) {
		if (!ri_glob_fits(line, "* NCCL WARN *"))
			continue;
		*out = ri_line_trim(line);
		return true;
	}
	return false;
}

bool ri_last_words_name(struct ri_span text, struct ri_span *out)
{
	struct ri_span near[NEAR], line;
	size_t count = 0, first;

	while (ri_span_line(&text, &line))
		if (!ri_noise_hides(line))
			near[count++ % NEAR] = ri_line_trim(line);
	first = count > NEAR ? count - NEAR : 0;
	for (size_t i = first; i < count; i++) {
		if (ri_decisive_find(near[i % NEAR]) == RI_DECISIVE_NONE)
			continue;
		*out = near[i % NEAR];
		return true;
	}
	return false;
}
