/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for programs (verdict.h) on what became of the ranks: how it is found, its last line,
 * and a member of the report. In the line each value is a word of a table, a number, or a name that
 * is quoted; what is not known is left out.
 */
#ifndef RI_REPORT_BRIEF_H
#define RI_REPORT_BRIEF_H

#include "base/text.h"
#include "model/json.h"
#include "report/outcome.h"
#include "report/verdict.h"

enum {
	RI_BRIEF_LINE = 400,	/* bytes of the printed line at most, its end included */
	RI_BRIEF_SIZE = RI_BRIEF_LINE - (int)sizeof("rankinit: ") + 1,	/* of it without that */
};

/*
 * Nothing was started on this node, host (NULL: not known): because of an error, or a stop. The
 * caller adds the rank, where this is one, the cause, the class and the status.
 */
void ri_brief_begin(struct ri_verdict *out, const struct ri_topology *topology, const char *host);

/* The rank of this node that is named, -1: none is. */
int64_t ri_brief_rank(const struct ri_outcome *outcome);

/*
 * Of what became of the ranks, or of the job, where the link has a verdict on that. Returns false
 * where nothing failed.
 */
bool ri_brief_find(struct ri_verdict *out, const struct ri_outcome *outcome, int status);

/*
 * Append "verdict cause=... class=... retry=..." as logfmt has it, without secrets and an end of
 * the line, in less than RI_BRIEF_SIZE bytes: what does not fit goes as a whole, the job first,
 * then the host. The topology has the name of the job.
 */
void ri_brief_add(struct ri_text *out, const struct ri_verdict *verdict,
	const struct ri_topology *topology);

/* The same for a document; null where verdict is NULL. */
json_t *ri_brief_json(struct ri_json *json, const struct ri_verdict *verdict);

#endif
