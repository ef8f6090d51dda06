/* SPDX-License-Identifier: Apache-2.0 */
/* What a parser of lib/from works with, for those who have nothing but a text. */
#ifndef RI_TESTS_READING_OF_H
#define RI_TESTS_READING_OF_H

#include "from/reading.h"

/* A reading whose memory is the arena's; an error of an earlier one is forgotten. */
static inline struct ri_reading *reading_of(struct ri_arena *arena)
{
	static const struct ri_source source = { .name = "test" };
	static struct ri_context context;
	static struct ri_reading reading;
	static struct ri_error err;

	err = (struct ri_error){ .code = RI_CODE_NONE };
	context = (struct ri_context){ .arena = arena };
	reading = (struct ri_reading){ .context = &context, .source = &source, .err = &err };
	return &reading;
}

#endif
