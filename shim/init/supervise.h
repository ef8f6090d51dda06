/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of PID 1: take signals off the queue, reap, forward, and bring a
 * stop to its end. It sleeps in one system call and wakes for a signal or a
 * deadline, never to poll. It allocates no memory, and ends only
 * with the job.
 */
#ifndef RI_SHIM_INIT_SUPERVISE_H
#define RI_SHIM_INIT_SUPERVISE_H

#include "init/setting.h"

/*
 * Watch over the children that were just started, until they and all that they
 * left behind are gone. Returns the exit status of the first of them that
 * ended with another one than 0, or 0. Where one fails on its own the others
 * are stopped, and so they are if children->refused says that some are missing:
 * then that is the status.
 */
int ri_supervise_run(struct ri_children *children, const struct ri_supervise *setting);

/*
 * What the start needed, and watching over the job does not: files that were passed in keep pipes
 * and mounts busy, and the working directory keeps its file system mounted. It is "/" then.
 */
void ri_supervise_let_go(const struct ri_output *output);

/* Be ready for orphans. Not PID 1: become a subreaper (prctl(2)), or warn. */
void ri_orphans_adopt(pid_t self);

#endif
