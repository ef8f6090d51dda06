/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks on their way out. The kernel closes the connections of a process that dies before that
 * process can be reaped, and a program may close them itself on its way: what its peers say of it
 * comes first, and so it is asked whether a failure is the first one.
 *
 * Some, our own and those of a launcher of ours, have raised an exception and do not get to their
 * end, because a thread, a handler of atexit or a peer that they wait for keeps them. Others would
 * wait for them for ever. Each is told of once; only --linger=SECONDS ends one, and only one whose
 * exception has left its program: hang/course.h proves that from outside. They are looked at soon
 * after a traceback began on stderr, and where the job is silent, then seldom.
 */
#ifndef RI_SHIM_INIT_LEAVERS_H
#define RI_SHIM_INIT_LEAVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "init/supervise.h"
#include "report/launched.h"

/*
 * Look once at each child that lives and was not told to stop: which of them
 * are dying? Does not look if there is one child or, unless always is set (what
 * a rank lost dies by now), if the last look is too recent for the time it took.
 */
void ri_leavers_look(struct ri_children *children, bool always);

/*
 * Begin to look at the children that the judge doubts, by local rank; NULL: at all that live, and
 * at those of a launcher. ri_course_take has more. Returns whether a look is on its way.
 */
bool ri_leavers_ask(struct ri_children *children, const uint8_t *doubtful);

/*
 * Before they are told by this signal; 0: by none. What ends with a status though it had no
 * handler for the signal, and does not wait for it, ended by itself.
 */
void ri_leavers_prepare_stop(struct ri_children *children, const struct ri_output *output,
	int number);

/*
 * Mark the children whose program an exception has left, by what ri_course_take saw: they are on
 * their way out, which may take long. Begins to look at those that have printed an exception since
 * the last look. Returns whether there are any.
 */
bool ri_leavers_find(struct ri_children *children, const struct ri_output *output);

/*
 * May a rank that lives have failed by now, as far as the kernel and its stderr show? It dies, or
 * has begun an exception that it may end of; or ri_leavers_may_speak.
 */
bool ri_leavers_may_fail(const struct ri_children *children, struct ri_output *output);

/*
 * One has ended with a status of its own and no exception: may a process that it left still say
 * why? It holds the stderr of that rank.
 */
bool ri_leavers_may_speak(const struct ri_children *children, const struct ri_output *output);

/* Has such a process begun an exception, and ended? */
bool ri_leavers_spoke(const struct ri_children *children, const struct ri_output *output);

/* The ranks run, or their launcher does. The options last as long as the job. */
void ri_linger_begin(const struct ri_options *options);

/* A traceback begins on the stderr of one. */
void ri_linger_suspect(void);

/* They are told to stop: none is looked at any more. */
void ri_linger_end(void);

/* When ri_linger_act is to be called, CLOCK_MONOTONIC ms; INT64_MAX: not at all. */
int64_t ri_linger_due(const struct ri_output *output);

/* Begin to look at the ranks from outside: ri_course_take has the answer. */
void ri_linger_act(struct ri_children *children);

/*
 * A stop came: look at them, where a traceback has begun or an exception was seen. Returns whether
 * a look is on its way.
 */
bool ri_linger_ask(struct ri_children *children);

/*
 * A look has been, and ri_course_take has its answer. Says of each rank that is told of what it
 * raised and where it is, of a command by its name, or its rank. Returns whether some are to be
 * ended: those of our own have lingered_s then.
 */
bool ri_linger_take(const struct ri_supervisor *sv);

/* Those of a launcher that had an exception when they were seen last, for source->held. */
void ri_linger_tell(struct ri_launched_source *source);

#endif
