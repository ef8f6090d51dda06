/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <signal.h>
#include <string.h>

enum {
	LAST_LINES = 20,	/* in which an error is looked for */
	WORKERS = 64,		/* tracebacks of them that are looked at */
	NEAR = 40,		/* lines that say something, between the log's and the message */
	LINES_OF_LOG = 1024,	/* all in all */
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

	return ri_span_has_any(traceback->last, words, sizeof(words) / sizeof(words[0]));
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
			ri_span_has_any(line, errors, sizeof(errors) / sizeof(errors[0])))
			out->complains = true;
	}
	out->last_loss = ri_words_loss(text, NULL, &own);
	out->has_calls = ri_fingerprints_find(text, out->calls);
	out->has_work = ri_work_find(text, &out->work);
	/* PyTorch's words for a data loader that ended so: "... killed by signal: Bus error." */
	out->has_bus_error = ri_span_has(text, "Bus error");
}
