/* SPDX-License-Identifier: Apache-2.0 */
/* What --stall knows: since when no rank has moved, and whether the job is silent. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "hang/onlooker.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/mtime.h"

enum { REASONS = 4 };	/* why watches see no movement, of which people are told */

static struct {
	int64_t since;		/* since then no rank has moved */
	unsigned blind;		/* watches in a row that could not see a rank */
	char reasons[REASONS][RI_HANG_COLUMNS];	/* why, as it was told */
	size_t reason_count;
	bool told_blind;	/* and not yet that watches see all ranks again */
} own;

void ri_stall_begin(void)
{
	own.since = ri_now_ms();
}

/* When standard output or error was last written to, whichever has such a time. */
static bool find_last_output(const struct ri_options *options, struct timespec *last)
{
	bool known = false;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		struct timespec at;

		/* ranks whose output goes to files alone write to neither */
		if (options->log_mode == RI_LOG_MODE_REDIRECT || !ri_mtime_find(fd, &at))
			continue;
		if (!known || at.tv_sec > last->tv_sec)
			*last = at;
		known = true;
	}
	return known;
}

bool ri_stall_knows_silence(const struct ri_options *options)
{
	struct timespec last;

	return find_last_output(options, &last);
}

bool ri_stall_is_silent(const struct ri_options *options, const struct ri_children *children,
	uint64_t ms)
{
	struct timespec now, last;

	if (!find_last_output(options, &last))
		return false;
	if (last.tv_sec < children->items[0].started.tv_sec)
		last = children->items[0].started;
	ri_clock_read(CLOCK_REALTIME, &now);
	return (now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 >=
		(int64_t)ms;
}

/* Each reason is told once, and REASONS of them at most. */
static bool is_new_reason(const char *why)
{
	for (size_t i = 0; i < own.reason_count; i++)
		if (strcmp(own.reasons[i], why) == 0)
			return false;
	if (own.reason_count == REASONS)
		return false;
	ri_text_copy(own.reasons[own.reason_count++], sizeof(own.reasons[0]), why);
	return true;
}

/* A program may still start, so the warning comes only after a whole time of --stall. */
static void note_blindness(struct ri_autopsy_answer *answer)
{
	const char *why = answer->lines;

	answer->lines[sizeof(own.reasons[0]) - 1] = '\0';
	if (!answer->whole)
		why = "the process that looks ends before it has an answer";
	own.blind = *why == '\0' ? 0 : own.blind + 1;
	if (own.blind >= RI_STALL_WATCHES && is_new_reason(why)) {
		own.told_blind = true;
		ri_log(RI_LEVEL_WARNING, "autopsy: --stall cannot see whether a rank moves: %s "
			"[%s]", why, ri_code_name(RI_CODE_AUTOPSY_BLIND));
	} else if (own.blind == 0 && own.told_blind) {
		own.told_blind = false;
		if (ri_log_shows(RI_LEVEL_WARNING))
			ri_log(RI_LEVEL_ALWAYS, "autopsy: --stall sees all ranks again");
	}
}

bool ri_stall_note(const struct ri_options *options, const struct ri_children *children,
	struct ri_autopsy_answer *answer)
{
	int64_t now = ri_now_ms();

	note_blindness(answer);
	if (!answer->whole || answer->moved)
		own.since = now;
	return now - own.since >= (int64_t)options->stall_ms &&
		(ri_stall_is_silent(options, children, options->stall_ms) ||
		!ri_stall_knows_silence(options));
}
