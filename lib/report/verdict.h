/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for programs (outcome.h): its words for why a job ended and what to do with it next
 * (causes.def), how it is found, its last line, a member of the report, and what is left of it for
 * another rankinit. In the line each value is a word of a table, a number, or a name that is
 * quoted; what is not known is left out. What explains an end to people is struct ri_cause.
 */
#ifndef RI_REPORT_VERDICT_H
#define RI_REPORT_VERDICT_H

#include "model/json.h"
#include "report/outcome.h"

enum {
	RI_VERDICT_COLUMNS = 240,
	RI_REASON_LINES = 14,	/* that ri_reason_add appends, at most */
	RI_MAX_TAIL = 65536,	/* bytes of it that are looked at */
};

/*
 * Why a rank ended, as far as it said so itself, without secrets: what stands below the first line
 * of the verdict. It is large: keep it in static storage.
 */
struct ri_reason {
	char text[2 * RI_MAX_TAIL];	/* what it wrote; the spans point in here */
	bool has_traceback;
	struct ri_traceback traceback;
	struct ri_last_words words;	/* without a traceback, or shortly before it */
	struct ri_span lines[RI_LAST_LINES];	/* the last ones that are no noise */
	size_t line_count;	/* where there is only noise: that */
};

/*
 * Look for the reason in what a rank wrote to stderr: ri_class_find has said which of its words
 * explain its end.
 */
void ri_reason_find(const struct ri_rank_outcome *rank, struct ri_reason *out);

/*
 * Append the lines that tell the reason, each ended by '\n': the exception, what
 * caused it and the innermost frames; or torch's error file; or the words that a
 * runtime died with and the last lines, or where to look if there are none; then
 * where its log is.
 */
void ri_reason_add(struct ri_text *out, const struct ri_rank_outcome *rank,
	const struct ri_reason *reason);

/*
 * Append a line that somebody else wrote behind words of ours, without its colours, cut to what
 * fits, and its end.
 */
void ri_reason_add_line(struct ri_text *out, const char *before, struct ri_span line);

/* Of a stop from outside; where nothing is known, or nothing failed. */
extern const struct ri_why ri_why_stopped, ri_why_unknown;

/* "oom_host" */
const char *ri_cause_word_name(enum ri_cause_word word);

/* The word of this name; RI_CAUSE_UNKNOWN where there is none, or the name is NULL. */
enum ri_cause_word ri_cause_word_of(const char *name);

extern const char *const ri_retry_words[];

/* The one of this name; that of the cause's row where there is none, or the name is NULL. */
enum ri_retry ri_retry_of(const char *name, enum ri_cause_word cause);

/*
 * Why the command or the ranks of this node ended; RI_CAUSE_UNKNOWN where none of them failed.
 * ri_verdict_find says why the job did.
 */
struct ri_why ri_why_find(const struct ri_outcome *outcome);

/* Why nothing was started: of an error that ends rankinit with this exit status, 122 to 127. */
struct ri_why ri_why_of_refusal(int status);

/*
 * --exit-class: what a scheduler that reads nothing but exit statuses may know of a failure.
 *
 * Kubeflow's policy ExitCode starts again what ends with 128 or more and gives up below
 * (training-operator pkg/util/train/train_util.go, IsRetryableExitCode). Slurm's srun ends with
 * the highest status of its tasks (srun(1), RETURN VALUE). So the more hope there is, the
 * higher is the status, and none is one of rankinit's own (122 to 127) or 128 + a signal (up to
 * 192).
 */
enum ri_exit_class {
	RI_EXIT_NEVER = 120,
	RI_EXIT_SAME = 220,
	RI_EXIT_OTHER_NODE = 230,
};

/*
 * The class of what would else end with this status; 0 stays 0. A healthy node that the link
 * stopped (122) is no reason to take another one, whatever the job failed of.
 */
int ri_exit_class(int status, enum ri_retry retry);

enum {
	RI_VERDICT_LINE = 400,	/* bytes of the printed line at most, its end included */
	/* of it without that */
	RI_VERDICT_LINE_SIZE = RI_VERDICT_LINE - (int)sizeof("rankinit: ") + 1,
};

/*
 * Nothing was started on this node, host (NULL: not known): because of an error, or a stop. The
 * caller adds the rank, where this is one, the cause, the class and the status.
 */
void ri_verdict_begin(struct ri_verdict *out, const struct ri_topology *topology, const char *host);

/* The rank of this node that is named, -1: none is. */
int64_t ri_verdict_rank(const struct ri_outcome *outcome);

/*
 * Of what became of the ranks, or of the job, where the link has a verdict on that. Returns false
 * where nothing failed.
 */
bool ri_verdict_find(struct ri_verdict *out, const struct ri_outcome *outcome, int status);

/*
 * Append "verdict cause=... class=... retry=..." as logfmt has it, without secrets and an end of
 * the line, in less than RI_VERDICT_LINE_SIZE bytes: what does not fit goes as a whole, the job
 * first, then the host. The topology has the name of the job.
 */
void ri_verdict_add_line(struct ri_text *out, const struct ri_verdict *verdict,
	const struct ri_topology *topology);

/* The same for a document; null where verdict is NULL. */
json_t *ri_verdict_json(struct ri_json *json, const struct ri_verdict *verdict);

/* What an outer rankinit tells an inner one of itself. The ranks of the inner one do not get it. */
#define RI_OUTER_VARIABLE "RANKINIT_OUTER"

/*
 * Two rankinits in one job, an image's ENTRYPOINT and a command: what the inner one leaves for the
 * outer one once it has told of a failure, so that the outer one need not. How it gets there says
 * shim/say/two_rankinits.h.
 */
struct ri_inner_word {
	struct ri_verdict verdict;
	int64_t of_rank;	/* it is about this rank of several alone; -1: about all below it */
	int exit_status;	/* with which the inner one ends, 1 to 255 */
};

/* Bytes of one: what it is, and of which version; the same binary reads the struct itself. */
enum { RI_INNER_WORD = 24 + sizeof(struct ri_inner_word) };

void ri_inner_word_write(const struct ri_inner_word *word, char bytes[RI_INNER_WORD]);

/*
 * Any process below the outer one may have written it. Returns false where it is none, is of
 * another version, or has a number that no word has.
 */
bool ri_inner_word_read(struct ri_inner_word *out, const char *bytes, size_t length);

/*
 * The verdict for people: the rank that failed first and why, then what the
 * others did. However many ranks there are and however much they wrote, it
 * has at most RI_VERDICT_LINES lines of at most RI_VERDICT_COLUMNS, no
 * secrets and nothing that a terminal could take for a command.
 */

enum {
	RI_VERDICT_LINES = 30,
	RI_VERDICT_PRINTED = 3,		/* lines of ri_verdict_add_printed, at most */
	/* holds any: a column has up to four bytes */
	RI_VERDICT_SIZE = RI_VERDICT_LINES * (RI_VERDICT_COLUMNS * 4 + 1) + 1,
	RI_VERDICT_PRINTED_SIZE = RI_VERDICT_PRINTED * (RI_VERDICT_COLUMNS * 4 + 1) + 1,
};

/*
 * The first of these lines, about the failure of this node as that of the whole job: for the
 * other nodes.
 */
void ri_verdict_render_job(const struct ri_outcome *outcome, struct ri_text *out);

/*
 * Append a line for each of the first ranks that were stopped, and had printed an exception that
 * they did not end of as far as is known, or that had not got to their end when a stop came from
 * outside, and before those one for a rank that had logged an error and left with 0 before the
 * others: for outcome->printed. The scratch is used up.
 */
void ri_verdict_add_printed(struct ri_text *out, const struct ri_outcome *outcome,
	struct ri_reason *scratch);

/*
 * Append the lines, each ended by '\n'. None where nothing failed; where a stop came from outside,
 * none unless the status is other than 0. A verdict on the whole job comes first, and then what
 * that does not say of this node.
 */
void ri_verdict_render(const struct ri_outcome *outcome, struct ri_text *out);

/*
 * The report for programs: one JSON document, "rankinit-report-1". Foreign text in it has no
 * secrets and is UTF-8, as model/json.h says.
 */

/* All of it is borrowed, but for what checks of the node found before the launch. */
struct ri_report {
	const char *version;
	const struct ri_outcome *outcome;
	const char *refusal;	/* why nothing was started, in lines; or NULL */
	json_t *check;		/* NULL: nothing was checked */
};

/*
 * Append the document and a '\n'. Returns 0, or -1 when memory ran out or it
 * does not fit; what was appended has no meaning then. jansson's hash must
 * have been seeded (json_object_seed).
 */
int ri_report_render(struct ri_json *json, const struct ri_report *report, struct ri_text *out);

#endif
