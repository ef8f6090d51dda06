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

/* Trouble begins: ranks that live now are worth to be known. Returns at once. */
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

/* What those of them wrote that ended, in torch's error files. Returns how many. */
size_t ri_others_errors(const struct ri_launched_error **out);

/* The same of what they wrote to files that they had open as stderr. */
size_t ri_others_streams(const struct ri_launched_stream **out);

/* All that were seen, in the order in which they were found. Returns how many. */
size_t ri_others_seen(const struct ri_launched **out);

#endif
