/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of PID 1: take signals off the queue, reap, forward, and bring a
 * stop to its end. It sleeps in one system call and wakes for a signal or a
 * deadline, never to poll. It allocates no memory, and ends only
 * with the job. What it is told, and what it tells.
 */
#ifndef RI_SHIM_INIT_SUPERVISE_H
#define RI_SHIM_INIT_SUPERVISE_H

#include "check/machine.h"
#include "init/output.h"
#include "init/terminal.h"
#include "launch/children.h"
#include "link/link.h"
#include "report/outcome.h"
#include "system/mask.h"

/* What another part of rankinit has to do at its time, while the loop runs. */
struct ri_timetable {
	int64_t (*due)(void *context);	/* CLOCK_MONOTONIC ms; INT64_MAX: never */
	void (*act)(void *context);	/* it must not wait */
	void (*take)(void *context);	/* its helper may have ended; NULL: it has none */
	void *context;
	const struct ri_timetable *next;	/* another part's; NULL: there is none */
};

/* What became of all of them together. */
struct ri_supervised {
	struct ri_stop stop;	/* that came from outside */
	struct ri_stop interrupt;	/* that the first failure may have ended of */
	bool interrupted;	/* by SIGHUP, SIGINT or SIGQUIT, at any time */
	bool ordered;		/* the ranks were stopped for another node's failure */
	int64_t settle_ms;	/* how long the judge lets an exception end its rank */
	bool knows_shm;
	struct ri_space shm;	/* /dev/shm, when the first failure was a SIGBUS */
};

struct ri_supervise {
	const struct ri_launch *launch;
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	int64_t rank;		/* of the command, where the job has others elsewhere; else -1 */
	struct ri_output *output;	/* the loop looks after it as well, where it is active */
	struct ri_supervised *result;
	const struct ri_timetable *timetable;	/* NULL: there is none */
	const struct ri_link_job *job;	/* NULL: the link is off */
	bool has_others;	/* the command may start ranks of its own */
	bool may_be_ray;	/* it is a program of Python's, and may start some by Ray */
	bool words_alone;	/* stderr is kept for the words of its failure alone */
	bool goes_on;		/* where one child failed the others are not stopped */
	bool silent;		/* the caller tells how a single child ended */
};

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
