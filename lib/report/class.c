/* SPDX-License-Identifier: Apache-2.0 */
#include "report/class.h"

#include <signal.h>
#include <string.h>

#include "report/torch_error.h"

enum {
	OLD_TRACEBACK = 50,	/* lines after it */
	OLD_BEFORE_SIGNAL = 3,
	MESSAGE_SECONDS = 10,	/* for a long message, and what Python does before its end */
};

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

/*
 * Lines after it may all be its message, of which a tensor has thousands: Python ends with 1 then.
 * Of one that was stopped at its exit a few lines would be no such message.
 */
static bool may_be_message(const struct ri_rank_outcome *rank)
{
	bool recent = rank->traceback_at.tv_sec > 0 &&
		rank->ended.tv_sec - rank->traceback_at.tv_sec <= MESSAGE_SECONDS;

	return recent && (rank->end == RI_END_EXITED ? rank->exit_code == 1
		: rank->wrote.head > 0 && rank->course == RI_COURSE_LEFT);
}

/*
 * A program may print a traceback and go on. Do the words have one, and is it the last that the
 * rank said?
 */
static bool ended_of_traceback(const struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	if (!words->has_traceback)
		return false;
	if (may_be_message(rank))
		return true;
	if (rank->end == RI_END_EXITED || rank->leaving || rank->lingered_s > 0)
		return words->traceback.lines_after <= OLD_TRACEBACK;
	return words->lines_since <= OLD_BEFORE_SIGNAL;
}

static void be(struct ri_rank_outcome *rank, enum ri_class class, const struct ri_loss *loss)
{
	rank->evidence.loss = loss;
	rank->evidence.class = loss != NULL ? RI_CLASS_LOSS : class;
}

/*
 * Had a rank that was told to stop printed an exception, caught it and gone on? Where its course
 * was not seen, any exception counts as caught, but for a loss and a stop: a rank that tells of a
 * loss is not blamed for it, so that needs no proof.
 */
static bool has_survived(const struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	/* a program that is over ended of its own exception, unless that ended a thread only */
	if (!rank->told || (rank->course == RI_COURSE_LEFT && !words->traceback.aside))
		return false;
	return rank->course == RI_COURSE_RUNNING || (words->loss == NULL && !words->tells_of_stop);
}

/* By its own traceback. Returns false where it ended of none. */
static bool find_traceback(struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	if (!rank->evidence.ended_of_traceback ||
		(rank->told && words->traceback.last.length == 0))
		return false;
	rank->evidence.printed = has_survived(rank);
	if (rank->evidence.printed) {
		be(rank, RI_CLASS_STOPPED, words->later_loss);
		return true;
	}
	rank->evidence.witnessed = rank->traceback_at.tv_sec > 0;
	be(rank, RI_CLASS_OWN, words->loss);
	rank->evidence.killed_others = words->tells_of_kill;
	if (rank->evidence.loss == NULL && rank->told && words->tells_of_stop)
		rank->evidence.class = RI_CLASS_STOPPED;
	else if (rank->evidence.loss == NULL)
		be(rank, RI_CLASS_OWN, words->workers_loss);
	if (rank->evidence.class == RI_CLASS_OWN)
		be(rank, RI_CLASS_OWN, words->later_loss);
	return true;
}

/* By the file that torch wrote, which has the words of an exception. */
static bool find_file(struct ri_rank_outcome *rank)
{
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_torch_error error;
	struct ri_span message;

	/* a rank that was stopped has not failed, even where another wrote its file */
	if (file.at == NULL || (rank->told && rank->course != RI_COURSE_LEFT) ||
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

static void find_lines(struct ri_rank_outcome *rank)
{
	be(rank, rank->told ? RI_CLASS_STOPPED : class_of_end(rank),
		rank->oom ? NULL : rank->evidence.words.last_loss);
	rank->evidence.complained = rank->evidence.words.complains;
}

/* Where the tail was not kept the time alone counts. */
static bool find_time(struct ri_rank_outcome *rank)
{
	rank->evidence.witnessed = rank->traceback_at.tv_sec > 0;
	rank->evidence.class = RI_CLASS_OWN;
	return rank->evidence.witnessed;
}

/*
 * What a rank says of a loss outranks its file: another rank may have written that, since all have
 * the same user. A rank that raised the exception in its file prints a traceback, too.
 */
static void find_other(struct ri_rank_outcome *rank)
{
	find_lines(rank);
	if (rank->evidence.loss == NULL)
		find_file(rank);
}

void ri_class_find(struct ri_rank_outcome *rank)
{
	const struct ri_evidence before = rank->evidence;

	rank->evidence = (struct ri_evidence){ .class = RI_CLASS_NONE };
	if (!ri_rank_failed(rank))
		return;
	rank->evidence.total = rank->wrote.total;
	if (rank->wrote.total > 0 && before.total == rank->wrote.total)
		rank->evidence.words = before.words;
	else if (rank->wrote.tail.at != NULL)
		ri_words_read(rank->wrote.tail, &rank->evidence.words);
	rank->evidence.ended_of_traceback = ended_of_traceback(rank);
	if (rank->end == RI_END_EXEC_FAILED)
		rank->evidence.class = RI_CLASS_OWN;
	else if (rank->wrote.tail.at != NULL ? !find_traceback(rank) : !find_time(rank))
		find_other(rank);
}

bool ri_class_left_program(const struct ri_evidence *evidence)
{
	const struct ri_words *words = &evidence->words;

	return evidence->ended_of_traceback && words->uncaught && !words->traceback.aside &&
		words->traceback.last.length > 0;
}

bool ri_class_was_held(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank)
{
	return outcome->stop.signal != 0 && rank->told && rank->lingered_s == 0 &&
		rank->course == RI_COURSE_LEFT && ri_class_left_program(&rank->evidence);
}

bool ri_time_is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

struct ri_moment ri_moment_find(const struct ri_rank_outcome *rank)
{
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_moment moment = { .at = rank->ended, .order = rank->order };
	uint64_t second;

	if (rank->evidence.witnessed) {
		moment.at = rank->traceback_at;
		moment.witnessed = true;
	} else if (rank->gone_at.tv_sec > 0) {
		moment.at = rank->gone_at;
		moment.order = 0;
	}
	moment.second = moment.at.tv_sec;
	/* of another run, or by another clock: the file's time does not count */
	if (file.at != NULL && ri_torch_error_time(file, &second) &&
		(int64_t)second >= rank->started.tv_sec && (int64_t)second <= rank->ended.tv_sec) {
		moment.second = (int64_t)second;
		moment.witnessed = true;
	}
	return moment;
}

bool ri_moment_is_earlier(const struct ri_moment *a, const struct ri_moment *b)
{
	bool ordered = a->order > 0 && b->order > 0;

	if (ordered && !a->witnessed && !b->witnessed)
		return a->order < b->order;
	if (a->second != b->second)
		return a->second < b->second;
	if (ri_time_is_before(a->at, b->at) || ri_time_is_before(b->at, a->at))
		return ri_time_is_before(a->at, b->at);
	return ordered && a->order < b->order;
}
