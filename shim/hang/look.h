/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at processes from outside, which stops none, attaches to none and sends no signal. A
 * worker that can be given up (examine.c) reads what may have to wait for a process's memory, and
 * PID 1 reads none of that.
 */
#ifndef RI_SHIM_HANG_LOOK_H
#define RI_SHIM_HANG_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "hang/hang.h"
#include "options/options.h"
#include "python/python.h"

enum {
	RI_LOOK_LISTED = 32768,	/* processes of the machine that are gone through */
	RI_LOOK_TASKS = 1024,	/* threads of one process that are looked for */
};

/*
 * Shared by the process that examines and its workers, of which one may be killed while it writes:
 * no string or list in it may be taken for complete.
 */
struct ri_look_region {
	struct ri_hang hang;
	struct ri_python pythons[RI_HANG_PROCESSES];	/* as the first look found them */
	bool python_known[RI_HANG_PROCESSES];
	uint32_t order[RI_HANG_PROCESSES];	/* of the newer look: which process comes when */
	volatile uint32_t progress;	/* how many processes of the newer look are done */
	struct ri_procstat listed[RI_LOOK_LISTED];
};

/* When a look ends, by the clock of its caller. */
struct ri_look_limit {
	int64_t (*now_ms)(void);
	int64_t until;
};

static inline bool ri_look_is_over(const struct ri_look_limit *limit)
{
	return limit->now_ms() >= limit->until;
}

/* Begin the newer look with those of these processes that are there. False: root is no process. */
bool ri_look_list_own(struct ri_look_region *region, pid_t root, const pid_t *own, size_t count);

/*
 * Add the other descendants of root, and root itself unless it is a rankinit: first those below
 * the own ones, then the rest, the nearest first. Returns false, and adds none, where the time
 * ends meanwhile or /proc cannot be listed.
 */
bool ri_look_list_others(struct ri_look_region *region, pid_t root,
	const struct ri_look_limit *limit);

/*
 * Look at process i of the newer look: what the kernel says of it; then what its memory says, which
 * may wait for ever: the rank, the path of its call and the Python stacks; or at its rank alone.
 */
void ri_look_at(struct ri_look_region *region, size_t i);
void ri_look_at_rank(struct ri_hang_process *process);

/* After the last process of a look: find the ranks, and how much each process worked meanwhile. */
void ri_look_conclude(struct ri_look_region *region);

/* Does a filter deny process_vm_readv(2)? */
bool ri_look_is_filtered(void);

/* kernel.yama.ptrace_scope; -1: there is no Yama. */
int ri_look_yama(void);

/* What lib/python asks for of a process, whose number lies at *pid as long as it is asked. */
bool ri_look_read_maps(pid_t pid, struct ri_python_maps *maps);
struct ri_python_memory ri_look_memory(pid_t *pid);

/* A whole autopsy: two looks, or three, each by a worker that may be given up. */
struct ri_look_wish {
	pid_t root;
	const pid_t *own;	/* children of rankinit: they are looked at before all others */
	size_t own_count;
	int64_t (*now_ms)(void);	/* the clock that the times below are of */
	bool after_loss;
	const char *why;	/* as hang.h has it */
	int64_t interval_ms;	/* between the looks */
	int64_t most_ms;	/* for all of it */
	bool once;		/* one look: only where each Python thread is (ri_hang_has_moved) */
	bool takes_time;	/* where one is suspected there is a third look, 2 s later */
};

/* Memory for it, shared with the workers; NULL and errno: there is none. */
struct ri_look_region *ri_look_open(void);

/* Returns false where root is no process. All that is found is judged. */
bool ri_look_examine(struct ri_look_region *region, const struct ri_look_wish *wish);

/* --autopsy PID, on standard output. Returns the exit status, or -1 and why. */
int ri_autopsy_print(const struct ri_options *options, struct ri_error *err);

#endif
