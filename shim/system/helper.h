/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers: processes beside this one that may hang or crash in its place. Each part that has one
 * starts it, gives it a time, and takes its answer from memory that both share (ri_pages_shared).
 * Here is what all have in common: how they are hidden, found, killed and reaped.
 *
 * The job is over when wait4(-1) finds no child any more, so a helper that lives while ranks run
 * is hidden from it: what ends with another signal than SIGCHLD, or with none, is a "clone child"
 * (clone(2)), and waitpid(2) takes it with __WCLONE or __WALL alone.
 */
#ifndef RI_SHIM_SYSTEM_HELPER_H
#define RI_SHIM_SYSTEM_HELPER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "system/mask.h"

/* fork(2) of one whose end sends this signal; 0: none. Any other than SIGCHLD hides it. */
pid_t ri_helper_fork(int signal);

/*
 * Has it ended? Reaps it then. *status is that of wait(2), and stays as it is where somebody else
 * reaped it before; status may be NULL.
 */
bool ri_helper_reap(pid_t pid, int *status);

/*
 * Kill a helper, also one that was not started here, and wait a fifth of a second at most until
 * it can be reaped, as ri_helper_reap does it. told is the signal of its end, which is taken off
 * the queue; 0: none. Returns false where it stays, in state D say: it is left behind.
 */
bool ri_helper_end(pid_t pid, ri_sigset told, int *status);

/*
 * Kill a hidden one without waiting, and forget it; it is reaped when it has ended. Returns false
 * where too many that cannot be killed are left already: this one stays its owner's.
 */
bool ri_helper_leave(pid_t pid);

/* Is this a hidden one that has not been reaped yet? */
bool ri_helper_is_one(pid_t pid);

/*
 * Is this the SIGIO of a hidden one's end, or of a descriptor of ours? Its helper may have been
 * reaped or forgotten meanwhile. A SIGIO of kill(2) is none. Reaps those that were left.
 */
bool ri_helper_took(const siginfo_t *info);

#endif
