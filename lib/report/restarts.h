/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are started again, by their launcher or, with --restarts, by rankinit itself: what is
 * said of that, and when rankinit does it.
 */
#ifndef RI_REPORT_RESTARTS_H
#define RI_REPORT_RESTARTS_H

#include "base/text.h"
#include "report/outcome.h"
#include "report/reason.h"

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

#endif
