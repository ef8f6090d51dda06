/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher that starts its ranks again after a failure, as torchrun and those made of it do with
 * --max-restarts: it is said when it happens, and in the verdict and the report of a job that fails
 * in the end. The new ranks show it, by TORCHELASTIC_RESTART_COUNT in their environment. PID 1
 * takes down which attempts there were; the judge reads how they failed, and says it.
 */
#ifndef RI_SHIM_INIT_RESTARTED_H
#define RI_SHIM_INIT_RESTARTED_H

#include "init/judged.h"
#include "init/output.h"

/* An attempt of which nobody has told yet. */
struct ri_restarted_attempt {
	size_t at;		/* the first rank of the next one, as ri_others_seen has them */
	uint64_t from, to;	/* of the bytes on the launcher's stderr, what belongs to it */
	size_t number;		/* of all of which somebody tells, from 0 on */
	uint64_t restarts;	/* by then, with those of which nobody does */
};

/* The name of the launcher lasts; it may be NULL. */
void ri_restarted_begin(const char *launcher);

/* Has an attempt ended? Then ask. Call it after each wake-up; without news it costs nothing. */
void ri_restarted_hear(struct ri_output *output);

/* The loop ends: wait for what the judge has to tell. */
void ri_restarted_finish(void);

/* The judge's answer; NULL: it died. */
void ri_restarted_take(const struct ri_judged *answer);

/*
 * For the judge: those of which nobody has told, and where all that were told of are kept, which
 * are in memory that judges share. Returns how many.
 */
size_t ri_restarted_waiting(const struct ri_restarted_attempt **out, struct ri_restarts **all);

/* Where on the launcher's stderr the attempt begins that runs, or ran last. */
uint64_t ri_restarted_begun(void);

/* All that were told of, for the judge; NULL: there was none. */
const struct ri_restarts *ri_restarted_seen(void);

#endif
