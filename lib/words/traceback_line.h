/* SPDX-License-Identifier: Apache-2.0 */
/* What one line of a traceback, or beside one, is by itself: words/traceback.h has the forms. */
#ifndef RI_WORDS_TRACEBACK_LINE_H
#define RI_WORDS_TRACEBACK_LINE_H

#include <stdbool.h>

#include "base/span.h"

/* What the line before says of an exception that follows. */
enum ri_link {
	RI_LINK_NONE,
	RI_LINK_CHAINED,	/* it came of the one before, or while that was handled */
	RI_LINK_NESTED,		/* it is the one before, as a worker saw it */
};

/*
 * Does it end with a header of Python, blanks behind that left out? *prefix is what stands before
 * the header. Paddle's stack of C++ has a header of the same words (paddle/phi/core/enforce.h,
 * GetCurrentTraceBackString) and is none.
 */
bool ri_header_find(struct ri_span line, struct ri_span *prefix);

/* "Type", "package.Type: message", Ray's "RayTaskError(Type): message"; no line of a log. */
bool ri_exception_is(struct ri_span line);

bool ri_syntax_error_is(struct ri_span line);

/* Does an exception only end a loop, or say that there is nothing yet? That is handled and over. */
bool ri_signpost_is(struct ri_span exception);

struct ri_frame {
	struct ri_span at;	/* all of it, without the blanks before it */
	struct ri_span file, line;
	struct ri_span function;	/* empty for a SyntaxError */
	bool own;	/* of the user's own code: in no library */
};

/* '  File "PATH", line N[, in FUNCTION]' */
bool ri_frame_read(struct ri_span line, struct ri_frame *out);

/* Does it say that the traceback below ended no process? */
bool ri_aside_is(struct ri_span line);

/* Does it say, besides, that the traceback below caused nothing? */
bool ri_ignored_is(struct ri_span line);

/* The words between two exceptions of a chain, and before a process's own. */
enum ri_link ri_link_read(struct ri_span line);

#endif
