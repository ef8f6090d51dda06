/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file: one line that says what rankinit is doing, for --status and
 * for other programs to read. "rankinit-state-1 WORD name=value ...";
 * who reads it skips names that it does not know.
 */
#ifndef RI_REPORT_STATE_H
#define RI_REPORT_STATE_H

#include <sys/types.h>
#include <time.h>

#include "base/text.h"

enum ri_job_word {
	RI_JOB_STARTING,	/* before the first rank runs */
	RI_JOB_RUNNING,	/* all ranks were started */
	RI_JOB_STOPPING,	/* a stop came, or a rank failed */
	RI_JOB_FAILED,	/* over, with another status than 0 */
	RI_JOB_DONE,		/* over, with 0 */
	RI_JOB_COUNT,
};

enum { RI_JOB_SIZE = 256 };	/* bytes of any such line */

struct ri_job {
	enum ri_job_word word;
	pid_t pid;		/* of rankinit, in its own PID namespace */
	uint64_t born;		/* field 22 of its /proc/PID/stat; 0: unknown */
	uint64_t ranks;		/* started here; 0: not yet */
	int exit_status;	/* where it is over */
	struct timespec since;	/* CLOCK_REALTIME */
};

extern const char *const ri_job_words[];

/* Append the line and its '\n'. */
void ri_job_render(const struct ri_job *job, struct ri_text *out);

/* Read a line. Returns false, and leaves *out, where it is none of ours. */
bool ri_job_read(const char *text, struct ri_job *out);

/*
 * Append what --status prints, without an end of line: "running: 4 ranks since
 * 2026-01-31T12:00:00.000Z (pid 1)".
 */
void ri_job_describe(const struct ri_job *job, struct ri_text *out);

#endif
