/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of the ranks: filled in by whoever started them, read by the
 * verdict and the report. All of it is borrowed.
 */
#ifndef RI_REPORT_OUTCOME_H
#define RI_REPORT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "model/topology.h"
#include "report/traceback.h"

enum ri_rank_end {
	RI_END_NOT_STARTED,
	RI_END_RUNNING,		/* still there: nothing could end it */
	RI_END_EXITED,
	RI_END_SIGNALED,
	RI_END_EXEC_FAILED,
};

struct ri_rank_outcome {
	uint64_t rank;		/* in the job; of a plain init it means nothing */
	uint64_t local_rank;
	pid_t pid;		/* 0: not started */
	enum ri_rank_end end;
	int exit_code;
	int signal;
	bool core;
	bool oom;		/* the cgroup counted an out-of-memory kill meanwhile */
	bool told;		/* we had told it to stop before it ended */
	unsigned order;		/* 1: reaped first; 0: unknown, its end is compared */
	struct timespec started;	/* CLOCK_REALTIME, as all of these */
	struct timespec ended;
	struct timespec traceback_at;	/* when one appeared on its stderr; 0: none did */
	const char *log;	/* path of its log, or NULL */
	const char *tail;	/* the last bytes of its stderr; NULL: they were not kept */
	size_t tail_length;
	bool tail_cut;		/* there were more: the first line is half of one */
	const char *torch_error;	/* content of its TORCHELASTIC_ERROR_FILE, or NULL */
	size_t torch_error_length;
};

/* What explains an end, as a check of the node or an error says it. */
struct ri_cause {
	enum ri_code code;
	const char *subject;	/* "/dev/shm" */
	const char *text;
	const char *hint;	/* may be empty where the end is a failed exec */
	bool shown;		/* the line about the end says it already */
};

/*
 * SIGINT, SIGQUIT or SIGHUP: whoever presses Ctrl-C wants the job to end. A
 * rank may also take such a signal and go on, so it is a stop only where a rank
 * ended of it.
 */
struct ri_interrupt {
	int signal;		/* 0: none came */
	int passed_on;		/* what the ranks got for it */
	bool by_terminal;
	pid_t sender;		/* 0: the terminal, or outside of our PID namespace */
	struct timespec at;
};

struct ri_outcome {
	const struct ri_topology *topology;
	const char *launch;	/* "process", "node", "none" */
	const char *host;	/* name of this node, or NULL */
	const char *command;	/* argv[0], or NULL */
	const struct ri_rank_outcome *ranks;
	size_t count;		/* at least 1 */
	ssize_t first;		/* index of the first failure, -1: none */
	const struct ri_cause *cause;	/* what explains it, or NULL */
	int exit_status;
	int stop_signal;	/* that came from outside; 0: none did */
	pid_t stop_sender;	/* 0: outside of our PID namespace */
	bool stopped_by_terminal;
	struct ri_interrupt interrupt;	/* the last before anyone failed */
	struct timespec started;
	struct timespec ended;
};

/* Did it end otherwise than by exit(0)? One that was not started did not. */
bool ri_rank_failed(const struct ri_rank_outcome *rank);

/*
 * A program may print a traceback and go on. Is this one, found in its tail,
 * the last that it said?
 */
bool ri_rank_ended_of(const struct ri_rank_outcome *rank, const struct ri_traceback *traceback);

/*
 * Which of the ranks failed first, or -1. Compared are the second in its torch
 * error file, then the time when the traceback that it ended of appeared,
 * or else its end, then the order of reaping. A rank that failed after we had
 * told it to stop counts only with a file or a traceback, and not at all where
 * the stop came from outside. outcome->first is not read.
 */
ssize_t ri_outcome_find_first(const struct ri_outcome *outcome);

/*
 * Did outcome->first end of the interrupt? It did where that signal killed it
 * or Python says so, and where it exited soon after it without an exception of
 * its own: handlers do that. For one that we had told to stop, what it said
 * after the interrupt or not to its end does not count, and an end of another
 * by the interrupt does. False without an interrupt or without a first.
 */
bool ri_outcome_is_interrupted(const struct ri_outcome *outcome);

/* Append "/dev/shm was full: what to do [code]", unless it is shown elsewhere. */
void ri_cause_add(struct ri_text *out, const struct ri_cause *cause);

/* Append a time as ISO 8601 has it: 2026-01-31T12:00:00.123Z */
void ri_time_add(struct ri_text *out, struct timespec at);

#endif
