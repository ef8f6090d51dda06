/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at processes from outside: nothing is stopped, attached or told. What may wait for a
 * process's memory is done by a worker that can be given up (examine.h), and never by PID 1.
 */
#ifndef RI_SHIM_HANG_LOOK_H
#define RI_SHIM_HANG_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/procstat.h"
#include "python/python.h"
#include "hang/hang.h"

enum { RI_AUTOPSY_LISTED = 32768 };	/* processes of the machine that are gone through */

/* Shared by whoever examines and its workers: nothing in it may be trusted to be complete. */
struct ri_autopsy_region {
	struct ri_hang hang;
	struct ri_python pythons[RI_HANG_PROCESSES];	/* as they were found by the first look */
	bool python_known[RI_HANG_PROCESSES];
	uint32_t order[RI_HANG_PROCESSES];	/* of the newer look: who is looked at first */
	volatile uint32_t progress;	/* how many processes of the newer look are done */
	struct ri_procstat listed[RI_AUTOPSY_LISTED];
};

/*
 * Look at process i of the newer look: what the kernel says of it, then what its memory says (its
 * rank, a path, its Python), which may wait for ever.
 */
void ri_autopsy_look(struct ri_autopsy_region *region, size_t i);

/* All were looked at: which of them are the ranks, and what went on since the look before. */
void ri_autopsy_conclude(struct ri_autopsy_region *region);

/* What lib/python asks for of a process, whose number lies at *pid as long as it is asked. */
bool ri_autopsy_read_maps(pid_t pid, struct ri_python_maps *maps);
struct ri_python_memory ri_autopsy_memory(pid_t *pid);

/* May process_vm_readv(2) be called at all? Writes hang.by_seccomp and hang.yama. */
void ri_autopsy_test_access(struct ri_autopsy_region *region);

#endif
