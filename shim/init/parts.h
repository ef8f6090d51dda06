/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts share: open.c, output.c while ranks run, finish.c. */
#ifndef RI_SHIM_INIT_PARTS_H
#define RI_SHIM_INIT_PARTS_H

#include "init/output.h"
#include "output/lines.h"
#include "output/tail.h"

enum {
	RI_OUTPUT_PIPE = 262144,	/* asked for; 64 KiB is usual, more costs fewer wake-ups */
	RI_OUTPUT_READ = 131072,	/* bytes of one read */
};

enum ri_form {
	RI_FORM_NOTHING,
	RI_FORM_BYTES,		/* unchanged, as they come */
	RI_FORM_LINES,
};

struct ri_log_file {
	int fd;
	const char *path;
	bool said;		/* that it takes no more */
};

struct ri_memory {
	struct ri_tail tail;
	struct ri_watch watch, ray;
	struct timespec traceback;
	int64_t heard_ms;		/* when the rank last wrote of its own, CLOCK_MONOTONIC */
};

struct ri_stream {
	int fd;				/* our end of the pipe; -1: there is none any more */
	int given;			/* the rank's end or file; -1: none, or given away */
	struct ri_stream_group *group;
	enum ri_form printed, logged;
	struct ri_log_file *file;	/* of the rank, also where it writes there itself */
	struct ri_memory *memory;	/* stderr, if it is remembered */
	struct ri_lines lines;
	int left;			/* bytes to move at the end */
};

/* One read, and what follows from it. Returns the bytes that were there. */
size_t ri_output_move(struct ri_output *output, struct ri_stream *stream, size_t most);

/* Write what is pending. has_room: poll says that something would be taken. */
void ri_output_flush(struct ri_stream_group *group, bool has_room);

/* Give up our end of the pipe, and complete its last line. */
void ri_output_end_stream(struct ri_output *output, struct ri_stream *stream);

/*
 * Wait once, at most so long (-1: for ever), and move what can be moved, if
 * that is asked for. Returns whether to look for a signal.
 */
bool ri_output_wait_once(struct ri_output *output, int64_t timeout_ms, bool moves);

/* Our own lines wait behind those of the ranks, if these go to stderr as well. */
void ri_output_guard_log(struct ri_output *output);

#endif
