/* SPDX-License-Identifier: Apache-2.0 */
#include "base/procstat.h"

#include <string.h>

#include "base/number.h"

/*
 * PF_EXITING of include/linux/sched.h, in field 9 (proc(5), "flags"): set before
 * the files of a process are closed (kernel/exit.c, do_exit).
 */
enum { EXITING = 0x4 };

/* The number that starts here and ends at a blank or at the end of the line. */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
	const struct ri_range range = { 0, max };
	size_t length = strcspn(text, " \n");
	char field[24];

	if (length == 0 || length >= sizeof(field))
		return false;
	memcpy(field, text, length);
	field[length] = '\0';
	return ri_number_read(field, range, out, NULL) == RI_NUMBER_OK;
}

/* From the start of one field to that of another one, count fields on. */
static const char *skip_fields(const char *field, int count)
{
	for (; field != NULL && count > 0; count--) {
		field = strchr(field, ' ');
		if (field != NULL)
			field++;
	}
	return field;
}

/* "PID (NAME) STATE PPID PGRP SESSION ...": a name may hold blanks and parentheses. */
bool ri_procstat_read(const char *text, struct ri_procstat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *state, *started,
		*signals;
	uint64_t pid, parent, group, session, flags, ticks, caught;
	size_t length;

	if (open == NULL || close == NULL || close < open || close[1] != ' ')
		return false;
	state = close + 2;
	started = skip_fields(state, 22 - 3);
	if (*state == '\0' || state[1] != ' ' || started == NULL ||
		!read_number(text, INT32_MAX, &pid) ||
		!read_number(state + 2, INT32_MAX, &parent) ||
		!read_number(skip_fields(state, 2), INT32_MAX, &group) ||
		!read_number(skip_fields(state, 3), INT32_MAX, &session) ||
		!read_number(skip_fields(state, 9 - 3), UINT64_MAX, &flags) ||
		!read_number(started, UINT64_MAX, &ticks))
		return false;
	caught = UINT64_MAX;
	signals = skip_fields(started, 34 - 22);
	if (signals != NULL)
		read_number(signals, UINT64_MAX, &caught);
	length = (size_t)(close - open - 1);
	if (length >= sizeof(out->name))
		length = sizeof(out->name) - 1;
	*out = (struct ri_procstat){ .pid = (pid_t)pid, .parent = (pid_t)parent,
		.group = (pid_t)group, .session = (pid_t)session, .state = *state,
		.dying = (flags & EXITING) != 0 || *state == 'Z' || *state == 'X',
		.started = ticks, .caught = caught };
	memcpy(out->name, open + 1, length);
	return true;
}
