/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one report of --report says, as far as --blame needs it. A report is foreign: it may
 * be cut off, of another program, or made to do harm.
 */
#ifndef RI_BLAME_NODE_REPORT_H
#define RI_BLAME_NODE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/limits.h"
#include "report/causes.h"
#include "report/members.h"
#include "report/outcome.h"

enum {
	RI_REPORTED_WORD = 256,	/* bytes of a name or a value that are kept */
	RI_REPORTED_LINE = 1024,	/* of a line of a verdict */
	RI_REPORTED_LINES = 20,	/* of a reason */
	RI_REPORTED_DEED = 400,	/* of what a rank did */
	RI_REPORTED_DEEDS = 8,	/* lines about it */
	RI_REPORTED_WHY = 96,	/* why a file is no report */
};

/* The first failure of this node, as this node sees it. */
struct ri_reported_failure {
	int64_t rank;		/* -1: none is named */
	enum ri_class class;	/* RI_CLASS_NONE: no rank failed */
	int64_t at;		/* as above */
	const char *how;	/* "exit status 1", "killed by SIGKILL" */
	bool has_cause;		/* an older rankinit does not say it: */
	struct ri_why why;
	const char *lines[RI_REPORTED_LINES];	/* why, or why the node started no rank */
	size_t line_count;
};

/* The one rank of this node that did not do what the others did, as its autopsy saw it. */
struct ri_reported_autopsy {
	int64_t at;		/* when it was seen, by this node's clock */
	bool suspects;		/* the autopsy itself says that it holds up the others */
	int64_t rank;		/* -1: of an unknown number */
	const char *did;	/* "sleeps, train.py:55 in step"; NULL: no rank is told */
	const char *lines[RI_REPORTED_DEEDS];	/* what the others did, and its stack */
	size_t line_count;
};

struct ri_node_report {
	const char *file;	/* where it was read */
	uint64_t digest;	/* of its bytes: two that are equal are copies */
	const char *host;	/* NULL: unknown, as all that may be missing */
	const char *job;
	const char *verdict;	/* of the whole job, from the link; its first line */
	int64_t verdict_node;	/* that it names; -1: none */
	int64_t node, nodes, world, attempt;	/* -1: unknown */
	int64_t began, ended;
	int64_t stopped;	/* when a stop from outside came; 0: none did */
	int exit_status;
	bool compared;		/* the link compared its clock with that of node 0: */
	int64_t ahead, error;	/* it goes by so many microseconds before that, give or take */
	struct ri_reported_failure failure;
	struct ri_reported_autopsy autopsy;
	struct ri_report_found found;	/* its text is NULL: no rank is named */
	struct ri_report_rank *ranks;
	size_t count;
	const char *boot;	/* of the kernel, whose clock it has; NULL: unknown */
};

/*
 * Read a report of so many bytes. What is kept lives in the arena, at
 * most about 80 kB. Returns 0, or -1 and why it is none. It takes jansson's memory, whose hash
 * must have been seeded (json_object_seed).
 */
int ri_node_report_read(struct ri_node_report *out, const char *bytes, size_t length,
	struct ri_arena *arena, char why[RI_REPORTED_WHY]);

/* A time by the clock of node 0, where the link compared the two. */
static inline int64_t ri_time_align(const struct ri_node_report *report, int64_t at)
{
	return at == 0 || !report->compared ? at : at - report->ahead;
}

/* Are both of one machine, as far as is known? They have one clock. */
bool ri_node_report_is_beside(const struct ri_node_report *a, const struct ri_node_report *b);

/* The first loss of this node, by the clock of node 0 where that is known; or 0. */
int64_t ri_node_report_first_loss(const struct ri_node_report *report);

#endif
