/* SPDX-License-Identifier: Apache-2.0 */
/* Is this node fit for the job? Which checks run, and what follows from them. */
#ifndef RI_SHIM_PREFLIGHT_PREFLIGHT_H
#define RI_SHIM_PREFLIGHT_PREFLIGHT_H

#include "base/host.h"
#include "check/runner.h"
#include "model/topology.h"
#include "options/options.h"

/* Who we are, as far as it says what this node must have. */
struct ri_preflight {
	const struct ri_options *options;
	const struct ri_env *env;
	const struct ri_command *command;
	const struct ri_topology *topology;
	struct ri_host *host;	/* its root is opened here */
	struct ri_arena *arena;
	uint64_t fan_out;	/* ranks that are started here; 0: another program starts them */
	bool is_of_job;		/* this process is one of a job, so the node is looked at for it */
};

/*
 * Look at the node before a launch, or an explanation of it, which gets what was found
 * among its findings. Returns 0 to go on; -1 with RI_CODE_CHECK_UNFIT and the like; or
 * the exit status of a stop that came. checked->ran: the rest of *checked is filled in.
 */
int ri_preflight_look(const struct ri_preflight *of, struct ri_check_report *checked,
	struct ri_findings *findings, struct ri_error *err);

/* --check: run all that is picked. Returns 0, or -1 and an error. */
int ri_preflight_check(const struct ri_preflight *of, struct ri_check_report *checked,
	struct ri_error *err);

#endif
