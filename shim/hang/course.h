/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python program may print an exception and go on, or end of it, which may take a while. A
 * process beside PID 1, which never waits for it, reads in the program's memory which of the two it
 * does. What it finds is a proof, never a guess: wherever it finds an exception it looks again, a
 * second later, and has to find the same one.
 */
#ifndef RI_SHIM_HANG_COURSE_H
#define RI_SHIM_HANG_COURSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/children.h"
#include "report/launched.h"

enum { RI_COURSE_HELD = 512, RI_COURSE_WORDS = 4096, RI_COURSE_SHOWN = 200 };

/* What the last look saw of a process. */
struct ri_course_seen {
	uint64_t exception;	/* its address, of one that has left or is in hand; 0: none */
	enum ri_course course;	/* RI_COURSE_LEFT: it has left; _RUNNING: it has not */
	/* flags are numbers here: a process that runs wild may write any */
	uint8_t handled;	/* a finally or an except runs for it, then it leaves */
	uint8_t foreign;	/* its program is no python */
	uint8_t over;		/* it has no interpreter: not any more, or not yet */
	uint8_t by_person;	/* a debugger, a stop or a read of a terminal holds it */
	pid_t inner;		/* the python behind a shell, of which all this is; 0: none */
	char held[RI_COURSE_HELD];	/* "it is in upload (train.py:5)"; or "" */
	char words[RI_COURSE_WORDS];	/* what Python prints of the exception; or "" */
	char shown[RI_COURSE_SHOWN];	/* of that the last line, without secrets */
};

/*
 * Begin to look at the children that are doubtful, and at those of the others that live: ranks that
 * a child started. Does nothing if a process looks already, or if the kernel refuses one.
 */
void ri_course_ask(struct ri_children *children, const struct ri_launched *others, size_t count);

/* Does a process look just now? */
bool ri_course_is_asked(void);

/* From when on ri_course_take gives it up, CLOCK_MONOTONIC ms; INT64_MAX: there is none. */
int64_t ri_course_due(void);

/* Has it found an exception, so that it looks a second time? */
bool ri_course_looks_again(void);

/* Is a look over? Then what it saw is in the children, which are doubtful no longer. */
bool ri_course_take(struct ri_children *children);

/*
 * What was seen of a child, by its index, or of one of the others, by its index and RI_MAX_LOCAL;
 * NULL: the last look was not at it. One that goes on may write it anew.
 */
const struct ri_course_seen *ri_course_of(size_t index);

/* The job is over: end the process that looks. */
void ri_course_end(void);

#endif
