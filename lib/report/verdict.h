/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for programs (outcome.h): its words for why a job ended and what to do with it next
 * (causes.def), how it is found, its last line, a member of the report, and what is left of it for
 * another rankinit. In the line each value is a word of a table, a number, or a name that is
 * quoted; what is not known is left out. What explains an end to people is struct ri_cause.
 */
#ifndef RI_REPORT_VERDICT_H
#define RI_REPORT_VERDICT_H

#include "base/text.h"
#include "model/json.h"
#include "report/outcome.h"

/* Of a stop from outside; where nothing is known, or nothing failed. */
extern const struct ri_why ri_why_stopped, ri_why_unknown;

/* "oom_host" */
const char *ri_cause_word_name(enum ri_cause_word word);

/* The word of this name; RI_CAUSE_UNKNOWN where there is none, or the name is NULL. */
enum ri_cause_word ri_cause_word_of(const char *name);

/* "never", "same", "other_node" */
const char *ri_retry_name(enum ri_retry retry);

/* The one of this name; that of the cause's row where there is none, or the name is NULL. */
enum ri_retry ri_retry_of(const char *name, enum ri_cause_word cause);

/*
 * Why the command or the ranks of this node ended; RI_CAUSE_UNKNOWN also where nothing failed. Why
 * the job did ri_verdict_find says.
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

#endif
