/* SPDX-License-Identifier: Apache-2.0 */
#include "report/causes.h"

#include <signal.h>
#include <string.h>

#include "report/outcome.h"
#include "report/reason.h"
#include "report/torch_error.h"
#include "report/works.h"
#include "words/loss.h"

enum { MESSAGE_LINES = 8 };	/* after the first, that are looked at */

static const struct {
	const char *name;
	enum ri_retry retry;
} words[] = {
#define RI_CAUSE(symbol, word, retry_, meaning, seen, example) \
	[RI_CAUSE_##symbol] = { word, RI_RETRY_##retry_ },
#include "report/causes.def"
#undef RI_CAUSE
};

const char *ri_cause_word_name(enum ri_cause_word word)
{
	return words[word].name;
}

enum ri_cause_word ri_cause_word_of(const char *name)
{
	for (int word = 0; name != NULL && word < RI_CAUSE_COUNT; word++)
		if (strcmp(words[word].name, name) == 0)
			return (enum ri_cause_word)word;
	return RI_CAUSE_UNKNOWN;
}

enum ri_retry ri_cause_word_retry(enum ri_cause_word word)
{
	return words[word].retry;
}

const char *ri_retry_name(enum ri_retry retry)
{
	static const char *const names[] = {
		[RI_RETRY_NEVER] = "never",
		[RI_RETRY_SAME] = "same",
		[RI_RETRY_OTHER_NODE] = "other_node",
	};

	return names[retry];
}

enum ri_cause_word ri_cause_word_of_refusal(int status)
{
	switch (status) {
	case 123:
		return RI_CAUSE_UNFIT;
	case 124:
		return RI_CAUSE_DNS;
	case 125:
		return RI_CAUSE_REFUSED;
	case 126:
	case 127:
		return RI_CAUSE_EXEC;
	default:
		return RI_CAUSE_UNKNOWN;
	}
}

static const struct words_row {
	enum ri_cause_word cause;
	const char *words, *also;
} rows[] = {
#define RI_CAUSE_WORDS(symbol, words_, also_, example, source) \
	{ .cause = RI_CAUSE_##symbol, .words = words_, .also = also_ },
#include "report/cause_words.def"
#undef RI_CAUSE_WORDS
};

static bool fits(const struct words_row *row, struct ri_span text)
{
	if (row->words[0] == '^' ? !ri_span_starts(text, row->words + 1)
			: !ri_span_has(text, row->words))
		return false;
	return row->also[0] == '\0' || ri_span_has(text, row->also);
}

/* Returns false, and leaves *out, where no row fits. */
static bool find_words(struct ri_span text, enum ri_cause_word *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && text.length > 0; i++) {
		if (!fits(&rows[i], text))
			continue;
		*out = rows[i].cause;
		return true;
	}
	return false;
}

/* In so many further lines of a message, or a few. */
static bool find_more(const struct ri_traceback *traceback, struct ri_span more, size_t lines,
	enum ri_cause_word *out)
{
	struct ri_span line;

	for (size_t i = 0; i < lines && i < MESSAGE_LINES && ri_span_line(&more, &line); i++)
		if (find_words(ri_traceback_line(traceback, line), out))
			return true;
	return false;
}

/*
 * The first exception of its chain explains the last one, and the one before it that leads is the
 * cause of what a program's end came to. What stands behind a loss came after it.
 */
static bool find_exception(const struct ri_reason *reason, size_t lines, enum ri_cause_word *out)
{
	const struct ri_traceback *traceback = &reason->traceback;
	const struct ri_span spans[] = { traceback->cause, traceback->member, traceback->last };

	if (reason->words.before_leads)
		return find_words(ri_traceback_line(traceback, traceback->before), out) ||
			find_more(traceback, traceback->before_more, MESSAGE_LINES, out);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		if (find_words(ri_traceback_line(traceback, spans[i]), out))
			return true;
	return find_more(traceback, traceback->more, lines, out);
}

static bool find_last_words(const struct ri_last_words *last, enum ri_cause_word *out)
{
	for (size_t i = 0; i < last->count; i++)
		if (find_words(last->lines[i], out))
			return true;
	return false;
}

/*
 * In the words of the rank that failed first, and whose end is its own. What its runtime said
 * before an exception that only tells of that leads; and a worker that spoke was not killed.
 */
static bool find_in_words(const struct ri_outcome *outcome, enum ri_cause_word *out)
{
	const struct ri_words *said = &outcome->ranks[outcome->first].evidence.words;
	const struct ri_reason *reason = outcome->reason;

	if (reason == NULL)
		return false;
	if ((reason->words.lead || !reason->has_traceback) && find_last_words(&reason->words, out))
		return true;
	if (!reason->has_traceback || !find_exception(reason, said->lines_since, out))
		return false;
	if (*out == RI_CAUSE_KILLED && reason->words.count > 0)
		*out = RI_CAUSE_EXCEPTION;
	return true;
}

/* In what torch wrote of the exception, where stderr has none. */
static bool find_in_file(const struct ri_rank_outcome *rank, enum ri_cause_word *out)
{
	struct ri_torch_error error;

	if (rank->wrote.torch_error.at == NULL || rank->evidence.ended_of_traceback ||
		!ri_torch_error_read(rank->wrote.torch_error, &error))
		return false;
	if (!find_words((struct ri_span){ error.message, strlen(error.message) }, out))
		*out = RI_CAUSE_EXCEPTION;
	return true;
}

/* A GPU that failed before the rank did, by an Xid that no program causes. */
static bool find_gpu(const struct ri_outcome *outcome, enum ri_cause_word *out)
{
	enum { DOUBLE_BIT = 48, CONTAINED = 94, UNCONTAINED = 95 };
	const struct ri_gpu_errors *errors = outcome->gpu_errors;

	for (size_t i = 0; errors != NULL && i < errors->count; i++) {
		const struct ri_gpu_error *error = &errors->items[i];

		if (!error->fatal || error->of_program || error->later)
			continue;
		*out = error->number == DOUBLE_BIT || error->number == CONTAINED ||
			error->number == UNCONTAINED ? RI_CAUSE_ECC : RI_CAUSE_XID;
		return true;
	}
	return false;
}

/* NCCL's watchdogs name the collectives in which ranks wait. */
static bool is_apart(const struct ri_outcome *outcome)
{
	struct ri_works works;

	ri_works_find(outcome, &works);
	return works.step == RI_STEP_APART;
}

/* A program that takes a stop as a reason to end well says so at last, as logs have it. */
static bool tells_of_stop(struct ri_span tail)
{
	static const char *const stops[] = { "SIGTERM", "signal 15", "Signal 15" };
	enum { LAST = 1024 };

	if (tail.length > LAST)
		tail = ri_span_skip(tail, tail.length - LAST);
	return ri_span_has_any(tail, stops, sizeof(stops) / sizeof(stops[0]));
}

/* Did another rank of this node end with 0, which this one waited for? */
static bool has_left(const struct ri_outcome *outcome)
{
	for (size_t i = 0; outcome->blame == RI_BLAME_FIRST && i < outcome->count; i++)
		if (outcome->ranks[i].end == RI_END_EXITED && outcome->ranks[i].exit_code == 0)
			return true;
	return false;
}

/* Of the only one that did not come, while all others waited until their time was over. */
static enum ri_cause_word of_held(const struct ri_rank_outcome *named)
{
	const struct ri_words *said = &named->evidence.words;

	if (said->has_traceback && said->loss == NULL)
		return RI_CAUSE_EXCEPTION;
	return named->spoke ? RI_CAUSE_LATE : RI_CAUSE_TIMEOUT;
}

/* It did not fail of its own: by what it lost. */
static enum ri_cause_word of_loss(const struct ri_outcome *outcome, const struct ri_loss *loss)
{
	enum ri_cause_word found;

	if (find_gpu(outcome, &found))
		return found;
	if (outcome->blame == RI_BLAME_LEFT)
		return tells_of_stop(outcome->ranks[outcome->named].wrote.tail)
			? RI_CAUSE_PREEMPTED : RI_CAUSE_EARLY_EXIT;
	if (has_left(outcome))
		return RI_CAUSE_EARLY_EXIT;
	if (loss->kind == RI_LOSS_CLOCK && is_apart(outcome))
		return RI_CAUSE_MISMATCH;
	if (outcome->blame == RI_BLAME_HELD && loss->kind != RI_LOSS_MISMATCH)
		return of_held(&outcome->ranks[outcome->named]);
	switch (loss->kind) {
	case RI_LOSS_MISMATCH:
		return RI_CAUSE_MISMATCH;
	case RI_LOSS_CLOCK:
		return RI_CAUSE_TIMEOUT;
	case RI_LOSS_STORE:
		return RI_CAUSE_RENDEZVOUS;
	default:
		return RI_CAUSE_UNKNOWN;
	}
}

/* Others end a process by these, and its own mistakes do not. A shell adds 128. */
static enum ri_cause_word of_signal(int number)
{
	switch (number) {
	case SIGKILL:
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGUSR1:
	case SIGUSR2:
		return RI_CAUSE_KILLED;
	case SIGPIPE:
		return RI_CAUSE_UNKNOWN;
	default:
		return RI_CAUSE_SIGNAL;
	}
}

/* Without a word that a row has. */
static enum ri_cause_word of_status(const struct ri_rank_outcome *rank)
{
	if (rank->evidence.complained)
		return RI_CAUSE_EXCEPTION;
	if (rank->exit_code > 128 && rank->exit_code <= 128 + SIGSYS)
		return of_signal(rank->exit_code - 128);
	return rank->wrote.tail.at == NULL ? RI_CAUSE_UNKNOWN : RI_CAUSE_EXIT_STATUS;
}

static bool is_killed(const struct ri_rank_outcome *rank)
{
	return rank->end == RI_END_SIGNALED && of_signal(rank->signal) == RI_CAUSE_KILLED;
}

static enum ri_cause_word of_end(const struct ri_outcome *outcome,
	const struct ri_rank_outcome *rank)
{
	enum ri_cause_word found;

	if (rank->end == RI_END_EXEC_FAILED)
		return RI_CAUSE_EXEC;
	if (rank->oom)
		return RI_CAUSE_OOM_HOST;
	if (is_killed(rank) && !rank->evidence.ended_of_traceback)
		return RI_CAUSE_KILLED;
	if ((rank->evidence.words.has_gpu_error || rank->end == RI_END_SIGNALED) &&
		find_gpu(outcome, &found))
		return found;
	if (find_in_words(outcome, &found) || find_in_file(rank, &found))
		return found;
	if (outcome->cause != NULL && (outcome->cause->code == RI_CODE_SHM_FREE_SMALL ||
		outcome->cause->code == RI_CODE_SHM_SIZE_SMALL))
		return RI_CAUSE_SHM_FULL;
	if (rank->evidence.ended_of_traceback)
		return RI_CAUSE_EXCEPTION;
	return rank->end == RI_END_SIGNALED ? of_signal(rank->signal) : of_status(rank);
}

enum ri_cause_word ri_cause_word_find(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *first;

	if (outcome->first < 0)
		return outcome->stop.signal != 0 ? RI_CAUSE_PREEMPTED : RI_CAUSE_UNKNOWN;
	first = &outcome->ranks[outcome->first];
	if (first->evidence.loss != NULL)
		return of_loss(outcome, first->evidence.loss);
	return of_end(outcome, first);
}
