/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/restarted.h"

#include "report/class.h"
#include "report/restarts.h"
#include "system/log.h"
#include "watch/others.h"

static struct {
	struct ri_rank_outcome *ranks;	/* room for those of one attempt */
	char *words;
	size_t checked;		/* of all that were seen */
	uint64_t begun;		/* bytes that had come on stderr before this attempt */
	uint64_t gone;		/* and when all of its ranks had ended */
	struct ri_restarts all;
} own;

void ri_restarted_begin(struct ri_rank_outcome *ranks, char *words, const char *launcher)
{
	own.all.launcher = launcher;
	own.ranks = ranks;
	own.words = words;
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

/* Of the attempt that failed, did the kernel tell each end? */
static bool kernel_tells_all(const struct ri_launched *seen, size_t at)
{
	int64_t attempt = restarts_before(seen, at), told = 0;

	for (size_t i = 0; i < at; i++)
		told += seen[i].is_rank && seen[i].parent == seen[at].parent &&
			seen[i].restarts == attempt && seen[i].has_status;
	return told > 0 && told >= seen[at].local_ranks;
}

/* Those before it are all that there were of the attempt that failed. */
static void find_failure(struct ri_output *output, const struct ri_launched *seen, size_t at,
	struct ri_restart *restart)
{
	static struct ri_reason scratch;
	/* the launcher tells of an end after that */
	uint64_t to = own.gone > own.begun && kernel_tells_all(seen, at) ? own.gone : UINT64_MAX;
	struct ri_tail_text text = ri_tail_between(ri_output_tail(output, 0), own.begun, to);
	struct ri_launched_source source = {
		.seen = seen, .count = at, .text = { text.bytes, text.length }, .cut = text.cut,
		.room = own.words,
	};
	size_t count;

	if (own.ranks == NULL || own.words == NULL)
		return;
	source.error_count = ri_others_errors(&source.errors);
	count = ri_launched_outcomes(&source, own.ranks, RI_LAUNCHED);
	for (size_t i = 0; i < count; i++)
		ri_class_find(&own.ranks[i]);
	ri_restart_find(restart, own.ranks, count, &scratch);
}

static void take_restart(struct ri_output *output, const struct ri_launched *seen, size_t at)
{
	struct ri_restart restart = {
		.number = (uint64_t)seen[at].restarts, .most = (uint64_t)seen[at].most_restarts,
		.at = seen[at].started,
	};
	char line[RI_MAX_LINE];
	struct ri_text text;

	find_failure(output, seen, at, &restart);
	own.begun = own.gone > own.begun ? own.gone : ri_output_tail(output, 0).total;
	own.all.all += (uint64_t)(seen[at].restarts - restarts_before(seen, at));
	if (own.all.count < RI_RESTARTS)
		own.all.items[own.all.count++] = restart;
	ri_text_init(&text, line, sizeof(line));
	ri_restart_add(&text, &own.all, &restart);
	ri_log(RI_LEVEL_ALWAYS, "%s", line);
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
	size_t count;

	if (!ri_others_heard())
		return;
	count = ri_others_seen(&seen);
	for (; own.checked < count; own.checked++)
		if (seen[own.checked].is_rank && seen[own.checked].restarts >
			restarts_before(seen, own.checked))
			take_restart(output, seen, own.checked);
	if (!has_living(seen, count))
		own.gone = ri_output_tail(output, 0).total;
}

struct ri_tail_text ri_restarted_last_text(struct ri_output *output)
{
	return ri_tail_between(ri_output_tail(output, 0), own.begun, UINT64_MAX);
}

const struct ri_restarts *ri_restarted_seen(void)
{
	return own.all.count == 0 ? NULL : &own.all;
}
