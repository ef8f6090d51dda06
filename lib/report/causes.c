/* SPDX-License-Identifier: Apache-2.0 */
#include "report/causes.h"

#include <signal.h>
#include <string.h>

#include "report/outcome.h"
#include "words/loss.h"

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

/* It did not fail of its own: by what it lost. */
static enum ri_cause_word of_loss(const struct ri_outcome *outcome, const struct ri_loss *loss)
{
	if (outcome->blame == RI_BLAME_LEFT)
		return RI_CAUSE_EARLY_EXIT;
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

static enum ri_cause_word of_end(const struct ri_rank_outcome *rank)
{
	if (rank->end == RI_END_EXEC_FAILED)
		return RI_CAUSE_EXEC;
	if (rank->oom)
		return RI_CAUSE_OOM_HOST;
	if (rank->evidence.ended_of_traceback)
		return RI_CAUSE_EXCEPTION;
	if (rank->end != RI_END_SIGNALED)
		return RI_CAUSE_UNKNOWN;
	return rank->signal == SIGKILL ? RI_CAUSE_KILLED : RI_CAUSE_SIGNAL;
}

enum ri_cause_word ri_cause_word_find(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *first;

	if (outcome->first < 0)
		return outcome->stop.signal != 0 ? RI_CAUSE_PREEMPTED : RI_CAUSE_UNKNOWN;
	first = &outcome->ranks[outcome->first];
	if (first->evidence.loss != NULL)
		return of_loss(outcome, first->evidence.loss);
	return of_end(first);
}
