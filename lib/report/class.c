/* SPDX-License-Identifier: Apache-2.0 */
#include "report/class.h"

#include <signal.h>
#include <string.h>

#include "words/decisive.h"
#include "words/noise.h"
#include "report/torch_error.h"

const char *ri_class_name(enum ri_class class)
{
	static const char *const names[] = {
		[RI_CLASS_STOPPED] = "stopped",
		[RI_CLASS_LOSS] = "loss",
		[RI_CLASS_UNKNOWN] = "unknown",
		[RI_CLASS_OWN] = "own",
	};

	return names[class];
}

enum {
	HANDLED = 4,		/* lines after a traceback that the program went on from */
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

/*
 * NCCL has one message for a peer that is gone and for a segment that it cannot
 * make; which of them it was stands in its log (NCCL src/misc/shmutils.cc).
 */
static bool tells_of_segment(const struct ri_rank_outcome *rank)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };

	return rank->tail != NULL &&
		ri_span_has(tail, "NCCL WARN Error while creating shared memory segment");
}

static void be(struct ri_rank_outcome *rank, enum ri_class class, const struct ri_loss *loss)
{
	if (loss != NULL && tells_of_segment(rank))
		loss = NULL;
	rank->loss = loss;
	rank->class = loss != NULL ? RI_CLASS_LOSS : class;
}

/* All of its message, up to what a library's log says behind it. */
static struct ri_span message_of(const struct ri_traceback *traceback)
{
	struct ri_span more = traceback->more, message = traceback->last, line;

	while (ri_span_line(&more, &line)) {
		if (ri_decisive_find(line) == RI_DECISIVE_LOG ||
			ri_decisive_find(line) == RI_DECISIVE_LAST)
			break;
		message.length = (size_t)(line.at + line.length - message.at);
	}
	return message;
}

const struct ri_loss *ri_class_loss(const struct ri_traceback *traceback)
{
	if (traceback->cause.length > 0)
		return ri_loss_of_exception(traceback->cause);
	return ri_loss_of_exception(message_of(traceback));
}

/*
 * In the summary of torchrun's agent, how many of its workers ended as a Python exception ends
 * one; -1 where one ended in another way than by that or by the agent's own SIGTERM: "exitcode  :
 * -9 (pid: 417)" (torch/distributed/elastic/multiprocessing/errors/__init__.py, _FAILURE_FORMAT).
 */
static int count_exceptions(struct ri_span summary)
{
	static const char word[] = "exitcode  : ";
	struct ri_span line, code;
	int count = 0;

	while (ri_span_line(&summary, &line)) {
		code = ri_span_trim_start(line);
		if (!ri_span_starts(code, word))
			continue;
		code = ri_span_skip(code, sizeof(word) - 1);
		if (!ri_span_starts(code, "1 (pid") && !ri_span_starts(code, "-15 (pid"))
			return -1;
		count += ri_span_starts(code, "1 (pid");
	}
	return count;
}

/*
 * torchrun's agent says of each end of a worker that a child failed, and its stderr has what the
 * workers said before. Where all of them that it counts lost others, so did this node.
 */
static const struct ri_loss *find_loss_of_workers(struct ri_span tail,
	const struct ri_traceback *agent)
{
	static const char type[] =
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError:";
	const struct ri_loss *loss = NULL, *found;
	struct ri_traceback worker;
	int ended, lost = 0;

	if (!ri_span_starts(agent->last, type))
		return NULL;
	ended = count_exceptions(ri_span_skip(tail, (size_t)(agent->last.at - tail.at)));
	tail.length = (size_t)(agent->whole.at - tail.at);
	while (lost < WORKERS && ri_traceback_find(tail, &worker)) {
		found = ri_class_loss(&worker);
		if (found == NULL && !tells_of_stop(&worker))
			return NULL;
		loss = found != NULL ? found : loss;
		lost++;
		tail.length = (size_t)(worker.whole.at - tail.at);
	}
	return ended > 0 && lost >= ended ? loss : NULL;
}

/* A rank that handled its exception wrote what it did end of behind the traceback. */
static const struct ri_loss *find_later_loss(struct ri_span tail,
	const struct ri_traceback *traceback)
{
	size_t end = (size_t)(traceback->whole.at + traceback->whole.length - tail.at);

	if (traceback->lines_after < HANDLED)
		return NULL;
	return ri_loss_of_lines(ri_span_skip(tail, end));
}

/*
 * Had a rank that was told to stop printed an exception, caught it and gone on? Where its course
 * was not seen, any exception counts as caught, but for a loss and a stop: a rank that tells of a
 * loss is not blamed for it, so that needs no proof.
 */
static bool has_survived(const struct ri_rank_outcome *rank, const struct ri_traceback *traceback)
{
	/* a program that is over ended of its own exception, unless that ended a thread only */
	if (!rank->told || (rank->course == RI_COURSE_ENDING && !traceback->aside))
		return false;
	return rank->course == RI_COURSE_RUNNING ||
		(ri_class_loss(traceback) == NULL && !tells_of_stop(traceback));
}

/* By its own traceback. Returns false where it ended of none. */
static bool find_traceback(struct ri_rank_outcome *rank)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };
	struct ri_traceback traceback;

	if (!ri_traceback_find(tail, &traceback) || !ri_rank_ended_of(rank, &traceback) ||
		(rank->told && traceback.last.length == 0))
		return false;
	rank->printed = has_survived(rank, &traceback);
	if (rank->printed) {
		be(rank, RI_CLASS_STOPPED, find_later_loss(tail, &traceback));
		return true;
	}
	rank->witnessed = rank->traceback_at.tv_sec > 0;
	be(rank, RI_CLASS_OWN, ri_class_loss(&traceback));
	rank->killed_others = tells_of_kill(&traceback);
	if (rank->loss == NULL && rank->told && tells_of_stop(&traceback))
		rank->class = RI_CLASS_STOPPED;
	else if (rank->loss == NULL)
		be(rank, RI_CLASS_OWN, find_loss_of_workers(tail, &traceback));
	if (rank->class == RI_CLASS_OWN)
		be(rank, RI_CLASS_OWN, find_later_loss(tail, &traceback));
	return true;
}

/* By the file that torch wrote, which has the words of an exception. */
static bool find_file(struct ri_rank_outcome *rank)
{
	const struct ri_span file = { rank->torch_error, rank->torch_error_length };
	struct ri_torch_error error;
	struct ri_span message;

	/* a rank that was stopped has not failed, even where another wrote its file */
	if (file.at == NULL || (rank->told && rank->course != RI_COURSE_ENDING) ||
		!ri_torch_error_read(file, &error))
		return false;
	message = (struct ri_span){ error.message, strlen(error.message) };
	be(rank, RI_CLASS_OWN, ri_loss_of_exception(message));
	return true;
}

/* SIGPIPE comes because another process, the reader of the pipe, has ended. */
static enum ri_class class_of_end(const struct ri_rank_outcome *rank)
{
	if (rank->end == RI_END_SIGNALED && rank->signal != SIGPIPE)
		return RI_CLASS_OWN;
	return RI_CLASS_UNKNOWN;
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

static void find_lines(struct ri_rank_outcome *rank)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };
	const struct ri_loss *loss = NULL;

	if (rank->tail != NULL && !rank->oom)
		loss = ri_loss_of_lines(tail);
	be(rank, rank->told ? RI_CLASS_STOPPED : class_of_end(rank), loss);
	rank->complained = rank->tail != NULL && has_error(tail);
}

/* Where the tail was not kept the time alone counts. */
static bool find_time(struct ri_rank_outcome *rank)
{
	rank->witnessed = rank->traceback_at.tv_sec > 0;
	rank->class = RI_CLASS_OWN;
	return rank->witnessed;
}

/*
 * What a rank says of a loss outranks its file: another rank may have written that, since all have
 * the same user. A rank that raised the exception in its file prints a traceback, too.
 */
static void find_other(struct ri_rank_outcome *rank)
{
	find_lines(rank);
	if (rank->loss == NULL)
		find_file(rank);
}

void ri_class_find(struct ri_rank_outcome *rank)
{
	rank->class = RI_CLASS_NONE;
	rank->loss = NULL;
	rank->witnessed = rank->killed_others = rank->complained = rank->printed = false;
	if (!ri_rank_failed(rank))
		return;
	if (rank->end == RI_END_EXEC_FAILED)
		rank->class = RI_CLASS_OWN;
	else if (rank->tail != NULL ? !find_traceback(rank) : !find_time(rank))
		find_other(rank);
}
