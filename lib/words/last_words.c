/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <signal.h>
#include <string.h>

enum {
	MAX_WORDS = 3,		/* lines that decide */
	MAX_MESSAGE = 3,	/* lines of a message, after its first */
	MAX_FRAMES = 4,
	NEAR = 40,		/* last lines among which an error is looked for */
	NEAR_BEFORE = 40,	/* lines before a traceback, noise left out, that may explain it */
	BEFORE_AGENT = 400,	/* the same before torchrun's: its ranks have tracebacks, too */
	ENDS = 64,		/* of ranks, in torchrun's table */
};

/* What the lines of a death are read with. */
struct reader {
	struct ri_last_words *out;
	size_t words, message, frames;
	size_t stack;		/* where the frames of the present stack begin */
	bool in_message, in_stack;
	bool in_summary;	/* below Paddle's heading, above the message */
	bool of_current;	/* the thread that died: the stacks of others do not count */
};

/*
 * As CPython's faulthandler (Modules/faulthandler.c), UCX, Open MPI, Paddle and Julia name it;
 * glog and abseil have "SIGSEGV".
 */
static const struct {
	int number;
	const char *name, *word;
} handled[] = {
	{ SIGSEGV, "Segmentation fault", "SIGSEGV" }, { SIGBUS, "Bus error", "SIGBUS" },
	{ SIGFPE, "Floating", "SIGFPE" }, { SIGILL, "Illegal instruction", "SIGILL" },
};

static bool names_signal(struct ri_span line, int number)
{
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		if (handled[i].number == number)
			return ri_span_has(line, handled[i].name) ||
				ri_span_has(line, handled[i].word);
	return number == 0;
}

static void add(struct reader *reader, struct ri_span line)
{
	if (reader->out->count < RI_LAST_WORDS)
		reader->out->lines[reader->out->count++] = line;
}

static void take_words(struct reader *reader, struct ri_span line)
{
	reader->in_message = reader->in_stack = false;
	for (size_t i = 0; i < reader->out->count; i++)
		if (ri_span_same(reader->out->lines[i], line))
			return;
	if (reader->words == MAX_WORDS)
		return;
	reader->words++;
	reader->in_message = ri_span_starts(line, "what(): ");
	add(reader, line);
	reader->stack = reader->out->count;
}

/* CPython's Python/traceback.c, _Py_DumpTracebackThreads: one stack for each thread. */
static bool opens_stack(struct reader *reader, struct ri_span line)
{
	bool current = ri_shape_fits(line, "Current thread 0x* (most recent call first):");

	if (!current && !ri_shape_fits(line, "Thread 0x* (most recent call first):"))
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

/* paddle/phi/core/enforce.h, GetErrorSumaryString, 2.0 to 3.0: between lines of dashes. */
static bool opens_summary(struct reader *reader, struct ri_span line)
{
	if (ri_span_starts(line, "Error Message Summary:")) {
		reader->in_summary = true;
		return true;
	}
	if (!reader->in_summary || line.length == 0 || ri_span_starts(line, "-----"))
		return reader->in_summary;
	reader->in_summary = false;
	take_words(reader, line);
	reader->in_message = true;
	return true;
}

/*
 * The words of a death, in their order: what a runtime said of it, the lines of
 * a C++ exception's message, the first frames of faulthandler's stack.
 */
static void collect(struct ri_span text, int signal, struct ri_last_words *out)
{
	struct reader reader = { .out = out };
	struct ri_span line;
	enum ri_line_kind kind;

	out->count = 0;
	while (ri_span_line(&text, &line)) {
		line = ri_line_trim(line);
		if (opens_summary(&reader, line) || opens_stack(&reader, line))
			continue;
		kind = ri_line_kind(line);
		if (kind == RI_LINE_LAST && names_signal(line, signal)) {
			take_words(&reader, line);
		} else if (reader.in_message) {
			reader.in_message = line.length > 0 && kind != RI_LINE_STACK &&
				reader.message < MAX_MESSAGE;
			if (!reader.in_message || (kind != RI_LINE_PLAIN && kind < RI_LINE_WORD))
				continue;
			reader.message++;
			add(&reader, line);
		} else if (reader.in_stack && !ri_span_starts(line, "File \"")) {
			reader.in_stack = line.length > 0;
		} else if (reader.in_stack) {
			if (reader.frames == 0)
				reader.stack = out->count;
			if (reader.frames++ < MAX_FRAMES)
				add(&reader, line);
		}
	}
}

/* NCCL's first warning, which says more than the exception that torch makes of it. */
static bool find_warning(struct ri_span text, struct ri_span *out)
{
	struct ri_span line;

	while (ri_span_line(&text, &line)) {
		if (!ri_shape_fits(line, "* NCCL WARN *"))
			continue;
		*out = ri_line_trim(line);
		return true;
	}
	return false;
}

/* The first of the last lines that names an error. Returns false where none does. */
static bool find_name(struct ri_span text, enum ri_line_kind least, struct ri_span *out)
{
	struct ri_span line;
	enum ri_line_kind kind;
	size_t near = 0;
	bool found = false;

	while (near < NEAR && ri_span_last_line(&text, &line)) {
		kind = ri_line_kind(line);
		near += kind == RI_LINE_PLAIN || kind >= RI_LINE_WORD;
		if (kind < least)
			continue;
		*out = ri_line_trim(line);
		found = true;
	}
	return found;
}

/* The last lines before an exception: what killed a worker of it says so itself. */
static struct ri_span text_before(struct ri_span text, const struct ri_traceback *traceback,
	size_t most)
{
	struct ri_span rest = { text.at, (size_t)(traceback->whole.at - text.at) };
	struct ri_span all = rest, line;

	for (size_t lines = 0; lines <= most && ri_span_last_line(&rest, &line);)
		lines += !ri_noise_hides(line);
	return ri_span_skip(all, rest.length);
}

/* What the message of an exception tells of another: what that said itself is the cause. */
enum news {
	NEWS_NONE,
	NEWS_KERNEL,	/* of a GPU: an assertion failed in it */
	NEWS_DEATH,	/* a process died by a signal */
	NEWS_EXIT,	/* a process ended in another way */
};

/*
 * torch/utils/data/_utils/signal_handling.py and dataloader.py, torch/multiprocessing/spawn.py,
 * CPython's Lib/concurrent/futures/process.py, loky's process_executor.py; vLLM's
 * vllm/v1/executor/multiproc_executor.py and vllm/v1/engine/core_client.py (0.8), utils.py and
 * exceptions.py (0.10).
 * torchrun's agent has a table (torch/distributed/elastic/multiprocessing/errors/__init__.py).
 */
static enum news news_of(struct ri_span text, const struct ri_traceback *traceback)
{
	static const char *const deaths[] = {
		"killed by signal", "terminated abruptly", "terminated with signal",
	};
	static const char *const exits[] = {
		"exited unexpectedly", "terminated with exit code", "See root cause above",
		"check the stack trace above for the root cause",
		"See stack trace (above) for the root cause",
	};
	struct ri_rank_said said[ENDS];
	size_t count;

	if (ri_agent_is(traceback)) {
		text = ri_span_skip(text, (size_t)(traceback->last.at - text.at));
		count = ri_launcher_words_read(text, said, ENDS);
		for (size_t i = 0; i < count; i++)
			if (said[i].first && said[i].signal > 0)
				return NEWS_DEATH;
		return NEWS_EXIT;
	}
	if (ri_span_has(traceback->whole, "device-side assert"))
		return NEWS_KERNEL;
	if (ri_span_has_any(traceback->whole, deaths, sizeof(deaths) / sizeof(deaths[0])))
		return NEWS_DEATH;
	return ri_span_has_any(traceback->whole, exits, sizeof(exits) / sizeof(exits[0]))
		? NEWS_EXIT : NEWS_NONE;
}

/* The line of a log that says what it was, before what a runtime said of the death. */
static bool find_logged(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_last_words *out)
{
	struct ri_span own;

	ri_words_loss(text, traceback, &own);
	if (own.length == 0)
		return false;
	if (traceback == NULL)
		collect(text, 0, out);
	if (out->count == RI_LAST_WORDS)
		out->count--;
	memmove(out->lines + 1, out->lines, out->count * sizeof(out->lines[0]));
	out->lines[0] = own;
	out->count++;
	return true;
}

void ri_last_words_find(struct ri_span text, const struct ri_traceback *traceback,
	enum ri_telling telling, int signal, struct ri_last_words *out)
{
	enum news news = traceback == NULL ? NEWS_NONE : news_of(text, traceback);
	bool of_log = traceback != NULL || telling >= RI_TELLING_LOG;
	bool agent = traceback != NULL && ri_agent_is(traceback);

	out->count = 0;
	out->before_leads = out->replace_more = false;
	out->lead = of_log && find_logged(text, traceback, out);
	if (out->lead)
		return;
	if (traceback == NULL && telling != RI_TELLING_NONE) {
		collect(text, of_log ? 0 : signal, out);
		if (out->count == 0 && of_log)
			out->count = find_name(text, telling == RI_TELLING_LOG
				? RI_LINE_LOG : RI_LINE_WORD, &out->lines[0]);
	} else if (news != NEWS_NONE) {
		collect(text_before(text, traceback, agent ? BEFORE_AGENT : NEAR_BEFORE), 0, out);
		out->before_leads = news == NEWS_EXIT && traceback->before.length > 0;
		out->lead = news != NEWS_KERNEL && !out->before_leads && out->count > 0;
		out->replace_more = agent && (out->lead || out->before_leads);
	} else if (traceback != NULL && ri_span_has(traceback->whole, "NCCL error")) {
		out->count = find_warning(text_before(text, traceback, NEAR_BEFORE),
			&out->lines[0]);
	}
}

static size_t keep_lines(struct ri_span text, bool noise, struct ri_span out[RI_LAST_LINES])
{
	struct ri_span line;
	size_t count = 0;

	while (count < RI_LAST_LINES && ri_span_last_line(&text, &line)) {
		line = ri_line_last_state(line);
		if (ri_span_trim_start(line).length > 0 && (noise || !ri_noise_hides(line)))
			out[RI_LAST_LINES - ++count] = line;
	}
	memmove(out, out + RI_LAST_LINES - count, count * sizeof(out[0]));
	return count;
}

size_t ri_last_lines_find(struct ri_span text, struct ri_span out[RI_LAST_LINES])
{
	size_t count = keep_lines(text, false, out);

	return count > 0 ? count : keep_lines(text, true, out);
}
