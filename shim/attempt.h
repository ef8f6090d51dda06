/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --restarts: when the ranks have failed and all of them are gone, rankinit executes itself again,
 * as it was executed at first. So nothing of one attempt is left in the next but what is carried
 * (report/restarts.h), in a memory file that cannot be changed any more.
 */
#ifndef RI_SHIM_ATTEMPT_H
#define RI_SHIM_ATTEMPT_H

#include <stdbool.h>

#include "base/arena.h"
#include "report/outcome.h"

struct ri_found;
struct ri_judged;
struct ri_run;

/*
 * The first thing after the environment was read, where it has RI_CARRIED_VARIABLE: found.carried
 * is what the attempt before this one has left, or NULL. -1: no memory.
 */
int ri_attempt_take(struct ri_run *run);

/* Say the last line of the verdict on the attempt before this one. */
void ri_attempt_begin(const struct ri_found *found);

/* Hold the program and the working directory, before either is left. -1 as above. */
int ri_attempt_prepare(const struct ri_found *found, struct ri_error *err);

/* What stands above this attempt in log files; not for the first. */
const char *ri_attempt_headline(const struct ri_found *found, struct ri_arena *arena);

/* May there be another attempt after this one? */
bool ri_attempt_may_be(const struct ri_found *found);

/*
 * All is gone, with this status, and the job may start again: end what would meet the next ranks,
 * and see whether this program can be executed. Before the judge is asked, which needs to know.
 */
void ri_attempt_make_room(struct ri_run *run, int status);

/*
 * In the judge, which has found out->verdict: does the job start again? Then what is carried is in
 * out->carried, with outcome->last_line. If not, ri_attempt_say_why_not says it, behind the
 * verdict. status: of the attempt, before --exit-map.
 */
bool ri_attempt_decide(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out);
void ri_attempt_say_why_not(void);

/* The same of a job of several nodes, which decide together, by the link. */
bool ri_attempt_follow(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out);

/*
 * Is there no process any more that the ranks have left? It would meet those that start again.
 * Waits a second for what dies, where they may start again and no stop is in the queue.
 */
bool ri_attempt_is_alone(void);

/* Take a stop that has come before the ranks of this attempt. Its number; 0: none has. */
int ri_attempt_take_stop(void);

/* How the attempt before this one failed, where this one ends before it has a rank; or none. */
void ri_attempt_say_before(const struct ri_run *run);

/* The ranks of a later attempt start: nothing stands against it any more. */
void ri_attempt_say_again(const struct ri_run *run);

/*
 * Execute this program again, with what the judge left. Returns only if that failed: the judge is
 * asked once more, and says it.
 */
void ri_attempt_execute(struct ri_run *run, const struct ri_judged *answer);

#endif
