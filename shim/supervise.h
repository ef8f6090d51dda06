/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of PID 1: take signals off the queue, reap, forward, and bring a
 * stop to its end. It sleeps in one system call and wakes for a signal or a
 * deadline, never to poll. It allocates nothing, and nothing ends it but the
 * end of the job.
 */
#ifndef RI_SHIM_SUPERVISE_H
#define RI_SHIM_SUPERVISE_H

#include "launch.h"
#include "options.h"
#include "output.h"
#include "report/outcome.h"
#include "terminal.h"

/*
 * Be ready for orphans. Not PID 1: become a subreaper (prctl(2)), which is an
 * error only with --subreaper=yes.
 */
int ri_supervise_adopt(pid_t self, enum ri_switch subreaper, struct ri_error *err);

/* What became of the command. */
struct ri_supervised {
	struct ri_rank_outcome rank;	/* its numbers and its start are the caller's */
	int stop_signal;		/* 0: no stop came */
	pid_t stop_sender;
};

struct ri_supervise {
	const struct ri_launch *launch;
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	struct ri_output *output;
	struct ri_supervised *result;
};

/*
 * Watch over a command that was just started, until it and all that it left
 * behind are gone. Returns the command's exit status.
 */
int ri_supervise_run(pid_t pid, const struct ri_supervise *setting);

#endif
