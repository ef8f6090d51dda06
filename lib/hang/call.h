/* SPDX-License-Identifier: Apache-2.0 */
/* The system call in which a thread waits, as /proc/PID/syscall tells it (proc(5)). */
#ifndef RI_HANG_CALL_H
#define RI_HANG_CALL_H

#include <stdbool.h>
#include <stdint.h>

enum ri_call_kind {
	RI_CALL_FILE,
	RI_CALL_SLEEP,
	RI_CALL_LOCK,
	RI_CALL_CHILD,
	RI_CALL_EVENT,
	RI_CALL_VFORK,
	RI_CALL_EXEC,
	RI_CALL_SIGNAL,
	RI_CALL_END,
};

struct ri_call_row {
	long number;
	const char *name;
	enum ri_call_kind kind;
	int file, path;		/* its argument; -1: none */
};

enum ri_call_state {
	RI_CALL_UNKNOWN,	/* not read, or not readable */
	RI_CALL_RUNNING,	/* it runs, or could: no call holds it */
	RI_CALL_OUTSIDE,	/* it waits, and not in a call: for memory, or stopped */
	RI_CALL_INSIDE,
};

struct ri_call {
	enum ri_call_state state;
	long number;		/* of RI_CALL_INSIDE */
	uint64_t arguments[6];
};

/* Read the text of the file. False, and *out untouched, where it is none. */
bool ri_call_read(const char *text, struct ri_call *out);

/* What is known of the call that it is inside of, or NULL. */
const struct ri_call_row *ri_call_row(const struct ri_call *call);

/* Does it wait for nothing but the time? Also a poll(2) of no file. */
bool ri_call_sleeps(const struct ri_call *call);

/* The descriptor that it waits for; -1: none. */
int ri_call_file(const struct ri_call *call);

/* The child that it waits for, by the number that the process knows; -1: any, or none. */
int ri_call_child(const struct ri_call *call);

/* Where in the memory of the process the path lies; 0: there is none. */
uint64_t ri_call_path(const struct ri_call *call);

#endif
