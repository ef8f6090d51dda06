/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a rank's stderr: what it says without what others put around it, and
 * which table has it. decisive.def has lines that tell why a process ended, where no
 * exception of Python does; noise.def what libraries write beside that.
 */
#ifndef RI_WORDS_LINE_H
#define RI_WORDS_LINE_H

#include "base/span.h"

enum { RI_GLOB_BYTES = 4096 };	/* that are compared of a longer line */

enum ri_decisive {
	RI_DECISIVE_NONE,
	RI_DECISIVE_WORD,	/* it names an error */
	RI_DECISIVE_LOG,	/* an error in a library's log */
	RI_DECISIVE_LAST,	/* no part of the process runs on after it */
};

enum ri_noise {
	RI_NOISE_NONE,
	RI_NOISE_KEEP,		/* no noise, though it looks so */
	RI_NOISE_LOG,
	RI_NOISE_STACK,
	RI_NOISE_PROGRESS,
};

/* A line that was written over with '\r', as it was at last. */
struct ri_span ri_line_last_state(struct ri_span line);

/*
 * What a line says at last, without torch's "[rank3]: ", the bar of progress in
 * front of it and blanks around it.
 */
struct ri_span ri_line_trim(struct ri_span line);

/* Does the whole line fit? '*' stands for any bytes, or none, and '~' for one digit. */
bool ri_glob_fits(struct ri_span line, const char *glob);

/* What a line decides; a blank one nothing. */
enum ri_decisive ri_decisive_find(struct ri_span line);

/* Which noise a line is; a blank one is RI_NOISE_LOG. */
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

/* Is it one of NCCL's own log, a warning? */
bool ri_line_is_nccls(struct ri_span line);

/* Lines that say something; a bar that moved on counts as often as it did. */
size_t ri_noise_count(struct ri_span text);

#endif
