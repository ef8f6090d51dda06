/* SPDX-License-Identifier: Apache-2.0 */

#include "init/others.h"
#include "system/log.h"

static struct {
	struct ri_restarts *all;	/* shared with the judge, which alone reads it */
	const char *launcher;
	struct ri_restarted_attempt waiting[RI_RESTARTS];	/* for the judge */
	size_t count, number;	/* of these, and of all that ever waited */
	uint64_t restarts;	/* all that were seen */
	size_t checked;		/* of all ranks that were seen */
	uint64_t begun;		/* bytes that had come on stderr before this attempt */
	uint64_t gone;		/* and when all of its ranks had ended */
} own;

void ri_restarted_begin(const char *launcher)
{
	own.launcher = launcher;
}

/* How often its launcher had started ranks again that were seen before it. */
static int64_t restarts_before(const struct ri_launched *seen, size_t at)
{
	int64_t most = 0;

	for (size_t i = 0; i < at; i++)
		if (seen[i].is_rank && seen[i].parent == seen[at].parent &&
			seen[i].restarts > most)
			most = seen[i].restarts;
	return most;
}

/* Those before it are all that there were of the attempt that failed. */
static void take_restart(struct ri_output *output, const struct ri_launched *seen, size_t at)
{
	int64_t attempt = restarts_before(seen, at), told = 0;
	uint64_t to = UINT64_MAX;

	for (size_t i = 0; i < at; i++)
		told += seen[i].is_rank && seen[i].parent == seen[at].parent &&
			seen[i].restarts == attempt && seen[i].has_status;
	/* did the kernel tell each end? Else the launcher does, after that */
	if (own.gone > own.begun && told > 0 && told >= seen[at].local_ranks)
		to = own.gone;
	if (own.all == NULL)
		own.all = ri_pages_shared(sizeof(*own.all));
	own.restarts += (uint64_t)(seen[at].restarts - attempt);
	if (own.all != NULL && own.count < RI_RESTARTS)
		own.waiting[own.count++] = (struct ri_restarted_attempt){
			.at = at, .from = own.begun, .to = to, .number = own.number++,
			.restarts = own.restarts,
		};
	own.begun = own.gone > own.begun ? own.gone : ri_output_tail(output, 0).total;
}

/* Ask the judge about the attempts that wait; without a judge PID 1 says at once what it knows. */
static void ask(void)
{
	if (own.count > 0 && !ri_judge_ask(RI_ASK_RESTARTED))
		ri_restarted_take(NULL);
}

void ri_restarted_hear(struct ri_output *output)
{
	const struct ri_launched *seen;
	size_t count, waited = own.count, living = 0;

	if (!ri_others_heard())
		return;
	count = ri_others_seen(&seen);
	for (; own.checked < count; own.checked++)
		if (seen[own.checked].is_rank && seen[own.checked].restarts >
			restarts_before(seen, own.checked))
			take_restart(output, seen, own.checked);
	for (size_t i = 0; i < count; i++)
		living += seen[i].is_rank && seen[i].order == 0;
	if (living == 0)
		own.gone = ri_output_tail(output, 0).total;
	if (own.count > waited)
		ask();
}

void ri_restarted_take(const struct ri_judged *answer)
{
	size_t told = answer == NULL ? own.count : answer->restarts;

	if (answer != NULL)
		ri_log_lines((char *)(uintptr_t)answer->text, answer->length);
	else
		ri_log(RI_LEVEL_ALWAYS, "%s has started its ranks again",
			own.launcher == NULL ? "the launcher" : own.launcher);
	if (told > own.count)
		told = own.count;
	own.count -= told;
	for (size_t i = 0; i < own.count; i++)
		own.waiting[i] = own.waiting[i + told];
	/* an answer that tells of none is one of a judge that failed; else some came meanwhile */
	if (told == 0)
		own.count = 0;
	ask();
}

void ri_restarted_finish(void)
{
	const char *why;

	while (own.count > 0)
		ri_restarted_take(ri_judge_wait(RI_ASK_RESTARTED, NULL, &why));
	/* a judge that failed has counted none */
	if (own.all != NULL)
		own.all->all = own.restarts;
}

size_t ri_restarted_waiting(const struct ri_restarted_attempt **out, struct ri_restarts **all)
{
	*out = own.waiting;
	*all = own.all;
	if (own.all != NULL)
		own.all->launcher = own.launcher;
	return own.count;
}

uint64_t ri_restarted_begun(void)
{
	return own.begun;
}

const struct ri_restarts *ri_restarted_seen(void)
{
	return own.all == NULL || own.all->all == 0 ? NULL : own.all;
}
