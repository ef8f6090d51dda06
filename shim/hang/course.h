/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python program may print an exception and go on, or end of it and take a while for that. Which
 * of the two is seen in its memory by a process beside PID 1, which never waits for it.
 */
#ifndef RI_SHIM_HANG_COURSE_H
#define RI_SHIM_HANG_COURSE_H

#include <stdbool.h>
#include <sys/types.h>

#include "launch/children.h"

/*
 * Begin to look at the children that are doubtful. Nothing happens where one looks already, where
 * there is none of them, or no process to look.
 */
void ri_course_ask(const struct ri_children *children);

/* Is somebody looking? */
bool ri_course_is_asked(void);

/* A look is over: what it saw is in the children now. Returns false where none is. */
bool ri_course_take(struct ri_children *children);

/* The process that looks just now; 0: there is none. */
pid_t ri_course_helper(void);

/* All is over: no process looks any more. */
void ri_course_end(void);

#endif
