/* SPDX-License-Identifier: Apache-2.0 */
#include "report/class.h"

#include <signal.h>
#include <string.h>

#include "report/torch_error.h"

/* Behind a traceback Python runs what is registered for its exit, as an upload. */
enum { EXIT_SECONDS = 60 };

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

int ri_rank_signal(const struct ri_rank_outcome *rank)
{
	if (rank->end == RI_END_SIGNALED)
		return rank->signal;
	if (rank->end == RI_END_EXITED && rank->exit_code > 128 &&
		rank->exit_code <= 128 + SIGSYS)
		return rank->exit_code - 128;
	return 0;
}

bool ri_signal_is_foreign(int number)
{
	return number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP ||
		number == SIGUSR1 || number == SIGUSR2;
}

/*
 * CPython exits with 1 where no code caught an exception (Python/pythonrun.c, _Py_HandleSystemExit
 * has the others), and of KeyboardInterrupt it dies by SIGINT (Modules/main.c, exit_sigint). How
 * one ended that a launcher only says has failed is not known.
 */
static bool is_end_of_python(const struct ri_rank_outcome *rank)
{
	if (ri_rank_signal(rank) == SIGINT)
		return rank->evidence.words.interrupted;
	return rank->end == RI_END_RUNNING || (rank->end == RI_END_EXITED && rank->exit_code == 1);
}

/* Of what a launcher writes the time is not known: there it is the last one. */
static bool is_fresh(const struct ri_rank_outcome *rank)
{
	return rank->traceback_at.tv_sec == 0 ||
		rank->ended.tv_sec - rank->traceback_at.tv_sec < EXIT_SECONDS;
}

/* May an exception explain this end? One that we stopped ends of our signal: that takes proof. */
static bool may_be_of_exception(const struct ri_rank_outcome *rank)
{
	bool left = rank->course == RI_COURSE_LEFT;

	if (rank->lingered_s > 0 || (left && is_end_of_python(rank)))
		return true;
	if (rank->told)
		return left && rank->end == RI_END_SIGNALED;
	/* behind the program a library's thread may still abort */
	return rank->leaving || is_end_of_python(rank) ||
		(left && ri_rank_signal(rank) == SIGABRT);
}

/* And the last one that it printed? What ended a thread alone, or broke off, is no proof. */
static bool ended_of_traceback(const struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	if (!words->has_traceback || !may_be_of_exception(rank) ||
		(rank->told && (words->traceback.aside || words->traceback.last.length == 0)))
		return false;
	return rank->leaving || rank->lingered_s > 0 || rank->course == RI_COURSE_LEFT ||
		is_fresh(rank);
}

static enum ri_telling find_telling(const struct ri_rank_outcome *rank)
{
	int number = ri_rank_signal(rank);

	if (rank->told || ri_signal_is_foreign(number))
		return RI_TELLING_NONE;
	if (number != 0 && number != SIGABRT)
		return RI_TELLING_HANDLER;
	if (rank->end != RI_END_EXITED || rank->exit_code == 1)
		return number == 0 ? RI_TELLING_WORD : RI_TELLING_LOG;
	/* of a status of its own a log says why where a runtime says that it ended the process */
	return number == SIGABRT || rank->evidence.words.aborted ? RI_TELLING_LOG
		: RI_TELLING_NONE;
}

static void be(struct ri_rank_outcome *rank, enum ri_class class, const struct ri_loss *loss)
{
	rank->evidence.loss = loss;
	rank->evidence.class = loss != NULL ? RI_CLASS_LOSS : class;
}

/* By its own traceback. */
static void take_traceback(struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	rank->evidence.witnessed = rank->traceback_at.tv_sec > 0;
	be(rank, RI_CLASS_OWN, words->loss);
	rank->evidence.killed_others = words->tells_of_kill;
	if (rank->evidence.loss == NULL && rank->told && words->tells_of_stop)
		rank->evidence.class = RI_CLASS_STOPPED;
	else if (rank->evidence.loss == NULL)
		be(rank, RI_CLASS_OWN, words->workers_loss);
}

/*
 * By the file that torch wrote: an exception left the program's main function (torch/distributed/
 * elastic/multiprocessing/errors, record), which may end with any status for that.
 */
static void take_file(struct ri_rank_outcome *rank)
{
	bool exited = rank->end == RI_END_EXITED && !rank->told && ri_rank_signal(rank) == 0;
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_torch_error error;
	struct ri_span message;

	/* a rank that was stopped has not failed, even where another wrote its file */
	if (file.at == NULL || !(exited || may_be_of_exception(rank)) ||
		!ri_torch_error_read(file, &error))
		return;
	message = (struct ri_span){ error.message, strlen(error.message) };
	rank->evidence.ended_of_file = true;
	rank->evidence.printed = false;
	be(rank, RI_CLASS_OWN, ri_loss_of_exception(message));
}

/*
 * That a rank which was told to stop had lost another one is believed without proof, but not of one
 * whose program runs: it is not blamed for it.
 */
static void take_stop(struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;
	bool runs = rank->course == RI_COURSE_RUNNING;

	be(rank, RI_CLASS_STOPPED, runs ? NULL
		: words->has_traceback && words->loss != NULL && is_fresh(rank) ? words->loss
		: words->last_loss);
	rank->evidence.printed = words->has_traceback && words->traceback.last.length > 0 &&
		rank->evidence.loss == NULL && (runs || !words->tells_of_stop);
}

/*
 * What a rank says of a loss outranks its file: another rank may have written that, since all have
 * the same user. A rank that raised the exception in its file prints a traceback, too.
 */
static void take_lines(struct ri_rank_outcome *rank)
{
	/* SIGPIPE comes because another process, the reader of the pipe, has ended */
	bool own = rank->end == RI_END_SIGNALED && rank->signal != SIGPIPE;
	/* NCCL's watchdog aborts those that lost others; no words hide another signal or status */
	enum ri_telling telling = rank->evidence.telling;
	bool explained = telling == RI_TELLING_WORD || telling == RI_TELLING_LOG ||
		(telling == RI_TELLING_HANDLER && ri_rank_signal(rank) == SIGPIPE);

	if (rank->told)
		take_stop(rank);
	else
		be(rank, own ? RI_CLASS_OWN : RI_CLASS_UNKNOWN,
			explained ? rank->evidence.words.last_loss : NULL);
	rank->evidence.complained = telling == RI_TELLING_WORD &&
		rank->evidence.words.complains;
	if (rank->evidence.loss == NULL)
		take_file(rank);
}

void ri_class_find(struct ri_rank_outcome *rank)
{
	const struct ri_evidence before = rank->evidence;
	bool timed;

	rank->evidence = (struct ri_evidence){ .class = RI_CLASS_NONE };
	if (!ri_rank_failed(rank))
		return;
	rank->evidence.total = rank->wrote.total;
	if (rank->wrote.total > 0 && before.total == rank->wrote.total)
		rank->evidence.words = before.words;
	else if (rank->wrote.tail.at != NULL)
		ri_words_read(rank->wrote.tail, &rank->evidence.words);
	rank->evidence.ended_of_traceback = ended_of_traceback(rank);
	rank->evidence.telling = find_telling(rank);
	/* where the tail was not kept the time alone counts */
	timed = rank->wrote.tail.at == NULL && rank->traceback_at.tv_sec > 0 &&
		may_be_of_exception(rank) && is_fresh(rank);
	if (rank->end == RI_END_EXEC_FAILED)
		rank->evidence.class = RI_CLASS_OWN;
	else if (rank->evidence.ended_of_traceback || timed)
		take_traceback(rank);
	else
		take_lines(rank);
}

bool ri_class_was_held(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank)
{
	return outcome->stop.signal != 0 && rank->told && rank->lingered_s == 0 &&
		rank->course == RI_COURSE_LEFT && rank->evidence.ended_of_traceback;
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
