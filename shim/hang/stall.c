/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/stall.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "system/clock.h"
#include "system/log.h"

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

/* statx(2), and struct statx of linux/stat.h, which C libraries have not had for long. */
enum {
	EMPTY_PATH = 0x1000, DONT_SYNC = 0x4000,
	MASK_TYPE = 0x1, MASK_MTIME = 0x40,
	TYPE = 0170000, PIPE = 0010000, CHARACTERS = 0020000, FILE_TYPE = 0100000,
};

struct status {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, spare;
	uint64_t others[10];	/* up to the fourth of the times, which is of the content */
	int64_t seconds;
	uint32_t nanoseconds;
	unsigned char rest[256 - 124];
};

_Static_assert(sizeof(struct status) == 256, "struct statx");

/*
 * When somebody last wrote to what this descriptor is (CLOCK_REALTIME): the kernel notes it for
 * pipes and files, and for terminals every eight seconds. It asks no server of a file, so that it
 * never waits. False where it cannot be known, as of a socket or /dev/null.
 */
static bool find_mtime(int fd, struct timespec *at)
{
	struct status status = { .mask = 0 };

	if (syscall(SYS_statx, fd, "", EMPTY_PATH | DONT_SYNC, MASK_TYPE | MASK_MTIME,
		    &status) < 0 || (status.mask & MASK_MTIME) == 0)
		return false;
	switch (status.mode & TYPE) {
	case PIPE:
	case FILE_TYPE:
		break;
	case CHARACTERS:
		if (!isatty(fd))
			return false;
		break;
	default:
		return false;
	}
	*at = (struct timespec){ .tv_sec = status.seconds, .tv_nsec = status.nanoseconds };
	return true;
}

/* When standard output or error was last written to, whichever has such a time. */
static bool find_last_output(struct timespec *last)
{
	bool known = false;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		struct timespec at;

		if (!find_mtime(fd, &at))
			continue;
		if (!known || at.tv_sec > last->tv_sec)
			*last = at;
		known = true;
	}
	return known;
}

bool ri_stall_knows_silence(void)
{
	struct timespec last;

	return find_last_output(&last);
}

bool ri_stall_is_silent(const struct ri_children *children, uint64_t ms)
{
	struct timespec now, last;

	if (!find_last_output(&last))
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
		(ri_stall_is_silent(children, options->stall_ms) ||
		!ri_stall_knows_silence());
}
