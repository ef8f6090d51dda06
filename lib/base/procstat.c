/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <string.h>

#include "base/text.h"

enum {
	/*
	 * PF_EXITING of include/linux/sched.h, in field 9 (proc(5), "flags"): set before
	 * the files of a process are closed (kernel/exit.c, do_exit).
	 */
	EXITING = 0x4,
	DUMPCORE = 0x200,	/* PF_DUMPCORE, set before the core is written (fs/coredump.c) */
	/* fields that are read, by their number in proc(5) */
	PARENT = 4, GROUP = 5, SESSION = 6, FLAGS = 9, FAULTS = 10, USER_TICKS = 14,
	KERNEL_TICKS = 15, STARTED = 22, BLOCKED = 32, IGNORED = 33, CAUGHT = 34,
};

/* The number that starts here and ends at a blank or at the end of the line; UINT64_MAX: none. */
static uint64_t read_number(const char *text)
{
	uint64_t number;
	size_t length = ri_digits_read(text, &number);

	return length == 0 || strchr(" \n", text[length]) == NULL ? UINT64_MAX : number;
}

/* "PID (NAME) STATE PPID PGRP SESSION ...": a name may hold blanks and parentheses. */
bool ri_procstat_read(const char *text, struct ri_procstat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	uint64_t pid = read_number(text), fields[CAUGHT + 1];
	size_t length;
	char state;

	if (open == NULL || close == NULL || close < open || close[1] != ' ' ||
		close[2] == '\0' || close[3] != ' ')
		return false;
	state = close[2];
	at = close + 3;
	for (int i = PARENT; i <= CAUGHT; i++) {
		fields[i] = at == NULL ? UINT64_MAX : read_number(at + 1);
		at = at == NULL ? NULL : strchr(at + 1, ' ');
	}
	if (pid > INT32_MAX || fields[PARENT] > INT32_MAX || fields[GROUP] > INT32_MAX ||
		fields[SESSION] > INT32_MAX || fields[FLAGS] == UINT64_MAX ||
		fields[STARTED] == UINT64_MAX)
		return false;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(out->name))
		length = sizeof(out->name) - 1;
	*out = (struct ri_procstat){ .pid = (pid_t)pid, .parent = (pid_t)fields[PARENT],
		.group = (pid_t)fields[GROUP], .session = (pid_t)fields[SESSION], .state = state,
		.dying = (fields[FLAGS] & EXITING) != 0 || state == 'Z' || state == 'X',
		.dumping = (fields[FLAGS] & DUMPCORE) != 0,
		.started = fields[STARTED], .blocked = fields[BLOCKED], .ignored = fields[IGNORED],
		.caught = fields[CAUGHT], .faults = fields[FAULTS],
		.ticks = fields[USER_TICKS] + fields[KERNEL_TICKS] };
	memcpy(out->name, open + 1, length);
	return true;
}
