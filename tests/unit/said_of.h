/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of a launcher's words, as text to compare. */
#ifndef RI_TESTS_SAID_OF_H
#define RI_TESTS_SAID_OF_H

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define SPAN_OF(text) ((struct ri_span){ (text), strlen(text) })

static inline void add_number(struct ri_text *text, const char *name, int64_t number,
	int64_t unsaid)
{
	if (number != unsaid)
		ri_text_addf(text, " %s=%lld", name, (long long)number);
}

static inline void add_span(struct ri_text *text, const char *name, struct ri_span span)
{
	if (span.length > 0)
		ri_text_addf(text, " %s=%.*s", name, (int)span.length, span.at);
}

#endif
