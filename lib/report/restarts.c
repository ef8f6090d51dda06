/* SPDX-License-Identifier: Apache-2.0 */
#include "report/restarts.h"

#include "report/blame.h"
#include "report/torch_error.h"

enum { FEW = 20 };	/* columns in which an exception says nothing */

const char ri_restarts_own[] = "rankinit";

static void keep(struct ri_restart *restart, const struct ri_rank_outcome *first,
	const struct ri_reason *reason)
{
	static struct ri_torch_error error;
	struct ri_text words;

	restart->known = true;
	restart->first = *first;
	ri_text_init(&words, restart->words, sizeof(restart->words));
	if (reason->has_traceback)
		ri_text_add_bytes(&words, reason->traceback.last.at, reason->traceback.last.length);
	else if (first->evidence.ended_of_file &&
		ri_torch_error_read(first->wrote.torch_error, &error))
		ri_text_add(&words, error.message);
	/* it lasts longer than the text that these point into */
	restart->first.wrote = (struct ri_rank_wrote){ .total = 0 };
	restart->first.evidence.words = (struct ri_words){ .has_traceback = false };
}

void ri_restart_find(struct ri_restart *restart, const struct ri_rank_outcome *ranks, size_t count,
	struct ri_reason *scratch)
{
	struct ri_outcome outcome = { .ranks = ranks, .count = count, .launched = true };

	ri_blame_find(&outcome);
	if (outcome.first < 0)
		return;
	ri_reason_find(&ranks[outcome.first], scratch);
	keep(restart, &ranks[outcome.first], scratch);
}

void ri_restart_describe(struct ri_restart *restart, const struct ri_outcome *outcome)
{
	if (outcome->first < 0 || outcome->reason == NULL)
		return;
	keep(restart, &outcome->ranks[outcome->first], outcome->reason);
	restart->alone = ri_outcome_is_alone(outcome);
}

/* "failed: exit status 1, after 0.595 s: ValueError: bad batch 17", in a line that began there. */
static void add_failure(struct ri_text *out, size_t begun, const struct ri_restart *restart)
{
	size_t used;

	ri_text_addf(out, "%s: ", ri_outcome_deed(restart->first.evidence.loss));
	ri_rank_add_end(out, &restart->first);
	ri_rank_add_life(out, &restart->first);
	used = out->length - begun + 2;
	if (restart->words[0] == '\0' || used + FEW > RI_VERDICT_COLUMNS)
		return;
	ri_text_add(out, ": ");
	ri_text_add_shown(out, restart->words, RI_VERDICT_COLUMNS - used);
}

void ri_restart_add_failure(struct ri_text *out, const struct ri_restart *restart)
{
	size_t begun = out->length;

	if (!restart->known) {
		ri_text_add(out, "the ranks failed");
		return;
	}
	if (restart->alone)
		ri_text_addf(out, "the command (pid %d) ", (int)restart->first.pid);
	else
		ri_text_addf(out, "rank %llu (local rank %llu, pid %d) ",
			(unsigned long long)restart->first.rank,
			(unsigned long long)restart->first.local_rank, (int)restart->first.pid);
	add_failure(out, begun, restart);
}

static void add_launcher(struct ri_text *out, const struct ri_restarts *restarts)
{
	ri_text_add(out, restarts->launcher == NULL ? "the launcher" : restarts->launcher);
}

void ri_restart_add(struct ri_text *out, const struct ri_restarts *restarts,
	const struct ri_restart *restart)
{
	if (restart->known) {
		ri_restart_add_failure(out, restart);
		ri_text_add(out, "; ");
	}
	add_launcher(out, restarts);
	ri_text_addf(out, " starts its ranks again (restart %llu",
		(unsigned long long)restart->number);
	if (restart->most > 0)
		ri_text_addf(out, " of %llu", (unsigned long long)restart->most);
	ri_text_add(out, ")");
}

void ri_restarts_add(struct ri_text *out, const struct ri_restarts *restarts)
{
	const struct ri_restart *first = &restarts->items[0];
	size_t begun = out->length;

	ri_text_add(out, "  ");
	add_launcher(out, restarts);
	ri_text_addf(out, " had started %s again", first->alone ? "the command"
		: restarts->launcher == ri_restarts_own ? "the ranks" : "its ranks");
	if (restarts->all == 1)
		ri_text_add(out, " once");
	else
		ri_text_addf(out, " %llu times", (unsigned long long)restarts->all);
	if (first->known) {
		ri_text_add(out, restarts->all > 1 ? ", at first because " : ", because ");
		if (first->alone)
			ri_text_add(out, "it ");
		else
			ri_text_addf(out, "rank %llu ", (unsigned long long)first->first.rank);
		add_failure(out, begun, first);
	}
	ri_text_add(out, "\n");
}
