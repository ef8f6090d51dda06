/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exception that a rank's main thread has in hand: it runs a finally, or an except that ends in
 * raise, and the exception leaves the program when that is done. It has not been printed yet.
 */
#ifndef RI_SHIM_HANG_IN_HAND_H
#define RI_SHIM_HANG_IN_HAND_H

#include <stdint.h>

#include "base/text.h"
#include "python/python.h"

/*
 * Its address; 0: there is none, or it may be caught, or is an order to end (SystemExit), or its
 * thread waits for a child or a debugger, or its stack is not of this hash any more. words gets
 * what Python would print of it, with the frame alone that raised it; held gets "it is in main
 * (train.py:11), and there in barrier (torch/distributed/distributed_c10d.py:5356)".
 */
uint64_t ri_in_hand_read(struct ri_python *python, const struct ri_python_thread *thread,
	uint64_t hash, struct ri_text *words, struct ri_text *held);

#endif
