/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries write beside the reason of an end. noise.def has the lines. */
#ifndef RI_WORDS_NOISE_H
#define RI_WORDS_NOISE_H

#include "base/span.h"

enum ri_noise {
	RI_NOISE_NONE,
	RI_NOISE_KEEP,		/* no noise, though it looks so */
	RI_NOISE_LOG,
	RI_NOISE_STACK,
	RI_NOISE_PROGRESS,
};

/* What a line is; a blank one is RI_NOISE_LOG. */
enum ri_noise ri_noise_find(struct ri_span line);

/* Is it one to leave out where something else was said? */
bool ri_noise_hides(struct ri_span line);

/*
 * Does a line say nothing new behind a traceback or a loss: one to leave out, a
 * frame, an error in a library's log, or what a runtime says of a death?
 */
bool ri_noise_is(struct ri_span line);

/* Is it a note or a warning in a library's log, which tells of no end? */
bool ri_noise_is_warning(struct ri_span line);

/* Lines that say something; a bar that moved on counts as often as it did. */
size_t ri_noise_count(struct ri_span text);

#endif
