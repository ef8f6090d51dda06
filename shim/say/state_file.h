/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state for probes: --state keeps a file of one line up to date, --status
 * reads it. Without --state the functions do nothing.
 */
#ifndef RI_SHIM_SAY_STATE_FILE_H
#define RI_SHIM_SAY_STATE_FILE_H

#include <sys/types.h>

#include "base/arena.h"
#include "model/topology.h"
#include "options/options.h"
#include "report/state.h"

/* What --status reads where neither it nor --state names a file. */
#define RI_STATE_FILE "/run/rankinit.state"

/*
 * Write "starting". self is our pid: a helper may do this. A name that cannot be
 * made fails, as with ri_whole_file_name; a place that cannot be written is a
 * warning, since a probe is no reason to start nothing: the state is in /dev/shm
 * then, and --status looks there too.
 */
int ri_state_begin(const struct ri_options *options, const struct ri_topology *topology,
	pid_t self, struct ri_arena *arena, struct ri_error *err);

/* So many ranks were started. */
void ri_state_run(size_t ranks);

/* A stop came, or a rank failed and the others are being stopped. */
void ri_state_stop(void);

/* It is over. */
void ri_state_end(int exit_status);

/*
 * --status: print the state on stdout, unless quiet. Returns 0 while the job
 * is starting or running, else 1, and -1 for an error of usage.
 */
int ri_state_print(const struct ri_options *options, struct ri_arena *arena,
	struct ri_error *err);

#endif
