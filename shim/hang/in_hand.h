/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exception that a rank's main thread has in hand: it runs a finally, or an except that ends in
 * raise, and the exception leaves the program when that is done. It has not been printed yet.
 */
#ifndef RI_SHIM_HANG_IN_HAND_H
#define RI_SHIM_HANG_IN_HAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "python/python.h"

struct ri_in_hand {
	uint64_t exception;	/* its address; 0: none */
	bool works;		/* what comes before the end may take its time: see below */
	bool for_peers;		/* it waits for other ranks */
	uint64_t bytes;		/* that the process has read and written; 0: not known */
};

/*
 * Look at the main thread of a process. There is no exception where it may be caught, or is an
 * order to end (SystemExit), or where the stack is not of this hash any more. A thread works that
 * waits for a child, a debugger or a file, or is stopped, and so does one beside which another one
 * waits for a device: it may store what the job has computed. words gets what Python would print of
 * the exception, with the frame alone that raised it; held gets "it is in main (train.py:11), and
 * there in barrier (torch/distributed/distributed_c10d.py:5356)".
 */
struct ri_in_hand ri_in_hand_read(pid_t pid, struct ri_python *python,
	const struct ri_python_thread *thread, uint64_t hash, struct ri_text *words,
	struct ri_text *held);

#endif
