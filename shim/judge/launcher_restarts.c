/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/launcher_restarts.h"

#include "base/text.h"
#include "init/others.h"
#include "init/restarted.h"
#include "report/class.h"
#include "report/restarts.h"
#include "system/log.h"

/* Those before it are all that there were of the attempt that failed. */
static void find_failure(const struct ri_restarts_room *room, struct ri_output *output,
	const struct ri_restarted_attempt *attempt, struct ri_restart *restart)
{
	static struct ri_reason scratch;
	struct ri_tail_text text = ri_tail_between(ri_output_tail(output, 0), attempt->from,
		attempt->to);
	struct ri_launched_source source = {
		.count = attempt->at, .text = { text.bytes, text.length }, .cut = text.cut,
		.room = room->words,
	};
	size_t count;

	if (room->ranks == NULL || room->words == NULL)
		return;
	ri_others_seen(&source.seen);
	source.error_count = ri_others_errors(&source.errors);
	count = ri_launched_outcomes(&source, room->ranks, RI_LAUNCHED);
	for (size_t i = 0; i < count; i++)
		ri_class_find(&room->ranks[i]);
	ri_restart_find(restart, room->ranks, count, &scratch);
}

void ri_restarts_judge(const struct ri_restarts_room *room, struct ri_output *output,
	struct ri_judged *out)
{
	const struct ri_restarted_attempt *attempts;
	const struct ri_launched *seen;
	struct ri_restarts *all;
	size_t count = ri_restarted_waiting(&attempts, &all), ranks = ri_others_seen(&seen);

	for (size_t i = 0; i < count && attempts[i].at < ranks; i++) {
		const struct ri_launched *first = &seen[attempts[i].at];
		struct ri_restart restart = {
			.number = (uint64_t)first->restarts, .most = (uint64_t)first->most_restarts,
			.at = first->started,
		};
		char line[RI_MAX_LINE];
		struct ri_text text;

		find_failure(room, output, &attempts[i], &restart);
		all->all += (uint64_t)(first->restarts - ri_restarted_before(seen, attempts[i].at));
		if (all->count < RI_RESTARTS)
			all->items[all->count++] = restart;
		ri_text_init(&text, line, sizeof(line));
		ri_restart_add(&text, all, &restart);
		ri_log(RI_LEVEL_ALWAYS, "%s", line);
		out->restarts++;
	}
}
