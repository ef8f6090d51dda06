/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that ended without an exception of Python said of it. */
#ifndef RI_WORDS_LAST_WORDS_H
#define RI_WORDS_LAST_WORDS_H

#include "base/span.h"
#include "words/traceback.h"

enum {
	RI_LAST_WORDS = 8,
	RI_LAST_LINES = 20,	/* kept of what a rank wrote last */
};

/* Which lines of a process, that are no exception of Python, explain how it ended. */
enum ri_telling {
	RI_TELLING_NONE,
	RI_TELLING_HANDLER,	/* those of a handler of the signal that it died of */
	RI_TELLING_LOG,		/* what a runtime said of it, or errors in a library's log */
	RI_TELLING_WORD,	/* the same, or what names an error */
};

struct ri_last_words {
	struct ri_span lines[RI_LAST_WORDS];	/* without what stands around them */
	size_t count;
	/* it is what the exception only tells of: the exception before that, these words */
	bool before_leads, lead;
	bool replace_more;	/* and the further lines of the exception, which are a table */
};

/*
 * The words of a death, as far as they may tell of it, of a process that died of this signal: what
 * a runtime said, the lines of a C++ exception's message, the first frames of faulthandler's
 * stack; or else the first of the last lines that names an error. With a traceback, which the
 * process ended of, or NULL: what stands before it and explains it, where its message speaks of
 * another that ended or of NCCL; the line of a log by which it lost no peer.
 */
void ri_last_words_find(struct ri_span text, const struct ri_traceback *traceback,
	enum ri_telling telling, int signal, struct ri_last_words *out);

/* The last lines that are no noise; where there is only noise: that. Returns their number. */
size_t ri_last_lines_find(struct ri_span text, struct ri_span out[RI_LAST_LINES]);

#endif
