/* SPDX-License-Identifier: Apache-2.0 */
/* What was really printed, for each row of words.def: messages, exceptions and lines. */
#ifndef RI_TESTS_WORDS_SAMPLES_H
#define RI_TESTS_WORDS_SAMPLES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const words_samples[][2] = {
#include "message_samples.def"
#include "line_samples.def"
};

/* That of the row with this shape. A row without one fails the test. */
static inline const char *words_sample(const char *shape)
{
	size_t i = 0;

	while (i < sizeof(words_samples) / sizeof(words_samples[0]) &&
		strcmp(words_samples[i][0], shape) != 0)
		i++;
	if (i == sizeof(words_samples) / sizeof(words_samples[0]))
		fail_msg("write what was printed for the row %s of words.def in tests/unit/"
			"message_samples.def; for a row of a line, in line_samples.def", shape);
	return words_samples[i][1];
}

#endif
