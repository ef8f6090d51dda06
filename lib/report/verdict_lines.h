/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for people: the rank that failed first and why, then what the
 * others did. However many ranks there are and however much they wrote, it
 * has at most RI_VERDICT_LINES lines of at most RI_VERDICT_COLUMNS, no
 * secrets and nothing that a terminal could take for a command.
 */
#ifndef RI_REPORT_VERDICT_LINES_H
#define RI_REPORT_VERDICT_LINES_H

#include "base/text.h"
#include "report/outcome.h"
#include "report/reason.h"

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

#endif
