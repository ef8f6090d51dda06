/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks say: printed as whole lines with a prefix, copied to files,
 * remembered for the verdict. Where nothing of that is asked for, the ranks
 * inherit our stdout and stderr and no call below does anything.
 *
 * Ranks may feel back-pressure: while the reader of our stdout does not read,
 * their pipes fill up. The loop never does: sink.h says how.
 *
 * The order of calls, for a job of any size:
 *
 *     ri_output_prepare          before the first spawn
 *     ri_ranks_spawn             gives each rank its own
 *     ri_output_next_fd          what closing everything must spare
 *     ri_output_wait             in place of ri_mask_wait
 *     ri_output_finish           when no process is left, before the verdict
 *     ri_output_tail, _traceback, _path   for the verdict
 */
#ifndef RI_SHIM_INIT_OUTPUT_H
#define RI_SHIM_INIT_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "launch/children.h"
#include "launch/launch.h"
#include "options/options.h"
#include "output/output.h"
#include "system/sink.h"

struct ri_output_rank {
	uint64_t rank;
	uint64_t local_rank;
	int64_t node;		/* its index; -1: unknown */
};

struct ri_output_wishes {
	const struct ri_options *options;
	const struct ri_output_rank *ranks;	/* those that start here, in their order */
	size_t count;
	int64_t node;		/* index of this node; -1: unknown */
	bool keeps_stderr;	/* for a verdict: several ranks, or a report */
	bool by_lines;		/* other ranks write to our stderr, too: sink.h */
	bool bare;		/* lines with their prefix, or of no one rank */
	bool again;		/* another attempt may follow: only the pump closes its ends */
	const char *headline;	/* of files that an earlier attempt has written to; or NULL */
};

enum { RI_OUTPUT_READ = 131072 };	/* bytes of one read */

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
	struct ri_watch watch, ray, lightning;
	struct timespec traceback;
	int64_t heard_ms;		/* when the rank last wrote of its own, CLOCK_MONOTONIC */
};

/* Streams that wait for the same sink, so that one poll serves all of them. */
struct ri_stream_group {
	int epoll;
	size_t open;		/* streams that have not ended */
	struct ri_sink sink;	/* unused in the group of those that are not printed */
	bool misled;		/* POLLOUT came, and the sink took nothing: wait a moment */
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

enum { RI_GROUP_STDOUT, RI_GROUP_STDERR, RI_GROUPS };

/* Zeroes where nothing is asked for. */
struct ri_output {
	bool active;
	int signals;			/* a signalfd that is polled and never read */
	struct ri_stream_group groups[RI_GROUPS];
	bool one_sink;			/* our stdout and stderr are the same: that of stdout */
	struct ri_stream *streams;	/* of rank k: 2 k stdout, 2 k + 1 stderr */
	struct ri_memory *memories;	/* of rank k, or NULL */
	struct ri_log_file *files;
	size_t count, file_count;
	char *in, *rendered;		/* what is read; lines for files only */
	size_t room;			/* of .rendered, and of what each sink has pending */
	struct rlimit files_before;	/* the limit to give back to the ranks */
	bool raised;
	/* a traceback begins on the stderr of a rank, or it starts others; or NULL */
	void (*alarm)(void *context, bool by_ray);
	bool awaits_ray;	/* the only rank may be a driver of Ray, or of Lightning */
	bool rang;		/* and the caller may wait otherwise now */
	bool again;		/* as in the wishes */
	uint64_t lines;		/* of the first rank then, as far as they come through here, */
	uint64_t *seen;		/* and in this place, too; or NULL */
	int64_t heard_ms;	/* when a rank last wrote, CLOCK_MONOTONIC; 0: not known */
	void *context;
	uint64_t files_lost;		/* bytes that no log file took */
	int files_why;
};

/* Does something have to stay and look after the output? */
bool ri_output_is_wanted(const struct ri_options *options);

/*
 * Open the files, make the pipes, reserve the memory: whatever can fail does
 * so here, with RI_CODE_LOG_REFUSED or RI_CODE_MEMORY.
 */
int ri_output_prepare(struct ri_output *output, const struct ri_output_wishes *wishes,
	struct ri_arena *arena, struct ri_error *err);

/* Our own lines wait behind those of the ranks, if these go to stderr as well. */
void ri_output_guard_log(struct ri_output *output);

/* What a rank has of its own. */
struct ri_rank {
	char *const *argv;	/* NULL for the first: as struct ri_launch has it */
	char **envp;
	const struct ri_cpus *cpus;	/* as in struct ri_launch; of the first too */
};

/* What ranks beside the first one read from: /dev/null, closed by an exec. */
int ri_ranks_open_input(struct ri_error *err);

/*
 * Start all that there shall be in children, one after the other, each with the output that it
 * gets. ranks: what each has of its own, NULL for a single one. After a failure, which is in *err,
 * those that run are the caller's to end.
 */
int ri_ranks_spawn(const struct ri_rank *ranks, struct ri_launch *launch,
	struct ri_children *children, struct ri_output *output, struct ri_error *err);

/* The lowest descriptor of ours that is at least this one, or -1. */
int ri_output_next_fd(const struct ri_output *output, int from);

/*
 * As ri_mask_wait, and meanwhile everything that can be moved is moved. It may
 * return 0 before the time is over, as it does after an alarm.
 */
int ri_output_wait(struct ri_output *output, siginfo_t *info, int64_t timeout_ms);

/*
 * Move what a rank whose end was taken left in its pipes: it may have written that after they were
 * looked at, and ended before its end was asked for. What a full sink has no room for stays.
 */
void ri_output_move_last(struct ri_output *output, size_t index);

/*
 * Move what the ranks have written to stderr by now. Returns false where some of it stays, as in
 * front of a full sink.
 */
bool ri_output_catch_up(struct ri_output *output);

/*
 * Move what is in the pipes now; their end is not waited for, since processes
 * that we do not know may hold them. A reader that is slow gets its time, as
 * long as it reads at all (FINISH_MS), and little of it after a stop or when
 * one comes. What is lost then is counted and said.
 */
void ri_output_finish(struct ri_output *output, bool stopped);

/* What is remembered of a rank's stderr; bytes are NULL: nothing was kept. */
struct ri_tail_text ri_output_tail(struct ri_output *output, size_t index);

/*
 * Did a rank write something of its own since then (CLOCK_MONOTONIC)? False where its stderr is not
 * remembered.
 */
bool ri_output_is_heard(const struct ri_output *output, size_t index, int64_t since_ms);

/* May more come of its stderr: is there more, or is it open? False where we do not read it. */
bool ri_output_is_held(const struct ri_output *output, size_t index);

/* When its last traceback began (CLOCK_REALTIME); zero: there was none. */
struct timespec ri_output_traceback(const struct ri_output *output, size_t index);

/* The path of its log file, or NULL. */
const char *ri_output_path(const struct ri_output *output, size_t index);

#endif
