/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one report of --report says, as far as --blame needs it. A report is foreign: it may
 * be cut off, of another program, or made to do harm.
 */
#ifndef RI_BLAME_WITNESS_H
#define RI_BLAME_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/limits.h"
#include "words/loss.h"
#include "report/outcome.h"

enum {
	RI_WITNESS_WORD = 256,	/* bytes of a name or a value that are kept */
	RI_WITNESS_LINE = 1024,	/* of a line of a verdict */
	RI_WITNESS_LINES = 16,	/* of a reason */
	RI_WITNESS_FACTS = 256,
	RI_WITNESS_DEED = 400,	/* of what a rank did */
	RI_WITNESS_DEEDS = 8,	/* lines about it */
	RI_WITNESS_WHY = 96,	/* why a file is no report */
};

struct ri_witness_rank {
	int64_t rank;		/* in the job; -1: it has none */
	int64_t local_rank;	/* -1: likewise */
	int64_t began, ended;	/* microseconds since 1970 by this node's clock; 0: unknown */
	int exit_code;		/* -1: it did not exit */
	enum ri_rank_end end;
	enum ri_class class;
	enum ri_loss_kind lost;	/* RI_LOSS_OWN: none, or not known */
	bool told;
	const char *signal;	/* that killed it, or NULL */
};

/* The first failure of this node, as this node sees it. */
struct ri_witness_failure {
	int64_t rank;		/* -1: none is named */
	enum ri_class class;	/* RI_CLASS_NONE: no rank failed */
	int64_t at;		/* as above */
	const char *how;	/* "exit status 1", "killed by SIGKILL" */
	const char *lines[RI_WITNESS_LINES];	/* why, or why the node started no rank */
	size_t line_count;
};

/* The one rank of this node that did not do what the others did, as its autopsy saw it. */
struct ri_witness_autopsy {
	int64_t at;		/* when it was seen, by this node's clock */
	bool suspects;		/* the autopsy itself says that it holds up the others */
	int64_t rank;		/* -1: of an unknown number */
	const char *did;	/* "sleeps, train.py:55 in step"; NULL: no rank is told */
	const char *lines[RI_WITNESS_DEEDS];	/* what the others did, and its stack */
	size_t line_count;
};

struct ri_witness {
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
	struct ri_witness_failure failure;
	struct ri_witness_autopsy autopsy;
	struct ri_witness_rank *ranks;
	size_t count;
	const char *boot;	/* of the kernel, whose clock it has; NULL: unknown */
	const char *(*facts)[2];	/* name and value */
	size_t fact_count;
};

/*
 * Read a report of so many bytes. What is kept lives in the arena, at
 * most about 256 kB. Returns 0, or -1 and why it is none. It takes jansson's memory, whose hash
 * must have been seeded (json_object_seed).
 */
int ri_witness_read(struct ri_witness *out, const char *bytes, size_t length,
	struct ri_arena *arena, char why[RI_WITNESS_WHY]);

/* Microseconds of "2026-01-31T12:00:00.123Z", or 0 where it is no such time. */
int64_t ri_witness_time(const char *text);

/* A time by the clock of node 0, where the link compared the two. */
static inline int64_t ri_witness_true(const struct ri_witness *witness, int64_t at)
{
	return at == 0 || !witness->compared ? at : at - witness->ahead;
}

/* Are both of one machine, as far as is known? They have one clock. */
bool ri_witness_is_beside(const struct ri_witness *a, const struct ri_witness *b);

/* The first loss of this node, by the clock of node 0 where that is known; or 0. */
int64_t ri_witness_first_loss(const struct ri_witness *witness);

#endif
