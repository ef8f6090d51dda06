/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that a launcher of ours starts and reaps. A helper looks for them below it, holds a pidfd
 * of each, and writes down in which order and how they ended. To find them it reads the
 * environment of processes, which may wait for a process's memory; PID 1 never does.
 *
 * How another one's child ended is told by PIDFD_GET_INFO since Linux 6.15 (include/uapi/linux/
 * pidfd.h, PIDFD_INFO_EXIT), once it was reaped. Older kernels tell of the end alone.
 */
#ifndef RI_SHIM_INIT_OTHERS_H
#define RI_SHIM_INIT_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "init/judged.h"
#include "init/output.h"
#include "report/launched.h"

/*
 * Begin to look for ranks below this launcher: 0.25, 0.5, 1 ... 64 s after its start and after the
 * end of a rank, and when ri_others_look asks for it. Where there is no helper, no rank is ever
 * seen. python: it is a program of Python's, and none is before Ray is, but for those that
 * Lightning starts below it, of which it is one itself. Once it was called it does nothing.
 */
void ri_others_begin(pid_t launcher, bool python);

/* Was a process of Ray's seen below the launcher? */
bool ri_others_have_ray(void);

/* Is there a helper? */
bool ri_others_are_watched(void);

/* A traceback begins: look now for ranks, which may end soon. Returns at once. */
void ri_others_look(void);

/*
 * The launcher has ended: the helper writes down what is left, and ends; this waits for it, a
 * fifth of a second at most.
 */
void ri_others_end(void);

/*
 * Is there news since the last call: all ranks that were seen have ended, or some were seen that
 * began after a restart? It comes with a SIGIO.
 */
bool ri_others_heard(void);

/*
 * What those of them wrote that ended, in torch's error files and to files that they had open as
 * stderr: .errors and .streams.
 */
void ri_others_read(struct ri_launched_source *out);

/* All that were seen, in the order in which they were found. Returns how many. */
size_t ri_others_seen(const struct ri_launched **out);

/*
 * restarted.c: a launcher that starts its ranks again after a failure, as torchrun does with
 * --max-restarts: it is said when it happens, and in the verdict and the report of a job that fails
 * in the end. The new ranks show it, by TORCHELASTIC_RESTART_COUNT in their environment. PID 1
 * takes down which attempts there were; the judge reads how they failed, and says it.
 */

/* An attempt that has failed, and that the judge has not told of yet. */
struct ri_restarted_attempt {
	size_t at;		/* the first rank of the next one, as ri_others_seen has them */
	uint64_t from, to;	/* of the bytes on the launcher's stderr, what belongs to it */
	size_t number;		/* among all that are told of, from 0 on */
	uint64_t restarts;	/* that were seen by then, also those that are not told of */
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
 * For the judge: those that wait, and where all that were told of are kept, in memory that judges
 * share. Returns how many.
 */
size_t ri_restarted_waiting(const struct ri_restarted_attempt **out, struct ri_restarts **all);

/* Where on the launcher's stderr the attempt begins that runs, or ran last. */
uint64_t ri_restarted_begun(void);

/* All that were told of, for the judge; NULL: there was none. */
const struct ri_restarts *ri_restarted_seen(void);

#endif
