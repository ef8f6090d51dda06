/* SPDX-License-Identifier: Apache-2.0 */
#include "report/culprit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Behind a traceback Python runs what is registered for its exit, as an upload. */
enum { EXIT_SECONDS = 60 };

/* --- what an end is evidence of ---------------------------------------------- */

const char *const ri_class_words[] = {
	[RI_CLASS_NONE] = NULL,
	[RI_CLASS_STOPPED] = "stopped",
	[RI_CLASS_LOSS] = "loss",
	[RI_CLASS_UNKNOWN] = "unknown",
	[RI_CLASS_OWN] = "own",
};

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

/* Did its last traceback come shortly before its end? So it counts, too, where no time is known. */
static bool is_fresh(const struct ri_rank_outcome *rank)
{
	return rank->traceback_at.tv_sec == 0 ||
		rank->ended.tv_sec - rank->traceback_at.tv_sec < EXIT_SECONDS;
}

/* May an exception explain this end? Of a rank that we stopped one that was seen to leave it. */
static bool may_be_of_exception(const struct ri_rank_outcome *rank)
{
	bool left = rank->course == RI_COURSE_LEFT;

	if (rank->lingered_s > 0 || (left && is_end_of_python(rank)))
		return true;
	if (rank->told_to_stop)
		return left && rank->end == RI_END_SIGNALED;
	/* behind the program a library's thread may still abort */
	return rank->leaving || is_end_of_python(rank) ||
		(left && ri_rank_signal(rank) == SIGABRT);
}

/* Does its last traceback? If we stopped it: none that ended a thread alone, or broke off. */
static bool ended_of_traceback(const struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;

	if (!words->has_traceback || !may_be_of_exception(rank) ||
		(rank->told_to_stop &&
			(words->traceback.aside || words->traceback.last.length == 0)))
		return false;
	return rank->leaving || rank->lingered_s > 0 || rank->course == RI_COURSE_LEFT ||
		is_fresh(rank);
}

/*
 * Did no code catch its last traceback? Python calls sys.excepthook for these alone, and since 2.1
 * that of torch writes the rank before each line (torch/distributed/distributed_c10d.py,
 * _distributed_excepthook). What has written more of its own work called the hook itself.
 */
static bool is_uncaught(const struct ri_rank_outcome *rank)
{
	const struct ri_traceback *traceback = &rank->evidence.words.traceback;
	RI_TEXT(hook, 40);

	ri_text_addf(&hook, "[rank%llu]: ", (unsigned long long)rank->rank);
	if (!rank->evidence.printed || traceback->aside || rank->evidence.words.goes_on ||
		rank->course == RI_COURSE_RUNNING || rank->evidence.words.tells_of_stop ||
		!is_fresh(rank))
		return false;
	return rank->wrote.hooked || ri_span_same(traceback->prefix,
		(struct ri_span){ hook.bytes, hook.length });
}

/* It aborted, and no words were read: of a fault of its own, or by a watchdog for a lost peer. */
static bool is_mute(const struct ri_rank_outcome *rank)
{
	return rank->wrote.unread != RI_UNREAD_NOT && rank->wrote.tail.at == NULL &&
		!rank->told_to_stop && ri_rank_signal(rank) == SIGABRT;
}

static enum ri_telling find_telling(const struct ri_rank_outcome *rank)
{
	int number = ri_rank_signal(rank);

	if (rank->told_to_stop || ri_signal_is_foreign(number))
		return RI_TELLING_NONE;
	if (number != 0 && number != SIGABRT)
		return RI_TELLING_HANDLER;
	if (rank->end != RI_END_EXITED || rank->exit_code == 1)
		return number == 0 ? RI_TELLING_WORD : RI_TELLING_LOG;
	/* of a status of its own a log says why where a runtime says that it ended the process */
	return number == SIGABRT || rank->evidence.words.aborted ? RI_TELLING_LOG
		: RI_TELLING_NONE;
}

static void set_class(struct ri_rank_outcome *rank, enum ri_class class, const struct ri_loss *loss)
{
	rank->evidence.loss = loss;
	rank->evidence.class = loss != NULL ? RI_CLASS_LOSS : class;
}

/*
 * torchtitan's exception is one of each rank, and names the first whose numbers differed. Where
 * that is the loss no other rank's came in; of gradients, which the ranks have exchanged, any may
 * be it.
 */
static bool names_itself(const struct ri_rank_outcome *rank)
{
	RI_TEXT(own, 64);

	ri_text_addf(&own, ", rank=%llu, signature='loss'", (unsigned long long)rank->rank);
	return ri_span_has(rank->evidence.words.traceback.last, own.bytes);
}

/* By its own traceback. */
static void take_traceback(struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;
	bool own = words->loss != NULL && words->loss->log == RI_LOSS_LOG_RANK &&
		names_itself(rank);

	rank->evidence.witnessed = rank->traceback_at.tv_sec > 0;
	set_class(rank, RI_CLASS_OWN, own ? NULL : words->loss);
	rank->evidence.killed_others = words->tells_of_kill;
	if (rank->evidence.loss == NULL && rank->told_to_stop && words->tells_of_stop)
		rank->evidence.class = RI_CLASS_STOPPED;
	else if (rank->evidence.loss == NULL)
		set_class(rank, RI_CLASS_OWN, words->workers_loss);
}

/*
 * By the file that torch wrote: an exception left the program's main function (torch/distributed/
 * elastic/multiprocessing/errors, record), which may end with any status for that.
 */
static void take_file(struct ri_rank_outcome *rank)
{
	bool exited = rank->end == RI_END_EXITED && !rank->told_to_stop &&
		ri_rank_signal(rank) == 0;
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_torch_error error;
	struct ri_span message;

	/* a rank that was stopped has not failed, even where another wrote its file */
	if (file.at == NULL || !(exited || may_be_of_exception(rank)) ||
		!ri_torch_error_read(file, &error))
		return;
	message = ri_span_of(error.message);
	rank->evidence.ended_of_file = true;
	rank->evidence.printed = false;
	set_class(rank, RI_CLASS_OWN, ri_loss_of_exception(message));
}

/*
 * That a rank which was told to stop had lost another one is believed without proof, but not of one
 * whose program runs: it is not blamed for it.
 */
static void take_stop(struct ri_rank_outcome *rank)
{
	const struct ri_words *words = &rank->evidence.words;
	bool runs = rank->course == RI_COURSE_RUNNING;

	set_class(rank, RI_CLASS_STOPPED, runs ? NULL
		: words->has_traceback && words->loss != NULL && is_fresh(rank) ? words->loss
		: words->last_loss);
	rank->evidence.printed = words->has_traceback && words->traceback.last.length > 0 &&
		rank->evidence.loss == NULL && (runs || !words->tells_of_stop);
	rank->evidence.uncaught = is_uncaught(rank);
}

/*
 * What a rank says of a loss outranks its file: another rank may have written that, since all have
 * the same user. A rank that raised the exception in its file prints a traceback, too.
 */
static void take_lines(struct ri_rank_outcome *rank)
{
	/* SIGPIPE comes because another process, the reader of the pipe, has ended */
	bool own = rank->end == RI_END_SIGNALED && rank->signal != SIGPIPE && !is_mute(rank);
	/* NCCL's watchdog aborts those that lost others; no words hide another signal or status */
	enum ri_telling telling = rank->evidence.telling;
	bool explained = telling == RI_TELLING_WORD || telling == RI_TELLING_LOG ||
		(telling == RI_TELLING_HANDLER && ri_rank_signal(rank) == SIGPIPE);

	if (rank->told_to_stop)
		take_stop(rank);
	else
		set_class(rank, own ? RI_CLASS_OWN : RI_CLASS_UNKNOWN,
			explained ? rank->evidence.words.last_loss : NULL);
	rank->evidence.complained = telling == RI_TELLING_WORD &&
		rank->evidence.words.complains;
	if (rank->evidence.loss == NULL)
		take_file(rank);
}

void ri_class_find(struct ri_rank_outcome *rank)
{
	bool timed;

	rank->evidence = (struct ri_evidence){ .class = RI_CLASS_NONE };
	if (!ri_rank_failed(rank))
		return;
	if (rank->wrote.tail.at != NULL)
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
	return outcome->stop.signal != 0 && rank->told_to_stop && rank->lingered_s == 0 &&
		rank->course == RI_COURSE_LEFT && rank->evidence.ended_of_traceback;
}

/* --- which rank failed first -------------------------------------------------- */

struct ri_moment ri_moment_find(const struct ri_rank_outcome *rank)
{
	const struct ri_span file = rank->wrote.torch_error;
	struct ri_moment moment = { .at = rank->ended, .order = rank->order };
	uint64_t second;

	if (rank->evidence.witnessed) {
		/* what a process that it left said of it came later than it did */
		if (rank->ended.tv_sec == 0 || ri_time_is_before(rank->traceback_at, rank->ended))
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

/* By time; of two ends by the order of reaping, since a clock may be set meanwhile. */
static bool is_earlier(const struct ri_moment *a, const struct ri_moment *b)
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

uint64_t ri_outcome_nodes(const struct ri_outcome *outcome)
{
	uint64_t nodes = 1;

	if (outcome->topology != NULL)
		ri_topology_get(outcome->topology, RI_FACT_NNODES, &nodes);
	return nodes;
}

/* Ranks that this rankinit does not watch, of which one may have failed. */
static bool has_others(const struct ri_outcome *outcome)
{
	uint64_t ranks = outcome->count;

	/* what starts ranks itself is none of them */
	if (outcome->topology == NULL || (outcome->count == 1 && !outcome->launched &&
		!ri_topology_knows(outcome->topology, RI_FACT_RANK)))
		return false;
	ri_topology_get(outcome->topology, RI_FACT_WORLD_SIZE, &ranks);
	return ranks > outcome->count || ri_outcome_nodes(outcome) > 1;
}

static bool counts(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank)
{
	return rank->evidence.class > RI_CLASS_STOPPED &&
		!(rank->told_to_stop && outcome->stop.signal != 0 && rank->lingered_s == 0);
}

/* The first loss, or -1. */
static ssize_t find_loss(const struct ri_outcome *outcome)
{
	struct ri_moment first, moment;
	ssize_t found = -1;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (rank->evidence.class != RI_CLASS_LOSS || !counts(outcome, rank))
			continue;
		moment = ri_moment_find(rank);
		if (found >= 0 && !is_earlier(&moment, &first))
			continue;
		found = (ssize_t)i;
		first = moment;
	}
	return found;
}

/* The class of an end by what is known of the other ends. */
static enum ri_class weigh(const struct ri_outcome *outcome, const struct ri_rank_outcome *rank,
	ssize_t loss)
{
	struct timespec lost;

	if (rank->evidence.class != RI_CLASS_UNKNOWN || loss < 0)
		return rank->evidence.class;
	/* had it ended, or begun to, when the first loss came? */
	lost = ri_moment_find(&outcome->ranks[loss]).at;
	if (ri_time_is_before(rank->ended, lost) ||
		(rank->gone_at.tv_sec != 0 && !ri_time_is_before(lost, rank->gone_at)))
		return RI_CLASS_OWN;
	return has_others(outcome) ? RI_CLASS_LOSS : RI_CLASS_UNKNOWN;
}

/*
 * When it failed, beside another one. Of one that ended with a status a traceback may be of long
 * before, unless it was seen to leave the program; where the kernel ended the other one, the ends
 * count. An abort does not: NCCL's watchdog ends by it those that lost others.
 */
static struct ri_moment moment_beside(const struct ri_rank_outcome *rank,
	const struct ri_rank_outcome *other)
{
	struct ri_moment moment = ri_moment_find(rank);
	/* of what was seen to be dying when the other one was reaped it is not known since when */
	bool gone = rank->gone_at.tv_sec > 0 &&
		!(other->order > 0 && other->order < rank->order);

	if (other->end != RI_END_SIGNALED || other->signal == SIGABRT ||
		rank->end != RI_END_EXITED || rank->course == RI_COURSE_LEFT ||
		rank->evidence.ended_of_file)
		return moment;
	moment.at = gone ? rank->gone_at : rank->ended;
	moment.second = moment.at.tv_sec;
	moment.order = gone ? 0 : rank->order;
	moment.witnessed = false;
	return moment;
}

/*
 * Of two ends that weigh the same, who says that it killed the others comes
 * first; of two without a traceback and with one status, who complains.
 */
static bool is_before(const struct ri_rank_outcome *a, const struct ri_rank_outcome *b)
{
	struct ri_moment moment = moment_beside(a, b), other = moment_beside(b, a);

	if (a->evidence.killed_others != b->evidence.killed_others)
		return a->evidence.killed_others;
	if (a->evidence.class == RI_CLASS_UNKNOWN && b->evidence.class == RI_CLASS_UNKNOWN &&
		a->exit_code == b->exit_code && llabs(moment.second - other.second) <= 1 &&
		a->evidence.words.complains != b->evidence.words.complains)
		return a->evidence.words.complains;
	/* at one moment: what the kernel ended is none that lost another one */
	if (!is_earlier(&moment, &other) && !is_earlier(&other, &moment))
		return a->end == RI_END_SIGNALED && b->end != RI_END_SIGNALED;
	return is_earlier(&moment, &other);
}

static ssize_t find_first(const struct ri_outcome *outcome, ssize_t loss)
{
	enum ri_class highest = RI_CLASS_LOSS, class;
	ssize_t found = -1;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		class = counts(outcome, rank) ? weigh(outcome, rank, loss) : RI_CLASS_NONE;
		if (class <= RI_CLASS_LOSS || class < highest ||
			(class == highest && !is_before(rank, &outcome->ranks[found])))
			continue;
		found = (ssize_t)i;
		highest = class;
	}
	return found;
}

/*
 * Who ended with 0 and was not told to. It closes its connections on its way out,
 * so that the others may have lost it before its end. Returns how many did; *out
 * is the first of them.
 */
static size_t count_leavers(const struct ri_outcome *outcome, size_t *out)
{
	const struct ri_rank_outcome *ranks = outcome->ranks;
	size_t count = 0;

	for (size_t i = 0; i < outcome->count; i++) {
		if (ranks[i].end != RI_END_EXITED || ranks[i].exit_code != 0 ||
			ranks[i].told_to_stop)
			continue;
		if (count++ == 0 || ri_time_is_before(ranks[i].ended, ranks[*out].ended))
			*out = i;
	}
	return count;
}

/* The first loss is a timeout: the only rank that told of none, and was stopped, held it up. */
static bool find_holder(const struct ri_outcome *outcome, size_t *out)
{
	size_t silent = 0;

	if (outcome->ranks[outcome->first].evidence.loss->kind != RI_LOSS_CLOCK)
		return false;
	for (size_t i = 0; i < outcome->count; i++) {
		if (outcome->ranks[i].evidence.class == RI_CLASS_LOSS)
			continue;
		*out = i;
		silent++;
	}
	return silent == 1 && outcome->ranks[*out].told_to_stop;
}

/*
 * May the rank that hung be one of this node? The first loss is a wait that timed out, and a rank
 * here had told of no loss when it was stopped.
 */
static bool may_be_here(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *ranks = outcome->ranks;

	if (ranks[outcome->first].evidence.loss->kind != RI_LOSS_CLOCK)
		return false;
	for (size_t i = 0; i < outcome->count; i++)
		if (ranks[i].told_to_stop && ranks[i].evidence.class != RI_CLASS_LOSS)
			return true;
	return false;
}

/* Did it raise before the other one lost a peer? By their order in one stream, else by time. */
static bool raised_before(const struct ri_rank_outcome *rank, const struct ri_rank_outcome *loser)
{
	struct timespec lost = loser->evidence.words.has_traceback ? loser->traceback_at
		: ri_moment_find(loser).at;

	if (rank->wrote.place > 0 || loser->wrote.place > 0)
		return rank->wrote.place > 0 && rank->wrote.place < loser->wrote.place;
	return rank->traceback_at.tv_sec > 0 && ri_time_is_before(rank->traceback_at, lost);
}

/*
 * The only one that had an exception of its own, which no code caught, when it was told to stop:
 * its launcher saw another one end first, which had lost it.
 */
static bool find_raiser(const struct ri_outcome *outcome, size_t *out)
{
	struct ri_rank_outcome *ranks = outcome->ranks;
	size_t printed = 0;

	for (size_t i = 0; i < outcome->count; i++) {
		if (ranks[i].evidence.class != RI_CLASS_LOSS && !ranks[i].told_to_stop)
			return false;
		if (ranks[i].evidence.printed && printed++ == 0)
			*out = i;
	}
	if (printed != 1 || !ranks[*out].evidence.uncaught || outcome->stop.signal != 0)
		return false;
	for (size_t i = 0; i < outcome->count; i++)
		if (ranks[i].evidence.class == RI_CLASS_LOSS &&
			!raised_before(&ranks[*out], &ranks[i]))
			return false;
	ranks[*out].evidence.class = RI_CLASS_OWN;
	ranks[*out].evidence.ended_of_traceback = true;
	ranks[*out].evidence.printed = false;
	return true;
}

void ri_culprit_find(struct ri_outcome *outcome)
{
	ssize_t loss = find_loss(outcome);
	struct ri_collectives works;
	size_t leavers;

	outcome->culprit = RI_CULPRIT_FIRST;
	outcome->first = find_first(outcome, loss);
	if (outcome->first >= 0 && is_mute(&outcome->ranks[outcome->first]) &&
		!outcome->ranks[outcome->first].evidence.ended_of_file &&
		(outcome->count > 1 || has_others(outcome)))
		outcome->culprit = RI_CULPRIT_UNKNOWN;
	if (outcome->first >= 0 || loss < 0)
		return;
	outcome->first = loss;
	if (outcome->ranks[loss].evidence.loss->kind == RI_LOSS_MISMATCH &&
		ri_mismatch_odd(outcome, &outcome->named)) {
		outcome->culprit = RI_CULPRIT_HELD;
		return;
	}
	if (find_raiser(outcome, &outcome->named)) {
		outcome->first = (ssize_t)outcome->named;
		return;
	}
	leavers = count_leavers(outcome, &outcome->named);
	ri_collectives_find(outcome, &works);
	if (has_others(outcome))
		outcome->culprit = may_be_here(outcome) ? RI_CULPRIT_UNKNOWN : RI_CULPRIT_ELSEWHERE;
	else if (leavers > 1 && leavers + 1 == outcome->count)
		outcome->culprit = RI_CULPRIT_FIRST;	/* all but this one had done their work */
	else if (leavers > 0)
		outcome->culprit = RI_CULPRIT_LEFT;
	else if (works.odd >= 0 || find_holder(outcome, &outcome->named))
		outcome->culprit = RI_CULPRIT_HELD;
	else if (outcome->count > 1)
		outcome->culprit = RI_CULPRIT_UNKNOWN;
	/* the watchdogs of all ranks tell in which collective each is */
	if (outcome->culprit == RI_CULPRIT_HELD && works.odd >= 0)
		outcome->named = (size_t)works.odd;
}

enum { HANDLER_SECONDS = 30 };	/* for what it does between Ctrl-C and its exit */

static bool ended_of(const struct ri_rank_outcome *rank, const struct ri_stop *interrupt)
{
	int number = rank->end == RI_END_SIGNALED ? rank->signal : rank->exit_code - 128;

	if (number == interrupt->signal || number == interrupt->passed_on)
		return true;
	if (rank->evidence.ended_of_traceback)
		return interrupt->passed_on == SIGINT && rank->evidence.words.interrupted;
	/* a handler has no more to say than that it ends */
	return rank->end == RI_END_EXITED && rank->wrote.torch_error.at == NULL &&
		!ri_time_is_before(rank->ended, interrupt->at) &&
		rank->ended.tv_sec - interrupt->at.tv_sec <= HANDLER_SECONDS;
}

bool ri_outcome_is_interrupted(const struct ri_outcome *outcome)
{
	const struct ri_stop *interrupt = &outcome->interrupt;
	const struct ri_rank_outcome *first;

	if (outcome->first < 0 || interrupt->signal == 0)
		return false;
	first = &outcome->ranks[outcome->first];
	/* our stop for others may be faster than its own words: these break off, or tell of them */
	if (!first->told_to_stop || (ri_time_is_before(ri_moment_find(first).at, interrupt->at) &&
		!(first->evidence.ended_of_traceback &&
			first->evidence.words.traceback.last.length == 0)))
		return ended_of(first, interrupt);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (ri_rank_failed(rank) && (!rank->told_to_stop || rank == first) &&
			ended_of(rank, interrupt))
			return true;
	}
	return false;
}
