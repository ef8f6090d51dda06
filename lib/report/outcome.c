/* SPDX-License-Identifier: Apache-2.0 */
#include "report/outcome.h"

#include <signal.h>
#include <string.h>

#include "report/torch_error.h"

bool ri_rank_failed(const struct ri_rank_outcome *rank)
{
	return rank->end == RI_END_EXEC_FAILED || rank->end == RI_END_SIGNALED ||
		(rank->end == RI_END_EXITED && rank->exit_code != 0);
}

enum {
	OLD_TRACEBACK = 50,	/* lines after it */
	OLD_BEFORE_SIGNAL = 3,
	HANDLER_SECONDS = 30,	/* for what it does between Ctrl-C and its exit */
};

/* What comes right after it looks like more of its message. */
bool ri_rank_ended_of(const struct ri_rank_outcome *rank, const struct ri_traceback *traceback)
{
	struct ri_span more = traceback->more, line;
	size_t after = traceback->lines_after;

	if (rank->end == RI_END_EXITED)
		return after <= OLD_TRACEBACK;
	while (ri_span_line(&more, &line))
		after++;
	return after <= OLD_BEFORE_SIGNAL;
}

/* Did it say so itself? Where its tail was not kept the time alone counts. */
static bool told_why(const struct ri_rank_outcome *rank)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };
	struct ri_traceback traceback;

	if (rank->traceback_at.tv_sec == 0 || rank->tail == NULL)
		return rank->traceback_at.tv_sec > 0;
	return ri_traceback_find(tail, &traceback) && ri_rank_ended_of(rank, &traceback);
}

/* When a rank failed, as far as it can be told. */
struct moment {
	int64_t second;		/* torch cuts its time to these */
	struct timespec at;
	unsigned order;		/* 0: unknown */
	bool witnessed;		/* by a file or a traceback */
};

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static struct moment find_moment(const struct ri_rank_outcome *rank)
{
	const struct ri_span file = { rank->torch_error, rank->torch_error_length };
	struct moment moment = { .at = rank->ended, .order = rank->order };
	uint64_t second;

	if (told_why(rank)) {
		moment.at = rank->traceback_at;
		moment.witnessed = true;
	}
	moment.second = moment.at.tv_sec;
	/* of another run, or by another clock: the file says nothing */
	if (file.at != NULL && ri_torch_error_time(file, &second) &&
		(int64_t)second >= rank->started.tv_sec && (int64_t)second <= rank->ended.tv_sec) {
		moment.second = (int64_t)second;
		moment.witnessed = true;
	}
	return moment;
}

static bool is_earlier(const struct moment *a, const struct moment *b)
{
	bool ordered = a->order > 0 && b->order > 0;

	/* a clock may be set while they run */
	if (ordered && !a->witnessed && !b->witnessed)
		return a->order < b->order;
	if (a->second != b->second)
		return a->second < b->second;
	if (is_before(a->at, b->at) || is_before(b->at, a->at))
		return is_before(a->at, b->at);
	return ordered && a->order < b->order;
}

ssize_t ri_outcome_find_first(const struct ri_outcome *outcome)
{
	struct moment first = { .second = 0 }, moment;
	ssize_t found = -1;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (!ri_rank_failed(rank) || (rank->told && outcome->stop_signal != 0))
			continue;
		moment = find_moment(rank);
		if ((rank->told && !moment.witnessed) ||
			(found >= 0 && !is_earlier(&moment, &first)))
			continue;
		found = (ssize_t)i;
		first = moment;
	}
	return found;
}

/* One that was raised while it was handled does not hide it: all of the chain counts. */
static bool tells_of_interrupt(const struct ri_traceback *traceback)
{
	static const char name[] = "KeyboardInterrupt";
	struct ri_span rest = traceback->whole, line;

	while (ri_span_line(&rest, &line)) {
		line = ri_traceback_line(traceback, line);
		if (line.length >= sizeof(name) - 1 && memcmp(line.at, name, sizeof(name) - 1) == 0)
			return true;
	}
	return false;
}

/* A handler has no more to say than that it ends. */
static bool was_handled(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	return rank->end == RI_END_EXITED && rank->torch_error == NULL &&
		!is_before(rank->ended, interrupt->at) &&
		rank->ended.tv_sec - interrupt->at.tv_sec <= HANDLER_SECONDS;
}

static bool find_traceback(const struct ri_rank_outcome *rank, struct ri_traceback *out)
{
	const struct ri_span tail = { rank->tail, rank->tail_length };

	return rank->tail != NULL && ri_traceback_find(tail, out) && ri_rank_ended_of(rank, out);
}

static bool ended_of(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	int number = rank->end == RI_END_SIGNALED ? rank->signal : rank->exit_code - 128;
	struct ri_traceback traceback;

	if (number == interrupt->signal || number == interrupt->passed_on)
		return true;
	if (find_traceback(rank, &traceback))
		return interrupt->passed_on == SIGINT && tells_of_interrupt(&traceback);
	return was_handled(rank, interrupt);
}

/* Our stop for others may be faster than its own words: they break off, or tell of the others. */
static bool was_cut_short(const struct ri_rank_outcome *rank, const struct ri_interrupt *interrupt)
{
	struct ri_traceback traceback;

	if (!rank->told)
		return false;
	return !is_before(find_moment(rank).at, interrupt->at) ||
		(find_traceback(rank, &traceback) && traceback.last.length == 0);
}

bool ri_outcome_is_interrupted(const struct ri_outcome *outcome)
{
	const struct ri_interrupt *interrupt = &outcome->interrupt;
	const struct ri_rank_outcome *first;

	if (outcome->first < 0 || interrupt->signal == 0)
		return false;
	first = &outcome->ranks[outcome->first];
	if (!was_cut_short(first, interrupt))
		return ended_of(first, interrupt);
	for (size_t i = 0; i < outcome->count; i++) {
		const struct ri_rank_outcome *rank = &outcome->ranks[i];

		if (ri_rank_failed(rank) && (!rank->told || rank == first) &&
			ended_of(rank, interrupt))
			return true;
	}
	return false;
}

void ri_cause_add(struct ri_text *out, const struct ri_cause *cause)
{
	if (cause != NULL && !cause->shown)
		ri_text_addf(out, "%s %s: %s [%s]", cause->subject, cause->text, cause->hint,
			ri_code_name(cause->code));
}

void ri_time_add(struct ri_text *out, struct timespec at)
{
	struct tm parts;

	if (gmtime_r(&at.tv_sec, &parts) == NULL)
		parts = (struct tm){ .tm_mday = 1 };
	ri_text_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
		parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
		(int)(at.tv_nsec / 1000000));
}
