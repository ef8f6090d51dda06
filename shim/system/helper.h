/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that wait4(-1) does not know: the end of the job is when no other child is left. What
 * ends with another signal than SIGCHLD, or with none, is a "clone child" (clone(2)), and
 * waitpid(2) takes it with __WCLONE.
 */
#ifndef RI_SHIM_SYSTEM_HELPER_H
#define RI_SHIM_SYSTEM_HELPER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* fork(2) of one whose end is told by this signal; 0: by none. */
pid_t ri_helper_fork(int signal);

/*
 * Kill one that does not end, and forget it; it is reaped when it has ended. Returns false where
 * too many that cannot be killed are left already: this one stays its owner's.
 */
bool ri_helper_leave(pid_t pid);

/* Is this one of those, which has not been reaped yet? */
bool ri_helper_is_left(pid_t pid);

/*
 * Is this the SIGIO of an end, or of a descriptor of ours? Whose it was may have been reaped or
 * forgotten meanwhile: it is nobody else's. That of a kill(2) is. Reaps who was left.
 */
bool ri_helper_took(const siginfo_t *info);

#endif
