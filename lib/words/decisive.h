/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that tell why a process ended, where no exception of Python does.
 * decisive.def has them.
 */
#ifndef RI_WORDS_DECISIVE_H
#define RI_WORDS_DECISIVE_H

#include "base/span.h"

enum ri_decisive {
	RI_DECISIVE_NONE,
	RI_DECISIVE_WORD,	/* it names an error */
	RI_DECISIVE_LOG,	/* an error in a library's log */
	RI_DECISIVE_LAST,	/* no part of the process runs on after it */
};

/* What a line is. */
enum ri_decisive ri_decisive_find(struct ri_span line);

#endif
