/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps a Python whose program is over from its end. */
#ifndef RI_SHIM_HANG_HELD_H
#define RI_SHIM_HANG_HELD_H

#include "base/text.h"
#include "python/python.h"

/* Append "it is in main (train.py:16), and there in work (train.py:5)"; they may be one frame. */
void ri_held_add(struct ri_text *out, const struct ri_python_frame *outer,
	const struct ri_python_frame *inner);

/*
 * Append "it waits in threading._shutdown for a thread in work (train.py:5)", or where else its
 * main thread is.
 */
void ri_held_say(struct ri_python *python, struct ri_text *out);

#endif
