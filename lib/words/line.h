/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a rank's stderr: what it says without what others put around it, which shape of a
 * table it has, and of which kind it is by words.def.
 */
#ifndef RI_WORDS_LINE_H
#define RI_WORDS_LINE_H

#include <stdbool.h>

#include "base/span.h"

/* From RI_LINE_WORD on it tells why a process ended, the more the later; the others do not. */
enum ri_line {
	RI_LINE_PLAIN,
	RI_LINE_NOTE,		/* a note, a warning or advice in a library's log; a blank line */
	RI_LINE_STACK,		/* a frame of C++ or of another thread */
	RI_LINE_PROGRESS,	/* a bar */
	RI_LINE_WORD,		/* it names an error */
	RI_LINE_LOG,		/* an error in a library's log */
	RI_LINE_LAST,		/* no part of the process runs on after it */
};

/* A line that was written over with '\r', as it was at last. */
struct ri_span ri_line_last_state(struct ri_span line);

/* What stands behind tqdm's bar, as the line was at last; empty where there is none, or no bar. */
struct ri_span ri_line_past_bar(struct ri_span line);

/*
 * What a line says at last, without torch's "[rank3]: ", the bar of progress in
 * front of it and blanks around it.
 */
struct ri_span ri_line_trim(struct ri_span line);

/*
 * Does the whole line fit? '*' stands for any bytes up to the first place of what follows, and '~'
 * for a digit. Returns where the first words of the shape stand, and NULL where it does not fit.
 */
const char *ri_shape_fits(struct ri_span line, const char *shape);

/* Takes the field "%what" off *rest into what out points to. Returns false where it is none. */
typedef bool ri_field_take(char what, struct ri_span *rest, void *out);

/* The same of a shape with fields. Those in front of what does not fit have been taken, too. */
bool ri_shape_read(struct ri_span line, const char *shape, ri_field_take *take, void *out);

/* Of which kind is what it says? */
enum ri_line ri_line_kind(struct ri_span line);

/* Is it noise: one to leave out where something else was said? */
bool ri_noise_hides(struct ri_span line);

/*
 * Does a line say nothing new behind a traceback or a loss: one to leave out, a
 * frame, an error in a library's log, or what a runtime says of a death?
 */
bool ri_noise_is(struct ri_span line);

/* Lines that say something; a bar that moved on counts as often as it did. */
size_t ri_noise_count(struct ri_span text);

#endif
