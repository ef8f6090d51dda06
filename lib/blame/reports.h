/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of a job, taken together: which of them are of its newest attempt, which rank
 * failed first, which nodes are missing, what differs. It opens no file.
 */
#ifndef RI_BLAME_REPORTS_H
#define RI_BLAME_REPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "blame/flight.h"
#include "blame/node_report.h"
#include "report/works.h"

enum {
	RI_REPORTS_FILES = 65536,	/* reports, and files that are none */
	RI_REPORTS_BYTES = 48 << 20,	/* kept of all of them; what comes then is left out */
	RI_REPORTS_APART_US = 2000000,	/* ends of two nodes that are nearer are not ordered */
	RI_REPORTS_LOOK_US = 600000000,	/* an autopsy that came so long before the end is old */
	RI_REPORTS_SUSPECTS = 64,
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
	const struct ri_reported_rank *rank;	/* NULL: no rank is named */
	int64_t at;		/* by the clock of node 0, where that is known */
	bool seen;		/* its node's autopsy tells what it did */
	const struct ri_reported_found *found;	/* that names it; or NULL */
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
	unsigned char *seen;	/* a bit for each */
};

/* A value of a fact that few nodes have. */
struct ri_odd_fact {
	const char *fact;
	const char *value;	/* NULL: it has none */
	const struct ri_node_report **who;
	size_t count;
	const char *usual;	/* NULL: likewise */
	size_t usual_count;
};

struct ri_reports {
	struct ri_arena arena;
	struct ri_node_report **list;
	size_t count;
	struct ri_skipped_file *skips;
	size_t skip_count;
	struct ri_flight_dump *dumps;	/* of ranks, by torch's Flight Recorder */
	size_t dump_count;
	struct ri_pickle *pickle;	/* room to read them in; NULL: there was none so far */
	size_t kept;		/* bytes */
	/* ri_reports_judge() fills in the rest. */
	struct ri_attempt *attempts;	/* the newest one first: it is judged */
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
	/* of the ranks that are there, by their watchdogs, or by their dumps if those say more */
	struct ri_works works;
	struct ri_victims victims;
	const struct ri_node_report **astray;	/* that began long before or after most did */
	size_t astray_count;
	int64_t usual_start;
	struct ri_number_set nodes, ranks;
	struct ri_odd_fact *odd_facts;
	size_t odd_fact_count;
};

/* Begin with room for so many files. Returns 0, or -1: out of memory. */
int ri_reports_begin(struct ri_reports *job, size_t files);

/* A file's bytes: a report, a dump of Flight Recorder, or a skip and why. */
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
 * agree. Losses alone name no rank, but for a rank that had ended with 0, one that is out of step
 * with all others by what NCCL's watchdogs say, one that a node's autopsy suspects, or one that
 * alone did not wait. After a stop autopsies may name one, too.
 */
int ri_reports_judge(struct ri_reports *job);

/* The number of the rank, or -1. */
int64_t ri_suspect_rank(const struct ri_suspect *suspect);

/*
 * gather.c: sort the reports into attempts, count which nodes and ranks the newest one lacks, and
 * take the link's verdict. Returns 0, or -1: out of memory.
 */
int ri_reports_gather(struct ri_reports *job);

/* gather.c: one suspect more, which is only counted where the list is full. */
void ri_reports_suspect(struct ri_reports *job, const struct ri_suspect *suspect);

/*
 * autopsies.c: name whom a look of all nodes has named; else whom the nodes' own autopsies suspect,
 * of which those that name several are a tie.
 */
bool ri_reports_ask_autopsies(struct ri_reports *job);

/* autopsies.c: what its node's autopsy saw of the suspect, where it did. */
void ri_suspect_add_autopsy(struct ri_suspect *suspect);

/*
 * out_of_step.c: compare in which collectives the ranks of all nodes are, by their watchdogs and,
 * if those do not tell who is out of step, by their dumps; not where two reports have one rank. A
 * dump counts whose last entry was made while its rank ran. Returns 0, or -1: out of memory.
 */
int ri_reports_compare_works(struct ri_reports *job);

/*
 * out_of_step.c: the only rank that is out of step, where each rank of the job has told and three
 * or more agree.
 */
bool ri_reports_find_out_of_step(const struct ri_reports *job, struct ri_suspect *out);

/*
 * out_of_step.c: append which ranks are out of step, as ri_works_add has it, and how many do not
 * tell. Returns false where none are, or where the conclusion does not leave it open.
 */
bool ri_reports_add_out_of_step(const struct ri_reports *job, struct ri_text *out);

/* victims.c: the ranks that ended, but for the suspects. */
void ri_reports_count_victims(struct ri_reports *job);

/* times.c: which reports are astray in time. Returns 0, or -1: out of memory. */
int ri_reports_check_times(struct ri_reports *job);

/* odd_facts.c: what few of three or more nodes have. Returns 0, or -1: out of memory. */
int ri_reports_compare_facts(struct ri_reports *job);

/* Is this number missing? */
bool ri_number_set_lacks(const struct ri_number_set *numbers, size_t number);

/* The next missing numbers in a row from *end on: from *first to before *end. */
bool ri_number_set_next(const struct ri_number_set *numbers, size_t *first, size_t *end);

#endif
