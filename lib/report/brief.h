/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for programs: its last line, and a member of the report. Each value is a word of a
 * table, a number, or a name that is quoted; what is not known is left out.
 */
#ifndef RI_REPORT_BRIEF_H
#define RI_REPORT_BRIEF_H

#include "base/text.h"
#include "model/json.h"
#include "report/causes.h"
#include "report/outcome.h"

enum {
	RI_BRIEF_LINE = 400,	/* bytes of the printed line at most, its end included */
	RI_BRIEF_SIZE = RI_BRIEF_LINE - (int)sizeof("rankinit: ") + 1,	/* of it without that */
};

/* Why the job ended, which rank failed first, of which node. The strings are borrowed. */
struct ri_brief {
	struct ri_why why;
	enum ri_class class;
	int64_t rank, node;	/* -1: not known */
	const char *host, *job;	/* NULL: not known */
	int status;		/* of this rankinit, before --exit-map */
	uint64_t retries;	/* how often the ranks had been started again */
	/* of a stop from outside: had a rank failed before, without having ended? */
	bool failed_before;
};

/*
 * Nothing was started on this node, host: because of an error, or a stop. The caller adds the
 * rank, where this is one, the cause, the class and the status.
 */
void ri_brief_begin(struct ri_brief *out, const struct ri_topology *topology, const char *host);

/* The rank of this node that is named, -1: none is. */
int64_t ri_brief_rank(const struct ri_outcome *outcome);

/*
 * Of what became of the ranks, or of the job, where the link has a verdict on that. Returns false
 * where nothing failed.
 */
bool ri_brief_find(struct ri_brief *out, const struct ri_outcome *outcome, int status);

/*
 * Append "verdict cause=... class=... retry=..." as logfmt has it, without secrets and an end of
 * the line, in less than RI_BRIEF_SIZE bytes: what does not fit goes as a whole, the job first,
 * then the host.
 */
void ri_brief_add(struct ri_text *out, const struct ri_brief *brief);

/* The same for a document; null where brief is NULL. */
json_t *ri_brief_json(struct ri_json *json, const struct ri_brief *brief);

#endif
