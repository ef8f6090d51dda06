/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge as PID 1 has it. PID 1 reads nothing that a rank wrote: where that matters it forks a
 * process, the judge, which has a copy of all that PID 1 knows, and leaves what it finds in memory
 * that both share. PID 1 believes no number in it that is out of its range. Where the judge dies,
 * is late or cannot be forked, what the ranks said is lost, and what the kernel said stays.
 *
 * There is one judge at a time. A question that comes meanwhile waits for its end.
 */
#ifndef RI_SHIM_INIT_JUDGED_H
#define RI_SHIM_INIT_JUDGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "link/message.h"
#include "report/restarts.h"
#include "system/apart.h"

enum ri_question {
	RI_ASK_FAILED,		/* a rank failed, or ends of an exception: may an earlier one be? */
	RI_ASK_RESTARTED,	/* a launcher has started its ranks again */
	RI_ASK_ENDED,		/* all is over: the verdict, and where it is written */
	RI_ASK_NOTHING,
};

enum {
	RI_JUDGED_TEXT = 65536,
	RI_JUDGED_SAID = 1,	/* all but the files is there */
	RI_JUDGED_WHOLE = 2,
};

/* What a judge leaves. Flags are numbers here: a process that runs wild may write any. */
struct ri_judged {
	volatile uint32_t stage;	/* 0; RI_JUDGED_SAID; RI_JUDGED_WHOLE: written last */
	uint64_t news;		/* how many the judge has seen of ri_judge_news */
	/* RI_ASK_FAILED: */
	uint8_t open;		/* the first failure may be one that is to come */
	uint8_t timed_out;	/* one that failed had waited for others until its time was over */
	uint8_t lost;		/* what failed had lost another one */
	uint8_t doubtful[RI_MAX_LOCAL];	/* is an exception ending it? By local rank */
	struct ri_link_message said;	/* RI_LINK_END: what the other nodes are told; or zeroes */
	uint32_t restarts;	/* RI_ASK_RESTARTED: how many were told of */
	/* RI_ASK_ENDED: */
	uint8_t failed;		/* there is a verdict, for these reasons: */
	uint8_t stopped;	/* by the verdict of another node */
	uint8_t again;		/* the ranks shall start again, */
	int32_t first;		/* whose status is that of the job, by local rank; -1: none's */
	struct ri_verdict verdict;
	uint32_t inner_status;	/* before an inner rankinit made a class of it; 0: none did */
	uint8_t tells;		/* a rankinit above this one is told */
	uint8_t follows;	/* the last line comes after one that may have no end */
	uint32_t carried_length;
	_Alignas(8) char carried[RI_CARRIED_SIZE];	/* with this (report/restarts.h) */
	char last_line[RI_VERDICT_LINE_SIZE];	/* "": it has none */
	/* Lines of rankinit's own, as they are printed, before the last one. */
	volatile uint32_t length;
	char text[RI_JUDGED_TEXT];
};

/* Answers the question, in the judge. It may read *context as PID 1 has it when it asks. */
typedef void (*ri_judge)(enum ri_question question, struct ri_judged *out, void *context);

/*
 * Before the first of so many ranks is started. Without this every question is as of a judge that
 * died.
 */
void ri_judge_plan(ri_judge judge, void *context, size_t ranks);

/* Something has happened that a judge at work has not seen: what it finds may be out of date. */
void ri_judge_news(void);

/* Has something happened since that was asked last? */
bool ri_judge_is_news(enum ri_question question);

/* How many judges a SIGKILL has ended, as that of the kernel where memory ends, which counts it. */
unsigned ri_judge_killed(void);

/*
 * Ask. The answer comes with a SIGIO. Returns false where no judge can be forked, and none is at
 * work. Of RI_ASK_ENDED there is ri_judge_end.
 */
bool ri_judge_ask(enum ri_question question);

/* From when on a judge is late: CLOCK_MONOTONIC ms; INT64_MAX: there is none. */
int64_t ri_judge_due(void);

/*
 * Has the judge ended? Returns what it was asked, RI_ASK_NOTHING where none has. *out is its
 * answer, NULL where it died; it is good until ri_judge_go_on, or another question.
 */
enum ri_question ri_judge_take(const struct ri_judged **out);

/* Begin with the question that waits, if one does and no judge is at work. */
void ri_judge_go_on(void);

/* Has something happened since the judge of this answer was forked? */
bool ri_judge_is_old(const struct ri_judged *answer);

/*
 * Ask and wait, as ri_apart does with these limits, of which the work and the argument are not
 * read; NULL: for seconds. A judge that is at work is ended. Prints what an RI_ASK_ENDED says.
 * Returns the answer, NULL where it died, was late or was not forked: then *why is the end of a
 * sentence that says so.
 */
const struct ri_judged *ri_judge_wait(enum ri_question question, const struct ri_apart *limits,
	const char **why);

/*
 * Ask this process itself, which prints the text: as one rank of many, whose launcher takes its
 * end, or where nothing that a rank wrote is read. Returns NULL where memory is out.
 */
const struct ri_judged *ri_judge_here(enum ri_question question);

/* The job is over: end a judge that is at work. */
void ri_judge_end(void);

#endif
