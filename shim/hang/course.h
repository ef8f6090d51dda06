/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python program may print an exception and go on, or end of it, which may take a while. A
 * process beside PID 1 reads in its memory which of the two it does; PID 1 never waits for that
 * process.
 */
#ifndef RI_SHIM_HANG_COURSE_H
#define RI_SHIM_HANG_COURSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hang/in_hand.h"
#include "launch/children.h"
#include "report/launched.h"

enum { RI_COURSE_HELD = 512, RI_COURSE_WORDS = 2048 };

/* Ranks that a child started, as they were seen; count 0: none. */
struct ri_course_others {
	const struct ri_launched *items;
	size_t count;
};

/*
 * Begin to look at the children that are doubtful, and at those of the others that live. Does
 * nothing if a process looks already, if there is neither, or if the kernel refuses a process.
 */
void ri_course_ask(struct ri_children *children, struct ri_course_others others);

/* Does a process look just now? */
bool ri_course_is_asked(void);

/* A look is over: what it saw is in the children now. Returns false where none is. */
bool ri_course_take(struct ri_children *children);

/*
 * What the last look saw that child in whose program was over, or that has an exception in hand:
 * "it waits in threading._shutdown for ...". NULL: there was no such look. It is good until the
 * next one at the same child.
 */
const char *ri_course_held(size_t index);

/* What the last look saw. */
struct ri_course_seen {
	unsigned char course;	/* enum ri_course */
	uint64_t hash;		/* of its main thread's stack */
	uint64_t ticks;		/* of a CPU that it was given since it began */
	bool known;		/* whether it has an exception in hand, and which */
	struct ri_in_hand hand;
	char held[RI_COURSE_HELD];	/* as above; or "" */
	char words[RI_COURSE_WORDS];	/* a traceback of the exception in hand; or "" */
};

/* Of one of the others. NULL: there was no such look. It may be written while a process looks. */
const struct ri_course_seen *ri_course_other(size_t index);

/* The same of a child, and good as long as ri_course_held. */
const struct ri_course_seen *ri_course_child(size_t index);

/* "ValueError: bad batch 17", of one that has an exception in hand. */
struct ri_span ri_course_exception(const struct ri_course_seen *seen);

/* The job is over: end the process that looks. */
void ri_course_end(void);

#endif
