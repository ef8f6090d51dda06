/* SPDX-License-Identifier: Apache-2.0 */
#include "init/restarted.h"

#include "base/arena.h"
#include "init/judged.h"
#include "init/others.h"
#include "system/log.h"

static struct {
	struct ri_restarts *all;	/* shared with the judge, which alone reads and writes it */
	const char *launcher;
	struct ri_restarted_attempt waiting[RI_RESTARTS];	/* for the judge */
	size_t count;
	size_t checked;		/* of all ranks that were seen */
	uint64_t begun;		/* bytes that had come on stderr before this attempt */
	uint64_t gone;		/* and when all of its ranks had ended */
} own;

void ri_restarted_begin(const char *launcher)
{
	own.launcher = launcher;
}

/* How often its launcher had started ranks again that were seen before it. */
int64_t ri_restarted_before(const struct ri_launched *seen, size_t at)
{
	int64_t most = 0;

	for (size_t i = 0; i < at; i++)
		if (seen[i].is_rank && seen[i].parent == seen[at].parent &&
			seen[i].restarts > most)
			most = seen[i].restarts;
	return most;
}

/* Of the attempt that failed, did the kernel tell each end? */
static bool kernel_tells_all(const struct ri_launched *seen, size_t at)
{
	int64_t attempt = ri_restarted_before(seen, at), told = 0;

	for (size_t i = 0; i < at; i++)
		told += seen[i].is_rank && seen[i].parent == seen[at].parent &&
			seen[i].restarts == attempt && seen[i].has_status;
	return told > 0 && told >= seen[at].local_ranks;
}

/* Those before it are all that there were of the attempt that failed. */
static void take_restart(struct ri_output *output, const struct ri_launched *seen, size_t at)
{
	/* the launcher tells of an end after that */
	uint64_t to = own.gone > own.begun && kernel_tells_all(seen, at) ? own.gone : UINT64_MAX;

	if (own.all == NULL)
		own.all = ri_pages_shared(sizeof(*own.all));
	if (own.all != NULL && own.count < RI_RESTARTS)
		own.waiting[own.count++] = (struct ri_restarted_attempt){
			.at = at, .from = own.begun, .to = to,
		};
	own.begun = own.gone > own.begun ? own.gone : ri_output_tail(output, 0).total;
}

static bool has_living(const struct ri_launched *seen, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (seen[i].is_rank && seen[i].order == 0)
			return true;
	return false;
}

void ri_restarted_hear(struct ri_output *output)
{
	const struct ri_launched *seen;
	size_t count, waited = own.count;

	if (!ri_others_heard())
		return;
	count = ri_others_seen(&seen);
	for (; own.checked < count; own.checked++)
		if (seen[own.checked].is_rank && seen[own.checked].restarts >
			ri_restarted_before(seen, own.checked))
			take_restart(output, seen, own.checked);
	if (!has_living(seen, count))
		own.gone = ri_output_tail(output, 0).total;
	if (own.count > waited)
		ri_restarted_ask();
}

void ri_restarted_ask(void)
{
	if (own.count > 0 && !ri_judge_ask(RI_ASK_RESTARTED))
		ri_restarted_take(NULL);
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
	/* some came while it was at work */
	if (told > 0)
		ri_restarted_ask();
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
	return own.all == NULL || own.all->count == 0 ? NULL : own.all;
}
