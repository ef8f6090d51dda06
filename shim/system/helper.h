/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers: processes beside this one that may hang or crash in its place. Their owners take their
 * answers from memory that both share (ri_pages_shared), from a pipe or from the status. Here they
 * are started with no more rights than they need, hidden, found, killed and reaped.
 *
 * The job is over when wait4(-1) finds no child any more, so a helper that lives while ranks run
 * is hidden from it: what ends with another signal than SIGCHLD, or with none, is a "clone child"
 * (clone(2)), and waitpid(2) takes it with __WCLONE or __WALL alone.
 */
#ifndef RI_SHIM_SYSTEM_HELPER_H
#define RI_SHIM_SYSTEM_HELPER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/mask.h"

/* With whose rights it works. docs/SECURITY.md says what that promises. */
enum ri_helper_user {
	RI_HELPER_SAME,		/* rankinit's own; one with a name goes first where memory ends */
	/*
	 * What hears strangers: it has no capabilities, no process may trace it, and it is the
	 * user nobody, except where rankinit is root and may not become that user.
	 */
	RI_HELPER_NOBODY,
	/*
	 * What looks at a process: root becomes its user, as the kernel wants it (ptrace(2),
	 * "Ptrace access mode checking"). One that has a time goes first where memory ends.
	 */
	RI_HELPER_OWNER,
};

struct ri_helper_task {
	void (*body)(void *context);	/* if it returns, the status is 0 */
	void *context;
	int signal;		/* that its end sends; 0: none. Any other than SIGCHLD hides it. */
	enum ri_helper_user user;
	const char *name;	/* as the kernel has it; NULL: rankinit's own */
	pid_t owned;		/* for RI_HELPER_OWNER: the process whose user it becomes */
	/*
	 * Then SIGALRM ends it, the one signal that it does not block, and one with other rights
	 * has no descriptor of ours; of one that is stopped or in state D ri_helper_reap says so
	 * in its place. 0: it has all of them and our mask, and its owner sees to its end.
	 */
	unsigned seconds;
};

/*
 * Start one, which dies with us. Where it cannot drop its rights, or is to look at a process and
 * /proc is not ours, it ends with status 1 at once. Returns its number, or 0 and errno.
 */
pid_t ri_helper_start(const struct ri_helper_task *task);

/*
 * Below *helper is an owner's number of one, and becomes 0, for none, where the owner has none any
 * more; of none all of this is false, and does nothing.
 *
 * Has it ended? Reaps it then. *status is that of wait(2), and stays as it is where it was reaped
 * before; status may be NULL. A hidden one that is a second over its time does not hear SIGALRM: it
 * is left as by ri_helper_leave, with the status of one that ended of that signal.
 */
bool ri_helper_reap(pid_t *helper, int *status);

/* From when on ri_helper_reap leaves it, in ms of CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t ri_helper_due(pid_t pid);

/*
 * Kill a helper, also one that was not started here, and wait a fifth of a second at most until it
 * can be reaped. told is the signal of its end, which is taken off the queue; 0: none. Returns
 * false where it stays, in state D say: it is left behind.
 */
bool ri_helper_end(pid_t *helper, ri_sigset told, int *status);

/*
 * Kill a hidden one without waiting, and forget it; it is reaped when it has ended. Returns false
 * where too many that cannot be killed are left already: this one stays its owner's.
 */
bool ri_helper_leave(pid_t *helper);

/* Kill all hidden ones, as ri_helper_end does. Returns false, and errno, where one stays. */
bool ri_helper_end_all(void);

/* Is this a hidden one that has not been reaped yet? */
bool ri_helper_is_one(pid_t pid);

/* Is it the SIGIO of a hidden one's end, or of a descriptor? Reaps those that were left. */
bool ri_helper_took(const siginfo_t *info);

#endif
