/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are started again, by their launcher or, with --restarts, by rankinit itself: what is
 * said of that, and when rankinit does it.
 */
#ifndef RI_REPORT_RESTARTS_H
#define RI_REPORT_RESTARTS_H

#include "report/verdict.h"

/* The launcher of those that rankinit started itself. */
extern const char ri_restarts_own[];

/*
 * Fill in how the attempt before a restart failed: its outcome, with the first failure and the
 * reason of that. Leaves *restart where there is none.
 */
void ri_restart_describe(struct ri_restart *restart, const struct ri_outcome *outcome);

/*
 * The same of a job of several nodes: by the verdict that all of them heard, whose first line names
 * the rank and its node. What failed here may be a victim.
 */
void ri_restart_describe_job(struct ri_restart *restart, const struct ri_verdict *verdict,
	const char *text);

/*
 * Append how its first failure ended, "rank 2 (local rank 2, pid 17) failed: exit status 1", or
 * that line.
 */
void ri_restart_add_failure(struct ri_text *out, const struct ri_restart *restart);

/* Append what is said when this one of them happens, without an end of the line. */
void ri_restart_add(struct ri_text *out, const struct ri_restarts *restarts,
	const struct ri_restart *restart);

/* Append the verdict's line of all of them, of which there is one at least. */
void ri_restarts_add(struct ri_text *out, const struct ri_restarts *restarts);

/* --restarts: why ranks do not start again after a failure, in the order in which it counts. */
enum ri_again {
	RI_AGAIN_YES,
	RI_AGAIN_STOPPED,	/* a stop came from outside */
	RI_AGAIN_ORDERED,	/* another node's failure stopped the ranks of this one */
	RI_AGAIN_NO_START,	/* they were not started at all */
	RI_AGAIN_NEVER,		/* retry=never: they would fail again */
	RI_AGAIN_USED_UP,
	RI_AGAIN_SAME,		/* they did fail again, and got no further */
	RI_AGAIN_REMAINS,	/* a process of theirs is still there */
	RI_AGAIN_REFUSED,	/* the kernel has refused what it takes */
};

/* What is known of the attempt that has failed. */
struct ri_again_case {
	uint64_t restarts;	/* --restarts */
	uint64_t attempt;	/* 0: the first */
	bool stopped, ordered, unstarted, remains;
	int error;		/* of what the kernel has refused; 0: nothing */
	struct ri_why why;
	const char *signature, *before;	/* of this failure and of the one before it; "": none */
	uint64_t lines, lines_before;	/* of rank 0, in this attempt and in the one before */
	int64_t lasted_ms;	/* this attempt */
};

enum ri_again ri_again_decide(const struct ri_again_case *failed);

/* Append the reason as the end of a sentence, "the same failure came twice, ...". Not for YES. */
void ri_again_add(struct ri_text *out, enum ri_again why, const struct ri_again_case *failed);

enum { RI_AGAIN_LONG_MS = 60000 };	/* an attempt of that length has got somewhere */

/*
 * How many attempts in a row were over in less than a minute, with one that lasted so long, where
 * before it there were so many.
 */
uint64_t ri_again_quick(uint64_t before, int64_t lasted_ms);

/*
 * How long the ranks wait behind so many of them, the last of which had this cause, before they
 * start again. 0: not at all, as behind an attempt that got somewhere.
 */
int64_t ri_again_pause_ms(uint64_t quick, enum ri_cause_word cause);

/*
 * Append what two failures have in common that are the same: the cause, the rank, and the first
 * line of its exception, or else how it ended. words: the exception without secrets, or "".
 */
void ri_again_sign(struct ri_text *out, enum ri_cause_word cause,
	const struct ri_rank_outcome *first, const char *words);

/*
 * What one attempt of a job leaves for the next: rankinit executes itself again (--restarts), and
 * all that the next one is to know of those before it stands here.
 */

/* Of a descriptor of rankinit's own, for the rankinit that it executes: its number. */
#define RI_CARRIED_VARIABLE "RANKINIT_CARRIED"

/* Of the ranks, where --restarts is given: how often they were started before, "0" at first. */
#define RI_ATTEMPT_VARIABLE "RANKINIT_ATTEMPT"

enum {
	RI_CARRIED_NAME = 16,	/* as the kernel has it, with its end */
	RI_CARRIED_SIGNATURE = 256,
	RI_CARRIED_FAILURE = 512,
	RI_CARRIED_KEY = 32,
	RI_CARRIED_VERDICT = 3072,
};

/* Of a job of several nodes: what its link leaves (shim/link). */
struct ri_carried_link {
	bool on;
	unsigned char key[RI_CARRIED_KEY];	/* of the attempt that begins */
	int place;		/* descriptor of the node's name in its network; 0: none */
	struct ri_verdict verdict;	/* on the last one; this node would have ended so */
	char text[RI_CARRIED_VERDICT];	/* the same as lines */
};

/* The port at which the ranks meet, where rankinit chose it; no name: it did not. */
struct ri_carried_port {
	int name;		/* descriptor by which it is held for the job; 0: none */
	unsigned number;
};

struct ri_carried {
	pid_t pid;		/* whose it is */
	uint64_t attempt;	/* that begins: 1 for the first restart */
	uint64_t mask;		/* signals that were blocked when rankinit was first executed */
	struct timespec began;	/* the first attempt, CLOCK_REALTIME */
	uint64_t quick;		/* attempts in a row that were over in no time: restarts.h */
	uint64_t lines;		/* of rank 0 in the last attempt, as far as they were read */
	int program;		/* descriptor of rankinit itself, O_PATH */
	char name[RI_CARRIED_NAME];	/* of the process, which an exec by a descriptor changes */
	char signature[RI_CARRIED_SIGNATURE];	/* of how the last attempt failed: restarts.h */
	char failure[RI_CARRIED_FAILURE];	/* the same for people, in a line without secrets */
	/* of its verdict, which is not printed yet; "": none */
	char last_line[RI_VERDICT_LINE_SIZE];
	struct ri_carried_link link;
	struct ri_carried_port port;
	struct ri_restarts restarts;	/* all that were made */
};

/* Bytes that ri_carried_write makes, at most. */
enum { RI_CARRIED_SIZE = 32768 };

/* Returns how many of the RI_CARRIED_SIZE bytes, aligned as a uint64_t is, are used. */
size_t ri_carried_write(const struct ri_carried *carried, void *bytes);

/* Returns false, and leaves *out, where they are not what ri_carried_write makes. */
bool ri_carried_read(struct ri_carried *out, const void *bytes, size_t length);

#endif
