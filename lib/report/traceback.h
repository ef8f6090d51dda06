/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python traceback that tells why a process ended, found in what it wrote
 * to stderr. The form is that of CPython's Lib/traceback.py, 3.6 to 3.14:
 * chained exceptions, marker lines, exception groups, the SyntaxError without
 * a header. Torch writes "[rank0]: " before each line (torch/distributed/
 * distributed_c10d.py, the exception hook of init_process_group). The message
 * of an exception from a worker holds the worker's own traceback
 * (torch/_utils.py, ExceptionWrapper; torch/multiprocessing/spawn.py;
 * CPython's Lib/multiprocessing/pool.py).
 */
#ifndef RI_REPORT_TRACEBACK_H
#define RI_REPORT_TRACEBACK_H

#include "report/span.h"

/* All of it points into the text. */
struct ri_traceback {
	struct ri_span whole;	/* from the header of its chain to the end of the message */
	struct ri_span prefix;	/* what stands before each of its lines; mostly empty */
	struct ri_span last;	/* "Type: message", the first line of it; empty: it breaks off */
	struct ri_span more;	/* further lines of the message, or empty */
	struct ri_span member;	/* of an exception group: the first member's "Type: message" */
	struct ri_span file;	/* of the innermost frame, of a group's first member's */
	struct ri_span line;	/* its number, as digits */
	struct ri_span function;	/* empty for a SyntaxError */
	size_t lines_after;	/* that are no noise */
};

/*
 * The last one in the text. One that Python says it ignores, or that ended a
 * thread only, counts where there is no other, and so does one that breaks
 * off. Returns false, and leaves *out, where there is none.
 */
bool ri_traceback_find(struct ri_span text, struct ri_traceback *out);

/* What a line of it says, without the prefix. */
struct ri_span ri_traceback_line(const struct ri_traceback *traceback, struct ri_span line);

#endif
