/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <signal.h>
#include <string.h>

enum {
	LAST_LINES = 20,	/* in which an error is looked for */
	WORKERS = 64,		/* of torchrun's that are looked at */
	NEAR = 40,		/* lines that say something, around a message or at the end */
	LINES_OF_LOG = 1024,	/* all in all */
	BEFORE_AGENT = 400,	/* as NEAR, before torchrun's: its ranks have tracebacks, too */
	MAX_WORDS = 3,		/* lines that decide */
	MAX_MESSAGE = 3,	/* lines of a message, after its first */
	MAX_FRAMES = 4,
};

/*
 * The first of its last words that the actor of this exception said itself: a driver of Ray writes
 * what its actors write, each line with who wrote it (python/ray/_private/worker.py,
 * print_worker_logs).
 */
static bool find_of_actor(struct ri_span text, struct ri_span message, struct ri_span *own)
{
	struct ri_rank_said said;
	int64_t pid = ri_launcher_words_read(message, &said, 1) > 0 ? said.pid : 0;
	struct ri_owner owner;
	struct ri_span line;

	while (ri_span_last_line(&text, &line))
		if (ri_owner_find(line, RI_LABELS_NAMED, &owner) && owner.pid > 0 &&
			(pid == 0 || owner.pid == pid) &&
			ri_line_kind(owner.rest) == RI_LINE_LAST)
			*own = ri_line_trim(line);
	return own->length > 0;
}

/*
 * Of the log's lines near the end of the text the first that tells of trouble: is it this process's
 * own? What follows may follow from it.
 */
static bool find_own(struct ri_span text, enum ri_loss_log log, struct ri_span *own)
{
	/* NCCL src/debug.cc, ncclDebugLog; torch/csrc/distributed/c10d/socket.cpp,
	 * SocketConnectOp: a warning for each attempt */
	const char *shape = log == RI_LOSS_LOG_NCCL ? "* NCCL WARN *" : "[W*.cpp:~*] *";
	const struct ri_loss *row;
	struct ri_span line;
	int telling = 0;

	for (int i = 0; i < LINES_OF_LOG && telling < NEAR && ri_span_last_line(&text, &line);
		i++) {
		telling += !ri_noise_is(line);
		line = ri_line_trim(line);
		row = ri_shape_fits(line, shape) ? ri_loss_row(line) : NULL;
		if (row != NULL && row->kind == RI_LOSS_OWN)
			*own = line;
		else if (row != NULL)
			own->length = 0;
	}
	return own->length > 0;
}

/* All of the message that counts, up to what a library's log says behind it. */
static struct ri_span message_of(const struct ri_traceback *traceback)
{
	bool chained = traceback->cause.length > 0;
	struct ri_span more = chained ? traceback->cause_more : traceback->more, line;
	struct ri_span message = chained ? traceback->cause : traceback->last;

	while (ri_span_line(&more, &line) && ri_line_kind(line) < RI_LINE_LOG)
		message.length = (size_t)(line.at + line.length - message.at);
	return message;
}

const struct ri_loss *ri_words_loss(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_span *own)
{
	struct ri_span before = text, after = { text.at, 0 };
	const struct ri_loss *loss;

	*own = (struct ri_span){ text.at, 0 };
	if (traceback == NULL) {
		loss = ri_loss_of_lines(text);
	} else {
		struct ri_span last = traceback->last.length > 0 ? traceback->last
			: traceback->whole;

		loss = ri_loss_of_exception(message_of(traceback));
		before.length = (size_t)(traceback->whole.at - text.at);
		/* a log's line behind it may look like one more of its message */
		after = ri_span_skip(text, (size_t)(last.at + last.length - text.at));
	}
	if (loss == NULL || loss->log == RI_LOSS_LOG_NONE || loss->log == RI_LOSS_LOG_RANK)
		return loss;
	if (loss->log == RI_LOSS_LOG_ACTOR)
		return traceback != NULL && find_of_actor(before, message_of(traceback), own)
			? NULL : loss;
	return find_own(before, loss->log, own) || find_own(after, loss->log, own) ? NULL : loss;
}

/*
 * What a stop makes of a program: Python's own exceptions, those of torchrun
 * (torch/distributed/elastic/multiprocessing/api.py, SignalException), Lightning
 * (lightning/pytorch/utilities/exceptions.py, SIGTERMException), and the words
 * of a data loader whose workers were told as well (torch/utils/data/_utils/
 * signal_handling.py).
 */
static bool tells_of_stop(const struct ri_traceback *traceback)
{
	static const char *const words[] = {
		"KeyboardInterrupt", "SystemExit", "SignalException", "SIGTERM", "got signal: 15",
		"killed by signal: Terminated", "signal 15",
	};

	return ri_span_has_any(traceback->last, words, RI_ARRAY_SIZE(words));
}

/*
 * torchrun's agent says of each end of a worker that a child failed, and its stderr has what the
 * workers said before. Where all of them that it counts lost others, so did this node.
 */
static const struct ri_loss *find_loss_of_workers(struct ri_span text,
	const struct ri_traceback *agent)
{
	const struct ri_loss *loss = NULL, *found;
	struct ri_rank_said said[WORKERS];
	struct ri_traceback worker;
	struct ri_span own;
	size_t ends;
	int ended = 0, lost = 0;

	if (!ri_agent_is(agent))
		return NULL;
	/* in its summary: as a Python exception ends one, or by the agent's own SIGTERM */
	ends = ri_launcher_words_read(ri_span_skip(text, (size_t)(agent->last.at - text.at)),
		said, WORKERS);
	for (size_t i = 0; i < ends; i++) {
		if (said[i].exit_code != 1 && said[i].signal != SIGTERM)
			return NULL;
		ended += said[i].exit_code == 1;
	}
	text.length = (size_t)(agent->whole.at - text.at);
	while (lost < WORKERS && ri_traceback_find(text, &worker)) {
		found = ri_words_loss(text, &worker, &own);
		if (found == NULL && !tells_of_stop(&worker))
			return NULL;
		loss = found != NULL ? found : loss;
		lost++;
		text.length = (size_t)(worker.whole.at - text.at);
	}
	return ended > 0 && lost >= ended ? loss : NULL;
}

/*
 * torch/distributed/rendezvous.py, _env_rendezvous_handler (1.0 to 2.13), and os.environ["RANK"]
 * itself: CPython Lib/os.py, _Environ.__getitem__, which is frozen since 3.12.
 */
static bool lacks_rank(const struct ri_traceback *traceback)
{
	static const char *const asked[] = {
		"environment variable RANK expected, but not set",
		"environment variable WORLD_SIZE expected, but not set",
	};
	static const char *const missing[] = {
		"KeyError: 'RANK'", "KeyError: 'WORLD_SIZE'", "KeyError: 'LOCAL_RANK'",
		"KeyError: 'MASTER_ADDR'", "KeyError: 'MASTER_PORT'",
	};

	if (ri_span_starts(traceback->last, "ValueError: Error initializing torch.distributed "))
		return ri_span_has_any(traceback->last, asked, 2);
	return (ri_span_ends(traceback->file, "/os.py") ||
		       ri_span_ends(traceback->file, "<frozen os>")) &&
		ri_span_has_any(traceback->last, missing, 5);
}

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
	for (size_t i = 0; i < RI_ARRAY_SIZE(handled); i++)
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
	struct ri_rank_said said[WORKERS];
	size_t count;

	if (ri_agent_is(traceback)) {
		text = ri_span_skip(text, (size_t)(traceback->last.at - text.at));
		count = ri_launcher_words_read(text, said, WORKERS);
		for (size_t i = 0; i < count; i++)
			if (said[i].first && said[i].signal > 0)
				return NEWS_DEATH;
		return NEWS_EXIT;
	}
	if (ri_span_has(traceback->whole, "device-side assert"))
		return NEWS_KERNEL;
	if (ri_span_has_any(traceback->whole, deaths, RI_ARRAY_SIZE(deaths)))
		return NEWS_DEATH;
	return ri_span_has_any(traceback->whole, exits, RI_ARRAY_SIZE(exits))
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
		collect(text_before(text, traceback, agent ? BEFORE_AGENT : NEAR), 0, out);
		out->before_leads = news == NEWS_EXIT && traceback->before.length > 0;
		out->lead = news != NEWS_KERNEL && !out->before_leads && out->count > 0;
		out->replace_more = agent && (out->lead || out->before_leads);
	} else if (traceback != NULL && ri_span_has(traceback->whole, "NCCL error")) {
		out->count = find_warning(text_before(text, traceback, NEAR),
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

static void read_traceback(struct ri_span text, struct ri_words *out)
{
	/*
	 * Lightning 1.4 to 1.9 kills the other ranks when one has raised an exception, and then
	 * raises this, with the trace of the first one in the message (pytorch_lightning/
	 * strategies/ddp.py, reconciliate_processes).
	 */
	static const char kill[] = "DeadLock detected from rank: ";
	const struct ri_traceback *traceback = &out->traceback;
	struct ri_span own, rest = traceback->whole, more = traceback->more, line;
	const struct ri_loss *row;

	while (ri_span_line(&more, &line)) {
		row = ri_loss_row(line);
		if (row != NULL && row->kind != RI_LOSS_OWN)
			break;
		out->message_lines += ri_noise_count(line);
	}
	out->goes_on = ri_noise_count(ri_span_skip(text,
		(size_t)(rest.at + rest.length - text.at))) > 0;
	out->loss = ri_words_loss(text, traceback, &own);
	out->workers_loss = find_loss_of_workers(text, traceback);
	out->tells_of_stop = tells_of_stop(traceback);
	out->tells_of_kill = ri_span_has(traceback->last, kill) ||
		ri_span_has(traceback->before, kill);
	/* an exception raised while it was handled does not hide it: all of the chain counts */
	while (!out->interrupted && ri_span_line(&rest, &line))
		out->interrupted = ri_span_starts(ri_traceback_line(traceback, line),
			"KeyboardInterrupt");
	out->lacks_rank = lacks_rank(traceback);
	/* what breakpoint() and input() end of where stdin does (CPython Lib/pdb.py, do_EOF;
	 * Lib/bdb.py, dispatch_line; Python/bltinmodule.c, builtin_input_impl) */
	out->asked_for_line = ri_span_starts(traceback->last, "bdb.BdbQuit") ||
		ri_span_starts(traceback->last, "EOFError: EOF when reading a line");
}

void ri_words_read(struct ri_span text, struct ri_words *out)
{
	struct ri_span own, rest = text, line;
	static const char *const errors[] = {
		"ERROR", "Error", "error:", "FATAL", "Fatal", "fatal:", "CRITICAL",
	};

	*out = (struct ri_words){ .has_traceback = false };
	out->has_traceback = ri_traceback_find(text, &out->traceback);
	if (out->has_traceback)
		read_traceback(text, out);
	for (int i = 0; i < LAST_LINES && ri_span_last_line(&rest, &line); i++) {
		enum ri_line_kind kind = ri_line_kind(line);

		if (kind == RI_LINE_LAST)
			out->aborted = true;
		if (kind != RI_LINE_NOTE &&
			ri_span_has_any(line, errors, RI_ARRAY_SIZE(errors)))
			out->complains = true;
	}
	out->last_loss = ri_words_loss(text, NULL, &own);
	out->has_calls = ri_fingerprints_find(text, out->calls);
	out->has_work = ri_work_find(text, &out->work);
	/* PyTorch's words for a data loader that ended so: "... killed by signal: Bus error." */
	out->has_bus_error = ri_span_has(text, "Bus error");
}
