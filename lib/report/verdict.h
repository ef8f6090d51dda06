/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict for people: the rank that failed first and why, then what the
 * others did. However many ranks there are and however much they wrote, it
 * has at most RI_VERDICT_LINES lines of at most RI_VERDICT_COLUMNS, no
 * secrets and nothing that a terminal could take for a command.
 */
#ifndef RI_REPORT_VERDICT_H
#define RI_REPORT_VERDICT_H

#include "base/text.h"
#include "report/outcome.h"
#include "report/traceback.h"

enum {
	RI_VERDICT_LINES = 25,
	RI_VERDICT_COLUMNS = 240,
	/* holds any: a column has up to four bytes */
	RI_VERDICT_SIZE = RI_VERDICT_LINES * (RI_VERDICT_COLUMNS * 4 + 1) + 1,
	RI_LAST_LINES = 20,	/* kept of what a rank wrote last */
	RI_MAX_TAIL = 65536,	/* bytes of it that are looked at */
};

/*
 * Why a rank ended, as far as it said so itself, without secrets. It is large:
 * keep it in static storage.
 */
struct ri_reason {
	char text[2 * RI_MAX_TAIL];	/* what it wrote; the spans point in here */
	bool has_traceback;
	struct ri_traceback traceback;
	struct ri_span lines[RI_LAST_LINES];	/* the last ones that are not blank */
	size_t line_count;
};

/*
 * Look for the reason in what a rank wrote to stderr. An old traceback, long
 * before the end or followed by more than a few lines where a signal killed
 * the rank, is none.
 */
void ri_reason_find(const struct ri_rank_outcome *rank, struct ri_reason *out);

/*
 * Append the lines, each ended by '\n'; the reason is that of the first
 * failure, where there is one. None where nothing failed; where a stop came
 * from outside, none unless the status is other than 0.
 */
void ri_verdict_render(const struct ri_outcome *outcome, const struct ri_reason *reason,
	struct ri_text *out);

#endif
