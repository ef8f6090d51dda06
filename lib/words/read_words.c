/* SPDX-License-Identifier: Apache-2.0 */
#include "words/read_words.h"

#include <signal.h>
#include <string.h>

#include "words/launcher_words.h"
#include "words/line.h"
#include "words/logged.h"
#include "words/traceback_line.h"

enum {
	LAST_LINES = 20,	/* in which an error is looked for */
	WORKERS = 64,		/* tracebacks of them that are looked at */
};

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
 * Lightning 1.4 to 1.9 kills the other ranks when one has raised an exception, and
 * then raises this (pytorch_lightning/strategies/ddp.py, reconciliate_processes).
 */
static bool tells_of_kill(const struct ri_traceback *traceback)
{
	static const char words[] = "DeadLock detected from rank: ";

	/* the trace of the first exception stands in the message */
	return ri_span_has(traceback->last, words) || ri_span_has(traceback->before, words);
}

/* An exception raised while it was handled does not hide it: all of the chain counts. */
static bool tells_of_interrupt(const struct ri_traceback *traceback)
{
	struct ri_span rest = traceback->whole, line;

	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (ri_span_starts(line, "KeyboardInterrupt"))
			return true;
	}
	return false;
}

/*
 * In the summary of torchrun's agent, how many of its workers ended as a Python exception ends
 * one; -1 where one ended in another way than by that or by the agent's own SIGTERM.
 */
static int count_exceptions(struct ri_span summary)
{
	struct ri_rank_said said[WORKERS];
	size_t ends = ri_launcher_words_read(summary, said, WORKERS);
	int count = 0;

	for (size_t i = 0; i < ends; i++) {
		if (said[i].exit_code != 1 && said[i].signal != SIGTERM)
			return -1;
		count += said[i].exit_code == 1;
	}
	return count;
}

/*
 * torchrun's agent says of each end of a worker that a child failed, and its stderr has what the
 * workers said before. Where all of them that it counts lost others, so did this node.
 */
static const struct ri_loss *find_loss_of_workers(struct ri_span text,
	const struct ri_traceback *agent)
{
	const struct ri_loss *loss = NULL, *found;
	struct ri_traceback worker;
	struct ri_span own;
	int ended, lost = 0;

	if (!ri_agent_is(agent))
		return NULL;
	ended = count_exceptions(ri_span_skip(text, (size_t)(agent->last.at - text.at)));
	text.length = (size_t)(agent->whole.at - text.at);
	while (lost < WORKERS && ri_traceback_find(text, &worker)) {
		found = ri_logged_loss(text, &worker, &own);
		if (found == NULL && !tells_of_stop(&worker))
			return NULL;
		loss = found != NULL ? found : loss;
		lost++;
		text.length = (size_t)(worker.whole.at - text.at);
	}
	return ended > 0 && lost >= ended ? loss : NULL;
}

/*
 * What breakpoint() and input() end of where stdin does (CPython Lib/pdb.py,
 * do_EOF; Lib/bdb.py, dispatch_line; Python/bltinmodule.c, builtin_input_impl).
 */
static bool asked_for_line(const struct ri_traceback *traceback)
{
	return ri_span_starts(traceback->last, "bdb.BdbQuit") ||
		ri_span_starts(traceback->last, "EOFError: EOF when reading a line");
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
	const struct ri_traceback *traceback = &out->traceback;
	struct ri_span own;
	bool lost;

	out->message_lines = ri_loss_count_before(traceback->more, &lost);
	out->loss = ri_logged_loss(text, traceback, &own);
	out->workers_loss = find_loss_of_workers(text, traceback);
	out->tells_of_stop = tells_of_stop(traceback);
	out->tells_of_kill = tells_of_kill(traceback);
	out->interrupted = tells_of_interrupt(traceback);
	out->lacks_rank = lacks_rank(traceback);
	out->asked_for_line = asked_for_line(traceback);
}

/* Did a runtime end the process, as MPI does, and say so in one of the last lines? */
static bool was_aborted(struct ri_span text)
{
	struct ri_span line;

	for (int i = 0; i < LAST_LINES && ri_span_last_line(&text, &line); i++)
		if (ri_decisive_find(line) == RI_DECISIVE_LAST)
			return true;
	return false;
}

/* Has one of the last lines a word for an error, warnings left out? */
static bool has_error(struct ri_span text)
{
	static const char *const words[] = {
		"ERROR", "Error", "error:", "FATAL", "Fatal", "fatal:", "CRITICAL",
	};
	struct ri_span line;

	for (int i = 0; i < LAST_LINES && ri_span_last_line(&text, &line); i++)
		if (!ri_noise_is_warning(line) &&
			ri_span_has_any(line, words, sizeof(words) / sizeof(words[0])))
			return true;
	return false;
}

void ri_words_read(struct ri_span text, struct ri_words *out)
{
	struct ri_span own;

	*out = (struct ri_words){ .has_traceback = false };
	out->has_traceback = ri_traceback_find(text, &out->traceback);
	if (out->has_traceback)
		read_traceback(text, out);
	out->last_loss = ri_logged_loss(text, NULL, &own);
	out->aborted = was_aborted(text);
	out->has_calls = ri_fingerprints_find(text, out->calls);
	out->has_work = ri_work_find(text, &out->work);
	out->complains = has_error(text);
	/* PyTorch's words for a data loader that ended so: "... killed by signal: Bus error." */
	out->has_bus_error = ri_span_has(text, "Bus error");
}
