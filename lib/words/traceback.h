/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python traceback that tells why a process ended, found in what it wrote
 * to stderr. The form is that of CPython's Lib/traceback.py, 3.6 to 3.14:
 * chained exceptions, marker lines, exception groups, the SyntaxError without
 * a header. Torch writes "[rank0]: " before each line (torch/distributed/
 * distributed_c10d.py, the exception hook of init_process_group). The message
 * of an exception from a worker holds the worker's own traceback
 * (torch/_utils.py, ExceptionWrapper; torch/multiprocessing/spawn.py;
 * torch/distributed/checkpoint/api.py, CheckpointException; CPython's
 * Lib/multiprocessing/pool.py, which joblib and concurrent.futures
 * follow; Ray's python/ray/exceptions.py, RayTaskError, without a header;
 * a callback's in jaxlib's JaxRuntimeError). TensorFlow's message tells where a
 * graph was made before it tells what failed (tensorflow/python/eager/
 * execute.py with tensorflow/core/framework/graph_debug_info, 2.8 to 2.21), Paddle's
 * a stack of C++ (paddle/phi/core/enforce.h, 2.0 to 3.0).
 */
#ifndef RI_WORDS_TRACEBACK_H
#define RI_WORDS_TRACEBACK_H

#include <stdbool.h>

#include "base/span.h"

/* All of it points into the text. */
struct ri_traceback {
	struct ri_span whole;	/* from the header of its chain to the end of the message */
	struct ri_span prefix;	/* what stands before each of its lines; mostly empty */
	struct ri_span last;	/* "Type: message", the first line of it; empty: it breaks off */
	struct ri_span more;	/* further lines of the message, or empty */
	struct ri_span member;	/* of an exception group: the first member's "Type: message" */
	struct ri_span cause;	/* of a chain: the first exception's "Type: message", or empty */
	struct ri_span cause_more;	/* further lines of its message, or empty */
	struct ri_span cause_at;	/* the frame of it: 'File "X", line N, in F', or empty */
	struct ri_span before;	/* of the one shortly before it, which is none of its chain: last */
	struct ri_span before_more;	/* and its more, */
	struct ri_span before_prefix;	/* its prefix */
	struct ri_span wrapper;	/* of a worker's: the line that says so, or empty */
	struct ri_span frames;	/* from the header of the last exception to the end of its frames */
	struct ri_span file;	/* of the innermost frame, of a group's first member's */
	struct ri_span line;	/* its number, as digits */
	struct ri_span function;	/* empty for a SyntaxError */
	struct ri_span at;	/* the innermost frame, 'File "X", line N, in F', or empty */
	struct ri_span own;	/* the innermost one that is in no library, or empty */
	bool aside;		/* it ended a thread only, or Python ignored it */
};

/*
 * The last one in the text. One that Python says it ignores, or that ended a
 * thread only, counts where there is no other, and so does one that breaks
 * off. Returns false, and leaves *out, where there is none.
 */
bool ri_traceback_find(struct ri_span text, struct ri_traceback *out);

/* Is it of torchrun's agent, which tells of the ends of its ranks in a table? */
bool ri_agent_is(const struct ri_traceback *traceback);

/* What a line of it says, without the prefix. */
struct ri_span ri_traceback_line(const struct ri_traceback *traceback, struct ri_span line);

/* The one shortly before it, of which the message alone is known, and what is before its lines. */
static inline struct ri_traceback ri_traceback_before(const struct ri_traceback *traceback)
{
	return (struct ri_traceback){
		.last = traceback->before, .more = traceback->before_more,
		.prefix = traceback->before_prefix,
	};
}

#endif
