/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of a job, taken together: which of them are of its newest attempt, which rank
 * failed first, which nodes are missing. It opens no file. A report is foreign: it may be cut
 * off, of another program, or made to do harm.
 *
 * Times are in microseconds since 1970, and 0 where they are unknown. They are by the clock of
 * node 0, where the link compared it with that of the node.
 */
#ifndef RI_BLAME_REPORTS_H
#define RI_BLAME_REPORTS_H

#include "base/arena.h"
#include "base/text.h"
#include "report/members.h"
#include "report/verdict.h"

enum {
	RI_REPORTED_WORD = 256,	/* bytes of a name or a value that are kept */
	RI_REPORTED_LINE = 1024,	/* of a line of a verdict */
	RI_REPORTED_LINES = 20,	/* of a reason */
	RI_REPORTED_DEED = 400,	/* of what a rank did */
	RI_REPORTED_DEEDS = 8,	/* lines about it */
	RI_REPORTED_WHY = 96,	/* why a file is no report */
	RI_REPORTS_FILES = 65536,	/* reports, and files that are none */
	RI_REPORTS_BYTES = 48 << 20,	/* kept of all of them; what comes then is left out */
	RI_REPORTS_APART_US = 2000000,	/* ends of two nodes that are nearer are not ordered */
	RI_REPORTS_LOOK_US = 600000000,	/* an autopsy that came so long before the end is old */
	RI_REPORTS_MINUTE_US = 60000000,	/* attempts, and starts of one attempt, lie apart */
	RI_REPORTS_SUSPECTS = 64,
};

struct ri_reported_lines {
	size_t count;
	const char *at[RI_REPORTED_LINES];
};

/* The first failure of this node, as this node sees it. */
struct ri_reported_failure {
	int64_t rank;		/* -1: none is named */
	enum ri_class class;	/* RI_CLASS_NONE: no rank failed */
	int64_t at;
	const char *how;	/* "exit status 1", "killed by SIGKILL" */
	bool has_cause;		/* an older rankinit does not say it: */
	struct ri_why why;
	struct ri_reported_lines lines;	/* why, or why the node started no rank */
};

/* The one rank of this node that did not do what the others did, as its autopsy saw it. */
struct ri_reported_autopsy {
	int64_t at;		/* when it was seen */
	bool suspects;		/* the autopsy itself says that it holds up the others */
	int64_t rank;		/* -1: of an unknown number */
	const char *did;	/* "sleeps, train.py:55 in step"; NULL: no rank is told */
	struct ri_reported_lines lines;	/* what the others did, and its stack */
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
	int64_t first_loss;	/* of its ranks; 0: none lost a peer, or none that has a time */
	int64_t first_wait;	/* the first of these that had waited in vain */
	const char *boot;	/* of the kernel, whose clock it has; NULL: unknown */
};

/* A file that is no report. */
struct ri_skipped_file {
	const char *file, *why;
};

/* Reports of one attempt of one job. */
struct ri_attempt {
	const struct ri_node_report **reports;
	size_t count;
	int64_t began, ended;	/* the first and the last of them */
	int64_t job_ended;	/* the last of all attempts of its job */
};

enum ri_conclusion {
	RI_CONCLUSION_WELL,	/* no rank failed */
	RI_CONCLUSION_STOPPED,	/* no rank failed, but a stop came from outside */
	RI_CONCLUSION_FIRST,	/* the suspects failed first: one, or several at once */
	RI_CONCLUSION_REFUSED,	/* they did not start their ranks; all of them are named */
	RI_CONCLUSION_EVICTED,	/* their nodes were stopped from outside before others lost them */
	RI_CONCLUSION_LEFT,	/* they had ended with 0, and the others then lost them */
	RI_CONCLUSION_HELD,	/* the others waited in vain for it; or autopsies suspect several */
	RI_CONCLUSION_SILENT,	/* losses alone, and nodes or ranks that left no report */
	RI_CONCLUSION_TOLD,	/* the link named a node that left no report */
	RI_CONCLUSION_UNKNOWN,	/* losses alone: they do not tell which rank went first */
};

/* Of what life of its node a report may be, by what others began or lost when. */
enum ri_life {
	RI_THIS_LIFE,
	RI_EARLIER_LIFE,	/* it ended before any other began */
	RI_LATER_LIFE,		/* it began after another one had lost a peer */
};

struct ri_suspect {
	const struct ri_node_report *report;
	const struct ri_report_rank *rank;	/* NULL: no rank is named */
	int64_t at;
	bool seen;		/* its node's autopsy tells what it did */
	const struct ri_report_found *found;	/* that names it; or NULL */
	enum ri_life life;
};

/* So many of one kind of end, of ranks that are no suspects. */
struct ri_victims {
	size_t ranks, nodes;
	size_t lost, stopped, failed;	/* of these ranks */
};

/* Numbers that occur, of nodes or of ranks, and which are missing between them. */
struct ri_number_set {
	size_t all;		/* how many there should be; 0: unknown */
	size_t missing;
	bool *seen;
};

struct ri_reports {
	struct ri_arena arena;
	struct ri_node_report **list;
	size_t count;
	struct ri_skipped_file *skips;
	size_t skip_count;
	/* ri_reports_judge() fills in the rest. */
	struct ri_attempt *attempts;	/* the newest one first */
	const struct ri_attempt *judged;	/* this one */
	size_t attempt_count;
	enum ri_conclusion conclusion;
	struct ri_suspect suspects[RI_REPORTS_SUSPECTS];
	size_t suspect_count;
	size_t more_suspects;	/* that did not fit */
	/* Failed of its own, but after losses: a node without a report may have been before it. */
	struct ri_suspect later;	/* its report is NULL: there is none */
	int64_t verdict_node;	/* that the link's verdict names in all reports that have one; -1 */
	const struct ri_node_report *verdict;	/* that has its words; or NULL */
	bool verdicts_differ;
	struct ri_victims victims;
	const struct ri_node_report **astray;	/* that began long before or after most did */
	size_t astray_count;
	int64_t usual_start;
	struct ri_number_set nodes, ranks;
};

/* Of two times the earlier one, where both are known. */
static inline void ri_time_see_earlier(int64_t *first, int64_t at)
{
	if (at != 0 && (*first == 0 || at < *first))
		*first = at;
}

/* Begin with room for so many files. Returns 0, or -1: out of memory. */
int ri_reports_begin(struct ri_reports *job, size_t files);

/* A file's bytes: a report, or a skip and why. */
void ri_reports_add(struct ri_reports *job, const char *file, const char *bytes, size_t length);

/* A file that could not be read. */
void ri_reports_skip(struct ri_reports *job, const char *file, const char *why);

/*
 * Judge, where there is a report. Returns 0, or -1: out of memory.
 *
 * Attempts: by the job's id, its attempt, its nodes and its ranks; without an attempt two reports
 * of one node are two, and what ended a minute before the newest one began is of an older one; if
 * no node has two, an hour before, since clocks differ. A copy of a report is none.
 * Find the rank that failed first: the class decides before the clock. An end of its own, else
 * one without a word; of several the earliest, if the next one's is RI_REPORTS_APART_US later, or
 * later than the link's measure of both clocks, and their drift since then, leave open. One host
 * has one clock. The link's verdict orders what clocks do not, where all reports that have one
 * agree. Losses alone name no rank, but for a rank that had ended with 0, one that a node's autopsy
 * suspects, or one that alone did not wait. After a stop autopsies may name one, too.
 */
int ri_reports_judge(struct ri_reports *job);

/* The page for people: no more than 64 kB, in which no foreign string begins a line. */
void ri_reports_add_page(struct ri_text *out, const struct ri_reports *job);

/* "rankinit-blame-1". Returns 0, or -1: out of memory, or there is no room for it. */
int ri_reports_add_json(struct ri_text *out, const struct ri_reports *job, const char *version);

/*
 * node_report.c: read a report of so many bytes. What is kept lives in the arena, at
 * most about 80 kB. Returns 0, or -1 and why it is none. It takes jansson's memory, whose hash
 * must have been seeded (json_object_seed).
 */
int ri_node_report_read(struct ri_node_report *out, const char *bytes, size_t length,
	struct ri_arena *arena, char why[RI_REPORTED_WHY]);

/* node_report.c: are both of one machine, as far as is known? They have one clock. */
bool ri_node_report_is_beside(const struct ri_node_report *a, const struct ri_node_report *b);

/* node_report.c: the rank of this number, below -1 of none; NULL: it is none of rankinit's own. */
const struct ri_report_rank *ri_node_report_rank(const struct ri_node_report *report, int64_t rank);

/* attempts.c: sort the reports into attempts. Returns 0, or -1: out of memory. */
int ri_reports_find_attempts(struct ri_reports *job);

/*
 * attempts.c, before the suspects are known: which nodes and ranks the newest attempt lacks, and
 * what the link said of it. Returns 0, or -1: out of memory.
 */
int ri_reports_count(struct ri_reports *job);

/*
 * attempts.c, once they are known: the ranks that ended for theirs, and whose clocks go wrong.
 * Returns 0, or -1: out of memory.
 */
int ri_reports_count_others(struct ri_reports *job);

/* conclude.c: the number of the rank, or -1. */
int64_t ri_suspect_rank(const struct ri_suspect *suspect);

/* attempts.c: is this number missing? */
bool ri_number_set_lacks(const struct ri_number_set *numbers, int64_t number);

/* attempts.c: the next missing numbers in a row from *end on: from *first to before *end. */
bool ri_number_set_next(const struct ri_number_set *numbers, size_t *first, size_t *end);

#endif
