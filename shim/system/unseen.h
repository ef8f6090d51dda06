/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_UNSEEN_H
#define RI_SHIM_UNSEEN_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * fork(2), of a child that wait4(-1) does not know, as it ends with another signal than SIGCHLD
 * or with 0, none (clone(2), a "clone child"): the end of the job is when no other child is left.
 * waitpid(2) takes it with __WCLONE.
 */
static inline pid_t ri_fork_unseen(int signal)
{
	return (pid_t)syscall(SYS_clone, signal, NULL, NULL, NULL, 0);
}

#endif
