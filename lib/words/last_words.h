/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that ended without an exception of Python said of it. */
#ifndef RI_WORDS_LAST_WORDS_H
#define RI_WORDS_LAST_WORDS_H

#include "base/span.h"

enum { RI_LAST_WORDS = 8 };

struct ri_last_words {
	struct ri_span lines[RI_LAST_WORDS];	/* without what stands around them */
	size_t count;
};

/*
 * Collect the words of a death, in their order: what a runtime said of it, the
 * lines of a C++ exception's message, the first frames of faulthandler's stack.
 */
void ri_last_words_collect(struct ri_span text, struct ri_last_words *out);

/* NCCL's first warning, which says more than the exception that torch makes of it. */
bool ri_last_words_warning(struct ri_span text, struct ri_span *out);

/* The first of the last lines that names an error. Returns false where none does. */
bool ri_last_words_name(struct ri_span text, struct ri_span *out);

#endif
